"""The words of siltstone as values: messages, records, hits, contexts and reports.

All times are aware ``datetime``s. Mappings inside these values are to be treated as read-only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Final

from .errors import InvalidInputError
from .meter import Spent

ROLES: Final = ("system", "user", "assistant", "tool")
KINDS: Final = ("turn", "profile", "event", "fact", "summary", "insight", "document", "item")
WRONG: Final = "wrong"
"""Flag of a record that a person has found to be wrong: it is kept, and told in no context."""
HIDDEN_KINDS: Final = ("job", "review", "link")
"""Kinds of records that are the memory's own affairs, not memories: stored, and gone with what they rest on, but never
searched, listed, counted or embedded. A job is work on some messages that is under way, or that has failed; a review
says that a person is to look at what was made of some messages, or has done so; a link says what a record rested on
that was evicted, so that what rests on that record still goes with it."""
TOPIC_LEVEL: Final = 4
"""``Record.level`` of the summary of a topic."""
TURN_PREFIX: Final = "turn:"
JOB_PREFIX: Final = "job:"
"""Ids of turn records are this prefix and the message's stored id; supplied ids may not begin with it."""
LINK_PREFIX: Final = f"{JOB_PREFIX}link:"
"""Ids of links are this prefix and the id of the record that was evicted."""
RESTART: Final = "restart"
"""Metadata key of a message that empties a session's working memory; its value lists the ids of what stays."""


def to_datetime(value: datetime | str, what: str = "time") -> datetime:
    """Return an aware datetime from one, or from an ISO 8601 string (``Z`` included).

    Raises ``InvalidInputError`` for naive times and for anything unreadable.
    """
    if isinstance(value, str):
        text = value.strip()
        if text[-1:] in "zZ":
            text = text[:-1] + "+00:00"
        try:
            value = datetime.fromisoformat(text)
        except ValueError as exc:
            raise InvalidInputError(f"{what} {value!r} is not an ISO 8601 time") from exc
    if not isinstance(value, datetime):
        raise InvalidInputError(f"{what} must be a datetime or an ISO 8601 string, not {type(value).__name__}")
    if value.utcoffset() is None:
        raise InvalidInputError(
            f"{what} {value.isoformat()} has no time zone: nothing was stored; "
            "write it with its zone, e.g. 2026-05-08T09:30:00+08:00, or pass an aware datetime"
        )
    try:
        value.astimezone(timezone.utc)
    except OverflowError as exc:
        raise InvalidInputError(f"{what} {value.isoformat()} lies outside the years 1 to 9999 in UTC") from exc
    return value


def micros(value: datetime) -> int:
    """Return microseconds since the Unix epoch."""
    delta = value - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Message:
    """One turn of a conversation.

    ``role`` is one of ``system``, ``user``, ``assistant``, ``tool``; ``content`` its text, empty only where
    ``metadata`` carries what the turn consists of (tool calls, pictures). ``name`` says who speaks when a
    conversation is between people. ``created_at`` is when it was said, ``id`` the caller's or the stored id.
    ``session_id`` is set on what the store returns.
    """

    role: str
    content: str
    name: str | None = field(default=None, kw_only=True)
    created_at: datetime | None = field(default=None, kw_only=True)
    id: str | None = field(default=None, kw_only=True)
    metadata: Mapping[str, Any] | None = field(default=None, kw_only=True)
    session_id: str | None = field(default=None, kw_only=True)


