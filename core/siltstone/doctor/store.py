"""A store: whether it is there and opens, who holds it, what waits or has failed, what is there twice, how it grows."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ..errors import (
    BackendUnavailableError,
    DecryptionError,
    EmbedderMismatchError,
    MissingDependencyError,
    SiltstoneError,
    StoreCorruptedError,
    StoreLockedError,
    StoreVersionError,
)
from ..opening import is_postgresql, keys_apart
from ..records import Stats
from ..stores.files import storefile
from ..stores.files.layout import user_folders
from ..stores.files.lock import FileLock
from ..text.language import script
from .check import Check, hint, ok, wrong

if TYPE_CHECKING:
    from ..memory import TieredMemory

_SAMPLE: Final = 500
"""Newest records whose scripts are looked at."""
_MANY: Final = 200_000
"""Messages beyond which nobody waits for what is in a memory twice."""
_FEW: Final = 4
"""Messages of a session that are not worth a word, if another one has the same."""
_PATIENCE: Final = 0.5
"""Seconds after which a lock is looked at again: a writer holds it for some milliseconds."""
_LARGE: Final = 20_000
"""Bytes of documents for each message, beyond which something other than messages fills a store."""
_FIXES: Final[tuple[tuple[type[SiltstoneError], str], ...]] = (
    (EmbedderMismatchError, "siltstone reembed --store {store} moves it to this embedder; the texts stay"),
    (DecryptionError, "siltstone --key-file FILE doctor --store {store}, or SILTSTONE_KEY"),
    (StoreCorruptedError, "siltstone verify --store {store}"),
    (StoreVersionError, "pip install --upgrade siltstone"),
    (StoreLockedError, "wait, or end the process that is named; SILTSTONE_LOCK_TIMEOUT=60 waits longer"),
    (BackendUnavailableError, "start the server of {store}"),
    (MissingDependencyError, "the pip line of that sentence, in the environment that runs siltstone"),
)
_ELSEWHERE: Final = "mend what the sentence names, or look elsewhere: siltstone doctor --store FOLDER"


def missing(location: str) -> Iterator[Check]:
    """Yield what is to be said where no store is: it may lie where another process was started."""
    if location == ":memory:":
        yield wrong(
            "store", ":memory: keeps nothing beyond the end of its process", "--store FOLDER, or SILTSTONE_STORE"
        )
        return
    place = os.path.abspath(os.path.expanduser(location))
    others = stores_near(Path(place))
    if others:
        named = " and ".join(map(str, others[:3]))
        yield wrong("store", f"there is none in {place}, but in {named}", f"siltstone doctor --store {others[0]}")
    else:
        yield wrong(
            "store",
            f"there is none in {place}: a relative folder is meant from where a process was started",
            f"name it in full: SILTSTONE_STORE=/path/to/memory; siltstone add makes one at {location}",
        )


def stores_near(place: Path) -> list[Path]:
    """Return the stores beside a folder, under its name in the folders beside its own, and at home, nearest first."""
    found = [*_stores(place.parent, "*"), *_stores(place.parent.parent, f"*/{place.name}"), *_stores(Path.home(), "*")]
    return list(dict.fromkeys(found))


def _stores(folder: Path, pattern: str) -> list[Path]:
    try:
        return sorted(entry for entry in folder.glob(pattern) if (entry / "STORE").is_file())
    except OSError:  # not ours to look into
        return []


def refused(location: str, exc: SiltstoneError) -> Check:
    """Return what is to be done about a store that does not open."""
    fix = next((fix for kind, fix in _FIXES if isinstance(exc, kind)), _ELSEWHERE)
    return wrong("store", str(exc), fix.format(store=location))


def locks(root: str) -> Iterator[Check]:
    """Yield who holds a lock for longer than a write takes."""
    paths = [os.path.join(root, "LOCK"), *(os.path.join(folder, "LOCK") for folder in user_folders(root))]
    held = [path for path in paths if not FileLock(path).is_free()]
    if held:
        time.sleep(_PATIENCE)
        held = [path for path in held if not FileLock(path).is_free()]
    if not held:
        yield ok("locks", "nobody holds one")
        return
    holder = Path(held[0]).read_bytes()[:20].decode("ascii", "replace").strip() or "unknown"
    yield hint(
        "locks",
        f"{held[0]} is held by process {holder}"
        + (f", and {len(held) - 1} more locks are held" if len(held) > 1 else ""),
        "wait if it imports or restores; a writer that waits longer than lock_timeout is refused: "
        f"SILTSTONE_LOCK_TIMEOUT=60, or end the process: kill {holder}",
    )


def walls(location: str) -> Iterator[Check]:
    """Yield whether a server keeps users apart for the role that asks, too."""
    if not is_postgresql(location):
        return
    from ..stores.sql.postgres import PostgresDatabase

    with closing(PostgresDatabase(keys_apart(location)[0], read_only=True, create=False)) as database:
        if database.is_walled():
            yield ok("walls", "row-level security holds for the role")
            return
    yield hint(
        "walls",
        "the role is a superuser, or has BYPASSRLS: row-level security, the second wall between users, lets it through",
        "CREATE ROLE app LOGIN; CREATE DATABASE memory OWNER app; then siltstone migrate into that, and connect as app",
    )


def nobody(memory: TieredMemory, users: int) -> Iterator[Check]:
    """Yield whether the user has anything."""
    found = memory.stats()
    if found.messages or found.records:
        has = f"{_count(found.messages, 'message')} and {_count(found.records, 'record')}"
        yield ok("user", f"{memory.user_id!r} has {has}")
    else:
        others = f"; {_count(users, 'other')} {'has' if users == 1 else 'have'}" if users else ""
        yield wrong(
            "user",
            f"{memory.user_id!r} has nothing in {memory.location}{others}",
            f"siltstone stats --users --store {memory.location} lists who has; then --user NAME, or SILTSTONE_USER",
        )


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def state(found: Stats) -> Iterator[Check]:
    """Yield what waits, what has failed and what was repaired, of one user."""
    store, user = f"--store {found.location}", f"--user {found.user_id!r}"
    if found.pending_vectors:
        yield hint(
            "pending vectors",
            f"{found.pending_vectors} texts of user {found.user_id!r} are found by their words only, until embedded",
            f"siltstone reembed {store} makes what is missing, and goes on where it was stopped",
        )
    if found.dead_letters:
        yield wrong(
            "dead letters",
            f"{len(found.dead_letters)} spans of user {found.user_id!r} have failed for good: {found.dead_letters[0]}",
            f"siltstone consolidate --retry {store} {user} --summarizer MODEL",
        )
    if waiting := found.jobs.get("waiting", 0):
        yield hint(
            "jobs",
            f"{waiting} spans of user {found.user_id!r} wait to be tried again by the language model",
            f"siltstone consolidate {store} {user} --summarizer MODEL",
        )
    if found.over_budget:
        yield hint("budget", found.over_budget, "wait, or raise SILTSTONE_TOKENS_PER_DAY, SILTSTONE_REQUESTS_PER_DAY")
    if found.health:
        yield wrong("health", f"user {found.user_id!r}: {'; '.join(found.health[:3])}", f"siltstone verify {store}")


def duplicates(memory: TieredMemory) -> Iterator[Check]:
    """Yield sessions that are there twice, and messages that a session has twice in a row."""
    if memory.stats().messages > _MANY:
        return
    seen: dict[int, str] = {}
    copies: dict[str, str] = {}
    repeated = total = 0
    for info in memory.sessions():
        said = [(one.role, one.content) for one in memory.messages(info.session_id)]
        total += len(said)
        repeated += sum(before == after for before, after in pairwise(said))
        first = seen.setdefault(hash(tuple(said)), info.session_id)
        if first != info.session_id and len(said) >= _FEW:
            copies[info.session_id] = first
    again = f"--store {memory.location} --user {memory.user_id!r}"
    if copies:
        copy, first = next(iter(copies.items()))
        yield hint(
            "duplicates",
            f"{len(copies)} sessions hold what another one holds, as {copy!r} does what {first!r} does: "
            "the same transcript was added under another session_id",
            f"siltstone forget --session {copy!r} {again} --dry-run; give a conversation one session_id",
        )
    if repeated > max(_FEW, total // 10):
        yield hint(
            "duplicates",
            f"{repeated} of {total} messages say what the one before says: sent again without ids",
            "give each message an id: the same one again is no second one",
        )
    if not copies and repeated <= max(_FEW, total // 10):
        yield ok("duplicates", "no session is there twice")


def growth(found: Stats, parts: Mapping[str, int]) -> Iterator[Check]:
    """Yield what takes room on the disk beside messages."""
    told = ", ".join(f"{part} {size / 1e6:.1f} MB" for part, size in parts.items() if size > 50_000)
    left = [part for part in ("trash", "migration", "restoring", "quarantine") if parts.get(part)]
    if left:
        yield hint(
            "growth",
            f"{told or 'small'}; {', '.join(left)}: left by a process that was killed, or by a repair",
            f"siltstone verify --repair --store {found.location}; damaged pieces go with the user's next forget",
        )
    elif found.messages and found.bytes.get("documents", 0) > _LARGE * (found.messages + found.records):
        yield hint(
            "growth",
            f"{told}: documents take far more than {found.messages} messages need: earlier versions, or long texts",
            f"siltstone compact --store {found.location}; keep fewer versions with SILTSTONE_HISTORY=3",
        )
    else:
        yield ok("growth", told or "less than 50 kB")


def scripts(memory: TieredMemory) -> Counter[str]:
    """Return in which scripts a user's newest records are written."""
    newest: list[str] = []
    for record in memory.records():
        newest.append(record.text)
        if len(newest) > 2 * _SAMPLE:
            del newest[:_SAMPLE]
    return Counter(map(script, newest[-_SAMPLE:]))


def newest(memory: TieredMemory) -> datetime | None:
    """Return when a user's newest record was stored."""
    return max((record.stored_at for record in memory.records() if record.stored_at is not None), default=None)


def is_there(location: str) -> bool:
    """Return whether a folder holds a store."""
    return storefile.exists(os.path.abspath(os.path.expanduser(location)))
