"""In-memory indexes over one user's rows: postings and vectors. No files."""
