"""Tokens: made once, kept as hashes, good for what they say and until they say."""

from __future__ import annotations

import hashlib
import io
import json
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from shell import Shell
from siltstone.access import Grant, Tokens, make_token, read_grants, revoke
from siltstone.errors import AccessDeniedError, ConfigurationError, ConflictError, InvalidInputError, NotFoundError
from siltstone.text.hosts import is_loopback

NOW = datetime(2026, 5, 8, 12, tzinfo=timezone.utc)


def test_a_token_is_kept_as_a_hash_alone(tmp_path: Path) -> None:
    """The file tells name, user and end, and the token's hash; it is its owner's alone."""
    file = tmp_path / "tokens.jsonl"
    token = make_token(file, name="phone", user_id="alice", expires_at=NOW)

    assert token not in file.read_text()
    assert json.loads(file.read_text()) == {
        "name": "phone",
        "user_id": "alice",
        "sha256": hashlib.sha256(token.encode()).hexdigest(),
        "expires_at": "2026-05-08T12:00:00+00:00",
    }
    assert file.stat().st_mode & 0o077 == 0
    assert len(token) >= 43
    assert make_token(file, name="other", admin=True) != token


def test_a_token_is_good_for_what_it_says(tmp_path: Path) -> None:
    """A user's for this user, until it expires; an admin's for everybody; any other for nothing."""
    file = tmp_path / "tokens.jsonl"
    alice = make_token(file, name="phone", user_id="alice", expires_at=NOW)
    admin = make_token(file, name="ops", admin=True)
    tokens = Tokens(file)

    assert tokens.grant(alice, NOW - timedelta(seconds=1)).allows("alice")
    assert not tokens.grant(alice, NOW - timedelta(seconds=1)).allows("bob")
    assert tokens.grant(admin, NOW).allows("bob")
    for token, why in ((alice, "expired"), ("", "not known"), (alice[:-1], "not known"), ("\ud800", "not known")):
        with pytest.raises(AccessDeniedError, match=why):
            tokens.grant(token, NOW)
    with pytest.raises(AccessDeniedError):
        tokens.grant(hashlib.sha256(alice.encode()).hexdigest(), NOW - timedelta(days=1))


def test_nobody_is_allowed_everybodys_memory_by_having_no_user() -> None:
    """A grant without a user that is no admin's is good for nothing."""
    assert not Grant("odd").allows("alice")
    assert not Grant("odd").allows("")


def test_a_file_counts_as_it_is_now(tmp_path: Path) -> None:
    """Made, revoked, damaged, gone: the next request sees it; what cannot be read lets nobody in."""
    file = tmp_path / "tokens.jsonl"
    first = make_token(file, name="first", user_id="alice")
    tokens = Tokens(file)
    second = make_token(file, name="second", user_id="alice")

    assert tokens.grant(second, NOW).name == "second"
    revoke(file, "first")
    with pytest.raises(AccessDeniedError):
        tokens.grant(first, NOW)
    for damage in ("{", "[]", '{"name": "x"}'):
        file.write_text(damage)
        with pytest.raises(ConfigurationError, match="line 1"):
            tokens.grant(second, NOW)
    os.unlink(file)
    with pytest.raises(ConfigurationError, match="no token is good"):
        tokens.grant(second, NOW)


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "7",
        '{"name": "x", "user_id": "a"}',
        '{"name": "x", "sha256": "%s"}',
        '{"name": "x", "user_id": "a", "admin": true, "sha256": "%s"}',
        '{"name": "x", "user_id": "", "sha256": "%s"}',
        '{"name": "x", "user_id": 7, "sha256": "%s"}',
        '{"name": "x", "admin": false, "sha256": "%s"}',
        '{"name": "x", "admin": "yes", "sha256": "%s"}',
        '{"name": "x", "user_id": "a", "sha256": "short"}',
        '{"name": "x", "user_id": "a", "sha256": "%s", "expires_at": "2026-05-08"}',
        '{"name": "x", "user_id": "a", "sha256": "%s", "expires": "2026-05-08T12:00:00Z"}',
    ],
)
def test_a_line_that_is_no_token_is_named(tmp_path: Path, line: str) -> None:
    """A file with a line that cannot be understood is refused as a whole: it might mean less than it seems."""
    file = tmp_path / "tokens.jsonl"
    file.write_text("\n" + line.replace("%s", "0" * 64))

    with pytest.raises(ConfigurationError, match=r"line 2.*no token is good until.*siltstone token make"):
        Tokens(file)


