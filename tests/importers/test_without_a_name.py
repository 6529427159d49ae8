"""What comes without a name, through a pipe or in a request: it is known by how it begins."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from siltstone import TieredMemory
from siltstone.testing import HashEmbedder

CHAT = [{"type": "human", "data": {"content": "I play the cello.", "type": "human"}}]
OTHER = [{"type": "human", "data": {"content": "I live in Rome.", "type": "human"}}]
PAIRS = [
    ("markdown", "# Music\n\nAlice plays the cello.\n", "# Places\n\nBob lives in Rome.\n"),
    ("langchain", json.dumps(CHAT), json.dumps(OTHER)),
    ("whatsapp", "31/12/23, 23:59 - Ann: I play the cello.\n", "31/12/23, 23:59 - Bob: I live in Rome.\n"),
]


class _Pieces(io.RawIOBase):
    """A file that gives a few bytes at a time, as a connection does."""

    def __init__(self, data: bytes) -> None:
        self._rest = data

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece, self._rest = self._rest[:7], self._rest[7:]
        buffer[: len(piece)] = piece
        return len(piece)


@pytest.mark.parametrize(("format", "one", "other"), PAIRS, ids=[format for format, *_ in PAIRS])
def test_one_file_without_a_name_is_not_taken_for_another(format: str, one: str, other: str) -> None:
    """Another file adds to what the first one brought; the first one again, in other pieces, changes nothing."""
    with TieredMemory.open(":memory:", embedder=HashEmbedder()) as memory:
        reports = [
            memory.import_from(file, format=format)
            for file in (io.BytesIO(one.encode()), io.BytesIO(other.encode()), _Pieces(one.encode()), io.StringIO(one))
        ]
        texts = {record.text for record in memory.records()}

    assert [(report.added, report.updated, report.unchanged) for report in reports] == [(1, 0, 0)] * 2 + [(0, 0, 1)] * 2
    assert any("cello" in text for text in texts)
    assert any("Rome" in text for text in texts)


def test_what_comes_in_pieces_is_looked_into_as_a_whole() -> None:
    """The format is found in the beginning of a file, not in the first piece of it that comes."""
    with TieredMemory.open(":memory:", embedder=HashEmbedder()) as memory:
        assert memory.import_from(_Pieces(json.dumps(CHAT).encode())).format == "langchain"


def test_an_open_file_with_a_name_is_known_by_it(tmp_path: Path) -> None:
    """An edited file that is open, and has a name, updates what it brought before."""
    notes = tmp_path / "notes.md"
    with TieredMemory.open(":memory:", embedder=HashEmbedder()) as memory:
        for text, done in (("Alice plays the cello.", (1, 0)), ("Alice plays the viola.", (0, 1))):
            notes.write_text(f"# Music\n\n{text}\n")
            with notes.open("rb") as file:
                report = memory.import_from(file)
            assert (report.added, report.updated) == done
