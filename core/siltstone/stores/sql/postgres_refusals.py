"""What PostgreSQL refuses until somebody sees to it: what no second attempt mends, and what does."""

from __future__ import annotations

import re
from typing import Final

from ...errors import ConfigurationError
from ...text.addresses import shown_address
from .connections import errors, psycopg

_AT_THE_DOOR: Final = (
    (
        r"password|authentication failed|no such user|role .* (does not exist|is not permitted)",
        "see to the role and its password, which may stand in PGPASSWORD or ~/.pgpass, too",
    ),
    (r"database .* does not exist|no such database", "make the database there, owned by the role, or name another one"),
    (r"pg_hba\.conf", "let the server's pg_hba.conf admit role, database and machine"),
    (r"does not support SSL|certificate", "see to sslmode and sslrootcert in the address"),
)
"""What is said where no connection is made, in the server's English: libpq passes on no code of it."""
_NAMED: Final = re.compile(r"\"[^\"]*\"|host '[^']*'")
"""Names of servers, sockets, roles and databases, which may hold any of those words."""
_RIGHTS: Final = "let the role own the database; a superuser makes the extension there once: CREATE EXTENSION vector"
_VECTORS: Final = "install pgvector 0.7 or newer there, and have its extension where the role's search_path finds it"
_QUOTED: Final = re.compile(r"[\"'«»„“”‘’]([^\"'«»„“”‘’]+)[\"'«»„“”‘’]")
"""Names in what a server says, in any language."""
_PGVECTOR: Final = (
    (errors.FeatureNotSupported, re.compile("vector")),  # the extension, which is not available
    (errors.UndefinedFile, re.compile(r".*/vector(\.control|\.so)?")),
    (errors.UndefinedObject, re.compile("vector|halfvec|halfvec_ip_ops|hnsw")),
)
"""What is missing, by its name, where pgvector is missing or too old."""


def remedy(exc: psycopg.Error) -> str | None:
    """Return what mends an error that does not pass by itself; ``None`` for others, and where nobody knows."""
    told = str(exc)
    if isinstance(exc, errors.InsufficientPrivilege):
        return None if "row-level security" in told else _RIGHTS
    for kind, ours in _PGVECTOR:
        if isinstance(exc, kind):
            said = exc.diag.message_primary or ""  # what follows that may quote the statement
            return _VECTORS if any(map(ours.fullmatch, _QUOTED.findall(said))) else None
    if isinstance(exc, psycopg.OperationalError) and exc.sqlstate is None:
        plain = _NAMED.sub("", told)
        return next((mends for said, mends in _AT_THE_DOOR if re.search(said, plain)), None)
    return None


def check_address(url: str) -> None:
    """Raise ``ConfigurationError`` for what libpq cannot read, or reads otherwise than people do.

    It does not repeat what libpq says, which may hold a part of a password.
    """
    try:
        parts = psycopg.conninfo.conninfo_to_dict(url)
        is_one = "@" not in str(parts.get("host", "")) and re.fullmatch(r"[\d,]*", str(parts.get("port", "")))
    except psycopg.Error:
        is_one = None
    if not is_one:
        raise ConfigurationError(
            f"{shown_address(url)} is no address of PostgreSQL: nothing was opened; write "
            "postgresql://ROLE:PASSWORD@HOST:PORT/DATABASE?NAME=VALUE (its 'Connection URIs' list the names), and of a "
            "password @ : / ? # % as %40 %3A %2F %3F %23 %25. A socket is named by its folder, ?host=/FOLDER; an "
            "abstract one, @NAME, psycopg does not open"
        )
