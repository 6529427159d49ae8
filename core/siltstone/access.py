"""Tokens: who may use a service, and for whose memory. They are kept as hashes, in a file of their own.

A line of the file is one token::

    {"name": "alice's phone", "user_id": "alice", "sha256": "9f86d0…", "expires_at": "2027-01-01T00:00:00+00:00"}
    {"name": "operations", "admin": true, "sha256": "60303a…"}

``sha256`` is the hash of the token, as hexadecimal. A token is 256 random bits, so that a hash that takes no time is as
good as a slow one. A user's token is good for this user's memory only; an admin's for everybody's. A file that was
changed counts from the next request on. One process at a time changes it, under a lock beside it (``FILE.lock``).
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import orjson

from .errors import AccessDeniedError, ConfigurationError, ConflictError, InvalidInputError, NotFoundError
from .records import to_datetime
from .stores.files.lock import LOCK_TIMEOUT, FileLock
from .transfer.written import written

_PREFIX: Final = "sst_"
"""What tokens begin with, so that a leaked one is found by who looks for such things."""
_MEND: Final = "no token is good until the line is mended or taken out; siltstone token make NAME gives a new one"


@dataclass(frozen=True)
class Grant:
    """What a token is good for: the memory of ``user_id``, or, of an ``admin``, everybody's.

    ``expires_at``: from when on for nothing any more.
    """

    name: str
    user_id: str | None = None
    admin: bool = False
    expires_at: datetime | None = None
    sha256: str = ""

    def allows(self, user_id: str) -> bool:
        """Return whether the memory of ``user_id`` may be read and written."""
        return self.admin or (self.user_id is not None and self.user_id == user_id)

    def is_expired(self, now: datetime) -> bool:
        """Return whether it is good for nothing any more."""
        return self.expires_at is not None and self.expires_at <= now


class Tokens:
    """The tokens in a file, read again whenever it has changed."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises ``ConfigurationError`` for a file that is not there, or cannot be read."""
        self._path = os.fspath(path)
        self._seen: tuple[int, int, int] | None = None
        self._grants: tuple[Grant, ...] = ()
        self._current()

    def grant(self, token: str, now: datetime) -> Grant:
        """Return what a token is good for.

        All hashes are compared, each in constant time. Raises ``AccessDeniedError`` for a token that is unknown or has
        expired, ``ConfigurationError`` where the file cannot be read: then no token is good.
        """
        presented = _hash(token)
        found: Grant | None = None
        for grant in self._current():
            if hmac.compare_digest(grant.sha256, presented):
                found = grant
        if found is None:
            raise AccessDeniedError("the token is not known")
        if found.is_expired(now):
            raise AccessDeniedError("the token has expired")
        return found

    def _current(self) -> tuple[Grant, ...]:
        try:
            status = os.stat(self._path)
        except OSError as exc:
            raise ConfigurationError(
                f"the tokens cannot be read: {exc}; no token is good until they can. "
                "siltstone token make NAME --tokens FILE makes a file of them"
            ) from exc
        seen = (status.st_mtime_ns, status.st_size, status.st_ino)
        if seen != self._seen:
            self._grants, self._seen = read_grants(self._path), seen
        return self._grants


def read_grants(path: str | os.PathLike[str]) -> tuple[Grant, ...]:
    """Return what the tokens of a file are good for, in order.

    Raises ``ConfigurationError`` that names the line which cannot be read.
    """
    try:
        with open(path, "rb") as file:
            lines = file.read().splitlines()
    except FileNotFoundError as exc:
        raise ConfigurationError(
            f"there is no file of tokens {os.fspath(path)}: siltstone token make NAME makes one, and --tokens FILE "
            "names another"
        ) from exc
    except OSError as exc:
        raise ConfigurationError(f"the tokens in {os.fspath(path)} cannot be read: {exc.strerror}") from exc
    return tuple(_grant(line, f"{os.fspath(path)}, line {n}") for n, line in enumerate(lines, 1) if line.strip())


