"""Bars of long work on a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from shell import Shell

LONG = {
    "audit --sample 1 --out {tmp}/audit.html": "checking",
    "backup {tmp}/copy": "users",
    "compact": "users",
    "consolidate": "digests",
    "export {tmp}/all.jsonl": "exporting",
    "import {tmp}/notes.md": "notes.md",
    "reembed": "embedding",
    "stats --users": "users",
    "verify": "users",
}


@pytest.mark.parametrize("command", LONG)
def test_long_work_moves_a_bar_on_a_terminal(
    sh: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """What may take long says on stderr how far it is and at what rate; stdout has the result alone."""
    (tmp_path / "notes.md").write_text("# Music\n\nAlice plays the cello.\n")
    sh("add", "I moved to Lisbon.")
    monkeypatch.setenv("FORCE_COLOR", "1")  # what rich takes for a terminal
    monkeypatch.delenv("NO_COLOR", raising=False)

    ran = sh(*command.format(tmp=tmp_path).split())

    assert ran.code == 0
    assert LONG[command] in ran.err
    assert "━" in ran.err
    assert "━" not in ran.out
