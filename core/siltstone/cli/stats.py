"""The command ``stats``: what is stored, what it takes on disk and in memory, and what the work has cost."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from ..records import WHOLE
from ..wire import plain
from .options import DEFAULT_STORE, AsJson, Embedding, StoreAt, User, opened
from .output import note, show_table, size, table, write_json
from .users import show_users

if TYPE_CHECKING:
    from ..records import Stats

_ELSEWHERE: Final = ("stages", "memory", "bytes")
"""Figures that have a table of their own."""


def stats(
    users: Annotated[bool, typer.Option("--users", help="List all users instead, and what each has.")] = False,
    ask: Annotated[
        str | None,
        typer.Option("--ask", metavar="TEXT", help="Also search and make a context for this, and show what it cost."),
    ] = None,
    store: StoreAt = DEFAULT_STORE,
    user: User = "default",
    embedder: Embedding = None,
    as_json: AsJson = False,
) -> None:
    """Count what is stored and what it takes, on disk and in memory: of one user, or who has what.

    \b
    siltstone stats --user alice
    siltstone stats --ask "Where do I work?"
    siltstone stats --users --json

    What each stage of the work has cost (calls, tokens, milliseconds) is that of the process that holds the store: here
    of what --ask does, with a service of what that has done since its start.
    """
    with opened(store, user, embedder, read_only=True, missing_ok=users) as memory:
        if users:
            show_users(memory, store, as_json=as_json)
            return
        if ask is not None:
            memory.context(ask)
        found = memory.stats()
        location = memory.location
    parts = _sizes(location)
    if as_json:
        write_json({**plain(found), "store_bytes": parts})
        return
    _show(found, parts)
    if found.health:
        note(f"siltstone verify --store {store} says what its health is about, and what to do")


def _sizes(location: str) -> Mapping[str, int]:
    """Return what the whole store takes on disk, by part, where it is a folder."""
    from ..upkeep import sizes

    return sizes(location) if os.path.isdir(location) else {}


def _show(found: Stats, parts: Mapping[str, int]) -> None:
    made = table(("what", "value"))
    for name, value in plain(found).items():
        if name in _ELSEWHERE:
            continue
        if isinstance(value, dict):
            for part, amount in value.items():
                made.add_row(f"{_words(name)}: {_words(part)}", _text(amount))
        elif value not in (None, []):
            made.add_row(_words(name), _text(value))
    show_table(made)
    whole = parts or {part: bytes for part, bytes in found.bytes.items() if part == WHOLE}
    for title, column, figures in (
        ("on disk", "of this user", found.own_bytes),
        ("on disk", "of all users", whole),
        ("in memory", "of this process", found.memory),
    ):
        if any(figures.values()):
            held = table((title, column), right=(column,))
            for part, bytes in figures.items():
                held.add_row(_words(part), size(bytes))
            show_table(held)
    if found.stages:
        _show_stages(found)


def _show_stages(found: Stats) -> None:
    numbers = ("calls", "failures", "items", "tokens", "ms", "ms each")
    made = table(("stage", *numbers), right=numbers)
    for stage, spent in found.stages.items():
        milliseconds = 1000 * spent.seconds
        each = milliseconds / spent.calls
        counts = (spent.calls, spent.failures, spent.items, spent.tokens)
        made.add_row(stage, *(f"{count:,}" for count in counts), f"{milliseconds:,.0f}", f"{each:,.1f}")
    show_table(made)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
