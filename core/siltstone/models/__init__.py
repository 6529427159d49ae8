"""Embedders, summarizers and tokenizers behind the contracts of ``siltstone.protocols``."""
