"""The crash harness: writers killed at random moments and at every named step on disk, and what must hold then."""
