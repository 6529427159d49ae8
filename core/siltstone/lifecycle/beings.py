"""One being under all the names that statements have for it: "my dog", Rex, "a dog named Rex", 我家的狗. Pure.

A death ends all that held of the dead, and a name that was wrong is wrong wherever it stands.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from ..compress.bonds import DIVORCED, SINGLE, WIDOWED, bond
from ..compress.lexicon import words_of
from ..compress.relations import CHINESE, CHINESE_PATTERN, ENGLISH, ENGLISH_PATTERN
from ..compress.speech import USER
from ..records import Record
from ..text.numbers import numbers
from .candidates import subject_and_attribute
from .deaths import ANIMALS, ANIMALS_ZH, DEATH, given_away, moment

_LASTING: Final = frozenset({"birthday", "birth", "origin", "event", DEATH})
"""What stays true of the dead."""
_MATES: Final = frozenset({"wife", "husband", "partner", "girlfriend", "boyfriend", "fiancé", "fiancée"})

_NAME: Final = r"(?-i:[A-ZÀ-Ý])[\w'’-]*\w(?<!['’]s)"
_NAME_ZH: Final = r"[\u4e00-\u9fffA-Za-z]{1,6}?"
_OURS: Final = (
    rf"\b(?:my|our|both|all(?: of)?(?: my| our)?|the(?= (?:{ANIMALS})))\s+(?:of (?:my|our) )?(?:[a-z-]+\s+){{0,2}}?"
)
_OURS_ZH: Final = rf"(?:(?:我们?|咱们?|俺)家?的?|^)(?:那?[一两]?[只条个])?(?:(?:亲|小|大|老)?(?P<zh>{CHINESE_PATTERN}))"
_RELATION: Final = re.compile(
    rf"{_OURS}(?P<en>{ENGLISH_PATTERN})(?P<many>s)?\b(?!['’]s)|{_OURS_ZH}(?!的|家|[^都也]{{0,4}}的)", re.I
)

_CALLED: Final = tuple(
    re.compile(text, re.IGNORECASE)
    for text in (
        rf"\b(?:my|our|an?|another)\s+(?:[a-z-]+\s+){{0,2}}?(?P<en>{ENGLISH_PATTERN})"
        rf"(?:(?: is|['’]s) (?:now )?(?:called|named)|['’]s name is|,? (?:called|named|whose name is)|,)?"
        rf" (?P<name>{_NAME})",
        rf"\b(?P<name>{_NAME}) is (?:the name of )?(?:my|our) (?:[a-z-]+ ){{0,2}}?(?P<en>{ENGLISH_PATTERN})\b"
        r"(?!['’]s (?!name))",
        rf"(?:我们?家?的?|咱家的?|[养有]了?[一两]?[只条个头匹]?)[^，。的]{{0,3}}?(?P<zh>{CHINESE_PATTERN})(?:的?名字|大名|小名)?"
        rf"(?:现在|就)?(?:叫做?|名叫|改叫|是(?=[A-Z])|改名叫?)(?P<name>{_NAME_ZH})(?=$|[，,。！!了]|不)",
        rf"^(?P<name>{_NAME_ZH})是我们?家?的?(?P<zh>{CHINESE_PATTERN})",
    )
)
_NO_NAMES: Final = words_of("I The A My Our Not And But Who Is Was")

_ALL: Final = re.compile(r"\b(?:both|all)\b|都|全部?|两[只条个]", re.IGNORECASE)


def ended_by(new: Record, known: Iterable[Record]) -> list[Record]:
    """Return what holds no longer because somebody has died, of the ``known`` statements that held.

    The dead is called by name, or by what they are to the speaker where only one such is known.
    """
    owner = new.speaker or USER
    held = [old for old in known if old.created_at <= new.created_at and old.id != new.id]
    named = [pair for old in held for pair in called(old.text)]
    subject = _subject(new)
    subjects = {_subject(old) for old in held} - {owner}
    names = {name for _, name in named} | {one for one in subjects if len(one) > 1 and "'s " not in one}
    dead = {subject} & names or _dead(new.text, names)
    every = _ALL.search(new.text) is not None
    if dead:
        return [old for old in held if _is_over(old, owner, dead, {kind for kind, name in named if name in dead})]
    if (kind := _relation(new.text, subject, owner)) is None:
        return []
    alike = {name for known_kind, name in named if known_kind == kind}
    if any(name not in alike for _, name in called(new.text)) or (len(alike) > 1 and not every):
        return []
    return [old for old in held if _is_over(old, owner, alike, {kind}) or _is_unnamed(old, owner, kind, every)]


def _dead(text: str, names: Iterable[str]) -> set[str]:
    """Return whom of the names a death in a text is of: the nearest to its words, and who is named in one breath."""
    at = moment(text)
    places = {name: found.start() for name in names if (found := _place(name).search(text))}
    if at is None or not places:
        return set()
    kin = next((found.start() for found in _RELATION.finditer(text) if found.end() <= at.start()), -1)
    places = {name: place for name, place in places.items() if place > kin or place > at.start()}
    if not places:
        return set()
    nearest = min(places, key=lambda name: abs(places[name] - at.start()))
    joined = r"\s*(?:and|&|和|、|与|跟)\s*"
    return {
        name
        for name, it in ((re.escape(name), re.escape(nearest)) for name in places)
        if name == it or re.search(f"{name}{joined}{it}|{it}{joined}{name}", text)
    }


def _is_over(old: Record, owner: str, dead: Collection[str], kinds: Collection[str]) -> bool:
    """Return whether a statement is of the dead, or of what ended with them: a marriage, the keeping of a pet."""
    subject, attribute = subject_and_attribute(old) or ("", "")
    if attribute in _LASTING:
        return False
    others = any(name not in dead for _, name in called(old.text))
    if subject == owner and attribute == "family":
        allowed = bond(old.text)
        return not _MATES.isdisjoint(kinds) and allowed is not None and not allowed & WIDOWED
    if subject == owner:
        return attribute == "pet" and not others and any(_place(name).search(old.text) for name in dead)
    return subject in dead or (subject in {f"{owner}'s {kind}" for kind in kinds} and not others)


def _is_unnamed(old: Record, owner: str, kind: str, every: bool) -> bool:
    """Return whether a statement is of a pet without a name: "I have a dog", and of two only where both are gone."""
    return (
        subject_and_attribute(old) == (owner, "pet")
        and _animals(old.text) == {kind}
        and not any(called(old.text))
        and (every or not numbers(old.text))
    )


def parts_from(new: Record, old: Record) -> bool:
    """Return whether a statement says that somebody is alone who was known to have a wife, a boyfriend, with a name."""
    allowed = bond(new.text)
    return (
        allowed is not None
        and _by_one_about_themselves(new, old)
        and allowed <= SINGLE | DIVORCED | WIDOWED
        and any(kind in _MATES for kind, _ in called(old.text))
    )


def _by_one_about_themselves(new: Record, old: Record) -> bool:
    return new.speaker == old.speaker and _subject(new) == (new.speaker or USER)


def _subject(record: Record) -> str:
    return (subject_and_attribute(record) or ("", ""))[0]


def renames(new: Record, old: Record) -> bool:
    """Return whether a statement gives somebody another name than a known one does."""
    mine, its = dict(called(new.text)), dict(called(old.text))
    return new.speaker == old.speaker and any(
        kind in its and its[kind].casefold() != name.casefold() for kind, name in mine.items()
    )


def called(text: str) -> Iterator[tuple[str, str]]:
    """Yield what somebody is to the speaker, and their name, from "my cat is called Pixel" or 我的猫叫皮皮."""
    for form in _CALLED:
        for match in form.finditer(text):
            if match["name"] not in _NO_NAMES:
                found = match.groupdict()
                yield ENGLISH[found["en"].lower()] if found.get("en") else CHINESE[found["zh"]], match["name"]


def _place(name: str) -> re.Pattern[str]:
    """Return where a name stands, and not what belongs to whom it names."""
    written = re.escape(name)
    return re.compile(rf"(?<![\w'’]){written}(?![\w'’])" if name.isascii() else rf"{written}(?!的|家)")


def _relation(text: str, subject: str, owner: str) -> str | None:
    """Return what the dead was to the speaker, if the words say it."""
    if subject.startswith(f"{owner}'s ") and subject.count("'s ") == 1:
        return subject.partition("'s ")[2]
    if animals := _animals(given_away(text)):
        return next(iter(animals))
    if match := _RELATION.search(text):
        return ENGLISH[match["en"].lower()] if match["en"] else CHINESE[match["zh"]]
    return None


def _animals(text: str) -> set[str]:
    """Return the kinds of animals that a statement names."""
    english = {ENGLISH[word.lower()] for word in re.findall(rf"\b({ANIMALS})s?\b", text, re.IGNORECASE)}
    return english | {CHINESE[word] for word in re.findall(f"({ANIMALS_ZH})", text)}
