"""Values survive the way over the wire: everything that a service says can be read again by its clients."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siltstone import TieredMemory, errors, records
from siltstone.errors import InvalidInputError, SiltstoneError
from siltstone.meter import Spent
from siltstone.records import Context, DigestItem, Hit, ImportPreview, ImportProblem, Message, Record
from siltstone.testing import HashEmbedder
from siltstone.wire import plain, problem, raised, read, read_item

VALUES = [kind for _, kind in inspect.getmembers(records, dataclasses.is_dataclass)]
ERRORS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
NOON = datetime(2026, 5, 8, 12, tzinfo=timezone.utc)
RECORD = Record(id="f1", text="喜欢茶", created_at=NOON, stored_at=NOON, source_ids=("a", "b"), metadata={"n": [1]})


def through_json(value: Any) -> Any:
    """Return what arrives of a value."""
    return json.loads(json.dumps(plain(value), allow_nan=False))


@pytest.mark.parametrize("kind", VALUES)
def test_every_value_comes_back_as_it_was(kind: type) -> None:
    """What ``records`` defines can be written as JSON and read again: any field, with or without its default."""

    @given(st.builds(kind, **_fields(kind)))
    def comes_back(value: Any) -> None:
        assert read(kind, through_json(value)) == value

    comes_back()


def _fields(kind: type) -> dict[str, st.SearchStrategy[Any]]:
    """Return strategies for the fields that ``builds`` would not guess as JSON has them."""
    times = st.datetimes(timezones=st.just(timezone.utc))
    text = st.text(st.characters(codec="utf-8"))
    guesses = {
        "datetime": times,
        "datetime | None": st.none() | times,
        "Mapping[str, Any]": st.dictionaries(text, st.none() | st.integers(-9, 9) | text | st.lists(text)),
        "Mapping[str, float]": st.dictionaries(text, st.floats(allow_nan=False, allow_infinity=False)),
        "float": st.floats(allow_nan=False, allow_infinity=False),
        "float | None": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "tuple[Hit, ...]": st.just((Hit(RECORD, 1.0, {"words": 1.0}),)),
        "Record": st.just(RECORD),
        "tuple[Message | Record, ...]": st.just((RECORD, Message("user", "hi"))),
        "tuple[Message, ...]": st.just((Message("user", "hi", created_at=NOON),)),
        "str": text,
        "tuple[str, ...]": st.lists(text).map(tuple),
        "tuple[DigestItem, ...]": st.just((DigestItem("tea", ("m1",), NOON),)),
        "tuple[ImportProblem, ...]": st.just((ImportProblem("line 1", "failed", "torn"),)),
        "ImportPreview | None": st.just(ImportPreview((RECORD,), 1, ("Ann",), NOON, None)),
        "Mapping[str, Spent]": st.just({"add": Spent(1, 0, 2, 3, 0.5)}),
    }
    guesses["str | None"] = st.none() | text
    guesses["Mapping[str, Any] | None"] = st.none() | guesses["Mapping[str, Any]"]
    shown = [field for field in dataclasses.fields(kind) if not field.name.startswith("_")]
    private = {field.name: st.just(field.default) for field in dataclasses.fields(kind) if field.name.startswith("_")}
    return {**private, **{field.name: guesses.get(field.type, ...) for field in shown}}


def test_a_context_keeps_what_it_needs_for_messages() -> None:
    """A context that was sent gives the same chat messages as the one that it was made of."""
    with TieredMemory.open(":memory:", embedder=HashEmbedder()) as memory:
        memory.add([("user", "I live in Lisbon."), ("assistant", "Nice.")], session_id="monday")
        context = memory.context("Where do I live?", session_id="monday", max_tokens=500)

    arrived = read(Context, through_json(context))

    assert arrived.as_messages("Where?", system="Be brief.") == context.as_messages("Where?", system="Be brief.")


def test_numbers_that_are_none_arrive_as_nan() -> None:
    """JSON has no nan: it is sent as ``null``, and a score that is read from there is nan again."""
    sent = through_json(Hit(RECORD, math.nan, {"words": math.inf}))

    assert sent["score"] is None
    assert math.isnan(read(Hit, sent).score)


def test_what_another_release_says_is_read_as_far_as_it_is_known() -> None:
    """A field that the reader does not know is passed over; one that is absent has its default."""
    assert read(Message, {"role": "user", "content": "hi", "mood": "good"}) == Message("user", "hi")


def test_records_and_messages_are_told_apart() -> None:
    """``get`` answers with either, and each is read as what it is."""
    message = Message("user", "hi", id="m1", created_at=NOON, session_id="monday")

    assert read_item(through_json(RECORD)) == RECORD
    assert read_item(through_json(message)) == message


@pytest.mark.parametrize(
    ("kind", "data", "named"),
    [
        (Message, {"role": "user"}, "content"),
        (Message, {"role": "user", "content": 7}, "Message.content"),
        (Message, ["user", "hi"], "object"),
        (Message, {"role": "user", "content": "hi", "created_at": "yesterday"}, "Message.created_at"),
        (Record, {**plain(RECORD), "source_ids": "ab"}, "Record.source_ids"),
        (Record, {**plain(RECORD), "source_ids": ["a", 2]}, r"Record.source_ids\[1\]"),
        (Record, {**plain(RECORD), "pinned": 1}, "Record.pinned"),
        (Record, {**plain(RECORD), "version": True}, "Record.version"),
        (Record, {**plain(RECORD), "metadata": []}, "Record.metadata"),
    ],
)
def test_what_is_no_such_value_is_refused_by_the_name_of_its_field(kind: type, data: Any, named: str) -> None:
    """A field that is missing or of another type is an ``InvalidInputError`` that names it, never half a value."""
    with pytest.raises(InvalidInputError, match=named):
        read(kind, data)


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_comes_back_as_itself(kind: type[SiltstoneError]) -> None:
    """A client raises what the service caught: the same class, the same sentence."""
    arrived = raised(json.loads(json.dumps(problem(kind("What happened, what is safe.")))))

    assert type(arrived) is kind
    assert str(arrived) == "What happened, what is safe."


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, "AccessDeniedError"), (404, "NotFoundError"), (413, "InvalidInputError"), (502, "BackendUnavailableError")],
)
def test_a_problem_of_somebody_else_is_known_by_its_status(status: int, kind: str) -> None:
    """What a proxy in between says has no type of ours: its status tells what it is."""
    arrived = raised({"title": "No", "status": status}, retry_after=3.0)

    assert type(arrived).__name__ == kind
    assert getattr(arrived, "retry_after", 3.0) == 3.0
