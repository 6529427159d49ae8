"""Compaction: what no history shows goes from the files, nothing else does, and nobody notices while it happens."""

from __future__ import annotations

import dataclasses
import random
import sys
import tempfile
import threading
from pathlib import Path

import hypothesis
import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from items import asked, known, said, space, vector
from siltstone import NotFoundError, Settings, TieredMemory, upkeep
from siltstone.errors import ConfigurationError
from siltstone.index.vectors import GONE
from siltstone.protocols import Put, Refusal, Stored, Where
from siltstone.stores.files.frames import Frame, scan
from siltstone.stores.folder import FolderStore
from siltstone.stores.ram import RamStore
from siltstone.testing import HashEmbedder, WordCounter
from writers import PROCESSES, compact_until

HISTORY = 3


def opened(folder: Path, **options: int) -> FolderStore:
    """Open a store that keeps few versions in small segments."""
    return FolderStore(folder, durability="os", history=HISTORY, segment_size=options.get("segment_size", 6_000))


def revised(store: FolderStore, *, rounds: int, items: int = 5) -> None:
    """Write items in many versions, with vectors, and forget some."""
    for n in range(1, rounds + 1):
        store.commit(
            "u", [known(f"f{i}", f"version {n} of 记录 {i}", seed=n * 100 + i, version=n) for i in range(items)]
        )
        store.commit("u", [said(f"m{n}", f"message {n}", minute=n, seed=n)])
        if n % 10 == 0:
            store.remove("u", [f"m{n - 5}"], transcripts=[Refusal("s", id=f"m{n - 5}", text=f"message {n - 5}")])
        if n % 7 == 0:
            store.commit("u", [said(f"late{n}", f"late {n}", minute=n)])
            store.put_vectors("u", store.pending("u", 1), np.stack([vector(n)]))


def shown(store: FolderStore | RamStore) -> dict[str, object]:
    """Return all that a store says of a user."""
    records = list(store.scan("u", Where()))
    candidates = store.candidates("u", asked("version", "记录", "message", seed=3))
    eligible = np.flatnonzero(candidates.eligible)
    found = store.resolve("u", candidates.keys[eligible].tolist())
    return {
        "records": records,
        "messages": [store.messages("u", info.session_id) for info in store.sessions("u")],
        "versions": {record.id: store.versions("u", record.id) for record in records},
        "near": {
            record.id: None if np.isnan(cosine) else round(float(cosine), 4)
            for record, cosine in zip(found, candidates.dense[eligible], strict=True)
            if record is not None
        },
        "counts": (candidates.total, candidates.document_frequency.tolist(), round(candidates.mean_length, 6)),
        "lacking": [record.id for record in store.pending("u", 1_000)],
    }


def frames(folder: Path) -> list[Frame]:
    """Return all frames of a store's only user."""
    data = b"".join(path.read_bytes() for path in sorted(folder.rglob("docs.*")))
    found = [piece for piece in scan(data) if isinstance(piece, Frame)]
    assert b"".join(data[piece.start : piece.end] for piece in found) == data
    return found


def test_versions_behind_the_history_leave_the_files(tmp_path: Path) -> None:
    """Compaction takes old versions, their vectors and read notes, and changes nothing that a store says."""
    store = opened(tmp_path)
    store.set_fingerprint(space())
    revised(store, rounds=60)
    before = shown(store)
    assert store.compact("u") > 20_000
    assert shown(store) == before
    assert store.stats("u").health == ()
    notes = [orjson.loads(found.document) for found in frames(tmp_path) if found.number]
    assert sum(note.get("i") == "f0" for note in notes) == HISTORY + 1
    assert not any(note.get("x") for note in notes)
    refused = [hashed for note in notes for hashed in note.get("h", ())]
    assert len(refused) == len(set(refused)) == 12
    live = store.stats("u").records
    assert sum(path.stat().st_size for path in tmp_path.rglob("vectors.*")) == live * (24 + 2 * 16)
    again = opened(tmp_path)
    assert shown(again) == before
    assert again.stats("u").health == ()
    assert again.commit("u", [said("m5", "x"), said("n", "Message 15")]).skipped == ("m5", "n")
    assert again.compact() < 1_000


