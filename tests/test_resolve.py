from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from siltstone.errors import ConfigurationError
from siltstone.models.resolve import resolve_chat_model, resolve_counter, resolve_embedder, resolve_reranker
from siltstone.testing import HashEmbedder, OverlapReranker, ScriptedChatModel, WordCounter

URL = "http://localhost:1/v1"


@pytest.mark.parametrize(
    ("resolve", "spec", "shown"),
    [
        (resolve_embedder, None, "E5Embedder()"),
        (
            resolve_embedder,
            "sentence-transformers:intfloat/e5-small",
            "SentenceTransformersEmbedder('intfloat/e5-small')",
        ),
        (resolve_embedder, f"openai:@cf/baai/bge-m3@{URL}", f"OpenAIEmbedder('@cf/baai/bge-m3', '{URL}')"),
        (resolve_embedder, lambda texts: texts, "ForeignEmbedder('function')"),
        (resolve_chat_model, f"openai:qwen3:8b@{URL}", f"OpenAIChatModel('qwen3:8b', '{URL}')"),
        (resolve_chat_model, "ollama:qwen3:8b", "OllamaChatModel('qwen3:8b', 'http://localhost:11434/api')"),
        (resolve_chat_model, "ollama:qwen3:8b@http://box", "OllamaChatModel('qwen3:8b', 'http://box/api')"),
        (resolve_counter, None, "E5TokenCounter()"),
        (resolve_counter, len, "CallableCounter('len')"),
        (resolve_reranker, None, "None"),
        (resolve_reranker, "sentence-transformers:bge", "SentenceTransformersReranker('bge')"),
        (resolve_reranker, f"openai:bge@{URL}", f"HttpReranker('bge', '{URL}')"),
    ],
)
def test_specs_become_models(resolve: Callable[[Any], Any], spec: Any, shown: str) -> None:
    """Each form of spec makes its model, without loading or asking anything."""
    assert repr(resolve(spec)) == shown


@pytest.mark.parametrize(
    ("resolve", "thing"),
    [
        (resolve_embedder, HashEmbedder()),
        (resolve_chat_model, ScriptedChatModel()),
        (resolve_counter, WordCounter()),
        (resolve_reranker, OverlapReranker()),
    ],
)
def test_own_models_are_taken_as_they_are(resolve: Callable[[Any], Any], thing: Any) -> None:
    """What implements a contract is used itself."""
    assert resolve(thing) is thing


class Costly(HashEmbedder):
    """An embedder whose width is costly to know."""

    @property
    def dim(self) -> int:  # type: ignore[override]
        """Fail: nobody should ask."""
        raise AssertionError("asked for its width")

    def __init__(self) -> None:
        self.name = "costly"


def test_resolving_asks_a_model_nothing() -> None:
    """An object is recognised by what it has, not by what it answers: a model stays unloaded."""
    assert isinstance(resolve_embedder(Costly()), Costly)


@pytest.mark.parametrize("resolve", [resolve_embedder, resolve_chat_model, resolve_counter, resolve_reranker])
@pytest.mark.parametrize(
    "spec", ["", "openai:", "openai:model", "openai:model@ftp://user:secret@host", "magic:model", 42, HashEmbedder, [1]]
)
def test_other_specs_are_refused(resolve: Callable[[Any], Any], spec: Any) -> None:
    """Anything else is a configuration error that says what is taken, and repeats no password."""
    with pytest.raises(ConfigurationError) as raised:
        resolve(spec)
    assert "secret" not in str(raised.value)