@dataclass(frozen=True, kw_only=True)
class Record:
    """One long-term memory.

    ``id``            unique within a user
    ``text``          the memory, verbatim
    ``kind``          one of ``KINDS``
    ``level``         summaries: 0 a span, 1 a session, 2 a week, 3 a month, 4 a topic of several sessions
    ``topic``         what it is about, in a few words
    ``session_id``    where it came from, if from one conversation
    ``role``          turns: the message's role
    ``speaker``       who said it, by name
    ``source_ids``    the messages or records that it rests on; a turn's holds its message's stored id
    ``created_at``    when it was said; ``stored_at`` when it was written; ``updated_at`` its last version
    ``occurred_at``   when what it tells happened
    ``valid_from``, ``valid_until``   the period in which it holds; an open end is ``None``
    ``expires_at``    after this it is no longer read
    ``pinned``        never expires, never evicted
    ``importance``    0 to 1, or ``None``: unknown
    ``support``       how often it has been said
    ``version``       counts from 1 with every update; ``superseded_by`` is the id of what replaced it
    ``flags``         short words: ``fallback``, ``contradicted``, ``stale`` …
    ``made_by``       the summarizer that made it, or ``user``
    ``metadata``      the caller's own JSON values
    """

    id: str
    text: str
    kind: str = "fact"
    level: int = 0
    topic: str | None = None
    user_id: str = "default"
    session_id: str | None = None
    role: str | None = None
    speaker: str | None = None
    source_ids: tuple[str, ...] = ()
    created_at: datetime
    stored_at: datetime
    updated_at: datetime | None = None
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    expires_at: datetime | None = None
    pinned: bool = False
    importance: float | None = None
    support: int = 1
    version: int = 1
    superseded_by: str | None = None
    flags: tuple[str, ...] = ()
    made_by: str = "user"
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def time(self) -> datetime:
        """The time that filters and headings mean: when it happened, else when it was said."""
        return self.occurred_at or self.created_at


@dataclass(frozen=True)
class SessionInfo:
    """One conversation: its id, number of messages, and the times of its first and last message."""

    session_id: str
    messages: int
    started_at: datetime
    ended_at: datetime


@dataclass(frozen=True)
class Hit:
    """A recalled record, its score (comparable within one search only), and the parts of the score by name.

    The parts sum to the score, until a reranker has a say. Names with a colon are no parts, but remarks: the hit also
    stands for an equal text (``same_text:<id>``), was found by a derived record (``via:<id>``), or has the place and
    score of what it replaced or preceded (``replaces:<id>``, ``held_then:<id>``). ``row`` tells the order of writing
    where times are equal.
    """

    record: Record
    score: float
    why: Mapping[str, float]
    row: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True)
class Section:
    """One part of a context: its name, the heading and entries as they appear, and what it costs in tokens."""

    name: str
    text: str
    tokens: int
    entries: int


@dataclass(frozen=True)
class Context:
    """What is injected into a prompt.

    ``text`` counts ``tokens`` by the memory's token counter, never more than the budget. ``sections`` are its
    parts in order, ``hits`` the search results that it holds, ``recent`` the turns of the running session in it,
    ``omitted`` how many entries were left out, by reason (``budget``, ``score``, ``duplicate``, ``cut``,
        ``wrong``: a person has marked them so)
    """

    text: str
    tokens: int
    sections: tuple[Section, ...] = ()
    hits: tuple[Hit, ...] = ()
    omitted: Mapping[str, int] = field(default_factory=dict)
    recent: tuple[Message, ...] = ()
    max_tokens: int = 0
    _memories: str = field(default="", compare=False, repr=False)  # the text without the section ``recent``
    _refit: Callable[[Context, Callable[[Context], Sequence[str | Message]]], Context] | None = field(
        default=None, compare=False, repr=False
    )  # makes it smaller until the given texts fit ``max_tokens``

    def as_prompt(self, question: str, *, system: str | None = None) -> str:
        """Return one prompt: system text, memories, and the question, together within the budget.

        Memories make room for the other two, which are never cut.
        """

        def prompt(context: Context) -> str:
            return "\n\n".join(part for part in (system, context.text, question) if part)

        return prompt(self._fitting(lambda context: [prompt(context)]))

    def as_messages(self, question: str, *, system: str | None = None) -> list[Message]:
        """Return chat messages: system (with the memories in it), the recent turns, then the question.

        Their contents and calls to tools are together within the budget; memories make room for system and
        question, which are never cut. Every call has its results.
        """

        def messages(context: Context) -> list[Message]:
            head = "\n\n".join(part for part in (system, context._memories) if part)
            first = [Message("system", head)] if head else []
            return [*first, *context.recent, Message("user", question)]

        return messages(self._fitting(messages))

    def _fitting(self, parts: Callable[[Context], Sequence[str | Message]]) -> Context:
        return self if self._refit is None else self._refit(self, parts)


@dataclass(frozen=True)
class DigestItem:
    """One fact, preference or event, with the ids of the messages that it rests on."""

    text: str
    source_ids: tuple[str, ...] = ()
    occurred_at: datetime | None = None
    subject: str | None = None
    attribute: str | None = None


