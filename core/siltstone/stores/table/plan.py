"""What a commit would write, decided before anything is: validation, versions, conflicts, refusals."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

import numpy as np

from ...errors import ConflictError, InvalidInputError
from ...index.vectors import Halves
from ...protocols import Floats, Put, Refusal, Stored
from ...records import HIDDEN_KINDS, KINDS, ROLES, TURN_PREFIX, Record, is_derived, message_id
from ...text.keys import dense_key
from ...text.same import folded, parts_as_sent, spaced
from ..files.codec import canonical, encode
from .rows import Item, Row, row_of


@dataclass(frozen=True)
class Planned:
    """One document to be written: the item, its number and that of its first version, its row, its vector.

    ``reuse`` is the row whose vector still fits where there is none, or -1.
    """

    number: int
    origin: int
    stored: Stored
    document: bytes
    row: Row
    vector: Halves | None
    reuse: int = -1

    @property
    def text_hash(self) -> int:
        """The hash by which the vector's row knows the text."""
        return int(self.row.cells["text_hash"])

    def at(self, place: int) -> Item:
        """Return the item as it is entered once its document lies at ``place``."""
        return Item(self.number, place, self.origin, self.stored, self.row)


@dataclass(frozen=True)
class Plan:
    """The documents to be written and the ids that are skipped because they were forgotten."""

    items: tuple[Planned, ...]
    skipped: tuple[str, ...]


@dataclass(frozen=True)
class Present:
    """The stored version of an item, as far as a plan needs it: ``row`` is the key that the store knows it by."""

    row: int
    version: int
    origin: int
    is_message: bool


class Known(Protocol):
    """What a store has of one user, for planning."""

    @property
    def user_id(self) -> str:
        """Whose items they are."""

    @property
    def refused(self) -> Collection[str]:
        """The hashes of what was forgotten; at least those that the puts of the plan could match."""

    def present(self, ids: Sequence[str]) -> list[Present | None]:
        """Return the stored versions of items, in order; ``None`` where there is none."""

    def size(self, session_id: str) -> int:
        """Return how many messages a session has."""

    def vector_fits(self, present: Present, item: Stored) -> bool:
        """Return whether the version has a vector, made of the same text as the item's."""


