"""Contracts: what a user may bring, and what the rooms of siltstone ask of each other.

A user may implement ``Embedder``, ``Summarizer``, ``ChatModel``, ``Reranker``, ``TokenCounter``, ``Store``,
``ShortTermStore`` and ``Clock``. The frozen dataclasses below carry data across the ``Store`` contract.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from .records import Digest, ForgetReport, Message, Record, SessionInfo

Floats: TypeAlias = npt.NDArray[np.float32]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Progress: TypeAlias = Callable[[int, int], None]
"""Is told ``(done, total)`` as work goes on."""


# --- models


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors of one space.

    ``name`` identifies the model, ``dim`` its width. Both methods return float32 of unit length: documents as
    ``(n, dim)``, a query as ``(dim,)``. They may be called from several threads at once. Failures of a service
    are ``BackendUnavailableError`` or ``ModelError``.
    """

    @property
    def name(self) -> str:
        """Identity of the model, e.g. ``multilingual-e5-small``."""

    @property
    def dim(self) -> int:
        """Width of a vector."""

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return one row per text, ``(n, dim)``."""

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a question, ``(dim,)``."""


@runtime_checkable
class Summarizer(Protocol):
    """Compresses a span of messages into a ``Digest``. A failure is ``ModelError``; it deletes nothing.

    Any other exception is taken for one: the span waits, is tried again, and the report of a consolidation says so.
    """

    @property
    def name(self) -> str:
        """What ``Record.made_by`` will say."""

    def summarize(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Digest:
        """Return the digest of the messages, its summary within ``max_tokens`` where given."""


@runtime_checkable
class ModelFreeSummarizer(Summarizer, Protocol):
    """A summarizer that asks no model and takes no time: every worker may run it, and so may a dry run.

    A ``local`` one may still be a model, whose texts stay in this process (``Settings.sensitive``).
    """

    @property
    def model_free(self) -> bool:
        """``True``: nothing is kept from other workers while it is at it."""


@runtime_checkable
class ChatModel(Protocol):
    """A language model behind one call. ``schema`` is a JSON schema that the answer should follow."""

    @property
    def name(self) -> str:
        """Identity of the model."""

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int | None = None
    ) -> str:
        """Return the answer's text."""


@runtime_checkable
class Reranker(Protocol):
    """Scores how well each text answers the query; higher is better."""

    @property
    def name(self) -> str:
        """Identity of the model."""

    def rerank(self, query: str, texts: Sequence[str]) -> Floats:
        """Return one score per text, ``(n,)``."""


@runtime_checkable
class TokenCounter(Protocol):
    """Counts the tokens of a text as the application's model would."""

    def count(self, text: str) -> int:
        """Return the number of tokens."""


@runtime_checkable
class Clock(Protocol):
    """Where the present comes from."""

    def now(self) -> datetime:
        """Return the present as an aware datetime."""


@runtime_checkable
class ShortTermStore(Protocol):
    """Recent turns of a user's sessions, kept for a time to live and a number of turns."""

    def append(self, user_id: str, session_id: str, messages: Sequence[Message]) -> None:
        """Keep the messages, dropping the oldest over the limit."""

    def recent(self, user_id: str, session_id: str, limit: int | None = None) -> list[Message]:
        """Return the newest messages of the session that have not expired, oldest first."""

    def drop(self, user_id: str, *, session_id: str | None = None, ids: Sequence[str] | None = None) -> None:
        """Remove a session's turns, single messages, or everything of the user."""


@dataclass(frozen=True)
class Turn:
    """A message as one of its session's recent turns, and until when it is one."""

    message: Message
    until: datetime


@dataclass(frozen=True)
class TurnsCopy:
    """What a shared short-term store has of a session: the newest messages, and the ``Store.revision`` they are of.

    ``as_of`` is ``None`` where there is no copy. ``fence`` is what a copy that is put in its place has to show.
    """

    fence: str
    as_of: str | None = None
    messages: tuple[Message, ...] = ()