def test_tokens_made_and_revoked_at_once_are_all_made_and_revoked(tmp_path: Path) -> None:
    """Whoever changes the file at the same time, none brings back what another revoked, or drops what it made."""
    file = tmp_path / "tokens.jsonl"
    for n in range(8):
        make_token(file, name=f"old {n}", user_id="alice")

    with ThreadPoolExecutor(16) as several:
        made = [several.submit(make_token, file, name=f"new {n}", user_id="alice") for n in range(8)]
        gone = [several.submit(revoke, file, f"old {n}") for n in range(8)]
    tokens = Tokens(file)

    assert [tokens.grant(one.result(), NOW).name for one in made] == [f"new {n}" for n in range(8)]
    assert [one.result() for one in gone] == [None] * 8
    assert sorted(grant.name for grant in read_grants(file)) == [f"new {n}" for n in range(8)]


def test_what_makes_no_sense_is_not_made(tmp_path: Path) -> None:
    """A token is for one user or for an admin, and has a name of its own."""
    file = tmp_path / "tokens.jsonl"
    make_token(file, name="phone", user_id="alice")

    with pytest.raises(ConflictError, match="phone"):
        make_token(file, name="phone", user_id="bob")
    with pytest.raises(InvalidInputError):
        make_token(file, name="both", user_id="alice", admin=True)
    with pytest.raises(InvalidInputError):
        make_token(file, name="neither")
    with pytest.raises(InvalidInputError):
        make_token(file, name=" ", user_id="alice")
    with pytest.raises(NotFoundError):
        revoke(file, "nobody")
    assert [grant.name for grant in read_grants(file)] == ["phone"]


def test_tokens_are_made_and_revoked_from_the_shell(sh: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``siltstone token make, list, revoke``: a token is shown once, and never again."""
    monkeypatch.setattr("sys.stdin", io.StringIO())
    file = str(tmp_path / "tokens.jsonl")
    made = sh("token", "make", "phone", "--for", "爱丽丝", "--expires", "2999-01-01T00:00:00Z", "--tokens", file)
    admin = sh("token", "make", "ops", "--admin", "--tokens", file, "--json")

    assert Tokens(file).grant(made.out.strip(), NOW).user_id == "爱丽丝"
    assert Tokens(file).grant(admin.json["token"], NOW).admin
    listed = sh("token", "list", "--tokens", file)
    assert "爱丽丝" in listed.out
    assert "everybody" in listed.out
    assert made.out.strip() not in listed.out
    assert [one["name"] for one in sh("token", "list", "--tokens", file, "--json").json["tokens"]] == ["phone", "ops"]
    assert sh("token", "revoke", "phone", "--tokens", file).code == 1  # nobody there to ask
    assert sh("token", "revoke", "phone", "--tokens", file, "--yes", "--json").json == {"revoked": "phone"}
    assert [grant.name for grant in read_grants(file)] == ["ops"]
    assert sh("token", "make", "x", "--tokens", file).code == 1


@pytest.mark.parametrize("command", [("list",), ("revoke", "phone", "--yes")], ids=lambda command: command[0])
def test_without_a_file_of_tokens_it_is_said_how_to_make_one(
    sh: Shell, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """One sentence that names the file that was looked for and the command that makes it; no number of an error."""
    refused = sh("token", *command, "--tokens", str(tmp_path / "none.jsonl"))
    assert refused.code == 1
    assert str(tmp_path / "none.jsonl") in refused.err
    assert "siltstone token make" in refused.err
    assert "Errno" not in refused.err


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("LOCALHOST", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.5", False),
        ("localhost.example.com", False),
        ("", False),
    ],
)
def test_which_addresses_are_this_machines_own(host: str, own: bool) -> None:
    """What others can reach, or may be led to, is none of them."""
    assert is_loopback(host) is own
