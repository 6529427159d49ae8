"""Objects of other frameworks behind our contracts, recognised by their methods and never imported."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from ..errors import BackendUnavailableError, ConfigurationError, ModelError, SiltstoneError
from ..forks import ForkSafeLock
from ..protocols import ChatModel, Embedder, Floats
from ..records import Message
from .rows import unit_rows


def embedder_of(thing: Any) -> Embedder:
    """Return an ``Embedder`` over a LlamaIndex ``BaseEmbedding``, a LangChain ``Embeddings``, or a callable.

    A callable takes a list of texts and returns their vectors. Whatever these raise is taken for a service that does
    not answer: their errors have no common root, and texts are queued for it. Raises ``ConfigurationError`` for
    anything else.
    """
    if isinstance(thing, type):
        raise ConfigurationError(f"the embedder is the class {thing.__name__}; pass an object: {thing.__name__}(…)")
    if _has(thing, "get_text_embedding_batch", "get_query_embedding"):
        return ForeignEmbedder(thing, thing.get_text_embedding_batch, lambda text: [thing.get_query_embedding(text)])
    if _has(thing, "embed_documents", "embed_query"):
        return ForeignEmbedder(thing, thing.embed_documents, lambda text: [thing.embed_query(text)])
    if callable(thing):
        return ForeignEmbedder(thing, thing, lambda text: thing([text]))
    raise ConfigurationError(
        f"{type(thing).__name__} is no embedder: pass None (the embedded one), 'sentence-transformers:MODEL', "
        "'openai:MODEL@URL', an Embedder, a LlamaIndex BaseEmbedding, a LangChain Embeddings, or a function from a "
        "list of texts to their vectors"
    )


def chat_model_of(thing: Any) -> ChatModel:
    """Return a ``ChatModel`` over a LlamaIndex ``LLM`` or a LangChain ``BaseChatModel``.

    Raises ``ConfigurationError`` for anything else.
    """
    if isinstance(thing, type):
        raise ConfigurationError(f"the model is the class {thing.__name__}; pass an object: {thing.__name__}(…)")
    if _has(thing, "chat", "complete"):
        return ForeignChatModel(thing, _ask_llama_index)
    if _has(thing, "invoke"):
        return ForeignChatModel(thing, _ask_langchain)
    raise ConfigurationError(
        f"{type(thing).__name__} is no language model: pass 'openai:MODEL@URL', 'ollama:MODEL', a ChatModel, a "
        "LlamaIndex LLM, or a LangChain BaseChatModel"
    )


class ForeignEmbedder:
    """An embedder over two functions of another library's object. Its width is found by embedding one word.

    Raises ``BackendUnavailableError`` for whatever they raise, and ``ModelError`` for what is no table of numbers.
    """

    engine: Final = "foreign"

    def __init__(self, thing: Any, documents: Callable[[list[str]], Any], query: Callable[[str], Any]) -> None:
        self.name = _name_of(thing)
        self._documents = documents
        self._query = query
        self._dim: int | None = None
        self._probing = ForkSafeLock()

    @property
    def dim(self) -> int:
        """Width of a vector; the first look embeds one word."""
        with self._probing:
            if self._dim is None:
                self._dim = len(self.embed_query("width"))
        return self._dim

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return one row per text, ``(n, dim)``."""
        if not texts:
            return np.empty((0, self.dim), np.float32)
        with _answering(self.name):
            rows = self._documents(list(texts))
        with _translated(self.name):
            return unit_rows(rows)

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a question, ``(dim,)``."""
        with _answering(self.name):
            rows = self._query(text)
        with _translated(self.name):
            (vector,) = unit_rows(rows)
            return vector  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"ForeignEmbedder({self.name!r})"


class ForeignChatModel:
    """A language model of another library. A schema is asked for in words; ``max_tokens`` is left to the object."""

    def __init__(self, thing: Any, ask: Callable[[Any, Sequence[Message]], Any]) -> None:
        self.name = _name_of(thing)
        self._thing = thing
        self._ask = ask

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int | None = None
    ) -> str:
        """Return the answer's text."""
        if schema is not None:
            messages = [schema_in_words(schema), *messages]
        with _translated(self.name):
            content = self._ask(self._thing, messages)
        if isinstance(content, list):  # blocks, of which the texts count
            blocks = (part if isinstance(part, str) else part.get("text", "") for part in content)
            content = "".join(str(block) for block in blocks)
        if not isinstance(content, str) or not content.strip():
            raise ModelError(f"the model {self.name!r} gave an empty answer")
        return content

    def __repr__(self) -> str:
        return f"ForeignChatModel({self.name!r})"


