"""Asking a siltstone service: JSON over HTTP, patience inside a deadline, and the errors that it meant."""

from __future__ import annotations

import logging
import os
import random
import secrets
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import SplitResult, quote, urlsplit, urlunsplit

import orjson

from ..errors import BackendUnavailableError, ConfigurationError, InvalidInputError
from ..forks import ForkSafeThreads
from ..keepers import Keepers
from ..meter import Meter
from ..settings import Settings
from ..text.hosts import is_loopback
from ..wire import NDJSON
from .answers import TOKEN_VARIABLE, Answer, failure, read_answer, unlike

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

logger = logging.getLogger("siltstone")

IDEMPOTENCY: Final = "Idempotency-Key"
DEADLINE: Final = 30.0
"""Seconds for which a service that does not answer, or is busy, is asked again."""
TIMEOUT: Final = 60.0
"""Seconds that one answer may take."""
_LONGEST_PAUSE: Final = 5.0
_AT_ONCE: Final = 1 << 20
_DOTS: Final = {".": "%2E", "..": "%2E%2E"}
"""Ids that clients would take for steps along the path."""


class Service:
    """A service's address, and the token that it is asked with.

    Requests that change something carry a key of their own, so that asked again they are done once. The token appears
    in no message and no ``repr``.
    """

    def __init__(self, url: str, token: str | None, *, deadline: float = DEADLINE) -> None:
        """Raises ``ConfigurationError`` for what is no address, or no token."""
        parts = _parts(url)
        if parts.username is not None or parts.password is not None:
            raise ConfigurationError("a service is asked with token=, not with a name or password in its address")
        self.url = urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))
        self._token = (token if token is not None else os.environ.get(TOKEN_VARIABLE, "")).strip()
        if not self._token.isascii() or not self._token.isprintable():
            raise ConfigurationError("token= holds characters that no token has; nothing was sent")
        is_here = is_loopback(parts.hostname or "")
        if self._token and parts.scheme == "http" and not is_here:
            logger.warning("the token can be read on its way to %s: use https://, or a network of your own", self.url)
        self._is_here, self._deadline = is_here, deadline
        self._clients: dict[int, httpx.Client] = {}
        self.threads, self.meter = ForkSafeThreads(Settings().workers), Meter()
        self.keepers = Keepers()
        self.closed = False

    def ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        timeout: float = TIMEOUT,
    ) -> Answer:
        """Send a request and return the JSON of the answer.

        Raises what the service says went wrong; ``BackendUnavailableError`` where it does not answer in time,
        ``ConfigurationError`` where it answers as no service does.
        """
        content = _json(body)
        headers = {} if content is None else {"Content-Type": "application/json"}
        if method == "POST":
            headers[IDEMPOTENCY] = secrets.token_hex(16)
        response = self._patiently(lambda: self._send(method, path, query, headers, content, timeout))
        return read_answer(self.url, response.content)

    def lines(self, method: str, path: str, body: Mapping[str, Any] | None = None, **query: Any) -> Iterator[bytes]:
        """Yield the lines of a streamed answer; the last one, ``{"end": n}``, counts the others.

        Raises ``BackendUnavailableError`` where the stream ends without it.
        """
        import httpx

        content, last = _json(body), b""
        response = self._patiently(lambda: self._begun(method, path, query, content))
        try:
            for last in _split(response.iter_bytes()):
                yield last
        except httpx.HTTPError as exc:
            raise self._silent(exc) from exc
        finally:
            response.close()
        if not is_end(last):
            raise BackendUnavailableError(f"{self.url} broke off in the middle of an answer: ask again")

    def send_file(self, path: str, file: IO[bytes], **query: Any) -> Answer:
        """Send a file as the body of a request, as it is read; return the JSON of the answer."""
        import httpx

        chunks = iter(lambda: file.read(_AT_ONCE), b"")
        try:
            response = self._client().request(
                "POST", self.url + path, params=_given(query), content=chunks, timeout=httpx.Timeout(TIMEOUT, read=None)
            )
        except httpx.HTTPError as exc:
            raise self._silent(exc) from exc
        self._check(response)
        return read_answer(self.url, response.content)

    def close(self) -> None:
        """Give the connections back."""
        self.closed = True
        self.threads.close()
        client = self._clients.pop(os.getpid(), None)
        if client is not None:
            client.close()

    # --- one request

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        headers: Mapping[str, str],
        content: bytes | None,
        timeout: float,
    ) -> httpx.Response:
        import httpx

        try:
            response = self._client().request(
                method, self.url + path, params=_given(query), headers=headers, content=content, timeout=timeout
            )
        except httpx.HTTPError as exc:
            raise self._silent(exc) from exc
        self._check(response)
        return response

    def _begun(self, method: str, path: str, query: Mapping[str, Any], content: bytes | None) -> httpx.Response:
        """Return an answer that is read as it comes."""
        import httpx

        headers = {} if content is None else {"Content-Type": "application/json"}
        client = self._client()
        request = client.build_request(
            method, self.url + path, params=_given(query), headers=headers, content=content, timeout=TIMEOUT
        )
        try:
            response = client.send(request, stream=True)
            if not response.is_success:
                response.read()
        except httpx.HTTPError as exc:
            raise self._silent(exc) from exc
        self._check(response)
        if not response.headers.get("content-type", "").startswith(NDJSON):
            response.close()
            raise unlike(self.url, "it is no stream of JSON lines")
        return response

    def _patiently(self, send: Callable[[], T]) -> T:
        """Return what ``send`` does, which is tried again until the deadline while the service cannot do it."""
        end, attempt = time.monotonic() + self._deadline, 0
        while True:
            attempt += 1
            try:
                return send()
            except BackendUnavailableError as exc:
                pause = min(_LONGEST_PAUSE, 0.2 * 2 ** (attempt - 1)) * random.uniform(0.5, 1)
                if time.monotonic() + max(pause, exc.retry_after) > end:
                    raise
                time.sleep(max(pause, exc.retry_after))

    def _check(self, response: httpx.Response) -> None:
        """Raise what the service says went wrong, if anything did."""
        if not response.is_success:
            raise failure(self.url, response)

    def _silent(self, exc: Exception) -> BackendUnavailableError:
        return BackendUnavailableError(
            f"the service at {self.url} does not answer ({type(exc).__name__}: {exc}): nothing was confirmed; check "
            "that `siltstone serve` runs there"
        )

    def _client(self) -> httpx.Client:
        """Return this process's client: connections must not be shared across a fork."""
        if self.closed:
            raise ConfigurationError(f"the memory at {self.url} is closed; open it again")
        client = self._clients.get(os.getpid())
        if client is None:
            import httpx

            headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
            # what stays on this machine must not take the way over a proxy of the environment
            fresh = httpx.Client(headers=headers, trust_env=not self._is_here)
            client = self._clients.setdefault(os.getpid(), fresh)
            weakref.finalize(self, fresh.close)
        return client

    def __repr__(self) -> str:
        return f"Service({self.url!r})"


