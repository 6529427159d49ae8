"""One user's rows and indexes in memory: what a commit would change, and what a reader sees."""
