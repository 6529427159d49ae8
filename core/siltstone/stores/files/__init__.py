"""Bytes on disk: framed documents, vectors, cache, settings, locks; nothing here knows what a query is."""
