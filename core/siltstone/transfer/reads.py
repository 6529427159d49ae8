"""What a batch of an import rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import orjson

from ..protocols import Put, Store, Stored
from ..records import message_id
from ..stores.files.codec import decode, encode


class Ahead:
    """What a dry run would have stored by now, packed: about as large in memory as its texts; and taken out."""

    def __init__(self, user_id: str) -> None:
        self._user_id = user_id
        self._packed: dict[str, bytes] = {}
        self._gone: set[str] = set()

    def get(self, id: str) -> Stored | None:
        """Return an item that would be there."""
        packed = self._packed.get(id)
        return None if packed is None else decode(orjson.loads(packed), self._user_id)

    def is_gone(self, id: str) -> bool:
        """Return whether an item that is in the store would have been taken out."""
        return id in self._gone

    def drop(self, ids: Iterable[str]) -> None:
        """Note items as taken out."""
        for id in ids:
            self._packed.pop(id, None)
            self._gone.add(id)

    def put(self, put: Put) -> None:
        """Note an item as stored."""
        self._packed[put.id] = encode(Stored(1, put.record, put.message, put.supplied_id), 0)


class Reads:
    """Items as a batch finds them: in the store, or put by the batch itself before.

    ``expect`` collects the versions that were found in the store (0: none), on which the commit is to insist: what
    is decided from them holds when it is written, or is decided again.
    """

    def __init__(self, store: Store, user_id: str, ids: Iterable[str], ahead: Ahead | None = None) -> None:
        """``ids`` are fetched at once; others when they are asked for."""
        self._store, self._user_id, self._ahead = store, user_id, ahead
        self._put: dict[str, Stored] = {}
        wanted = list(dict.fromkeys(map(message_id, ids)))
        self._known = dict(zip(wanted, store.fetch(user_id, wanted), strict=True))
        self.expect: dict[str, int] = {}

    def fetch(self, ids: Sequence[str]) -> list[Stored | None]:
        """Return items by id, in order."""
        return [self.get(id) for id in ids]

    def get(self, id: str) -> Stored | None:
        """Return an item by its id or the id of its turn."""
        id = message_id(id)
        if (item := self._put.get(id)) is not None:
            return item
        if self._ahead is not None and (item := self._ahead.get(id)) is not None:
            return item
        if self._ahead is not None and self._ahead.is_gone(id):
            return None
        if id not in self._known:
            (self._known[id],) = self._store.fetch(self._user_id, [id])
        item = self._known[id]
        self.expect[id] = 0 if item is None else item.version
        return item

    def put(self, puts: Sequence[Put]) -> None:
        """Take what was decided as there."""
        for put in puts:
            version = self.version(put.id) + 1
            self._put[put.id] = Stored(version, put.record, put.message, put.supplied_id)

    def version(self, id: str) -> int:
        """Return the version of an item, 0 for none."""
        item = self.get(id)
        return 0 if item is None else item.version

    @property
    def written(self) -> Mapping[str, Stored]:
        """What the batch has put, the newest version of each."""
        return self._put
