"""Faults beneath Python and FAISS: whatever call fails, no answer is wrong, and nothing acknowledged is lost."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

import pytest

from faults.harness import Fault, Lives, sample

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="the fault injection needs Linux and a C compiler"
)


def test_a_system_call_that_fails_costs_no_promise(tmp_path: Path) -> None:
    """100 seeded faults, each kind of call in each way: error, answer or repair, but no loss, crash, hang or lie."""
    lives = Lives(tmp_path)
    calls = lives.calls()
    names = {call for chapter in calls for call in chapter}
    assert {"open", "pread", "pwrite", "fdatasync", "fsync", "rename", "unlink", "mmap", "flock", "stat"} <= names
    outcomes = list(lives.through(sample(calls, 100, random.Random(1))))
    lives.end()
    assert [f"{fault} ({outcome.hit}): {outcome.broken}" for fault, outcome in outcomes if outcome.broken] == []
    assert {outcome.hit for _, outcome in outcomes} == names
    assert {"BackendUnavailableError", ""} <= {outcome.raised for _, outcome in outcomes}


def test_a_fault_is_met(tmp_path: Path) -> None:
    """The call that was counted is the one that fails."""
    lives = Lives(tmp_path)
    calls = lives.calls()
    chapter = next(n for n, names in enumerate(calls) if "fdatasync" in names)
    ((_, outcome),) = lives.through([Fault(chapter, calls[chapter].index("fdatasync"), 5, "once")])
    lives.end()
    assert (outcome.hit, outcome.raised, outcome.broken) == ("fdatasync", "BackendUnavailableError", "")
