"""Where records live: memory, a folder, a server engine."""