class CallableCounter:
    """A token counter over a function from a text to a number, or to its tokens (a tokenizer's ``encode``)."""

    def __init__(self, function: Callable[[str], Any]) -> None:
        self._function = function

    def count(self, text: str) -> int:
        """Return the number of tokens."""
        with _translated(_name_of(self._function)):
            found = self._function(text)
        if isinstance(found, Sized):
            return len(found)
        if not isinstance(found, (int, np.integer)) or found < 0:
            raise ConfigurationError(f"the token counter returned {found!r}: a number of tokens, or tokens, were due")
        return int(found)

    def __repr__(self) -> str:
        return f"CallableCounter({_name_of(self._function)!r})"


def schema_in_words(schema: Mapping[str, Any]) -> Message:
    """Return the instruction to answer in JSON, for models that take no schema as such."""
    wanted = json.dumps(schema, ensure_ascii=False)
    return Message(
        "system", f"Answer with one JSON object and nothing else. It must follow this JSON schema:\n{wanted}"
    )


def _ask_llama_index(llm: Any, messages: Sequence[Message]) -> Any:
    types = sys.modules.get("llama_index.core.base.llms.types")
    if types is None:  # something that is only like one
        return str(llm.complete("\n\n".join(message.content for message in messages)))
    turns = [types.ChatMessage(role=message.role, content=message.content) for message in messages]
    return llm.chat(turns).message.content


def _ask_langchain(model: Any, messages: Sequence[Message]) -> Any:
    # a tool's answer needs the call it belongs to, which is not told here
    turns = [(message.role if message.role != "tool" else "user", message.content) for message in messages]
    answer = model.invoke(turns)
    return answer if isinstance(answer, str) else answer.content


def _has(thing: Any, *methods: str) -> bool:
    return all(callable(getattr(thing, method, None)) for method in methods)


def _name_of(thing: Any) -> str:
    """Return what an object calls its model, else the name of its class or function."""
    for attribute in ("model_name", "model", "__name__"):
        name = getattr(thing, attribute, None)
        if isinstance(name, str) and name not in ("", "unknown", "<lambda>"):
            return name
    return type(thing).__name__


@contextmanager
def _answering(name: str) -> Iterator[None]:
    """Take whatever another library's embedder raises for a service that does not answer now."""
    try:
        yield
    except SiltstoneError:
        raise
    except Exception as exc:
        raise BackendUnavailableError(
            f"the embedder {name!r} did not answer ({type(exc).__name__}: {exc}); nothing was lost"
        ).quoting(exc) from exc


@contextmanager
def _translated(name: str) -> Iterator[None]:
    """Turn whatever another library raises into an error of siltstone's tree."""
    try:
        yield
    except SiltstoneError:
        raise
    except (ConnectionError, TimeoutError) as exc:
        failure = BackendUnavailableError(f"the model {name!r} cannot be reached ({exc}); nothing was lost")
        raise failure.quoting(exc) from exc
    except Exception as exc:  # their errors have no common root
        failed = ModelError(f"the model {name!r} failed ({type(exc).__name__}: {exc}); nothing was lost")
        raise failed.quoting(exc) from exc
