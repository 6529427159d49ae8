"""Vectors in a LlamaIndex vector store: what is promised of them, over the real ones, and over one that fails."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from items import DIM, asked, known, said, space, vector
from plain_and_encrypted import KEY
from siltstone import Settings, TieredMemory
from siltstone.errors import BackendUnavailableError, ConfigurationError, EmbedderMismatchError
from siltstone.protocols import KeepsOwed, KeepsUsage, SharesWork
from siltstone.stores.folder import FolderStore
from siltstone.stores.ram import RamStore
from siltstone.stores.table.plan import halves
from siltstone.stores.vectorstore.arm import VectorStoreArm
from siltstone.stores.vectorstore.llama_index import LlamaIndexEngine
from siltstone.stores.vectorstore.names import fresh, names_of
from siltstone.stores.vectorstore.passing import arm_over
from siltstone.testing import HashEmbedder

stores = pytest.importorskip("llama_index.core.vector_stores")


class Unsteady(stores.SimpleVectorStore):  # type: ignore[misc, name-defined]
    """LlamaIndex's own vector store, of which a test can say that it is down, or that it mixes users up."""

    down: bool = False
    leaks: bool = False

    def _check(self) -> None:
        if self.down:
            raise ConnectionError("connection refused")

    def add(self, nodes: Sequence[Any], **options: Any) -> list[str]:
        """Keep vectors, when it is up."""
        self._check()
        added: list[str] = super().add(nodes, **options)
        return added

    def delete_nodes(self, *arguments: Any, **options: Any) -> None:
        """Delete vectors, when it is up."""
        self._check()
        super().delete_nodes(*arguments, **options)

    def get(self, text_id: str) -> list[float]:
        """Return a vector, when it is up."""
        self._check()
        found: list[float] = super().get(text_id)
        return found

    def query(self, query: Any, **options: Any) -> Any:
        """Search, when it is up; where it leaks, among everybody's vectors."""
        self._check()
        if self.leaks:
            query.filters = None
        return super().query(query, **options)

    @property
    def held(self) -> set[str]:
        """The names of all vectors in it."""
        return set(self.data.embedding_dict)


@pytest.fixture
def engine() -> Unsteady:
    """A vector store that works."""
    return Unsteady()


@pytest.fixture
def store(engine: Unsteady) -> Iterator[VectorStoreArm]:
    """A store in memory over it, whose engine is asked again at once after a failure."""
    made = over(RamStore(), engine)
    yield made
    made.close()


def over(inner: Any, engine: Unsteady, **options: Any) -> VectorStoreArm:
    """Return a store over another one, in an embedding space."""
    made = VectorStoreArm(inner, LlamaIndexEngine(engine), **options)
    if made.fingerprint() is None:
        made.set_fingerprint(space())
    return made


def nearest(store: VectorStoreArm, seed: int, user: str = "u") -> list[str]:
    """Return the ids of the records whose nearness to a vector is known, the nearest first."""
    found = store.candidates(user, asked(seed=seed))
    rows = [row for row in np.argsort(-found.dense) if found.eligible[row] and not np.isnan(found.dense[row])]
    return [record.id for record in store.resolve(user, found.keys[rows].tolist()) if record is not None]


def names(store: VectorStoreArm, user: str = "u") -> set[str]:
    """Return the names that a user's records have in the engine."""
    return set(store._registry.all(user).values())


# --- names


@given(st.integers(0, 50), st.integers(1, 3))
def test_a_name_survives_what_stores_do_to_vectors(count: int, times: int) -> None:
    """Scaled to unit length and rounded to float16 as often as one likes, a row stands for the same name."""
    rows = fresh(count)
    before = names_of(rows)
    for _ in range(times):
        rows = halves(list(rows), rows.shape[1]).astype(np.float32) if count else rows
    assert names_of(rows) == before
    assert len(set(before)) == count


# --- what is refused


