"""Zip archives are read where they are, and what is made to do harm is refused before it is read."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from exports import CHATGPT, WHATSAPP

from siltstone import InvalidInputError, TieredMemory
from siltstone.testing import HashEmbedder, WordCounter


@pytest.fixture
def memory() -> TieredMemory:
    """An empty memory."""
    return TieredMemory.open(":memory:", embedder=HashEmbedder(), token_counter=WordCounter())


def zipped(path: Path, **files: bytes) -> Path:
    """Write an archive of files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "/"), data)
    return path


def test_an_open_archive_is_read_where_it_can_be_searched(memory: TieredMemory, tmp_path: Path) -> None:
    """An archive as an open file comes in; as a pipe it is refused with the way to go."""
    data = zipped(tmp_path / "a.zip", **{"conversations.json": CHATGPT.data}).read_bytes()
    assert memory.import_from(io.BytesIO(data)).added == len(CHATGPT.messages)

    class Pipe(io.BytesIO):
        def seek(self, *_: int) -> int:
            raise io.UnsupportedOperation("seek")

    with pytest.raises(InvalidInputError, match="pass its path"):
        memory.import_from(Pipe(data))


def test_a_chat_is_named_like_its_archive(memory: TieredMemory, tmp_path: Path) -> None:
    """An iPhone calls every chat ``_chat.txt``."""
    memory.import_from(zipped(tmp_path / "WhatsApp Chat - Ann.zip", **{"_chat.txt": WHATSAPP.data, "1.jpg": b"\xff\0"}))
    assert [session.session_id for session in memory.sessions()] == ["whatsapp:Ann"]


def test_no_name_in_an_archive_leads_anywhere(memory: TieredMemory, tmp_path: Path) -> None:
    """A path out of the folder is a name as any other: nothing is written."""
    before = sorted(tmp_path.rglob("*"))
    file = zipped(tmp_path / "a.zip", **{"..__..__evil.json": CHATGPT.data})
    assert memory.import_from(file).added == len(CHATGPT.messages)
    assert sorted(tmp_path.rglob("*")) == [*before, file]


def _bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.json", "w") as file:
        file.write(b"[")
        for _ in range(70):
            file.write(b" " * (1 << 20))


def _overlapping(path: Path) -> None:
    """Write an archive whose second entry lies in the data of the first."""
    zipped(path, a=bytes(range(256)) * 40, b=b"x")
    data = bytearray(path.read_bytes())
    second = data.rindex(b"PK\x01\x02")
    data[second + 42 : second + 46] = (10).to_bytes(4, "little")
    path.write_bytes(data)


def _many(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(100_001):
            archive.writestr(zipfile.ZipInfo(str(number)), b"")


def _damaged(path: Path) -> None:
    path.write_bytes(b"PK\x03\x04" + bytes(100))


@pytest.mark.parametrize(
    ("make", "why"),
    [(_bomb, "unpacks to"), (_overlapping, "over one another"), (_many, "100,001 files"), (_damaged, "damaged zip")],
)
def test_an_archive_that_is_made_to_do_harm(
    memory: TieredMemory, tmp_path: Path, make: Callable[[Path], None], why: str
) -> None:
    """Too large unpacked, files over one another, too many, none at all: refused, and nothing is imported."""
    make(tmp_path / "a.zip")
    with pytest.raises(InvalidInputError, match=why):
        memory.import_from(tmp_path / "a.zip")


def test_a_damaged_file_in_an_archive_is_named(memory: TieredMemory, tmp_path: Path) -> None:
    """What stands before the damage is stored, what lies in other files too, and the damage is a failure."""
    text = b'{"id": "a", "text": "one"}\n{"id": "b", "text": "two"}\n' + b"".join(
        b'{"id": "%d", "text": "number %d %s"}\n' % (n, n * n, bytes([97 + n % 26]) * (n % 50)) for n in range(9_000)
    )
    file = zipped(tmp_path / "a.zip", **{"a.jsonl": text, "b.json": CHATGPT.data})
    data = bytearray(file.read_bytes())
    with zipfile.ZipFile(file) as archive:
        middle = archive.getinfo("a.jsonl").compress_size // 2
    data[middle : middle + 20] = bytes(20)
    file.write_bytes(data)
    report = memory.import_from(file)
    assert report.failed >= 1
    assert report.added > len(CHATGPT.messages)
    assert any("damaged" in problem.reason or "no JSON" in problem.reason for problem in report.problems)


@pytest.mark.parametrize("others", [{}, {"b.json": CHATGPT.data}], ids=["alone", "among others"])
def test_a_small_file_that_is_damaged_is_a_failure(
    memory: TieredMemory, tmp_path: Path, others: dict[str, bytes]
) -> None:
    """A file whose sum does not fit is counted and named, whatever lies beside it; nothing of it is stored."""
    file = tmp_path / "a.zip"
    with zipfile.ZipFile(file, "w") as archive:  # not packed, so that the damage shows in the sum alone
        for name, data in {"a.json": b'[{"id": "a", "text": "one"}]', **others}.items():
            archive.writestr(name, data)
    file.write_bytes(file.read_bytes().replace(b'"one"', b'"two"', 1))
    report = memory.import_from(file)
    assert (report.added, report.failed) == (len(CHATGPT.messages) if others else 0, 1)
    (problem,) = [one for one in report.problems if one.outcome == "failed"]
    assert problem.where == "a.json"
    assert "damaged" in problem.reason


def test_an_encrypted_file_is_named(memory: TieredMemory, tmp_path: Path) -> None:
    """A file with a password is told of, and the others come in."""
    file = zipped(tmp_path / "a.zip", a=b"x", **{"b.json": CHATGPT.data})
    data = bytearray(file.read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + at] |= 1
    file.write_bytes(data)
    report = memory.import_from(file)
    assert report.added == len(CHATGPT.messages)
    assert any("encrypted" in note for note in report.notes)
