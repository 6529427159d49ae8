"""All architectures over one data set: each is tried once, and what was tried is kept."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from ...protocols import Embedder, TokenCounter
from ..cases import Benchmark
from .architecture import Design
from .designs import designs
from .effort import Effort, SharedVectors, Took
from .trial import Asked, Growth, Plan, Trial, evidence_of, run_trial, steps

FORMAT: Final = 1
"""Changes when what is measured does: trials that were kept before are then made again."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What was asked of which architectures, and how it went.

    ``embedder``    the model's name; ``engine`` what runs it, ``default`` where it does not say
    ``questions``   the haystack and the category of each, in order
    """

    benchmark: str
    how: str
    embedder: str
    engine: str
    counter: str
    plan: Plan
    questions: tuple[tuple[str, str], ...]
    trials: tuple[Trial, ...]

    def of(self, family: str) -> list[Trial]:
        """Return the trials of a family."""
        return [trial for trial in self.trials if trial.family == family]

    @property
    def families(self) -> list[str]:
        """The families that were tried, in order."""
        return list(dict.fromkeys(trial.family for trial in self.trials))


def limited(benchmark: Benchmark, limit: int | None) -> Benchmark:
    """Return the benchmark with ``limit`` of its questions at most, evenly from all, and no haystack without one."""
    total = sum(len(haystack.questions) for haystack in benchmark.haystacks)
    haystacks, seen = [], 0
    for haystack in benchmark.haystacks:
        kept = haystack.questions
        if limit is not None and limit < total:
            kept = tuple(
                question
                for number, question in enumerate(kept, seen)
                if limit * (number + 1) // total > limit * number // total
            )
        seen += len(haystack.questions)
        if kept:
            haystacks.append(replace(haystack, questions=kept))
    return replace(benchmark, haystacks=tuple(haystacks))


def run(
    benchmark: Benchmark,
    folder: Path,
    plan: Plan,
    *,
    embedder: Embedder,
    counter: TokenCounter,
    chosen: Sequence[Design] | None = None,
    move: Callable[[int, int], None] = lambda done, total: None,
) -> Experiment:
    """Try every design over the benchmark; stores, vectors and results are kept in ``folder``.

    Called again with the same arguments it takes over what was finished. ``move(done, total)`` is told how far it is.
    """
    shared = SharedVectors(embedder, counter, folder)
    shared.look_up("query", ["a question, so that loading the model is not timed"])
    plans = list(chosen) if chosen is not None else designs(plan.budgets)
    mark = _mark(benchmark, plan, shared, counter)
    evidence = evidence_of(benchmark)
    total, done = sum(steps(benchmark, design, plan) for design in plans), 0
    trials = []
    for design in plans:
        kept = folder / f"{mark}-{_name(design.name)}.json"
        store = store_of(folder, design)
        ahead = done + steps(benchmark, design, plan)
        if (trial := _read(kept)) is None or not store.exists():

            def step(amount: int) -> None:
                nonlocal done
                done += amount
                move(done, total)

            shutil.rmtree(store, ignore_errors=True)
            kept.unlink(missing_ok=True)
            try:
                trial = run_trial(
                    benchmark, design, plan, store, shared=shared, counter=counter, evidence=evidence, step=step
                )
            finally:
                shared.save()
            kept.write_text(json.dumps(asdict(trial)), encoding="utf-8")
        trials.append(trial)
        done = ahead
        move(done, total)
    return Experiment(
        benchmark=benchmark.name,
        how=benchmark.how,
        embedder=shared.name,
        engine=shared.engine,
        counter=repr(counter),
        plan=plan,
        questions=tuple((one.name, question.category) for one in benchmark.haystacks for question in one.questions),
        trials=tuple(trials),
    )


def store_of(folder: Path, design: Design) -> Path:
    """Return where a design keeps its memory."""
    return folder / "stores" / _name(design.name)


def _name(text: str) -> str:
    return "".join(char if char.isalnum() else "-" for char in text).strip("-")


def _mark(benchmark: Benchmark, plan: Plan, shared: SharedVectors, counter: TokenCounter) -> str:
    """Return what tells this run from others: the data, its tokens, the questions, the budgets, the model.

    A token counter is known by what it counts: it need have no name, and what Python calls it differs in each process.
    """
    asked = [(one.text, sorted(one.gold)) for haystack in benchmark.haystacks for one in haystack.questions]
    units = [(haystack.name, haystack.stored) for haystack in benchmark.haystacks]
    counts = [[counter.count(unit.text) for unit in haystack.stored] for haystack in benchmark.haystacks]
    told = repr((FORMAT, units, counts, asked, plan, shared.name, shared.engine))  # the same in every process: no sets
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _read(path: Path) -> Trial | None:
    if not path.exists():
        return None
    try:
        return trial_of(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError):  # a killed run left half of it: it is made again
        return None


def trial_of(values: dict[str, Any]) -> Trial:
    """Return a trial from what ``asdict`` made of it."""
    asked = tuple(
        Asked(**{**one, **{k: tuple(v) for k, v in one.items() if isinstance(v, list)}}) for one in values["asked"]
    )
    effort = values["effort"]
    spent = Effort(**{**effort, "charged": Took(**effort["charged"]), "waited": Took(**effort["waited"])})
    return Trial(
        **{
            **values,
            "asked": asked,
            "growth": tuple(Growth(**one) for one in values["growth"]),
            "took": Took(**values["took"]),
            "effort": spent,
        }
    )
