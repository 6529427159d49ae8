"""A process at work on a store: each operation is noted in its journal, so that it may be killed at any moment."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from items import known, said, space, vector
from siltstone.protocols import Put, Refusal
from siltstone.stores.folder import FolderStore
from siltstone.upkeep import backup, restore

from .journal import Journal, Version


class Writer:
    """Writes items ``name-1``, ``name-2`` …: every third is a record, the others are messages of session ``name``."""

    def __init__(self, folder: Path, journal: Path, name: str, **options: Any) -> None:
        self.name = name
        self.journal = Journal(journal)
        self.folder, self._options = folder, options
        self.store = FolderStore(folder, **options)
        ever = [id for items in self.state.values() for id in items]
        ever += [text.split()[0] for text, _ in self.journal.state.gone]
        self._next = 1 + max((int(id.split("-")[1]) for id in ever), default=0)
        self._spaces = 0

    @property
    def state(self) -> dict[str, dict[str, tuple[Version, ...]]]:
        """The items of this writer by user."""
        return self.journal.state.users

    @property
    def private(self) -> str:
        """A user of whom no other writer knows."""
        return f"private-{self.name}"

    def add(self, user: str, count: int, *, late: bool = False) -> list[str]:
        """Add items in one commit; ``late``: without vectors."""
        ids = [f"{self.name}-{self._next + n}" for n in range(count)]
        self._next += count
        self._put(user, {id: [self._version(id, (), late=late)] for id in ids})
        return ids

    def update(self, user: str, ids: Sequence[str]) -> None:
        """Give items another text and vector, in one commit."""
        held = self.state[user]
        self._put(user, {id: [*held[id], self._version(id, held[id])] for id in ids})

    def attach(self, user: str, ids: Sequence[str]) -> None:
        """Give items that have none a vector, as a slow embedder does."""
        missing = [id for id in ids if self.state[user][id][-1][1] is None]
        put = {}
        for id in missing:
            *older, (text, _) = self.state[user][id]
            put[id] = [*older, (text, self._seed(id, len(older) + 1))]
        records = [stored.record for stored in self.store.fetch(user, missing) if stored is not None]
        with self.journal.doing(user=user, put=put):
            self.store.put_vectors(
                user,
                [record for record in records if record is not None],
                np.stack([vector(put[id][-1][1]) for id in missing]),
            )

    def derive(self, user: str, sources: Sequence[str]) -> str:
        """Add a record that rests on items."""
        self._next += -self._next % 3  # a number that is no message's
        id = f"{self.name}-{self._next}"
        self._next += 1
        version = self._version(id, ())
        with self.journal.doing(user=user, put={id: [version]}):
            self.store.commit(user, [known(id, version[0], user=user, seed=version[1], source_ids=tuple(sources))])
        return id

    def forget(self, user: str, ids: Sequence[str], *, along: Sequence[str] = ()) -> None:
        """Forget items, and refuse the texts of messages from then on; ``along``: what rests on them."""
        with self._removing(user, ids, along):
            self.store.forget(user, ids)

    def remove(self, user: str, ids: Sequence[str]) -> None:
        """Remove items for good, and refuse the texts of messages from then on."""
        with self._removing(user, ids) as texts:
            self.store.remove(user, ids, transcripts=[Refusal(self.name, text=text) for text in texts])

    def replace(self, user: str, ids: Sequence[str], count: int) -> list[str]:
        """Add items and take others out, in one commit, as a session that is sent whole does."""
        fresh = [f"{self.name}-{self._next + n}" for n in range(count)]
        self._next += count
        put = {id: [self._version(id, ())] for id in fresh}
        with self.journal.doing(user=user, put=put, remove=list(ids)):
            self.store.commit(user, [self._item(user, id, held) for id, held in put.items()], remove=ids)
        return fresh

    @contextmanager
    def _removing(self, user: str, ids: Sequence[str], along: Sequence[str] = ()) -> Iterator[list[str]]:
        texts = [text for id in ids if is_message(id) for text, _ in self.state[user][id]]
        with self.journal.doing(user=user, remove=[*ids, *along], refuse=[(self.name, text) for text in texts]):
            yield texts

    def forget_everything(self, user: str) -> None:
        """Remove all of a user that is this writer's alone."""
        with self.journal.doing(user=user, everything=True):
            self.store.remove(user, [], everything=True)

    def change_space(self) -> None:
        """Turn to another embedder: all vectors are dropped."""
        self._spaces += 1
        with self.journal.doing(drop=True):
            self.store.set_fingerprint(space(f"space {self._spaces}", seed=self._spaces))

    def back_up(self) -> None:
        """Bring the backup beside the store up to date."""
        with self.journal.doing(backup=True):
            backup(self.folder, self.folder.with_name("backup"), key=self._options.get("key"))

    def restore(self) -> None:
        """Put the backup in the place of the store."""
        with self.journal.doing(restore=True):
            restore(self.folder.with_name("backup"), self.folder, key=self._options.get("key"))

    def reopen(self) -> None:
        """Close the store and open it again."""
        self.close()
        self.store = FolderStore(self.folder, **self._options)

    def close(self) -> None:
        """Close the store: caches are written."""
        self.store.close()

    def _put(self, user: str, put: dict[str, list[Version]]) -> None:
        with self.journal.doing(user=user, put=put):
            self.store.commit(user, [self._item(user, id, versions) for id, versions in put.items()])

    def _item(self, user: str, id: str, versions: Sequence[Version]) -> Put:
        (text, seed), version = versions[-1], len(versions)
        if is_message(id):
            number = int(id.split("-")[1])
            return said(id, text, user=user, seed=seed, session=self.name, version=version, minute=number)
        return known(id, text, user=user, seed=seed, version=version)

    def _version(self, id: str, older: Sequence[Version], *, late: bool = False) -> Version:
        number = len(older) + 1
        return f"{id} version {number} 深圳 {token(id, number)}", None if late else self._seed(id, number)

    def _seed(self, id: str, version: int) -> int:
        return int.from_bytes(blake2b(f"{id} {version} {self._spaces}".encode(), digest_size=6).digest(), "big")


def token(id: str, version: int) -> str:
    """Return a word that stands in one version of one item and nowhere else."""
    return f"qx{id.replace('-', 'n')}v{version}xq"


def is_message(id: str) -> bool:
    """Return whether an item is a message, or a record that is none."""
    return int(id.split("-")[1]) % 3 != 0


def wander(folder: Path, journal: Path, name: str, user: str, seed: int, key: bytes | None) -> None:
    """Work on a store at random, without end: the life of those beside whom another one dies."""
    rng = random.Random(seed)
    writer = Writer(folder, journal, name, durability="os" if seed % 2 else "fsync", key=key)
    while True:
        mine = list(writer.state.get(user, {}))
        chance = rng.random()
        if chance < 0.6 or len(mine) < 4:
            writer.add(user, rng.randint(1, 3), late=chance < 0.1)
        elif chance < 0.7:
            writer.update(user, rng.sample(mine, rng.randint(1, 3)))
        elif chance < 0.8:
            late = [id for id in mine if writer.state[user][id][-1][1] is None]
            if late:
                writer.attach(user, late[:3])
        elif chance < 0.87:
            writer.forget(user, rng.sample(mine, rng.randint(1, 3)))
        elif chance < 0.9:
            writer.replace(user, rng.sample(mine, rng.randint(1, 3)), rng.randint(0, 2))
        elif chance < 0.95:
            writer.add(writer.private, 2)
        elif chance < 0.98:
            writer.forget_everything(writer.private)
        else:
            writer.reopen()
