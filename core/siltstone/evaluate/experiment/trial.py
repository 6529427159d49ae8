"""One architecture, tried: written, closed, opened again, asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ...errors import SiltstoneError
from ...protocols import TokenCounter
from ...records import Message
from ..cases import Benchmark, Haystack, Question, Unit
from .architecture import Architecture, Design, Tools
from .compressor import Compressor
from .effort import CountedEmbedder, CountedOnce, Effort, SharedVectors, Took, stretch
from .evidence import Evidence
from .lines import lines_of, spoken

Step = Callable[[int], None]
CHECKPOINTS: Final = 10
"""Parts of a history after each of which a few questions are asked, to see how the tokens grow."""
PROBES: Final = 5
"""Questions asked then, of each conversation; and before it is closed, to be asked again when it is open again."""


@dataclass(frozen=True)
class Plan:
    """What is asked of every architecture.

    ``budgets``   tokens of a context, ascending; ``window`` those of one that injects all there is
    ``middle``    the budget at which growth and survival are looked at
    """

    budgets: tuple[int, ...]
    window: int

    @property
    def middle(self) -> int:
        """The middle one of the budgets; of an even number, the lower."""
        return self.budgets[(len(self.budgets) - 1) // 2]

    def of(self, design: Design) -> tuple[int, ...]:
        """Return the budgets of a design: also the window, where it knows no other limit."""
        return (*self.budgets, self.window) if design.growing and self.window not in self.budgets else self.budgets

    def usual(self, design: Design) -> int:
        """Return the budget at which a design is looked at by itself."""
        return self.window if design.growing else self.middle


@dataclass(frozen=True)
class Asked:
    """What the contexts of one budget held, a value per question: evidence, tokens, milliseconds (clock and CPU)."""

    budget: int
    recall: tuple[float, ...]
    tokens: tuple[int, ...]
    ms: tuple[float, ...]
    cpu_ms: tuple[float, ...]


@dataclass(frozen=True)
class Growth:
    """The mean tokens of contexts, once ``history`` tokens were written of each conversation on the mean."""

    history: float
    tokens: float


@dataclass(frozen=True, kw_only=True)
class Trial:
    """How one design went.

    ``asked``      per budget, in the order of the benchmark's questions
    ``growth``     by checkpoint
    ``turns``      messages and notes written, as if alone in ``took``, with ``effort``
    ``bytes``      on disk once it was closed; ``history_bytes`` are those of the texts alone
    ``reopen_ms``  to open it again and to build a first context
    ``survival``   share of the evidence found before it was closed that was found after it was opened again; ``None``
                   where there was none
    ``same``       share of the contexts that were the same to the letter
    """

    family: str
    variant: str
    asked: tuple[Asked, ...]
    growth: tuple[Growth, ...]
    turns: int
    took: Took
    effort: Effort
    bytes: int
    history_bytes: int
    reopen_ms: float
    survival: float | None
    same: float

    @property
    def name(self) -> str:
        """Family and variant."""
        return f"{self.family}, {self.variant}" if self.variant else self.family

    def at(self, budget: int) -> Asked:
        """Return what was asked at a budget."""
        return next(asked for asked in self.asked if asked.budget == budget)


class OverBudgetError(SiltstoneError):
    """An architecture returned more tokens than it may: a fault of it, and nothing that it held is counted."""


def steps(benchmark: Benchmark, design: Design, plan: Plan) -> int:
    """Return how often a trial reports progress: once per unit and context."""
    asked = sum(len(haystack.questions) for haystack in benchmark.haystacks)
    return sum(len(haystack.stored) for haystack in benchmark.haystacks) + asked * len(plan.of(design))


def tools(shared: SharedVectors, counter: TokenCounter) -> Tools:
    """Return what one architecture works with, its effort at nothing."""
    effort = Effort()
    embedder = CountedEmbedder(shared, effort)
    return Tools(embedder, Compressor(embedder, counter, effort), counter, effort)


def run_trial(
    benchmark: Benchmark,
    design: Design,
    plan: Plan,
    folder: Path,
    *,
    shared: SharedVectors,
    counter: TokenCounter,
    evidence: Mapping[str, Evidence] | None = None,
    step: Step = lambda done: None,
) -> Trial:
    """Write every haystack as a user, close, open again in the same folder, and ask every question at every budget."""
    known = evidence_of(benchmark) if evidence is None else evidence
    return _Trial(benchmark.haystacks, design, plan, folder, shared, CountedOnce(counter), known, step).run()


def evidence_of(benchmark: Benchmark) -> dict[str, Evidence]:
    """Return what is looked for in contexts, by haystack: the same for every trial."""
    return {haystack.name: Evidence(haystack.units) for haystack in benchmark.haystacks}


@dataclass(frozen=True)
class _Trial:
    haystacks: tuple[Haystack, ...]
    design: Design
    plan: Plan
    folder: Path
    shared: SharedVectors
    counter: TokenCounter
    evidence: Mapping[str, Evidence]
    step: Step

    def run(self) -> Trial:
        usual = self.plan.usual(self.design)
        told = tools(self.shared, self.counter)
        took, spent = Took(), Effort()
        grown: list[list[tuple[int, int]]] = [[] for _ in range(CHECKPOINTS)]
        with closing(self.design.open(self.folder, told)) as memory:
            for haystack in self.haystacks:
                for write, tokens, checkpoint in self._writes(haystack):
                    with stretch(told.effort) as work:
                        write(memory)
                    took += work.took
                    spent = spent.and_(work.effort)
                    if checkpoint is not None:
                        for question in haystack.questions[:PROBES]:
                            text = self._context(memory, haystack, question, usual)
                            grown[checkpoint].append((tokens, self.counter.count(text)))
            before = [self._context(memory, haystack, question, usual) for haystack, question in self._probed()]
            with stretch(told.effort) as work:
                memory.close()
            took += work.took
        size = sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())
        told = tools(self.shared, self.counter)
        with ExitStack() as opened:
            with stretch(told.effort) as opening:
                memory = opened.enter_context(closing(self.design.open(self.folder, told)))
                haystack, question = self._probed()[0]
                self._context(memory, haystack, question, usual)
            after = [self._context(memory, haystack, question, usual) for haystack, question in self._probed()]
            asked = tuple(self._ask(memory, told, budget) for budget in self.plan.of(self.design))
        kept = self._found(before)
        return Trial(
            family=self.design.family,
            variant=self.design.variant,
            asked=asked,
            growth=tuple(_mean(points) for points in grown if points),
            turns=sum(len(haystack.stored) for haystack in self.haystacks),
            took=took,
            effort=spent,
            bytes=size,
            history_bytes=sum(len(unit.text.encode()) for haystack in self.haystacks for unit in haystack.stored),
            reopen_ms=1000 * opening.took.clock,
            survival=self._found(after) / kept if kept else None,
            same=sum(one == other for one, other in zip(before, after, strict=True)) / len(before),
        )

    def _writes(self, haystack: Haystack) -> Iterator[tuple[Callable[[Architecture], None], int, int | None]]:
        """Yield what writes each conversation and note, the tokens told by then, and the checkpoint it reaches."""
        user, total, told, units = haystack.name, len(haystack.stored), 0, 0
        for session_id, turns in haystack.sessions():
            messages = [message_of(unit) for unit in turns]
            told += self._tokens(messages)
            reached = _reached(units, units := units + len(turns), total)

            def write(memory: Architecture, messages: Sequence[Message] = messages, id: str = session_id) -> None:
                memory.add(user, messages, session_id=id)

            yield write, told, reached
            self.step(len(turns))
        for number, note in enumerate(haystack.notes(), 1):
            told += self._tokens([message_of(note)])
            reached = _reached(units, units := units + 1, total)

            def write_note(memory: Architecture, note: Unit = note, number: int = number) -> None:
                memory.note(user, note.text, kind=note.kind or "fact", time=note.time, number=number)

            yield write_note, told, reached
            self.step(1)

    def _ask(self, memory: Architecture, told: Tools, budget: int) -> Asked:
        recall, tokens, took = [], [], []
        for haystack in self.haystacks:
            for question in haystack.questions:
                with stretch(told.effort) as work:
                    text = self._context(memory, haystack, question, budget)
                count = self.counter.count(text)
                if count > budget:
                    raise OverBudgetError(
                        f"{self.design.name} returned {count} tokens where {budget} were allowed: a fault of this "
                        "architecture, by which nothing is measured"
                    )
                recall.append(self.evidence[haystack.name].share(question.gold, text))
                tokens.append(count)
                took.append(work.took)
                self.step(1)
        return Asked(
            budget,
            tuple(recall),
            tuple(tokens),
            tuple(1000 * one.clock for one in took),
            tuple(1000 * one.cpu for one in took),
        )

    def _context(self, memory: Architecture, haystack: Haystack, question: Question, budget: int) -> str:
        return memory.context(haystack.name, question.text, max_tokens=budget, now=haystack.asked_at)

    def _probed(self) -> list[tuple[Haystack, Question]]:
        return [(haystack, question) for haystack in self.haystacks for question in haystack.questions[:PROBES]]

    def _found(self, texts: Sequence[str]) -> float:
        pairs = zip(self._probed(), texts, strict=True)
        return sum(self.evidence[haystack.name].share(question.gold, text) for (haystack, question), text in pairs)

    def _tokens(self, messages: Sequence[Message]) -> int:
        return sum(self.counter.count(spoken(line)) for line in lines_of(messages))


def message_of(unit: Unit) -> Message:
    """Return what an architecture is given of a unit: no id, for some tell the gold."""
    return Message(unit.role, unit.text, name=unit.speaker, created_at=unit.time)


def _reached(before: int, now: int, total: int) -> int | None:
    """Return the last checkpoint between two numbers of units out of a total, if one is."""
    passed = CHECKPOINTS * now // total
    return passed - 1 if passed > CHECKPOINTS * before // total else None


def _mean(points: Sequence[tuple[int, int]]) -> Growth:
    return Growth(sum(history for history, _ in points) / len(points), sum(held for _, held in points) / len(points))
