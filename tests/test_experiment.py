"""The experiment: each architecture keeps the contract, and what is measured is what was done."""

from __future__ import annotations

import dataclasses
import io
import json
import re
from collections.abc import Callable
from contextlib import closing, redirect_stdout
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest

from siltstone import InvalidInputError, Message, NotFoundError
from siltstone.evaluate.cases import Benchmark, Haystack, Question, Unit
from siltstone.evaluate.experiment import report
from siltstone.evaluate.experiment.answers import answered, f1, rows, tried_out
from siltstone.evaluate.experiment.architecture import Architecture, Design, Tools
from siltstone.evaluate.experiment.designs import FULL, RAG, TIERED, designs
from siltstone.evaluate.experiment.effort import SharedVectors, Took, stretch
from siltstone.evaluate.experiment.evidence import Evidence
from siltstone.evaluate.experiment.judge import JudgeError, Labelled, judge, labelled, measured, read
from siltstone.evaluate.experiment.lines import Entry, Line, packed, written
from siltstone.evaluate.experiment.run import Experiment, limited, run, trial_of
from siltstone.evaluate.experiment.trial import OverBudgetError, Plan, run_trial, tools
from siltstone.evaluate.load import load
from siltstone.protocols import TokenCounter
from siltstone.testing import HashEmbedder, ScriptedChatModel, WordCounter

COUNTER = WordCounter()
NOW = datetime(2024, 6, 1, tzinfo=timezone.utc)
BUDGETS = (40, 90)
ALL = designs(BUDGETS)
EACH = pytest.mark.parametrize("design", ALL, ids=lambda design: design.name)


def talk(day: int, *said: str, name: str | None = None) -> list[Message]:
    """Return a conversation of a day in May."""
    time = datetime(2024, 5, day, 9, tzinfo=timezone.utc)
    roles = ("user", "assistant")
    return [
        Message(roles[n % 2], text, name=name if n % 2 == 0 else None, created_at=time + timedelta(minutes=n))
        for n, text in enumerate(said)
    ]


MONDAY = talk(6, "I moved to Lisbon in spring, into a flat with a blue door.", "How is the weather over there?")
TUESDAY = talk(7, "My sister Nora plays the cello in an orchestra.", "That must be lovely to listen to!")
CHINESE = talk(8, "我上个月养了一只橘色的猫，名字叫小橘。", "小橘听起来很可爱，它喜欢吃什么？")


def made(tmp_path: Path) -> Tools:
    """Return tools of one architecture over a model that costs nothing."""
    return tools(SharedVectors(HashEmbedder(), COUNTER), COUNTER)


@EACH
def test_a_context_holds_what_was_said_within_its_budget(design: Design, tmp_path: Path) -> None:
    """Every architecture injects something of what a user said, in both languages, and never more than it may."""
    with closing(design.open(tmp_path / "store", made(tmp_path))) as memory:
        memory.add("alice", MONDAY, session_id="monday")
        memory.add("alice", TUESDAY, session_id="tuesday")
        memory.add("李梅", CHINESE, session_id="周三")
        roomy = memory.context("alice", "Where did I move to? Lisbon?", max_tokens=500, now=NOW)
        chinese = memory.context("李梅", "我养的猫叫什么名字？", max_tokens=500, now=NOW)
        for budget in (1, 5, 20, 45, 90):
            assert COUNTER.count(memory.context("alice", "Where is Lisbon?", max_tokens=budget, now=NOW)) <= budget

    assert "Lisbon" in roomy
    assert "橘" in chinese


@EACH
def test_no_user_sees_another_one(design: Design, tmp_path: Path) -> None:
    """What one user said is in nobody else's context, and who said nothing has nothing of anybody."""
    with closing(design.open(tmp_path / "store", made(tmp_path))) as memory:
        memory.add("alice", MONDAY, session_id="monday")
        memory.add("bob", TUESDAY, session_id="monday")
        bobs = memory.context("bob", "Who lives in Lisbon behind a blue door?", max_tokens=500, now=NOW)
        nobodys = memory.context("carol", "Who lives in Lisbon behind a blue door?", max_tokens=500, now=NOW)

    assert "Lisbon" not in bobs
    assert "cello" in bobs
    assert "Lisbon" not in nobodys
    assert "cello" not in nobodys


