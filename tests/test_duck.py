from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from siltstone.errors import BackendUnavailableError, ConfigurationError, ModelError
from siltstone.models.duck import CallableCounter, chat_model_of, embedder_of
from siltstone.records import Message
from siltstone.testing import HashEmbedder

ASK = [Message("system", "You summarize."), Message("user", "我搬到了深圳。"), Message("tool", "sunny")]
TEXTS = ["Alice lives in Lisbon.", "我是深圳的前端工程师。"]


def vectors(texts: Sequence[str]) -> list[list[float]]:
    """Embed as a user's function might: as lists, three times too long."""
    return (HashEmbedder(16).embed_documents(texts) * 3).tolist()  # type: ignore[no-any-return]


class LikeLlamaIndex:
    """What a LlamaIndex embedding looks like from outside."""

    model_name = "bge-m3"

    def get_text_embedding_batch(self, texts: list[str], show_progress: bool = False) -> list[list[float]]:
        """Return vectors as lists."""
        return vectors(texts)

    def get_query_embedding(self, query: str) -> list[float]:
        """Return one vector as a list."""
        return vectors([query])[0]


class LikeLangChain:
    """What a LangChain embedding looks like from outside."""

    model = "bge-m3"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return vectors as lists."""
        return vectors(texts)

    def embed_query(self, text: str) -> list[float]:
        """Return one vector as a list."""
        return vectors([text])[0]


@pytest.mark.parametrize(
    ("thing", "name"), [(LikeLlamaIndex(), "bge-m3"), (LikeLangChain(), "bge-m3"), (vectors, "vectors")]
)
def test_foreign_embedders_keep_the_contract(thing: Any, name: str) -> None:
    """Objects of either framework and plain functions become float32 rows of unit length, name and width found."""
    embedder = embedder_of(thing)
    assert (embedder.name, embedder.dim) == (name, 16)
    assert np.allclose(embedder.embed_documents(TEXTS), HashEmbedder(16).embed_documents(TEXTS), atol=1e-5)
    assert np.allclose(embedder.embed_query(TEXTS[1]), HashEmbedder(16).embed_query(TEXTS[1]), atol=1e-5)
    assert embedder.embed_documents([]).shape == (0, 16)


def test_real_llama_index_embedding() -> None:
    """A real LlamaIndex embedding is recognised; one without a name is called by its class."""
    embeddings = pytest.importorskip("llama_index.core.embeddings", reason="the extra llama-index is not installed")
    embedder = embedder_of(embeddings.MockEmbedding(embed_dim=4))
    assert (embedder.name, embedder.dim) == ("MockEmbedding", 4)
    assert embedder.embed_documents(TEXTS).tolist() == [[0.5] * 4] * 2


def test_real_langchain_embeddings() -> None:
    """A real LangChain embeddings object is recognised."""
    embeddings = pytest.importorskip("langchain_core.embeddings", reason="the extra langchain is not installed")
    embedder = embedder_of(embeddings.DeterministicFakeEmbedding(size=8))
    assert (embedder.name, embedder.dim) == ("DeterministicFakeEmbedding", 8)
    assert np.allclose(embedder.embed_documents(TEXTS)[0], embedder.embed_query(TEXTS[0]))


def test_real_llama_index_model() -> None:
    """A real LlamaIndex LLM answers through its chat; a schema arrives in words."""
    llms = pytest.importorskip("llama_index.core.llms", reason="the extra llama-index is not installed")
    model = chat_model_of(llms.MockLLM())
    answer = model.complete(ASK, schema={"title": "Digest"})
    assert "我搬到了深圳。" in answer
    assert '"Digest"' in answer
    assert model.name == "MockLLM"


def test_real_langchain_model() -> None:
    """A real LangChain chat model answers through ``invoke``, and a plain LLM with a text."""
    models = pytest.importorskip("langchain_core.language_models", reason="the extra langchain is not installed")
    assert chat_model_of(models.FakeListChatModel(responses=["yes"])).complete(ASK) == "yes"
    assert chat_model_of(models.FakeListLLM(responses=["text"])).complete(ASK, schema={}) == "text"


class Scripted:
    """What a LangChain model looks like from outside: an answer of any form, or an error."""

    def __init__(self, answer: Any) -> None:
        self.content = answer
        self.turns: list[tuple[str, str]] = []

    def invoke(self, turns: list[tuple[str, str]]) -> Any:
        """Keep the turns and answer."""
        self.turns = turns
        if isinstance(self.content, Exception):
            raise self.content
        return self


def test_answers_in_blocks_are_joined() -> None:
    """An answer given as blocks is the text of its blocks, what is not text left out."""
    model = Scripted(["搬", {"type": "text", "text": "家"}, {"type": "reasoning", "summary": []}])
    assert chat_model_of(model).complete(ASK) == "搬家"
    assert [role for role, _ in model.turns] == ["system", "user", "user"]


@pytest.mark.parametrize(
    ("failure", "error"),
    [(ConnectionError("gone"), BackendUnavailableError), (TimeoutError("late"), BackendUnavailableError),
     (ValueError("odd"), ModelError), ("", ModelError), (None, ModelError)],
)  # fmt: skip
def test_failures_are_translated(failure: Any, error: type[Exception]) -> None:
    """Whatever another library raises or leaves out becomes an error of siltstone's tree."""
    with pytest.raises(error, match="Scripted"):
        chat_model_of(Scripted(failure)).complete(ASK)


def _raise(exc: Exception) -> Callable[[Any], Any]:
    def fail(_: Any) -> Any:
        raise exc

    return fail


@pytest.mark.parametrize(
    ("function", "error"),
    [(_raise(ConnectionError("gone")), BackendUnavailableError), (_raise(KeyError("x")), BackendUnavailableError),
     (_raise(ModelError("ours")), ModelError), (lambda texts: "nonsense", ModelError),
     (lambda texts: [1.0, 2.0], ModelError), (lambda texts: [], ModelError)],
)  # fmt: skip
def test_failing_functions_are_translated(function: Callable[[Any], Any], error: type[Exception]) -> None:
    """A function that raises does not answer, whatever it raises; one that returns no list of vectors is wrong."""
    embedder = embedder_of(function)
    with pytest.raises(error):
        embedder.embed_query("x")
    with pytest.raises((error, ModelError)):
        embedder.embed_documents(["x", "y"])


@pytest.mark.parametrize("make", [embedder_of, chat_model_of])
@pytest.mark.parametrize("thing", [42, object(), None, HashEmbedder, ["a"]])
def test_other_things_are_refused(make: Callable[[Any], Any], thing: Any) -> None:
    """What is no model is refused with what would be accepted; a class is told from its object."""
    with pytest.raises(ConfigurationError, match=r"pass (an object|None|'openai)"):
        make(thing)


def test_counters_from_functions() -> None:
    """A function may return the number of tokens, or the tokens; nonsense is refused."""
    assert CallableCounter(len).count("abc") == 3
    assert CallableCounter(str.split).count("我 是 Alice") == 3
    with pytest.raises(ConfigurationError, match="returned -1"):
        CallableCounter(lambda text: -1).count("x")
    with pytest.raises(ModelError, match="ZeroDivisionError"):
        CallableCounter(lambda text: 1 // 0).count("x")
