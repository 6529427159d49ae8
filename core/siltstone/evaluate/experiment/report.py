"""From trials to rows and JSON. Of each family the best of its variants is shown, chosen on the very questions."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from typing import Any

import numpy as np

from ..._version import __version__
from ..metrics import Interval, interval, paired
from .designs import FULL, RAG, TIERED
from .run import Experiment
from .trial import Trial


@dataclass(frozen=True)
class Point:
    """The best variant of a family at one budget.

    ``recall``   of evidence; ``tokens`` injected per question; ``ms`` and ``cpu_ms`` to build a context, medians
    ``of_tokens``, ``of_recall``   shares of what full concatenation injects at the window, and holds
    """

    family: str
    variant: str
    budget: int
    recall: Interval
    tokens: float
    ms: float
    cpu_ms: float
    of_tokens: float | None
    of_recall: float | None


@dataclass(frozen=True)
class Cost:
    """What a family's best variant costs, the figures of writing per thousand turns.

    ``bytes_per_turn`` are on disk, of which ``text_bytes_per_turn`` are the words alone.
    """

    family: str
    variant: str
    embedder_calls: float
    embedded_tokens: float
    model_calls: float
    model_tokens: float
    seconds: float
    cpu_seconds: float
    bytes_per_turn: float
    text_bytes_per_turn: float
    reopen_ms: float
    survival: float | None
    same: float


def mean_recall(trial: Trial, budget: int) -> float:
    """Return a trial's evidence recall at a budget."""
    return float(np.mean(trial.at(budget).recall))


def best_at(experiment: Experiment, family: str, budget: int) -> Trial:
    """Return the variant of a family with the highest recall at a budget; of equals the first."""
    return max(experiment.of(family), key=lambda trial: mean_recall(trial, budget))


def best(experiment: Experiment, family: str) -> Trial:
    """Return the variant of a family with the highest recall on the mean of all budgets."""
    return max(
        experiment.of(family),
        key=lambda trial: sum(mean_recall(trial, budget) for budget in experiment.plan.budgets),
    )


def curve(experiment: Experiment) -> list[Point]:
    """Return each family's points, in order of budget."""
    return [
        _point(experiment, best_at(experiment, family, budget), budget)
        for family in experiment.families
        for budget in _budgets(experiment, family)
    ]


def ahead(experiment: Experiment) -> dict[int, Interval]:
    """Return by budget how much the best tiered variant's recall is above that of the best vector RAG, paired."""
    if not {RAG, TIERED}.issubset(experiment.families):
        return {}
    groups = [haystack for haystack, _ in experiment.questions]
    found = {}
    for budget in experiment.plan.budgets:
        ours, theirs = (best_at(experiment, family, budget).at(budget).recall for family in (TIERED, RAG))
        found[budget] = paired(ours, theirs, groups)
    return found


def by_category(experiment: Experiment, budget: int) -> dict[str, dict[str, float]]:
    """Return evidence recall by category and family at a budget, full concatenation at the window."""
    found = {}
    for category, places in categories(experiment).items():
        found[category] = {
            family: _recall_of(experiment, family, _usual(experiment, family, budget), places)
            for family in experiment.families
        }
    return found


def categories(experiment: Experiment) -> dict[str, list[int]]:
    """Return the places of each category's questions, in order of name."""
    names = sorted({category for _, category in experiment.questions if category})
    return {name: [n for n, (_, category) in enumerate(experiment.questions) if category == name] for name in names}


def costs(experiment: Experiment) -> list[Cost]:
    """Return what each family's best variant costs."""
    return [cost(best(experiment, family)) for family in experiment.families]


