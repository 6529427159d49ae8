"""Whether an item of a digest says what its sources say, as far as words, days and vectors can tell. Pure.

The thresholds were chosen on one half of the labelled dialogues and measured on the other one: see
``benchmarks/compression/README.md``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

from ..compress.modality import asserted, negated
from ..compress.speech import Utterance
from ..compress.support import Flaw, content, flaw, names
from ..compress.when import readings
from ..text.keys import date_words
from ..text.language import script
from ..text.numbers import numbers
from ..text.periods import Period
from ..text.sentences import sentences
from ..text.tokenize import terms

Flag: TypeAlias = Literal[
    "no source", "unsupported", "date", "number", "name", "language", "negation", "asked", "supposed"
]
SUPPORTED: Final = 0.4
"""An item of a smaller score is unsupported."""
_DAY: Final = timedelta(days=1)
_ENDS: Final = ".,;:!?。，；：！？…~～ "
_BEGINNING: Final = (
    r"(?:^|[^\w\s]\s*|(?<=[\u4e00-\u9fff])\s+|\b(?:and|but|so|because|by the way|btw|anyway) "
    r"|对了|不过|其实|反正|而且|但是|所以|因为)"
)


@dataclass(frozen=True)
class Item:
    """What is checked: a text that was made from sources, perhaps with the day on which it says something happened.

    ``around`` is all that was said near by: names may come from there, for "she" in a source is somebody.
    """

    text: str
    sources: tuple[Utterance, ...]
    occurred_at: datetime | None = None
    around: tuple[Utterance, ...] = ()


@dataclass(frozen=True)
class Checked:
    """What was found of an item.

    ``words``    the share of its words that its sources hold, 0 to 1
    ``meaning``  how near it is to the nearest sentence of them, see ``nearness``; ``None`` without an embedder
    ``score``    the mean of both, or ``words`` alone
    ``flags``    what a person should look at: ``no source``; ``language`` is another one, which says nothing of the
                 rest; ``unsupported`` by score; a ``date``, ``number`` or ``name`` was not said; ``negation``: one says
                 yes, the other no; ``asked``, ``supposed``: the sources do not claim it
    ``missing``  names and numbers that were not said
    """

    words: float
    meaning: float | None
    flags: tuple[Flag, ...]
    missing: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """How well the sources support it, 0 to 1."""
        return score(self.words, self.meaning)


def check(item: Item, meaning: float | None = None) -> Checked:
    """Return what can be found of an item by rule; ``meaning`` is its nearness, where vectors are at hand."""
    if not item.sources:
        return Checked(0.0, None, ("no source",))
    said = " ".join(source.text for source in item.sources)
    everyone = " ".join(source.speaker for source in (*item.sources, *item.around))
    times = list(_times(item.sources))
    days = " ".join(_in_words(time) for time in times)
    words = share(item.text, f"{said} {everyone} {days}")
    foreign = is_foreign(item.text, said, words)
    strange = sorted(numbers(item.text) - numbers(said) - _of_days(item, times))
    unknown = _unknown_names(item, f"{said} {everyone} {days}")
    flags: list[Flag] = []
    if foreign:
        flags.append("language")
    elif score(words, meaning) < SUPPORTED:
        flags.append("unsupported")
    if not dates_agree(item, times):
        flags.append("date")
    if strange:
        flags.append("number")
    if unknown and not foreign:
        flags.append("name")
    wrong = None if foreign else stance(item.text, item.sources)
    if wrong is not None:
        flags.append(wrong)
    return Checked(words, meaning, tuple(flags), (*strange, *unknown))


def score(words: float, meaning: float | None) -> float:
    """Return the mean of both shares, or the one that is known."""
    return words if meaning is None else (words + meaning) / 2


def share(text: str, said: str) -> float:
    """Return the share of a text's words that were said, 0 to 1; a text that claims nothing has all of them."""
    want = content(text)
    have = set(terms(said))
    return sum(term in have for term in want) / len(want) if want else 1.0


def is_foreign(text: str, said: str, words: float) -> bool:
    """Return whether a text is in another script than what was said, and not merely a name or a term from it."""
    own, other = script(text), script(said)
    return own != other and "none" not in (own, other) and words < 0.5


def stance(text: str, sources: Sequence[Utterance]) -> Flaw | None:
    """Return what keeps the sources from asserting a text; a denial that none of them makes is a ``negation``, too."""
    if is_quoted(text, sources):
        return None
    if negated(text) and not any(negated(source.text) for source in sources):
        return "negation"
    return flaw(text, sources)


def is_quoted(text: str, sources: Sequence[Utterance]) -> bool:
    """Return whether a source asserts a text word for word, from the beginning of a clause on."""
    bare = text.strip().rstrip(_ENDS)
    begins = re.compile(_BEGINNING + re.escape(bare), re.IGNORECASE)
    return bool(bare) and any(begins.search(asserted(one)) for source in sources for one in sentences(source.text))


def dates_agree(item: Item, times: Collection[Period]) -> bool:
    """Return whether every day that an item gives is one that its sources name, or on which they were said."""
    if item.occurred_at is not None and not any(_same_day(item.occurred_at, time) for time in times):
        return False
    said_at = [source.message.created_at for source in item.sources if source.message.created_at is not None]
    named = [reading for at in said_at[:1] for reading in readings(item.text, at)]
    return not named or any(_meet(one, time) for one in named for time in times)


def _same_day(moment: datetime, time: Period) -> bool:
    """Return whether a moment lies in a period, by the calendar: a model's days are of no zone."""
    return time.start.date() <= moment.date() <= (time.end - timedelta(microseconds=1)).date()


def _meet(one: Period, other: Period) -> bool:
    return one.start < other.end and other.start < one.end


def _times(sources: Sequence[Utterance]) -> Iterator[Period]:
    """Yield the times that sources name, and the days on which they were said."""
    for source in sources:
        at = source.message.created_at
        if at is not None:
            start = at.replace(hour=0, minute=0, second=0, microsecond=0)
            yield Period(start, start + _DAY)
            for sentence in sentences(source.text):
                yield from readings(sentence, at)


def _in_words(time: Period) -> str:
    """Return the first day of a period as an item may write it."""
    day = time.start
    return f"{date_words(day, chinese=False)} {date_words(day, chinese=True)} {day:%A}"


def _of_days(item: Item, times: Collection[Period]) -> set[str]:
    """Return the numbers by which the days of sources may be written."""
    days = [day for time in times for day in (time.start, time.end - _DAY)]
    return {str(number) for day in days for number in (day.year, day.month, day.day)}


def _unknown_names(item: Item, said: str) -> list[str]:
    have = set(terms(" ".join([said, *(source.text for source in item.around)])))
    return [name for name in dict.fromkeys(names(item.text)) if not have.issuperset(content(name))]
