"""Recent turns in Redis, shared by the processes and machines of one deployment."""
