"""Damage on disk: never a wrong answer, always a report, and the rest stays readable."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from faults.damage import Original, broken, flips, original, sectors
from items import asked, known, said
from plain_and_encrypted import KEYS
from siltstone.protocols import Where
from siltstone.stores.folder import FolderStore

TEXTS = {f"turn:m{n}": f"text number {n} 深圳" for n in range(12)}


def small_store(folder: Path) -> None:
    """Write a store of four commits of three messages."""
    store = FolderStore(folder, durability="os")
    ids = list(TEXTS)
    for first in range(0, 12, 3):
        store.commit("u", [said(id[5:], TEXTS[id], seed=n) for n, id in enumerate(ids[first : first + 3], first)])
    store.close()


def readable(folder: Path, *, read_only: bool = False) -> tuple[dict[str, str], tuple[str, ...]]:
    """Open the store and return what can be read of it, checked against every other way of reading, and its health."""
    store = FolderStore(folder, read_only=read_only, durability="os")
    records = {record.id: record.text for record in store.scan("u", Where())}
    assert {f"turn:{m.id}": m.content for m in store.messages("u", "s")} == records
    candidates = store.candidates("u", asked("number", seed=0))
    resolved = store.resolve("u", candidates.keys[candidates.eligible].tolist())
    assert {record.id: record.text for record in resolved if record is not None} == records
    assert records.items() <= TEXTS.items()
    dense = candidates.dense[candidates.eligible]
    assert np.nanmax(np.append(dense, -1)) <= 1.001
    health = store.stats("u").health
    store.close()
    return records, health


def test_a_log_cut_anywhere_loses_only_the_cut_commit(tmp_path: Path) -> None:
    """Cut at every byte of its last two commits, the log gives all whole commits, none in part, and goes on."""
    small_store(tmp_path)
    (log,) = tmp_path.rglob("docs.*.jsonl")
    whole = log.read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == 10]
    for size in range(ends[6], len(whole) + 1):
        log.write_bytes(whole[:size])
        commits = sum(end <= size for end in ends[3::3])
        records, health = readable(tmp_path)
        assert records == dict(list(TEXTS.items())[: 3 * commits])
        assert bool(health) == (size not in ends[3::3])
        assert readable(tmp_path) == (records, ())  # it was cut, and is clean now
    store = FolderStore(tmp_path)
    store.commit("u", [known("f", "after")])
    assert [record.id for record in FolderStore(tmp_path).scan("u", Where(kinds=("fact",)))] == ["f"]


@pytest.fixture(scope="module", params=KEYS)
def undamaged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Original:
    """A store of three hundred records, with every kind of file."""
    return original(tmp_path_factory.mktemp("undamaged"), request.param)


def test_a_flipped_bit_is_found_wherever_it_is(undamaged: Original, tmp_path: Path) -> None:
    """Of 96 flipped bits, as many in each file, none gives a wrong answer, and each costs its own record at most."""
    rng = random.Random(1)
    damages = flips(undamaged, 96, rng)
    assert [w for n, d in enumerate(damages) if (w := broken(undamaged, d, tmp_path / "c", read_only=n % 3 > 0))] == []


@pytest.mark.parametrize("size", [512, 4_096])
def test_a_zeroed_sector_is_found_wherever_it_is(undamaged: Original, tmp_path: Path, size: int) -> None:
    """Of 24 zeroed sectors none gives a wrong answer, and each costs the records that it touches at most."""
    damages = sectors(undamaged, size, 24, random.Random(size))
    assert [w for n, d in enumerate(damages) if (w := broken(undamaged, d, tmp_path / "c", read_only=n % 3 > 0))] == []


def test_writing_goes_on_behind_damage(tmp_path: Path) -> None:
    """New commits go behind a damaged end, on lines of their own, and nothing damaged is overwritten."""
    small_store(tmp_path)
    (log,) = tmp_path.rglob("docs.*.jsonl")
    whole = log.read_bytes()
    for damaged in (whole[:-1] + b"!", whole[:-20] + bytes(20), whole[:-30] + b"?" + whole[-29:]):
        log.write_bytes(damaged)
        store = FolderStore(tmp_path)
        store.commit("u", [known("f", "after the damage")])
        store.close()
        again = FolderStore(tmp_path)
        assert [record.id for record in again.scan("u", Where(kinds=("fact",)))] == ["f"]
        assert len(list(again.scan("u", Where()))) >= 12
        assert again.stats("u").health
        assert log.read_bytes().startswith(damaged)
        again.close()


def test_damaged_vectors_are_embedded_anew(tmp_path: Path) -> None:
    """A vector row that does not check is not used: its record is pending again, the others keep theirs."""
    small_store(tmp_path)
    (path,) = tmp_path.rglob("vectors.*")
    whole = path.read_bytes()
    size = len(whole) // 12
    rng = random.Random(2)
    for _ in range(60):
        at = rng.randrange(len(whole))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :])
        store = FolderStore(tmp_path, read_only=True)
        assert [record.id for record in store.pending("u", 99)] == [f"turn:m{at // size}"]
        assert any("vector" in note for note in store.stats("u").health)
        store.close()
    path.unlink()
    assert FolderStore(tmp_path).stats("u").pending_vectors == 12


def test_vectors_of_other_records_are_never_taken(tmp_path: Path) -> None:
    """Rows in another order, doubled or from elsewhere attach to the record and text that they name, or to none."""
    small_store(tmp_path)
    (path,) = tmp_path.rglob("vectors.*")
    before = FolderStore(tmp_path).candidates("u", asked(seed=3))
    whole = path.read_bytes()
    size = len(whole) // 12
    rows = [whole[at : at + size] for at in range(0, len(whole), size)]
    path.write_bytes(b"".join([*reversed(rows), rows[0], rows[5]]) + rows[1][:30])
    after = FolderStore(tmp_path).candidates("u", asked(seed=3))
    assert after.dense.tolist() == pytest.approx(before.dense.tolist())


def test_damage_after_opening_is_noticed_when_read(tmp_path: Path) -> None:
    """A document that goes bad while the store is open is served as it was, where it was read before, or reported."""
    small_store(tmp_path)
    store, reader = FolderStore(tmp_path), FolderStore(tmp_path)
    before = reader.messages("u", "s")
    assert len(before) == store.stats("u").messages == 12
    (log,) = tmp_path.rglob("docs.*.jsonl")
    with log.open("r+b") as file:
        at = log.read_bytes().index(b"number 5")
        file.seek(at)
        file.write(b"nUmber 5")
    assert reader.messages("u", "s") == before
    assert len(store.messages("u", "s")) == 11
    assert store.stats("u").health
