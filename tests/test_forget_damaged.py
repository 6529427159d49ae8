"""Forgetting what cannot be read: it leaves the files with whatever does not check, and nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from siltstone import TieredMemory
from siltstone.testing import HashEmbedder
from siltstone.upkeep import verify

WORD = "heliotrope"


def opened(folder: Path) -> TieredMemory:
    """Open a memory of alice."""
    return TieredMemory.open(str(folder), user_id="alice", embedder=HashEmbedder())


def flipped(folder: Path) -> None:
    """Change a bit of the message that holds the word."""
    (log,) = folder.rglob("docs.*.jsonl")
    data = bytearray(log.read_bytes())
    data[data.index(WORD.encode()) - 3] ^= 1
    log.write_bytes(data)


def damaged(folder: Path, *, others: int = 1) -> str:
    """Write a store in which a message holds the word and does not check; return its id."""
    with opened(folder) as memory:
        (id,) = memory.add([("user", f"the {WORD} blooms")], session_id="a")
        memory.add([("user", f"fine {n}") for n in range(others)], session_id="b")
        memory.flush()
    flipped(folder)
    return id


def with_word(folder: Path) -> list[str]:
    """Return the files that hold the word, or its vector."""
    vector = HashEmbedder().embed_documents([f"the {WORD} blooms"])[0].astype("<f2").tobytes()
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if any(word in path.read_bytes() for word in (WORD.encode(), vector))]


@pytest.mark.parametrize("by", ["session", "id"])
@pytest.mark.parametrize("others", [1, 400])
@pytest.mark.parametrize("when", ["found", "seen", "repaired"])
def test_what_cannot_be_read_is_forgotten(tmp_path: Path, by: str, others: int, when: str) -> None:
    """Damage that was there on opening, that a cache hides, or that a repair set aside: the words and vectors go."""
    id = damaged(tmp_path, others=others)
    assert with_word(tmp_path)
    if when == "repaired":
        verify(tmp_path, repair=True)
    with opened(tmp_path) as memory:
        if when == "seen":
            assert memory.messages("a") == []
        report = memory.forget(session_id="a") if by == "session" else memory.forget(ids=id)
        assert (report.messages, memory.stats().health) == ((), ())
        assert with_word(tmp_path) == []
        assert [message.content for message in memory.messages("b")] == [f"fine {n}" for n in range(others)]
    with opened(tmp_path) as memory:
        assert (len(memory.messages("a")), len(memory.messages("b"))) == (0, others)
    assert verify(tmp_path).is_sound


def test_where_all_checks_nothing_is_written_anew(tmp_path: Path) -> None:
    """A forget that finds nothing leaves the files as they are."""
    with opened(tmp_path) as memory:
        memory.add([("user", "fine")], session_id="b")
        memory.flush()
        before = {path: path.read_bytes() for path in tmp_path.rglob("docs.*")}
        inodes = [path.stat().st_ino for path in before]
        memory.forget(session_id="z")
        assert {path: path.read_bytes() for path in tmp_path.rglob("docs.*")} == before
        assert [path.stat().st_ino for path in before] == inodes
