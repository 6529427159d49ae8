"""Looking after a whole store: verify and repair, backup and restore."""
