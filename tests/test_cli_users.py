"""Whose memory it is, on the command line: the list of users, and a name that is mistyped."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from shell import Shell
from siltstone import TieredMemory
from siltstone.upkeep import users


@pytest.fixture
def peopled(sh: Shell) -> Shell:
    """A shell on a store of four users, one of whom has forgotten everything."""
    for user in ("alice", "bob", "张三", "gone"):
        sh("add", f"I am {user}.", "--user", user, "--session", "[monday]")
    sh("forget", "--everything", "--user", "gone", "--yes")
    return sh


def test_stats_lists_the_users(peopled: Shell) -> None:
    """``stats --users`` names all who have something, with counts; whoever was forgotten is not among them."""
    shown = peopled("stats", "--users").out
    listed = peopled("stats", "--users", "--json").json["users"]

    assert all(name in shown for name in ("alice", "bob", "张三"))
    assert "gone" not in shown
    assert {user["user_id"]: user["messages"] for user in listed} == {"alice": 1, "bob": 1, "张三": 1}
    assert set(users(peopled.store)) >= {"alice", "bob", "张三"}


def test_a_database_lists_its_users(sh: Shell, tmp_path: Path) -> None:
    """So does a store in a database, which knows them as well."""
    store = f"sqlite:///{tmp_path}/memory.db"
    for user in ("alice", "张三"):
        sh("add", f"I am {user}.", "--user", user, "--session", "monday", "--store", store)

    listed = sh("stats", "--users", "--json", "--store", store).json["users"]
    assert {user["user_id"]: user["messages"] for user in listed} == {"alice": 1, "张三": 1}
    shown = sh("stats", "--users", "--store", store).out
    assert "张三" in shown
    size = sh("stats", "--user", "alice", "--json", "--store", store).json["bytes"]
    assert f"{(size['documents'] + size['vectors']) / 1000:.1f}" in shown  # hers, not the whole file's
    assert size["whole store"] > 50_000


def test_a_user_whose_folder_does_not_tell_is_missed_aloud(peopled: Shell, caplog: pytest.LogCaptureFixture) -> None:
    """Where a head is damaged the list lacks a user, and says so with the command that tells more."""
    (documents,) = peopled.store.glob("users/*/bob-*/docs.*")
    documents.write_bytes(b"x" + documents.read_bytes()[1:])

    assert "bob" not in peopled("stats", "--users").out
    assert "siltstone verify" in caplog.text


@pytest.mark.parametrize(
    "command",
    [("search", "x"), ("context", "x"), ("sessions",), ("show",), ("stats",), ("consolidate", "--dry-run")],
    ids=lambda command: command[0],
)
def test_a_mistyped_user_is_told(peopled: Shell, command: tuple[str, ...]) -> None:
    """A user who has nothing is said on stderr, with the nearest names; it is no failure, and one who has is not."""
    for typed, meant in (("alcie", "alice"), ("Bob", "bob"), ("张山", "张三")):
        ran = peopled(*command, "--user", typed)
        assert ran.code == 0
        assert f"user {typed!r} has nothing in" in ran.err
        assert repr(meant) in ran.err
    assert "has nothing" not in peopled(*command, "--user", "alice").err
    assert "alice" in peopled(*command).err  # nobody is "default" here
    assert "None" not in peopled(*command).err


def test_an_export_of_nobody_is_refused(peopled: Shell, tmp_path: Path) -> None:
    """A mistyped user is no empty file: nothing is written, and the nearest name is told."""
    file = tmp_path / "file.jsonl"
    refused = peopled("export", str(file), "--user", "alcie")

    assert refused.code == 1
    assert "did you mean 'alice'" in refused.err
    assert not file.exists()


def test_an_encrypted_store_tells_no_name_unasked(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistyped user of an encrypted store learns which command lists the users, which needs the key, and no name."""
    pytest.importorskip("cryptography")
    monkeypatch.setenv("SILTSTONE_KEY", "open sesame")
    sh("add", "I am Alice.", "--user", "alice")

    ran = sh("search", "x", "--user", "alcie")

    assert ran.code == 0
    assert "siltstone stats --users" in ran.err
    assert "'alice'" not in ran.err
    assert "alice" in sh("stats", "--users").out


def test_many_users_are_not_all_named(sh: Shell) -> None:
    """Where no name is near and there are many, the command that lists them is told instead."""
    with TieredMemory.open(sh.store) as memory:
        for number in range(9):
            memory.for_user(f"person {number}").remember("x")

    told = sh("sessions", "--user", "zzz").err

    assert "siltstone stats --users" in told
    assert "person" not in told


@pytest.fixture
def in_shanghai(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose local time is eight hours ahead of UTC."""
    monkeypatch.setenv("TZ", "CST-8")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("in_shanghai")
def test_times_are_shown_as_local_ones(sh: Shell) -> None:
    """What was said late in UTC is of the next day in Shanghai, as a person there typed it."""
    sh("add", "Hello.", "--session", "s", "--at", "2024-05-06T20:30:00Z")

    assert "2024-05-07 04:30" in sh("sessions").out
    assert "2024-05-07" in sh("show").out
