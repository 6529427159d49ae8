"""Faults beneath Python and FAISS: whatever call fails, no answer is wrong, and nothing acknowledged is lost."""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Iterator
from errno import EIO
from itertools import pairwise

import pytest

from faults.harness import Fault, Lives, sample

pytestmark = [
    pytest.mark.skipif(
        sys.platform != "linux" or shutil.which("cc") is None, reason="the fault injection needs Linux and a C compiler"
    ),
    pytest.mark.timeout(1_200),  # some 150 lives; a busy machine takes many minutes
]


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lives]:
    """Processes that live through one fault after the other."""
    lives = Lives(tmp_path_factory.mktemp("lives"), jobs=2)
    yield lives
    lives.end()


@pytest.mark.slow
def test_a_system_call_that_fails_costs_no_promise(lives: Lives) -> None:
    """100 seeded faults, each kind of call in each way: error, answer or repair, but no loss, crash, hang or lie."""
    calls = lives.calls()
    names = {call for chapter in calls for call in chapter}
    assert {"open", "pread", "pwrite", "fdatasync", "fsync", "rename", "unlink", "mmap", "flock", "stat"} <= names
    outcomes = list(lives.through(sample(calls, 100, random.Random(1))))
    assert [f"{fault} ({outcome.hit}): {outcome.broken}" for fault, outcome in outcomes if outcome.broken] == []
    assert {outcome.hit for _, outcome in outcomes} == names
    assert {"BackendUnavailableError", ""} <= {outcome.raised for _, outcome in outcomes}


def test_a_fault_is_met(lives: Lives) -> None:
    """The call that was counted is the one that fails."""
    calls = lives.calls()
    chapter = next(n for n, names in enumerate(calls) if "fdatasync" in names)
    ((_, outcome),) = lives.through([Fault(chapter, calls[chapter].index("fdatasync"), 5, "once")])
    assert (outcome.hit, outcome.raised, outcome.broken) == ("fdatasync", "BackendUnavailableError", "")


def test_a_write_that_is_on_disk_is_seen_although_what_follows_fails(lives: Lives) -> None:
    """Where the call after a sync fails, the operation raises, and every reader sees from then on what was written."""
    calls = lives.calls()
    after = [
        Fault(chapter, n + 1, EIO, "once")
        for chapter, names in enumerate(calls)
        for n, (call, following) in enumerate(pairwise(names))
        if call == "fdatasync" and following in ("pread", "fstat", "stat", "open")
    ]
    outcomes = list(lives.through(after))
    assert "pread" in {outcome.hit for _, outcome in outcomes}
    assert [f"{fault} ({outcome.hit}): {outcome.broken}" for fault, outcome in outcomes if outcome.broken] == []
