"""Clients of the model's server."""

from __future__ import annotations

from llama_server import NAME

from siltstone.compress.llm import LLMSummarizer
from siltstone.models.openai import OpenAIChatModel

SHOWN_AT_ONCE = 1300
"""The window in tokens that the summarizer is told: a model this small does best with a few messages at a time."""


def model_at(url: str, patience: float = 1800.0) -> OpenAIChatModel:
    """Return the model at an address, which is waited for so many seconds."""
    return OpenAIChatModel(NAME, url, timeout=patience, deadline=patience, backoff=0.05)


def summarizer_at(url: str, *, retries: int = 2) -> LLMSummarizer:
    """Return a summarizer with no fallback: what it says comes from the model."""
    return LLMSummarizer(model_at(url), window=SHOWN_AT_ONCE, retries=retries)
