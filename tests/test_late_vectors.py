"""Vectors that come late: adding never waits long, nothing is lost, and flush catches up."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

from siltstone import BackendUnavailableError, EmbedderMismatchError, Message, ModelError, Settings, TieredMemory
from siltstone.protocols import Floats, Query
from siltstone.testing import FailingEmbedder, HashEmbedder, WordCounter
from siltstone.text.keys import dense_key

QUICK = Settings(embed_wait=0.05, close_wait=0.05, embed_batch=4)


class GatedEmbedder(HashEmbedder):
    """An embedder that answers for documents only once its gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Wait for the gate, then answer."""
        self.gate.wait()
        return super().embed_documents(texts)


def test_a_slow_embedder_does_not_hold_up_an_add(tmp_path: Path) -> None:
    """What the embedder has not done in time is stored, found by its words, counted, and embedded later."""
    embedder = GatedEmbedder()
    with TieredMemory.open(tmp_path, embedder=embedder, settings=QUICK, token_counter=WordCounter()) as memory:
        memory.add([("user", "warm up")], session_id="s")
        embedder.gate.clear()
        memory.add([("user", f"bees number {n}") for n in range(10)], session_id="s")
        assert memory.stats().pending_vectors == 10
        assert len(memory.search("bees", top_k=20)) == 11
        with pytest.raises(BackendUnavailableError, match="10 texts"):
            memory.flush(timeout=0.01)
        embedder.gate.set()
        memory.flush()
        assert memory.stats().pending_vectors == 0


def test_a_search_waits_a_moment_for_what_was_just_said(tmp_path: Path) -> None:
    """A few texts whose vectors are about to come are found by their meaning at the very next search."""

    class Waking(HashEmbedder):
        """An embedder that takes longer to wake up than a write waits."""

        @cached_property
        def awake(self) -> bool:
            """Let the first write's wait pass, once."""
            time.sleep(0.8)
            return True

        def embed_documents(self, texts: Sequence[str]) -> Floats:
            """Answer, once awake."""
            assert self.awake
            return super().embed_documents(texts)

    settings = Settings(embed_wait=0.6)
    with TieredMemory.open(tmp_path, embedder=Waking(), settings=settings, token_counter=WordCounter()) as memory:
        memory.add([("user", "I keep bees.")], session_id="s")
        assert memory.stats().pending_vectors == 1
        assert [hit.record.text for hit in memory.search("Imkerei")] == ["I keep bees."]