@EACH
def test_what_was_added_is_there_after_a_restart(design: Design, tmp_path: Path) -> None:
    """Opened anew over the same folder it gives the same contexts, and goes on."""
    ask = "Who plays the cello?"
    with closing(design.open(tmp_path / "store", made(tmp_path))) as memory:
        memory.add("alice", MONDAY, session_id="monday")
        memory.add("alice", TUESDAY, session_id="tuesday")
        memory.note("alice", "Alice is allergic to peanuts and walnuts.", kind="fact", time=NOW, number=1)
        before = memory.context("alice", ask, max_tokens=300, now=NOW)
    with closing(design.open(tmp_path / "store", made(tmp_path))) as memory:
        after = memory.context("alice", ask, max_tokens=300, now=NOW)
        memory.add("alice", talk(9, "Nora has sold her cello for a viola."), session_id="thursday")
        later = memory.context("alice", ask, max_tokens=300, now=NOW)

    assert before == after
    assert before
    assert later != after


def test_full_concatenation_keeps_the_newest(tmp_path: Path) -> None:
    """Cut at the window, what is left out is the oldest, whatever is asked."""
    (full,) = [design for design in ALL if design.family == FULL]
    with closing(full.open(tmp_path, made(tmp_path))) as memory:
        memory.add("alice", MONDAY, session_id="monday")
        memory.add("alice", TUESDAY, session_id="tuesday")
        text = memory.context("alice", "Where is Lisbon?", max_tokens=30, now=NOW)

    assert "lovely" in text
    assert "Lisbon" not in text


def test_chunks_hold_whole_turns_of_one_conversation(tmp_path: Path) -> None:
    """Turns are put together as long as they fit, never across conversations; a long one is cut at its sentences."""
    long = talk(9, " ".join(f"Sentence number {n} is here to be cut." for n in range(12)))
    by_name = {design.variant: design for design in ALL if design.family == RAG}
    found = {}
    for variant in ("a turn each", "chunks of 64"):
        folder = tmp_path / variant
        with closing(by_name[variant].open(folder, made(tmp_path))) as memory:
            for number, messages in enumerate((MONDAY, TUESDAY, long)):
                memory.add("alice", messages, session_id=str(number))
        (file,) = folder.iterdir()
        found[variant] = [json.loads(line)[1] for line in file.read_text().splitlines()]

    assert len(found["a turn each"]) == 5
    whole, other, *pieces = found["chunks of 64"]
    assert "Lisbon" in whole
    assert "weather" in whole
    assert "cello" not in whole
    assert "cello" in other
    assert len(pieces) == 2
    assert all(COUNTER.count(piece) <= 64 and piece.endswith(".") for piece in pieces)


def test_a_rolling_summary_stays_as_long_as_it_is(tmp_path: Path) -> None:
    """Short histories stay word for word; longer ones are compressed to its size, with a model call for each."""
    (small,) = [design for design in ALL if design.variant == "40 tokens"]
    told = made(tmp_path)
    with closing(small.open(tmp_path, told)) as memory:
        memory.add("alice", MONDAY[:1], session_id="0")
        assert told.effort.model_calls == 0
        for number in range(8):
            said = f"On day {number} we painted room {number} green, and the neighbour {number} brought a cake."
            memory.add("alice", talk(7 + number, said), session_id=str(number))
        text = memory.context("alice", "What colour?", max_tokens=1000, now=NOW)

    assert 0 < COUNTER.count(text) <= 40
    assert told.effort.model_calls >= 6


