"""Running a benchmark through ``TieredMemory`` as an application would, with everything timed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ..memory import TieredMemory
from ..protocols import Embedder, Reranker, Store
from ..records import TURN_PREFIX, Hit, Message
from ..settings import Settings
from .cases import Benchmark, Haystack, Unit
from .metrics import CUTS, Judged, judge
from .watch import Watched

Step = Callable[[int], None]
_WAITING: Final = Settings(embed_wait=3600.0)  # an add waits for its vectors, so that its time has no loose end


@dataclass(frozen=True)
class Evidence:
    """What one question's context held: the share of its gold, its tokens, and the milliseconds it took."""

    budget: int
    haystack: str
    category: str
    recall: float
    tokens: int
    ms: float


@dataclass(frozen=True, kw_only=True)
class Run:
    """A finished benchmark.

    ``questions``      how each went, in order
    ``search_ms``      milliseconds of each search, the query's embedding included; ``query_ms`` that part alone
    ``adds``           units stored, in ``add_seconds``, of which ``embed_seconds`` were the embedder's; each add
                       waited for its vectors
    ``cached``         vectors that came from a cache, so that the speed of adding says nothing
    ``contexts``       what the contexts held, by budget
    ``reranker``       the model that ordered the first results anew, if any
    ``cuts``           the numbers of results at which recall is looked at
    """

    benchmark: str
    how: str
    embedder: str
    questions: tuple[Judged, ...]
    search_ms: tuple[float, ...]
    query_ms: tuple[float, ...]
    adds: int
    add_seconds: float
    embed_seconds: float
    cached: int = 0
    contexts: tuple[Evidence, ...] = ()
    reranker: str | None = None
    cuts: tuple[int, ...] = CUTS


def steps(benchmark: Benchmark, budgets: Iterable[int] = ()) -> int:
    """Return how often a run reports progress: once per unit, question and context."""
    asked = sum(len(haystack.questions) for haystack in benchmark.haystacks)
    return sum(len(haystack.stored) for haystack in benchmark.haystacks) + asked * (1 + len(tuple(budgets)))


def measure(
    benchmark: Benchmark,
    location: str | Path | Store,
    *,
    embedder: Embedder,
    reranker: Reranker | None = None,
    cuts: Sequence[int] = CUTS,
    budgets: Iterable[int] = (),
    step: Step = lambda done: None,
) -> Run:
    """Store every haystack as a user of a new store at ``location``, then ask its questions.

    ``cuts`` are the numbers of results at which recall is looked at, ``budgets`` the token budgets of ``context()``
    to be measured too; ``step`` is told how much was done.
    """
    embedder.embed_query("a question, so that loading the model is not timed")
    watched = Watched(embedder)
    judged: list[Judged] = []
    search_ms: list[float] = []
    contexts: list[Evidence] = []
    adds, add_seconds = 0, 0.0
    with closing(TieredMemory.open(location, embedder=watched, reranker=reranker, settings=_WAITING)) as store:
        stored: dict[str, dict[str, str]] = {}
        for haystack in benchmark.haystacks:
            began = time.perf_counter()
            stored[haystack.name] = _fill(store.for_user(haystack.name), haystack, step)
            add_seconds += time.perf_counter() - began
            adds += len(haystack.stored)
        for haystack in benchmark.haystacks:
            memory, units = store.for_user(haystack.name), stored[haystack.name]
            depth = max(cuts) * max(Counter(units.values()).values(), default=1)
            for question in haystack.questions:
                began = time.perf_counter()
                hits = memory.search(question.text, top_k=depth, now=haystack.asked_at)
                search_ms.append(1000 * (time.perf_counter() - began))
                ranking = _units(hits, units)
                judged.append(judge(haystack.name, question.category, question.gold, ranking, max(cuts)))
                step(1)
        for budget in budgets:
            for haystack in benchmark.haystacks:
                memory, units = store.for_user(haystack.name), stored[haystack.name]
                for question in haystack.questions:
                    began = time.perf_counter()
                    context = memory.context(question.text, max_tokens=budget, now=haystack.asked_at)
                    spent = 1000 * (time.perf_counter() - began)
                    share = len(question.gold.intersection(_units(context.hits, units))) / len(question.gold)
                    contexts.append(Evidence(budget, haystack.name, question.category, share, context.tokens, spent))
                    step(1)
    return Run(
        benchmark=benchmark.name,
        how=benchmark.how,
        embedder=embedder.name,
        questions=tuple(judged),
        search_ms=tuple(search_ms),
        query_ms=tuple(1000 * seconds for seconds in watched.query_seconds[: len(search_ms)]),
        adds=adds,
        add_seconds=add_seconds,
        embed_seconds=watched.document_seconds,
        contexts=tuple(contexts),
        reranker=None if reranker is None else reranker.name,
        cuts=tuple(cuts),
    )


def _fill(memory: TieredMemory, haystack: Haystack, step: Step) -> dict[str, str]:
    """Store a haystack; return the unit id of each record id that a search can return."""
    units: dict[str, str] = {}
    for session_id, turns in haystack.sessions():
        ids = memory.add([_message(unit) for unit in turns], session_id=session_id)
        units.update((TURN_PREFIX + id, unit.id) for id, unit in zip(ids, turns, strict=True))
        step(len(turns))
    for note in haystack.notes():
        assert note.kind is not None
        units[memory.remember(note.text, kind=note.kind, occurred_at=note.time)] = note.id
        step(1)
    memory.flush()
    return units


def _message(unit: Unit) -> Message:
    return Message(unit.role, unit.text, name=unit.speaker, created_at=unit.time)  # no id: gold must not leak


def _units(hits: Iterable[Hit], units: Mapping[str, str]) -> list[str]:
    """Return the unit ids of a ranking; what is not a unit keeps its place under its own id."""
    return [units.get(hit.record.id, hit.record.id) for hit in hits]
