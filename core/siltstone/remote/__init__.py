"""A memory behind an HTTP service, with the verbs of one on this machine."""
