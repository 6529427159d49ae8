"""From dialogue to digests: summaries, facts, preferences, events."""
