"""The year as a picture, readable on light and dark pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

GREY = "#808891"
COLOURS = {
    "near": "#2f81f7",
    "seen": "#a371f7",
    "wide": "#1b7c83",
    "wider": "#bf3989",
    "apart": "#e8833a",
    "fresh": "#2ea043",
}


def draw(found: dict[str, Any], path: Path) -> None:
    """Write a run as one PNG of four: what is right, what is derived, what is stored, how long it takes."""
    figure = Figure(figsize=(9.0, 5.2), layout="constrained")
    panels = figure.subplots(2, 2).ravel()
    titles = (
        "profile right at the month's end, %",
        "statements kept (line), facts told (dots)",
        "store, MB",
        "context(), ms of CPU",
    )
    title: dict[str, Any] = {"fontsize": 10, "color": GREY, "loc": "left"}
    for axes, text in zip(panels, titles, strict=True):
        axes.set_title(text, **title)
    for name, months in found["phrasings"].items():
        place = [month["month"] for month in months]
        lines = (
            [100 * month["right"] / month["asked"] for month in months],
            [month["derived"] for month in months],
            [month["megabytes"] for month in months],
            [month["context_cpu_ms"] for month in months],
        )
        for axes, values in zip(panels, lines, strict=True):
            axes.plot(place, values, color=COLOURS[name], label=name, linewidth=1.8)
        panels[1].plot(place, [month["told"] for month in months], ".", color=COLOURS[name], markersize=5)
    if bounded := found.get("bounded"):
        months, colour = bounded["months"], COLOURS[next(iter(found["phrasings"]))]
        place = [month["month"] for month in months]
        for axes, key in ((panels[2], "megabytes"), (panels[3], "context_cpu_ms")):
            axes.plot(place, [month[key] for month in months], "--", color=colour, linewidth=1.5)
        panels[2].set_title(f"store, MB (dashed: {bounded['records']:,} records at most)", **title)
    panels[0].set_ylim(0, 103)
    for axes in panels:
        axes.set_facecolor("none")
        axes.tick_params(colors=GREY, labelsize=8)
        axes.set_ylim(bottom=0)
        axes.grid(color=GREY, alpha=0.25, linewidth=0.6)
        for side, spine in axes.spines.items():
            spine.set_visible(side in ("left", "bottom"))
            spine.set_color(GREY)
    panels[2].set_xlabel("month", color=GREY, fontsize=9)
    panels[3].set_xlabel("month", color=GREY, fontsize=9)
    legend = panels[0].legend(frameon=False, fontsize=9, loc="lower right", ncols=2)
    for label in legend.get_texts():
        label.set_color(GREY)
    FigureCanvasAgg(figure)
    figure.savefig(path, dpi=100, transparent=True)
