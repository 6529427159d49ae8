"""The figures of a benchmark as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from .output import console, note, show_table, table

if TYPE_CHECKING:
    from rich.table import Table

    from ..evaluate.metrics import Interval
    from ..evaluate.report import Row
    from ..evaluate.run import Run


def show_run(run: Run) -> None:
    """Print recall by category, what it cost, and what contexts held."""
    from ..evaluate.locomo import ADVERSARIAL
    from ..evaluate.report import OVERALL, by_category, title, without

    rows = by_category(run)
    if any(row.category == ADVERSARIAL for row in rows):
        rows.insert(-1, without(run, ADVERSARIAL))
    shown = [row for row in rows if row.questions or row.category == OVERALL]
    for measures in _abreast(shown):
        show_table(_recall(title(run), shown, measures))
    show_table(_cost(run))
    if run.contexts:
        show_table(_contexts(run))
    note(f"How: {run.how}. Intervals: 95%, bootstrap over haystacks.")


def show_comparison(runs: Sequence[Run]) -> None:
    """Print all questions' figures of several runs, a column each."""
    from ..evaluate.report import cost, overall

    embedders = [run.embedder for run in runs]
    made = table(("measure", *embedders), title="side by side", right=embedders)
    figures = [overall(run).figures for run in runs]
    for name in figures[0]:
        made.add_row(name, *(f"{figure[name].mean:.3f}" for figure in figures))
    made.add_row("search, ms", *(f"{cost(run).search_p50:.1f}" for run in runs))
    show_table(made)


def show_difference(run: Run, other: Run, change: Mapping[str, Interval]) -> None:
    """Print how a run differs from another one, with paired intervals."""
    from ..evaluate.report import title

    made = table(("measure", "difference", "95%", ""), title=f"{title(run)} against {title(other)}")
    for name, figure in change.items():
        clear = figure.low > 0 or figure.high < 0
        made.add_row(
            name, f"{figure.mean:+.3f}", f"{figure.low:+.3f} to {figure.high:+.3f}", "" if clear else "may be chance"
        )
    show_table(made)


def _abreast(rows: list[Row]) -> Iterator[list[str]]:
    """Yield the measures, as many at a time as fit the terminal."""
    measures = list(rows[0].figures)
    room = console().width - max(len(row.category) for row in rows) - _COUNT
    fit = max(room // _BOUNDS, 1)
    for start in range(0, len(measures), fit):
        yield measures[start : start + fit]


_BOUNDS: Final = 13
"""Columns that an interval takes in a table; ``_COUNT`` are those of the number of questions."""
_COUNT: Final = 7


def _recall(title: str, rows: list[Row], measures: list[str]) -> Table:
    made = table(("category", "n", *measures), title=title, right=("n", *measures))
    made.columns[0].no_wrap = True
    for row in rows:
        made.add_row(row.category, str(row.questions), *(f"{row.figures[name].mean:.3f}" for name in measures))
    made.add_row("  95%", "", *(_bounds(rows[-1].figures[name]) for name in measures))
    return made


def _cost(run: Run) -> Table:
    from ..evaluate.report import cost

    spent = cost(run)
    made = table(("cost", "value"))
    made.add_row("search, ms (p50 / p95)", f"{spent.search_p50:.1f} / {spent.search_p95:.1f}")
    if spent.cached:
        made.add_row("vectors from the cache", f"{spent.cached} (so searches and adds seem quick)")
    else:
        made.add_row("  of which the query's embedding (p50)", f"{spent.query_p50:.1f}")
        made.add_row("adds per second", f"{spent.adds_per_second:.0f} ({spent.adds} units)")
        made.add_row("  share of it in the embedder", f"{spent.embedder_share:.0%}")
    return made


def _contexts(run: Run) -> Table:
    from ..evaluate.report import by_budget

    numbers = ("budget", "tokens", "ms p50", "ms p95")
    made = table(("budget", "evidence recall", "95%", "tokens", "ms p50", "ms p95"), title="context()", right=numbers)
    for held in by_budget(run):
        figures = (f"{held.tokens:.0f}", f"{held.ms_p50:.1f}", f"{held.ms_p95:.1f}")
        made.add_row(str(held.budget), f"{held.recall.mean:.3f}", _bounds(held.recall), *figures)
    return made


def _bounds(figure: Interval) -> str:
    return "–".join(f"{bound:.3f}".removeprefix("0") for bound in (figure.low, figure.high))
