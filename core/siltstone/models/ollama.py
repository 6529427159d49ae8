"""Language models behind Ollama's own API, which takes a JSON schema as ``format``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ModelError
from ..records import Message
from .http import Endpoint, RefusedError


class OllamaChatModel:
    """A model that a local Ollama serves. Nothing is pulled: what is missing is an error that names the command.

    ``window`` is the context length in tokens that Ollama is asked for; its own default is short, and it drops the
    beginning of longer prompts without a word. ``timeout``, ``deadline``, ``backoff`` and ``attempts`` are those of
    ``Endpoint``. Raises ``BackendUnavailableError`` and ``ModelError``.
    """

    def __init__(
        self,
        model: str,
        url: str = "http://localhost:11434",
        *,
        temperature: float = 0.0,
        window: int = 8192,
        timeout: float = 120.0,
        deadline: float = 240.0,
        backoff: float = 0.5,
        attempts: int | None = None,
    ) -> None:
        self.name = model
        self._endpoint = Endpoint(
            url, timeout=timeout, deadline=deadline, backoff=backoff, attempts=attempts, version="/api"
        )
        self._options = {"temperature": temperature, "num_ctx": window}

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int | None = None
    ) -> str:
        """Return the answer's text."""
        body: dict[str, Any] = {
            "model": self.name,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
            "stream": False,
            "options": self._options if max_tokens is None else {**self._options, "num_predict": max_tokens},
        }
        if schema is not None:
            body["format"] = schema
        try:
            answer = self._endpoint.post("/chat", body)
        except RefusedError as exc:
            if exc.status != 404:
                raise
            raise ModelError(f"{exc}; is the model there? ollama pull {self.name}").quoting(exc.quoted) from exc
        try:
            content = answer["message"]["content"]
        except (KeyError, TypeError) as exc:
            told = str(answer)[:200]
            raise ModelError(f"{self._endpoint.shown} answered with no message: {told}").quoting(told) from exc
        if not isinstance(content, str) or not content.strip():
            raise ModelError(f"the model {self.name!r} gave an empty answer")
        return content

    def __repr__(self) -> str:
        return f"OllamaChatModel({self.name!r}, {self._endpoint.shown!r})"
