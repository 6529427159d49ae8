"""Addresses of servers without what is secret in them: for errors, ``repr``, logs, and what is saved. Pure.

An address may stand behind other words, as in ``openai:MODEL@https://…``, and reaches to the end of its text.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit

_ADDRESS: Final = re.compile(r"([a-z][a-z0-9+.-]*)://(.*)", re.IGNORECASE | re.DOTALL)
_SECRET: Final = re.compile(
    r"pass(?!file)|pwd|secret|token|(?<!ssl)(?<!ssl_)key|^sig|signature|credential|^auth", re.IGNORECASE
)
"""Names of parameters of a URL whose values are secrets, as those of drivers, clouds and model servers are."""
_NAMELESS: Final = ("http", "https", "redis", "rediss")
"""Schemes whose user goes as well: a token may stand there."""
_SERVERS: Final = ("postgresql", "postgres")
_PLACES: Final = ("host", "hostaddr", "port", "dbname")
"""Parameters that say which server of those is meant, as the folder of its socket."""


def without_secrets(text: str) -> str:
    """Return an address without passwords and secret parameters; all else stays as it was written, and opens it."""
    return _ADDRESS.sub(lambda found: _cleared(found[1], found[2]), text)


def shown_address(text: str) -> str:
    """Return an address as people may see it: without parameters, since a secret may have any name.

    Those that say where a PostgreSQL server is stay.
    """
    clean = without_secrets(text)
    head, separator, rest = clean.partition("://")
    if not separator:
        return clean
    place, *behind = re.split(r"[?#]", rest, maxsplit=1)
    kept = ""
    if behind and head.lower() in _SERVERS:
        kept = "&".join(one for one in behind[0].split("&") if one.partition("=")[0] in _PLACES)
    return head + separator + place + (f"?{kept}" if kept else "")


def _is_secret(name: str) -> bool:
    return name != "keys" and _SECRET.search(name) is not None  # that is the folder of an encrypted store's keys


def _cleared(scheme: str, rest: str) -> str:
    try:
        url = urlsplit(f"//{rest}")
        for one in url.netloc.rpartition("@")[2].split(","):  # a driver may take several hosts
            place = urlsplit(f"//{one}")
            if place.port is None and place.netloc and not place.hostname:
                raise ValueError(rest)
        behind = rest.removeprefix(url.netloc)
        if "@" in behind and scheme.lower() not in ("http", "https"):  # a / ? or # in a password ended it too early
            raise ValueError(rest)
    except ValueError:  # no address after all, and nobody knows what stands in it
        return f"{scheme}://…"
    user, at, host = url.netloc.rpartition("@")
    name = "" if scheme.lower() in _NAMELESS else user.partition(":")[0]
    parameters = re.split("[&;]", url.query)
    kept = [one for one in parameters if not _is_secret(one.partition("=")[0])]
    if not at and kept == parameters and not url.fragment:
        return f"{scheme}://{rest}"
    query = f"?{'&'.join(kept)}" if any(kept) else ""
    return f"{scheme}://{name}{'@' if name else ''}{host}{url.path}{query}"
