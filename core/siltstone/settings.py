"""Settings with their defaults; each says which question it answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Final, Literal, TypeAlias, get_args

from .errors import ConfigurationError, InvalidInputError

OverBudget: TypeAlias = Literal["wait", "extractive"]
OnSensitive: TypeAlias = Literal["redact", "local"]
ShortTermDown: TypeAlias = Literal["refuse", "degrade"]
VectorStoreDown: TypeAlias = Literal["refuse", "degrade"]

HALF_LIFE_DAYS: Final = {"event": 30.0, "turn": 180.0, "summary": 365.0, "insight": 365.0}
"""After how long a memory of a kind is half as fresh, for ranking and for eviction; the other kinds (profile, fact,
document, item) do not age."""


@dataclass(frozen=True, kw_only=True)
class Headings:
    """The words around the entries of a context, in one language.

    ``preamble`` stands at the top, inside the fence; ``profile`` … ``recent`` head the sections; ``user`` and
    ``assistant`` stand for speakers without a name; ``until`` follows a memory that no longer holds, ``{}`` in it is
    the day; ``chinese`` chooses how days are written. The fence itself stays: by it siltstone knows its own text.
    ``siltstone.recall.headings`` has ``ENGLISH`` and ``CHINESE`` to start from.
    """

    preamble: str
    profile: str
    summary: str
    recalled: str
    recent: str
    user: str
    assistant: str
    until: str
    chinese: bool = False


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a memory behaves. Values that cannot work are an ``InvalidInputError`` when it is opened.

    ``embed_wait``    how long may ``add`` wait for vectors before it queues them? seconds
    ``embed_batch``   how many texts go to the embedder at once?
    ``close_wait``    how long may ``close`` wait for queued vectors? seconds; the rest waits for the next open
    ``lock_timeout``  how long may a writer wait for another process? seconds, then ``StoreLockedError``
    ``history``       how many earlier versions of a record does ``history`` show? older ones go, and with them what
                      ``forget`` knows of the words of a message that was changed more often
    ``replica``       which standby of a ``postgresql://`` store may searches read? its URL; ``None``: none. They read
                      the primary where the standby has not yet got everything of the user
    ``exact_vectors`` up to how many vectors of a user does a ``postgresql://`` store compare all with a question? For a
                      user with more it builds an HNSW index of their own
    ``recent_share``, ``profile_share``, ``summary_share``   which part of a context's budget may the section
                      take before unused room is handed on? shares of 1; the rest is for ``recalled``
    ``headings``      which words stand around the entries of a context? ``None``: English or Chinese, as the
                      conversation is
    ``vector_store_down``   what does a search do while the ``vector_store`` of yours does not answer? ``refuse``: it is
                      a ``BackendUnavailableError``; ``degrade``: it finds by words, and ``stats().health`` says so
    ``max_message_chars``   how long may one message be? characters
    ``workers``       how many threads serve the async twins?

    When conversation is compressed (``consolidate``):

    ``span_turns``, ``span_tokens``   after how many turns, or tokens, is a span of a session compressed?
    ``span_idle``     after how long a silence is the rest of a session compressed? seconds
    ``session_idle``  after how long a silence is a session over, and gets a summary of its own? seconds; here and for
                      ``span_idle`` infinity is never
    ``summary_tokens``   how long may a summary be? tokens; with the statements no more than a fifth of its source
    ``reflect``       does the language model (``llm=``, else the summarizer's) look at what was learned, and write
                      insights?
    ``judge``         is it asked, too, what a statement is to a known one, where rules cannot tell?
    ``review_share``  which share of the digests is queued for a person to look at, by itself? 0 to 1; see
                      ``siltstone audit --sample``
    ``worker``        does a thread of this process consolidate what is due, while the application goes on? Else call
                      ``consolidate()``, or run ``siltstone consolidate`` from time to time
    ``worker_pause``  how long after a write does it begin? seconds; on a database it takes part in what is due of all
                      users, with the workers of all other processes and machines
    ``refresh``       does a memory with a time to live that comes into a context get as long again, once half of it has
                      passed? ``context`` writes then, unless it is asked about another time, or the store is read-only
    ``capacity_records``, ``capacity_bytes``   how much may one user have? ``None``: as much as the disk; beyond it the
                      least valuable are evicted, never pinned ones: old turns that were digested, and summaries that
                      others hold, before facts. What was made of them stays until they are forgotten. Bytes are those
                      of the user's files, in a database of documents and vectors, without indexes
    ``lease``         after how long may another worker take over a span that a model is at work on? seconds
    ``retries``, ``retry_wait``   how often is a failed span tried again, and how long after the first failure?
                      seconds, twice as long after each; then it is a dead letter, for ``consolidate --retry``

    Where recent turns are kept in a short-term tier of their own, named by ``short_term=`` as an address:

    ``short_term_ttl``, ``short_term_turns``   for how long after it was stored is a turn a recent one, and how many of
                      a session? seconds, at most ten years
    ``short_term_prefix``   what do the names of all its keys begin with? one for each deployment that shares a server
    ``short_term_down``   what while it does not answer? ``refuse``: reading recent turns is a
                      ``BackendUnavailableError``; ``degrade``: they are read from the store, by the same rules, which
                      the log says once, and ``stats().health`` until it is back. Writes go on either way

    What language models may be asked, by all processes together where the store is a folder; a ``Summarizer`` of your
    own has limits of its own. ``None``: as much as one likes.

    ``requests_per_minute``, ``tokens_per_minute``   how fast? Calls wait for their turn, ``add`` and ``search`` never
    ``concurrency``   how many calls of this process at once?
    ``requests_per_day``, ``tokens_per_day``   how much in a day, in UTC? ``token_counter`` counts requests and answers;
                      a span that was begun is finished, also beyond it
    ``over_budget``   what when that is used up? ``wait``: what is due stays due until the next day; ``extractive``: the
                      extractive summarizer makes the digests until then
    ``model_timeout`` how long may one attempt of ``"openai:…"`` and ``"ollama:…"`` take? seconds; three times as
                      many for all of them together; ``None``: 60, for Ollama 120

    What models outside this process may see, and summaries may tell:

    ``sensitive``     what must they not? Names of ready-made rules (``email``, ``phone``, ``card``, ``chinese_id``,
                      ``secret``), patterns, callables from a text to what may be seen of it or to ``True`` (nothing);
                      ``siltstone.text.sensitive`` has it all. Summarizers, language models, embedders and rerankers
                      never see it; messages stay as they were written. It holds for whatever is reached over HTTP,
                      on this machine too, for objects of a framework and your own, unless they have ``local = True``;
                      for summarizers everywhere, so that it is in no summary or statement made of messages
    ``on_sensitive``  what becomes of a text with such a thing? ``redact``: ``[redacted]`` takes its place. ``local``:
                      the text stays here as a whole: the extractive summarizer makes the digest of its span, and
                      quotes it; it is found by its words alone, and left out of what is reflected on; a statement made
                      of it that holds nothing of the kind is a text of its own. Questions are redacted either way.
                      Vectors and digests from before stay as they are
    """

    embed_wait: float = 1.0
    embed_batch: int = 32
    close_wait: float = 5.0
    lock_timeout: float = 10.0
    history: int = 20
    replica: str | None = field(default=None, repr=False)  # it may hold a password
    exact_vectors: int = 50_000
    recent_share: float = 0.3
    profile_share: float = 0.15
    summary_share: float = 0.15
    headings: Headings | None = None
    vector_store_down: VectorStoreDown = "refuse"
    max_message_chars: int = 1_000_000
    workers: int = 4
    span_turns: int = 24
    span_tokens: int = 2000
    span_idle: float = 1800.0
    session_idle: float = 21_600.0
    summary_tokens: int = 400
    reflect: bool = False
    judge: bool = False
    review_share: float = 0.05
    worker: bool = False
    worker_pause: float = 2.0
    refresh: bool = False
    capacity_records: int | None = None
    capacity_bytes: int | None = None
    lease: float = 300.0
    retries: int = 5
    retry_wait: float = 60.0
    short_term_ttl: float = 86_400.0
    short_term_turns: int = 200
    short_term_prefix: str = "siltstone"
    short_term_down: ShortTermDown = "refuse"
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrency: int | None = None
    requests_per_day: int | None = None
    tokens_per_day: int | None = None
    over_budget: OverBudget = "wait"
    model_timeout: float | None = None
    sensitive: Sequence[str | re.Pattern[str] | Callable[[str], str | bool]] = ()
    on_sensitive: OnSensitive = "redact"

    def __post_init__(self) -> None:
        """Raise ``ConfigurationError`` for a share that is none."""
        if not _SHARE[1](self.review_share):
            raise ConfigurationError(f"review_share must lie between 0 and 1, not {self.review_share!r}")