def test_an_item_changed_without_end_keeps_the_folder_small(tmp_path: Path) -> None:
    """The store compacts by itself while it is written to: documents, vectors and cache stay within a bound."""
    store = FolderStore(tmp_path, durability="os")
    text = "the same words again and again " * 200
    largest = 0
    for n in range(1, 1_001):
        store.commit("u", [known("f", f"{n} {text}", seed=n, version=n)])
        if n % 50 == 0:
            largest = max(largest, sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()))
    store.close()
    assert largest < 3_500_000 < 1_000 * len(text)
    again = FolderStore(tmp_path)
    (record,) = again.scan("u", Where())
    assert record.text.startswith("1000 ")
    assert [old.version for old in again.versions("u", "f")] == list(range(999, 979, -1))


def test_a_cache_forgets_the_rows_of_what_is_gone(tmp_path: Path) -> None:
    """Once a cache is written after compaction, the store and whoever opens it say what it said, in few rows."""
    store = opened(tmp_path)
    store.set_fingerprint(space())
    store.commit("u", [said(f"old{n}", f"message {n} 深圳", minute=-n, seed=n) for n in range(400)])
    revised(store, rounds=200)
    store.compact()
    assert store._users["u"].table.rows.count > 700
    before = shown(store)
    store._users["u"].keep()
    again = opened(tmp_path)
    assert shown(again) == shown(store) == before
    assert again._users["u"].table.rows.count == store._users["u"].table.rows.count < 700
    for one in (store, again):
        one.commit("u", [known("f1", "a new version", version=201, seed=9), said("new", "message", minute=2.5, seed=8)])
    store.remove("u", ["m3", "old7"])
    assert shown(again) == shown(store) == shown(opened(tmp_path))


@pytest.mark.slow
def test_a_large_index_is_restored_without_the_rows_that_are_gone(tmp_path: Path) -> None:
    """Codes of vectors whose rows have gone stay in the index and are never found; all others are, by row."""
    store = FolderStore(tmp_path, durability="os", history=0)
    store.set_fingerprint(space())
    for first in range(0, 36_000, 6_000):
        store.commit("u", [known(f"f{n}", f"v1 {n}", seed=n) for n in range(first, first + 6_000)])
    store.commit("u", [known(f"f{n}", f"v2 {n}", seed=n + 10**6, version=2) for n in range(9_000)])
    store.compact()
    store._users["u"].keep()
    again = FolderStore(tmp_path, history=0)
    assert again.stats("u").records == 36_000
    assert again._users["u"].table.rows.count == 36_000
    index = again._users["u"].table.vectors
    assert index is not None
    assert np.count_nonzero(index.rows == GONE) == 9_000
    for seed, text in ((10**6 + 7, "v2 7"), (20_000, "v1 20000"), (35_999, "v1 35999")):
        candidates = again.candidates("u", asked(seed=seed))
        best = int(np.nanargmax(candidates.dense))
        assert [record.text for record in again.resolve("u", [int(candidates.keys[best])]) if record] == [text]
        whitened = again.candidates("u", dataclasses.replace(asked(seed=seed), whiten=True))
        assert int(np.nanargmax(whitened.dense)) == best
    assert np.nanmax(again.candidates("u", asked(seed=7)).dense) < 0.99


def test_an_encrypted_store_is_compacted_too(tmp_path: Path) -> None:
    """Sealed documents and vectors move as plain ones do, and open where they lie then."""
    pytest.importorskip("cryptography", reason="encryption needs the extra 'encryption'")
    store = FolderStore(tmp_path, durability="os", history=HISTORY, segment_size=6_000, key=b"k" * 32)
    store.set_fingerprint(space())
    revised(store, rounds=40)
    before = shown(store)
    assert store.compact() > 10_000
    assert shown(store) == before
    store.close()
    again = FolderStore(tmp_path, history=HISTORY, key=b"k" * 32)
    assert shown(again) == before
    assert again.stats("u").health == ()


