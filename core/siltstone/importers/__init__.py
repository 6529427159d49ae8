"""Readers of other programs' memories and of our own exports: one file per format behind ``reader.Reader``."""
