"""Vectors by the hash of their text: embedded once, on whatever machine, and no words in the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from exports import CHATGPT, MARKDOWN

from siltstone import ConfigurationError, EmbedderMismatchError, ModelError, TieredMemory
from siltstone.protocols import PROBE, Floats
from siltstone.testing import HashEmbedder, WordCounter
from siltstone.transfer import vector_cache
from siltstone.transfer.vector_cache import VectorCache
from siltstone.upkeep import embed_source


class Counting(HashEmbedder):
    """An embedder that knows what it was asked, and may fail at a word."""

    def __init__(self, dim: int = 32, *, name: str = "hash", fails_at: str = "\0", times: int = 0) -> None:
        super().__init__(dim, name=name)
        self.texts: list[str] = []
        self.fails_at, self.times = fails_at, times

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return the rows, and remember the texts."""
        if self.times > 0 and any(self.fails_at in text for text in texts):
            self.times -= 1
            raise ModelError("out of memory")
        self.texts += [text for text in texts if text != PROBE]
        return super().embed_documents(texts)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder with conversations and notes."""
    folder = tmp_path / "exports"
    folder.mkdir()
    for export in (CHATGPT, MARKDOWN):
        (folder / export.file).write_bytes(export.data)
    return folder


def opened(location: Path | str, embedder: HashEmbedder) -> TieredMemory:
    """Return a memory."""
    return TieredMemory.open(location, embedder=embedder, token_counter=WordCounter())


def test_a_second_import_elsewhere_embeds_nothing(tmp_path: Path, source: Path) -> None:
    """The first fills the file, another store takes the same vectors from it; the report says so."""
    first, second = Counting(), Counting()
    with opened(tmp_path / "one", first) as memory:
        report = memory.import_from(source, vectors=tmp_path / "v")
        assert sorted(first.texts) == sorted({record.text for record in memory.records(kinds="turn")} | {
            f"{record.topic}: {record.text}" for record in memory.records(kinds="document")
        })  # fmt: skip
        assert memory.stats().pending_vectors == 0
        scores = [hit.score for hit in memory.search("杭州")]
    with opened(tmp_path / "two", second) as memory:
        again = memory.import_from(source, vectors=tmp_path / "v")
        assert (again.added, second.texts, memory.stats().pending_vectors) == (report.added, [], 0)
        assert [hit.score for hit in memory.search("杭州")] == pytest.approx(scores)
        assert any(f"{report.added} vectors came from" in note for note in again.notes)


def test_vectors_can_be_made_elsewhere(tmp_path: Path, source: Path) -> None:
    """``embed_source`` needs no store; the import with its file embeds nothing, and twice makes nothing."""
    made = embed_source(source, tmp_path / "v", embedder=(model := Counting()))
    assert (made.texts, made.embedded, made.failed) == (7, 7, 0)
    assert {"我下个月搬到杭州。", "笔记: 小林住在杭州。"} <= set(model.texts)
    assert embed_source(source, tmp_path / "v", embedder=Counting()).embedded == 0
    with opened(tmp_path / "store", other := Counting()) as memory:
        assert memory.import_from(source, vectors=tmp_path / "v").added == made.texts
        assert other.texts == []


def test_vectors_of_an_export_of_ours_are_made_elsewhere(tmp_path: Path) -> None:
    """Also those of memories that rest on others, which are in no store yet."""
    with opened(tmp_path / "one", HashEmbedder(32)) as memory:
        (id,) = memory.add([("user", "我住在杭州。")], session_id="一")
        memory.remember("Lives in Hangzhou.", source_ids=[id])
        memory.export_to(tmp_path / "export.jsonl")
    assert embed_source(tmp_path / "export.jsonl", tmp_path / "v", embedder=HashEmbedder(32)).embedded == 2
    with opened(tmp_path / "two", model := Counting()) as memory:
        assert memory.import_from(tmp_path / "export.jsonl", vectors=tmp_path / "v").added == 2
        assert model.texts == []


def test_a_batch_that_fails_is_tried_once_more(tmp_path: Path, source: Path) -> None:
    """Text by text, when all others are done; what fails twice is counted, and a later run makes it."""
    assert embed_source(source, tmp_path / "a", embedder=Counting(fails_at="恭喜", times=1)).failed == 0
    report = embed_source(source, tmp_path / "b", embedder=Counting(fails_at="恭喜", times=99))
    assert (report.failed, report.error) == (1, "out of memory")
    assert embed_source(source, tmp_path / "b", embedder=Counting()).embedded == 1


def test_the_file_holds_no_words_and_is_its_owners(tmp_path: Path, source: Path) -> None:
    """Neither texts nor ids are in it, and nobody else may read it."""
    embed_source(source, tmp_path / "v", embedder=HashEmbedder(32))
    data = (tmp_path / "v").read_bytes()
    for word in ("杭州", "Thanks", "c-1", "n1", "笔记", "notes"):
        assert word.encode() not in data
    assert (tmp_path / "v").stat().st_mode & 0o777 == 0o600


def test_forget_can_vouch_for_the_store(tmp_path: Path, source: Path) -> None:
    """The file may not lie in the store's folder, and with one in use nothing of a forgotten text is left there."""
    with opened(tmp_path / "store", HashEmbedder(32)) as memory:
        memory.import_from(source, vectors=tmp_path / "v")
        with pytest.raises(ConfigurationError, match="store's own folder"):
            memory.import_from(source, vectors=tmp_path / "store" / "v")
        vector = HashEmbedder(32).embed_query("Thanks.").astype(np.float16).tobytes()
        memory.forget(everything=True)
    held = [path.read_bytes() for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert not any(vector in data or b"Thanks." in data for data in held)


def test_vectors_of_another_space_are_refused(tmp_path: Path, source: Path) -> None:
    """Another model's file is an error that says what to do, and nothing is imported."""
    embed_source(source, tmp_path / "v", embedder=HashEmbedder(32))
    for other in (HashEmbedder(16), HashEmbedder(32, name="other")):
        with opened(":memory:", other) as memory:
            with pytest.raises(EmbedderMismatchError, match="same embedder"):
                memory.import_from(source, vectors=tmp_path / "v")
            assert memory.stats().messages == 0
    (tmp_path / "text").write_text("something of the user's\n")
    with pytest.raises(ConfigurationError, match="no file of vectors"):
        embed_source(source, tmp_path / "text", embedder=HashEmbedder(32))
    assert (tmp_path / "text").read_text() == "something of the user's\n"


def test_a_torn_or_damaged_file_costs_its_rows_alone(tmp_path: Path) -> None:
    """Cut off anywhere, it opens with the rows before; a row that does not check is embedded anew."""
    texts = [f"text {number}" for number in range(40)]
    path = tmp_path / "v"
    cache = VectorCache(path, model := Counting())
    rows, made = cache.rows(texts, batch=7)
    assert made == 40
    cache.close()
    data = path.read_bytes()
    path.write_bytes(data[:-30])
    cache = VectorCache(path, model)
    assert len(cache) == 39
    again, made = cache.rows(texts, batch=7)
    assert made == 1
    assert np.array_equal(rows, again)
    cache.close()
    path.write_bytes(data[:2_000] + bytes([data[2_000] ^ 1]) + data[2_001:])
    cache = VectorCache(path, model)
    again, made = cache.rows(texts, batch=7)
    assert made == 1
    assert np.array_equal(rows, again)
    cache.close()


def test_rows_are_found_among_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether they were there before, or have come since, sorted in already or not."""
    monkeypatch.setattr(vector_cache, "_MERGE", 100)
    texts = [f"text {number}" for number in range(1_050)]
    model = HashEmbedder(8)
    cache = VectorCache(tmp_path / "v", model)
    cache.rows(texts, batch=64)
    assert all(np.array_equal(cache.get(text), model.embed_query(text)) for text in texts[::50])
    cache.close()
    cache = VectorCache(tmp_path / "v", model)
    assert cache.rows([*texts, "new", "new"], batch=64)[1] == 1
    assert cache.get("never") is None
    cache.close()


def test_one_process_has_it_at_a_time(tmp_path: Path) -> None:
    """A file in use is refused, and free again when it is closed."""
    cache = VectorCache(tmp_path / "v", HashEmbedder(8))
    with pytest.raises(ConfigurationError, match="in use"):
        VectorCache(tmp_path / "v", HashEmbedder(8))
    cache.close()
    VectorCache(tmp_path / "v", HashEmbedder(8)).close()
