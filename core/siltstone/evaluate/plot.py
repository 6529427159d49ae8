"""Runs as pictures, with matplotlib: recall by depth, by category, and by the tokens of a context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..errors import MissingDependencyError
from .report import by_budget, by_category, title
from .run import Run

try:
    from matplotlib import font_manager, rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
except ImportError as exc:
    raise MissingDependencyError.extra("matplotlib", "--plot", "plot") from exc

_FONTS: Final = ("DejaVu Sans", "Noto Sans CJK SC", "Source Han Sans SC", "PingFang SC", "Microsoft YaHei", "SimHei")
"""Tried in this order for each character: the names of categories may be Chinese."""


def plot(runs: Sequence[Run], folder: str | Path) -> list[Path]:
    """Write PNGs into a folder, which is made where it is not there; return their paths.

    ``depth.png`` is recall at each number of results, ``categories.png`` recall at the largest by category where
    there are several, ``budget.png`` evidence recall by token budget where contexts were measured. Bars and bands
    are 95% intervals.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with drawing_of():
        made = [_depth(runs, folder / "depth.png")]
        if len(by_category(runs[0])) > 1:
            made.append(_categories(runs, folder / "categories.png"))
        if any(run.contexts for run in runs):
            made.append(_budget(runs, folder / "budget.png"))
    return made


@contextmanager
def drawing_of() -> Iterator[None]:
    """Have the block draw in fonts that know Chinese, as far as there are any."""
    installed = font_manager.get_font_names()
    with rc_context({"font.family": [font for font in _FONTS if font in installed]}):
        yield


def _depth(runs: Sequence[Run], path: Path) -> Path:
    axes = new_axes("results", "recall")
    for run in runs:
        depths = range(1, max(run.cuts) + 1)
        axes.plot(depths, [np.mean([j.recall(k) for j in run.questions]) for k in depths], label=title(run))
    return save(axes, path)


def _categories(runs: Sequence[Run], path: Path) -> Path:
    axes = new_axes("", f"R@{max(runs[0].cuts)}")
    width = 0.8 / len(runs)
    for n, run in enumerate(runs):
        rows = by_category(run)
        found = [row.figures[f"R@{max(run.cuts)}"] for row in rows]
        low_high = np.array([[f.mean - f.low for f in found], [f.high - f.mean for f in found]]).clip(min=0)
        places = np.arange(len(rows)) + width * (n - (len(runs) - 1) / 2)
        axes.bar(places, [f.mean for f in found], width, yerr=low_high, capsize=2, label=title(run))
        axes.set_xticks(np.arange(len(rows)), [row.category for row in rows], rotation=20)
    return save(axes, path)


def _budget(runs: Sequence[Run], path: Path) -> Path:
    axes = new_axes("tokens used", "evidence recall")
    for run in runs:
        rows = list(by_budget(run))
        tokens = [row.tokens for row in rows]
        axes.plot(tokens, [row.recall.mean for row in rows], marker="o", label=title(run))
        axes.fill_between(tokens, [row.recall.low for row in rows], [row.recall.high for row in rows], alpha=0.15)
    return save(axes, path)


def new_axes(x: str, y: str, *, parts: int = 1) -> Any:
    """Return the axes of a new figure, named; with ``parts`` as many beside each other, without names."""
    figure = Figure(figsize=(7, 4.5) if parts == 1 else (2.4 * parts, 2.2), layout="constrained")
    FigureCanvasAgg(figure)
    if parts > 1:
        return figure.subplots(1, parts, sharey=True)
    axes = figure.add_subplot()
    axes.set(xlabel=x, ylabel=y, ylim=(0, 1))
    axes.grid(alpha=0.3)
    return axes


def save(axes: Any, path: Path, *, where: str | None = "lower right") -> Path:
    """Write the figure of some axes, with a legend unless ``where`` is ``None``; return its path."""
    if where is not None:
        axes.legend(loc=where, fontsize="small")
    axes.figure.savefig(path, dpi=120)
    return path
