"""Vectors in an engine of the user's own, beside a store that keeps everything else."""