def test_history_says_how_many_versions_are_kept(tmp_path: Path) -> None:
    """``Settings.history`` bounds what ``history`` shows, before and after compaction, on disk and in memory."""
    for location in (tmp_path / "m", ":memory:"):
        with TieredMemory.open(
            location, embedder=HashEmbedder(32), token_counter=WordCounter(), settings=Settings(history=2)
        ) as memory:
            id = memory.remember("住在北京")
            for n in range(5):
                memory.update(id, text=f"住在第{n}个城市")
            assert [record.version for record in memory.history(id)] == [5, 4]
    with pytest.raises(ConfigurationError, match="history"):
        FolderStore(tmp_path / "n", history=-1)
    assert upkeep.compact(tmp_path / "m") < 1_000  # by default more are kept than there are
    assert upkeep.compact(tmp_path / "m", settings=Settings(history=0)) > 0
    assert FolderStore(tmp_path / "m").versions("default", id) == []
    with pytest.raises(NotFoundError):
        upkeep.compact(tmp_path / "nothing")


def test_others_go_on_reading_through_a_compaction(tmp_path: Path) -> None:
    """Stores that knew old versions, and what was removed since, find what is current: no gap, and nothing more."""
    store = opened(tmp_path)
    store.set_fingerprint(space())
    revised(store, rounds=20)
    early, mapped = opened(tmp_path), opened(tmp_path)
    assert shown(early) == shown(mapped)
    revised_again = [known("f1", f"revision {n}", seed=n, version=20 + n) for n in range(1, 30)]
    for put in revised_again:
        store.commit("u", [put])
    assert len(mapped.versions("u", "f1")) == HISTORY
    store.remove("u", ["f2", "m3"])  # of which compaction leaves no word
    store.compact()
    assert mapped.candidates("u", asked(seed=3)).dense[-1] == pytest.approx(
        store.candidates("u", asked(seed=3)).dense[-1], abs=1e-3
    )
    assert shown(early) == shown(mapped) == shown(store)
    store.commit("u", [known("f1", "the last", version=50)])
    assert shown(early) == shown(mapped) == shown(store)
    assert early.stats("u").health == mapped.stats("u").health == ()


def test_threads_read_and_write_through_compactions(tmp_path: Path) -> None:
    """While versions come and go, each search, scan and listing finds every item once, with its words and vector."""
    store = opened(tmp_path, segment_size=20_000)
    store.set_fingerprint(space())
    store.commit("u", [known(f"f{i}", "version 1", seed=i, version=1) for i in range(20)])
    store.commit("u", [said(f"m{i}", f"message {i}", minute=i, seed=i) for i in range(20)])
    done = threading.Event()
    failures: list[BaseException] = []

    def read(own: FolderStore) -> None:
        try:
            while not done.is_set():
                records = [record.id for record in own.scan("u", Where())]
                assert len(records) == len(set(records)) == 40
                assert len(own.messages("u", "s")) == 20
                candidates = own.candidates("u", asked("version", seed=5))
                assert candidates.total == 40
                eligible = np.flatnonzero(candidates.eligible)
                assert len(eligible) == 40
                assert None not in own.resolve("u", candidates.keys[eligible].tolist())
                assert not np.isnan(candidates.dense[eligible]).any()
                vectors = own.vectors("u", candidates.keys[eligible].tolist())
                assert not np.isnan(vectors).all()
        except BaseException as failure:
            failures.append(failure)

    def compact() -> None:
        try:
            while not done.is_set():
                store.compact("u")
        except BaseException as failure:
            failures.append(failure)

    readers = [threading.Thread(target=read, args=(own,)) for own in (store, opened(tmp_path))]
    threads = [*readers, threading.Thread(target=compact)]
    for thread in threads:
        thread.start()
    rng = random.Random(1)
    for n in range(2, 120):
        store.commit("u", [known(f"f{i}", f"version {n}", seed=rng.randrange(99), version=n) for i in range(20)])
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert {record.text for record in store.scan("u", Where(kinds=("fact",)))} == {"version 119"}


