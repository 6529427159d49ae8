"""The cache: an open from it equals one from the documents, and it is never trusted when it does not fit."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from items import asked, known, said, space
from siltstone.protocols import Candidates, Refusal, Where
from siltstone.stores.files import cache
from siltstone.stores.folder import FolderStore


def filled(folder: Path, *, rows: int = 400) -> FolderStore:
    """Write a store with sessions out of order, edits, removals, records, metadata and missing vectors."""
    store = FolderStore(folder, durability="os")
    store.set_fingerprint(space())
    rng = random.Random(5)
    puts = [
        said(
            f"m{n}",
            f"word{n % 7} common {n} 深圳{n % 3}",
            minute=rng.randrange(rows),
            session=f"s{n % 5}",
            seed=n if n % 10 else None,
            name=["Ann", "Bo", None][n % 3],
        )
        for n in range(rows)
    ]
    store.commit("u", puts)
    store.commit(
        "u", [known(f"f{n}", f"fact {n}", seed=n, source_ids=("m1",), metadata={"n": n % 2}) for n in range(9)]
    )
    store.commit(
        "u", [said("m7", "edited", version=2, session="s2"), known("f1", "fact anew", version=2, importance=0.5)]
    )
    store.remove("u", ["m8", "f2", "m399"], transcripts=[Refusal("s3", id="m8")])
    return store


def same(a: FolderStore, b: FolderStore) -> None:
    """Check that two stores give the same answers, row for row as far as rows are alive."""
    assert list(a.scan("u", Where())) == list(b.scan("u", Where()))
    assert a.sessions("u") == b.sessions("u")
    for info in a.sessions("u"):
        assert a.messages("u", info.session_id) == b.messages("u", info.session_id)
    assert a.dependents("u", ["m1"]) == b.dependents("u", ["m1"])
    assert a.versions("u", "f1") == b.versions("u", "f1")
    assert a.revision("u") == b.revision("u")
    query = asked("word3", "common", "fact", "深圳", seed=3, depth=30)
    assert by_key(a.candidates("u", query)) == by_key(b.candidates("u", query))
    tagged = asked(metadata={"n": 1}, kinds=("fact",))
    assert by_key(a.candidates("u", tagged)) == by_key(b.candidates("u", tagged))


def by_key(candidates: Candidates) -> dict[int, tuple[object, ...]]:
    """Return what is known of each eligible row, by key."""
    keys = candidates.keys
    rows = np.flatnonzero(candidates.eligible)
    hits = [dict(zip(found.tolist(), held.tolist(), strict=True)) for found, held in candidates.postings]

    def neighbour(links: np.ndarray, row: int) -> int:  # type: ignore[type-arg]
        return int(keys[links[row]]) if links[row] >= 0 else -1

    return {
        int(keys[row]): (
            *(hit.get(int(row)) for hit in hits),
            neighbour(candidates.previous, row),
            neighbour(candidates.following, row),
            *(int(getattr(candidates, name)[row]) for name in ("kind", "role", "said_at", "occurred_at", "text_hash")),
            candidates.speakers[candidates.speaker[row]] if candidates.speaker[row] >= 0 else None,
            None if np.isnan(candidates.importance[row]) else float(candidates.importance[row]),
            None if np.isnan(candidates.dense[row]) else round(float(candidates.dense[row]), 5),
            float(candidates.lengths[row]),
            candidates.total,
            round(candidates.mean_length, 6),
        )
        for row in rows.tolist()
    }


def the_cache(folder: Path) -> Path:
    """Return the path of the only cache."""
    (path,) = folder.rglob("cache")
    return path


def test_an_open_from_the_cache_equals_one_from_the_documents(tmp_path: Path) -> None:
    """Rows, links, postings, vectors, names and refusals are the same, also after more has been written."""
    store = filled(tmp_path)
    store.close()
    cached = FolderStore(tmp_path)
    kept = the_cache(tmp_path).read_bytes()
    the_cache(tmp_path).unlink()
    rebuilt = FolderStore(tmp_path)
    same(cached, rebuilt)
    the_cache_file = next(tmp_path.glob("users/*/*")) / cache.NAME
    the_cache_file.write_bytes(kept)
    for n, one in enumerate([cached, FolderStore(tmp_path), rebuilt]):
        one.commit(
            "u", [said(f"n{n}", "late but common", minute=-n, session="s1", seed=n), known("f3", "x", version=2)]
        )
        one.remove("u", [f"m{n + 20}"])
    same(cached, rebuilt)
    same(cached, FolderStore(tmp_path))
    assert cached.commit("u", [said("m8", "again", session="s3")]).skipped == ("m8",)


def test_a_cache_is_written_while_the_store_grows(tmp_path: Path) -> None:
    """After 2,000 rows there is one, without closing; a store that is killed then opens from it."""
    store = FolderStore(tmp_path, durability="os")
    for n in range(0, 2_200, 100):
        store.commit("u", [said(f"m{i}", f"text {i}", minute=i) for i in range(n, n + 100)])
    store._keeper.join()  # type: ignore[union-attr]
    assert the_cache(tmp_path).stat().st_size > 10_000
    again = FolderStore(tmp_path)
    assert len(again.messages("u", "s")) == 2_200


def test_a_cache_written_when_a_segment_was_full_is_used(tmp_path: Path) -> None:
    """The next segment, begun and still empty, does not keep a store from opening from its cache."""
    store = FolderStore(tmp_path, durability="os", segment_size=50_000)
    while store.stats("u").bytes.get("documents", 0) < 50_000:
        store.commit("u", [said(f"m{n}-{store.revision('u')}", f"text {n}", minute=n) for n in range(20)])
    store.close()
    assert len(list(tmp_path.rglob("docs.*"))) == 2
    again = FolderStore(tmp_path, segment_size=50_000)
    assert again.stats("u").messages > 300
    assert again._users["u"]._kept == again.stats("u").messages


def test_a_damaged_cache_is_not_used(tmp_path: Path) -> None:
    """Any flipped bit or cut makes it as if it were not there."""
    filled(tmp_path).close()
    good = FolderStore(tmp_path)
    list(good.scan("u", Where()))
    path = the_cache(tmp_path)
    whole = path.read_bytes()
    rng = random.Random(3)
    for _ in range(25):
        at = rng.randrange(len(whole))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :])
        assert cache.read(str(path.parent)) is None
    for size in (0, 5, 30, 1_000, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert cache.read(str(path.parent)) is None
    same(FolderStore(tmp_path), good)


def test_a_cache_of_other_documents_is_not_used(tmp_path: Path) -> None:
    """A cache that a backup or copy put beside other documents is recognised."""
    filled(tmp_path / "a").close()
    filled(tmp_path / "b", rows=300).close()
    foreign = the_cache(tmp_path / "a").read_bytes()
    the_cache(tmp_path / "b").write_bytes(foreign)
    assert len(list(FolderStore(tmp_path / "b").scan("u", Where()))) == 300 + 9 - 3 + 1
    (log,) = (tmp_path / "a").rglob("docs.*.jsonl")
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:200]))  # an older state of the same documents
    assert len(list(FolderStore(tmp_path / "a").scan("u", Where()))) < 200


def test_the_cache_keeps_no_names_of_what_was_removed(tmp_path: Path) -> None:
    """Sessions and speakers that only removed messages had are in no file, also when the cache is written later."""
    store = filled(tmp_path)
    store.commit("u", [said("c1", "x", session="canary-session", name="canary-name")])
    store.close()
    assert b"canary-session" in the_cache(tmp_path).read_bytes()
    store = FolderStore(tmp_path)
    store.remove("u", ["c1"])
    assert not list(tmp_path.rglob("cache"))
    store.commit("u", [said(f"n{n}", "more", minute=n) for n in range(300)])
    store.close()
    assert b"canary" not in the_cache(tmp_path).read_bytes()
    assert not any(b"canary" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_damaged_vectors_behind_a_cache_are_pending_again(tmp_path: Path) -> None:
    """The cache knows where vectors lie, not whether they are still good: each is checked before it is used."""
    filled(tmp_path).close()
    before = FolderStore(tmp_path).stats("u").pending_vectors
    (path,) = tmp_path.rglob("vectors.*")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    store = FolderStore(tmp_path)
    assert store.stats("u").pending_vectors == before + 1
    assert any("vector" in note for note in store.stats("u").health)


@pytest.mark.parametrize("rows", [1, 63, 64])
def test_small_users_have_no_cache(tmp_path: Path, rows: int) -> None:
    """Below 64 rows the documents are read as fast as a cache would be."""
    store = FolderStore(tmp_path)
    store.commit("u", [said(f"m{n}", "x") for n in range(rows)])
    store.close()
    assert bool(list(tmp_path.rglob("cache"))) == (rows >= 64)