def test_summaries_of_summaries_cover_their_parts(tmp_path: Path) -> None:
    """Four conversations' summaries make one, sixteen one of those; no context holds a part beside its whole."""
    design = next(design for design in ALL if design.variant == "1:3")
    with closing(design.open(tmp_path, made(tmp_path))) as memory:
        for number in range(17):
            said = [
                f"Topic {number}: the heron number {number} was seen at lake {number}, near the old mill." for _ in "ab"
            ]
            memory.add("alice", talk(1 + number, *said), session_id=str(number))
        text = memory.context("alice", "Where was the heron seen?", max_tokens=10_000, now=NOW)
        (file,) = tmp_path.iterdir()
        kept = [json.loads(line) for line in file.read_text().splitlines()]
        top = next(lines for level, _, _, lines, *_ in kept if level == 2)
        whole = "\n".join(f"User: {said}" for _, _, said, _ in top)
        near_a_whole = memory.context("alice", whole, max_tokens=10_000, now=NOW)
    nodes = [node[:3] for node in kept]

    assert [level for level, *_ in nodes].count(0) == 17
    assert [[first, last] for level, first, last in nodes if level == 1] == [[0, 3], [4, 7], [8, 11], [12, 15]]
    assert [[first, last] for level, first, last in nodes if level == 2] == [[0, 15]]
    assert text.count("heron number 16 ") <= 1
    assert [number for number in range(17) if f"Topic {number};" in text] == [*range(17)]
    assert whole not in text
    assert [number for number in range(17) if f"Topic {number};" in near_a_whole] == [16]
    assert whole in near_a_whole


def test_entries_are_packed_whole_in_order_of_time() -> None:
    """The first given are taken first, days stand once above them, and the joined text is within the budget."""
    entries = [
        Entry(2, "[8 May]", "Ann: third thing", COUNTER.count("Ann: third thing")),
        Entry(0, "[7 May]", "Ben: first thing", COUNTER.count("Ben: first thing")),
        Entry(1, "[7 May]", "Ann: second thing", COUNTER.count("Ann: second thing")),
    ]

    assert packed(entries, 1000, COUNTER) == ("[7 May]\nBen: first thing\nAnn: second thing\n[8 May]\nAnn: third thing")
    assert packed(entries, 12, COUNTER) == "[8 May]\nAnn: third thing"
    assert packed([], 12, COUNTER) == ""


def test_lines_stand_under_their_days() -> None:
    """A day is written once for what was said on it."""
    lines = [Line("user", "Ann", "Hi.", "[7 May]"), Line("user", "Ben", "Ho.", "[7 May]"), Line("user", "Ann", "?", "")]

    assert written(lines) == "[7 May]\nAnn: Hi.\nBen: Ho.\nAnn: ?"


def unit(id: str, text: str, day: int = 6) -> Unit:
    """Return a unit of a day in May."""
    return Unit(id=id, text=text, time=datetime(2024, 5, day, tzinfo=timezone.utc), session_id=f"day {day}")


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("[6 May]\nuser: I bought a red kite, and Tom lost his blue hat.", 1.0),
        ("i bought A RED\nkite and tom lost his blue hat", 1.0),
        ("user: I bought a red kite", 0.5),
        ("Tom lost his blue hat; something else", 0.5),
        ("I bought a red kitesurf", 0.0),
        ("nothing of it", 0.0),
        ("", 0.0),
    ],
)
def test_evidence_is_looked_for_in_the_text(text: str, share: float) -> None:
    """A unit that stands there whole counts 1, its fragments by their terms; case and punctuation do not matter."""
    evidence = Evidence([unit("a", "I bought a red kite, and Tom lost his blue hat.")])

    assert evidence.share(["a"], text) == pytest.approx(share, abs=0.15 if share == 0.5 else 0)


