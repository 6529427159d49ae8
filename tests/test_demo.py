"""``siltstone demo``: killed and remembered."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What two demonstrations on one store print, with the embedded model."""
    store = tmp_path_factory.mktemp("demo") / "memory"
    return [_demo(store), _demo(store)]


@pytest.fixture
def shown(runs: list[str]) -> str:
    """What the first of them prints."""
    return runs[0]


def _demo(store: Path) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "siltstone", "demo", "--store", str(store)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_two_processes_take_part(shown: str) -> None:
    """The first process is killed with SIGKILL after its last acknowledged add; another one goes on."""
    first, second = re.findall(r"(?:First|Second) process \((\d+)\)", shown)

    assert first != second
    assert "SIGKILL (exit status -9)" in shown


def test_the_second_process_recalls_in_both_languages(shown: str) -> None:
    """Name and work come first among what is recalled, for the Chinese and for the English question."""
    chinese, _, english, _ = re.split(r"^\w+: .+ ─+$", shown, flags=re.MULTILINE)[1:]

    assert _first_recalled(chinese).count("我叫张三，是深圳的前端工程师。") == 1
    assert "I'm Alice, a marine biologist in Lisbon." in _first_recalled(english)
    assert "张三" not in english


def _first_recalled(part: str) -> str:
    return next(line for line in part.splitlines() if re.match(r"\s*1 ", line))


def test_scores_prompt_and_saving_are_shown(shown: str) -> None:
    """Each answer comes with the parts of its scores, the whole prompt, and its tokens against the full history's."""
    spent = re.findall(r"(\d+) tokens, against (\d+) for the full history", shown)

    assert len(spent) == 4
    assert all(int(prompt) < int(full) for prompt, full in spent)
    assert shown.count("Why: the parts of each score") == 4
    assert shown.count("The prompt") == 4


def test_a_demo_that_cannot_start_says_why(tmp_path: Path) -> None:
    """Where no store can be, the demonstration fails with the store's own sentence and exit code 1."""
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "siltstone", "demo", "--store", str(tmp_path / "notes.txt")],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert ran.returncode == 1
    assert ran.stderr.count("\n") == 1
    assert "notes.txt" in ran.stderr


def test_a_second_demo_on_the_same_store_adds_nothing(runs: list[str]) -> None:
    """The demonstration's messages have ids, so that running it again changes no count."""
    first, again = (re.findall(r"full history of (\d+) messages", run) for run in runs)

    assert first == again == ["42"] * 4
