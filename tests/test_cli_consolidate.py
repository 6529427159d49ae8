"""The command ``consolidate``: what it did, what it is at, and what is left to do."""

from __future__ import annotations

import socket
from datetime import datetime, timedelta, timezone

import pytest

from scripted_server import Answer, ScriptedServer
from shell import Shell
from siltstone import TieredMemory
from siltstone.lifecycle.jobs import Job, State

SAID_AT = "2024-05-08T12:00:00+00:00"


@pytest.fixture
def nowhere() -> str:
    """The address of a server that is not there."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{taken.getsockname()[1]}"


def told_long_ago(sh: Shell, text: str, session: str = "s") -> None:
    """Store what was said in a conversation that is over."""
    with TieredMemory.open(sh.store) as memory:
        memory.add([("user", text)], session_id=session, created_at=SAID_AT)


def test_consolidate_says_what_it_does_and_why(sh: Shell) -> None:
    """A dry run and a run print the same rows, a second run has nothing to do, and stats count what came of it."""
    told_long_ago(sh, "I live in Lisbon.")
    planned = sh("consolidate", "--dry-run", "--json").json
    assert (planned["dry_run"], [row["action"] for row in planned["rows"]]) == (True, ["digest", "add"])
    assert "I live in Lisbon" in sh("consolidate", "--dry-run").out
    assert sh("consolidate", "--json").json["rows"] == planned["rows"]
    assert sh("consolidate").out == "nothing is due\n"
    counted = sh("stats", "--json").json
    assert (counted["kinds"]["profile"], counted["jobs"], counted["dead_letters"]) == (1, {}, [])


def test_consolidate_tells_what_it_did_though_the_embedder_fails(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run in which a model fails prints its rows, says that vectors are missing, and is exit code 4."""
    with ScriptedServer([Answer("busy", 503, {"Retry-After": "600"})]) as server:
        monkeypatch.setenv("SILTSTONE_EMBEDDER", f"openai:bge-m3@{server.url}")
        assert sh("add", "I live in Lisbon.", "--at", "2024-05-06T09:30:00Z").code == 0
        planned = sh("consolidate", "--dry-run", "--json")
        ran = sh("consolidate", "--json")
    for told in (planned, ran):
        assert [row["action"] for row in told.json["rows"]] == ["fail"]
        assert told.code == 4
    assert "found by its words only" in ran.err


def test_a_summarizer_that_is_not_there_is_told_of_at_once_and_at_the_end(
    sh: Shell, nowhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is asked, how that fails and when it is tried again stand on stderr; at the end, what waits and the way on.

    Every span is digested without the model, which is asked for the first one alone.
    """
    monkeypatch.setenv("SILTSTONE_MODEL_TIMEOUT", "1")
    for session in "abc":
        told_long_ago(sh, f"I live in Lisbon and work at Studio {session}.", session)

    ran = sh("consolidate", "--summarizer", f"openai:some-model@{nowhere}")

    assert ran.code == 4
    first, second, *_ = ran.err.splitlines()
    assert first == "asking some-model …"
    assert second.startswith(f"{nowhere}/v1 does not answer (ConnectError): attempt 2 is made in ")
    assert ran.err.count("attempt 2 is made") == 1
    assert "waiting for another attempt: 3. Nothing is lost." in ran.err
    assert "siltstone consolidate --retry" in ran.err
    counted = sh("stats", "--json").json
    assert counted["jobs"] == {"waiting": 3}
    assert counted["kinds"]["profile"]


@pytest.mark.parametrize("state", ["waiting", "leased", "dead"])
def test_work_that_is_not_due_now_is_not_nothing(sh: Shell, state: State) -> None:
    """While it waits, is another worker's or has failed for good, that is said, with its error and the way on."""
    with TieredMemory.open(sh.store) as memory:
        (id,) = memory.add([("user", "I live in Lisbon.")], session_id="s")
        now = datetime.now(timezone.utc)
        until = None if state == "dead" else now + timedelta(minutes=4)
        job = Job("j", "s", (id,), state=state, attempts=2, until=until, owner="w", error="the model is away")
        memory.handle.store.commit("default", [job.put("default", now)])  # type: ignore[attr-defined]

    ran = sh("consolidate")

    assert (ran.code, ran.out) == (0, "nothing is due now\n")
    told = {
        "waiting": "waiting for another attempt: 1",
        "leased": "with another worker: 1",
        "dead": "failed too often: 1",
    }
    assert told[state] in ran.err
    assert ("the model is away" in ran.err) == (state != "leased")
    assert ("--retry" in ran.err) == (state != "leased")
    assert "session 's', 1 message" in "".join(sh("stats", "--json").json["unfinished" if until else "dead_letters"])