def test_evidence_is_the_mean_of_the_gold_units() -> None:
    """Of two units one counts half; messages that share an id count what the best of them does; Chinese is read too."""
    evidence = Evidence(
        [unit("a", "我养了一只猫。"), unit("a", "好的，知道了！"), unit("b", "The kiln has arrived today.")]
    )

    assert evidence.share(["a", "b"], "用户：我养了一只猫") == 0.5
    assert evidence.share(["a"], "用户：我养了一只狗") == 0.0
    assert evidence.share(["a", "b"], "好的 知道了 | the kiln has arrived today") == 1.0


def test_each_pays_for_a_vector_that_is_made_once() -> None:
    """The second to ask for a text is charged call, text, tokens and time, though nothing is embedded again."""
    inner = Counting()
    shared = SharedVectors(inner, COUNTER)
    first, second = tools(shared, COUNTER), tools(shared, COUNTER)
    with stretch(first.effort) as one:
        first.embedder.embed_documents(["tea for two", "茶"])
    with stretch(second.effort) as two:
        second.embedder.embed_documents(["茶", "tea for two"])
        second.embedder.embed_query("tea for two")

    assert inner.texts == 3  # questions are another space's side
    assert (first.effort.embedder_calls, first.effort.embedded_texts, first.effort.embedded_tokens) == (1, 2, 4)
    assert (second.effort.embedder_calls, second.effort.embedded_texts, second.effort.embedded_tokens) == (2, 3, 7)
    assert one.effort.charged.clock == pytest.approx(one.effort.waited.clock)
    assert two.effort.charged.clock > two.effort.waited.clock
    assert two.took.clock >= one.effort.charged.clock


class Counting(HashEmbedder):
    """An embedder that counts its texts."""

    texts = 0

    def embed_query(self, text: str) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        """Count one."""
        self.texts += 1
        return super().embed_query(text)


def test_vectors_and_what_they_took_survive(tmp_path: Path) -> None:
    """What is saved is charged alike by a later run."""
    shared = SharedVectors(HashEmbedder(), COUNTER, tmp_path)
    (before,), _ = shared.look_up("passage", ["tea"])
    shared.save()
    again = SharedVectors(HashEmbedder(), COUNTER, tmp_path)
    (after,), waited = again.look_up("passage", ["tea"])

    assert (after.vector == before.vector).all()
    assert (after.tokens, after.took, waited) == (before.tokens, before.took, Took())


class Forgetful(Architecture):
    """Keeps everything in this process alone, and injects it all."""

    def __init__(self, folder: Path, tools: Tools) -> None:
        super().__init__(folder, tools)
        folder.mkdir(parents=True, exist_ok=True)
        self._said: dict[str, list[str]] = {}

    def add(self, user_id: str, messages: list[Message], *, session_id: str) -> None:  # type: ignore[override]
        """Keep it."""
        assert all(message.id is None for message in messages)  # gold must not leak
        self._said.setdefault(user_id, []).extend(message.content for message in messages)

    def context(self, user_id: str, question: str, *, max_tokens: int, now: datetime) -> str:
        """Return all of it."""
        return "\n".join(self._said.get(user_id, []))

    def close(self) -> None:
        """Forget."""


def bench() -> Benchmark:
    """Return two users with a conversation or two, and questions."""
    alice = Haystack(
        "alice",
        (unit("1", "I moved to Lisbon."), unit("2", "Nora plays the cello.", 7)),
        (
            Question("Where did I move?", frozenset("1"), "places", "to Lisbon"),
            Question("Who plays the cello?", frozenset("2"), "people", "Nora"),
        ),
    )
    mei = Haystack(
        "李梅",
        (unit("1", "我养了一只猫。"), unit("2", "今天去爬山了。", 7)),
        (Question("我养了什么？", frozenset("1"), "people", "猫"),),
    )
    return Benchmark("mine", (alice, mei), "one add per session")


def tried(tmp_path: Path, chosen: list[Design] | None = None, limit: int | None = None) -> Experiment:
    """Return an experiment over it."""
    return run(
        limited(bench(), limit), tmp_path, Plan(BUDGETS, 500), embedder=HashEmbedder(), counter=COUNTER, chosen=chosen
    )


