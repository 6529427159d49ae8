"""From what a user passes as a model to the model behind our contract."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from typing import Any, Final

from ..errors import ConfigurationError, MissingDependencyError
from ..protocols import ChatModel, Embedder, Reranker, TokenCounter

_EXTRAS: Final = {"sentence-transformers": "sentence_transformers"}
"""Kinds of named models that need a package which an extra of the same name brings, and how it is imported."""


def check_installed(spec: Any) -> None:
    """Raise ``MissingDependencyError`` for a named model whose package is not here; nothing is imported to tell."""
    kind, _, model = spec.partition(":") if isinstance(spec, str) else ("", "", "")
    package = _EXTRAS.get(kind)
    if package is None or not model:
        return
    known = sys.modules[package] if package in sys.modules else importlib.util.find_spec(package)
    if known is None:
        raise MissingDependencyError.extra(kind, f"the model {model!r}", kind)


def resolve_embedder(spec: Any, *, attempts: int | None = None) -> Embedder:
    """Return the embedder that a spec means.

    ``None`` is the embedded default; ``"sentence-transformers:MODEL"``; ``"openai:MODEL@URL"``; an ``Embedder``; a
    LlamaIndex ``BaseEmbedding``; a LangChain ``Embeddings``; a callable from texts to vectors. Nothing is loaded
    before its first use. A server that is named is asked ``attempts`` times at most. Raises ``ConfigurationError`` for
    anything else.
    """
    if spec is None:
        from .e5 import E5Embedder

        return E5Embedder()
    if _implements(spec, "name", "dim", "embed_documents", "embed_query"):
        embedder: Embedder = spec
        return embedder
    if isinstance(spec, str):
        kind, _, model = spec.partition(":")
        if kind == "sentence-transformers" and model:
            from .sentence_transformers import SentenceTransformersEmbedder

            return SentenceTransformersEmbedder(model)
        if kind == "openai" and model:
            from .openai import OpenAIEmbedder

            name, url = split_url(model, kind)
            return OpenAIEmbedder(name, url, attempts=attempts)
        raise _refusal("embedder", spec, "'sentence-transformers:MODEL' or 'openai:MODEL@URL'")
    from .duck import embedder_of

    return embedder_of(spec)


def resolve_chat_model(spec: Any, *, timeout: float | None = None, attempts: int | None = None) -> ChatModel:
    """Return the language model that a spec means.

    ``"openai:MODEL@URL"`` (any OpenAI-compatible server); ``"ollama:MODEL[@URL]"``; a ``ChatModel``; a LlamaIndex
    ``LLM``; a LangChain ``BaseChatModel``. ``timeout`` seconds are given to one attempt of a model that is named, three
    times as many to all, of which ``attempts`` are made at most. Raises ``ConfigurationError`` for anything else.
    """
    patience: dict[str, Any] = {"attempts": attempts}
    if timeout is not None:
        patience |= {"timeout": timeout, "deadline": 3 * timeout}
    if _implements(spec, "name", "complete") and not hasattr(spec, "chat"):  # LlamaIndex has another complete()
        chat_model: ChatModel = spec
        return chat_model
    if isinstance(spec, str):
        kind, _, model = spec.partition(":")
        if kind == "openai" and model:
            from .openai import OpenAIChatModel

            name, url = split_url(model, kind)
            return OpenAIChatModel(name, url, **patience)
        if kind == "ollama" and model:
            from .ollama import OllamaChatModel

            place = split_url(model, kind) if "@http" in model else (model,)
            return OllamaChatModel(*place, **patience)
        raise _refusal("language model", spec, "'openai:MODEL@URL' or 'ollama:MODEL[@URL]'")
    from .duck import chat_model_of

    return chat_model_of(spec)


def resolve_counter(spec: Any) -> TokenCounter:
    """Return the token counter that a spec means: ``None`` (the embedded model's tokenizer), a ``TokenCounter`` or a
    callable from a text to a number. Raises ``ConfigurationError`` for anything else.
    """
    if spec is None:
        from .e5_counter import E5TokenCounter

        return E5TokenCounter()
    if _implements(spec, "count") and not isinstance(spec, (str, bytes, list, tuple)):
        counter: TokenCounter = spec
        return counter
    if callable(spec) and not isinstance(spec, type):
        from .duck import CallableCounter

        return CallableCounter(spec)
    raise ConfigurationError(f"token_counter must be a TokenCounter or a callable, not {type(spec).__name__}")


def resolve_reranker(spec: Any) -> Reranker | None:
    """Return the reranker that a spec means.

    ``None``: none; ``"sentence-transformers:MODEL"`` (a cross-encoder); ``"openai:MODEL@URL"`` (a server with
    ``/v1/rerank``); a ``Reranker``. Raises ``ConfigurationError`` for anything else.
    """
    if spec is None:
        return None
    if _implements(spec, "name", "rerank"):
        reranker: Reranker = spec
        return reranker
    if isinstance(spec, str):
        kind, _, model = spec.partition(":")
        if kind == "sentence-transformers" and model:
            from .sentence_transformers import SentenceTransformersReranker

            return SentenceTransformersReranker(model)
        if kind == "openai" and model:
            from .rerank import HttpReranker

            name, url = split_url(model, kind)
            return HttpReranker(name, url)
    raise _refusal("reranker", spec, "'sentence-transformers:MODEL' or 'openai:MODEL@URL'")


def split_url(model: str, kind: str) -> tuple[str, str]:
    """Return name and address of ``MODEL@URL``; raises ``ConfigurationError`` where the address is missing."""
    name, at, rest = model.partition("@http")
    if not name or not at:  # the spec is not shown: a mistyped address may hold a password
        raise ConfigurationError(
            f"the {kind} model {name.partition('@')[0]!r} names no server; write MODEL@URL, e.g. 'openai:bge-m3@http://localhost:8080'"
        )
    return name, "http" + rest


def _implements(spec: Any, *members: str) -> bool:
    """Return whether an object has the members of a contract, without asking for a value: that may load a model."""
    nothing = object()
    return not isinstance(spec, type) and all(
        inspect.getattr_static(spec, member, nothing) is not nothing for member in members
    )


def _refusal(what: str, spec: Any, accepted: str) -> ConfigurationError:
    found = f"a {spec.partition(':')[0]!r} model" if isinstance(spec, str) else f"an object of {type(spec).__name__}"
    return ConfigurationError(f"{found} is no {what} that siltstone knows; it takes {accepted}, or an object")
