"""``siltstone import``: what it shows, what it keeps, how it stops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

import pytest

from shell import Shell
from siltstone import TieredMemory


def dialogues(path: Path, count: int, *more: str) -> Path:
    """Write the generic form, a line each."""
    lines = [json.dumps({"id": f"d{n}", "text": f"用户：第 {n} 条消息"}, ensure_ascii=False) for n in range(count)]
    path.write_text("\n".join([*lines, *more]) + "\n", encoding="utf-8")
    return path


def test_a_dry_run_shows_what_was_understood(sh: Shell, tmp_path: Path) -> None:
    """Format, counts, and the first messages as they would be stored; nothing is written, not even what fails."""
    file = dialogues(tmp_path / "d.jsonl", 3, '{"id": "bad"}')
    shown = sh("import", str(file), "--dry-run")
    assert shown.code == 4
    assert "d.jsonl (generic): 4 read: would be 3 added" in shown.out
    assert "3 conversations; user" in shown.out
    assert "第 0 条消息" in shown.out
    assert "line 4: failed" in shown.err
    assert not sh.store.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.jsonl"]


def test_what_fails_is_kept_beside_and_tried_again(sh: Shell, tmp_path: Path) -> None:
    """``FILE.failed.jsonl`` takes what failed; importing it takes its place, and in the end it goes."""
    file = dialogues(tmp_path / "d.jsonl", 2, '{"id": "bad"}')
    kept = tmp_path / "d.jsonl.failed.jsonl"
    first = sh("import", str(file))
    assert first.code == 4
    assert f"siltstone import {kept}" in first.err
    assert sh("import", str(kept)).code == 4
    kept.write_text(kept.read_text().replace('{"id":"bad"}', '{"id":"bad","text":"好的"}'))
    again = sh("import", str(kept))
    assert (again.code, kept.exists()) == (0, False)
    assert "(failed): 1 read: 1 added" in again.out
    elsewhere = sh("import", str(dialogues(tmp_path / "e.jsonl", 1, "{")), "--failed", str(tmp_path / "kept"))
    assert elsewhere.code == 4
    assert (tmp_path / "kept").exists()
    assert not (tmp_path / "e.jsonl.failed.jsonl").exists()
    assert sh("import", str(file), str(kept), "--failed", str(tmp_path / "kept")).code == 2


def test_a_line_for_each_hundred_where_nobody_looks(sh: Shell, tmp_path: Path) -> None:
    """Without a terminal, stderr says how far it is, how fast, and how long it will take."""
    shown = sh("import", str(dialogues(tmp_path / "d.jsonl", 350)))
    lines = [line for line in shown.err.splitlines() if line.startswith(str(tmp_path)) and "/s" in line]
    assert [line.split(": ")[1].split()[0].rstrip(",") for line in lines] == ["100", "200", "300"]
    assert all("of about" in line and line.endswith(" left") for line in lines)


def test_the_right_to_store_is_called_to_mind_once(sh: Shell, tmp_path: Path) -> None:
    """Once for a command, however many files; and not where nothing was added."""
    files = [
        str(dialogues(tmp_path / name, 1, json.dumps({"id": name, "text": "x"}))) for name in ("a.jsonl", "b.jsonl")
    ]
    assert sh("import", *files).err.count("the right to store") == 1
    assert "the right" not in sh("import", *files).err
    assert "the right" not in sh("import", *files, "--dry-run").err


def test_vectors_are_made_first_and_loaded_then(sh: Shell, tmp_path: Path) -> None:
    """``--embed-only`` makes ``FILE.vectors`` and no store; the import after it takes all vectors from there."""
    file = dialogues(tmp_path / "d.jsonl", 20)
    made = sh("import", str(file), "--embed-only")
    assert made.code == 0
    assert "20 texts: 20 embedded, 0 known, 0 failed" in made.out
    assert not sh.store.exists()
    report = sh("import", str(file), "--json").json["files"][0]["report"]
    assert report["added"] == 20
    assert any(note.startswith("20 vectors came from") and " 0 were made" in note for note in report["notes"])
    other = str(tmp_path / "other")
    assert "0 embedded, 20 known" in sh("import", str(file), "--embed-only", "--vectors", f"{file}.vectors").out
    assert sh("import", str(file), "--vectors", f"{file}.vectors", "--store", other).code == 0
    assert sh("import", str(file), "--embed-only", "--dry-run").code == 2


def test_ctrl_c_leaves_a_store_that_goes_on(sh: Shell, tmp_path: Path) -> None:
    """The batch under way is finished, the way to go on is said, and running it again brings the rest."""
    file = dialogues(tmp_path / "d.jsonl", 3_000)
    command = [sys.executable, "-m", "siltstone", "import", str(file), "--store", str(sh.store)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "100 of about" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 130
    assert "what was imported or embedded so far is kept; run the same command again" in rest
    assert "Traceback" not in rest
    with TieredMemory.open(sh.store) as memory:
        stored = memory.stats().messages
    assert 100 <= stored < 3_000
    report = sh("import", str(file), "--json").json["files"][0]["report"]
    assert (report["unchanged"], report["added"]) == (stored, 3_000 - stored)


def test_import_has_two_names() -> None:
    """``memory.import_()`` is ``memory.import_from()``, and so are their async twins."""
    assert TieredMemory.import_ is TieredMemory.import_from
    assert TieredMemory.aimport_ is TieredMemory.aimport_from


@pytest.mark.parametrize(("zone", "utc"), [("Asia/Shanghai", 1), ("America/New_York", 13)])
def test_times_without_a_zone_are_of_this_machine(tmp_path: Path, zone: str, utc: int) -> None:
    """``TZ`` says whose clock a chat without zones went by."""
    file = tmp_path / "WhatsApp Chat with Ann.txt"
    file.write_text("2024/7/1 09:00 - Ann: hi\n", encoding="utf-8")
    code = (
        "import sys; from siltstone import TieredMemory; from siltstone.testing import HashEmbedder, WordCounter\n"
        "memory = TieredMemory.open(':memory:', embedder=HashEmbedder(), token_counter=WordCounter())\n"
        "memory.import_(sys.argv[1]); print(memory.messages('whatsapp:Ann')[0].created_at.isoformat())"
    )
    command = [sys.executable, "-c", code, str(file)]
    done = subprocess.run(command, env={**os.environ, "TZ": zone}, capture_output=True, text=True, check=True)
    assert datetime.fromisoformat(done.stdout.strip()) == datetime(2024, 7, 1, utc, tzinfo=timezone.utc)
