"""Times that hang on an event, in English and Chinese."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siltstone.recall.question import read_question
from siltstone.text.anchors import anchors
from siltstone.text.periods import day

NOW = datetime(2024, 6, 12, 15, 30, tzinfo=timezone.utc)
EVENT = datetime(2024, 3, 20, tzinfo=timezone.utc)
"""The day of the event in every test."""


@pytest.mark.parametrize(
    ("text", "event", "first", "last"),
    [
        ("What did I buy two weeks before the trip?", "the trip", "2024-03-04", "2024-03-08"),
        ("Two weeks before the trip what did I buy?", "the trip", "2024-03-04", "2024-03-08"),
        ("the week before my sister's wedding", "my sister's wedding", "2024-03-13", "2024-03-19"),
        ("What happened the day after the party, and why?", "the party", "2024-03-21", "2024-03-21"),
        ("three days before we moved", "we moved", "2024-03-17", "2024-03-17"),
        ("a month after the operation", "the operation", "2024-04-10", "2024-04-30"),
        ("旅行前两周我买了什么？", "旅行", "2024-03-04", "2024-03-08"),
        ("婚礼前一天发生了什么", "婚礼", "2024-03-19", "2024-03-19"),
        ("手术后三天我感觉怎么样？", "手术", "2024-03-23", "2024-03-23"),
        ("我去挪威旅行之前的两个星期", "我去挪威旅行", "2024-03-04", "2024-03-08"),
        ("搬家后一个月", "搬家", "2024-03-21", "2024-04-19"),
    ],
)
def test_a_number_of_days_or_weeks_is_counted_from_the_event(text: str, event: str, first: str, last: str) -> None:
    """The event is told apart, and the time lies as far from it as a person would mark it."""
    (anchor,), rest = anchors(text)
    period = anchor.period(day(EVENT))
    assert anchor.event == event
    assert f"{period.start:%Y-%m-%d}" == first
    assert f"{period.end - timedelta(microseconds=1):%Y-%m-%d}" == last
    assert event not in rest


@pytest.mark.parametrize("text", ["What did I say about Berlin before the move?", "搬家之前我是怎么说柏林的？"])
def test_before_an_event_is_everything_until_then(text: str) -> None:
    """Without a number the time is open, and weighs little."""
    (anchor,), _ = anchors(text)
    period = anchor.period(day(EVENT))
    assert period.end == EVENT
    assert period.days > 3_000
    assert period.weight < 0.5


@pytest.mark.parametrize(
    "text",
    [
        "", "two weeks ago", "the week before 9 June 2023", "before 2022", "after May", "What did I do before?",
        "三天前", "我前两周做了什么？", "以前我住在哪里？", "最近三天", "5月之前", "两周前的旅行",
    ],
)  # fmt: skip
def test_what_hangs_on_no_event_is_left_to_the_calendar(text: str) -> None:
    """Dates, times ago and the mere past are no events."""
    assert anchors(text) == ((), text.lower())


def test_words_that_say_when_stand_aside() -> None:
    """What the question asks for keeps its weight; what dates it is told apart, unless it is asked for as well."""
    question = read_question("What did I buy two weeks before the trip to Oslo?", NOW)
    assert {"trip", "oslo", "two", "week"} <= question.aside
    assert "buy" not in question.aside
    assert "trip" not in read_question("What did I buy for the trip a week before the trip?", NOW).aside
    assert read_question("What did I buy?", NOW).aside == frozenset()


@given(
    st.lists(
        st.sampled_from(
            ["two", "the", "999", "weeks", "month", "year", "before", "after", "my", "trip", ",", "?", " ", "旅行",
             "搬家", "之前", "后", "的", "十", "两", "年", "个月", "天", "2024"]
        ),
        max_size=12,
    )
)  # fmt: skip
def test_any_mixture_of_words_gives_times_of_the_calendar(words: list[str]) -> None:
    """Whatever stands side by side, a period is well formed or none is read."""
    for glue in (" ", ""):
        for anchor in anchors(glue.join(words))[0]:
            period = anchor.period(day(EVENT))
            assert period.start < period.end
