"""Where a store is, on the command line: a folder at home, a database, what is no folder."""

from __future__ import annotations

import io
import itertools
import json
import os
import sys
from pathlib import Path

import pytest

from shell import Shell


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of whoever runs the commands, who is somewhere else."""
    for name, folder in (("HOME", tmp_path / "home"), ("elsewhere", tmp_path / "elsewhere")):
        folder.mkdir()
        monkeypatch.setenv(name, str(folder))
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path / "home"


def test_a_home_that_the_shell_left_is_the_same_place_for_every_command(
    sh: Shell, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--store=~/memory`` is the folder at home for all that is asked of it: also whether a restore replaces one."""
    there = "--store=~/memory"
    sh("add", "I play the cello.", "--session", "may", there)
    assert sh("backup", str(home / "copy"), there).code == 0
    sh("add", "I moved to Lisbon.", "--session", "june", there)
    assert sh("export", str(home / "all.jsonl"), there).code == 0

    for typed, variable in ((there, None), (None, "~/memory")):
        if variable is not None:
            monkeypatch.setenv("SILTSTONE_STORE", variable)
        options = [typed] if typed is not None else []
        monkeypatch.setattr(sys, "stdin", io.StringIO(""))  # nobody can be asked
        refused = sh("restore", str(home / "copy"), *options)
        assert refused.code == 1
        assert "deleted for good" in refused.err
        assert "2 unchanged" in sh("import", str(home / "all.jsonl"), "--dry-run", *options).out
        assert {one["session_id"] for one in sh("sessions", "--json", *options).json["sessions"]} == {"may", "june"}
    assert os.listdir(home.parent / "elsewhere") == []


@pytest.mark.parametrize(
    ("command", "store"),
    [
        *itertools.product(
            ["verify", "verify --repair", "compact", "backup copy", "restore copy --yes"],
            ["sqlite:///memory.db", ":memory:", "http://127.0.0.1:9", "postgresql://127.0.0.1/x"],
        ),
        *itertools.product(["rekey"], [":memory:", "http://127.0.0.1:9"]),  # databases have keys
    ],
)
def test_what_only_a_folder_has_is_refused_for_others(sh: Shell, home: Path, command: str, store: str) -> None:
    """What works on the files of a store names the location that has none, and makes no folder of that name."""
    refused = sh(*command.split(), "--store", store)

    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert f"{store} is no folder" in refused.err
    assert os.listdir() == []


def test_a_database_that_holds_nothing_of_a_user_says_so(sh: Shell, home: Path) -> None:
    """Looking for a user of a database who has nothing is told on stderr, as in a folder; an export is refused."""
    sh("add", "I play the cello.", "--store", "sqlite:///memory.db", "--user", "alice")

    looked = sh("search", "cello", "--store", "sqlite:///memory.db", "--user", "bob")
    refused = sh("export", "bob.jsonl", "--store", "sqlite:///memory.db", "--user", "bob")

    assert (looked.code, refused.code) == (0, 1)
    assert "user 'bob' has nothing in sqlite:///memory.db" in looked.err
    assert "user 'bob' has nothing in sqlite:///memory.db" in refused.err


def test_a_dry_run_sees_what_a_database_holds(sh: Shell, home: Path) -> None:
    """``import --dry-run`` counts against what is there, and leaves nothing where nothing was."""
    Path("all.json").write_text(json.dumps([{"id": "a", "text": "User: I play the cello."}]))
    assert "1 added" in sh("import", "all.json", "--dry-run", "--store", "sqlite:///memory.db").out
    assert os.listdir() == ["all.json"]

    sh("import", "all.json", "--store", "sqlite:///memory.db")

    assert "1 unchanged" in sh("import", "all.json", "--dry-run", "--store", "sqlite:///memory.db").out


@pytest.mark.parametrize("store", [":memory:", "http://127.0.0.1:9"])
def test_what_keeps_no_audit_is_refused_by_name(sh: Shell, home: Path, store: str) -> None:
    """Folders and databases keep what was forgotten from them; what keeps nothing, or lies elsewhere, is named."""
    refused = sh("audit", "--store", store)

    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert store in refused.err
    assert list(home.iterdir()) == []
