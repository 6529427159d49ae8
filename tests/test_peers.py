"""The comparison with other stores: what it says of one is what the store did."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

PEERS = Path(__file__).parent.parent / "benchmarks" / "peers"
pytestmark = pytest.mark.skipif(not PEERS.exists(), reason="benchmarks are not part of the source distribution")


@pytest.fixture
def peers(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """Give the modules of the comparison, which is a program and no package."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(PEERS))
    import figures
    import rounds
    import work

    yield SimpleNamespace(figures=figures, rounds=rounds, work=work)
    for name in set(sys.modules) - before:
        if str(PEERS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def turn(work: ModuleType, row: str, text: str) -> Any:
    """Return a turn; the part of its row before the colon is its user."""
    return work.Turn(row, row.partition(":")[0], "monday", "user", "Ada", text, "2024-05-06T09:00:00+00:00")


class Told:
    """A store that answers what it is told to, and notes whether it was opened anew."""

    def __init__(self, rows: list[str], texts: dict[str, str], **found: Any) -> None:
        self.name, self.persistent, self.opened = "told", True, 0
        self.found: dict[str, Any] = found
        self._answers = {"rows": {"rows": rows}, "texts": {"texts": texts}}

    def failed(self, step: str) -> bool:
        """Say whether the step has failed."""
        return bool({"cannot", "error"} & self.found.get(step, {}).keys())

    def ask(self, step: str, do: str, **arguments: Any) -> dict[str, Any]:
        """Return what it was told to answer."""
        return self._answers[do]

    def open(self) -> dict[str, Any]:
        """Note that it was opened."""
        self.opened += 1
        return {"persistent": True}

    def close(self) -> None:
        """Do nothing."""


def test_what_was_changed_and_deleted_is_read_again_in_another_process(peers: SimpleNamespace) -> None:
    """A store that keeps a deleted row, loses another, or forgets a change on disk is found out by reopening it."""
    turns = [turn(peers.work, f"a:{n}", f"said {n}") for n in range(5)]
    changed = [turn(peers.work, "a:3", "changed"), turn(peers.work, "a:4", "never asked for")]
    work = peers.work.Work(1, turns, [], [], changed, ["a:0", "a:1"])
    texts = {one.row: one.line for one in turns}
    store = Told(["a:0", "a:3", "a:4"], texts, delete={"done": 2}, update={"done": 1})
    peers.rounds.Round([store], work, 1.0, random.Random(0))._check(store)
    assert store.opened == 1
    assert store.found["check"] == {
        "deleted and still there": 1,
        "not deleted and gone": 1,
        "changed and as before": 1,
    }
    sound = Told(["a:2", "a:3", "a:4"], texts | {"a:3": "Ada: changed"}, delete={"done": 2}, update={"done": 1})
    peers.rounds.Round([sound], work, 1.0, random.Random(0))._check(sound)
    assert not any(sound.found["check"].values())


def test_the_table_says_why_a_store_cannot_and_compares_within_a_round(peers: SimpleNamespace) -> None:
    """A step that a store cannot do has no number but a reason, and a ratio is of two stores in one round."""

    def took(cpu: float, wall: float) -> dict[str, Any]:
        return {"done": 10, "blocks": [[10, wall, cpu, 0.0, 0.0]]}

    def each(slower: int) -> dict[str, Any]:
        return {
            "load": 1.0,
            "stores": {
                peers.figures.OURS: {"add": took(1.0 * slower, 2.0 * slower), "search": took(1.0, 1.0)},
                peers.figures.LIMIT: {"add": took(0.5 * slower, 1.0 * slower), "search": took(1.0, 1.0)},
                "other": {
                    "add": took(3.0 * slower, 10.0 * slower),
                    "search": {"cannot": "no filter by user"},
                    "check": {"deleted and still there": 7, "not deleted and gone": 0},
                },
            },
        }

    text = peers.figures.table(
        {
            "date": "2026-12-01",
            "turns": 10,
            "users": 1,
            "searches": 10,
            "cap_s": 1,
            "machine": {"cpu": "a", "cores": 2, "system": "Linux", "file system": ["ext4"]},
            "left out": [],
            "embedder": {"turn": {"cpu": 0.01, "wall": 0.02}, "question": {"cpu": 0.005, "wall": 0.01}},
            "rounds": [each(1), each(10)],
        }
    )
    rows = [line for line in text.splitlines() if line.startswith("| other")]
    assert len(rows) == 4
    assert "×3 [3–3]" in rows[0]
    assert "| cannot |" in rows[0]
    assert "×5 [5–5]" in rows[1]
    assert "×6 [6–6]" in rows[2]
    assert "search: no filter by user; 7 deleted and still there" in rows[3]


@pytest.mark.slow
def test_a_round_ends_with_all_that_the_table_needs(tmp_path: Path) -> None:
    """The smallest run adds, opens anew, searches, kills, changes and deletes, and finds nothing lost of ours."""
    said = [
        {"dia_id": f"D1:{n}", "speaker": ("Ann", "Ben")[n % 2], "text": f"The number of the day is {n}."}
        for n in range(1, 101)
    ]
    talk = {
        "sample_id": "one",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Ben",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": said,
        },
        "qa": [{"question": "What is the number?", "answer": "7", "evidence": ["D1:7"], "category": 4}],
    }
    (tmp_path / "talks.json").write_text(json.dumps([talk]), encoding="utf-8")
    command = [sys.executable, str(PEERS), "talks.json", "--only", "siltstone", "--only", "limit: append + bare FAISS"]
    sizes = ["--turns", "150", "--searches", "3", "--rounds", "1", "--kills", "1", "--cap", "20", "--out", "out.json"]
    done = subprocess.run([*command, *sizes], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out.json").read_text())["rounds"][0]["stores"]["siltstone"]
    assert [kill["outcome"] for kill in found["kill"]] == ["fine"]
    assert found["reopen"]["lost"] == 0
    assert set(found["check"].values()) == {0}
    assert found["update"]["done"] > 0
    assert found["delete"]["done"] > 0
    assert found["texts of its own"] < 10  # probes of the embedder, and no turn
    assert "embedder alone" in done.stdout