def test_a_restart_is_measured_and_not_believed(tmp_path: Path) -> None:
    """An architecture that keeps nothing on disk is found out: nothing survives."""
    shared = SharedVectors(HashEmbedder(), COUNTER)
    design = Design("forgetful", "", Forgetful)

    trial = run_trial(bench(), design, Plan((100,), 100), tmp_path, shared=shared, counter=COUNTER)

    assert (trial.survival, trial.same) == (0.0, 0.0)
    assert trial.bytes == 0
    assert [growth.tokens for growth in trial.growth][-1] > 0
    assert all(recall == 0 for recall in trial.asked[0].recall)


def test_who_takes_more_than_allowed_is_not_measured(tmp_path: Path) -> None:
    """More tokens than the budget are an error that names the architecture."""

    class Greedy(Forgetful):
        def context(self, user_id: str, question: str, *, max_tokens: int, now: datetime) -> str:
            return "word " * (max_tokens + 1)

    shared = SharedVectors(HashEmbedder(), COUNTER)
    with pytest.raises(OverBudgetError, match="greedy returned 21 tokens where 20 were allowed"):
        run_trial(bench(), Design("greedy", "", Greedy), Plan((20,), 20), tmp_path, shared=shared, counter=COUNTER)


def test_every_architecture_is_tried_and_reported(tmp_path: Path) -> None:
    """All find what is there for the asking, all survive, and the report has each family at each budget."""
    experiment = tried(tmp_path)
    document = report.to_json(experiment)

    assert len(experiment.families) == 5
    assert [len(asked.recall) for trial in experiment.trials for asked in trial.asked] == [3] * (2 * len(ALL) + 1)
    assert all(trial.survival in (1.0, None) and trial.same == 1.0 for trial in experiment.trials)
    assert all(trial.bytes > 0 for trial in experiment.trials)
    full = next(point for point in report.curve(experiment) if (point.family, point.budget) == (FULL, 500))
    assert full.recall.mean == full.of_recall == full.of_tokens == 1
    costs = {one.family: one for one in report.costs(experiment)}
    assert costs[FULL].embedder_calls == costs[RAG].model_calls == 0
    assert costs[RAG].embedder_calls == 1000  # four sessions of a turn
    assert set(document["categories"]["40"]) == {"people", "places"}
    assert len(document["variants"]) == len(ALL)
    assert json.loads(json.dumps(document)) == document


def test_the_best_variant_of_each_is_shown(tmp_path: Path) -> None:
    """At each budget the report takes the variant with the highest recall, of vector RAG as of tiered."""
    chosen = [design for design in ALL if design.family in (RAG, TIERED)]
    experiment = tried(tmp_path, chosen)
    worse, better = (trial for trial in experiment.trials if trial.variant in ("a turn each", "chunks of 64"))
    poor = dataclasses.replace(worse, asked=tuple(dataclasses.replace(a, recall=(0.0, 0.0, 0.0)) for a in worse.asked))
    rich = dataclasses.replace(
        better, asked=tuple(dataclasses.replace(a, recall=(1.0, 0.0, 0.5)) for a in better.asked)
    )
    ours = next(trial for trial in experiment.trials if trial.variant == "as added")
    fixed = dataclasses.replace(ours, asked=tuple(dataclasses.replace(a, recall=(1.0, 0.5, 0.5)) for a in ours.asked))
    experiment = dataclasses.replace(experiment, trials=(poor, rich, fixed))

    assert [point.variant for point in report.curve(experiment) if point.family == RAG] == ["chunks of 64"] * 2
    assert [point.recall.mean for point in report.curve(experiment)] == pytest.approx([0.5, 0.5, 2 / 3, 2 / 3])
    assert [one.mean for one in report.ahead(experiment).values()] == pytest.approx([1 / 6, 1 / 6])
    assert report.by_category(experiment, 40)["people"] == pytest.approx({RAG: 0.25, TIERED: 0.5})