_LONGEST: Final = 1e9
"""Seconds, 31 years: what is waited for longer than a thread can wait, or a date can tell, is no wait."""


def _whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


_Allowed: TypeAlias = tuple[str, Callable[[Any], bool]]
"""What a setting may be: in words, and as a test."""
_COUNT: Final[_Allowed] = ("a whole number of 1 or more", lambda value: _whole(value) and value >= 1)
_FROM_0: Final[_Allowed] = ("a whole number of 0 or more", lambda value: _whole(value) and value >= 0)
_LIMIT: Final[_Allowed] = (f"{_COUNT[0]}, or None for any", lambda value: value is None or _COUNT[1](value))
_SHARE: Final[_Allowed] = ("a number between 0 and 1", lambda value: _number(value) and 0 <= value <= 1)
_SECONDS: Final[_Allowed] = (
    f"seconds from 0 to {_LONGEST:,.0f}",
    lambda value: _number(value) and 0 <= value <= _LONGEST,
)
_TIMEOUT: Final[_Allowed] = (
    f"more than 0 seconds, at most {_LONGEST:,.0f}, or None",
    lambda value: value is None or (_SECONDS[1](value) and value > 0),
)
_SILENCE: Final[_Allowed] = ("seconds of 0 or more, or infinity for never", lambda value: _number(value) and value >= 0)
_TEN_YEARS: Final = 315_360_000
_TTL: Final[_Allowed] = (
    f"more than 0 seconds, at most {_TEN_YEARS:,}",
    lambda value: _number(value) and 0 < value <= _TEN_YEARS,
)
KEY_PREFIX: Final[_Allowed] = (
    "up to 64 letters, digits and _ . : -",
    lambda value: isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9_.:-]{1,64}", value) is not None,
)
_SWITCH: Final[_Allowed] = ("True or False", lambda value: isinstance(value, bool))
_SERVER: Final[_Allowed] = (
    "the URL of a server, postgresql://…, or None",
    lambda value: value is None or (isinstance(value, str) and value.startswith(("postgresql://", "postgres://"))),
)
_HEADINGS: Final[_Allowed] = ("Headings, or None", lambda value: value is None or isinstance(value, Headings))


