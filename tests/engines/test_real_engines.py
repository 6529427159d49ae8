"""Vector stores as users run them, killed and started again. ``.ci/run engines`` installs them and runs this."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from servers import MilvusServer

from items import DIM, asked, said, space, vector
from siltstone import Settings, TieredMemory
from siltstone.errors import BackendUnavailableError, ConfigurationError
from siltstone.stores.vectorstore.arm import VectorStoreArm
from siltstone.testing import HashEmbedder
from vector_stores import ENGINES, over_vector_store

pytestmark = [
    pytest.mark.filterwarnings("default"),  # theirs are not ours to mend
    pytest.mark.timeout(1_200),  # a busy machine takes minutes to start and kill them
]


@pytest.fixture(params=["chroma", "qdrant", "milvus"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The name of an engine that is installed; Milvus has its server."""
    name: str = request.param
    pytest.importorskip(f"llama_index.vector_stores.{name}")
    if name == "milvus":
        server = request.getfixturevalue("milvus_server")
        os.environ["SILTSTONE_MILVUS"] = server.url
        yield name
        del os.environ["SILTSTONE_MILVUS"]
    else:
        yield name


@pytest.fixture
def milvus_server(tmp_path: Path) -> Iterator[MilvusServer]:
    """A server of this test's own."""
    pytest.importorskip("milvus_lite")
    server = MilvusServer(tmp_path / "milvus")
    yield server
    server.kill()


def test_a_killed_writer_leaves_no_difference(engine: str, tmp_path: Path) -> None:
    """Killed three times amid writes: what was acknowledged is there, and after a flush both sides hold the same."""
    acknowledged = tmp_path / "acknowledged"
    for round in range(1, 4):
        writer = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("writing.py"), engine, tmp_path, acknowledged],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        try:
            while (len(acknowledged.read_text().splitlines()) if acknowledged.exists() else 0) < 15 * round:
                assert writer.poll() is None
                time.sleep(0.02)
        finally:
            writer.kill()  # SIGKILL
            writer.wait()
    noted = acknowledged.read_text().splitlines()
    gone = {line[1:] for line in noted if line[0] == "-"}
    kept = {line[1:] for line in noted if line[0] == "+" and int(line.rpartition("-")[2]) % 5 != 4}
    with closing(over_vector_store(f"{engine}-over-folder", tmp_path)) as store:
        there = {message.id for message in store.messages("u", "s")}
        assert kept <= there
        assert not gone & there
        flush(store)
        user = store._registry.user("u")
        names = set(store._registry.all("u").values())
        assert len(names) == len(there)
        assert set(store._line.ask("list", lambda engine: engine.listed(user)) or ()) == names


def flush(store: VectorStoreArm) -> None:
    """Do what ``TieredMemory.flush`` does, of what is unknown at once."""
    store.reconcile("u", grace=0.0)
    while records := store.pending("u", 50):
        store.put_vectors("u", records, np.stack([vector(int(record.text.split()[1])) for record in records]))
    assert store.stats("u").pending_vectors == 0


def test_a_killed_server_costs_no_write(milvus_server: MilvusServer, tmp_path: Path) -> None:
    """Down, writes are acknowledged and searches say so; up again, everything is found by meaning."""
    milvus = pytest.importorskip("llama_index.vector_stores.milvus")
    embedder = HashEmbedder()
    there = milvus.MilvusVectorStore(
        uri=milvus_server.url, dim=embedder.dim, collection_name="m", similarity_metric="IP", consistency_level="Strong"
    )
    patient = Settings(close_wait=0.1)
    with TieredMemory.open(tmp_path / "store", embedder=embedder, vector_store=there, settings=patient) as memory:
        memory.add([("user", "I sing in a choir.")], session_id="s")
        memory.flush(30)
        milvus_server.kill()
        memory.add([("user", "I play the cello.")], session_id="s")
        assert memory.stats().pending_vectors == 1
        with pytest.raises(BackendUnavailableError):
            memory.search("cello")
        report = memory.forget(ids=[memory.messages("s")[0].id or ""])
        assert "still holds 1 vectors of it" in report.remains[0]
        milvus_server.start()
        loaded(there, within=120)
        until = time.monotonic() + 120
        while memory.stats().pending_vectors and time.monotonic() < until:
            with suppress(BackendUnavailableError):
                memory.flush(5)
            time.sleep(0.2)
        assert memory.stats().pending_vectors == 0
        assert [hit.record.text for hit in memory.search("cello")] == ["I play the cello."]


def loaded(there: Any, *, within: float) -> None:
    """Have a server that was started again load its collection, as a whole Milvus does by itself."""
    until = time.monotonic() + within
    while True:
        try:
            there.client.load_collection("m")
            return
        except Exception:  # its client takes a while to connect again
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


def test_another_width_is_refused(engine: str, tmp_path: Path) -> None:
    """A collection of one width takes no vectors of another: said at opening, by the engine's name."""
    there = ENGINES[engine](tmp_path / "vectors", DIM)
    with TieredMemory.open(tmp_path / "a", embedder=HashEmbedder(dim=DIM), vector_store=there) as memory:
        memory.remember("Alice sings in a choir.")
    with pytest.raises(ConfigurationError, match=f"cannot keep vectors of {DIM + 8} numbers"):
        TieredMemory.open(tmp_path / "b", embedder=HashEmbedder(dim=DIM + 8), vector_store=there)


def test_nearness_is_the_same_to_the_last_digit(engine: str, tmp_path: Path) -> None:
    """Whatever the engine's metric and score, a record's nearness is what a store with vectors of its own computes."""
    from siltstone.stores.ram import RamStore

    plain = RamStore()
    with closing(over_vector_store(f"{engine}-over-ram", tmp_path)) as store:
        for each in (store, plain):
            each.set_fingerprint(space())
            each.commit("u", [said(f"m{n}", f"text {n}", seed=n) for n in range(150)])
        ours, theirs = (each.candidates("u", asked(seed=7, depth=100)).dense for each in (store, plain))
        known = ~np.isnan(ours)
        assert np.count_nonzero(known) >= 100
        assert ours[known] == pytest.approx(theirs[known], abs=1e-6)
        assert theirs[~known].max(initial=-1.0) <= ours[known].min()


def test_vectors_move_to_an_engine_and_back(tmp_path: Path) -> None:
    """``reembed`` takes a store's vectors to a vector store, and home again; the texts stay where they are."""
    chroma = pytest.importorskip("llama_index.vector_stores.chroma")
    client = pytest.importorskip("chromadb").PersistentClient(path=str(tmp_path / "chroma"))
    there = chroma.ChromaVectorStore(chroma_collection=client.get_or_create_collection("memory"))
    place = tmp_path / "store"
    with TieredMemory.open(place, embedder=HashEmbedder()) as memory:
        memory.remember("Alice sings in a choir.")
    assert TieredMemory.reembed(place, embedder=HashEmbedder(), vector_store=there) == 1
    with TieredMemory.open(place, embedder=HashEmbedder(), vector_store=there) as memory:
        assert memory.stats().pending_vectors == 0
        assert memory.search("a choir")
        memory.forget(everything=True)
        memory.remember("Bob plays the cello.")
        memory.flush(30)
        assert there.client.count() == 1
    assert TieredMemory.reembed(place, embedder=HashEmbedder()) == 1
    with TieredMemory.open(place, embedder=HashEmbedder()) as memory:
        assert memory.search("a cello")
