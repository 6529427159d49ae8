"""What holds for the import of each format."""

from __future__ import annotations

import dataclasses
import io
import json
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from siltstone import ImportReport, InvalidInputError, TieredMemory
from siltstone.importers import json_stream
from siltstone.importers.formats import FORMATS, by_name
from siltstone.importers.reader import Part
from siltstone.testing import HashEmbedder, WordCounter

from exports import EXPORTS, LLAMA_INDEX, Export  # isort: skip

each = pytest.mark.parametrize("export", EXPORTS, ids=lambda export: export.file)


@pytest.fixture
def memory() -> Iterator[TieredMemory]:
    """An empty memory."""
    with TieredMemory.open(":memory:", embedder=HashEmbedder(), token_counter=WordCounter()) as opened:
        yield opened


def placed(folder: Path, export: Export) -> Path:
    """Write an export where a user would have it."""
    file = folder / export.file
    file.write_bytes(export.data)
    return file


def told(memory: TieredMemory) -> list[tuple[str, str, str | None, str]]:
    """Return the messages of a memory, by session."""
    return [
        (session.session_id, message.role, message.name, message.content)
        for session in memory.sessions()
        for message in memory.messages(session.session_id)
    ]


def counts(report: ImportReport) -> dict[str, int]:
    """Return the counts that are not 0."""
    names = ("added", "updated", "unchanged", "skipped", "failed")
    return {name: count for name in names if (count := getattr(report, name))}


def tried(memory: TieredMemory, file: Path, format: str) -> ImportReport:
    """Return what would come of a file, an empty report where it is refused as a whole with a word on that."""
    try:
        return memory.import_from(file, format=format, dry_run=True)
    except InvalidInputError as exc:
        if "nothing was imported" in str(exc):
            return ImportReport(format)
        raise


@each
def test_it_is_recognised_and_read(memory: TieredMemory, tmp_path: Path, export: Export) -> None:
    """Found by looking inside: roles, names and words in order, each thing counted, what nobody said passed over."""
    report = memory.import_from(placed(tmp_path, export))

    assert report.format == export.format
    assert sorted(told(memory), key=lambda one: one[0]) == sorted(export.messages, key=lambda one: one[0])
    items = len(export.messages) + export.documents
    assert counts(report) == {"added": items, **({"skipped": export.skipped} if export.skipped else {})}
    assert report.read == items + export.skipped
    assert len(list(memory.records(kinds="document"))) == export.documents


@each
def test_twice_changes_nothing(memory: TieredMemory, tmp_path: Path, export: Export) -> None:
    """Everything is known by its own id, or its place, when it is imported again."""
    file = placed(tmp_path, export)
    first = memory.import_from(file)
    revision = memory.revision
    again = memory.import_from(file)

    assert (again.unchanged, again.added, again.updated, again.failed) == (first.added, 0, 0, 0)
    assert memory.revision == revision


@each
def test_a_dry_run_tells_what_was_understood(memory: TieredMemory, tmp_path: Path, export: Export) -> None:
    """The same report as that of the import, with the first items, and nothing is written."""
    file = placed(tmp_path, export)
    dry = memory.import_from(file, dry_run=True)
    assert memory.stats().records == 0
    assert dry.preview is not None
    assert dry.preview.sessions == len({session for session, *_ in export.messages})
    assert len(dry.preview.items) == min(5, len(export.messages) + export.documents)
    assert dataclasses.replace(memory.import_from(file), dry_run=True) == dry


@each
def test_the_format_can_be_given(memory: TieredMemory, tmp_path: Path, export: Export) -> None:
    """``format=`` reads it as what it is; and as an open file, it is read as it comes."""
    report = memory.import_from(placed(tmp_path, export), format=export.format)
    assert report.added == len(export.messages) + export.documents
    with io.BytesIO(export.data) as file:
        file.name = export.file  # type: ignore[attr-defined]
        assert memory.import_from(file, dry_run=True).format == export.format