def _one_of(alias: Any) -> _Allowed:
    names = get_args(alias)
    return " or ".join(map(repr, names)), lambda value: isinstance(value, str) and value in names


_ALLOWED: Final[dict[str, _Allowed]] = {
    "embed_wait": _SECONDS,
    "embed_batch": _COUNT,
    "close_wait": _SECONDS,
    "lock_timeout": _SECONDS,
    "history": _FROM_0,
    "replica": _SERVER,
    "exact_vectors": _COUNT,
    "recent_share": _SHARE,
    "profile_share": _SHARE,
    "summary_share": _SHARE,
    "headings": _HEADINGS,
    "vector_store_down": _one_of(VectorStoreDown),
    "max_message_chars": _COUNT,
    "workers": _COUNT,
    "span_turns": _COUNT,
    "span_tokens": _COUNT,
    "span_idle": _SILENCE,
    "session_idle": _SILENCE,
    "summary_tokens": _COUNT,
    "reflect": _SWITCH,
    "judge": _SWITCH,
    "review_share": _SHARE,
    "worker": _SWITCH,
    "worker_pause": _SECONDS,
    "refresh": _SWITCH,
    "capacity_records": _LIMIT,
    "capacity_bytes": _LIMIT,
    "lease": _SECONDS,
    "retries": _FROM_0,
    "retry_wait": _SECONDS,
    "short_term_ttl": _TTL,
    "short_term_turns": _COUNT,
    "short_term_prefix": KEY_PREFIX,
    "short_term_down": _one_of(ShortTermDown),
    "requests_per_minute": _LIMIT,
    "tokens_per_minute": _LIMIT,
    "concurrency": _LIMIT,
    "requests_per_day": _LIMIT,
    "tokens_per_day": _LIMIT,
    "over_budget": _one_of(OverBudget),
    "model_timeout": _TIMEOUT,
    "on_sensitive": _one_of(OnSensitive),
}
"""By field; the rules of ``sensitive`` are read, and refused, where they are compiled: ``models.guarded``."""


def checked_settings(settings: Any) -> Settings:
    """Return the settings that are meant, ``None``: the defaults.

    Raises ``InvalidInputError``, which names the field and what it may be, for a value that cannot work, and for
    anything but ``Settings``.
    """
    if settings is None:
        return Settings()
    if not isinstance(settings, Settings):
        hint = ": write Settings(**settings)" if isinstance(settings, dict) else ""
        kind = type(settings).__name__
        raise InvalidInputError(f"settings is Settings, or None, not {kind}{hint}; nothing was opened")
    for name, (allowed, fits) in _ALLOWED.items():
        value = getattr(settings, name)
        if not fits(value):
            raise InvalidInputError(f"Settings.{name} is {allowed}, not {value!r}; nothing was opened")
    return settings
