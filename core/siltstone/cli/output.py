"""How results look: tables that fit the terminal, whatever the width of the characters, and JSON for scripts."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

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


def plain(value: Any) -> Any:
    """Return JSON values for dataclasses (what is public of them), mappings, sequences and times."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if not field.name.startswith("_")]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return value


def count(number: int, what: str) -> str:
    """Return a number of things, for people: 1 message, 2 messages."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Give the block a function ``(done, total)`` that moves a bar on stderr, with rate and remaining time."""
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

        def move(done: int, total: int) -> None:
            speed = bar.tasks[task].speed
            bar.update(task, completed=done, total=total, rate=f"{speed:.0f}/s" if speed else "")

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
    """Return a table of memories: id, kind, date, speaker, text."""
    made = table(("id", "kind", "date", "who", "text"))
    for record in records:
        made.add_row(record.id, record.kind, day(record.time), who(record), record.text)
    return made


def hits_table(hits: Sequence[Hit], *, title: str | None = None) -> Table:
    """Return a table of recalled memories, best first."""
    made = table(("#", "score", "date", "who", "text"), title=title, right=("#", "score"))
    for place, hit in enumerate(hits, 1):
        record = hit.record
        made.add_row(str(place), f"{hit.score:.2f}", day(record.time), who(record), record.text)
    return made


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
