"""From a run to rows and JSON: means by category, and back again for comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..errors import InvalidInputError
from ..text.tokenize import VERSION
from .files import read_json
from .metrics import Interval, Judged, interval, paired
from .run import Evidence, Run

Measures = Mapping[str, Callable[[Judged], float]]
OVERALL: Final = "all"


@dataclass(frozen=True)
class Row:
    """The figures of one category: the number of questions and an interval per measure."""

    category: str
    questions: int
    figures: Mapping[str, Interval]


@dataclass(frozen=True)
class Cost:
    """What a run cost.

    ``search_p50``, ``search_p95`` in milliseconds; ``query_p50`` the embedding of the query alone;
    ``adds_per_second``; ``embedder_share`` of the time spent adding, 0 to 1; ``cached`` vectors not computed anew.
    """

    search_p50: float
    search_p95: float
    query_p50: float
    adds: int
    adds_per_second: float
    embedder_share: float
    cached: int


@dataclass(frozen=True)
class BudgetRow:
    """What ``context()`` held at one budget: evidence recall, mean tokens, milliseconds (p50 and p95)."""

    budget: int
    recall: Interval
    tokens: float
    ms_p50: float
    ms_p95: float


def measures(*runs: Run) -> Measures:
    """Return what can be said of each question of all these runs: hit@1, and recall at the cuts that they share."""
    cuts = [cut for cut in runs[0].cuts if all(cut <= max(run.cuts) for run in runs)]
    return {"hit@1": Judged.hit, **{f"R@{k}": partial(Judged.recall, k=k) for k in cuts}}


def title(run: Run) -> str:
    """Return what was measured: the data and the models."""
    return f"{run.benchmark}, {run.embedder}" + (f", reranked by {run.reranker}" if run.reranker else "")


def overall(run: Run) -> Row:
    """Return the row of all questions."""
    return _row(OVERALL, list(run.questions), measures(run))


def by_category(run: Run) -> list[Row]:
    """Return a row per category, in order of name, and one of all questions at the end."""
    categories = sorted({judged.category for judged in run.questions if judged.category})
    chosen = [(name, [j for j in run.questions if j.category == name]) for name in categories]
    return [*(_row(name, questions, measures(run)) for name, questions in chosen), overall(run)]


def without(run: Run, category: str) -> Row:
    """Return the row of all questions but one category's."""
    others = [judged for judged in run.questions if judged.category != category]
    return _row(f"{OVERALL} but {category}", others, measures(run))


def cost(run: Run) -> Cost:
    """Return what the run cost."""
    p50, p95 = _percentiles(run.search_ms)
    return Cost(
        search_p50=p50,
        search_p95=p95,
        query_p50=_percentiles(run.query_ms)[0],
        adds=run.adds,
        adds_per_second=run.adds / run.add_seconds if run.add_seconds else float("nan"),
        embedder_share=run.embed_seconds / run.add_seconds if run.add_seconds else float("nan"),
        cached=run.cached,
    )


def by_budget(run: Run) -> Iterator[BudgetRow]:
    """Yield a row per token budget."""
    for budget in dict.fromkeys(evidence.budget for evidence in run.contexts):
        held = [evidence for evidence in run.contexts if evidence.budget == budget]
        p50, p95 = _percentiles([evidence.ms for evidence in held])
        recall = interval([evidence.recall for evidence in held], [evidence.haystack for evidence in held])
        yield BudgetRow(budget, recall, float(np.mean([evidence.tokens for evidence in held])), p50, p95)


def difference(ours: Run, theirs: Run) -> dict[str, Interval]:
    """Return ``ours - theirs`` per measure with paired intervals.

    Raises ``InvalidInputError`` when the runs did not ask the same questions.
    """
    asked = [[(j.haystack, j.category, j.gold) for j in run.questions] for run in (ours, theirs)]
    if asked[0] != asked[1]:
        raise InvalidInputError("the two runs did not ask the same questions: run the same data set and split twice")
    groups = [judged.haystack for judged in ours.questions]
    return {
        name: paired([value(j) for j in ours.questions], [value(j) for j in theirs.questions], groups)
        for name, value in measures(ours, theirs).items()
    }


def to_json(run: Run) -> dict[str, Any]:
    """Return the figures and the whole run as JSON values."""
    return {
        "benchmark": run.benchmark,
        "embedder": run.embedder,
        "reranker": run.reranker,
        "how": run.how,
        "terms": VERSION,
        "figures": {row.category: {"questions": row.questions, **_plain(row.figures)} for row in by_category(run)},
        "cost": asdict(cost(run)),
        "budgets": [asdict(row) for row in by_budget(run)],
        "run": asdict(run),
    }


def from_json(path: str | Path) -> Run:
    """Read a run back from a file that ``siltstone bench … --json`` wrote."""
    with read_json(path, "the JSON of an earlier run") as data:
        values = dict(data["run"])
        values["questions"] = tuple(Judged(**{**j, "ranks": tuple(j["ranks"])}) for j in values["questions"])
        values["contexts"] = tuple(Evidence(**evidence) for evidence in values["contexts"])
        values.update((name, tuple(values[name])) for name in ("search_ms", "query_ms", "cuts") if name in values)
        return Run(**values)


def _row(name: str, questions: list[Judged], chosen: Measures) -> Row:
    groups = [judged.haystack for judged in questions]
    figures = {measure: interval([value(j) for j in questions], groups) for measure, value in chosen.items()}
    return Row(name, len(questions), figures)


def _plain(figures: Mapping[str, Interval]) -> dict[str, dict[str, float]]:
    return {name: asdict(figure) for name, figure in figures.items()}


def _percentiles(values: Any) -> tuple[float, float]:
    if not len(values):
        return float("nan"), float("nan")
    p50, p95 = np.percentile(np.asarray(values, dtype=np.float64), (50, 95))
    return float(p50), float(p95)
