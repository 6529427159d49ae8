"""Expressions of time in a question, in English and Chinese."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siltstone.text.dates import Period, periods

NOW = datetime(2024, 6, 12, 15, 30, tzinfo=timezone.utc)
"""A Wednesday."""


def days(period: Period) -> str:
    """Return a period as its first and last day."""
    last = period.end - timedelta(microseconds=1)
    return f"{period.start:%Y-%m-%d}..{last:%Y-%m-%d}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yesterday", "2024-06-11..2024-06-11"),
        ("the day before yesterday", "2024-06-10..2024-06-10"),
        ("last night", "2024-06-11..2024-06-11"),
        ("last Friday", "2024-06-07..2024-06-07"),
        ("on Friday", "2024-06-07..2024-06-07"),
        ("this Friday", "2024-06-14..2024-06-14"),
        ("next Monday", "2024-06-17..2024-06-17"),
        ("last week", "2024-06-03..2024-06-09"),
        ("last weekend", "2024-06-08..2024-06-09"),
        ("last month", "2024-05-01..2024-05-31"),
        ("last year", "2023-01-01..2023-12-31"),
        ("two weeks ago", "2024-05-26..2024-06-01"),
        ("three days ago", "2024-06-09..2024-06-09"),
        ("3 years ago", "2021-01-01..2021-12-31"),
        ("in the past two weeks", "2024-05-29..2024-06-12"),
        ("in three days", "2024-06-15..2024-06-15"),
        ("in May", "2024-05-01..2024-05-31"),
        ("in July", "2023-07-01..2023-07-31"),
        ("last May", "2024-05-01..2024-05-31"),
        ("May 2023", "2023-05-01..2023-05-31"),
        ("on 8 May 2023", "2023-05-08..2023-05-08"),
        ("May 8th, 2023", "2023-05-08..2023-05-08"),
        ("on the 8th of May", "2024-05-08..2024-05-08"),
        ("2023-05-08", "2023-05-08..2023-05-08"),
        ("13/5/2023", "2023-05-13..2023-05-13"),
        ("in 2022", "2022-01-01..2022-12-31"),
        ("last summer", "2023-06-01..2023-08-31"),
        ("the summer of 2022", "2022-06-01..2022-08-31"),
        ("early in 2023", "2023-01-01..2023-05-02"),
        ("at the end of May", "2024-05-22..2024-05-31"),
        ("between March and May 2023", "2023-03-01..2023-05-31"),
        ("from 2019 to 2021", "2019-01-01..2021-12-31"),
        ("the week before 9 June 2023", "2023-06-02..2023-06-08"),
        ("Christmas", "2023-12-24..2023-12-26"),
        ("last Thanksgiving", "2023-11-23..2023-11-26"),
        ("Easter 2023", "2023-04-07..2023-04-10"),
        ("last Chinese New Year", "2024-02-09..2024-02-16"),
        ("Mother's Day", "2024-05-12..2024-05-12"),
        ("last Father's Day", "2023-06-18..2023-06-18"),
        ("half a year ago", "2023-11-12..2024-01-11"),
        ("a fortnight ago", "2024-05-26..2024-06-01"),
        ("two Fridays ago", "2024-05-31..2024-05-31"),
        ("the weekend before last", "2024-06-01..2024-06-02"),
        ("over the weekend", "2024-06-08..2024-06-09"),
        ("the other day", "2024-06-02..2024-06-11"),
        ("昨天", "2024-06-11..2024-06-11"),
        ("前天", "2024-06-10..2024-06-10"),
        ("昨晚", "2024-06-11..2024-06-11"),
        ("三天前", "2024-06-09..2024-06-09"),
        ("二十天前", "2024-05-23..2024-05-23"),
        ("上周五", "2024-06-07..2024-06-07"),
        ("上个星期五", "2024-06-07..2024-06-07"),
        ("下周一", "2024-06-17..2024-06-17"),
        ("周五", "2024-06-07..2024-06-07"),
        ("上周末", "2024-06-08..2024-06-09"),
        ("上上周", "2024-05-27..2024-06-02"),
        ("上个月", "2024-05-01..2024-05-31"),
        ("上个月5号", "2024-05-05..2024-05-05"),
        ("两个月前", "2024-03-28..2024-04-27"),
        ("最近一周", "2024-06-05..2024-06-12"),
        ("过去三个月", "2024-03-12..2024-06-12"),
        ("5月8日", "2024-05-08..2024-05-08"),
        ("五月八号", "2024-05-08..2024-05-08"),
        ("2023年5月8日", "2023-05-08..2023-05-08"),
        ("去年5月", "2023-05-01..2023-05-31"),
        ("三月份", "2024-03-01..2024-03-31"),
        ("2022年", "2022-01-01..2022-12-31"),
        ("二〇二二年", "2022-01-01..2022-12-31"),
        ("去年夏天", "2023-06-01..2023-08-31"),
        ("今年三月底", "2024-03-22..2024-03-31"),
        ("2023年上半年", "2023-01-01..2023-06-30"),
        ("暑假", "2023-07-01..2023-08-31"),
        ("国庆节", "2023-10-01..2023-10-07"),
        ("去年国庆", "2023-10-01..2023-10-07"),
        ("2022年春节", "2022-01-31..2022-02-07"),
        ("中秋节", "2023-09-29..2023-10-01"),
        ("十一黄金周", "2023-10-01..2023-10-07"),
        ("五一黄金周", "2024-05-01..2024-05-05"),
        ("母亲节", "2024-05-12..2024-05-12"),
        ("年初我做了什么", "2024-01-01..2024-05-01"),
        ("从三月到五月", "2024-03-01..2024-05-31"),
    ],
)
def test_an_expression_means_what_people_mean(text: str, expected: str) -> None:
    """Its first reading is the period that a person would mark in the calendar."""
    assert days(periods(text, NOW)[0]) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "What did I do?", "May I ask something?", "They may march on.", "two weeks before the trip",
        "Where is Caroline?",
        "我喜欢吃什么？", "青年中心", "少年初恋", "多年底蕴",
        "三个月大的猫", "五月天的歌", "上海", "没什么", "一天到晚", "2023年13月",
    ],
)  # fmt: skip
def test_what_cannot_be_dated_gives_no_period(text: str) -> None:
    """Modal verbs, durations, places and impossible dates are not times."""
    assert not [period for period in periods(text, NOW) if period.days < 300]


def test_a_date_without_a_year_prefers_the_nearest_past() -> None:
    """Other years are possible, less surely."""
    may, earlier, *_ = periods("in May", NOW)
    assert (may.start.year, may.weight) == (2024, 1.0)
    assert earlier.start.year == 2023
    assert earlier.weight < 1


def test_a_weekday_may_lie_ahead() -> None:
    """ "On Friday" is the last one, perhaps the next."""
    past, ahead = periods("on Friday", NOW)
    assert past.start < NOW < ahead.start
    assert past.weight > ahead.weight


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("since May", "2024-05-01", "2024-06-12"),
        ("after 2022", "2023-01-01", "2024-06-12"),
        ("自从2022年以来", "2022-01-01", "2024-06-12"),
    ],
)
def test_open_ends_reach_to_now(text: str, start: str, end: str) -> None:
    """Since and after begin at their date and weigh little, as they say little about any day."""
    (period, *_) = periods(text, NOW)
    assert (f"{period.start:%Y-%m-%d}", f"{period.end:%Y-%m-%d}") == (start, end)
    assert period.weight < 0.5


def test_before_ends_at_its_date() -> None:
    """Before a date is everything until it."""
    assert periods("before 2022", NOW)[0].end == datetime(2022, 1, 1, tzinfo=timezone.utc)
    assert periods("5月之前", NOW)[0].end == datetime(2024, 5, 1, tzinfo=timezone.utc)


def test_several_times_are_read_in_order() -> None:
    """A question may name more than one time, in both languages at once."""
    found = [days(period) for period in periods("Did we meet on 8 May 2023 or 上周五?", NOW)]
    assert found == ["2023-05-08..2023-05-08", "2024-06-07..2024-06-07"]


def test_days_are_those_of_the_asker() -> None:
    """ "Yesterday" begins at midnight of the time zone of asking."""
    china = timezone(timedelta(hours=8))
    (yesterday,) = periods("yesterday", datetime(2024, 6, 12, 1, tzinfo=china))
    assert yesterday.start == datetime(2024, 6, 11, tzinfo=china)


@given(
    st.lists(
        st.sampled_from(
            ["last", "next", "Friday", "in", "May", "31", "2023", "the", "week", "before", "ago", "three", "years",
             "9999", "February", "29", " ", "-", "上", "个", "月", "五", "周", "前", "去年", "国庆节", "号", "到", "从"]
        ),
        max_size=12,
    ),
    st.datetimes(min_value=datetime(1980, 1, 1), max_value=datetime(2090, 1, 1), timezones=st.just(timezone.utc)),
)  # fmt: skip
def test_any_mixture_of_words_is_read_without_error(words: list[str], now: datetime) -> None:
    """Whatever stands side by side, periods are well formed and begin before they end."""
    for glue in (" ", ""):
        for period in periods(glue.join(words), now):
            assert period.start < period.end
            assert 0 < period.weight <= 1
