"""Commands over a service: what they do with a user's memory is the same, and its settings are its own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from shell import Shell
from siltstone import TieredMemory

pytest.importorskip("fastapi")

from running import Running

from siltstone.http import create_app


@pytest.fixture
def service(memory: TieredMemory) -> Iterator[str]:
    """The address of a service that anybody on this machine may use."""
    with Running(create_app(memory)) as running:
        yield running.url


def test_commands_of_a_user_work_over_a_service(
    sh: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    """What a command does with a user's memory it does with one behind a service, whose settings are its own."""
    monkeypatch.chdir(tmp_path)
    at = ("--store", service, "--user", "alice")
    Path("notes.md").write_text("# Music\n\nAlice plays the cello.\n")

    id = sh("add", "I moved to Lisbon in May.", "--session", "may", "--json", *at).json["ids"][0]
    assert sh("remember", "Prefers short answers.", "--kind", "profile", *at).code == 0
    assert "1 added" in sh("import", "notes.md", "--dry-run", *at).out
    assert "1 added" in sh("import", "notes.md", *at).out
    assert "1 unchanged" in sh("import", "notes.md", *at).out
    assert "Lisbon" in sh("search", "Lisbon", *at).out
    assert "Lisbon" in sh("context", "Lisbon", *at).out
    assert [one["session_id"] for one in sh("sessions", "--json", *at).json["sessions"]] == ["may"]
    assert sh("show", id, "--json", *at).json["content"] == "I moved to Lisbon in May."
    assert sh("history", id, *at).code == 0
    assert sh("stats", "--json", *at).json["messages"] == 1
    assert sh("consolidate", *at).code == 0
    assert sh("export", "alice.jsonl", *at).code == 0
    assert sh("forget", "--session", "may", "--dry-run", *at).code == 0
    assert sh("forget", "--session", "may", "--yes", *at).code == 0
    assert "has nothing" in sh("search", "x", "--store", service, "--user", "bob").err


def test_a_setting_of_this_run_is_not_dropped_for_a_service(sh: Shell, service: str) -> None:
    """A setting or a model that is named here is refused by its name: the service has its own."""
    refused = sh("--set", "history=3", "search", "x", "--store", service)
    model = sh("search", "x", "--store", service, "--embedder", "openai:MODEL@http://127.0.0.1:9")

    assert (refused.code, model.code) == (1, 1)
    assert "history (--set)" in refused.err
    assert "embedder" in model.err


def test_files_of_several_names_are_several_sources(
    sh: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    """One file does not take the place of another one; the same one, edited, updates what it brought."""
    monkeypatch.chdir(tmp_path)
    Path("music.md").write_text("# Notes\n\nAlice plays the cello.\n")
    Path("places.md").write_text("# Notes\n\nBob lives in Rome.\n")

    assert sh("import", "music.md", "places.md", "--store", service).out.count("1 added") == 2
    Path("music.md").write_text("# Notes\n\nAlice plays the viola.\n")
    assert "1 updated" in sh("import", "music.md", "--store", service).out

    shown = sh("show", "--store", service).out
    assert "viola" in shown
    assert "Rome" in shown


@pytest.mark.parametrize("packed", [False, True], ids=["a folder", "an archive"])
def test_folders_and_archives_come_in_as_they_do_here(
    sh: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, service: str, packed: bool
) -> None:
    """Over a service they become what they become in a store of this machine; a second time nothing changes."""
    monkeypatch.chdir(tmp_path)
    Path("chats/notes").mkdir(parents=True)
    Path("chats/notes/music.md").write_text("# Music\n\nAlice plays the cello.\n")
    Path("chats/list.json").write_text('[{"id": "a", "text": "Bob lives in Rome."}]')
    Path("chats/.hidden.md").write_text("# Secret\n\nNot to be sent.\n")
    source = shutil.make_archive("chats", "zip", "chats") if packed else "chats"

    here = sh("import", source, "--json", "--store", "here").json["files"][0]["report"]
    there = sh("import", source, "--json", "--store", service).json["files"][0]["report"]

    assert (here["added"], here["failed"]) == (2, 0)
    assert [there[name] for name in ("format", "read", "added", "failed")] == [
        here[name] for name in ("format", "read", "added", "failed")
    ]
    assert "2 unchanged" in sh("import", source, "--store", service).out
    texts = [one["text"] for one in sh("show", "--json", "--store", service).json["records"]]
    assert texts == [one["text"] for one in sh("show", "--json", "--store", "here").json["records"]]
    assert [one["id"] for one in sh("show", "--json", "--store", service).json["records"]] == [
        one["id"] for one in sh("show", "--json", "--store", "here").json["records"]
    ]


def test_what_is_not_there_cannot_be_sent(sh: Shell, service: str) -> None:
    """A missing file is one sentence and exit code 1, as on this machine."""
    refused = sh("import", "nowhere.json", "--store", service)

    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert "there is no file or folder nowhere.json" in refused.err


def test_the_doctor_looks_at_a_service(sh: Shell, service: str) -> None:
    """The doctor opens a service, whose settings and models are its own, and says what a user has there."""
    sh("add", "I live in Lisbon.", "--store", service)
    told = sh("doctor", "--json", "--store", service)

    assert told.code == 0
    assert {check["name"]: check["state"] for check in told.json["checks"]}["store"] == "ok"
    assert "1 message and 1 record" in str(told.json)
