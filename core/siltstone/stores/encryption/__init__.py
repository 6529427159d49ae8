"""Encryption at rest: the cipher that files are written with, the keys behind it, and changing them."""