def test_a_window_that_is_a_budget_is_no_one_elses_usual_one(tmp_path: Path) -> None:
    """Only full concatenation is looked at by itself at the window, also where the others are asked there, too."""
    chosen = [design for design in ALL if design.family == FULL or design.variant == "a turn each"]
    experiment = run(bench(), tmp_path, Plan(BUDGETS, 90), embedder=HashEmbedder(), counter=COUNTER, chosen=chosen)
    recall = {40: (0.25, 0.25, 0.25), 90: (0.75, 0.75, 0.75)}
    trials = tuple(
        dataclasses.replace(trial, asked=tuple(dataclasses.replace(a, recall=recall[a.budget]) for a in trial.asked))
        for trial in experiment.trials
    )
    experiment = dataclasses.replace(experiment, trials=trials)

    assert report.by_category(experiment, 40)["people"] == {FULL: 0.75, RAG: 0.25}
    assert report.by_category(experiment, 90)["people"] == {FULL: 0.75, RAG: 0.75}


def test_a_limit_asks_evenly_and_writes_no_more_than_it_needs() -> None:
    """Questions are taken from all haystacks alike; who is asked nothing is not written."""
    many = dataclasses.replace(
        bench(),
        haystacks=tuple(
            Haystack(str(n), (unit("1", "A kite."),), tuple(Question(f"{n} {q}?", frozenset("1")) for q in range(10)))
            for n in range(4)
        ),
    )

    assert [len(haystack.questions) for haystack in limited(many, 8).haystacks] == [2, 2, 2, 2]
    assert [len(haystack.questions) for haystack in limited(many, 2).haystacks] == [1, 1]
    assert limited(many, None) == limited(many, 40) == limited(many, 99) == many