def test_what_does_not_check_is_not_overwritten(tmp_path: Path) -> None:
    """A segment with damage, seen or unseen, stays as it is: the rest is compacted, the damage is reported."""
    store = opened(tmp_path)
    revised(store, rounds=60)
    store.close()
    log = sorted(tmp_path.rglob("docs.*"))[1]
    whole = log.read_bytes()
    damaged = whole.replace(b"version", b"versioN", 1)
    store = opened(tmp_path)
    store.messages("u", "s")
    log.write_bytes(damaged)
    store.compact()
    assert log.read_bytes() == damaged
    again = opened(tmp_path)
    assert again.compact() >= 0
    assert log.read_bytes() == damaged
    assert any(log.name in note for note in again.stats("u").health)


def steps_of_a_compaction(folder: Path) -> int:
    """Return how many changes on disk a compaction makes."""
    seen = 0
    watching = False

    def watch(event: str, args: tuple[object, ...]) -> None:
        nonlocal seen
        seen += watching and event == "siltstone.disk"

    store = opened(folder)
    revised(store, rounds=14)
    sys.addaudithook(watch)
    watching = True
    store.compact()
    watching = False
    return seen


@pytest.mark.slow
def test_a_compaction_that_was_killed_changes_nothing(tmp_path: Path) -> None:
    """Killed before or after any change on disk, the store says what it said; the next compaction finishes it."""
    steps = steps_of_a_compaction(tmp_path / "count")
    assert steps > 20
    whole = shown(opened(tmp_path / "count"))
    for step in range(steps):
        folder = tmp_path / str(step)
        revised(opened(folder), rounds=14)
        process = PROCESSES.Process(target=compact_until, args=(folder, step, HISTORY, 6_000))
        process.start()
        process.join()
        assert process.exitcode == -9
        store = opened(folder)
        assert shown(store) == whole
        assert store.stats("u").health == ()
        store.commit("u", [known("f1", "after", version=15)])
        store.compact()
        assert sum(b'"f1"' in found.document for found in frames(folder)) == HISTORY + 1
        assert shown(opened(folder)) == shown(store)


ITEMS = st.integers(0, 3)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), ITEMS, st.booleans()),
        st.tuples(st.just("say"), ITEMS, st.booleans()),
        st.tuples(st.just("remove"), ITEMS, st.booleans()),
        st.tuples(st.just("late"), ITEMS, st.booleans()),
        st.tuples(st.sampled_from(["compact", "reopen", "keep"]), ITEMS, st.booleans()),
    ),
    max_size=40,
)


@hypothesis.settings(max_examples=60)
@given(STEPS)
def test_any_life_with_compactions_ends_like_one_without(steps: list[tuple[str, int, bool]]) -> None:
    """After any writes, removals, compactions and openings, a folder says what a store in memory says."""
    with tempfile.TemporaryDirectory() as name:
        folder, model = opened(Path(name), segment_size=1_500), RamStore(history=HISTORY)
        other = opened(Path(name), segment_size=1_500)
        for n, (verb, item, some) in enumerate(steps):
            if verb in ("put", "say"):
                id = f"{verb}{item}"
                (now,) = model.fetch("u", [id])
                put = written(verb, id, n, now, n if some else None)
                for store in (folder, model):
                    store.commit("u", [put])
            elif verb == "remove":
                ids = [f"put{item}", f"say{item}"] if some else [f"put{item}"]
                for store in (folder, model):
                    store.remove("u", ids)
            elif verb == "late":
                lacking = model.pending("u", 2)
                for store in (folder, model):
                    if lacking:
                        store.put_vectors("u", lacking, np.stack([vector(n)] * len(lacking)))
            elif verb == "compact":
                folder.compact()
            elif verb == "keep" and "u" in folder._users:
                folder._users["u"].keep()
            elif verb == "reopen":
                folder.close()
                folder = opened(Path(name), segment_size=1_500)
            if some:
                assert shown(folder) == shown(model)
        assert shown(folder) == shown(other) == shown(model)


def written(verb: str, id: str, n: int, now: Stored | None, seed: int | None) -> Put:
    """Return the next version of an item."""
    version = 1 if now is None else now.version + 1
    if verb == "put":
        return known(id, f"version {n} 记录", seed=seed, version=version)
    return said(id, f"message {n}", seed=seed, version=version)
