"""What an import cannot take over is kept with its reason, to be mended and imported alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from exports import EXPORTS, Export

from siltstone import ConfigurationError, ModelError, TieredMemory
from siltstone.protocols import Floats
from siltstone.testing import HashEmbedder, WordCounter


class Picky(HashEmbedder):
    """An embedder that cannot cope with a word, for the first calls that hold it."""

    def __init__(self, word: str, times: int) -> None:
        super().__init__()
        self.word, self.left = word, times

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return the rows, or raise ``ModelError``."""
        if self.left > 0 and any(self.word in text for text in texts):
            self.left -= 1
            raise ModelError("the model returned nan")
        return super().embed_documents(texts)


@pytest.fixture
def memory() -> Iterator[TieredMemory]:
    """An empty memory."""
    with opened(HashEmbedder()) as made:
        yield made


def opened(embedder: HashEmbedder) -> TieredMemory:
    """Return an empty memory."""
    return TieredMemory.open(":memory:", embedder=embedder, token_counter=WordCounter())


def dialogues(path: Path, *lines: str) -> Path:
    """Write the generic form, line by line."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


GOOD, BAD, TORN = '{"id": "a", "text": "one"}', '{"id": "b"}', '{"id": "c", "text": "three'


def test_failures_are_written_with_their_reasons(memory: TieredMemory, tmp_path: Path) -> None:
    """Each line holds the part of the source as it was, for its owner alone, and nothing of what went well."""
    kept = tmp_path / "kept.jsonl"
    report = memory.import_from(dialogues(tmp_path / "d.jsonl", GOOD, BAD, TORN), failures=kept)
    assert (report.added, report.failed, report.failed_file) == (1, 2, str(kept))
    header, *lines = map(json.loads, kept.read_text(encoding="utf-8").splitlines())
    assert header["format"] == "siltstone-failed"
    assert [line["where"] for line in lines] == ["line 2", "line 3"]
    assert lines[0]["value"] == {"id": "b"}
    assert lines[1]["text"].startswith('{"id": "c"')
    assert all(line["reason"] for line in lines)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert not list(tmp_path.glob("*.part"))


def test_what_was_mended_is_imported_alone(memory: TieredMemory, tmp_path: Path) -> None:
    """The lines come in as they would have in their place; what fails again stays, and the file goes in the end."""
    source, kept = dialogues(tmp_path / "d.jsonl", GOOD, BAD, TORN), tmp_path / "kept.jsonl"
    memory.import_from(source, failures=kept)
    kept.write_text(kept.read_text().replace("three", 'three\\"}').replace("\\n", ""))
    report = memory.import_from(kept, failures=kept)
    assert (report.read, report.added, report.failed) == (2, 1, 1)
    assert len(kept.read_text().splitlines()) == 2
    kept.write_text(kept.read_text().replace('{"id":"b"}', '{"id":"b","text":"two"}'))
    (tmp_path / "kept.jsonl.part").write_text("of a run that was killed")
    assert memory.import_from(kept, failures=kept).added == 1
    assert not list(tmp_path.glob("kept*"))
    dialogues(source, GOOD, '{"id": "b", "text": "two"}', '{"id": "c", "text": "three"}')
    assert memory.import_from(source).unchanged == 3


@pytest.mark.parametrize("export", EXPORTS, ids=lambda export: export.file)
def test_each_format_is_tried_again_alone(tmp_path: Path, export: Export) -> None:
    """Parts that all fail, since texts are too long for a memory, come in from the file of failures where they fit."""
    from siltstone import Settings

    file, kept = tmp_path / export.file, tmp_path / "kept.jsonl"
    file.write_bytes(export.data)
    narrow = TieredMemory.open(
        ":memory:", embedder=HashEmbedder(), token_counter=WordCounter(), settings=Settings(max_message_chars=1)
    )
    failed = narrow.import_from(file, failures=kept).failed
    assert failed
    with opened(HashEmbedder()) as wide, opened(HashEmbedder()) as undisturbed:
        assert wide.import_from(kept, failures=kept).failed == 0
        wide.import_from(file)
        undisturbed.import_from(file)
        assert [(one.id, one.text) for one in sorted(wide.records(), key=lambda one: one.id)] == [
            (one.id, one.text) for one in sorted(undisturbed.records(), key=lambda one: one.id)
        ]


def test_failures_of_several_files_are_all_kept(memory: TieredMemory, tmp_path: Path) -> None:
    """The same line of two files in a folder fails twice, and each is named with its file."""
    for name in ("a", "b"):
        (tmp_path / "in" / name).mkdir(parents=True)
        dialogues(tmp_path / "in" / name / "d.jsonl", GOOD, json.dumps({"id": name}))
    memory.import_from(tmp_path / "in", failures=tmp_path / "kept")
    lines = [json.loads(line) for line in (tmp_path / "kept").read_text().splitlines()[1:]]
    assert [line["where"] for line in lines] == ["a/d.jsonl, line 2", "b/d.jsonl, line 2"]


def test_the_text_at_fault_is_found_and_tried_once_more(tmp_path: Path) -> None:
    """One text that the embedder cannot cope with fails alone, and comes in at the end where it can by then."""
    lines = [json.dumps({"id": f"d{number}", "text": f"text {number}"}) for number in range(50)]
    file = dialogues(tmp_path / "d.jsonl", *lines)
    with opened(Picky("text 33", 7)) as memory:
        report = memory.import_from(file)
        assert (report.added, report.failed) == (50, 0)
    with opened(Picky("text 33", 1_000)) as memory:
        report = memory.import_from(file)
        assert (report.added, report.failed) == (49, 1)
        assert "nan" in report.problems[0].reason


def test_a_model_that_fails_at_everything_is_an_error(tmp_path: Path) -> None:
    """Not every text is at fault then, and nothing is noted as if it were."""
    lines = [json.dumps({"id": f"d{number}", "text": f"text {number}"}) for number in range(50)]
    with opened(Picky("text", 1_000)) as memory, pytest.raises(ModelError, match="nan"):
        memory.import_from(dialogues(tmp_path / "d.jsonl", *lines), failures=tmp_path / "kept")
    assert not list(tmp_path.glob("kept*"))


def test_a_place_that_cannot_be_written_is_an_error(memory: TieredMemory, tmp_path: Path) -> None:
    """No failure is lost without a word: the import stops, and says what is stored and how to go on."""
    with pytest.raises(ConfigurationError, match=r"stored.*--failed"):
        memory.import_from(dialogues(tmp_path / "d.jsonl", BAD), failures=tmp_path / "none" / "kept")
    assert memory.import_from(dialogues(tmp_path / "d.jsonl", GOOD), failures=tmp_path / "none" / "kept").added == 1
