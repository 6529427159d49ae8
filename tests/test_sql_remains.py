"""What a server holds of the forgotten, as the report says, and that its commands end it."""

from __future__ import annotations

import re
from pathlib import Path

from postgres_cluster import Standby, told
from postgres_server import Server
from siltstone import TieredMemory
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter

WORD = "Kanarienvogel"


def opened(location: str) -> TieredMemory:
    """Open Alice's memory, with models that cost nothing."""
    return TieredMemory.open(
        location, user_id="alice", embedder=HashEmbedder(), token_counter=WordCounter(), clock=FrozenClock()
    )


def files_with(word: str, data: Path) -> list[str]:
    """Return the files below a folder that hold a word."""
    return [str(p.relative_to(data)) for p in data.rglob("*") if p.is_file() and word.encode() in p.read_bytes()]


def test_the_report_ends_what_it_names(own_server: Server) -> None:
    """After ``forget`` pages and log hold the words, as the report says; after its commands no file does."""
    with opened(own_server.url) as memory:
        memory.add([("user", f"My {WORD} sings.")], session_id="monday")
        memory.add([("user", "I live in Lisbon.")], session_id="tuesday")
        told(own_server, "CHECKPOINT")
        report = memory.forget(session_id="monday")
        told(own_server, "CHECKPOINT")
        held = files_with(WORD, own_server.data)
        assert any(name.startswith("base/") for name in held)
        assert any(name.startswith("pg_wal/") for name in held)
        told(own_server, "VACUUM")
        assert len(report.remains) == 3
        for command in re.findall("`([^`]+)`", " ".join(report.remains)):
            told(own_server, command)
        assert files_with(WORD, own_server.data) == []
        assert [message.content for message in memory.messages("tuesday")] == ["I live in Lisbon."]


def test_the_report_names_who_keeps_it(pair: tuple[Server, Standby]) -> None:
    """Slots and standbys that keep the log are named; ``dry_run`` says nothing of it."""
    primary, _ = pair
    told(primary, "SELECT pg_create_physical_replication_slot('nightly')")
    with opened(primary.url) as memory:
        memory.add([("user", f"My {WORD} sings.")], session_id="monday")
        assert memory.forget(session_id="monday", dry_run=True).remains == ()
        report = memory.forget(everything=True)
    text = " ".join(report.remains)
    assert "The log is kept beyond that by the slot nightly, standbys, 1 by now" in text
    assert "VACUUM keeps them" not in text


def test_other_stores_hold_nothing(tmp_path: Path) -> None:
    """A folder, a file and ``:memory:`` have nothing to say: when ``forget`` returns, it is gone."""
    for location in (str(tmp_path / "folder"), f"sqlite:///{tmp_path / 'memory.db'}", ":memory:"):
        with opened(location) as memory:
            memory.add([("user", f"My {WORD} sings.")], session_id="monday")
            assert memory.forget(session_id="monday").remains == ()
