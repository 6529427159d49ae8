"""One way to ask a model's server: JSON over HTTP, with patience inside a deadline and errors of siltstone's tree."""

from __future__ import annotations

import json
import logging
import os
import random
import time
import weakref
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit, urlunsplit

from ..errors import BackendUnavailableError, ConfigurationError, ModelError
from ..text.addresses import shown_address
from ..text.hosts import is_loopback

if TYPE_CHECKING:
    import httpx

PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
"""Statuses after which the same request may succeed."""

_LONGEST_PAUSE: Final = 20.0
UNREACHED: Final = 30.0
"""Seconds for a server that takes no connection and has never answered: it rather has another address than starts."""

logger = logging.getLogger(__name__)


class RefusedError(ModelError):
    """The server understood and said no: a ``ModelError`` that keeps the status for those who can ask differently."""

    def __init__(self, message: str, status: int, reason: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class UnreachableError(BackendUnavailableError):
    """The server takes no connection: another request would not get any further."""


class Endpoint:
    """A server's base address, and how long to wait for it.

    ``url`` may end in ``/v1``, in another version, or in nothing, which means ``/v1``. ``timeout`` seconds are given
    to one attempt, ``deadline`` seconds to all of them together with the pauses between: ``backoff`` seconds,
    doubled each time and spread at random (20 at most), or what the server's ``Retry-After`` asks for;
    ``attempts`` are made at most, if that is given. A server that takes no connection and has never answered is given
    up after ``unreached`` seconds. Each attempt that failed is logged (INFO), with the time of the next one.

    The key is ``api_key``, or else the environment's variable named after the host (``OPENAI_API_KEY`` for
    ``api.openai.com``, ``DEEPSEEK_API_KEY`` for ``api.deepseek.com``), or else ``SILTSTONE_API_KEY``: no provider's
    key goes to another host. It appears in no message and no ``repr``.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout: float = 60.0,
        deadline: float = 120.0,
        backoff: float = 0.5,
        attempts: int | None = None,
        unreached: float = UNREACHED,
        version: str = "/v1",
    ) -> None:
        try:
            parts = urlsplit(url)
            parts.port  # noqa: B018 - what is none is a ValueError
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.hostname:  # the URL is not shown: it may hold a password
            raise ConfigurationError("a model's address must be an http:// or https:// URL, e.g. http://localhost:8080")
        path = parts.path.rstrip("/") or version
        self._base = urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))
        self.shown = shown_address(self._base)
        self._api_key = (api_key or _key_from_environment(parts.hostname) or "").strip()
        if not self._api_key.isascii() or not self._api_key.isprintable():
            raise ConfigurationError("the API key holds characters that no key has; nothing was sent")
        self._loopback = is_loopback(parts.hostname)
        self._timeout = timeout
        self._deadline = deadline
        self._backoff = backoff
        self._attempts = attempts
        self._unreached = unreached
        self._clients: dict[int, httpx.Client] = {}
        self._has_answered = False

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        *,
        passing: frozenset[int] = PASSING,
        deadline: float | None = None,
    ) -> Any:
        """Send ``body`` and return the answer's JSON. Statuses in ``passing`` are tried again until the deadline.

        ``deadline`` in seconds makes this call's shorter than the endpoint's.

        Raises ``BackendUnavailableError`` where no answer came in time (``UnreachableError`` where there was not even
        a connection), ``RefusedError`` for another status than success, ``ModelError`` for an answer that is not JSON.
        """
        import httpx

        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")  # lone surrogates are not UTF-8
        allowed = self._deadline if deadline is None else min(deadline, self._deadline)
        self._client()  # made before the time runs: the first one in a process takes a while
        begun = time.monotonic()
        attempt = 0
        while True:
            attempt += 1
            left = begun + allowed - time.monotonic()
            pause = min(_LONGEST_PAUSE, self._backoff * 2 ** (attempt - 1)) * random.uniform(0.5, 1)
            cause: Exception | None = None
            kind: type[BackendUnavailableError] = BackendUnavailableError
            reason = ""
            asked = 0.0
            try:
                response = self._client().post(
                    self._address(path), content=content, timeout=httpx.Timeout(max(0.001, min(self._timeout, left)))
                )
            except httpx.HTTPError as exc:
                cause, failed = exc, f"does not answer ({type(exc).__name__})"
                problem = f"does not answer ({type(exc).__name__}: {self._hide(str(exc))})"
                if isinstance(exc, (httpx.ConnectError, httpx.ConnectTimeout)):
                    kind = UnreachableError
                    allowed = allowed if self._has_answered else min(allowed, self._unreached)
            else:
                self._has_answered = True
                if response.is_success:
                    return self._json(response)
                reason = self._reason(response)
                failed = f"answers {response.status_code}"
                problem = f"{failed}: {reason}"
                if response.status_code not in passing:
                    raise self._refusal(response)
                asked = retry_after(response.headers.get("retry-after"))
                pause = max(pause, asked)
            if attempt == self._attempts or time.monotonic() + pause >= begun + allowed:
                failure = kind(
                    f"{self.shown} {problem} (attempt {attempt}, {allowed:g} s allowed). "
                    "Nothing was lost; check the server and its address"
                )
                failure.retry_after = asked
                raise failure.quoting(reason) from cause
            logger.info("%s %s: attempt %d is made in %.1f s", self.shown, failed, attempt + 1, pause)
            time.sleep(pause)

    def _client(self) -> httpx.Client:
        """Return this process's client: connections must not be shared across a fork."""
        client = self._clients.get(os.getpid())
        if client is None:
            import httpx

            headers = {"Content-Type": "application/json"}
            if self._api_key:
                headers["Authorization"] = f"Bearer {self._api_key}"
            # what stays on this machine must not take the way over a proxy of the environment
            fresh = httpx.Client(headers=headers, trust_env=not self._loopback)
            client = self._clients.setdefault(os.getpid(), fresh)
            weakref.finalize(self, client.close)
        return client

    def _address(self, path: str) -> str:
        parts = urlsplit(self._base)
        return urlunsplit(parts._replace(path=parts.path.removesuffix(path) + path))

    def _json(self, response: httpx.Response) -> Any:
        try:
            return response.json()
        except ValueError as exc:
            told = repr(self._hide(response.text[:200]))
            raise ModelError(f"{self.shown} answered with something else than JSON: {told}").quoting(told) from exc

    def _refusal(self, response: httpx.Response) -> RefusedError:
        reason = self._reason(response)
        advice = ""
        if response.status_code in (401, 403):
            advice = "; pass api_key=, or set SILTSTONE_API_KEY" if not self._api_key else "; check the API key"
        return RefusedError(
            f"{self.shown} refuses with {response.status_code}: {reason}{advice}", response.status_code, reason
        ).quoting(reason)

    def _reason(self, response: httpx.Response) -> str:
        """Return what the server says of a failure, in one line."""
        try:
            found = response.json()
        except ValueError:
            found = response.text
        while isinstance(found, dict):
            found = next((found[key] for key in ("error", "message", "detail") if found.get(key)), str(found))
        return self._hide(" ".join(str(found).split())[:300]) or response.reason_phrase

    def _hide(self, text: str) -> str:
        """Remove the key from a text that a server may have echoed."""
        return text.replace(self._api_key, "…") if self._api_key else text

    def __repr__(self) -> str:
        return f"Endpoint({self.shown!r})"


def _key_from_environment(host: str) -> str | None:
    domain = host.split(".")[-2:-1]
    named = os.environ.get(f"{domain[0].upper().replace('-', '_')}_API_KEY") if domain else None
    return named or os.environ.get("SILTSTONE_API_KEY") or None


def retry_after(value: str | None) -> float:
    """Return the seconds that a ``Retry-After`` header asks for (RFC 9110, 10.2.3), 0 where there is none to read."""
    if not value:
        return 0.0
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    when = when if when.tzinfo else when.replace(tzinfo=timezone.utc)
    return max(0.0, (when - datetime.now(timezone.utc)).total_seconds())