def test_what_an_engine_cannot_do_is_refused_by_name(engine: Unsteady) -> None:
    """Without deletion by id, filters by user, or nearness in order there is no opening, and the error says which."""
    faiss = pytest.importorskip("faiss")
    flat = pytest.importorskip("llama_index.vector_stores.faiss").FaissVectorStore(
        faiss_index=faiss.IndexFlatIP(HashEmbedder().dim)
    )
    with pytest.raises(ConfigurationError, match="FaissVectorStore cannot delete vectors by id"):
        TieredMemory.open(":memory:", embedder=HashEmbedder(), vector_store=flat)
    engine.leaks = True
    with pytest.raises(ConfigurationError, match="its filter by user passes both"):
        TieredMemory.open(":memory:", embedder=HashEmbedder(), vector_store=engine)
    assert engine.held == set()


def test_an_encrypted_store_takes_none(tmp_path: Path) -> None:
    """Vectors of an encrypted store are not put into another engine in the clear, and nothing is made."""
    pytest.importorskip("cryptography", reason="needs the extra encryption")
    with pytest.raises(ConfigurationError, match="encrypted"):
        TieredMemory.open(tmp_path / "store", key=KEY, embedder=HashEmbedder(), vector_store=Unsteady())


def test_vectors_that_end_with_the_process_are_refused_for_texts_that_do_not(tmp_path: Path) -> None:
    """LlamaIndex's in-memory store goes with a store in memory, and with no other."""
    with pytest.raises(ConfigurationError, match="keeps vectors in this process only"):
        TieredMemory.open(tmp_path / "store", embedder=HashEmbedder(), vector_store=Unsteady())
    with TieredMemory.open(":memory:", embedder=HashEmbedder(), vector_store=Unsteady()) as memory:
        memory.remember("Alice sings in a choir.")


@pytest.mark.parametrize("thing", [object(), Unsteady, "chroma", 7])
def test_only_vector_stores_are_vector_stores(thing: Any) -> None:
    """Anything else is a configuration error that says what it takes."""
    with pytest.raises(ConfigurationError, match=r"vector_store|vector store"):
        TieredMemory.open(":memory:", embedder=HashEmbedder(), vector_store=thing)


def test_an_engine_that_is_down_is_no_reason_to_open_without_it(engine: Unsteady) -> None:
    """At opening its outage is an error, or, where searches go on by words, announced."""
    engine.down = True
    with pytest.raises(BackendUnavailableError, match="connection refused"):
        TieredMemory.open(":memory:", embedder=HashEmbedder(), vector_store=engine)
    words = Settings(vector_store_down="degrade")
    with TieredMemory.open(":memory:", embedder=HashEmbedder(), vector_store=engine, settings=words) as memory:
        memory.remember("Alice sings in a choir.")
        assert [hit.record.text for hit in memory.search("choir")] == ["Alice sings in a choir."]
        assert "connection refused" in " ".join(memory.stats().health)


def test_a_store_and_its_engine_belong_together(tmp_path: Path, engine: Unsteady) -> None:
    """A store with vectors of its own is not opened over an engine, nor one over an engine without it."""
    own, there = tmp_path / "own", tmp_path / "there"
    with TieredMemory.open(own, embedder=HashEmbedder()) as memory:
        memory.remember("Alice sings in a choir.")
    with pytest.raises(ConfigurationError, match="keeps its vectors itself"):
        over(FolderStore(own), engine)
    made = over(FolderStore(there), engine)
    made.commit("u", [said("a", "one", seed=1)])
    made.close()
    with pytest.raises(ConfigurationError, match="open it with vector_store"):
        TieredMemory.open(there, embedder=HashEmbedder())


def test_another_embedder_is_refused(store: VectorStoreArm) -> None:
    """Vectors and questions of another space reach neither the store nor the engine."""
    store.commit("u", [said("a", "one", seed=1)])
    with pytest.raises(EmbedderMismatchError):
        store.commit("u", [said("b", "two", seed=2)], space=space("other"))
    with pytest.raises(EmbedderMismatchError):
        store.put_vectors("u", store.pending("u", 1), np.empty((0, DIM), np.float32), space=space("other"))


