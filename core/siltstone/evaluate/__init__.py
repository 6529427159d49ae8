"""Benchmarks a user can run on their own data."""
