"""Architectures of conversation memory side by side: the same conversations, the same questions, everything counted."""
