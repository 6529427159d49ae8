"""Limits of language models as pure decisions: how long a call waits, and when the day's budget is used up."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siltstone import InvalidInputError
from siltstone.models.usage import Bucket, Limits, Usage, read_usage

NOON = datetime(2024, 5, 8, 12, tzinfo=timezone.utc)
TOMORROW = datetime(2024, 5, 9, tzinfo=timezone.utc)
GAPS = st.lists(st.tuples(st.floats(0, 200), st.integers(1, 5_000)), min_size=1, max_size=60)


def going(calls: list[tuple[float, int]], limits: Limits) -> list[tuple[float, int]]:
    """Return when calls go, and their tokens, each of which comes some seconds after the one before went."""
    usage, now, gone = Usage(), NOON, []
    for gap, tokens in calls:
        now += timedelta(seconds=gap)
        usage, wait = usage.admitted(limits, tokens, now)
        now += timedelta(seconds=wait)
        gone.append((now.timestamp(), tokens))
    return gone


@given(GAPS, st.integers(1, 100))
def test_no_minute_has_more_requests_than_the_limit(calls: list[tuple[float, int]], limit: int) -> None:
    """Whatever comes when, of the calls that go in any 60 seconds there are at most as many as allowed."""
    gone = going(calls, Limits(requests_per_minute=limit))
    for begin, _ in gone:
        assert sum(begin <= at < begin + 60 - 1e-3 for at, _ in gone) <= limit


@given(GAPS, st.integers(10, 10_000))
def test_no_minute_has_more_tokens_than_the_limit_and_one_call(calls: list[tuple[float, int]], limit: int) -> None:
    """In any 60 seconds no more tokens go than allowed, and what the last call of them takes at once."""
    gone = going(calls, Limits(tokens_per_minute=limit))
    for begin, _ in gone:
        within = [tokens for at, tokens in gone if begin <= at < begin + 60 - 1e-3]
        assert sum(within[:-1]) <= limit


@given(GAPS, st.integers(1, 100), st.integers(10, 10_000))
def test_nothing_waits_longer_than_it_must(calls: list[tuple[float, int]], requests: int, tokens: int) -> None:
    """A call goes at once where all before it have had their time: what is idle is not paid for."""
    limits = Limits(requests_per_minute=requests, tokens_per_minute=tokens)
    gone = going(calls, limits)
    for (before, took), (after, _), (gap, _) in zip(gone, gone[1:], calls[1:], strict=False):
        owed = max(60 / requests, 60 * took / tokens)
        assert after - before <= max(gap, owed) + 1e-3


@given(st.integers(1, 10_000), st.floats(0, 1e6), st.floats(1, 1e6))
def test_a_clock_that_is_set_back_keeps_nobody_waiting(amount: int, ago: float, back: float) -> None:
    """What was owed stays owed for as long as it was, by the clock as it is now."""
    now = 1.7e9
    bucket = Bucket().take(amount, 100, now - ago, now - ago)
    assert bucket.wait(now - ago - back) == pytest.approx(bucket.wait(now - ago), abs=1e-3)


@given(st.lists(st.integers(1, 500), max_size=40), st.integers(1, 40), st.integers(1, 5_000))
def test_the_budget_is_used_up_when_it_is(calls: list[int], requests: int, tokens: int) -> None:
    """It is there until the counts reach it; then it is known when the day is over, and the next one begins anew."""
    limits = Limits(requests_per_day=requests, tokens_per_day=tokens)
    usage = Usage()
    for taken in calls:
        usage, _ = usage.admitted(limits, taken, NOON)
    over = len(calls) >= requests or sum(calls) >= tokens
    assert usage.spent(limits, NOON) == (TOMORROW if over else None)
    assert usage.spent(limits, TOMORROW) is None
    assert usage.spent(Limits(), NOON) is None


def test_an_answer_counts_as_its_request_does() -> None:
    """Its tokens are owed from when it came, and belong to the day on which it came."""
    limits = Limits(tokens_per_minute=60, tokens_per_day=100)
    usage, _ = Usage().admitted(limits, 30, NOON)
    usage = usage.answered(limits, 70, NOON + timedelta(seconds=5))
    assert usage.tokens == 100
    assert usage.spent(limits, NOON) == TOMORROW
    assert usage.admitted(limits, 1, NOON + timedelta(seconds=5))[1] == pytest.approx(95, abs=1e-3)


def test_a_day_is_the_same_in_every_time_zone() -> None:
    """It is UTC's: two machines with other zones count together, and a clock that is a little late begins none anew."""
    limits = Limits(requests_per_day=1)
    east = timezone(timedelta(hours=9))
    usage, _ = Usage().admitted(limits, 1, datetime(2024, 5, 9, 3, tzinfo=east))
    assert usage.day == "2024-05-08"
    usage, _ = Usage().admitted(limits, 1, TOMORROW)
    late = TOMORROW - timedelta(seconds=3)
    assert usage.spent(limits, late) == TOMORROW + timedelta(days=1)
    assert usage.admitted(limits, 1, late)[0].requests == 2


@given(st.integers(0, 99), st.integers(0, 999), st.integers(1, 99))
def test_a_usage_is_read_as_it_was_written(requests: int, tokens: int, limit: int) -> None:
    """A page of JSON values keeps it whole; what is no such page is an empty one."""
    usage, _ = Usage("2024-05-08", requests, tokens).admitted(Limits(limit, None, limit), 5, NOON)
    assert read_usage(usage.page()) == usage
    for page in ({}, {"day": 3}, {**usage.page(), "pace": 3}, {**usage.page(), "other": 1}):
        assert read_usage(page) == Usage()


def test_counts_name_what_was_used_of_what() -> None:
    """Nothing is said of a store that never limited a model; a new day begins at nothing."""
    limits = Limits(requests_per_day=9)
    usage, _ = Usage().admitted(limits, 5, NOON)
    assert Usage().counts(NOON) == {}
    assert usage.counts(NOON) == {"requests": 1, "tokens": 5, "requests_per_day": 9}
    assert usage.counts(TOMORROW) == {"requests": 0, "tokens": 0, "requests_per_day": 9}


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "9"])
def test_a_limit_that_is_none_is_refused(wrong: object) -> None:
    """A limit is a positive number."""
    with pytest.raises(InvalidInputError, match="requests_per_day"):
        Limits(requests_per_day=wrong)  # type: ignore[arg-type]
