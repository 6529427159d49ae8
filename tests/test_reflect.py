"""Reflection: insights with sources, marks for review, and nothing deleted."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from siltstone import BackendUnavailableError, ConfigurationError, ModelError, Settings, TieredMemory
from siltstone.compress.extractive import ExtractiveSummarizer
from siltstone.lifecycle.reflect import SCHEMA, read
from siltstone.testing import FrozenClock, HashEmbedder, ScriptedChatModel, WordCounter

TOLD = ["I live in Lisbon.", "I have a dog named Rex.", "I love hiking.", "I work as a nurse.", "I'm allergic to nuts."]


INSIGHT = {"text": "The user probably walks the dog in the hills.", "sources": ["f2", "f3"]}
ALONE = {"text": "The user is happy.", "sources": ["f1"]}
DOWN = BackendUnavailableError("down")
NOTHING = json.dumps({"insights": [], "stale": []})


@pytest.fixture
def model(request: pytest.FixtureRequest) -> ScriptedChatModel:
    """A model that sees a walker, and doubts one statement; or one with a script of the test's."""
    replies = [json.dumps({"insights": [INSIGHT, ALONE], "stale": ["[f4]", "f99"]})]
    return ScriptedChatModel(getattr(request, "param", replies))


@pytest.fixture
def clock() -> FrozenClock:
    """The noon of a day in May."""
    return FrozenClock("2024-05-08T12:00:00+00:00")


@pytest.fixture
def memory(model: ScriptedChatModel, clock: FrozenClock) -> Iterator[TieredMemory]:
    """A memory to which ten things have been told, twice five, on ten days."""
    settings = Settings(embed_wait=5.0, reflect=True)
    with TieredMemory.open(
        ":memory:",
        embedder=HashEmbedder(),
        token_counter=WordCounter(),
        summarizer=ExtractiveSummarizer(),
        llm=model,
        clock=clock,
        settings=settings,
    ) as memory:
        for n, text in enumerate(TOLD * 2):
            memory.add([("user", text)], session_id=f"s{n}")
            clock.advance(days=1)
            if n < 9:
                memory.consolidate()
        yield memory


def test_an_insight_rests_on_what_it_was_made_from(memory: TieredMemory, model: ScriptedChatModel) -> None:
    """It is written once enough was learned, from two statements or more, and goes when one of them is forgotten."""
    assert model.calls == []
    report = memory.consolidate()
    assert (report.count("reflect"), report.count("stale")) == (1, 1)
    (insight,) = memory.records(kinds="insight")
    sources = [memory.get(id) for id in insight.source_ids]
    assert len(sources) == 2
    assert insight.made_by == "scripted"
    assert memory.consolidate().rows == ()
    assert len(model.calls) == 1
    memory.forget(ids=[insight.source_ids[0]])
    assert list(memory.records(kinds="insight")) == []


def test_it_deletes_and_replaces_nothing(memory: TieredMemory) -> None:
    """What seems stale is marked, and is all there with its text."""
    before = {record.id: record.text for record in memory.records()}
    memory.consolidate()
    after = {record.id: record for record in memory.records()}
    assert {id: after[id].text for id in before} == before
    assert [record.valid_until for record in after.values() if "stale" in record.flags] == [None]


@pytest.mark.parametrize("model", [[DOWN, "no JSON at all", NOTHING]], indirect=True)
def test_a_model_that_fails_leaves_it_for_later(
    memory: TieredMemory, model: ScriptedChatModel, clock: FrozenClock
) -> None:
    """A failure writes nothing, and the reflection is due again after a pause, twice as long after the next."""
    assert memory.consolidate().count("fail") == 1
    assert memory.consolidate().rows == ()
    assert memory.stats().jobs == {"waiting": 1}
    clock.advance(seconds=61)
    assert memory.consolidate().count("fail") == 1
    clock.advance(seconds=61)
    assert memory.consolidate(dry_run=True).rows == ()
    assert memory.consolidate().rows == ()
    clock.advance(seconds=60)
    assert memory.consolidate(dry_run=True).count("reflect") == 1
    assert memory.consolidate().rows == ()
    assert memory.stats().jobs == {}
    assert len(model.calls) == 3


@pytest.mark.parametrize("model", [["no JSON at all"] * 6 + [NOTHING] * 2], indirect=True)
def test_a_reflection_that_fails_for_good_is_a_dead_letter(
    memory: TieredMemory, model: ScriptedChatModel, clock: FrozenClock
) -> None:
    """It is listed, left alone, and tried again on demand."""
    for _ in range(8):
        memory.consolidate()
        clock.advance(days=1)
    assert len(model.calls) == 6
    (letter,) = memory.stats().dead_letters
    assert letter == "reflection, 6 attempts: the answer holds no reflection"
    memory.consolidate(retry=True)
    assert memory.stats().dead_letters == ()
    assert len(model.calls) == 7


@pytest.mark.parametrize("models", [{"llm": "one"}, {"summarizer": "one"}, {"summarizer": "other", "llm": "one"}])
def test_the_model_that_reflects_is_the_one_that_was_given(models: dict[str, str]) -> None:
    """It is ``llm``, else the language model that makes the digests."""
    named = {name: ScriptedChatModel(["{}"] * 40, name=name) for name in ("one", "other")}
    given = {role: named[name] for role, name in models.items()}
    clock = FrozenClock("2024-05-08T12:00:00+00:00")
    settings = Settings(embed_wait=5.0, reflect=True)
    with TieredMemory.open(
        ":memory:", embedder=HashEmbedder(), token_counter=WordCounter(), clock=clock, settings=settings, **given
    ) as memory:
        for n, text in enumerate(TOLD * 2):
            memory.add([("user", text)], session_id=f"s{n}")
            clock.advance(days=1)
            memory.consolidate()
    assert any(call.schema == SCHEMA for call in named["one"].calls)
    assert not any(call.schema == SCHEMA for call in named["other"].calls)


def test_without_a_model_nothing_promises_to_reflect() -> None:
    """What could not be done is refused at opening, and not left out in silence."""
    with pytest.raises(ConfigurationError, match="llm="):
        TieredMemory.open(":memory:", embedder=HashEmbedder(), settings=Settings(reflect=True))


@pytest.mark.parametrize("answer", ["", "I cannot do that.", "[]", '{"facts": []}'])
def test_an_answer_that_is_no_reflection_is_a_model_error(answer: str) -> None:
    """Nothing is made of an answer in another form."""
    with pytest.raises(ModelError):
        read(answer, 3)
