"""How results look: tables that fit the terminal, whatever the width of the characters, and JSON for scripts."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from ..records import message_id
from ..wire import plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ..records import Hit, Record


def console(*, stderr: bool = False, markup: bool = False) -> Console:
    """Return a console on stdout or stderr; it obeys ``NO_COLOR`` and ``COLUMNS``.

    ``markup``: whether brackets stand for rich's styles; where they do not, they are text as any other.
    """
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=markup)


def note(text: str) -> None:
    """Print a remark that is not part of the result: on stderr."""
    print(text, file=sys.stderr)


def write_json(value: Any) -> None:
    """Print a value of records as one JSON document; times are ISO 8601."""
    print(json.dumps(plain(value), ensure_ascii=False, allow_nan=False))


def count(number: int, what: str) -> str:
    """Return a number of things, for people: 1 message, 2 messages."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def size(bytes: int) -> str:
    """Return a number of bytes, for people: 1.4 MB."""
    amount = float(bytes)
    for unit in ("bytes", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int | None], None]]:
    """Give the block a function ``(done, total)`` that moves a bar on stderr, with rate and remaining time.

    A ``total`` of ``None`` is one that nobody knows.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    shown = console(stderr=True)
    with Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal) as bar:
        task = bar.add_task(what, total=None, rate="")

        def move(done: int, total: int | None) -> None:
            speed = bar.tasks[task].speed
            bar.update(task, completed=done, total=total or None, rate=f"{speed:.0f}/s" if speed else "")

        yield move


def table(columns: Iterable[str], *, title: str | None = None, right: Sequence[str] = ()) -> Table:
    """Return an empty table; the columns named in ``right`` hold numbers."""
    from rich import box
    from rich.table import Table

    made = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        made.add_column(name, justify="right" if name in right else "left", overflow="fold")
    return made


def show_table(made: Table) -> None:
    """Print a table on stdout."""
    console().print(made)


def records_table(records: Iterable[Record]) -> Table:
    """Return a table of memories: id, kind, date, speaker, text; until when it held, where one has been closed."""
    listed = list(records)
    closed = any(record.valid_until for record in listed)
    made = table(("id", "kind", "date", *(("held until",) if closed else ()), "who", "text"))
    for record in listed:
        until = (day(record.valid_until),) if closed else ()
        made.add_row(record.id, record.kind, day(record.time), *until, who(record), record.text)
    return made


def recalled_table(hits: Sequence[Hit], *, title: str | None = None) -> Table:
    """Return a table of recalled memories to look at, best first, without their ids."""
    made = table(("#", "score", "date", "who", "text"), title=title, right=("#", "score"))
    for place, hit in enumerate(hits, 1):
        made.add_row(str(place), f"{hit.score:.2f}", day(hit.record.time), who(hit.record), hit.record.text)
    return made


def hits_table(hits: Sequence[Hit]) -> Table:
    """Return a table of recalled memories, best first, each with the id that ``show`` and ``forget`` take.

    An id is never folded beside a text: where there is no room for both, it has a line of its own below.
    """
    from rich.cells import cell_len

    ids = [message_id(hit.record.id) for hit in hits]
    longest = max(map(cell_len, ids), default=0)
    if console().width - longest < _BESIDE_ID:
        made = table(("#", "score", "memory"), right=("#", "score"))
        for place, (id, hit) in enumerate(zip(ids, hits, strict=True), 1):
            about = ", ".join(filter(None, (who(hit.record), day(hit.record.time))))
            made.add_row(str(place), f"{hit.score:.2f}", f"{hit.record.text}\n{about}\n{id}")
        return made
    made = table(("#", "score", "id", "date", "who", "text"), right=("#", "score"))
    made.columns[2].min_width = made.columns[2].max_width = longest
    for place, (id, hit) in enumerate(zip(ids, hits, strict=True), 1):
        record = hit.record
        made.add_row(str(place), f"{hit.score:.2f}", id, day(record.time), who(record), record.text)
    return made


_BESIDE_ID: Final = 58
"""Columns that a table of hits needs beside the ids: 30 for the texts, if who said them has a short name."""


def show_why(hits: Sequence[Hit], *, title: str | None = None) -> None:
    """Print the parts of each score, a column per hit, numbered as in ``hits_table``.

    Below the score stands what is no part of its sum: the texts that a hit stands for, and how it got its place.
    """
    made = console()
    names = list(dict.fromkeys(name for hit in hits for name in hit.why))
    remarks = [name for name in names if ":" in name]
    parts = [name for name in names if ":" not in name]
    fit = max((made.width - max(map(len, names), default=0)) // _FIGURE, 1)
    for start in range(0, len(hits), fit):
        shown = hits[start : start + fit]
        numbers = [f"#{place}" for place in range(start + 1, start + len(shown) + 1)]
        grid = table(("part", *numbers), title=title, right=numbers)
        for part in parts:
            grid.add_row(part, *(f"{hit.why[part]:+.2f}" if part in hit.why else "" for hit in shown))
        grid.add_row("score", *(f"{hit.score:.2f}" for hit in shown))
        for remark in remarks:
            grid.add_row(remark, *("yes" if remark in hit.why else "" for hit in shown))
        made.print(grid)


_FIGURE = 8
"""Columns that one figure takes in a table."""


def first_words(text: str) -> str:
    """Return the beginning of a text, as much as fits on the line of a table; wide characters count twice."""
    from rich.text import Text

    line = Text(" ".join(text.split()))
    line.truncate(max(console().width - _BESIDE, 20), overflow="ellipsis")
    return line.plain


_BESIDE = 58
"""Columns that id, kind and time take beside a text."""


def who(record: Record) -> str:
    """Return who said it, or what kind of memory it is."""
    return record.speaker or record.role or record.kind


def day(time: datetime | None) -> str:
    """Return a local date, for people."""
    return "" if time is None else time.astimezone().strftime("%Y-%m-%d")


def minute(time: datetime | None) -> str:
    """Return a local date and time, for people."""
    return "" if time is None else time.astimezone().strftime("%Y-%m-%d %H:%M")
