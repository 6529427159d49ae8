"""Models behind the OpenAI API, which most servers speak: vLLM, llama.cpp, Ollama, TEI, DeepSeek, OpenAI."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..errors import ModelError
from ..forks import ForkSafeLock
from ..protocols import Floats
from ..records import Message
from .duck import schema_in_words
from .http import PASSING, Endpoint, RefusedError
from .prefixes import prefixes_of
from .rows import unit_rows

QUERY_DEADLINE: Final = 5.0
"""Seconds for the vector of a question: somebody waits for it, and words alone can be searched."""


class OpenAIEmbedder:
    """Any ``/v1/embeddings`` endpoint.

    ``model`` is the server's name for it, ``url`` its address, ``api_key`` its key (see ``Endpoint`` for the
    environment's). ``dim`` announces the width; without it, one short text is embedded at first need to find out.
    ``dimensions`` asks the server for shorter vectors. ``batch`` texts go into one request, of each at most
    ``max_chars`` characters. ``query_prefix`` and ``document_prefix`` replace what the model's name implies;
    ``query_body`` and ``document_body`` are further fields of the request, as some servers want
    ``{"input_type": "query"}``. ``timeout`` seconds for one attempt, ``deadline`` for all, of which ``attempts`` are
    made at most.

    Raises ``BackendUnavailableError`` and ``ModelError``. Thread-safe.
    """

    engine: Final = "openai"

    def __init__(
        self,
        model: str,
        url: str,
        *,
        api_key: str | None = None,
        dim: int | None = None,
        dimensions: int | None = None,
        batch: int = 32,
        max_chars: int = 6_000,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
        query_body: Mapping[str, Any] | None = None,
        document_body: Mapping[str, Any] | None = None,
        timeout: float = 30.0,
        deadline: float = 60.0,
        backoff: float = 0.5,
        attempts: int | None = None,
    ) -> None:
        known = prefixes_of(model)
        self.name = model
        self._endpoint = Endpoint(
            url, api_key=api_key, timeout=timeout, deadline=deadline, backoff=backoff, attempts=attempts
        )
        self._dim = dimensions or dim
        self._dimensions = dimensions
        self._batch = batch
        self._max_chars = max_chars
        self._query_prefix = known.query if query_prefix is None else query_prefix
        self._document_prefix = known.document if document_prefix is None else document_prefix
        self._query_body = dict(query_body or {})
        self._document_body = dict(document_body or {})
        self._probing = ForkSafeLock()

    @property
    def dim(self) -> int:
        """Width of a vector; asks the server where it is not known yet."""
        with self._probing:
            if self._dim is None:
                self._dim = len(self._request(["width"], self._document_body)[0])
        return self._dim

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return one row per text, ``(n, dim)``."""
        prepared = [self._prepare(self._document_prefix, text) for text in texts]
        batches = [prepared[i : i + self._batch] for i in range(0, len(prepared), self._batch)]
        if not batches:
            return np.empty((0, self.dim), np.float32)
        return np.concatenate([self._request(batch, self._document_body) for batch in batches])

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a question, ``(dim,)``."""
        prepared = [self._prepare(self._query_prefix, text)]
        vector: Floats = self._request(prepared, self._query_body, deadline=QUERY_DEADLINE)[0]
        return vector

    def _prepare(self, prefix: str, text: str) -> str:
        return prefix + text[: self._max_chars] or " "  # an empty input is refused by many servers

    def _request(self, texts: list[str], extra: Mapping[str, Any], *, deadline: float | None = None) -> Floats:
        body: dict[str, Any] = {"model": self.name, "input": texts, **extra}
        if self._dimensions:
            body["dimensions"] = self._dimensions
        answer = self._endpoint.post("/embeddings", body, deadline=deadline)
        try:
            rows = {int(row.get("index", at)): _vector(row["embedding"]) for at, row in enumerate(answer["data"])}
            return unit_rows([rows[i] for i in range(len(texts))])
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            raise ModelError(
                f"{self._endpoint.shown} answered with no list of embeddings ({exc}); nothing was stored"
            ).quoting(exc) from exc

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self.name!r}, {self._endpoint.shown!r})"


class OpenAIChatModel:
    """Any ``/v1/chat/completions`` endpoint.

    A JSON schema is asked for in the strictest form that the server takes: as ``json_schema``, else as
    ``json_object`` with the schema beside it, else in words; what it took is remembered, and where that fails later,
    the weaker forms are tried once before it is waited for. ``temperature`` is 0 by default, and dropped for models
    that refuse it. ``body`` holds further fields of every request. ``timeout``
    seconds for one attempt, ``deadline`` for all, of which ``attempts`` are made at most. Keys: see ``Endpoint``.

    Raises ``BackendUnavailableError``, and ``ModelError`` for refusals and empty answers. Thread-safe.
    """

    def __init__(
        self,
        model: str,
        url: str,
        *,
        api_key: str | None = None,
        temperature: float = 0.0,
        body: Mapping[str, Any] | None = None,
        timeout: float = 60.0,
        deadline: float = 180.0,
        backoff: float = 0.5,
        attempts: int | None = None,
    ) -> None:
        self.name = model
        self._endpoint = Endpoint(
            url, api_key=api_key, timeout=timeout, deadline=deadline, backoff=backoff, attempts=attempts
        )
        self._body: dict[str, Any] = {"temperature": temperature, **(body or {})}
        self._limit = "max_tokens"
        self._taken: str | None = None  # the form of schema that has worked

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int | None = None
    ) -> str:
        """Return the answer's text."""
        if schema is None:
            return self._ask(messages, None, None, max_tokens)
        known = self._taken
        fails = False  # the form that has worked fails now, which may pass: it stays the first to be tried
        for form in FORMS[FORMS.index(known or FORMS[0]) :]:
            # 500 is how some servers say that they do not know a form: worth a retry only if another form is not left
            passing = PASSING if form == FORMS[-1] and not fails else PASSING - {500}
            try:
                answer = self._ask(messages, form, schema, max_tokens, passing)
            except RefusedError as exc:
                if exc.status not in _NOT_THIS_FORM or (form == FORMS[-1] and exc.status != 500):
                    raise
                fails = fails or (form == known and exc.status == 500)
            else:
                if not fails:
                    self._taken = form
                return answer
        return self._ask(messages, known, schema, max_tokens)  # every form fails: wait for the one that has worked

    def _ask(
        self,
        messages: Sequence[Message],
        form: str | None,
        schema: Mapping[str, Any] | None,
        max_tokens: int | None,
        passing: frozenset[int] = PASSING,
    ) -> str:
        turns = [{"role": message.role, "content": message.content} for message in messages]
        body: dict[str, Any] = {"model": self.name, "messages": turns}
        if form == "json_schema":
            wanted = {"name": "answer", "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        elif schema is not None:
            turns.insert(0, {"role": "system", "content": schema_in_words(schema).content})
            if form == "json_object":
                body["response_format"] = {"type": "json_object", "schema": schema}
        while True:
            limit = {} if max_tokens is None else {self._limit: max_tokens}
            try:
                answer = self._endpoint.post("/chat/completions", {**body, **limit, **self._body}, passing=passing)
            except RefusedError as exc:
                if not self._adapt(exc):
                    raise
            else:
                return self._text(answer)

    def _adapt(self, refusal: RefusedError) -> bool:
        """Leave out what the server names as unknown to this model; return whether there was something."""
        if refusal.status == 400 and "max_completion_tokens" in refusal.reason and self._limit == "max_tokens":
            self._limit = "max_completion_tokens"
            return True
        return (
            refusal.status == 400
            and "temperature" in refusal.reason
            and self._body.pop("temperature", None) is not None
        )

    def _text(self, answer: Any) -> str:
        try:
            choice = answer["choices"][0]
            content = choice["message"].get("content")
            refusal = choice["message"].get("refusal")
        except (KeyError, IndexError, TypeError, AttributeError) as exc:
            told = str(answer)[:200]
            raise ModelError(f"{self._endpoint.shown} answered with no choices: {told}").quoting(told) from exc
        if isinstance(content, list):  # parts, of which the texts count
            content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
        if refusal or choice.get("finish_reason") == "content_filter":
            raise ModelError(f"the model {self.name!r} refused: {refusal or 'content filter'}").quoting(refusal or "")
        if not isinstance(content, str) or not content.strip():
            raise ModelError(f"the model {self.name!r} gave an empty answer")
        return content

    def __repr__(self) -> str:
        return f"OpenAIChatModel({self.name!r}, {self._endpoint.shown!r})"


FORMS: Final = ("json_schema", "json_object", "text")
"""How to ask for a schema, the strictest first."""

_NOT_THIS_FORM: Final = frozenset({400, 404, 415, 422, 500, 501})


def _vector(value: Any) -> Any:
    """Return one embedding, given as numbers or as base64 of little-endian float32."""
    return np.frombuffer(base64.b64decode(value, validate=True), "<f4") if isinstance(value, str) else value
