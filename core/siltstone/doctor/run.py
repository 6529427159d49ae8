"""The examination: what is looked at, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from .. import upkeep
from ..errors import SiltstoneError
from ..memory import TieredMemory
from ..models.checked import CheckedEmbedder
from ..models.resolve import resolve_embedder
from ..opening import Key, is_folder, is_service
from ..records import WHOLE
from ..settings import Settings, checked_settings
from . import installation, machine, models, store
from .check import Check, ok, wrong

_USERS: Final = 1_000
"""Users that are looked at one by one; the counts of a larger store are ``siltstone stats --users``."""


def examine(
    location: str,
    *,
    user_id: str = "default",
    embedder: Any = None,
    summarizer: Any = None,
    settings: Settings | None = None,
    key: Key | None = None,
    vector_store: Any = None,
    quick: bool = False,
) -> Iterator[Check]:
    """Yield a ``Check`` for each thing that was looked at; nothing is changed.

    ``location``, ``user_id``, ``embedder``, ``settings``, ``key`` and ``vector_store`` are those of
    ``TieredMemory.open``. ``summarizer`` is the name of a language model, which is asked for a small digest; ``quick``
    loads and asks no model. What is wrong is told, never raised. O(records) of the user, O(users).
    """
    settings = checked_settings(settings)
    yield from installation.installation()
    yield from machine.memory()
    yield from machine.gpu()
    served = is_service(location)  # which has settings and models of its own
    pending = 0
    scripts: tuple[str, ...] = ()
    if is_folder(location):
        yield from machine.file_system(location)
    if (is_folder(location) and not store.is_there(location)) or location == ":memory:":
        yield from store.missing(location)
        yield from machine.clock(None)
    else:
        try:
            with TieredMemory.open(
                location,
                user_id=user_id,
                embedder=embedder,
                settings=None if served else settings,
                key=key,
                vector_store=vector_store,
                read_only=not served,
                create=False,
            ) as memory:
                yield ok("store", f"{memory.location} opens")
                yield from store.walls(location)
                yield from _of_store(memory)
                pending = memory.stats().pending_vectors
                scripts = tuple(store.scripts(memory))
        except SiltstoneError as exc:
            yield store.refused(location, exc)
            yield from machine.clock(None)
    if not quick and not served:
        for check in _of_models(embedder, summarizer, settings, pending, scripts):
            yield replace(check, fix=check.fix.replace("--store STORE", f"--store {location}"))


def _of_store(memory: TieredMemory) -> Iterator[Check]:
    """Yield what there is to say of an open store, of the user and of the others."""
    parts = {}
    users = [memory.user_id]
    if is_folder(memory.location):
        parts = dict(upkeep.sizes(memory.location))
        yield from machine.disk(memory.location, parts)
        yield from store.locks(memory.location)
        named = {*islice(upkeep.users(memory.location), _USERS), memory.user_id}
        users = sorted(named, key=lambda name: (name != memory.user_id, name))
    yield from machine.clock(store.newest(memory))
    yield from store.nobody(memory, len(users) - 1)
    told = False
    for name in users:
        for check in store.state(memory.for_user(name).stats()):
            told = True
            yield check
    if not told:
        yield ok("queue", "no text waits to be embedded, nothing has failed")
    yield from store.duplicates(memory)
    found = memory.stats()
    yield from store.growth(found, parts or {WHOLE: found.bytes.get(WHOLE, 0)})


def _of_models(
    embedder: Any, summarizer: Any, settings: Settings, pending: int, scripts: tuple[str, ...]
) -> Iterator[Check]:
    try:
        model = CheckedEmbedder(resolve_embedder(embedder, attempts=1))  # how it is now, not after a wait
    except SiltstoneError as exc:
        yield wrong("embedder", str(exc), "siltstone doctor --embedder NAME, or none for the embedded one")
        return
    found = list(models.embedder(model, pending))
    yield from found
    if not any(check.state == "wrong" for check in found):
        yield from models.languages(model, scripts)
    if summarizer is not None:
        yield from models.summarizer(summarizer, settings)