def test_what_a_store_can_do_beyond_the_contract_goes_on(engine: Unsteady, tmp_path: Path) -> None:
    """Over a store that keeps usage, debts or shared work, the arm does, too; over one that does not, it does not."""
    folder = FolderStore(tmp_path)
    for inner in (RamStore(), folder):
        arm = arm_over(inner, LlamaIndexEngine(engine))
        for contract in (KeepsUsage, KeepsOwed, SharesWork):
            assert isinstance(arm, contract) == isinstance(inner, contract)
    arm_over(folder, LlamaIndexEngine(engine)).turn_usage(lambda page: {"n": 1})
    assert folder.usage() == {"n": 1}
    folder.close()


# --- what is served


def test_users_never_meet_though_the_engine_mixes_them_up(store: VectorStoreArm, engine: Unsteady) -> None:
    """Hits of another user are dropped and counted, whatever the engine's filter lets through."""
    store.commit("u", [said("a", "mine", seed=1)])
    store.commit("v", [said("a", "theirs", seed=2, user="v"), said("b", "theirs, too", seed=1, user="v")])
    engine.leaks = True
    assert nearest(store, 1) == ["turn:a"]
    assert store.dropped == 2
    assert "2 hits of Unsteady belonged to no text" in " ".join(store.stats("u").health)


def test_vectors_of_others_in_the_same_engine_stay_untouched(engine: Unsteady) -> None:
    """Two stores share one engine: neither finds, counts nor deletes what is the other's."""
    one, two = over(RamStore(), engine, grace=0.0), over(RamStore(), engine, grace=0.0)
    one.commit("u", [said("a", "one", seed=1)])
    two.commit("u", [said("b", "two", seed=1)])
    assert (one.reconcile("u"), two.reconcile("u")) == (0, 0)
    assert (nearest(one, 1), nearest(two, 1)) == (["turn:a"], ["turn:b"])
    one.remove("u", [], everything=True)
    assert engine.held == names(two)


def test_text_never_reaches_the_engine(store: VectorStoreArm, engine: Unsteady) -> None:
    """What lies there is a vector, the id of its record and a hash of its user."""
    store.commit("alice@example.com", [said("a", "I sing in a choir.", seed=1, user="alice@example.com")])
    told = repr(engine.data.to_dict())
    assert "choir" not in told
    assert "alice" not in told


# --- what the engine does not take


def test_a_write_is_acknowledged_while_the_engine_is_down(store: VectorStoreArm, engine: Unsteady) -> None:
    """The text is stored and found by its words, its vector is pending, counted, and sent later."""
    engine.down = True
    assert store.commit("u", [said("a", "one", seed=1)]).waiting == 1
    assert store.stats("u").pending_vectors == 1
    with pytest.raises(BackendUnavailableError):
        store.candidates("u", asked("one", seed=1))
    engine.down = False
    assert store.put_vectors("u", store.pending("u", 9), vector(1)[None]) == 1
    assert store.stats("u").pending_vectors == 0
    assert nearest(store, 1) == ["turn:a"]


def test_the_queue_sends_what_waits(engine: Unsteady, caplog: pytest.LogCaptureFixture) -> None:
    """``flush`` says that vectors wait while the engine is down, and waits for them once it is up."""
    with TieredMemory.open(":memory:", embedder=HashEmbedder(), vector_store=engine) as memory:
        engine.down = True
        with caplog.at_level(logging.WARNING, "siltstone"):
            memory.add([("user", "I sing in a choir.")], session_id="s")
        assert "the vector store Unsteady failed to keep 1 vectors" in caplog.text
        assert memory.stats().pending_vectors == 1
        with pytest.raises(BackendUnavailableError):
            memory.flush(5)
        engine.down = False
        memory.flush(30)
        assert memory.stats().pending_vectors == 0
        assert len(engine.held) == 1
        assert [hit.record.text for hit in memory.search("Who sings?")] == ["I sing in a choir."]


