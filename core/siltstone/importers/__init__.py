"""Readers of other programs' chat exports."""
