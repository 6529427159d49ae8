"""The judge: a model that is asked what a statement is to a known one, where rules cannot tell, and only there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from typing import Any

import pytest

from siltstone import BackendUnavailableError, ConfigurationError, Message, ModelError, Record, Settings, TieredMemory
from siltstone.compress.extractive import ExtractiveSummarizer
from siltstone.lifecycle.judge import PAIRS, SCHEMA, doubtful, read
from siltstone.lifecycle.revise import Known
from siltstone.testing import FrozenClock, HashEmbedder, ScriptedChatModel, WordCounter

NOW = datetime(2024, 5, 8, 12, tzinfo=timezone.utc)
VOLVO, SKODA = "I drive a Volvo estate.", "I drive a Skoda estate."


def verdict(word: str, *, same: bool = True) -> str:
    """Return an answer."""
    return json.dumps({"same": same, "verdict": word})


@pytest.fixture
def clock() -> FrozenClock:
    """The noon of a day in May."""
    return FrozenClock(NOW.isoformat())


@pytest.fixture
def opened(clock: FrozenClock) -> Iterator[Callable[..., tuple[TieredMemory, ScriptedChatModel]]]:
    """Opens a memory with a judge that answers by a script."""
    memories = []

    def open_with(*replies: Any, **settings: Any) -> tuple[TieredMemory, ScriptedChatModel]:
        model = ScriptedChatModel(replies)
        memory = TieredMemory.open(
            ":memory:",
            embedder=HashEmbedder(),
            token_counter=WordCounter(),
            summarizer=ExtractiveSummarizer(),
            llm=model,
            clock=clock,
            settings=Settings(embed_wait=5.0, judge=True, **settings),
        )
        memories.append(memory)
        return memory, model

    yield open_with
    for memory in memories:
        memory.close()


def tell(memory: TieredMemory, clock: FrozenClock, text: str, *, session: str) -> list[str]:
    """Let the user say something, and some days pass."""
    ids = memory.add([("user", text)], session_id=session)
    clock.advance(days=3)
    return ids


def current(memory: TieredMemory) -> list[str]:
    """Return what holds now."""
    return [record.text for record in memory.records(kinds=("profile", "fact")) if record.valid_until is None]


@pytest.mark.parametrize(
    ("word", "same", "left"),
    [
        ("supersedes", True, ["I drive a Skoda estate"]),
        ("unrelated", True, ["I drive a Volvo estate", "I drive a Skoda estate"]),
        ("unrelated", False, ["I drive a Volvo estate", "I drive a Skoda estate"]),
        ("contradicts", True, ["I drive a Volvo estate", "I drive a Skoda estate"]),
        ("repeats", True, ["I drive a Volvo estate"]),
    ],
)
def test_its_verdict_is_carried_out(
    opened: Callable[..., Any], clock: FrozenClock, word: str, same: bool, left: list[str]
) -> None:
    """What rules would leave as two statements becomes what the model says, with the old one in ``history``."""
    memory, model = opened(verdict(word, same=same))
    tell(memory, clock, VOLVO, session="a")
    memory.consolidate()
    assert model.calls == []
    tell(memory, clock, SKODA, session="b")
    memory.consolidate()
    assert current(memory) == left
    assert len(model.calls) == 1
    assert model.calls[0].schema == SCHEMA
    marked = [record for record in memory.records(kinds="profile") if "contradicted" in record.flags]
    assert len(marked) == (2 if word == "contradicts" else 0)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Berlin.", "I moved to Lisbon."),
        ("I live in Berlin.", "I live in Berlin, by the canal."),
        ("I love jazz.", "I'm allergic to peanuts."),
        ("I'm flying to Kyoto on June 3.", "I'm flying to Osaka on June 3."),
    ],
)
def test_it_is_not_asked_where_rules_can_tell(
    opened: Callable[..., Any], clock: FrozenClock, old: str, new: str
) -> None:
    """Changes and repetitions that rules see, and statements with nothing in common, cost no request."""
    memory, model = opened()
    tell(memory, clock, old, session="a")
    memory.consolidate()
    tell(memory, clock, new, session="b")
    assert memory.consolidate().count("fail") == 0
    assert model.calls == []


@pytest.mark.parametrize(
    "reply",
    [BackendUnavailableError("down"), ModelError("refused"), "no JSON", verdict("supersedes", same=False),
     verdict("maybe"), '{"same": "yes", "verdict": "repeats"}', '{"verdict": "repeats"}'],
)  # fmt: skip
def test_a_judge_that_fails_leaves_it_to_the_rules(opened: Callable[..., Any], clock: FrozenClock, reply: Any) -> None:
    """The statements are taken in at once, a row says that the model failed, and it is not asked again in that run."""
    memory, model = opened(reply, verdict("unrelated"))
    tell(memory, clock, VOLVO, session="a")
    memory.consolidate()
    tell(memory, clock, SKODA, session="b")
    tell(memory, clock, "I drive a Tesla estate.", session="c")
    report = memory.consolidate()
    assert report.count("fail") == 1
    assert next(row.why for row in report.rows if row.action == "fail").startswith("judged by rule, as the model")
    assert len(current(memory)) == 3
    assert len(model.calls) == 1
    assert memory.consolidate().rows == ()


def test_a_pair_is_asked_about_once(opened: Callable[..., Any], clock: FrozenClock) -> None:
    """When a statement is taken in anew, as what it was digested with was forgotten, the answer is known."""
    memory, model = opened(verdict("supersedes"))
    tell(memory, clock, VOLVO, session="a")
    memory.consolidate()
    ids = memory.add([("user", SKODA), ("user", "I love jazz and the sea.")], session_id="b")
    clock.advance(days=3)
    memory.consolidate()
    assert len(model.calls) == 1
    record = next(record for record in memory.records(kinds="profile") if record.source_ids == (ids[1],))
    memory.update(f"turn:{ids[1]}", text="I love jazz and the sea and the stars.")
    assert record.id not in [one.id for one in memory.records()]
    memory.consolidate()
    assert "I drive a Skoda estate" in current(memory)
    assert "I drive a Volvo estate" not in current(memory)
    assert len(model.calls) == 1


def test_what_it_answered_goes_with_what_it_was_asked_about(opened: Callable[..., Any], clock: FrozenClock) -> None:
    """An answer that is kept rests on the messages of both statements."""
    memory, _ = opened(verdict("supersedes"), verdict("supersedes"))
    first = tell(memory, clock, VOLVO, session="a")
    memory.consolidate()
    tell(memory, clock, SKODA, session="b")
    memory.consolidate()
    store = memory.handle.store  # type: ignore[attr-defined]
    assert [job for job in store.dependents(memory.user_id, first) if job.kind == "job"]
    memory.forget(ids=first)
    assert not [job for job in store.dependents(memory.user_id, first) if job.kind == "job"]
    assert "I drive a Skoda estate" in current(memory)


def test_a_dry_run_says_that_it_would_be_asked(opened: Callable[..., Any], clock: FrozenClock) -> None:
    """It names the pair, and asks nothing."""
    memory, model = opened()
    tell(memory, clock, VOLVO, session="a")
    memory.consolidate()
    tell(memory, clock, SKODA, session="b")
    report = memory.consolidate(dry_run=True)
    (row,) = [row for row in report.rows if row.action == "judge"]
    assert "I drive a Volvo estate" in row.why
    assert model.calls == []


def test_add_never_waits_for_it(opened: Callable[..., Any], clock: FrozenClock) -> None:
    """It works in consolidation; an ``add`` asks nothing."""
    memory, model = opened()
    tell(memory, clock, VOLVO, session="a")
    tell(memory, clock, SKODA, session="b")
    assert model.calls == []


def test_it_is_asked_in_the_language_of_what_was_said(opened: Callable[..., Any], clock: FrozenClock) -> None:
    """A Chinese pair is put to it in Chinese, and a pair of two languages in that of the new statement."""
    seen: list[Sequence[Message]] = []

    def answer(messages: Sequence[Message]) -> str:
        seen.append(messages)
        return verdict("supersedes")

    memory, _ = opened(answer)
    tell(memory, clock, "I love the violin.", session="a")
    memory.consolidate()
    tell(memory, clock, "我喜欢钢琴。", session="b")
    memory.consolidate()
    assert "陈述" in seen[0][0].content
    assert "I love the violin" in seen[0][1].content


def test_without_a_model_there_is_no_judge() -> None:
    """The setting asks for a model, and says so before anything is opened."""
    with pytest.raises(ConfigurationError, match=r"Settings\.judge asks for a language model"):
        TieredMemory.open(":memory:", embedder=HashEmbedder(), settings=Settings(judge=True))


def statement(n: int, text: str, attribute: str = "possession") -> Record:
    """Return a known statement."""
    return Record(
        id=f"r{n}", text=text, kind="profile", topic=f"user · {attribute}", source_ids=(f"m{n}",),
        created_at=NOW.replace(hour=n % 24), stored_at=NOW, made_by="extractive",
    )  # fmt: skip


def test_few_pairs_are_in_doubt_however_much_is_known() -> None:
    """At most ``PAIRS``, the newest, for one statement."""
    known = Known(statement(n, f"I have a blue boat number {n}") for n in range(12))
    found = doubtful(statement(20, "I have a red boat"), known)
    assert [old.id for old in found] == ["r11", "r10", "r9"][:PAIRS]


def test_an_answer_must_follow_the_schema() -> None:
    """Around it there may be prose and fences; in it nothing may be missing."""
    assert read('Sure!\n```json\n{"same": true, "verdict": "repeats"}\n```') == "repeats"
    with pytest.raises(ModelError, match="no verdict"):
        read("[1, 2]")
