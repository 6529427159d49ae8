"""Settings with their defaults; each says which question it answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

OverBudget: TypeAlias = Literal["wait", "extractive"]
OnSensitive: TypeAlias = Literal["redact", "local"]

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
    """How a memory behaves.

    ``embed_wait``    how long may ``add`` wait for vectors before it queues them? seconds
    ``embed_batch``   how many texts go to the embedder at once?
    ``close_wait``    how long may ``close`` wait for queued vectors? seconds; the rest waits for the next open
    ``lock_timeout``  how long may a writer wait for another process? seconds, then ``StoreLockedError``
    ``history``       how many earlier versions of a record does ``history`` show? older ones go, and with them what
                      ``forget`` knows of the words of a message that was changed more often
    ``recent_share``, ``profile_share``, ``summary_share``   which part of a context's budget may the section
                      take before unused room is handed on? shares of 1; the rest is for ``recalled``
    ``headings``      which words stand around the entries of a context? ``None``: English or Chinese, as the
                      conversation is
    ``max_message_chars``   how long may one message be? characters
    ``workers``       how many threads serve the async twins?

    When conversation is compressed (``consolidate``):

    ``span_turns``, ``span_tokens``   after how many turns, or tokens, is a span of a session compressed?
    ``span_idle``     after how long a silence is the rest of a session compressed? seconds
    ``session_idle``  after how long a silence is a session over, and gets a summary of its own? seconds
    ``summary_tokens``   how long may a summary be? tokens; with the statements no more than a fifth of its source
    ``reflect``       does the language model (``llm=``, else the summarizer's) look at what was learned, and write
                      insights?
    ``judge``         is it asked, too, what a statement is to a known one, where rules cannot tell?
    ``review_share``  which share of the digests is queued for a person to look at, by itself? 0 to 1; see
                      ``siltstone audit --sample``
    ``worker``        does a thread of this process consolidate what is due, while the application goes on? Else call
                      ``consolidate()``, or run ``siltstone consolidate`` from time to time
    ``worker_pause``  how long after a write does it begin? seconds
    ``refresh``       does a memory with a time to live that comes into a context get as long again, once half of it has
                      passed? ``context`` writes then, unless it is asked about another time, or the store is read-only
    ``capacity_records``, ``capacity_bytes``   how much may one user have? ``None``: as much as the disk; beyond it the
                      least valuable are evicted, never pinned ones
    ``lease``         after how long may another worker take over a span that a model is at work on? seconds
    ``retries``, ``retry_wait``   how often is a failed span tried again, and how long after the first failure?
                      seconds, twice as long after each; then it is a dead letter, for ``consolidate --retry``

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

    What models outside this process may see:

    ``sensitive``     what must they not? Names of ready-made rules (``email``, ``phone``, ``card``, ``chinese_id``,
                      ``secret``), patterns, callables from a text to what may be seen of it or to ``True`` (nothing);
                      ``siltstone.text.sensitive`` has it all. Summarizers, language models, embedders and rerankers
                      never see it; what is stored stays as it was written. It holds for whatever is reached over HTTP,
                      on this machine too, for objects of a framework and your own, unless they have ``local = True``
    ``on_sensitive``  what becomes of a text with such a thing? ``redact``: ``[redacted]`` takes its place. ``local``:
                      the text stays here as a whole: the extractive summarizer makes the digest of its span, it is
                      found by its words alone, and left out of what is reflected on; a statement made of it that holds
                      nothing of the kind is a text of its own. Questions are redacted either way. Vectors and digests
                      from before stay as they are
    """

    embed_wait: float = 1.0
    embed_batch: int = 32
    close_wait: float = 5.0
    lock_timeout: float = 10.0
    history: int = 20
    recent_share: float = 0.3
    profile_share: float = 0.15
    summary_share: float = 0.15
    headings: Headings | None = None
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
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrency: int | None = None
    requests_per_day: int | None = None
    tokens_per_day: int | None = None
    over_budget: OverBudget = "wait"
    model_timeout: float | None = None
    sensitive: Sequence[str | re.Pattern[str] | Callable[[str], str | bool]] = ()
    on_sensitive: OnSensitive = "redact"