def test_all_of_them_in_one_archive(memory: TieredMemory, tmp_path: Path) -> None:
    """A zip archive and a folder are read file by file, and what is none of the formats is named."""
    with zipfile.ZipFile(tmp_path / "all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        (tmp_path / "folder").mkdir()
        for export in EXPORTS:
            if export is not LLAMA_INDEX:  # it makes its folder one of LlamaIndex
                archive.writestr(f"in/{export.file}", export.data)
                (tmp_path / "folder" / export.file).write_bytes(export.data)
        archive.writestr("in/photo.jpg", b"\xff\xd8\xff\0")
    report = memory.import_from(tmp_path / "all.zip")
    wanted = [one for export in EXPORTS if export is not LLAMA_INDEX for one in export.messages]
    assert sorted(set(told(memory)), key=str) == sorted(set(wanted), key=str)
    assert set(report.format.split(", ")) == {export.format for export in EXPORTS} - {"llama-index"}
    assert any("photo.jpg" in note for note in report.notes)
    assert report.failed == 0
    folder = memory.import_from(tmp_path / "folder")
    assert (folder.failed, folder.unchanged) == (0, report.added + report.unchanged - 3)  # documents have another place


@each
def test_a_file_that_was_cut_off_gives_what_stands_before(memory: TieredMemory, tmp_path: Path, export: Export) -> None:
    """Wherever it ends, nothing is raised that is no error of siltstone's, and the whole file still comes in after."""
    file = tmp_path / export.file
    for cut in random.Random(export.file).sample(range(1, len(export.data)), 12):
        file.write_bytes(export.data[:cut])
        tried(memory, file, export.format)
    file.write_bytes(export.data)
    assert memory.import_from(file).failed == 0


def bent(value: Any, rng: random.Random) -> Any:
    """Return a JSON value with some of its parts replaced by others."""
    if rng.random() < 0.08:
        return rng.choice([None, 0, -1, 1e300, "", "x", [], {}, [None], {"x": 1}, True])
    if isinstance(value, dict):
        return {key: bent(part, rng) for key, part in value.items() if rng.random() > 0.04}
    return [bent(part, rng) for part in value] if isinstance(value, list) else value


@pytest.mark.parametrize("export", [one for one in EXPORTS if one.file.endswith(".json")], ids=lambda one: one.file)
def test_bent_values_are_named_and_never_raised(memory: TieredMemory, tmp_path: Path, export: Export) -> None:
    """Whatever stands where something else was expected, each part is read or counted as one that cannot be."""
    rng = random.Random(export.file)
    file = tmp_path / export.file
    for _ in range(150):
        file.write_bytes(json.dumps(bent(json.loads(export.data), rng)).encode())
        report = tried(memory, file, export.format)
        assert report.read == sum(counts(report).values())


@pytest.mark.parametrize("format", [format for format in FORMATS if format != "failed"])
def test_any_part_can_be_read_alone(format: str) -> None:
    """A part that somebody has bent, of a file of failures, raises nothing but what says what it lacks."""
    for value in (None, 5, "x", [], {}, {"id": 1}, {"messages": [1]}):
        about = {"session_id": "s", "number": 1, "chat": "c", "order": "ymd", "place": "p", "file": "f", "headings": []}
        found = list(by_name(format).again(Part(format, "here", {**about, "is_list": True, "id": "1"}, value)))
        assert all(one.where.startswith("here") or one.part is not None for one in found)


def test_pieces_are_the_same_however_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file is cut into the same values whether it is read at once or three bytes at a time."""
    value = [{"k\\": 'va"l[', "n": [{"x": 1.5e3}, None, True]}, "s{tr", "", 5, [[]], {}, "汉字"] * 3
    data = json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8-sig")
    for size in (3, 64, 1 << 20):
        monkeypatch.setattr(json_stream, "_CHUNK", size)
        found = json_stream.pieces(io.BytesIO(data), lambda path, bracket: not path)
        assert [json_stream.loads(piece.raw or b"") for piece in found] == value
