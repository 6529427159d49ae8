"""A store on an SQL engine. One transaction per write; every statement names the user."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import orjson

from ...protocols import Claim, Commit, Fingerprint, Floats, Put, Refusal
from ...records import HIDDEN_KINDS, ForgetReport, Record, is_derived
from ...text.keys import dense_key
from .. import cascade
from ..files.auditfile import Deed
from ..files.hashedids import hashed_id
from ..files.storefile import user_key
from ..moving import half_done
from ..reading import check_rows, check_user_id, same_space
from ..table.plan import Refusals, halves, plan, refused_of
from ..table.table import HISTORY
from .audit import write_deeds
from .dialect import Database, Transaction
from .due import give_back, note_due, take_due
from .known import SqlKnown
from .meta import MOVING, doomed, held_value, read_fingerprint, read_value, spent, write_fingerprint, write_value
from .reading import EMPTY, SqlReading
from .small import MOST
from .veil import Veil, Veils
from .writing import Writer

R = TypeVar("R")


class SqlStore(SqlReading):
    """A ``Store`` on a database; see ``protocols.Store`` for the verbs."""

    def __init__(
        self,
        database: Database,
        *,
        history: int = HISTORY,
        half_way: bool = False,
        veils: Veils | None = None,
        small: int = MOST,
    ) -> None:
        """``half_way``: open it half done, too; the others are those of ``SqlReading``.

        Raises ``ConfigurationError`` where a migration into it has not come to its end.
        """
        super().__init__(database, history=history, veils=veils, small=small)
        self._secret: bytes | None = None
        if not half_way and database.glance(lambda t: read_value(t, MOVING)) is not None:
            database.close()
            raise half_done(database.location)

    @property
    def location(self) -> str:
        """Where it is, as the user wrote it."""
        return self._database.location

    @property
    def encrypted(self) -> bool:
        """Whether what it keeps is encrypted."""
        return self._veils.encrypted

    def close(self) -> None:
        """Give the connections back, and keep nothing in memory."""
        self._small.clear()
        self._database.close()

    def commit(
        self,
        user_id: str,
        puts: Sequence[Put],
        *,
        expect: Mapping[str, int] | None = None,
        sizes: Mapping[str, int] | None = None,
        space: Fingerprint | None = None,
        remove: Sequence[str] = (),
    ) -> Commit:
        """Write all items or none. O(items), with an index per statement."""
        check_user_id(user_id)
        refusals = self._refusals(user_id)

        def work(transaction: Transaction, veil: Veil) -> tuple[Commit, int]:
            known = SqlKnown(self._database, transaction, veil, puts, refusals)
            writer = Writer(self._database, transaction, veil, known.asked)
            same_space(writer.space, space)
            known.hear(*writer.answers)
            width = self._dim(transaction, veil, writer.space)
            planned = plan(known, puts, expect, refusals=refusals, dim=width, first=writer.counts.number, sizes=sizes)
            before = EMPTY if writer.is_new else writer.counts.token
            if not (planned.items or remove):
                return Commit(before, planned.skipped, before), 0
            if planned.items:
                writer.add(planned.items, self._history)
                if any(map(_makes_work, puts)):
                    note_due(self._database, transaction, veil.user)
            self._take_out(writer, transaction, remove, self._deed(transaction, veil, remove, ()))
            return Commit(writer.finish(), planned.skipped, before), writer.counts.vectors

        try:
            made, count = self._write(user_id, work)
        finally:
            if remove:
                self._drop_kept(user_id)
        widths = {len(put.vector) for put in puts if put.vector is not None}
        if widths:
            self._veils.grown(user_id, count, widths.pop())
        return made

    def remove(
        self, user_id: str, ids: Sequence[str], *, transcripts: Sequence[Refusal] = (), everything: bool = False
    ) -> str:
        """Remove items for good by id, or with ``everything`` all that the user has."""
        check_user_id(user_id)
        hashes = self._refusals(user_id).hashes(transcripts)

        def work(transaction: Transaction, veil: Veil) -> str:
            writer = Writer(self._database, transaction, veil)
            deed = self._deed(transaction, veil, ids, hashes, everything=everything)
            writer.refuse(hashes)
            if everything:
                writer.remove_everything()
            elif writer.is_new and not hashes:
                return EMPTY
            self._take_out(writer, transaction, ids, deed)
            if not (everything or writer.is_new):
                note_due(self._database, transaction, veil.user)
            return writer.finish() if self._refuses_anything(transaction, veil) or not writer.is_new else EMPTY

        try:
            revision = self._write(user_id, work)
        finally:
            self._drop_kept(user_id)
        if everything:
            self.shred()
        return revision

    def shred(self) -> None:
        """Destroy the keys of users who are gone, those that a killed process has left, too."""
        if not self.encrypted:
            return
        key_ids = self._database.glance(doomed)
        if key_ids:
            self._small.drop_keys(key_ids)
            self._veils.destroy(key_ids)
            self._database.write(None, lambda t: spent(t, key_ids))

    def forget(self, user_id: str, ids: Sequence[str], *, named: bool = True) -> ForgetReport:
        """Remove items for good by id, with what rests on them: found first, and then gone in one transaction."""
        going = cascade.plan(self, user_id, ids, named=named)
        self.remove(user_id, going.items, transcripts=going.refusals)
        return going.report

    def put_vectors(
        self, user_id: str, records: Sequence[Record], vectors: Floats, *, space: Fingerprint | None = None
    ) -> int:
        """Attach vectors to records whose text is still the same; return how many were attached."""
        check_rows(vectors, records)

        def work(transaction: Transaction, veil: Veil) -> tuple[int, int]:
            writer = Writer(self._database, transaction, veil)
            same_space(writer.space, space)
            made = halves(list(vectors), self._dim(transaction, veil, writer.space))
            if writer.is_new:
                return 0, 0
            present = self._fetch(transaction, veil, [record.id for record in records])
            fits = {
                stored.row: at
                for at, (record, stored) in enumerate(zip(records, present, strict=True))
                if stored is not None and stored.record is not None and dense_key(stored.record) == dense_key(record)
            }
            writer.attach(list(fits), made[list(fits.values())])
            if fits:
                writer.finish()
            return len(fits), writer.counts.vectors

        attached, count = self._write(user_id, work)
        self._veils.grown(user_id, count, vectors.shape[-1])
        return attached

    def set_fingerprint(self, fingerprint: Fingerprint) -> None:
        """Record the embedding space. One of another space than the present one drops every vector."""

        def work(transaction: Transaction) -> None:
            self._database.lock_space(transaction)
            present = read_fingerprint(transaction)
            if present is not None and not present.same_space(fingerprint):
                for (user,) in transaction.rows("SELECT user_id FROM siltstone_users ORDER BY user_id"):
                    writer = Writer(self._database, transaction, self._veils.of(transaction, self._veils.user_id(user)))
                    writer.drop_vectors()
                    writer.finish()
            write_fingerprint(transaction, fingerprint)

        self._database.write(None, work)
        self._spaces.clear()
        self._small.clear()

    # --- pages of the whole store

    def usage(self) -> Mapping[str, Any]:
        """Return the page that ``turn_usage`` wrote last; an empty one at first."""
        return self._noted("usage")

    def turn_usage(self, turn: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> None:
        """Replace the page of what language models were used for by what ``turn`` makes of it."""
        self._turn_noted("usage", turn)

    def owed(self) -> Mapping[str, str]:
        """Return whose copies of recent turns elsewhere are still to be removed."""
        return self._noted("owed")

    def turn_owed(self, turn: Callable[[Mapping[str, str]], Mapping[str, str]]) -> None:
        """Replace the page of what is owed by what ``turn`` makes of it."""
        self._turn_noted("owed", turn)

    def _noted(self, name: str) -> Mapping[str, Any]:
        found = self._database.glance(lambda t: read_value(t, name))
        page: Mapping[str, Any] = {} if found is None else orjson.loads(self._veils.opened_page(name, found))
        return page

    def _turn_noted(self, name: str, turn: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> None:
        def work(transaction: Transaction) -> None:
            held = held_value(transaction, name, self._veils.page(name, "{}"))
            page = turn(orjson.loads(self._veils.opened_page(name, held)))
            write_value(transaction, name, self._veils.page(name, orjson.dumps(dict(page)).decode()))

        self._database.write(None, work)

    def refused(self, user_id: str, puts: Sequence[Put]) -> tuple[str, ...]:
        """Return the ids of the items that a commit of ``puts`` would skip as forgotten."""
        refusals = self._refusals(user_id)

        def work(transaction: Transaction, veil: Veil) -> tuple[str, ...]:
            known = SqlKnown(self._database, transaction, veil, puts, refusals)
            known.hear(*transaction.each(*known.asked()))
            return tuple(refused_of(known, puts, refusals))

        return self._read(user_id, work)

    # --- who is due to be consolidated

    def claim(self, owner: str, *, pause: float, lease: float) -> Claim | None:
        """Take a user who has been due for ``pause`` seconds; nobody else can for ``lease`` seconds."""
        return self._database.write(None, lambda t: take_due(self._database, t, self._veils, owner, pause, lease))

    def release(self, claim: Claim, again: float | None) -> None:
        """Give a user back, due in ``again`` seconds, or else with their next write."""
        self._write(claim.user_id, lambda t, veil: give_back(self._database, t, veil.user, claim, again))

    def _drop_kept(self, user_id: str) -> None:
        """Keep nothing of a user in memory of whom something was removed."""
        self._small.drop(user_id)
        self._spaces.drop(user_id)

    def _write(self, user_id: str, work: Callable[[Transaction, Veil], R]) -> R:
        return self._database.write(self._veils.user(user_id), lambda t: work(t, self._veils.of(t, user_id)))

    def _deed(
        self,
        transaction: Transaction,
        veil: Veil,
        ids: Sequence[str],
        hashes: Sequence[str],
        *,
        everything: bool = False,
    ) -> Deed | None:
        """Return what the audit is to say of a removal, as of a folder's: ids that follow from words are hashed."""
        if everything:
            ((documents,),) = transaction.rows("SELECT COUNT(*) FROM siltstone_rows WHERE user_id = ?", veil.user)
            counts = {"documents": int(documents)}
            return (
                Deed("erase", user_id=veil.user_id, hashes=tuple(hashes), counts=counts)
                if documents or hashes
                else None
            )
        there = [item for item in self._fetch(transaction, veil, ids) if item is not None] if ids else []
        if not (there or hashes):
            return None
        telling = {item.id for item in there if item.message is None and item.record and item.record.source_ids}
        key = self._user_key(veil.user_id)
        return Deed(
            "forget",
            user_id=veil.user_id,
            ids=tuple(item.id for item in there if item.id not in telling),
            hashes=tuple(hashes),
            counts={"items": len(there)},
            hashed=tuple(hashed_id(key, id) for id in sorted(telling)),
        )

    def _take_out(self, writer: Writer, transaction: Transaction, ids: Sequence[str], deed: Deed | None) -> None:
        """Delete items in all their versions, and let the audit say so."""
        versions = writer.remove(ids)
        if deed is not None:
            counts = {**deed.counts, "versions": versions} if deed.action == "forget" else deed.counts
            write_deeds(transaction, self._veils, [replace(deed, counts=counts)])

    # --- what is refused as forgotten

    def _refuses_anything(self, transaction: Transaction, veil: Veil) -> bool:
        return bool(transaction.rows("SELECT 1 FROM siltstone_refused WHERE user_id = ? LIMIT 1", veil.user))

    def _refusals(self, user_id: str) -> Refusals:
        """Return what recognises what a user forgot, by the same hashes as in a folder of the same secret."""
        return Refusals(self._user_key(user_id))

    def _user_key(self, user_id: str) -> bytes:
        """Return the key of a user's hashes; the store's secret is asked for, or made, once."""
        if self._secret is None:

            def work(transaction: Transaction) -> str:
                transaction.run(
                    "INSERT INTO siltstone_meta (name, value) VALUES ('secret', ?) ON CONFLICT DO NOTHING",
                    self._veils.secret(secrets.token_bytes(16)),
                )
                return read_value(transaction, "secret") or ""

            known = self._database.glance(lambda t: read_value(t, "secret"))
            self._secret = self._veils.opened_secret(known or self._database.write(None, work))
        return user_key(self._secret, user_id)


def _makes_work(put: Put) -> bool:
    """Return whether there is something to consolidate once this is written."""
    record = put.record
    return put.message is not None or (
        record is not None and record.kind not in HIDDEN_KINDS and not is_derived(record)
    )
