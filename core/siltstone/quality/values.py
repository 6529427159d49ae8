"""What an audit of digests finds, as values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b

from ..records import Message, Record
from .checks import Checked


@dataclass(frozen=True)
class Judgement:
    """What a language model says of an item: whether its sources support it, and why."""

    supported: bool
    why: str = ""


@dataclass(frozen=True)
class Entry:
    """One item of a digest beside its sources.

    ``record``    the item: a summary or a statement
    ``sources``   the messages that it rests on, as far as they are there, in order
    ``checked``   what was found of it by rule and vectors; ``judged`` what a language model said, if one was asked
    ``verdict``   what a person has said of it before, if anything
    """

    record: Record
    sources: tuple[Message, ...]
    checked: Checked
    judged: Judgement | None = None
    verdict: str | None = None

    @property
    def flags(self) -> tuple[str, ...]:
        """What a person should look at: the flags of ``checked``, and ``judge`` where the model does not agree."""
        return (*self.checked.flags, *(("judge",) if self.judged is not None and not self.judged.supported else ()))


@dataclass(frozen=True)
class Drawn:
    """One digest that was drawn.

    ``id`` is its review's, ``queued`` whether it waited for one, or was drawn at random; ``failure`` says why the
    language model did not judge it.
    """

    id: str
    session_id: str
    queued: bool
    entries: tuple[Entry, ...]
    failure: str | None = None


@dataclass(frozen=True)
class Audit:
    """Digests that were drawn, those that waited first, each item beside its sources.

    ``total`` digests the user has, of which ``waiting`` still wait and are not in here. ``embedder`` and ``judge`` name
    the models that were asked.
    """

    user_id: str
    location: str
    made_at: datetime
    digests: tuple[Drawn, ...]
    total: int
    waiting: int
    embedder: str
    judge: str | None = None

    @property
    def entries(self) -> Iterator[Entry]:
        """All items of all digests."""
        return (entry for digest in self.digests for entry in digest.entries)


@dataclass(frozen=True)
class VerdictReport:
    """What became of the verdicts in a file.

    ``right``, ``wrong`` and ``unsure`` are the items that were judged so, ``reviewed`` counts the digests that need
    nobody any more. ``outdated`` items have changed or gone since the report was written: nothing was noted of them.
    ``forgotten`` records went because they were wrong, or rested on something that was. ``contradicted`` items had
    several verdicts, of which ``wrong`` counts before ``unsure``, and that before ``right``.
    """

    right: tuple[str, ...]
    wrong: tuple[str, ...]
    unsure: tuple[str, ...]
    reviewed: int
    outdated: tuple[str, ...] = ()
    forgotten: tuple[str, ...] = ()
    contradicted: tuple[str, ...] = ()


def text_mark(text: str) -> str:
    """Return what tells whether a text is still the one that a person has read: 64 bits, as hexadecimal."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
