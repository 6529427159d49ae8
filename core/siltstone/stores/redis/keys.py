"""Names of keys: whatever an id holds, it stays inside its own part of a name. Pure.

::

    PREFIX:run                    the servers, by their run, that hold nothing of an earlier run
    PREFIX:{USER}                 hash: what the copies of a user's sessions are of
    PREFIX:{USER}:SESSION         list: the turns of a session, oldest first

The braces are a hash tag: a cluster keeps all of a user in one slot, so that one script can change it at once.
"""

from __future__ import annotations

import hashlib
from typing import Final
from urllib.parse import quote

_LONGEST: Final = 200
"""Characters of an id in a name; a longer one is told by its hash."""


def encoded(id: str) -> str:
    """Return an id in letters, digits and ``_ . - ~ %``, another one for every other id.

    ``%%`` is in no percent-encoding, so that a hash is never taken for an id.
    """
    plain = quote(id, safe="", errors="surrogatepass")
    if plain and len(plain) <= _LONGEST:
        return plain
    return "%%" + hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()


def of_user(prefix: str, user_id: str) -> str:
    """Return the name of what is known of a user's copies."""
    return f"{prefix}:{{{encoded(user_id)}}}"


def of_session(prefix: str, user_id: str, session: str) -> str:
    """Return the name of a session's turns; ``session`` is encoded."""
    return f"{of_user(prefix, user_id)}:{session}"


def of_runs(prefix: str) -> str:
    """Return the name of the servers' runs."""
    return f"{prefix}:run"