def cost(trial: Trial) -> Cost:
    """Return what a trial has cost."""
    each = 1000 / max(trial.turns, 1)
    effort = trial.effort
    return Cost(
        family=trial.family,
        variant=trial.variant,
        embedder_calls=effort.embedder_calls * each,
        embedded_tokens=effort.embedded_tokens * each,
        model_calls=effort.model_calls * each,
        model_tokens=effort.model_tokens * each,
        seconds=trial.took.clock * each,
        cpu_seconds=trial.took.cpu * each,
        bytes_per_turn=trial.bytes / max(trial.turns, 1),
        text_bytes_per_turn=trial.history_bytes / max(trial.turns, 1),
        reopen_ms=trial.reopen_ms,
        survival=trial.survival,
        same=trial.same,
    )


def growth(experiment: Experiment) -> dict[str, list[list[float]]]:
    """Return by family the tokens of history and of contexts at each checkpoint, of the variant that is shown there."""
    return {
        family: [
            [one.history, one.tokens]
            for one in best_at(experiment, family, _usual(experiment, family, experiment.plan.middle)).growth
        ]
        for family in experiment.families
    }


def to_json(experiment: Experiment) -> dict[str, Any]:
    """Return the figures of all families, and of every variant, as JSON values."""
    plan = experiment.plan
    return {
        "benchmark": experiment.benchmark,
        "how": experiment.how,
        "embedder": experiment.embedder,
        "engine": experiment.engine,
        "token_counter": experiment.counter,
        "budgets": list(plan.budgets),
        "window": plan.window,
        "questions": len(experiment.questions),
        "haystacks": len({haystack for haystack, _ in experiment.questions}),
        "date": date.today().isoformat(),
        "versions": {
            "siltstone": __version__,
            "python": platform.python_version(),
            "numpy": version("numpy"),
            "faiss-cpu": version("faiss-cpu"),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
        },
        "curve": [asdict(point) for point in curve(experiment)],
        "tiered_above_rag": {str(budget): asdict(one) for budget, one in ahead(experiment).items()},
        "categories": {
            str(budget): {
                name: {"questions": len(categories(experiment)[name]), **row}
                for name, row in by_category(experiment, budget).items()
            }
            for budget in plan.budgets
        },
        "growth": growth(experiment),
        "costs": [asdict(one) for one in costs(experiment)],
        "variants": [_variant(experiment, trial) for trial in experiment.trials],
    }


def _variant(experiment: Experiment, trial: Trial) -> dict[str, Any]:
    groups = [haystack for haystack, _ in experiment.questions]
    return {
        **asdict(cost(trial)),
        "reads": [
            {
                "budget": asked.budget,
                "recall": asdict(interval(asked.recall, groups)),
                "tokens": float(np.mean(asked.tokens)),
                "ms": float(np.median(asked.ms)),
                "cpu_ms": float(np.median(asked.cpu_ms)),
                "categories": {
                    name: float(np.mean([asked.recall[place] for place in places]))
                    for name, places in categories(experiment).items()
                },
            }
            for asked in trial.asked
        ],
    }


def _point(experiment: Experiment, trial: Trial, budget: int) -> Point:
    asked = trial.at(budget)
    recall = interval(asked.recall, [haystack for haystack, _ in experiment.questions])
    tokens = float(np.mean(asked.tokens))
    of_tokens = of_recall = None
    if FULL in experiment.families:
        whole = experiment.of(FULL)[0].at(experiment.plan.window)
        of_tokens = tokens / max(float(np.mean(whole.tokens)), 1e-9)
        of_recall = recall.mean / max(float(np.mean(whole.recall)), 1e-9)
    ms, cpu_ms = float(np.median(asked.ms)), float(np.median(asked.cpu_ms))
    return Point(trial.family, trial.variant, budget, recall, tokens, ms, cpu_ms, of_tokens, of_recall)


def _budgets(experiment: Experiment, family: str) -> list[int]:
    return [asked.budget for asked in experiment.of(family)[0].asked]


def _usual(experiment: Experiment, family: str, budget: int) -> int:
    return experiment.plan.window if family == FULL else budget


def _recall_of(experiment: Experiment, family: str, budget: int, places: Sequence[int]) -> float:
    recall = best_at(experiment, family, budget).at(budget).recall
    return float(np.mean([recall[place] for place in places]))
