"""Bytes that are not what was written: flipped bits and zeroed sectors, anywhere in a store of some hundred records."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import orjson

from items import asked, known, said, space, vector
from siltstone.errors import SiltstoneError
from siltstone.protocols import Floats, Where
from siltstone.stores.encryption.cipher import Cipher
from siltstone.stores.files import storefile
from siltstone.stores.files.frames import Frame, scan
from siltstone.stores.folder import FolderStore

USER: Final = "u"
_RECORDS: Final = 300
_ANEW: Final = ("f0", "f50", "f100")
_AFTER: Final = "afterwards"


@dataclass(frozen=True)
class Damage:
    """Bytes of a file, named from the store's folder, that are not what they were."""

    file: str
    start: int
    bytes: bytes

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.start + len(self.bytes)

    def __str__(self) -> str:
        """Say it in words."""
        return f"{self.file}, bytes {self.start} to {self.end}"


@dataclass
class Original:
    """An undamaged store: its folder, its files, and what it answers.

    ``older``: texts of versions that another one has replaced, which are right again where that one is damaged;
    ``frames``: start, end and record of the documents in each file.
    """

    folder: Path
    key: bytes | None = None
    frames: dict[str, list[tuple[int, int, str]]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    older: dict[str, str] = field(default_factory=dict)
    vectors: dict[str, Floats] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)

    def hit(self, damage: Damage) -> set[str]:
        """Return the records whose documents damage may have cost: those on its lines, and on the one behind it."""
        if "docs." not in damage.file:
            return set()
        data = self.files[damage.file]
        start = data.rfind(b"\n", 0, damage.start) + 1
        end = data.find(b"\n", damage.end) + 1 or len(data)
        end = data.find(b"\n", end) + 1 or len(data)
        return {id for first, last, id in self.frames[damage.file] if first < end and last > start}

    def opened(self, place: Path, *, read_only: bool = False) -> FolderStore:
        """Open the store, or a copy of it."""
        return FolderStore(place, read_only=read_only, durability="os", key=self.key)


def original(folder: Path, key: bytes | None = None) -> Original:
    """Make a store with several files of documents, vectors, a cache, versions, removals and an audit."""
    made = Original(folder, key)
    store = FolderStore(folder, durability="os", segment_size=20_000, key=key)
    store.set_fingerprint(space())
    for first in range(0, _RECORDS, 30):
        ids = range(first, first + 30)
        store.commit(
            USER,
            [
                known(f"f{n}", f"fact number {n} 深圳", seed=n)
                if n % 5 == 0
                else said(f"m{n}", f"text number {n} 深圳", seed=n, minute=n)
                for n in ids
            ],
        )
        made.texts |= {f"f{n}": f"fact number {n} 深圳" for n in ids if n % 5 == 0}
        made.texts |= {f"turn:m{n}": f"text number {n} 深圳" for n in ids if n % 5}
        made.vectors |= {f"f{n}" if n % 5 == 0 else f"turn:m{n}": vector(n) for n in ids}
    store.commit(USER, [known(id, f"fact anew {id} 深圳", seed=1_000, version=2) for id in _ANEW])
    made.older = {id: made.texts[id] for id in _ANEW}
    made.texts |= {id: f"fact anew {id} 深圳" for id in _ANEW}
    store.remove(USER, ["f5", "m77"])
    for id in ("f5", "turn:m77"):
        del made.texts[id]
    store.close()
    made.files = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
    keys = storefile.unlock(str(folder), key)
    for name in made.files:
        if "docs." in name:
            cipher = keys.cipher(str((folder / name).parent))
            made.frames[name] = [(f.start, f.end, id) for f, id in _items(made.files[name], cipher) if id in made.texts]
    return made


def _items(data: bytes, cipher: Cipher) -> Iterator[tuple[Frame, str]]:
    """Yield the frames of items, and the ids of their records."""
    for piece in scan(data, cipher=cipher):
        document = orjson.loads(piece.document) if isinstance(piece, Frame) else {}
        if "i" in document:
            assert isinstance(piece, Frame)
            yield piece, document["i"] if "k" in document else f"turn:{document['i']}"