@runtime_checkable
class SharedShortTermStore(ShortTermStore, Protocol):
    """A short-term store outside of this process, which holds copies of what the long-term store has.

    Such a copy counts as long as the store is at the revision that it is of, so that nothing is served that was
    forgotten, changed or added to meanwhile, whatever became of the server between. Every verb raises
    ``BackendUnavailableError`` where the server does not do its part.
    """

    @property
    def location(self) -> str:
        """Where it is, without what is secret in the address."""

    @property
    def ttl(self) -> timedelta:
        """How long a turn is kept after it was stored."""

    @property
    def turns(self) -> int:
        """How many turns of a session are kept."""

    def copied(self, user_id: str, session_id: str, limit: int, *, now: datetime) -> TurnsCopy:
        """Return the copy of a session's newest turns that have not expired."""

    def copy(
        self, user_id: str, session_id: str, turns: Sequence[Turn], *, as_of: str, fence: str, now: datetime
    ) -> None:
        """Put a copy in place, unless something of the user was dropped since ``fence`` was read."""

    def follow(
        self,
        user_id: str,
        before: str,
        after: str,
        *,
        session_id: str | None = None,
        added: Sequence[Turn] = (),
        now: datetime,
    ) -> None:
        """Let copies of the revision ``before`` be ones of ``after``, which has ``added`` of one session beside."""

    def clear(self) -> None:
        """Remove everything of all users."""

    def check(self) -> None:
        """Raise ``BackendUnavailableError`` unless the server is there."""

    def close(self) -> None:
        """Give connections back."""


# --- the store


EVERYBODY: Final = "*"
"""Stands for a user on the page of ``KeepsOwed`` where nobody knows any more whose copies they are."""


@runtime_checkable
class KeepsOwed(Protocol):
    """A store that notes whose copies elsewhere are to be removed, so that a killed process leaves it to the next."""

    def owed(self) -> Mapping[str, str]:
        """Return the page that was written last: users by what they are noted under; an empty one at first."""

    def turn_owed(self, turn: Callable[[Mapping[str, str]], Mapping[str, str]]) -> None:
        """Replace the page by what ``turn`` makes of it; on disk when it returns, and nobody comes between."""


