"""An experiment as pictures, with matplotlib."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import Any, Final

from ..plot import drawing_of, new_axes, save
from .designs import FULL, HIERARCHY, RAG, ROLLING, TIERED
from .report import costs, curve, growth
from .run import Experiment

_COLOURS: Final = {FULL: "#7f7f7f", RAG: "#1f77b4", ROLLING: "#ff7f0e", HIERARCHY: "#9467bd", TIERED: "#d62728"}
_OTHERS: Final = ("#2ca02c", "#8c564b", "#17becf", "#e377c2", "#bcbd22")
_COSTS: Final = (
    ("embedder_calls", "embedder calls"),
    ("embedded_tokens", "tokens embedded"),
    ("model_calls", "summaries made"),
    ("model_tokens", "tokens summarised"),
    ("cpu_seconds", "seconds of CPU"),
)


def plot(experiment: Experiment, folder: str | Path) -> list[Path]:
    """Write PNGs into a folder, which is made where it is not there; return their paths.

    ``recall.png`` is evidence recall by the tokens injected, bands are 95% intervals over conversations;
    ``growth.png`` the tokens injected by the tokens of history; ``cost.png`` what writing a thousand turns costs.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with drawing_of():
        return [
            _recall(experiment, folder / "recall.png"),
            _growth(experiment, folder / "growth.png"),
            _cost(experiment, folder / "cost.png"),
        ]


def _colours(experiment: Experiment) -> dict[str, str]:
    others = [family for family in experiment.families if family not in _COLOURS]
    return {**_COLOURS, **dict(zip(others, cycle(_OTHERS), strict=False))}


def _recall(experiment: Experiment, path: Path) -> Path:
    axes = new_axes("tokens injected per question", "evidence recall")
    points, colours = curve(experiment), _colours(experiment)
    for family in experiment.families:
        shown = [point for point in points if point.family == family]
        tokens = [point.tokens for point in shown]
        axes.plot(tokens, [one.recall.mean for one in shown], marker="o", color=colours[family], label=family)
        bounds = ([one.recall.low for one in shown], [one.recall.high for one in shown])
        axes.fill_between(tokens, *bounds, color=colours[family], alpha=0.12, linewidth=0)
    axes.set_xscale("log")
    _plain_numbers(axes, sorted({point.budget for point in points}))
    axes.set_ylim(0, 1.03)
    return save(axes, path)


def _growth(experiment: Experiment, path: Path) -> Path:
    axes, colours = new_axes("tokens of history", "tokens injected per question"), _colours(experiment)
    for family, points in growth(experiment).items():
        axes.plot(*zip(*points, strict=True), marker="o", color=colours[family], label=family)
    axes.set_ylim(0, None)
    return save(axes, path, where="upper left")


def _cost(experiment: Experiment, path: Path) -> Path:
    figure_axes = new_axes("", "", parts=len(_COSTS))
    shown, colours = costs(experiment), _colours(experiment)
    names = [one.family for one in shown]
    for axes, (field, title) in zip(figure_axes, _COSTS, strict=True):
        values = [getattr(one, field) for one in shown]
        bars = axes.barh(names, values, color=[colours[name] for name in names])
        axes.bar_label(bars, [f"{value:,.0f}" for value in values], padding=2, fontsize="small")
        axes.set(title=title, xlim=(0, max([*values, 1]) * 1.35), xticks=[])
        axes.title.set_fontsize("medium")
        axes.invert_yaxis()
    figure_axes[0].figure.suptitle("writing 1,000 turns", fontsize="medium")
    return save(figure_axes[0], path, where=None)


def _plain_numbers(axes: Any, numbers: list[int]) -> None:
    axes.set_xticks(numbers, [f"{number:,}" for number in numbers])
    axes.minorticks_off()
