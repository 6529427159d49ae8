"""Whether an item rests on its sources: what a model made up is dropped and counted, never stored."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from ..records import Digest, DigestItem, unique
from ..text.language import script
from ..text.sentences import sentences
from ..text.tokenize import terms
from .digest import LISTS
from .modality import asks, asserted, negated
from .speech import Utterance
from .when import resolve

Flaw: TypeAlias = Literal["asked", "supposed", "negation"]

ENOUGH: Final = 0.6
"""The share of an item's terms that its sources must hold. Lower lets in what is merely about the same things; higher
drops honest paraphrases. Chosen on paraphrases of our own, see ``tests/test_support.py``."""

SUMMARY_ENOUGH: Final = 0.5
"""The share of a summary sentence's terms, and of the names in it, that the conversation must hold; a summary words
things more freely."""

MOST_SENTENCES: Final = 8
"""Up to so many sentences, an item is judged sentence by sentence."""

# How reporters speak of what was said: words that need no support.
_REPORTING: Final = (
    "user speaker person individual name named called mentioned says stated is has lives works likes dislikes "
    "loves prefers enjoys wants plans currently used assistant someone narrator client his her their"
)
_REPORTING_IN_CHINESE: Final = (
    "用户 名字 叫做 名叫 提到 表示 喜欢 偏好 计划 打算 目前 现在 对话 说话者 本人 自己 居住 工作 讨厌 想要"
)
_HAN: Final = re.compile("[\u3400-\u9fff]")
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_COUNT: Final = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twice|both)\b", re.IGNORECASE
)
_NAME: Final = re.compile(r"(?<![.!?。！？]\s)(?<!^)\b[A-Z][\w'’-]+")
_CLAUSES: Final = re.compile(r"[,，;；、]\s*|\s(?:but|and|so|because|although|though)\s|但是?|不过|所以|因为|而且")


def supported(item: DigestItem, sources: Sequence[Utterance], *, known: Iterable[str] = ()) -> bool:
    """Return whether the sources say what the item says, as far as words can tell, in English and Chinese alike.

    Enough of the item's terms must occur in them, all of its numbers and names, and the clause nearest to it must
    neither deny what the item affirms (nor the reverse), nor ask, nor only suppose it. ``known`` are further words
    that an item may use: names of speakers, dates that were resolved.
    """
    said = " ".join(source.text for source in sources)
    allowed = " ".join([*known, *(source.speaker for source in sources)])
    have = set(terms(f"{said} {allowed}"))
    want = content(item.text)
    if not want or sum(term in have for term in want) < ENOUGH * len(want):
        return False
    if not _numbers(item.text) <= _numbers(f"{said} {allowed}") | have:
        return False
    if not _counts(item.text) <= _counts(said):
        return False
    if not have.issuperset(_names(item.text)):
        return False
    return flaw(item.text, sources) is None


def content(text: str) -> list[str]:
    """Return the terms of a text that need support: without those by which reporters speak of what was said."""
    reporting = _terms_of(_REPORTING)
    if _HAN.search(text):  # else no dictionary is loaded, which takes longer than a search
        reporting |= _terms_of(_REPORTING_IN_CHINESE)
    return [term for term in terms(text) if term not in reporting]


@lru_cache(2)
def _terms_of(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def _numbers(text: str) -> set[str]:
    """Return the numbers that a text writes in digits."""
    return set(_NUMBER.findall(text))


def _counts(text: str) -> set[str]:
    """Return the English words of a text that count something: two to twelve."""
    return {word.lower() for word in _COUNT.findall(text)}


def names(text: str) -> list[str]:
    """Return the capitalised words of a text within its sentences."""
    return _NAME.findall(text)


def check(digest: Digest, said: Sequence[Utterance], *, known: Iterable[str] = ()) -> Digest:
    """Return the digest with only the items that are supported; ``dropped`` grows by the others.

    ``source_ids`` of the items are labels here (``m1`` is the first utterance), and message ids in the result. An
    item whose labels do not support it is looked for in the other utterances: small models cite carelessly.
    """
    known = tuple(known)
    said = [dataclasses.replace(one, text=one.told) for one in said]
    kept: dict[str, tuple[DigestItem, ...]] = {}
    dropped = digest.dropped
    seen: set[str] = set()
    for field in LISTS:
        items = [one for item in dict.fromkeys(getattr(digest, field)) for one in _single(item)]
        grounded = [_grounded(item, said, known, dated=field == "events") for item in items]
        # A text that comes twice, or in two lists, is one item: the first stays.
        kept[field] = tuple(
            item
            for item in grounded
            if item is not None and not (item.text in seen or seen.add(item.text))  # type: ignore[func-returns-value]
        )
        dropped += sum(item is None for item in grounded)
    return dataclasses.replace(digest, dropped=dropped, **kept)  # type: ignore[arg-type]


def check_summary(digest: Digest, said: Sequence[Utterance], *, known: Iterable[str] = ()) -> Digest:
    """Return the digest without the sentences of its summary that the conversation does not support; they count as
    ``dropped``.
    """
    have = set(terms(" ".join([*known, *(one.text for one in said)])))
    parts = sentences(digest.summary)
    kept = [part for part in parts if (want := terms(part)) and _mostly(want, have) and _mostly(_names(part), have)]
    if len(kept) == len(parts):
        return digest
    glue = "" if script(digest.summary) == "han" else " "
    return dataclasses.replace(digest, summary=glue.join(kept), dropped=digest.dropped + len(parts) - len(kept))


def _mostly(want: Sequence[str], have: set[str]) -> bool:
    return sum(term in have for term in want) >= SUMMARY_ENOUGH * len(want)


def _names(text: str) -> list[str]:
    return [term for name in names(text) for term in content(name)]


def _single(item: DigestItem) -> list[DigestItem]:
    """Return an item's sentences as items: small models put true and invented ones into one.

    More than ``MOST_SENTENCES`` are a passage, and judged as one: each sentence is held against all of the sources.
    """
    parts = sentences(item.text)
    if not 1 < len(parts) <= MOST_SENTENCES:
        return [item]
    return [dataclasses.replace(item, text=part) for part in parts]


def _grounded(item: DigestItem, said: Sequence[Utterance], known: tuple[str, ...], *, dated: bool) -> DigestItem | None:
    numbers = [int(label[1:]) - 1 for label in item.source_ids]
    cited = [said[number] for number in numbers if 0 <= number < len(said)]
    if cited and supported(item, cited, known=known):
        return _resting_on(item, cited, dated)
    want = set(terms(item.text))
    nearest = sorted(said, key=lambda one: -len(want.intersection(terms(one.text))))[:3]
    for one in nearest:
        if supported(item, [one], known=known):
            return _resting_on(item, [one], dated)
    return None


def _resting_on(item: DigestItem, sources: Sequence[Utterance], dated: bool) -> DigestItem:
    ids = unique(id for source in sources for id in source.source_ids)
    return dataclasses.replace(item, source_ids=ids, occurred_at=_day(item, sources) if dated else None)


def _day(item: DigestItem, sources: Sequence[Utterance]) -> datetime | None:
    """Return the day of an event by its sources' own words; what the model wrote only decides between readings."""
    want = set(terms(item.text))
    days = []
    for source in sources:
        best = max(sentences(source.text), key=lambda one: len(want.intersection(terms(one))), default="")
        days += [resolve(best, source.message.created_at, future=future) for future in (False, True)]
    known = [day for day in days if day is not None]
    if item.occurred_at is not None:
        agreed = [day for day in known if day.date() == item.occurred_at.date()]
        if agreed:
            return agreed[0]
    return known[0] if len({day.date() for day in known}) == 1 else None


def flaw(text: str, sources: Sequence[Utterance]) -> Flaw | None:
    """Return what keeps the clause nearest to a text from asserting it, or ``None`` where nothing does.

    ``asked``: it only asks; ``supposed``: it only supposes it; ``negation``: one says yes, the other no.
    """
    best, share, whole = "", 0.0, ""
    want = set(content(text))
    if not want:
        return None
    for source in sources:
        for sentence in sentences(source.text):
            for clause in _CLAUSES.split(sentence):
                overlap = len(want.intersection(terms(clause))) / len(want)
                if overlap > share:
                    best, share, whole = clause, overlap, sentence
    if share < 0.5:  # spread over several clauses: none of them speaks for all
        return None
    if asks(whole) and not asks(text):
        return "asked"
    if best not in asserted(whole) and asserted(text) == text:
        return "supposed"
    return None if negated(best) == negated(text) else "negation"
