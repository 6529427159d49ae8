"""Faults beneath Python and FAISS: system calls that fail, and bytes on disk that are not what was written."""
