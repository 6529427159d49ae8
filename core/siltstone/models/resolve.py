"""From what a user passes as a model to the model behind our contract."""

from __future__ import annotations

from typing import Any

from ..errors import ConfigurationError
from ..protocols import ChatModel, Embedder, Reranker, TokenCounter


def resolve_embedder(spec: Any) -> Embedder:
    """Return the embedder that a spec means.

    ``None`` is the embedded default; ``"sentence-transformers:MODEL"``; ``"openai:MODEL@URL"``; an ``Embedder``; a
    LlamaIndex ``BaseEmbedding``; a LangChain ``Embeddings``; a callable from texts to vectors. Nothing is loaded
    before its first use. Raises ``ConfigurationError`` for anything else.
    """
    if spec is None:
        from .e5 import E5Embedder

        return E5Embedder()
    if isinstance(spec, Embedder):
        return spec
    if isinstance(spec, str):
        kind, _, model = spec.partition(":")
        if kind == "sentence-transformers" and model:
            from .sentence_transformers import SentenceTransformersEmbedder

            return SentenceTransformersEmbedder(model)
        if kind == "openai" and model:
            from .openai import OpenAIEmbedder

            name, url = split_url(model, spec)
            return OpenAIEmbedder(name, url)
        raise _refusal("embedder", spec, "'sentence-transformers:MODEL' or 'openai:MODEL@URL'")
    from .duck import embedder_of

    return embedder_of(spec)


def resolve_chat_model(spec: Any) -> ChatModel:
    """Return the language model that a spec means.

    ``"openai:MODEL@URL"`` (any OpenAI-compatible server); ``"ollama:MODEL[@URL]"``; a ``ChatModel``; a LlamaIndex
    ``LLM``; a LangChain ``BaseChatModel``. Raises ``ConfigurationError`` for anything else.
    """
    if isinstance(spec, ChatModel):
        return spec
    if isinstance(spec, str):
        kind, _, model = spec.partition(":")
        if kind == "openai" and model:
            from .openai import OpenAIChatModel

            name, url = split_url(model, spec)
            return OpenAIChatModel(name, url)
        if kind == "ollama" and model:
            from .ollama import OllamaChatModel

            name, at, url = model.partition("@")
            return OllamaChatModel(name, url) if at else OllamaChatModel(name)
        raise _refusal("language model", spec, "'openai:MODEL@URL' or 'ollama:MODEL[@URL]'")
    from .duck import chat_model_of

    return chat_model_of(spec)


def resolve_counter(spec: Any) -> TokenCounter:
    """Return the token counter that a spec means: ``None`` (the embedded model's tokenizer), a ``TokenCounter`` or a
    callable from a text to a number. Raises ``ConfigurationError`` for anything else.
    """
    if spec is None:
        from .e5 import E5TokenCounter

        return E5TokenCounter()
    if isinstance(spec, TokenCounter):
        return spec
    if callable(spec):
        from .duck import CallableCounter

        return CallableCounter(spec)
    raise ConfigurationError(f"token_counter must be a TokenCounter or a callable, not {type(spec).__name__}")


def resolve_reranker(spec: Any) -> Reranker | None:
    """Return the reranker that a spec means.

    ``None``: none; ``"sentence-transformers:MODEL"`` (a cross-encoder); ``"openai:MODEL@URL"`` (a server with
    ``/v1/rerank``); a ``Reranker``. Raises ``ConfigurationError`` for anything else.
    """
    if spec is None or isinstance(spec, Reranker):
        return spec
    if isinstance(spec, str):
        kind, _, model = spec.partition(":")
        if kind == "sentence-transformers" and model:
            from .sentence_transformers import SentenceTransformersReranker

            return SentenceTransformersReranker(model)
        if kind == "openai" and model:
            from .rerank import HttpReranker

            name, url = split_url(model, spec)
            return HttpReranker(name, url)
    raise _refusal("reranker", spec, "'sentence-transformers:MODEL' or 'openai:MODEL@URL'")


def split_url(model: str, spec: str) -> tuple[str, str]:
    """Return name and address of ``MODEL@URL``; raises ``ConfigurationError`` where the address is missing."""
    name, _, url = model.rpartition("@")
    if not name or "://" not in url:
        raise ConfigurationError(
            f"{spec!r} names no server; write it as MODEL@URL, e.g. 'openai:bge-m3@http://localhost:8080'"
        )
    return name, url


def _refusal(what: str, spec: Any, accepted: str) -> ConfigurationError:
    return ConfigurationError(f"{spec!r} is no {what} that siltstone knows; it takes {accepted}, or an object")
