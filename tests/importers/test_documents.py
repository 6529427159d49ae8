"""Texts and Markdown become documents in chunks that are cut where the text has its joints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siltstone import TieredMemory
from siltstone.testing import HashEmbedder, WordCounter
from siltstone.text.chunks import TOKENS, Chunk, chunks, rough_tokens


@pytest.fixture
def memory() -> Iterator[TieredMemory]:
    """An empty memory."""
    with TieredMemory.open(":memory:", embedder=HashEmbedder(), token_counter=WordCounter()) as opened:
        yield opened


def cut(text: str, *, markdown: bool = True) -> list[Chunk]:
    """Return the chunks of a text."""
    return list(chunks(enumerate(text.split("\n"), 1), markdown=markdown))


def test_sections_and_blocks_of_code_stay_together() -> None:
    """A chunk holds paragraphs of one section, under its headings; what looks like a heading in code is code."""
    found = cut("intro\n\n# A\n\none\n\ntwo\n\n## B #\n```\n# no\n\n- x\n```\n\nOld\n===\nthree")
    assert [(chunk.headings, chunk.text, chunk.line) for chunk in found] == [
        ((), "intro", 1),
        (("A",), "one\n\ntwo", 5),
        (("A", "B"), "```\n# no\n\n- x\n```", 10),
        (("Old",), "three", 18),
    ]


def test_a_heading_with_nothing_under_it_is_kept() -> None:
    """Its words are a chunk of their own, unless a lower heading carries them."""
    assert [(chunk.headings, chunk.text) for chunk in cut("# To do\n## Buy milk\n## Call Ann\n\nat nine")] == [
        (("To do",), "Buy milk"),
        (("To do", "Call Ann"), "at nine"),
    ]


def test_plain_text_knows_no_headings() -> None:
    """A line with a hash in a text is a line."""
    assert [chunk.text for chunk in cut("# A\n\nb", markdown=False)] == ["# A\n\nb"]


@pytest.mark.parametrize(
    "sentence", ["This is one of many sentences. ", "这是许多句子中的一句。", "x" * 5_000, "word " * 900]
)
def test_a_long_paragraph_is_cut_at_sentences(sentence: str) -> None:
    """No chunk is longer than an embedder reads, all of the text is there, and none begins in a sentence."""
    text = sentence * 200
    found = cut(text)
    assert len(found) > 1
    assert all(rough_tokens(chunk.text) <= TOKENS * 1.01 for chunk in found)
    assert "".join("".join(chunk.text for chunk in found).split()) == "".join(text.split())
    if sentence[-1:] in (" ", "。") and len(sentence) < 100:
        assert all(chunk.text.endswith(sentence.strip()) for chunk in found)


@given(st.text(st.sampled_from("ab #-=`~\n。. "), max_size=300), st.booleans())
def test_no_word_is_lost(text: str, markdown: bool) -> None:
    """Whatever the text, each letter of it is in a chunk or in the headings above one, in order within a chunk."""
    found = cut(text, markdown=markdown)
    kept = "".join(chunk.text + "".join(chunk.headings) for chunk in found)
    assert all(text.count(letter) <= kept.count(letter) for letter in "ab")


def test_an_edited_document_updates_and_loses_its_end(memory: TieredMemory, tmp_path: Path) -> None:
    """Chunks that changed are updated, those behind the new end go, and come again when the text does."""
    file = tmp_path / "notes.md"
    sections = [f"# Part {number}\n\nabout {word}\n\n" for number, word in enumerate(("tea", "rain", "猫", "trains"))]
    file.write_text("".join(sections), encoding="utf-8")
    assert memory.import_from(file).added == 4
    file.write_text("".join([sections[0], "# Part 1\n\nabout snow\n"]), encoding="utf-8")
    dry = memory.import_from(file, dry_run=True)
    report = memory.import_from(file)
    assert (report.updated, report.unchanged) == (dry.updated, dry.unchanged) == (1, 1)
    assert report.notes == dry.notes
    assert [record.text for record in memory.records()] == ["about tea", "about snow"]
    assert not any("猫" in hit.record.text for hit in memory.search("猫"))
    file.write_text("".join(sections), encoding="utf-8")
    assert memory.import_from(file).added == 2
    assert len(list(memory.records())) == 4


def test_what_was_forgotten_of_a_document_stays_forgotten(memory: TieredMemory, tmp_path: Path) -> None:
    """A chunk that somebody took out is skipped when the file is imported again."""
    file = tmp_path / "notes.txt"
    file.write_text("one secret\n" * 200, encoding="utf-8")
    memory.import_from(file)
    (first, *_) = memory.records()
    memory.forget(ids=[first.id])
    report = memory.import_from(file)
    assert report.skipped == 1
    assert first.id not in [record.id for record in memory.records()]


def test_two_files_of_one_name_are_two(memory: TieredMemory, tmp_path: Path) -> None:
    """A document is known by its whole place, so that another README does not replace it."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "README.md").write_text(f"# {name}\n\ntext of {name}")
        memory.import_from(tmp_path / name / "README.md")
    assert sorted(record.text for record in memory.records()) == ["text of a", "text of b"]
    assert memory.import_from(tmp_path).unchanged == 2


def test_a_shorter_dialogue_replaces_a_longer_one(memory: TieredMemory, tmp_path: Path) -> None:
    """In the generic form the text is all of the dialogue."""
    file = tmp_path / "d.json"
    file.write_text('[{"id": "s", "text": "User: a\\nAssistant: b\\nUser: c"}]')
    memory.import_from(file)
    file.write_text('[{"id": "s", "text": "User: a\\nAssistant: B"}]')
    assert memory.import_from(file).updated == 1
    assert [message.content for message in memory.messages("s")] == ["a", "B"]