def is_end(line: bytes) -> bool:
    """Return whether a line is the last one of a streamed answer."""
    return line.startswith(b'{"end":')


def segment(id: str) -> str:
    """Return an id as one segment of a path. Raises ``InvalidInputError`` for what is no id."""
    if not isinstance(id, str) or not id:
        raise InvalidInputError(f"an id must be a non-empty string, not {id!r}")
    try:
        return _DOTS.get(id) or quote(id, safe="")
    except UnicodeEncodeError as exc:
        raise InvalidInputError(f"the id {id!r} holds a lone surrogate, which is no text") from exc


def _parts(url: str) -> SplitResult:
    """Return the parts of a service's address. Raises ``ConfigurationError`` for what is none."""
    import httpx

    try:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and " " not in parts.netloc and parts.port != 0:
            httpx.URL(url)
            return parts
    except (ValueError, httpx.InvalidURL):
        pass
    raise ConfigurationError("a service's address is an http:// or https:// URL, e.g. http://localhost:8000")


def _json(body: Mapping[str, Any] | None) -> bytes | None:
    """Return the body of a request. Raises ``InvalidInputError`` for what JSON has not."""
    try:
        return None if body is None else orjson.dumps(body)
    except TypeError as exc:  # orjson's errors are TypeErrors
        raise InvalidInputError(f"what was passed cannot be sent as JSON ({exc}): nothing was sent") from exc


def _given(query: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (query or {}).items() if value is not None}


def _split(chunks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
    if rest:
        yield rest