def test_what_was_finished_is_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted and run again, it goes on with what is missing, and a torn result is made again."""
    chosen = [design for design in ALL if design.family in (FULL, RAG)]
    opened: list[str] = []

    def noting(design: Design, stop: bool) -> Design:
        def open(folder: Path, told: Tools) -> Architecture:
            opened.append(design.variant)
            if stop:
                raise KeyboardInterrupt
            return design.open(folder, told)

        return dataclasses.replace(design, open=open)

    with pytest.raises(KeyboardInterrupt):
        tried(tmp_path, [noting(design, design.variant == "chunks of 128") for design in chosen])
    finished, opened[:] = list(opened), []
    again = tried(tmp_path, [noting(design, stop=False) for design in chosen])

    assert finished == ["", "", "a turn each", "a turn each", "chunks of 64", "chunks of 64", "chunks of 128"]
    assert set(opened) == {"chunks of 128", "chunks of 256", "chunks of 512"}
    assert len(again.trials) == len(chosen)
    assert again.trials[0] == trial_of(json.loads(json.dumps(dataclasses.asdict(again.trials[0]))))
    (torn,) = tmp_path.glob("*a-turn-each.json")
    torn.write_text(torn.read_text()[:40])
    opened.clear()
    tried(tmp_path, [noting(design, stop=False) for design in chosen])
    assert set(opened) == {"a turn each"}


def test_a_trial_by_another_token_counter_is_made_again(tmp_path: Path) -> None:
    """Budgets, and all that is told in tokens, are by a counter: what another one counted is not taken over."""

    class Letters:
        def count(self, text: str) -> int:
            return len(text)

    def by(counter: TokenCounter) -> Experiment:
        chosen = [design for design in ALL if design.variant == "a turn each"]
        return run(bench(), tmp_path, Plan((400,), 900), embedder=HashEmbedder(), counter=counter, chosen=chosen)

    words, letters = by(COUNTER), by(Letters())

    assert letters.trials[0].asked[0].tokens > words.trials[0].asked[0].tokens
    assert letters.trials[0].effort.embedded_tokens > words.trials[0].effort.embedded_tokens
    assert by(COUNTER).trials == words.trials


def test_a_memory_that_fails_once_it_is_open_again_is_closed(tmp_path: Path) -> None:
    """Where the first context behind the reopening raises, the store is not left open."""
    design = next(design for design in ALL if design.variant == "a turn each")
    closed: list[int] = []

    def open(folder: Path, told: Tools) -> Architecture:
        inner, number = design.open(folder, told), len(closed)

        class Failing(type(inner)):  # type: ignore[misc]
            def context(self, *args: object, **kwargs: object) -> str:
                if number:
                    raise NotFoundError("lost")
                return str(super().context(*args, **kwargs))

            def close(self) -> None:
                closed.append(number)
                super().close()

        inner.__class__ = Failing
        return inner

    with pytest.raises(NotFoundError, match="lost"):
        tried(tmp_path, [dataclasses.replace(design, open=open)])

    assert set(closed) == {0, closed[-1]}
    assert closed[-1] > 0


def test_data_is_known_by_looking_inside(tmp_path: Path) -> None:
    """A JSON list is LoCoMo, an object with memories MADial, lines are one's own; what is none says so."""
    (tmp_path / "zh.json").write_text(
        '{"memories": [{"id": "3", "time": "2024-03-07", "event": "小明得了第一名。"}], '
        '"queries": [{"context": ["加油！"], "gold": [3]}]}'
    )
    (tmp_path / "mine.jsonl").write_text(
        '{"id": "m1", "role": "user", "content": "Hi.", "created_at": "2024-05-06T09:00:00Z"}\n'
        '{"question": "Who?", "gold": ["m1"], "answer": 3}\n'
    )
    (tmp_path / "locomo.json").write_text("[]")

    assert load(tmp_path / "zh.json").name == "madial"
    assert load(tmp_path / "mine.jsonl").haystacks[0].questions[0].answer == "3"
    with pytest.raises(InvalidInputError, match="locomo"):
        load(tmp_path / "locomo.json")
    with pytest.raises(NotFoundError, match="cannot be read"):
        load(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("answer", "reference", "value"),
    [
        ("The blue kite.", "a blue kite", 1.0),
        ("blue", "blue kite", 2 / 3),
        ("a red kite on Monday", "blue kite", 2 / 6),
        ("green", "blue kite", 0.0),
        ("橘猫", "一只橘猫", 2 * 1 * 0.5 / 1.5),
        ("", "", 1.0),
        ("", "blue", 0.0),
    ],
)
def test_f1_is_of_words_and_of_chinese_characters(answer: str, reference: str, value: float) -> None:
    """Precision and recall of words, without articles and case, in their harmonic mean."""
    assert f1(answer, reference) == pytest.approx(value)


def test_the_labelled_answers_are_half_wrong_in_both_languages() -> None:
    """What is shipped to measure a judge by is balanced, so that no lazy judge looks good."""
    cases = labelled()
    chinese = [case for case in cases if not case.question.isascii()]

    assert (len(cases), sum(case.right for case in cases)) == (40, 20)
    assert (len(chinese), sum(case.right for case in chinese)) == (20, 10)
    assert len({(case.question, case.answer) for case in cases}) == 40


def test_a_judge_is_measured_by_what_it_says() -> None:
    """Refused right ones, accepted wrong ones and unreadable verdicts are counted apart, and all are errors."""
    cases = [Labelled("Who?", "Ann", "Ann", right) for right in (True, True, False, False, False)]
    replies = ['{"right": true}', '{"right": false}', '{"right": true}', "no idea", 'Sure: {"right": "false"}']

    error = measured(ScriptedChatModel(replies), cases)

    assert (error.right, error.refused, error.wrong, error.accepted, error.unreadable) == (2, 1, 3, 1, 1)
    assert error.rate == pytest.approx(3 / 5)
    assert read("what?") is None
    assert judge(ScriptedChatModel(), "Who?", "Ann", "  ") is False  # no answer needs no judge


