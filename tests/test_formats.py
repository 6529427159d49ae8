"""Stores as every format wrote them: what each holds is found by this release, and what was forgotten is not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from siltstone import Message, TieredMemory
from siltstone.records import KINDS
from siltstone.stores.files.storefile import FORMAT
from siltstone.testing import HashEmbedder, WordCounter

FIXTURES = sorted(Path(__file__).parent.glob("fixtures/format-*"))


def opened(folder: Path, **options: Any) -> TieredMemory:
    """Open a store as the fixtures were written."""
    return TieredMemory.open(folder, embedder=HashEmbedder(64), token_counter=WordCounter(), **options)


@pytest.fixture(params=FIXTURES, ids=lambda path: path.name)
def fixture(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """Return a copy of a store that an earlier release wrote, and what is in it."""
    shutil.copytree(request.param / "store", tmp_path / "store")
    return tmp_path / "store", json.loads((request.param / "expected.json").read_text("utf-8"))


def holds(memory: TieredMemory, expected: dict[str, Any]) -> None:
    """Check that a user's memory holds just what was written."""
    assert [info.session_id for info in memory.sessions()] == list(expected["messages"])
    for session, messages in expected["messages"].items():
        found = [[m.id, m.role, m.content, m.name, m.metadata] for m in memory.messages(session)]
        assert found == messages
    records = list(memory.records(kinds=KINDS))
    assert [[r.id, r.kind, r.text, list(r.source_ids), r.version, str(r.created_at)] for r in records] == expected[
        "records"
    ]
    history = {r.id: [[v.version, v.text] for v in memory.history(r.id)] for r in records if r.version > 1}
    assert history == expected["history"]
    for question, ids in expected["found"].items():
        assert ids[0] in [hit.record.id for hit in memory.search(question, top_k=3)]
    assert memory.stats().pending_vectors == 0


def words_left(folder: Path, words: list[str]) -> list[str]:
    """Return the files that hold one of the words."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [str(path) for path in files if any(word.encode() in path.read_bytes() for word in words)]


def test_a_store_of_every_format_is_found_whole(fixture: tuple[Path, dict[str, Any]]) -> None:
    """Messages, records, history, vectors and refusals are there, at the first opening and at the next."""
    folder, expected = fixture
    for _ in range(2):
        with opened(folder) as memory:
            for user, content in expected["users"].items():
                holds(memory.for_user(user), content)
            assert memory.stats().health == ()
    assert words_left(folder, expected["forgotten"]) == []
    with opened(folder) as memory:
        for user, content in expected["users"].items():
            session, id, text = content["resent"]
            memory.for_user(user).add([Message("user", text, id=id), Message("user", text)], session_id=session)
            holds(memory.for_user(user), content)
    assert words_left(folder, expected["forgotten"]) == []


def test_a_store_of_every_format_can_be_read_without_writing(fixture: tuple[Path, dict[str, Any]]) -> None:
    """Read-only opening finds the same, and changes no file."""
    folder, expected = fixture
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with opened(folder, read_only=True) as memory:
        for user, content in expected["users"].items():
            holds(memory.for_user(user), content)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_there_is_a_fixture_of_every_format() -> None:
    """A format that has ever been written has its store here."""
    assert [path.name for path in FIXTURES] == [f"format-{n}" for n in range(1, FORMAT + 1)]
