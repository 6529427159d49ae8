"""Answers of a language model out of each architecture's context: how near to the reference, and what a judge says."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from ...protocols import ChatModel, Embedder, TokenCounter
from ...records import Message
from ...text.language import is_chinese
from ..cases import Benchmark, Haystack
from .architecture import Design
from .designs import designs
from .effort import SharedVectors
from .evidence import words_of
from .judge import JudgeError, judge, labelled, measured
from .report import best_at
from .run import Experiment, store_of
from .trial import tools

ENGLISH: Final = (
    "Answer the question from the memories alone, in as few words as possible. Where they do not say, answer: unknown."
)
CHINESE: Final = "只根据记忆回答问题，用词尽量少。记忆中没有的，回答：不知道。"
_ARTICLES: Final = re.compile(r" (?:a|an|the)(?= )")


@dataclass(frozen=True)
class Answered:
    """One answer: whose context, of which budget, to the question at which place; its F1, and the judge's verdict."""

    family: str
    variant: str
    budget: int
    place: int
    answer: str
    f1: float
    right: bool | None


@dataclass(frozen=True)
class Answers:
    """All answers, the models that gave and judged them, and how often the judge errs."""

    model: str
    judge: str
    error: JudgeError
    given: tuple[Answered, ...]


@dataclass(frozen=True)
class AnswerRow:
    """The answers out of one family's contexts: how many, mean F1, the share called right, unreadable verdicts."""

    family: str
    variant: str
    budget: int
    questions: int
    f1: float
    right: float
    unreadable: int


def f1(answer: str, reference: str) -> float:
    """Return the harmonic mean of precision and recall of words (Chinese: characters), as SQuAD has it.

    Case, punctuation and English articles do not count. Two texts without words are equal.
    """
    given, wanted = (Counter(_ARTICLES.sub("", words_of(text)).split()) for text in (answer, reference))
    if not given or not wanted:
        return float(given == wanted)
    common = (given & wanted).total()
    return 2 * common / (given.total() + wanted.total())


def has_answers(benchmark: Benchmark) -> bool:
    """Return whether any question has a reference answer."""
    return any(True for _ in _questions(benchmark))


def tried_out(model: ChatModel, judging: ChatModel) -> JudgeError:
    """Have the model answer once, and the judge all whose verdict is known; return how often it errs.

    Raises what the models raise, so that nothing is measured for a model that does not answer.
    """
    if model is not judging:
        model.complete(request("Where does Ann live?", "Ann: I live in Lisbon."))
    return measured(judging, labelled())


def answered(
    experiment: Experiment,
    benchmark: Benchmark,
    folder: Path,
    *,
    model: ChatModel,
    judging: ChatModel,
    error: JudgeError,
    embedder: Embedder,
    counter: TokenCounter,
    chosen: Sequence[Design] | None = None,
    move: Callable[[int, int], None] = lambda done, total: None,
) -> Answers:
    """Have the questions that have a reference answered out of each family's context, at its usual budget.

    That is the window for full concatenation, else the middle budget, at which the family's best variant is taken.
    ``error`` is what ``tried_out`` returned, ``chosen`` the designs of the experiment if they are not the usual ones.
    What was answered is kept in ``folder``. Raises what the models raise; what was kept until then stays.
    """
    shared = SharedVectors(embedder, counter, folder)
    best = list(_best(experiment, designs(experiment.plan.budgets) if chosen is None else chosen))
    questions = list(_questions(benchmark))
    given: list[Answered] = []
    with _Kept(folder / "answers.jsonl", model, judging) as kept:
        for design, budget in best:
            with closing(design.open(store_of(folder, design), tools(shared, counter))) as memory:
                for place, haystack, question, reference in questions:
                    text = memory.context(haystack.name, question, max_tokens=budget, now=haystack.asked_at)
                    said, right = kept.answer(question, reference, text)
                    value = f1(said, reference)
                    given.append(Answered(design.family, design.variant, budget, place, said, value, right))
                    move(len(given), len(best) * len(questions))
    return Answers(model.name, judging.name, error, tuple(given))


def rows(answers: Answers) -> list[AnswerRow]:
    """Return a row per family."""
    found = []
    for key in dict.fromkeys((one.family, one.variant, one.budget) for one in answers.given):
        given = [one for one in answers.given if (one.family, one.variant, one.budget) == key]
        found.append(_row(key, given))
    return found


def request(question: str, context: str) -> list[Message]:
    """Return what the model is asked, in the language of the question."""
    if is_chinese(question):
        return [Message("system", CHINESE), Message("user", f"记忆：\n{context}\n\n问题：{question}")]
    return [Message("system", ENGLISH), Message("user", f"Memories:\n{context}\n\nQuestion: {question}")]


def to_json(answers: Answers) -> dict[str, Any]:
    """Return models, prompts, error rate, rows and answers as JSON values."""
    from . import judge as judging

    return {
        "model": answers.model,
        "prompts": [ENGLISH, CHINESE],
        "judge": {
            "model": answers.judge,
            "prompts": [judging.ENGLISH, judging.CHINESE],
            "labelled": asdict(answers.error),
            "error_rate": answers.error.rate,
        },
        "rows": [asdict(row) for row in rows(answers)],
        "given": [asdict(one) for one in answers.given],
    }


def _row(key: tuple[str, str, int], given: Sequence[Answered]) -> AnswerRow:
    number = len(given)
    return AnswerRow(
        *key,
        questions=number,
        f1=sum(one.f1 for one in given) / number,
        right=sum(one.right is True for one in given) / number,
        unreadable=sum(one.right is None for one in given),
    )


def _questions(benchmark: Benchmark) -> Iterator[tuple[int, Haystack, str, str]]:
    """Yield the questions that have a reference answer: place, haystack, question, answer."""
    every = ((haystack, question) for haystack in benchmark.haystacks for question in haystack.questions)
    for place, (haystack, question) in enumerate(every):
        if question.answer is not None:
            yield place, haystack, question.text, question.answer


def _best(experiment: Experiment, chosen: Sequence[Design]) -> Iterator[tuple[Design, int]]:
    by_name = {design.name: design for design in chosen}
    for family in experiment.families:
        budget = experiment.plan.usual(by_name[experiment.of(family)[0].name])
        yield by_name[best_at(experiment, family, budget).name], budget


class _Kept:
    """Answers and verdicts in a file, a line each, by what was asked of which models."""

    def __init__(self, path: Path, model: ChatModel, judging: ChatModel) -> None:
        self._path = path
        self._model, self._judging = model, judging
        self._known: dict[tuple[str, ...], tuple[str, bool | None]] = {}

    def __enter__(self) -> _Kept:
        for line in self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else ():
            try:
                *key, said, right = json.loads(line)
                self._known[tuple(key)] = said, right
            except (ValueError, TypeError):  # a killed run left half of it: it is asked again
                continue
        self._file = self._path.open("a", encoding="utf-8")
        return self

    def __exit__(self, *exc: object) -> None:
        self._file.close()

    def answer(self, question: str, reference: str, context: str) -> tuple[str, bool | None]:
        """Return an answer out of a context, and whether it is right; each is asked for once."""
        key = (self._model.name, self._judging.name, question, reference, context)
        if key not in self._known:
            said = self._model.complete(request(question, context)).strip()
            self._known[key] = said, judge(self._judging, question, reference, said)
            self._file.write("\n" + json.dumps([*key, *self._known[key]]))  # what was torn off before ends here
            self._file.flush()
        return self._known[key]
