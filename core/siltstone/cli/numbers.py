"""Lists of numbers as they are typed."""

from __future__ import annotations

import typer


def numbers(text: str, option: str) -> list[int]:
    """Read ``5,10,20`` or ``3..10``; positive, ascending, each once."""
    try:
        found: list[int] = []
        for part in filter(None, text.replace(" ", "").split(",")):
            first, _, last = part.partition("..")
            found += range(int(first), int(last or first) + 1)
        if min(found, default=1) < 1:
            raise ValueError
    except ValueError as exc:
        raise typer.BadParameter("is a list of positive numbers, e.g. 5,10,20 or 3..10", param_hint=option) from exc
    return sorted(set(found))
