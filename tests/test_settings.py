"""What ``Settings`` may hold is decided when a memory is opened, not in the work that needs it."""

from __future__ import annotations

import dataclasses
import math
import time
from pathlib import Path
from typing import Any

import pytest

from siltstone import InvalidInputError, Settings, TieredMemory, upkeep
from siltstone.recall.headings import CHINESE
from siltstone.settings import checked_settings
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter

COUNTS = ("embed_batch", "exact_vectors", "max_message_chars", "workers", "span_turns", "span_tokens", "summary_tokens")
LIMITS = ("capacity_records", "capacity_bytes", "concurrency")
LIMITS += tuple(f"{what}_per_{period}" for what in ("requests", "tokens") for period in ("minute", "day"))
SHARES = ("recent_share", "profile_share", "summary_share")
WAITS = ("embed_wait", "close_wait", "lock_timeout", "worker_pause", "lease", "retry_wait")
SILENCES = ("span_idle", "session_idle")
SWITCHES = ("reflect", "judge", "worker", "refresh")
NO_NUMBER: tuple[Any, ...] = ("24", True, math.nan, [1], -1)

WRONG: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(COUNTS, (*NO_NUMBER, 0, 2.5, math.inf, None)),
    **dict.fromkeys(LIMITS, (*NO_NUMBER, 0, 2.5, math.inf)),
    **dict.fromkeys(("history", "retries"), (*NO_NUMBER, 2.5, None)),
    **dict.fromkeys(SHARES, (*NO_NUMBER, 1.5, None)),
    **dict.fromkeys(WAITS, (*NO_NUMBER, math.inf, 1e12, None)),
    **dict.fromkeys(SILENCES, (*NO_NUMBER, None)),
    **dict.fromkeys(SWITCHES, ("yes", 1, None)),
    "model_timeout": (*NO_NUMBER, 0, math.inf),
    "replica": ("a folder", "http://h", 1),
    "headings": ("English", {}),
    "over_budget": ("stop", None, ["wait"]),
    "on_sensitive": ("hide", None, ["redact"]),
    "short_term_ttl": (*NO_NUMBER, 0, math.inf),
    "short_term_turns": (0, 1.5, None),
    "short_term_prefix": ("", "a{b}", "a b", "x" * 65, None),
    "short_term_down": ("wait", None),
    "vector_store_down": ("wait", None, ["refuse"]),
}
FITTING: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(COUNTS, (1, 10**9)),
    **dict.fromkeys(LIMITS, (None, 1)),
    **dict.fromkeys(("history", "retries"), (0, 1)),
    **dict.fromkeys(SHARES, (0, 1, 0.5)),
    **dict.fromkeys(WAITS, (0, 0.0, 3600.0)),
    **dict.fromkeys(SILENCES, (0.0, 1e300, math.inf)),
    **dict.fromkeys(SWITCHES, (True, False)),
    "model_timeout": (None, 0.1, 60),
    "replica": (None, "postgresql://standby/memory"),
    "headings": (None, CHINESE),
    "over_budget": ("wait", "extractive"),
    "on_sensitive": ("redact", "local"),
    "short_term_ttl": (0.5, 315_360_000),
    "short_term_turns": (1, 10**6),
    "short_term_prefix": ("siltstone", "app-1:memory_2.x"),
    "short_term_down": ("refuse", "degrade"),
    "vector_store_down": ("refuse", "degrade"),
}


def test_every_setting_is_looked_at() -> None:
    """No field can be added without saying what it may be: beside those here, one has tests of its own each."""
    fields = {field.name for field in dataclasses.fields(Settings)}
    assert fields - {"sensitive", "review_share"} == WRONG.keys() == FITTING.keys()


@pytest.mark.parametrize("name", WRONG)
def test_a_value_that_cannot_work_is_refused_by_the_name_of_its_field(name: str) -> None:
    """Wrong types, counts below what makes sense, not-a-number: the error names the field and shows the value."""
    for value in WRONG[name]:
        with pytest.raises(InvalidInputError, match=rf"Settings\.{name} is .*nothing was opened") as refused:
            checked_settings(Settings(**{name: value}))
        assert repr(value) in str(refused.value)


@pytest.mark.parametrize("name", FITTING)
def test_a_value_that_works_is_taken(name: str) -> None:
    """Limits of the ranges, ``None`` and infinity where they mean something."""
    for value in FITTING[name]:
        settings = Settings(**{name: value})
        assert checked_settings(settings) is settings


def test_no_settings_are_the_defaults() -> None:
    """``None`` and ``Settings()`` are one, and every default is valid."""
    assert checked_settings(None) == checked_settings(Settings()) == Settings()


def test_wrong_settings_open_nothing(tmp_path: Path) -> None:
    """Opening and upkeep refuse them before anything is made; a dict instead of ``Settings`` gets the line to write."""
    for settings, told in (
        (Settings(span_turns=-3), "span_turns"),
        ({"span_turns": 3}, r"Settings\(\*\*settings\)"),
        (7, "int"),
    ):
        with pytest.raises(InvalidInputError, match=told):
            TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), settings=settings)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match=told):
            upkeep.compact(tmp_path / "m", settings=settings)  # type: ignore[arg-type]
        assert not (tmp_path / "m").exists()


def test_a_silence_may_be_infinite() -> None:
    """With infinite ``span_idle`` and ``session_idle`` a short rest stays open, and full spans go."""
    clock = FrozenClock()
    endless = Settings(embed_wait=5.0, span_turns=4, span_idle=math.inf, session_idle=math.inf)
    with TieredMemory.open(
        ":memory:", embedder=HashEmbedder(), token_counter=WordCounter(), clock=clock, settings=endless
    ) as memory:
        memory.add([("user", "I live in Lisbon."), ("assistant", "Noted.")], session_id="may")
        clock.advance(days=3650)
        assert memory.consolidate().count("digest") == 0
        memory.add([("user", f"My number {n} is the cello.") for n in range(5)], session_id="may")
        assert memory.consolidate().count("digest") == 1


def test_the_worker_outlives_an_infinite_silence() -> None:
    """The background thread waits for what will never be due, and is there for the next full span."""
    endless = Settings(
        embed_wait=5.0, span_turns=4, span_idle=math.inf, session_idle=math.inf, worker=True, worker_pause=0.0
    )
    with TieredMemory.open(
        ":memory:", embedder=HashEmbedder(), token_counter=WordCounter(), settings=endless
    ) as memory:
        for told in ("My sister plays the cello", "My brother plays the piano"):
            memory.add([("user", told), *[("user", f"Well, {n}.") for n in range(4)]], session_id=told)
            deadline = time.monotonic() + 30
            while (facts := [fact.text for fact in memory.records(kinds="fact")])[-1:] != [told]:
                assert time.monotonic() < deadline, facts
                time.sleep(0.01)
