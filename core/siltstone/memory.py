"""``TieredMemory``: what an application does with its memory. Composition only; each verb is decided elsewhere."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from . import footprint
from .engine import Engine, open_engine
from .errors import ConfigurationError, InvalidInputError, NotFoundError, ReadOnlyError
from .keepers import Handle
from .lifecycle.forget import carry_out, check_named, erase, meant, preview
from .lifecycle.history import history
from .lifecycle.refresh import refresh
from .lifecycle.state import state
from .lifecycle.update import add_messages, replace_messages, update_record
from .meter import Meter, measured
from .models.limits import spent_until
from .models.usage import read_usage
from .opening import Durability, Key, is_service
from .protocols import Clock, KeepsVectorsElsewhere, Progress, ShortTermStore, Store, Summarizer, TokenCounter, Where
from .recall.context import build_context
from .recall.packing import SECTIONS, check_budget, check_sections
from .recall.search import search
from .records import (
    WHOLE,
    ConsolidationReport,
    Context,
    ForgetReport,
    Hit,
    ImportReport,
    Message,
    Record,
    SessionInfo,
    Stats,
    to_datetime,
)
from .settings import Settings
from .tiers import standing, working
from .tiers.incoming import (
    MessageLike,
    check_id,
    check_importance,
    check_kind,
    check_kinds,
    check_metadata,
    check_own_text,
    check_record_id,
    check_text,
    expiry,
    read_messages,
)
from .tiers.long_term import OnConflict, new_id
from .tiers.policy import Policy, worth_recalling
from .tiers.recent import recent
from .transfer.export import export
from .transfer.run import import_source
from .twins import twin

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from typing_extensions import Never, Self

Time: TypeAlias = datetime | str
"""An aware ``datetime``, or an ISO 8601 string with a time zone."""

UNSET: Any = object()
"""Stands for what was not passed, where ``None`` means something."""
_LONGEST_ID = 4_000
"""Characters: an id that was made of a session's and a message's own is longer than either may be."""


class TieredMemory:
    """The memory of one user: working, short-term and long-term, in one store.

    Made by ``open``; ``for_user`` gives another user's view of the same open store. Thread-safe. Use it as a
    context manager, or ``close`` it; a memory that is not closed loses nothing that was acknowledged.

    Conditions mean the same in every verb, and are joined by AND:

    ``kinds``        one of ``records.KINDS``, or several
    ``session_id``   one conversation; ``exclude_session_id`` all but one
    ``since``, ``until``   when it happened, else when it was said; both inclusive
    ``metadata``     top-level values that must be equal
    ``exclude_ids``  ids of records or messages that are passed over
    ``now``          the present, for expiry and for times in a query; default: the clock

    Times are aware ``datetime``s or ISO 8601 strings; naive ones are an ``InvalidInputError``.
    """

    def __init__(self, engine: Engine, user_id: str, *, owner: bool) -> None:
        self._engine = engine
        self._user_id = check_id(user_id, "user_id")
        self._owner = owner

    # --- opening and closing

    @classmethod
    def open(
        cls,
        location: str | os.PathLike[str] | Store,
        *,
        user_id: str = "default",
        embedder: Any = None,
        summarizer: Any = None,
        reranker: Any = None,
        llm: Any = None,
        token_counter: Any = None,
        short_term: ShortTermStore | str | None = None,
        clock: Clock | None = None,
        settings: Settings | None = None,
        durability: Durability = "fsync",
        key: Key | None = None,
        token: str | None = None,
        read_only: bool = False,
        create: bool = True,
        vector_store: Any = None,
    ) -> TieredMemory:
        """Open the memory at a location: a folder, ``":memory:"``, a URL, or a ``Store`` of your own.

        URLs are ``sqlite:///FILE``, ``postgresql://…``, and ``http(s)://…`` of ``siltstone serve``, where models,
        settings and keys are the service's: of the options, ``user_id``, ``token`` and ``token_counter`` are for it.

        ``user_id``        whose memory it is; any text
        ``embedder``       ``None``: multilingual-e5-small, embedded, offline; ``"sentence-transformers:MODEL"``;
                           ``"openai:MODEL@URL"``; an ``Embedder``; a LlamaIndex ``BaseEmbedding``; a LangChain
                           ``Embeddings``; a callable from texts to vectors
        ``summarizer``     what ``memory.summarizer`` is. ``None``: extractive, no model; ``"openai:MODEL@URL"``;
                           ``"ollama:MODEL[@URL]"``; a ``Summarizer``; a LlamaIndex ``LLM``; a LangChain
                           ``BaseChatModel``
        ``reranker``       ``None``: none; a ``Reranker``; see ``siltstone.models.resolve``
        ``llm``            the language model that reflects and judges (``Settings.reflect``, ``judge``), named as for
                           ``summarizer``; each of the two stands in for the other where that is ``None``
        ``token_counter``  ``None``: the embedded model's tokenizer; a ``TokenCounter``; a callable from text to int
        ``short_term``     where recent turns are kept; ``None``: in the store itself; ``"redis://HOST:PORT/0"``,
                           ``"rediss://…"``: in Redis (``Settings.short_term_…``); a ``ShortTermStore``
        ``vector_store``   where vectors are kept; ``None``: in the store itself; a LlamaIndex vector store (Chroma,
                           Qdrant, Milvus, LanceDB …), tried out here: what it cannot do is said by name
        ``durability``     ``"fsync"``: an acknowledged write survives power loss; ``"os"``: it survives a kill
        ``clock``          where the present comes from; ``None``: the machine
        ``settings``       ``Settings``; ``None``: the defaults
        ``key``            encryption at rest, of a folder or a database (``…?keys=FOLDER``): 32 bytes, a passphrase,
                           or a callable that gives either, called once; ``"base64:…"`` and ``"hex:…"`` are bytes.
                           ``None``: ``SILTSTONE_KEY``, if set. A new store is encrypted from its first byte; losing
                           the key means losing the memory
        ``token``          a service's bearer token; ``None``: ``SILTSTONE_TOKEN``, if set
        ``read_only``      refuse every write, and write no cache; ``create=False``: refuse to make a new store

        Raises ``InvalidInputError`` for settings that are refused (values, rules of ``Settings.sensitive``),
        ``ConfigurationError``, ``NotFoundError`` (nothing there and ``create=False``), ``ReadOnlyError``,
        ``StoreVersionError``, ``StoreCorruptedError``, ``EmbedderMismatchError``, ``MissingDependencyError`` (the
        store's, the key's or a named model's package);
        ``DecryptionError`` for a wrong or missing key, ``ConfigurationError`` for a key of a plain store;
        ``AccessDeniedError`` for a token that a service does not know, ``BackendUnavailableError`` for a service that
        does not answer, or a short-term tier, unless ``Settings.short_term_down`` goes on without it.
        """
        if is_service(location):
            from .remote.memory import open_remote

            return open_remote(
                str(location),
                user_id=check_id(user_id, "user_id"),
                token=token,
                token_counter=token_counter,
                embedder=embedder,
                summarizer=summarizer,
                reranker=reranker,
                llm=llm,
                short_term=short_term,
                clock=clock,
                settings=settings,
                key=key,
                read_only=read_only or None,
                vector_store=vector_store,
            )
        if token is not None:
            raise ConfigurationError("token= is for a service, http(s)://…: nothing was opened; leave it out")
        check_id(user_id, "user_id")
        engine = open_engine(
            location,
            embedder=embedder,
            summarizer=summarizer,
            reranker=reranker,
            llm=llm,
            token_counter=token_counter,
            short_term=short_term,
            clock=clock,
            settings=settings,
            durability=durability,
            key=key,
            read_only=read_only,
            create=create,
            vector_store=vector_store,
        )
        return cls(engine, user_id, owner=True)

    @classmethod
    async def aopen(cls, location: str | os.PathLike[str] | Store, **options: Any) -> TieredMemory:
        """Do what ``open`` does, without blocking the event loop."""
        return await asyncio.to_thread(functools.partial(cls.open, location, **options))

    @classmethod
    def reembed(
        cls,
        location: str | os.PathLike[str],
        *,
        embedder: Any = None,
        settings: Settings | None = None,
        key: Key | None = None,
        progress: Progress | None = None,
        vector_store: Any = None,
    ) -> int:
        """Move the store to another embedder; return the number of vectors made. See ``siltstone.upkeep.reembed``.

        ``embedder``, ``vector_store`` and ``key`` are what ``open`` takes; of ``settings``, ``embed_batch`` and
        ``lock_timeout`` count; ``progress(done, total)`` is called after each batch.
        """
        from .upkeep import reembed

        return reembed(
            location, embedder=embedder, settings=settings, key=key, progress=progress, vector_store=vector_store
        )

    def for_user(self, user_id: str) -> TieredMemory:
        """Return the view of ``user_id`` on the same open store; closing it closes nothing."""
        return TieredMemory(self._engine, user_id, owner=False)

    def close(self) -> None:
        """Give queued vectors a moment (``Settings.close_wait``), write caches, release locks.

        Turns that an adapter could not store are tried once more; what is lost of them is logged as an error.
        """
        if self._owner and not self._engine.closed:
            try:
                self._engine.keepers.ask(self, closing=True)
            finally:
                self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await asyncio.to_thread(self.close)

    def __repr__(self) -> str:
        return f"TieredMemory({self.location!r}, user_id={self._user_id!r})"

    def __copy__(self) -> Self:
        return self  # frameworks copy what holds a memory; the open store behind it is one

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        raise ConfigurationError(
            f"the open memory of {self._user_id!r} cannot be pickled: its files and locks are this process's, and its "
            "key is to be written nowhere. Nothing was changed; open it where it is needed, with "
            "TieredMemory.open(location, user_id=…)"
        )

    @property
    def user_id(self) -> str:
        """Whose memory this is."""
        return self._user_id

    @property
    def handle(self) -> Handle:
        """The open store behind this view, the same object for every user's view: a weak key for what goes with it."""
        return self._engine

    @property
    def meter(self) -> Meter:
        """What the stages of the work have cost since the store was opened, for all users of it."""
        return self._engine.meter

    @property
    def summarizer(self) -> Summarizer:
        """The summarizer that was chosen at opening: ``memory.summarizer.summarize(memory.messages(session_id))``."""
        return self._engine.summarizer

    @property
    def location(self) -> str:
        """Where the store is, as it was opened."""
        return self._engine.store.location

    @property
    def opened_with(self) -> Mapping[str, Any]:
        """Arguments of ``open`` by name: the location as it was written, and what was given beside it.

        Never ``key`` or ``token``; a password that stood in the location is still in it.
        """
        return self._engine.opened_with

    @property
    def token_counter(self) -> TokenCounter:
        """What every budget of this memory is counted with."""
        return self._engine.counter

    @property
    def revision(self) -> str:
        """A token that changes with every write of this user, by any process."""
        return self._open_engine().store.revision(self._user_id)

    # --- writing

    @measured("add", len)
    def add(
        self,
        messages: Sequence[MessageLike],
        *,
        session_id: str,
        created_at: Time | None = None,
        on_conflict: OnConflict = "error",
    ) -> list[str]:
        """Store messages of one session, all or none; return their stored ids, in order.

        ``session_id``   the conversation that they belong to; any text
        ``messages``     ``Message``, ``(role, content)`` or ``{"role", "content"}``; roles are ``system``, ``user``,
                         ``assistant``, ``tool``
        ``created_at``   when those were said that carry no time of their own; default: now
        ``on_conflict``  a message whose id the session has with the same text is left as it is; with another text
                         it is a ``ConflictError``, or replaced (``"update"``), or left (``"skip"``)

        What this session had forgotten is not stored again, known by its id or by its text; the id returned for it
        leads nowhere.

        On disk when it returns, and found by its words at once. Its vector is waited for at most
        ``Settings.embed_wait``. O(messages), whatever the size of the store.
        """
        engine = self._writable()
        now = engine.clock.now()
        read = read_messages(
            messages,
            session_id=session_id,
            created_at=now if created_at is None else to_datetime(created_at, "created_at"),
            max_chars=engine.settings.max_message_chars,
        )
        engine.vectors.resume(self._user_id)
        ids = add_messages(engine.store, engine.long_term, self._user_id, read, now=now, on_conflict=on_conflict)
        engine.wake_worker(self._user_id)
        engine.turns.stored(self._user_id, ids)
        return ids

    @measured("add", len)
    def replace_session(
        self, session_id: str, messages: Sequence[MessageLike], *, created_at: Time | None = None
    ) -> list[str]:
        """Have a session hold exactly these messages, in this order; return their stored ids, in order.

        ``messages`` and ``created_at`` are what ``add`` takes. A message that is as it was keeps its id, its time, and
        what was made of it: known by its own id, or else by what it says. The others come, and what is not among
        ``messages`` goes, with what siltstone made of it; what somebody remembered by hand stays. In one step: no
        reader, and no kill, ever leaves half of it, and of two at once the later one holds. Done twice, it changes
        nothing. What this session had forgotten stays forgotten; the id returned for it leads nowhere.

        A time that is given decides the place of a message, as it does in ``add``. O(messages of the session).
        """
        engine = self._writable()
        now = engine.clock.now()
        said_at = now if created_at is None else to_datetime(created_at, "created_at")
        read = read_messages(
            messages, session_id=session_id, created_at=said_at, max_chars=engine.settings.max_message_chars
        )
        engine.vectors.resume(self._user_id)
        ids = replace_messages(
            engine.store, engine.long_term, self._user_id, session_id, read, now=now, said_at=said_at
        )
        engine.wake_worker(self._user_id)
        engine.turns.replaced(self._user_id, session_id)
        engine.turns.stored(self._user_id, ids)
        return ids

    @measured("add", lambda _: 1)
    def remember(
        self,
        text: str,
        *,
        kind: str = "fact",
        occurred_at: Time | None = None,
        expires_at: Time | None = None,
        ttl: timedelta | float | None = None,
        pinned: bool = False,
        importance: float | None = None,
        session_id: str | None = None,
        source_ids: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,
    ) -> str:
        """Store one record that is not a turn; return its id, which is ``id`` or a new one.

        ``kind`` is any of ``records.KINDS`` but ``turn``; ``session_id`` the conversation that it came from;
        ``metadata`` JSON values of your own. ``occurred_at`` is when what it tells happened; ``ttl`` (``timedelta`` or
        seconds) or ``expires_at`` when it stops being read, unless ``pinned``; ``importance`` lies between 0 and 1;
        ``source_ids`` are messages or records that it rests on: it goes when they are forgotten. Raises
        ``NotFoundError`` for an unknown source, ``ConflictError`` for an ``id`` that is taken.
        """
        engine = self._writable()
        now = engine.clock.now()
        record = Record(
            id=new_id() if id is None else check_record_id(id),
            text=check_own_text(text, engine.settings.max_message_chars),
            kind=check_kind(kind),
            user_id=self._user_id,
            session_id=None if session_id is None else check_id(session_id, "session_id"),
            source_ids=tuple(check_id(id, "source id") for id in source_ids),
            created_at=now,
            stored_at=now,
            occurred_at=None if occurred_at is None else to_datetime(occurred_at, "occurred_at"),
            expires_at=expiry(now, expires_at, ttl),
            pinned=pinned,
            importance=check_importance(importance),
            metadata=check_metadata(metadata, "the record"),
        )
        return engine.long_term.remember(record)

    def update(
        self,
        id: str,
        *,
        text: str | None = None,
        kind: str | None = None,
        expires_at: Time | None = UNSET,
        pinned: bool | None = None,
        importance: float | None = UNSET,
        metadata: Mapping[str, Any] | None = None,
    ) -> Record:
        """Change a record or turn; return its new version. What is not passed stays.

        ``expires_at=None`` and ``importance=None`` take the value away; ``pinned`` keeps it from expiring;
        ``metadata`` replaces all of it. A turn keeps its kind. What was made of a text that changes goes, and the next
        ``consolidate`` makes it anew. Raises ``NotFoundError``.
        """
        engine = self._writable()
        changes: dict[str, Any] = {}
        if text is not None:
            changes["text"] = check_own_text(text, engine.settings.max_message_chars)
        if kind is not None:
            changes["kind"] = check_kind(kind)
        if expires_at is not UNSET:
            changes["expires_at"] = None if expires_at is None else to_datetime(expires_at, "expires_at")
        if pinned is not None:
            changes["pinned"] = pinned
        if importance is not UNSET:
            changes["importance"] = check_importance(importance)
        if metadata is not None:
            changes["metadata"] = check_metadata(metadata, "the record")
        if not changes:
            raise InvalidInputError("update() was given nothing to change")
        now = engine.clock.now()
        record = update_record(engine.store, engine.long_term, self._user_id, id, changes, now=now)
        if text is not None:
            engine.wake_worker(self._user_id)
        engine.turns.stored(self._user_id, record.source_ids if record.kind == "turn" else ())
        return record

    def forget(
        self,
        *unnamed: Never,
        ids: Sequence[str] | str | None = None,
        session_id: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        kinds: Sequence[str] | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        everything: bool = False,
        dry_run: bool = False,
    ) -> ForgetReport:
        """Remove memories for good, with their vectors, index entries and whatever was derived from them.

        Which ones: ``ids`` of messages or records (those that are not there are left out of the report; of one that
        made room for others, by ``Settings.capacity_records``, what was made of it goes, and its short-term copy),
        ``session_id``, ``since``, ``until``, ``kinds``, ``metadata``; no condition at all is an
        ``InvalidInputError``, and so is an ``unnamed`` one. ``everything`` means all of this user, and takes no
        condition beside it.
        ``dry_run`` reports what would go, and removes nothing.

        When it returns, no file of the store contains the words. What rested only in part on them (``partial`` in the
        report) goes as well, and is made anew of the rest by the next ``consolidate``, or soon by
        ``Settings.worker``. An export elsewhere is the caller's own,
        and so are the checkpoints in which an agent framework keeps its conversations. Raises
        ``BackendUnavailableError`` where it is forgotten here, but a short-term tier elsewhere did not answer, whose
        copies are then removed as soon as it does.
        """
        check_named(unnamed)
        engine = self._open_engine() if dry_run else self._writable()
        where = self._where(kinds=kinds, since=since, until=until, session_id=session_id, metadata=metadata)
        if everything and (ids is not None or where != Where()):
            raise InvalidInputError("everything=True takes no condition: nothing was forgotten")
        if not everything and ids is None and where == Where():
            raise InvalidInputError("forget needs ids, another condition, or everything=True: nothing was forgotten")
        if not dry_run:
            engine.keepers.ask(self)  # or what waits to be stored would come back after it was forgotten
        chosen = [ids] if isinstance(ids, str) else ids
        for id in chosen or ():
            check_text(id, "id", _LONGEST_ID, may_be_empty=True)
        if everything and not dry_run:
            with engine.turns.forgetting(self._user_id, None):
                return self._settled(erase(engine.store, self._user_id))
        going = meant(engine.store, self._user_id, chosen, where)
        named = ids is not None or where.kinds is not None
        if dry_run:
            return preview(engine.store, self._user_id, going, named=named)
        with engine.turns.forgetting(self._user_id, going):
            return self._settled(carry_out(engine.store, self._user_id, going, named=named))

    def _settled(self, report: ForgetReport) -> ForgetReport:
        """Have what could not be deleted elsewhere deleted later, and what rested on more than what went made anew."""
        engine = self._writable()
        if report.partial:
            engine.wake_worker(self._user_id)
        if report.remains and isinstance(engine.store, KeepsVectorsElsewhere):
            engine.vectors.wake(self._user_id)
        return report

    def consolidate(self, *, dry_run: bool = False, retry: bool = False) -> ConsolidationReport:
        """Bring long-term memory up to date with what was said: do what is due now, and report it row by row.

        Spans of conversation that are due (``Settings.span_turns``, ``span_tokens``, ``span_idle``) are compressed
        by ``memory.summarizer``; what they tell is compared with what is known: said again, it counts once more;
        changed, it replaces what was so until then, and both are kept. ``dry_run`` changes nothing, and asks no
        language model; topics that would come of summaries which are not written yet it leaves out: these have no
        vectors. ``retry`` tries again what has failed too often (dead letters).

        Done twice, or by several processes at once, it does everything once. A model's failure deletes nothing.
        """
        engine = self._open_engine() if dry_run else self._writable()
        return engine.condenser.consolidator.run(self._user_id, dry_run=dry_run, retry=retry)

    # --- moving data in and out

    def export_to(self, path_or_file: str | os.PathLike[str] | IO[Any], *, progress: Progress | None = None) -> int:
        """Write this user's memory as one JSON Lines file; return the number of items in it.

        An item is a message with its turn, or another record, each with its earlier versions; the format is
        described in ``siltstone.importers.lines``. ``path_or_file`` is a path, which appears or is replaced when all
        of it is on disk, readable by its owner only; or a file open for writing, binary or text (``encoding="utf-8"``),
        which is left open. ``progress(done, total)`` is called after each item. It is a stream: any number of items
        in little memory. The file is yours: ``forget`` does not reach it. Raises ``ConfigurationError`` for a path
        that cannot be, among them one inside the store's folder.
        """
        engine = self._open_engine()
        return export(
            engine.store,
            self._user_id,
            path_or_file,
            embedder=engine.embedder.name,
            now=engine.clock.now(),
            progress=progress,
        )

    def import_from(
        self,
        path_or_file: str | os.PathLike[str] | IO[Any],
        *,
        format: str | None = None,
        dry_run: bool = False,
        vectors: str | os.PathLike[str] | None = None,
        failures: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Take over what another memory or program holds; return what became of each item.

        ``path_or_file`` is a path (of a file, a folder, a zip archive), or a file open for reading; ``format`` one of
        ``siltstone.importers.formats``, found by looking inside if it is not given. What comes in belongs to this
        user, whosever it was. An export of ours keeps ids, versions and times; other programs' ids are kept, or follow
        from their place. Twice changes nothing; a source that has changed updates, and what was made of the old text
        goes. What was forgotten here stays forgotten, and so does what rests on it. What cannot be read is counted,
        named with its place, and holds up nothing else; what fails is tried once more at the end. Killed, it goes on
        when it is run again: every 100 items are one commit. A stream: memory does not grow with the file.

        ``failures`` is a path where what failed is kept, with reasons, to be imported again alone. ``vectors`` is a
        file of vectors outside the store, made where there is none: texts whose vector is in it are not embedded, and
        those of others are added. It holds hashes and vectors, no words; it is yours, and ``forget`` does not reach
        it. ``upkeep.embed_source`` fills one elsewhere.

        On disk and found by its words when it returns; by its meaning once it is embedded: ``flush`` waits for that.
        ``dry_run`` gives the same report and a preview, writes nothing, and holds what it would write in memory.
        ``progress(done, total)`` is called after each batch; ``total`` is estimated from the bytes read where it is
        not known, and 0 where that cannot be told. Raises ``InvalidInputError`` for a source that is none of the
        formats, ``NotFoundError`` where there is none, ``EmbedderMismatchError`` for vectors of another embedder.
        """
        engine = self._open_engine() if dry_run else self._writable()
        if not dry_run:
            engine.vectors.resume(self._user_id)
        return import_source(
            engine.store,
            engine.long_term,
            engine.embedder.without_writing() if dry_run else engine.embedder,
            path_or_file,
            user_id=self._user_id,
            now=engine.clock.now(),
            max_chars=engine.settings.max_message_chars,
            embed_batch=engine.settings.embed_batch,
            format=format,
            dry_run=dry_run,
            vectors=vectors,
            failures=failures,
            stored=functools.partial(engine.turns.stored, self._user_id),
            progress=progress,
        )

    import_ = import_from

    # --- reading

    @measured("search", len)
    def search(
        self,
        query: str,
        *,
        top_k: int = 10,
        kinds: Sequence[str] | str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        session_id: str | None = None,
        exclude_session_id: str | None = None,
        exclude_ids: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        expand: str | None = None,
        now: Time | None = None,
    ) -> list[Hit]:
        """Return the ``top_k`` records that answer the query best, best first.

        Conditions: ``kinds``, ``since``, ``until``, ``session_id``, ``exclude_session_id``, ``exclude_ids``,
        ``metadata``. ``expand="source"`` returns the turns that a derived record rests on in its place. ``now``
        anchors times in the query. While the embedder fails, words alone are searched: a warning and
        ``stats().last_error`` say so. ``Hit.why`` names the parts of each score.
        """
        engine = self._open_engine()
        if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
            raise InvalidInputError(f"top_k must be a positive number, not {top_k!r}")
        if expand not in (None, "source"):
            raise InvalidInputError(f"expand must be None or 'source', not {expand!r}")
        moment = engine.clock.now() if now is None else to_datetime(now, "now")
        where = self._where(
            kinds=kinds,
            since=since,
            until=until,
            session_id=session_id,
            exclude_session_id=exclude_session_id,
            exclude_ids=tuple(exclude_ids),
            metadata=metadata,
            now=moment,
        )
        engine.vectors.resume(self._user_id)
        engine.vectors.catch_up(self._user_id)
        return search(
            engine.store,
            engine.vectors,
            self._user_id,
            check_text(query, "query", engine.settings.max_message_chars),
            top_k=top_k,
            where=where,
            now=moment,
            expand=expand,
            reranker=engine.reranker,
            space=engine.embedder.space,
        )

    def messages(self, session_id: str, *, limit: int | None = None, before: str | None = None) -> list[Message]:
        """Return the messages of ``session_id`` in order; ``limit`` gives the newest, ``before`` those before an id."""
        engine = self._open_engine()
        if limit is not None and limit < 0:
            raise InvalidInputError(f"limit must not be negative, not {limit!r}")
        return engine.store.messages(self._user_id, check_id(session_id, "session_id"), limit=limit, before=before)

    def window(self, session_id: str, *, max_tokens: int) -> list[Message]:
        """Return working memory: the newest whole exchanges of ``session_id`` within ``max_tokens``.

        Always a valid chat sequence. See ``siltstone.tiers.working``.
        """
        engine = self._open_engine()
        check_budget(max_tokens)
        return working.fit(self._recent(engine, session_id, max_tokens), max_tokens, engine.counter)

    def sessions(self) -> list[SessionInfo]:
        """Return the user's sessions, the one written to last at the end."""
        return self._open_engine().store.sessions(self._user_id)

    def get(self, id: str) -> Record | Message:
        """Return a record or message by its id. Raises ``NotFoundError``."""
        (stored,) = self._open_engine().store.fetch(self._user_id, [check_id(id, "id", _LONGEST_ID)])
        if stored is None:
            raise NotFoundError(f"this user has no message or record {id!r}")
        if stored.message is not None and stored.message.id == id:
            return stored.message
        assert stored.record is not None
        return stored.record

    def records(
        self,
        *,
        kinds: Sequence[str] | str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        session_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Iterator[Record]:
        """Yield records in order of writing, turns among them; expired ones are left out.

        Conditions: ``kinds``, ``since``, ``until``, ``session_id``, ``metadata``.
        """
        engine = self._open_engine()
        where = self._where(
            kinds=kinds,
            since=since,
            until=until,
            session_id=session_id,
            metadata=metadata,
            now=engine.clock.now(),
        )
        return engine.store.scan(self._user_id, where)

    def history(self, id: str) -> list[Record]:
        """Return what a record was before, newest first: its earlier versions, and the statements that it replaced.

        Of versions as many as ``Settings.history`` keeps. O(the user's records that are no turns): it is for looking at
        one memory, not for each. Raises ``NotFoundError``.
        """
        self.get(id)
        return history(self._open_engine().store, self._user_id, id)

    def stats(self) -> Stats:
        """Return counts, sizes and the state of the queue."""
        engine = self._open_engine()
        counts = engine.store.stats(self._user_id)
        consolidation = state(engine.store, self._user_id, engine.counter)
        usage, now = read_usage(engine.limiter.book.usage()), engine.clock.now()
        spent = usage.spent(usage.limits, now)
        return Stats(
            user_id=self._user_id,
            location=engine.store.location,
            messages=counts.messages,
            records=counts.records,
            sessions=counts.sessions,
            kinds=counts.kinds,
            pending_vectors=counts.pending_vectors,
            bytes=counts.bytes if counts.whole is None else {**counts.bytes, WHOLE: counts.whole},
            embedder=engine.embedder.name,
            revision=engine.store.revision(self._user_id),
            last_error=engine.last_error,
            health=(*counts.health, *engine.turns.trouble),
            jobs=consolidation.jobs,
            unfinished=consolidation.unfinished,
            dead_letters=consolidation.dead_letters,
            reviews=consolidation.reviews,
            compression=consolidation.compression,
            model_usage=usage.counts(now),
            over_budget=None if spent is None else spent_until(spent),
            sensitive={**engine.guard.counts, **consolidation.guarded},
            stages=engine.meter.spent(),
            memory={
                **counts.memory,
                "embedder": engine.embedder.memory,
                "process": footprint.resident(),
                **footprint.gpu(),
            },
        )

    def flush(self, timeout: float | None = None) -> None:
        """Wait until everything written can be found by meaning, at most ``timeout`` seconds.

        Raises ``BackendUnavailableError`` when the time is over or the embedder cannot be reached; what was
        written is safe and stays queued. Turns that an adapter could not store are tried once more before.
        """
        engine = self._writable()
        engine.keepers.ask(self)
        engine.turns.settle()
        engine.vectors.flush(self._user_id, timeout)

    @measured("context", lambda made: len(made.hits), lambda made: made.tokens)
    def context(
        self,
        query: str | None = None,
        *,
        session_id: str | None = None,
        max_tokens: int = 2000,
        sections: Sequence[str] = SECTIONS,
        exclude_ids: Sequence[str] = (),
        now: Time | None = None,
    ) -> Context:
        """Return what to put into a prompt, within ``max_tokens`` by this memory's token counter.

        ``query``       what to recall for; ``None`` recalls nothing and gives profile, summary and recent turns, and
                        so does a mere greeting, "thanks" or "ok"
        ``session_id``  the running session, whose newest turns are the section ``recent``
        ``exclude_ids`` messages and records to leave out; ``now`` the present that the query speaks of
        ``sections``    which parts, of ``profile``, ``summary``, ``recalled``, ``recent``

        Whole entries only; what was left out is counted in ``omitted``. The text is fenced as data.
        """
        engine = self._open_engine()
        check_budget(max_tokens)
        sections = check_sections(sections)
        moment = engine.clock.now() if now is None else to_datetime(now, "now")
        recent, earlier = [], 0
        if session_id and "recent" in sections:
            recent = self._recent(engine, session_id, max_tokens)
            held = next((info.messages for info in self.sessions() if info.session_id == session_id), 0)
            earlier = max(held - len(recent), 0)
        profile, summaries = [], []
        if "profile" in sections:
            profile = standing.profile(engine.store, self._user_id, Policy(engine.settings), moment)
        if "summary" in sections:
            summaries = standing.summaries(engine.store, self._user_id, session_id, moment)
        hits: list[Hit] = []
        if query is not None and "recalled" in sections and worth_recalling(query):
            hits = self.search(
                query, top_k=max(10, min(max_tokens // 12, 400)), exclude_ids=exclude_ids, now=moment, expand="source"
            )
        context = build_context(
            profile=profile,
            summaries=summaries,
            hits=hits,
            recent=recent,
            earlier=earlier,
            exclude_ids=set(exclude_ids),
            counter=engine.counter,
            max_tokens=max_tokens,
            settings=engine.settings,
        )
        if engine.settings.refresh and now is None and not engine.read_only:
            recalled = [hit.record for hit in context.hits]
            refresh(engine.store, engine.long_term, self._user_id, recalled, now=engine.clock.now())
        return context

    # --- how the verbs reach the engine

    def _open_engine(self) -> Engine:
        if self._engine.closed:
            raise ConfigurationError(f"the memory at {self.location} is closed; open it again")
        return self._engine

    @property
    def _executor(self) -> Executor:
        """The threads of the async twins."""
        return self._open_engine().threads.pool

    def _writable(self) -> Engine:
        engine = self._open_engine()
        if engine.read_only:
            raise ReadOnlyError.opened(self.location)
        return engine

    def _where(
        self,
        *,
        kinds: Sequence[str] | str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        session_id: str | None = None,
        exclude_session_id: str | None = None,
        exclude_ids: tuple[str, ...] = (),
        metadata: Mapping[str, Any] | None = None,
        now: datetime | None = None,
    ) -> Where:
        return Where(
            kinds=check_kinds(kinds),
            since=None if since is None else to_datetime(since, "since"),
            until=None if until is None else to_datetime(until, "until"),
            session_id=None if session_id is None else check_id(session_id, "session_id"),
            exclude_session_id=None
            if exclude_session_id is None
            else check_id(exclude_session_id, "exclude_session_id"),
            exclude_ids=exclude_ids,
            metadata=check_metadata(metadata, "the condition") or None,
            now=now,
        )

    def _recent(self, engine: Engine, session_id: str, max_tokens: int) -> list[Message]:
        """Return the newest turns of a session, as many as a budget may hold, from the short-term tier."""
        return recent(
            engine.store,
            engine.turns,
            self._user_id,
            check_id(session_id, "session_id"),
            max_tokens=max_tokens,
            counter=engine.counter,
            now=engine.clock.now(),
        )

    # --- async twins

    aadd = twin(add)
    areplace_session = twin(replace_session)
    aremember = twin(remember)
    aupdate = twin(update)
    aforget = twin(forget)
    aconsolidate = twin(consolidate)
    asearch = twin(search)
    acontext = twin(context)
    awindow = twin(window)
    amessages = twin(messages)
    asessions = twin(sessions)
    aget = twin(get)
    ahistory = twin(history)
    astats = twin(stats)
    aflush = twin(flush)
    aexport_to = twin(export_to)
    aimport_from = twin(import_from)
    aimport_ = aimport_from

    async def arecords(self, **conditions: Any) -> list[Record]:
        """Return what ``records`` yields, as a list, without blocking the event loop."""
        call = functools.partial(lambda: list(self.records(**conditions)))
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    async def aclose(self) -> None:
        """Do what ``close`` does, without blocking the event loop."""
        await asyncio.to_thread(self.close)