def test_a_search_goes_on_by_words_where_it_may(engine: Unsteady) -> None:
    """With ``vector_store_down="degrade"`` an outage costs nearness only, and is announced."""
    store = over(RamStore(), engine, outage="degrade")
    store.commit("u", [said("a", "one", seed=1), said("b", "two", seed=2)])
    engine.down = True
    found = store.candidates("u", asked("two", seed=1))
    assert np.isnan(found.dense).all()
    assert len(found.postings[0][0]) == 1
    assert "connection refused" in " ".join(store.stats("u").health)


def test_what_is_pending_survives_the_process(tmp_path: Path, engine: Unsteady) -> None:
    """Neither vectors that were not sent nor those that were not deleted are forgotten with the process."""
    store = over(FolderStore(tmp_path), engine)
    store.commit("u", [said("a", "one", seed=1), said("b", "two", seed=2)])
    engine.down = True
    store.commit("u", [said("c", "three", seed=3)])
    store.forget("u", ["a"])
    store.close()
    again = over(FolderStore(tmp_path), engine)
    assert again.stats("u").pending_vectors == 2
    engine.down = False
    again.put_vectors("u", again.pending("u", 9), vector(3)[None])
    assert again.stats("u").pending_vectors == 0
    assert engine.held == names(again)
    assert sorted(nearest(again, 1)) == ["turn:b", "turn:c"]
    again.close()


# --- forgetting


def test_what_is_forgotten_is_gone_from_the_engine_when_it_returns(store: VectorStoreArm, engine: Unsteady) -> None:
    """Its own vector, and those of what rests on it; nothing else, and no note of it is left."""
    store.commit("u", [said("a", "one", seed=1), said("b", "two", seed=2), known("k", "x", seed=3, source_ids=("a",))])
    before = engine.held
    report = store.forget("u", ["a"])
    assert report.derived == ("k",)
    assert len(before - engine.held) == 2
    assert engine.held == names(store)
    assert len(list(store.items("u"))) == 1
    store.remove("u", [], everything=True)
    assert engine.held == set()
    assert next(store.items("u"), None) is None


def test_what_is_forgotten_in_an_outage_is_hidden_at_once_and_deleted_later(
    store: VectorStoreArm, engine: Unsteady
) -> None:
    """It is found no more, the vectors left behind are counted, and go by themselves; so for everything of a user."""
    store.commit("u", [said("a", "one", seed=1), said("b", "two", seed=2)])
    engine.down = True
    store.forget("u", ["a"])
    assert store.fetch("u", ["a"]) == [None]
    assert store.stats("u").pending_vectors == 1
    assert "1 vectors of forgotten texts wait to be deleted" in " ".join(store.stats("u").health)
    store.remove("u", [], everything=True)
    assert store.stats("u").records == 0
    assert "Unsteady did not answer and still holds 2 vectors" in " ".join(store.remains("u"))
    engine.down = False
    assert store.pending("u", 9) == []
    assert engine.held == set()
    assert next(store.items("u"), None) is None


def test_a_changed_text_takes_its_old_vector_along(store: VectorStoreArm, engine: Unsteady) -> None:
    """The vector of the former text is deleted; one whose text stays keeps its own."""
    store.commit("u", [known("k", "Berlin", seed=1)])
    (before,) = engine.held
    store.commit("u", [known("k", "Berlin", version=2, importance=0.5)])
    assert engine.held == {before}
    store.commit("u", [known("k", "Lisbon", seed=2, version=3)])
    assert before not in engine.held
    assert engine.held == names(store)


# --- both sides compared