@dataclass(frozen=True)
class Digest:
    """What a summarizer makes of a span of messages.

    ``flags`` says what went wrong on the way (``fallback``), ``error`` why, and ``raw`` what the model had answered;
    ``retry_after`` for how many seconds its server asked to be left alone.
    """

    topic: str
    summary: str
    facts: tuple[DigestItem, ...] = ()
    preferences: tuple[DigestItem, ...] = ()
    events: tuple[DigestItem, ...] = ()
    source_ids: tuple[str, ...] = ()
    made_by: str = "extractive"
    flags: tuple[str, ...] = ()
    dropped: int = 0
    error: str = ""
    raw: str = ""
    retry_after: float = 0.0


@dataclass(frozen=True)
class ForgetReport:
    """What ``forget`` removed (or, with ``dry_run``, would remove).

    ``messages`` and ``records`` are the ids that went; ``derived`` those of them that went because everything
    they rested on went; ``partial`` the derived records that rest partly on something else; ``dry_run`` whether
    nothing was changed; ``remains`` what the engine under the store still holds of it, and how to end that, a sentence
    each with commands between backquotes: nothing for a folder, a SQLite file and ``:memory:``.
    """

    messages: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    dry_run: bool = False
    remains: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """One thing that ``consolidate`` did: the action, the ids of the records it concerns, their text, and why.

    Actions: ``digest`` a span, ``add``, ``repeat``, ``supersede``, ``contradict`` or ``end`` a statement, ``reopen``
    one whose successor has gone, ``merge``, ``roll up``, ``reflect``, mark as ``stale``, ``expire``, ``evict``,
    ``judge`` (a dry run only: the model would be asked), ``wait`` for a model, ``fail``, ``skip`` what cannot be
    written, since its id belongs to something else.
    """

    action: str
    ids: tuple[str, ...]
    text: str
    why: str


@dataclass(frozen=True)
class ConsolidationReport:
    """What ``consolidate`` did (or, with ``dry_run``, would do), row by row, in order."""

    rows: tuple[Change, ...] = ()
    dry_run: bool = False

    def count(self, action: str) -> int:
        """Return how many rows have the action."""
        return sum(row.action == action for row in self.rows)


@dataclass(frozen=True)
class ImportProblem:
    """Something that an import did not take over: where it stands in the source, what became of it, and why.

    ``outcome`` is ``skipped`` or ``failed``; ``id`` that of the item, where it has one.
    """

    where: str
    outcome: str
    reason: str
    id: str | None = None


@dataclass(frozen=True)
class ImportPreview:
    """What an import has understood of a source: its first items, and what there is in it.

    ``items`` are the first messages and records, ``sessions`` how many conversations there are, ``speakers`` the first
    names (or roles) in them, ``since`` and ``until`` the times of the first and last message that has one.
    """

    items: tuple[Message | Record, ...] = ()
    sessions: int = 0
    speakers: tuple[str, ...] = ()
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True)
class ImportReport:
    """What ``import_from`` made of a source (or, with ``dry_run``, would make).

    ``read`` items (a message and its turn are one) are each ``added``, ``updated`` (the source has a later version),
    ``unchanged`` (stored already), ``skipped`` (forgotten in this store, resting on something that is not in it,
    older than what it has, or nothing that anybody said) or ``failed`` (unreadable, or another item has its id).
    ``problems`` names those that were skipped or failed, the first 1,000 of each. ``notes`` are sentences on the whole:
    how times were read, what became of vectors. ``failed_file`` is the path where what failed is kept, if it was asked
    for. ``preview`` says what was understood.
    """

    format: str
    read: int = 0
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    skipped: int = 0
    failed: int = 0
    problems: tuple[ImportProblem, ...] = ()
    notes: tuple[str, ...] = ()
    dry_run: bool = False
    failed_file: str | None = None
    preview: ImportPreview | None = None


WHOLE: Final = "whole store"
"""The part of ``Stats.bytes`` that is not the user's alone."""