def test_answers_come_out_of_each_context_and_are_kept(tmp_path: Path) -> None:
    """Each family answers each question that has a reference; a second run tries the models out alone."""
    chosen = [design for design in ALL if design.family in (FULL, TIERED)]
    experiment = tried(tmp_path, chosen)
    model, judging = Oracle("Lisbon"), Judge()

    def ask() -> list[tuple[str, int, float, float]]:
        given = answered(
            experiment,
            bench(),
            tmp_path,
            model=model,
            judging=judging,
            error=tried_out(model, judging),
            embedder=HashEmbedder(),
            counter=COUNTER,
        )
        assert given.error.rate == pytest.approx(0.5)
        return [(row.family, row.questions, row.f1, row.right) for row in rows(given)]

    first = ask()
    asked = model.calls
    second = ask()

    assert first == second
    assert [family for family, *_ in first] == [FULL, TIERED]
    assert all(number == 3 and right == 1 and 0 < value < 1 for _, number, value, right in first)
    assert 1 < asked == model.calls - 1


class Oracle:
    """A model that always says the same, and counts."""

    name = "oracle"

    def __init__(self, answer: str) -> None:
        self.answer, self.calls = answer, 0

    def complete(self, messages: object, *, schema: object = None, max_tokens: int | None = None) -> str:
        """Say it."""
        self.calls += 1
        return self.answer


class Judge(Oracle):
    """A judge who calls everything right."""

    name = "lenient"

    def __init__(self) -> None:
        super().__init__('{"right": true}')


def test_an_architecture_of_ones_own_is_measured_beside_the_others(tmp_path: Path) -> None:
    """It stands in every figure, table and picture, and its contexts are answered from, as those of the others."""
    pytest.importorskip("matplotlib")
    from siltstone.cli.experiment_tables import show_experiment
    from siltstone.evaluate.experiment.plot import plot

    chosen = [design for design in ALL if design.family == FULL] + [Design("my own", "", Forgetful)]
    experiment = tried(tmp_path, chosen)
    shown = io.StringIO()
    with redirect_stdout(shown):
        show_experiment(experiment)
    given = answered(
        experiment,
        bench(),
        tmp_path,
        model=Oracle("Lisbon"),
        judging=Judge(),
        error=JudgeError(1, 0, 1, 0, 0),
        embedder=HashEmbedder(),
        counter=COUNTER,
        chosen=chosen,
    )

    assert experiment.families == [FULL, "my own"]
    assert {point.family for point in report.curve(experiment)} == {FULL, "my own"}
    assert set(report.growth(experiment)) == {FULL, "my own"}
    assert shown.getvalue().count("my own") == 4
    assert [row.family for row in rows(given)] == [FULL, "my own"]
    assert len(plot(experiment, tmp_path / "pictures")) == 3


def test_the_guides_architecture_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example in docs/experiment runs as it stands there, and its architecture is among the figures."""
    guide = (Path(__file__).parent.parent / "docs" / "experiment" / "README.md").read_text(encoding="utf-8")
    (lines,) = re.findall(r"^```json\n(.*?)^```$", guide, re.DOTALL | re.MULTILINE)
    (code,) = re.findall(r"^```python\n(.*?)^```$", guide, re.DOTALL | re.MULTILINE)
    (tmp_path / "mine.jsonl").write_text(lines, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    shown = io.StringIO()
    with redirect_stdout(shown):
        exec(compile(code, "guide", "exec"), {"__name__": "guide"})

    assert any(line.startswith("keywords 100 1.0") for line in shown.getvalue().splitlines())
    assert TIERED in shown.getvalue()


def test_an_experiment_is_drawn(tmp_path: Path) -> None:
    """Three pictures, each a PNG."""
    pytest.importorskip("matplotlib")
    from siltstone.evaluate.experiment.plot import plot

    drawn: Callable[[Path], list[Path]] = lambda folder: plot(tried(tmp_path / "work"), folder)  # noqa: E731
    pictures = drawn(tmp_path / "pictures" / "new")

    assert [path.name for path in pictures] == ["recall.png", "growth.png", "cost.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)