def test_what_the_engine_lost_is_made_anew(store: VectorStoreArm, engine: Unsteady) -> None:
    """Compared with what the store knows, lost vectors are pending again."""
    store.commit("u", [said("a", "one", seed=1), said("b", "two", seed=2)])
    engine.clear()
    assert store.reconcile("u") == 2
    assert store.stats("u").pending_vectors == 2
    records = store.pending("u", 9)
    store.put_vectors("u", records, np.stack([vector(n) for n, _ in enumerate(records)]))
    assert store.stats("u").pending_vectors == 0
    assert engine.held == names(store)


def test_an_engine_that_came_back_empty_is_noticed_at_the_first_touch(tmp_path: Path) -> None:
    """Opened over an engine without its vectors, a store has them pending before the first search."""
    store = over(FolderStore(tmp_path), Unsteady())
    store.commit("u", [said(str(n), f"text {n}", seed=n) for n in range(40)])
    store.close()
    again = over(FolderStore(tmp_path), Unsteady())
    assert again.stats("u").pending_vectors == 40
    again.close()


def test_what_belongs_to_no_text_is_deleted_once_it_is_old(engine: Unsteady) -> None:
    """A vector whose write was never noted is not served, is left for a while, and then goes."""
    store = over(RamStore(), engine)
    store.commit("u", [said("a", "one", seed=1)])
    (stray,) = names_of(fresh(1))
    assert stray is not None
    LlamaIndexEngine(engine).add(store._registry.user("u"), [stray], ["turn:a"], vector(9)[None])
    assert np.nanmax(store.candidates("u", asked(seed=9)).dense) < 0.9
    assert store.dropped == 1
    assert store.reconcile("u") == 0
    assert store.reconcile("u", grace=0.0) == 1
    assert engine.held == names(store)


Step = tuple[str, int, int]
KINDS_OF_STEP = st.sampled_from(["put", "change", "forget", "down", "up", "send", "wipe"])
STEPS = st.lists(st.tuples(KINDS_OF_STEP, st.integers(0, 5), st.integers(0, 3)), max_size=25)


@settings(deadline=None, max_examples=60)
@given(STEPS)
def test_both_sides_agree_whatever_happened(steps: list[Step]) -> None:
    """After any writes, forgettings and outages, once all is sent the engine holds the store's vectors, and no other.

    What is found then is what a store with vectors of its own finds.
    """
    engine, plain = Unsteady(), RamStore()
    plain.set_fingerprint(space())
    store = over(RamStore(), engine)
    texts: dict[str, tuple[int, int]] = {}
    for step, n, seed in steps:
        id = f"k{n}"
        if step == "down" or step == "up":
            engine.down = step == "down"
            store._line.last_error = None
        elif step == "put" or (step == "change" and id in texts):
            version = texts.get(id, (0, 0))[0] + 1
            texts[id] = (version, seed)
            for each in (store, plain):
                each.commit("u", [known(id, f"text {seed}", seed=seed, version=version)])
        elif step == "forget":
            texts.pop(id, None)
            for each in (store, plain):
                each.remove("u", [id])
        elif step == "wipe":
            texts.clear()
            for each in (store, plain):
                each.remove("u", [], everything=True)
        elif not engine.down:
            send(store)
    engine.down = False
    store._line.last_error = None
    store.reconcile("u", grace=0.0)
    send(store)
    assert engine.held == names(store)
    assert len(engine.held) == len(texts)
    ours, theirs = store.candidates("u", asked(seed=2)), plain.candidates("u", asked(seed=2))
    assert sorted(ours.dense[ours.eligible]) == pytest.approx(sorted(theirs.dense[theirs.eligible]), abs=1e-3)


def send(store: VectorStoreArm) -> None:
    """Do what the queue does: give what is pending its vectors, made of its texts."""
    while records := store.pending("u", 3):
        store.put_vectors("u", records, np.stack([vector(int(record.text.split()[1])) for record in records]))
    assert store.stats("u").pending_vectors == 0