def flips(made: Original, count: int, rng: random.Random) -> Iterator[Damage]:
    """Yield single flipped bits, as many in each file."""
    names = list(made.files)
    for n in range(count):
        data = made.files[names[n % len(names)]]
        at = rng.randrange(len(data))
        yield Damage(names[n % len(names)], at, bytes([data[at] ^ 1 << rng.randrange(8)]))


def sectors(made: Original, size: int, count: int, rng: random.Random) -> Iterator[Damage]:
    """Yield zeroed sectors of ``size`` bytes, as many in each file."""
    names = list(made.files)
    for n in range(count):
        data = made.files[names[n % len(names)]]
        at = rng.randrange(-(-len(data) // size)) * size
        yield Damage(names[n % len(names)], at, bytes(min(size, len(data) - at)))


def broken(made: Original, damage: Damage, place: Path, *, read_only: bool) -> str:
    """Damage a copy at ``place``, use it, and return what does not hold, or nothing."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(made.folder, place)
    data = made.files[damage.file]
    damaged = data[: damage.start] + damage.bytes + data[damage.end :]
    (place / damage.file).write_bytes(damaged)
    if data[damage.start : damage.end] == damage.bytes:
        return ""
    try:
        hit = made.hit(damage)
        served, reported = _served(made, place, hit, read_only=read_only)
        lost = set(made.texts) - served
        if lost - hit:
            return f"{damage}: unaffected records are lost: {sorted(lost - hit)[:5]}"
        if not reported and "docs." in damage.file:
            if lost:
                return f"{damage}: records are lost and nothing is reported: {sorted(lost)[:5]}"
            for cache in place.rglob("cache"):  # what the cache spares an open from reading, it does not check
                cache.unlink()
            served, reported = _served(made, place, hit, read_only=read_only)
            if not reported and (place / damage.file).read_bytes() == damaged:  # else it was repaired
                return f"{damage}: nothing is reported"
        if not read_only:
            store = made.opened(place)
            store.commit(USER, [known(_AFTER, "still at work")])
            store.close()
            again, _ = _served(made, place, hit, read_only=True)
            if again != served | {_AFTER}:
                return f"{damage}: other records after a write: {sorted(again ^ served)[:5]}"
    except (AssertionError, SiltstoneError, ValueError, KeyError, OSError) as exc:
        return f"{damage}: {type(exc).__name__}: {exc}"
    return ""


def _served(made: Original, place: Path, hit: set[str], *, read_only: bool) -> tuple[set[str], bool]:
    """Read in every way; return what can be read, and whether damage is reported. A wrong answer fails."""
    store = made.opened(place, read_only=read_only)
    try:
        records = {record.id: record.text for record in store.scan(USER, Where())}
        back = {id for id in hit if id in made.older and records.get(id) == made.older[id]}
        right = {**made.texts, **{id: made.older[id] for id in back}, _AFTER: "still at work"}
        assert records.items() <= right.items(), "a wrong text was served"
        messages = {f"turn:{m.id}": m.content for m in store.messages(USER, "s")}
        assert messages == {id: text for id, text in records.items() if id.startswith("turn:")}, "other messages"
        candidates = store.candidates(USER, asked("深圳", seed=7))
        keys = candidates.keys[candidates.eligible].tolist()
        found = {r.id: n for n, r in enumerate(store.resolve(USER, keys)) if r is not None}
        assert set(found) == set(records), "a search finds other records"
        vectors = dict(zip(found, store.vectors(USER, keys)[list(found.values())], strict=True))
        there = [id for id, row in vectors.items() if len(row) and not np.isnan(row[0]) and id not in back]
        wanted = [vector(1_000) if id in made.older else made.vectors[id] for id in there]
        assert not there or np.allclose([vectors[id] for id in there], wanted, atol=2e-3), "another text's vector"
        stats = store.stats(USER)
        lacking = set(found) - set(there) - back - {_AFTER}
        assert not lacking or stats.pending_vectors or stats.health, "vectors are missing and nothing is reported"
        for id in set(_ANEW) - back:
            older = [v.record.text for v in store.versions(USER, id) if v.record is not None]
            assert older in ([], [made.older[id]]), "a wrong version was served"
        assert not back or stats.health, "an older version was served, and nothing is reported"
        return set(records), bool(stats.health)
    finally:
        store.close()