def test_what_was_pending_at_the_end_is_embedded_after_reopening(tmp_path: Path) -> None:
    """A memory closed, or killed, with vectors due goes on with them at the next opening."""
    embedder = FailingEmbedder(failing=False)
    with TieredMemory.open(tmp_path, embedder=embedder, settings=QUICK, token_counter=WordCounter()) as memory:
        memory.add([("user", "warm up")], session_id="s")
        embedder.failing = True
        memory.add([("user", "I keep bees.")], session_id="s")
        assert memory.stats().pending_vectors == 1
    with TieredMemory.open(tmp_path, embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        memory.flush()
        assert memory.stats().pending_vectors == 0


def test_an_unreachable_embedder_is_announced_once_and_keeps_every_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A dead service costs no message; one warning and the statistics tell of it, flush raises it."""
    embedder = FailingEmbedder(failing=False)
    with TieredMemory.open(tmp_path, embedder=embedder, settings=QUICK, token_counter=WordCounter()) as memory:
        memory.add([("user", "warm up")], session_id="s")
        embedder.failing = True
        with caplog.at_level(logging.WARNING, "siltstone"):
            for n in range(3):
                memory.add([("user", f"bees number {n}")], session_id="s")
        assert len(memory.messages("s")) == 4
        assert sum("embedder failed" in record.message for record in caplog.records) == 1
        assert "BackendUnavailableError" in (memory.stats().last_error or "")
        with pytest.raises(BackendUnavailableError):
            memory.flush()
        embedder.failing = False
        memory.flush()
        assert memory.stats().pending_vectors == 0
        assert memory.stats().last_error is None


class BrokenEmbedder(HashEmbedder):
    """An embedder whose rows are replaced by ``rows`` once it is set."""

    rows: Floats | None = None

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return what was set, else honest rows."""
        return super().embed_documents(texts) if self.rows is None else np.repeat(self.rows, len(texts), axis=0)


@pytest.mark.parametrize(
    "rows",
    [
        np.full((1, 256), np.nan, np.float32),
        np.full((1, 256), np.inf, np.float32),
        np.ones((1, 255), np.float32),
        np.zeros((1, 256), np.float32),
    ],
    ids=["nan", "infinity", "width", "zero"],
)
def test_nonsense_from_the_embedder_changes_nothing(tmp_path: Path, rows: Floats) -> None:
    """An embedder that breaks its contract is refused, and the message with it: the caller knows."""
    embedder = BrokenEmbedder()
    with TieredMemory.open(tmp_path, embedder=embedder, token_counter=WordCounter()) as memory:
        memory.add([("user", "warm up")], session_id="s")
        revision = memory.revision
        embedder.rows = rows
        with pytest.raises(ModelError, match="nothing was stored"):
            memory.add([Message("user", "I keep bees.")], session_id="s")
        assert memory.revision == revision
        assert len(memory.messages("s")) == 1


def test_another_embedder_is_refused_by_name_and_the_store_can_be_moved(tmp_path: Path) -> None:
    """Opening with another model names both and the command; reembed moves the store and can be resumed."""
    old, new = HashEmbedder(), HashEmbedder(64, name="other")
    with TieredMemory.open(tmp_path, embedder=old, token_counter=WordCounter()) as memory:
        memory.add([("user", f"bees number {n}") for n in range(9)], session_id="s")
    with pytest.raises(EmbedderMismatchError, match="siltstone reembed"):
        TieredMemory.open(tmp_path, embedder=new)
    failing = FailingEmbedder(new, failing=False)

    def fail_after_first(done: int, total: int) -> None:
        failing.failing = True

    with pytest.raises(BackendUnavailableError):
        TieredMemory.reembed(tmp_path, embedder=failing, settings=QUICK, progress=fail_after_first)
    steps: list[tuple[int, int]] = []
    made = TieredMemory.reembed(
        tmp_path, embedder=new, settings=QUICK, progress=lambda done, total: steps.append((done, total))
    )
    assert made == 5
    assert steps[-1] == (5, 5)
    with TieredMemory.open(tmp_path, embedder=new, token_counter=WordCounter()) as memory:
        assert memory.stats().pending_vectors == 0
        assert memory.search("bees number 3")[0].record.text == "bees number 3"
    with pytest.raises(EmbedderMismatchError):
        TieredMemory.open(tmp_path, embedder=old)


def test_the_same_name_with_other_vectors_is_refused(tmp_path: Path) -> None:
    """A model that changed behind its name is noticed by the probe, before anything is mixed."""
    with TieredMemory.open(tmp_path, embedder=HashEmbedder(name="a"), token_counter=WordCounter()) as memory:
        memory.add([("user", "I keep bees.")], session_id="s")
    impostor = HashEmbedder(name="b")
    impostor.name = "a"
    impostor.embed_query = HashEmbedder(name="c").embed_query  # type: ignore[method-assign]
    with TieredMemory.open(tmp_path, embedder=impostor, token_counter=WordCounter()) as memory:
        with pytest.raises(EmbedderMismatchError):
            memory.add([("user", "I keep goats.")], session_id="s")
        with pytest.raises(EmbedderMismatchError):
            memory.search("bees")
        assert len(memory.messages("s")) == 1


def test_words_are_found_while_the_embedder_is_down(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A dead service costs a search its vectors, not its answer; it is announced, and soon not asked any more."""
    embedder = FailingEmbedder(failing=False)
    with TieredMemory.open(tmp_path, embedder=embedder, settings=QUICK, token_counter=WordCounter()) as memory:
        memory.add([("user", "I keep bees."), ("user", "我养蜜蜂。")], session_id="s")
        embedder.failing = True
        with caplog.at_level(logging.WARNING, "siltstone"):
            assert memory.search("bees")[0].record.text == "I keep bees."
            calls = embedder.calls
            assert memory.search("蜜蜂")[0].record.text == "我养蜜蜂。"
        assert embedder.calls == calls
        assert "found by words" in caplog.text
        assert "BackendUnavailableError" in (memory.stats().last_error or "")


class APIConnectionError(Exception):
    """What another library raises: it has no root that siltstone knows."""


class Service:
    """A service of vectors, each call of which raises while it is ``down``."""

    down = False

    def rows(self, texts: Sequence[str]) -> list[list[float]]:
        """Return vectors as lists."""
        if self.down:
            raise APIConnectionError("Connection error.")
        return HashEmbedder().embed_documents(texts).tolist()  # type: ignore[no-any-return]


class LangChainLike(Service):
    """What a LangChain embedding looks like from outside."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return vectors."""
        return self.rows(texts)

    def embed_query(self, text: str) -> list[float]:
        """Return one vector."""
        return self.rows([text])[0]


class LlamaIndexLike(Service):
    """What a LlamaIndex embedding looks like from outside."""

    def get_text_embedding_batch(self, texts: list[str]) -> list[list[float]]:
        """Return vectors."""
        return self.rows(texts)

    def get_query_embedding(self, query: str) -> list[float]:
        """Return one vector."""
        return self.rows([query])[0]


class Function(Service):
    """A function of the user's own."""

    def __call__(self, texts: list[str]) -> list[list[float]]:
        """Return vectors."""
        return self.rows(texts)


class Squeamish(HashEmbedder):
    """An embedder that works, but for texts with a certain word."""

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Refuse what holds the word."""
        if any("poison" in text for text in texts):
            raise RuntimeError("this text I cannot take")
        return super().embed_documents(texts)


def test_a_text_that_is_refused_holds_up_no_other(tmp_path: Path) -> None:
    """What an embedder that works never takes stays stored and found by its words; all others get their vectors."""
    with TieredMemory.open(tmp_path, embedder=Squeamish(), settings=QUICK, token_counter=WordCounter()) as memory:
        memory.add([("user", f"{'poison' if n in (0, 5) else 'honey'} number {n}") for n in range(12)], session_id="s")
        with pytest.raises(BackendUnavailableError, match="refuses 2 texts"):
            memory.flush(timeout=30)
        assert memory.stats().pending_vectors == 2
        assert "refuses 2 texts" in (memory.stats().last_error or "")
        memory.add([("user", "honey for tea")], session_id="s")
        with suppress(BackendUnavailableError):
            memory.flush(timeout=30)
        assert memory.stats().pending_vectors == 2
        (best, *_) = memory.search("honey tea")
        assert "dense" in best.why  # questions are still put to it
        assert [hit.record.text for hit in memory.search("poison", top_k=2)] == ["poison number 0", "poison number 5"]


class OwnEmbedder(Service, HashEmbedder):
    """An embedder of the user's own, which raises what it likes."""

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return vectors."""
        return np.asarray(self.rows(texts), np.float32)

    def embed_query(self, text: str) -> Floats:
        """Return one vector."""
        return self.embed_documents([text])[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("used_before", [True, False])
@pytest.mark.parametrize("kind", [LangChainLike, LlamaIndexLike, Function, OwnEmbedder])
def test_an_outage_of_any_embedder_costs_no_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: type[Service], used_before: bool
) -> None:
    """Whatever a framework's embedder raises, texts reach the disk, are found by words, and get vectors later."""
    embedder = kind()
    with TieredMemory.open(tmp_path, embedder=embedder, settings=QUICK, token_counter=WordCounter()) as memory:
        if used_before:
            memory.add([("user", "warm up")], session_id="s")
            memory.flush()
        embedder.down = True
        with caplog.at_level(logging.WARNING, "siltstone"):
            memory.add([("user", "I keep bees.")], session_id="s")
            assert memory.search("bees")[0].record.text == "I keep bees."
            assert "bees" in memory.context("What do I do with bees?", max_tokens=200).text
        assert sum("embedder failed" in record.message for record in caplog.records) == 1
        assert "APIConnectionError" in (memory.stats().last_error or "")
    embedder.down = False
    with TieredMemory.open(tmp_path, embedder=embedder, settings=QUICK, token_counter=WordCounter()) as memory:
        assert memory.messages("s")[-1].content == "I keep bees."
        memory.flush()
        assert memory.stats().pending_vectors == 0
        assert memory.stats().last_error is None


def test_a_store_moved_behind_an_open_memory_is_noticed(tmp_path: Path) -> None:
    """A memory opened before the store was moved to another embedder mixes nothing in."""
    with TieredMemory.open(tmp_path, embedder=HashEmbedder(name="A"), token_counter=WordCounter()) as memory:
        memory.add([("user", "tea")], session_id="s")
        TieredMemory.reembed(tmp_path, embedder=HashEmbedder(name="B"))
        with pytest.raises(EmbedderMismatchError):
            memory.add([("user", "green cat jumps")], session_id="s")
        with pytest.raises(EmbedderMismatchError):
            memory.search("tea")


class MovedEmbedder(HashEmbedder):
    """An embedder whose store is moved to another one, in the same process, once it has made its vectors."""

    def __init__(self, folder: Path) -> None:
        super().__init__(name="A")
        self.folder = folder
        self.moves = False

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return the rows of the old space."""
        rows = super().embed_documents(texts)
        if self.moves:
            self.moves = False
            TieredMemory.reembed(self.folder, embedder=HashEmbedder(name="B"))
        return rows


@pytest.mark.parametrize("wait", [30, 0])
def test_vectors_made_before_a_move_are_refused_after_it(tmp_path: Path, wait: float) -> None:
    """A store moved between the making of a vector and its writing, in one process, lets none of the old space in."""
    embedder, new = MovedEmbedder(tmp_path), HashEmbedder(name="B")
    settings = Settings(embed_wait=wait)
    with TieredMemory.open(tmp_path, embedder=embedder, token_counter=WordCounter(), settings=settings) as memory:
        memory.add([("user", "tea")], session_id="s")
        memory.flush()
        embedder.moves = True
        with suppress(EmbedderMismatchError):
            memory.add([("user", "green cat jumps")], session_id="s")
            memory.flush()
    with TieredMemory.open(tmp_path, embedder=new, token_counter=WordCounter()) as memory:
        memory.flush()
        store = memory._engine.store
        for record in memory.records():
            candidates = store.candidates("default", Query((), new.embed_query(dense_key(record))))
            assert np.nanmax(candidates.dense) == pytest.approx(1, abs=1e-2)
        assert [m.content for m in memory.messages("s")] == (["tea"] if wait else ["tea", "green cat jumps"])


def test_a_forked_child_embeds_and_searches(tmp_path: Path) -> None:
    """Threads and executors of the parent are not waited for in a child."""
    with TieredMemory.open(tmp_path, embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        memory.add([("user", "I keep bees.")], session_id="s")
        asyncio.run(memory.asearch("bees"))
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            memory.add([("user", "I keep goats.")], session_id="s")
            os._exit(0 if asyncio.run(memory.asearch("goats")) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(memory.messages("s")) == 2