class Refusals:
    """Recognises messages that were forgotten, by keyed hashes of session and id or text."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def hashes(self, transcripts: Iterable[Refusal]) -> list[str]:
        """Return what to remember of what is to be refused."""
        found: list[str] = []
        for refusal in transcripts:
            found += [
                self._hash("item" if refusal.session_id is None else kind, refusal.session_id or "", value)
                for kind, value in (("id", refusal.id), ("text", refusal.text and folded(refusal.text)))
                if value is not None
            ]
            if refusal.parts is not None:
                found.append(self._hash("parts", refusal.session_id or "", canonical(parts_as_sent(refusal.parts))))
            if refusal.made is not None:
                found += self._made(refusal.made)
        return found

    def refuses(self, refused: Collection[str], put: Put, *, new: bool) -> bool:
        """Return whether an item is one that was forgotten; ``new`` where the store has none of its id."""
        return bool(refused) and any(hash in refused for hash in self.known_by(put, new=new))

    def known_by(self, put: Put, *, new: bool) -> Iterator[str]:
        """Yield the hashes by which an item would be recognised as forgotten, were it ``new`` or not."""
        record = put.record
        if record is not None and is_derived(record) and (new or record.kind == "summary"):
            yield from self._made(record)
        if not new:
            return
        if put.restores:
            for id in (put.id, *(map(message_id, record.source_ids) if record is not None and not put.message else ())):
                yield self._hash("item", "", id)
        if put.message is None:
            return
        session = put.message.session_id or ""
        if put.supplied_id is not None:
            yield self._hash("id", session, put.supplied_id)
        text, parts = put.message.content, put.message.metadata
        if text.strip():
            for form in (folded(text), spaced(text)):
                yield self._hash("text", session, form)
        elif parts:
            for known in (parts_as_sent(parts), parts):  # the latter is what stores went by up to now
                yield self._hash("parts", session, canonical(known))

    def _made(self, record: Record) -> list[str]:
        """Return the hashes of a derived record, one for each of its sources."""
        what = record.id if record.kind == "summary" else record.topic or record.text
        return [self._hash("made", source, folded(what)) for source in record.source_ids]

    def _hash(self, kind: str, session: str, value: str) -> str:
        data = "\0".join((kind, session, value)).encode("utf-8", "surrogatepass")
        return blake2b(data, key=self._secret, digest_size=12).hexdigest()


def plan(
    known: Known,
    puts: Sequence[Put],
    expect: Mapping[str, int] | None,
    *,
    refusals: Refusals,
    dim: int | None,
    first: int,
    sizes: Mapping[str, int] | None = None,
) -> Plan:
    """Return what the commit writes, numbered from ``first``; ``dim`` is the width of vectors, if set yet.

    Raises ``ConflictError`` where ``expect`` or ``sizes`` do not hold, ``InvalidInputError`` for what cannot be stored.
    """
    expected = expect or {}
    ids = list({**expected, **dict.fromkeys(put.id for put in puts)})
    there = dict(zip(ids, known.present(ids), strict=True))
    for id, version in expected.items():
        stored = 0 if (present := there[id]) is None else present.version
        if stored != version:
            what = f"version {stored}" if stored else "absent"
            raise ConflictError(f"item {id!r} is {what}, not version {version}; nothing was stored: read it and retry")
    for session, size in (sizes or {}).items():
        if (held := known.size(session)) != size:
            raise ConflictError(
                f"session {session!r} has {held} messages, not {size}; nothing was stored: read it and retry"
            )
    fresh: dict[str, tuple[int, int]] = {}  # versions within this commit
    items: list[Planned] = []
    before = [there[put.id] for put in puts]
    skipped = _refused(known, puts, before, refusals)
    vectors = iter(halves([put.vector for put in puts if put.vector is not None], dim))
    for put, present in zip(puts, before, strict=True):
        vector = None if put.vector is None else next(vectors)
        _check(put, known.user_id)
        id = put.id
        if id in skipped:
            continue
        if present is not None and (put.message is None) == present.is_message:
            raise InvalidInputError(f"{id!r} is the id of a message and cannot be that of another record, or reversely")
        if id in fresh:
            version, origin = fresh[id]
        elif present is not None:
            version, origin = present.version, present.origin
        else:
            version, origin = 0, first + len(items)
        stored_item = Stored(version + 1, put.record, put.message, put.supplied_id)
        reuse = -1
        if vector is None and present is not None and id not in fresh and known.vector_fits(present, stored_item):
            reuse = present.row
        fresh[id] = (version + 1, origin)
        document = encode(stored_item, origin)
        items.append(Planned(first + len(items), origin, stored_item, document, row_of(stored_item), vector, reuse))
    return Plan(tuple(items), tuple(skipped))


def refused_of(known: Known, puts: Sequence[Put], refusals: Refusals) -> dict[str, None]:
    """Return the ids of the items that are not written because they were forgotten, or rest on one of these."""
    return _refused(known, puts, known.present([put.id for put in puts]), refusals) if known.refused else {}


def _refused(
    known: Known, puts: Sequence[Put], before: Sequence[Present | None], refusals: Refusals
) -> dict[str, None]:
    skipped: dict[str, None] = {}
    for put, present in zip(puts, before, strict=True) if known.refused else ():
        record = put.record if put.message is None else None
        orphan = record is not None and any(message_id(source) in skipped for source in record.source_ids)
        if orphan or refusals.refuses(known.refused, put, new=present is None):
            skipped[put.id] = None
    return skipped


def halves(vectors: Sequence[Floats], dim: int | None) -> Halves:
    """Return vectors as they are kept: unit length, float16, ``(n, dim)``.

    Raises ``InvalidInputError`` where one is of another width than ``dim`` or the first, not finite, or zero.
    """
    if not len(vectors):
        return np.empty((0, dim or 0), np.float16)
    width = len(vectors[0]) if dim is None and np.ndim(vectors[0]) == 1 else dim
    for shape in dict.fromkeys(map(np.shape, vectors)):
        if shape != (width,) or not width:
            raise InvalidInputError(f"a vector of shape {shape} does not fit a store of width {dim}")
    values = np.asarray(vectors, np.float32)
    norms = np.linalg.norm(values, axis=1, keepdims=True)
    if not (np.isfinite(norms) & (norms >= 1e-12)).all():
        raise InvalidInputError("a vector must be finite and not all zero; nothing was stored: check the embedder")
    kept: Halves = (values / norms).astype(np.float16)
    return kept


def same_text(before: Stored | None, item: Stored) -> bool:
    """Return whether a vector of the one fits the other."""
    return (
        before is not None
        and before.record is not None
        and item.record is not None
        and dense_key(before.record) == dense_key(item.record)
    )


def _check(put: Put, user_id: str) -> None:
    message, record = put.message, put.record
    if message is None and record is None:
        raise InvalidInputError("a put needs a message or a record")
    if message is not None:
        if not message.id or message.session_id is None:
            raise InvalidInputError("a message to be stored needs an id and a session_id")
        if message.id.startswith(TURN_PREFIX):
            raise InvalidInputError(f"message id {message.id!r}: ids that begin with {TURN_PREFIX!r} are turn records'")
        if message.role not in ROLES:
            raise InvalidInputError(f"role {message.role!r} is none of {', '.join(ROLES)}")
    if record is not None:
        if not record.id or record.kind not in (*KINDS, *HIDDEN_KINDS):
            raise InvalidInputError(f"record {record.id!r} needs an id and one of the kinds {', '.join(KINDS)}")
        if record.user_id != user_id:
            raise InvalidInputError(f"record {record.id!r} belongs to {record.user_id!r}, not to {user_id!r}")
        if message is not None and record.id != f"{TURN_PREFIX}{message.id}":
            raise InvalidInputError(f"the turn record of message {message.id!r} cannot have the id {record.id!r}")
        if message is None and record.id.startswith(TURN_PREFIX):
            raise InvalidInputError(f"record {record.id!r}: ids that begin with {TURN_PREFIX!r} belong to messages")
    if put.vector is not None and (record is None or record.kind in HIDDEN_KINDS):
        raise InvalidInputError("a vector needs a record, of a kind that is searched")