@dataclass(frozen=True)
class Stats:
    """The state of one user's memory and of the store that holds it.

    Counts are of live rows; ``bytes`` is the user's size on disk by part, and of a database also that of the ``WHOLE``
    with all users and indexes; ``embedder`` names the model of the store; ``pending_vectors`` counts texts that cannot
    be found by meaning yet; ``last_error`` is the embedder's last failure, if any; ``health`` lists what was repaired
    or quarantined. ``jobs`` counts what a model is at work on (``leased``), what waits after a failure, and what
    is ``dead``; ``unfinished`` has a line for each of the first two, ``dead_letters`` for the last. ``reviews`` counts
    digests that wait for a person to look at them. ``compression`` is tokens of messages per token of the summaries and
    statements made of them.

    ``model_usage`` is what language models were used for today (UTC), by all processes, and the day's budget, where
    ``Settings`` limits them; ``over_budget`` says when the next day begins, once that is used up. ``sensitive`` counts
    texts that were ``redacted`` for a model, or kept from it (``local``), since the store was opened, and the summaries
    that were made so (``redacted_summaries``, ``local_summaries``).

    ``stages`` is what each stage of the work has cost the process that holds the store, for all its users, since it
    was opened: ``siltstone.meter`` says what is counted. ``memory`` is bytes: of this user's ``vector_index``,
    ``word_index`` and ``rows`` (parts of them mapped from files), of the ``embedder`` once it is loaded, of the whole
    ``process``; of the ``gpu``, where PyTorch uses one, and of that in all (``gpu_total``). Two states are equal
    whatever these are.
    """

    user_id: str
    location: str
    messages: int
    records: int
    sessions: int
    kinds: Mapping[str, int]
    pending_vectors: int
    bytes: Mapping[str, int]
    embedder: str
    revision: str
    last_error: str | None = None
    health: tuple[str, ...] = ()
    jobs: Mapping[str, int] = field(default_factory=dict)
    unfinished: tuple[str, ...] = ()
    dead_letters: tuple[str, ...] = ()
    reviews: int = 0
    compression: float | None = None
    model_usage: Mapping[str, int] = field(default_factory=dict)
    over_budget: str | None = None
    sensitive: Mapping[str, int] = field(default_factory=dict)
    stages: Mapping[str, Spent] = field(default_factory=dict, compare=False)
    memory: Mapping[str, int] = field(default_factory=dict, compare=False)

    @property
    def own_bytes(self) -> Mapping[str, int]:
        """The user's size on disk by part: ``bytes`` without the ``WHOLE`` of a database."""
        return {part: size for part, size in self.bytes.items() if part != WHOLE}


def turn_of(message: Message, user_id: str, stored_at: datetime) -> Record | None:
    """Return the turn record of a stored message, or ``None`` where there is nothing to search for.

    System and tool messages, and turns without text (a bare tool call), are kept but not recalled.
    """
    if message.role not in ("user", "assistant") or not message.content.strip() or message.id is None:
        return None
    return Record(
        id=TURN_PREFIX + message.id,
        text=message.content,
        kind="turn",
        user_id=user_id,
        session_id=message.session_id,
        role=message.role,
        speaker=message.name,
        source_ids=(message.id,),
        created_at=message.created_at or stored_at,
        stored_at=stored_at,
        made_by="user",
        metadata=message.metadata or {},
    )


def expired(record: Record, now: datetime) -> bool:
    """Return whether the record is no longer read."""
    return record.expires_at is not None and record.expires_at <= now and not record.pinned


def message_id(id: str) -> str:
    """Return the message id that a turn's record id stands for; other ids are their own."""
    return id[len(TURN_PREFIX) :] if id.startswith(TURN_PREFIX) else id


def is_restart(message: Message) -> bool:
    """Return whether the message empties its session's working memory; applications may have metadata of that name."""
    if message.role != "system" or message.content:
        return False
    keep = (message.metadata or {}).get(RESTART)
    return isinstance(keep, list) and all(isinstance(id, str) for id in keep)


def is_reserved(id: str) -> bool:
    """Return whether only siltstone itself gives such ids: to the records of turns, and to notes of its work."""
    return id.startswith((TURN_PREFIX, JOB_PREFIX))


def is_derived(record: Record) -> bool:
    """Return whether siltstone made the record from others: what the user wrote is not revised or merged."""
    return record.made_by != "user" and bool(record.source_ids)


def replace(record: Record, **changes: Any) -> Record:
    """Return a copy of ``record`` with some fields changed."""
    return dataclasses.replace(record, **changes)


def unique(values: Iterable[str]) -> tuple[str, ...]:
    """Return the values in first-seen order without repeats."""
    return tuple(dict.fromkeys(values))