@runtime_checkable
class KeepsUsage(Protocol):
    """A store that keeps, for all processes that have it open, what language models were used for.

    Without it each process keeps limits (``Settings.requests_per_minute`` and others) for itself, and forgets them.
    """

    def usage(self) -> Mapping[str, Any]:
        """Return the page of JSON values that was written last; an empty one at first."""

    def turn_usage(self, turn: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> None:
        """Replace the page by what ``turn`` makes of it; it survives a killed process, and nobody comes between."""


@runtime_checkable
class KeepsRemains(Protocol):
    """A store on an engine that keeps for a while what was deleted."""

    def remains(self, user_id: str) -> tuple[str, ...]:
        """Return where it is kept, and how to end that, a sentence each; commands stand between backquotes."""


@dataclass(frozen=True)
class Claim:
    """A user whom a worker has taken to consolidate: as whom, at which ``turn`` of their writes, and how many seconds
    after the last of these."""

    user_id: str
    owner: str
    turn: int
    silence: float


@runtime_checkable
class Compacts(Protocol):
    """A store whose files keep for a while what is dead in them."""

    def compact(self, user_id: str | None = None) -> int:
        """Take it out of a user's files, or of everybody's, now; return the bytes given back."""


@runtime_checkable
class SharesWork(Protocol):
    """A store that keeps which users are due to be consolidated, for all workers of all machines that have it open."""

    def claim(self, owner: str, *, pause: float, lease: float) -> Claim | None:
        """Take a user who has been due for ``pause`` seconds, the longest first; ``None`` where nobody is.

        Nobody else can take them for ``lease`` seconds; after that, whoever took them is taken for dead.
        """

    def release(self, claim: Claim, again: float | None) -> None:
        """Give a user back, due in ``again`` seconds, or else with their next write; at once if that has been."""


@runtime_checkable
class KeepsVectorsElsewhere(Protocol):
    """A store whose vectors are in an engine beside it."""

    def reconcile(self, user_id: str) -> int:
        """Compare what the store knows with what the engine has, both ways; return how many differences there were.

        What is missing there is pending again, what belongs to no text here is deleted. Raises
        ``BackendUnavailableError``.
        """


@dataclass(frozen=True)
class Where:
    """Which rows of a user are meant; conditions are joined by AND.

    ``since`` and ``until`` bound ``Record.time`` (when it happened, else when it was said), both inclusive.
    ``metadata`` compares top-level values for equality. ``now`` hides what has expired by then; ``expired_by`` means
    nothing else. Records of a hidden
    kind (``records.HIDDEN_KINDS``) are meant only where ``kinds`` names it.
    """

    kinds: tuple[str, ...] | None = None
    since: datetime | None = None
    until: datetime | None = None
    session_id: str | None = None
    exclude_session_id: str | None = None
    exclude_ids: tuple[str, ...] = ()
    metadata: Mapping[str, Any] | None = None
    now: datetime | None = None
    expired_by: datetime | None = None


@dataclass(frozen=True)
class Put:
    """Write one item: a record, a message, or a message together with its turn record.

    ``record`` is ``None`` for a message with nothing to search for; ``message`` is ``None`` for a record that is
    not a turn. An item whose id exists becomes its next version (the caller counts ``record.version``).
    ``vector`` is the record's row, if it is known already. ``supplied_id`` is the caller's id of the message.
    ``restores`` says that the item comes from a copy made earlier: then it is skipped if an item of its id was
    forgotten, whereas a caller may write anew under that id.
    """

    record: Record | None = None
    message: Message | None = None
    vector: Floats | None = None
    supplied_id: str | None = None
    restores: bool = False

    @property
    def id(self) -> str:
        """The id under which the item is versioned: the message's where there is one, else the record's."""
        return _item_id(self.record, self.message)


@dataclass(frozen=True)
class Stored:
    """An item as the store has it: what ``Put`` wrote, its version, and the key of its row among ``Candidates``."""

    version: int
    record: Record | None = None
    message: Message | None = None
    supplied_id: str | None = None
    row: int = field(default=0, compare=False)

    @property
    def id(self) -> str:
        """The id under which the item is versioned, as in ``Put``."""
        return _item_id(self.record, self.message)


def _item_id(record: Record | None, message: Message | None) -> str:
    if message is not None and message.id is not None:
        return message.id
    assert record is not None
    return record.id


@dataclass(frozen=True)
class Refusal:
    """What a forgotten message of a session would be recognised by, were it sent again: the supplied id, the text.

    Either alone is enough; an id is never taken for a text, nor a text for an id. ``parts`` is the metadata of a
    message without text, which says nothing else (calls to tools). Without a session it is the stored id of any item,
    refused, with what rests on it, to a ``Put`` that ``restores``. ``made`` is a record that siltstone is not to make
    again out of any of the same sources: by its id where it is a summary, else by its topic, or its text where it has
    none. What a person writes is not refused by it.
    """

    session_id: str | None = None
    id: str | None = None
    text: str | None = None
    parts: Mapping[str, Any] | None = None
    made: Record | None = None


@dataclass(frozen=True)
class Commit:
    """The receipt of a commit: the user's new revision, and the ids that were skipped as forgotten before.

    ``before`` is the revision that it came right after, where the store can tell.
    ``waiting`` is how many vectors could not be sent to where they are kept, and are pending.
    """

    revision: str
    skipped: tuple[str, ...] = ()
    before: str | None = None
    waiting: int = 0


@dataclass(frozen=True)
class Near:
    """Rows that were found to be near a query elsewhere: keys ``(n,)`` ascending, and their nearness ``(n,)``."""

    keys: Ints
    nearness: Floats

    @classmethod
    def of(cls, keys: Sequence[int], nearness: Floats | None = None) -> Near:
        """Return the rows of some keys; without ``nearness`` none."""
        given = np.empty(0, np.float32) if nearness is None else np.asarray(nearness, np.float32)
        return cls(np.array(keys, np.int64)[: len(given)], given)

    def placed(self, keys: Ints) -> Floats:
        """Return the nearness of rows by their keys, nan where it is not known."""
        found = np.full(len(keys), np.nan, np.float32)
        if len(self.keys) and len(keys):
            places = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
            there = self.keys[places] == keys
            found[there] = self.nearness[places[there]]
        return found


@dataclass(frozen=True)
class Query:
    """What one search asks of a store: the query's terms, its vector, and which rows may answer.

    ``depth`` is how many nearest rows are wanted; ``vector`` is ``None`` for a lexical search. ``whiten`` asks for
    nearness in the user's own space (see ``index.whitening``) where the store can give it: what all of the user's
    texts share then counts less, and ``Candidates.dense`` are products that order rows, not cosines.
    ``space`` is what the vector was made in, where the caller knows; in another one it is an ``EmbedderMismatchError``.
    ``near`` stands in for the vector where the vectors are kept elsewhere: rows that shall be among the candidates,
    as far as they are meant, and what is known of their nearness.
    """

    terms: tuple[str, ...]
    vector: Floats | None
    where: Where = field(default_factory=Where)
    depth: int = 200
    whiten: bool = False
    space: Fingerprint | None = None
    near: Near | None = None


@dataclass(frozen=True)
class Candidates:
    """What a store knows of a query: ``n`` rows of one user, as parallel arrays, and the statistics for scoring.

    A row is in here when it is eligible, or is the neighbour of one that is. Embedded stores return all rows of
    the user (``n`` = their number); a server engine returns the matching ones and their neighbours.

    ``keys``      ``(n,)`` ascending row keys, to be passed to ``Store.resolve``
    ``eligible``  ``(n,)`` whether the row may be a result
    ``postings``  per query term: positions ``(m,)`` into the arrays, and counts ``(m,)`` of the term there,
                  over live rows
    ``document_frequency`` ``(t,)`` live rows of the user holding the term; ``total`` all live rows;
    ``mean_length`` their mean number of terms
    ``lengths``   ``(n,)`` number of terms
    ``previous``, ``following``  ``(n,)`` position of the neighbouring turn in the same session, or -1
    ``session``   ``(n,)`` code of the session, -1 for none;  ``kind`` ``(n,)`` index into ``records.KINDS``
    ``speaker``   ``(n,)`` index into ``speakers``, -1 for none;  ``role`` ``(n,)`` index into ``records.ROLES``, -1
    ``said_at``   ``(n,)`` microseconds;  ``occurred_at``, ``valid_until`` ``(n,)`` the same, ``UNKNOWN`` where unset
    ``importance`` ``(n,)`` nan where unset;  ``question`` ``(n,)`` whether the text asks something
    ``text_hash`` ``(n,)`` 64-bit hash of the normalised text: equal for near-identical texts
    ``dense``     ``(n,)`` nearness to the query, its cosine unless whitened, nan where it was not computed
    ``pending``   number of eligible rows without a vector
    ``traits``    ``(n,)`` bits of ``text.traits.traits``, where the store keeps them
    ``session_sizes`` ``(sessions,)`` number of live rows by the codes of ``session``, where the store knows it; exact
                  below ``SESSION_TOP``, else at least that
    ``links``     how many entries of ``previous`` and ``following`` are not -1, where the store knows it
    """

    keys: Ints
    eligible: Bools
    postings: tuple[tuple[Ints, Floats], ...]
    document_frequency: Ints
    total: int
    mean_length: float
    lengths: Floats
    previous: Ints
    following: Ints
    session: Ints
    kind: Ints
    speaker: Ints
    role: Ints
    said_at: Ints
    occurred_at: Ints
    valid_until: Ints
    importance: Floats
    question: Bools
    text_hash: Ints
    dense: Floats
    speakers: tuple[str, ...] = ()
    pending: int = 0
    traits: Ints | None = None
    session_sizes: Ints | None = None
    links: int | None = None


UNKNOWN = np.iinfo(np.int64).min
"""Stands for "no time" in the integer time columns."""
SESSION_TOP = 3
"""A session is as good as so many of its turns, the best ones."""


@dataclass(frozen=True)
class Fingerprint:
    """Identity of the embedding space of a store: name, width, engine, and the vector of ``PROBE``."""

    name: str
    dim: int
    engine: str
    probe: tuple[float, ...]

    def same_space(self, other: Fingerprint) -> bool:
        """Return whether vectors of the two can be compared: same name and width, probes at cosine ``SAME_SPACE``."""
        if (self.name, self.dim) != (other.name, other.dim):
            return False
        one, two = np.asarray(self.probe), np.asarray(other.probe)
        norm = float(np.linalg.norm(one) * np.linalg.norm(two))
        return norm > 0 and float(one @ two) >= SAME_SPACE * norm


SAME_SPACE: Final = 0.99
"""Cosine from which two probe vectors are one space: it admits the other engine of a model, and nothing else."""


PROBE = "Alice moved from Berlin to Lisbon in May. 李雷五月从柏林搬到了里斯本。"
"""The text whose vector identifies an embedding space."""


@dataclass(frozen=True)
class StoreStats:
    """Counts of one user's live rows, bytes on disk and in memory by part, and what was repaired or quarantined.

    ``whole``: the bytes of a database, all its users and indexes together; ``None`` where each user has files.
    """

    messages: int
    records: int
    sessions: int
    kinds: Mapping[str, int]
    pending_vectors: int
    bytes: Mapping[str, int]
    health: tuple[str, ...] = ()
    memory: Mapping[str, int] = field(default_factory=dict, compare=False)
    whole: int | None = field(default=None, compare=False)


@runtime_checkable
class Store(Protocol):
    """Messages, records and their indexes for many users. Every call names one user; nothing crosses users.

    A record of a hidden kind is versioned, fetched and removed like any other, and scanned and found as a dependent;
    no search meets it, no statistics count it, and it gets no vector.

    Methods are thread-safe. Reads see every commit acknowledged before they began, by any process.
    """

    @property
    def location(self) -> str:
        """Where it is, as the user wrote it."""

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
        """Write all items or none; on disk when it returns.

        ``expect`` maps item ids to the version that must still be the stored one (0: absent), ``sizes`` sessions to
        the number of messages that they must still have; otherwise ``ConflictError`` and nothing is written.
        ``remove`` are ids of other items that go for good with the same commit: no reader, and no kill, ever leaves
        the one without the other. They are not refused: a later commit may write the same again. What was forgotten is
        skipped, and with it what rests on it.
        ``space`` is what the vectors were made in, where the caller knows: ``EmbedderMismatchError``, and nothing is
        written, when the store is in another one by now.
        """

    def remove(
        self, user_id: str, ids: Sequence[str], *, transcripts: Sequence[Refusal] = (), everything: bool = False
    ) -> str:
        """Remove items for good by id, from documents, vectors and indexes; return the new revision.

        What matches one of ``transcripts`` is refused if sent again. With ``everything`` the user's whole store goes,
        except what is refused.
        """

    def forget(self, user_id: str, ids: Sequence[str], *, named: bool = True) -> ForgetReport:
        """Remove items for good by id, with what rests on them, and refuse them if sent again; report what went.

        See ``stores.cascade`` for what rests on them; a store may hide the items before it looks for that. ``named``:
        each is meant for itself, by id or kind, so that none is made again out of sources that stay.
        """

    def refused(self, user_id: str, puts: Sequence[Put]) -> tuple[str, ...]:
        """Return the ids of the items that a commit of ``puts`` would skip as forgotten."""

    def revision(self, user_id: str) -> str:
        """Return a token that changes with every write of this user."""

    def fetch(self, user_id: str, ids: Sequence[str]) -> list[Stored | None]:
        """Return items by message id or record id (a turn's record id means its message), in order."""

    def candidates(self, user_id: str, query: Query) -> Candidates:
        """Return what the indexes know of a query."""

    def resolve(self, user_id: str, keys: Sequence[int]) -> list[Record | None]:
        """Return the records of candidate rows, in order; ``None`` for one that has gone since."""

    def vectors(self, user_id: str, keys: Sequence[int]) -> Floats:
        """Return the vectors of candidate rows, ``(n, dim)``; a row of nan where there is none."""

    def scan(self, user_id: str, where: Where) -> Iterator[Record]:
        """Yield the live records that are meant, in order of writing."""

    def items(self, user_id: str) -> Iterator[tuple[Stored, ...]]:
        """Yield everything that a user has, in order of first writing: each item's versions, the oldest first."""

    def messages(
        self, user_id: str, session_id: str, *, limit: int | None = None, before: str | None = None
    ) -> list[Message]:
        """Return a session's messages in order; with ``limit`` the newest, with ``before`` those before an id."""

    def sessions(self, user_id: str) -> list[SessionInfo]:
        """Return the user's sessions, the one written to last at the end."""

    def dependents(self, user_id: str, ids: Sequence[str]) -> list[Record]:
        """Return the live records, turns aside, that name one of the ids among their sources, there or gone.

        Records of a hidden kind are among them.
        """

    def versions(self, user_id: str, id: str) -> list[Stored]:
        """Return the earlier versions of an item that are kept, newest first."""

    def users(self) -> Iterator[str]:
        """Yield the ids of all users that have a store."""

    def pending(self, user_id: str, limit: int) -> list[Record]:
        """Return records that have no vector yet, at most ``limit``, in order of writing."""

    def put_vectors(
        self, user_id: str, records: Sequence[Record], vectors: Floats, *, space: Fingerprint | None = None
    ) -> int:
        """Attach vectors to records whose text is still the same; return how many were attached.

        ``space`` is what ``commit`` takes.
        """

    def fingerprint(self) -> Fingerprint | None:
        """Return the embedding space that the store was written with, if any yet."""

    def set_fingerprint(self, fingerprint: Fingerprint) -> None:
        """Record the embedding space. One of another space than the present one drops every vector."""

    def stats(self, user_id: str) -> StoreStats:
        """Return counts and sizes of one user."""

    def close(self) -> None:
        """Write caches and release locks. A store that is not closed loses nothing."""