def make_token(
    path: str | os.PathLike[str],
    *,
    name: str,
    user_id: str | None = None,
    admin: bool = False,
    expires_at: datetime | None = None,
) -> str:
    """Add a token to a file, which is made if it is not there; return it. It cannot be read from the file later.

    It is for ``user_id``, or for an ``admin``; ``name`` says to people which it is. Raises ``ConflictError`` for a name
    that is taken, ``StoreLockedError`` where another process holds the file.
    """
    if (user_id is None) == (not admin):
        raise InvalidInputError("a token is for one user, or for an admin: nothing was made")
    if not name.strip() or (user_id is not None and not user_id.strip()):
        raise InvalidInputError("a token needs a name, and a user with one: nothing was made")
    token = _PREFIX + secrets.token_urlsafe(32)
    with _changing(path):
        grants = read_grants(path) if os.path.exists(path) else ()
        if any(grant.name == name for grant in grants):
            raise ConflictError(
                f"there is a token {name!r} already: nothing was made; revoke it, or choose another name"
            )
        _write(path, [*grants, Grant(name, user_id, admin, expires_at, _hash(token))])
    return token


def revoke(path: str | os.PathLike[str], name: str) -> None:
    """Take a token out of a file: it is good for nothing from then on.

    Raises ``NotFoundError``, and ``StoreLockedError`` where another process holds the file.
    """
    with _changing(path):
        grants = read_grants(path)
        left = [grant for grant in grants if grant.name != name]
        if len(left) == len(grants):
            raise NotFoundError(f"there is no token {name!r} in {os.fspath(path)}: nothing was revoked")
        _write(path, left)


@contextmanager
def _changing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold the file for the block: what is read in it is what is written again."""
    real = os.path.realpath(path)
    if not os.path.isdir(os.path.dirname(real)):
        raise ConfigurationError(f"there is no folder {os.path.dirname(real)}: no token was made or revoked")
    with FileLock(f"{real}.lock").held(LOCK_TIMEOUT):
        yield


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _write(path: str | os.PathLike[str], grants: Sequence[Grant]) -> None:
    with written(path, inside=None) as write:
        for grant in grants:
            write(orjson.dumps(_line(grant), option=orjson.OPT_APPEND_NEWLINE))


def _line(grant: Grant) -> dict[str, Any]:
    whose = {"admin": True} if grant.admin else {"user_id": grant.user_id}
    end = {} if grant.expires_at is None else {"expires_at": grant.expires_at.isoformat()}
    return {"name": grant.name, **whose, "sha256": grant.sha256, **end}


def _grant(line: bytes, where: str) -> Grant:
    try:
        value = orjson.loads(line)
    except ValueError as exc:
        raise ConfigurationError(f"{where} is no JSON ({exc}): {_MEND}") from exc
    if not isinstance(value, dict) or set(value) - {"name", "user_id", "admin", "sha256", "expires_at"}:
        raise ConfigurationError(
            f"{where} is no token, which is {{name, user_id or admin, sha256, expires_at?}}: {_MEND}"
        )
    name, user_id, admin, sha256 = (value.get(key) for key in ("name", "user_id", "admin", "sha256"))
    is_for_one = (isinstance(user_id, str) and bool(user_id) and admin in (None, False)) or (
        user_id is None and admin is True
    )
    if not isinstance(name, str) or not is_for_one or not _is_hash(sha256):
        raise ConfigurationError(
            f"{where} lacks a name, a user_id or admin (not both), or sha256 as 64 hexadecimal digits: {_MEND}"
        )
    grant = Grant(name, user_id, admin is True, None, str(sha256).lower())
    end = value.get("expires_at")
    try:
        return grant if end is None else replace(grant, expires_at=to_datetime(end, "expires_at"))
    except InvalidInputError as exc:
        raise ConfigurationError(f"{where}: {exc}; {_MEND}") from exc


def _is_hash(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value.lower()) <= set("0123456789abcdef")
