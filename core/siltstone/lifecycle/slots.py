"""Statements with one place for a value, of attributes that have many: a favourite, a number, a language. Pure.

"My favourite colour is green now" replaces the blue one, and leaves the favourite dish alone. "I'm divorced" replaces
"I'm married" and leaves the children alone; "I can't swim any more" what somebody could.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

from ..compress.bonds import bond, comes_after
from ..compress.lexicon import words_of
from ..text.numbers import numbers, without_numbers
from ..text.tokenize import terms
from .bilingual import things
from .likeness import denies, names, words

_Slot: TypeAlias = tuple[str, frozenset[str]]
"""What kind of place it is, and the terms that tell it from others of its kind."""
_Value: TypeAlias = frozenset[str]

_COUNTED: Final = frozenset({"family", "pet", "possession", "instruction"})
"""Attributes of which somebody says how many."""
_AT_PRESENT: Final = words_of("now currently nowadays right these days today new all time absolute")
_FAVOURITES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<!one of )\b(?:my|our|his|her|their)\b[\w ]{0,12}? ?favou?rite (?P<what>[\w'’ -]{1,40}?)"
        r"(?:['’]s| is| are| has become| became| turned into) (?P<value>.+)",
        r"^(?P<value>[\w'’ -]{1,40}?) (?:is|are|has become|became) (?:now )?(?:my|our|his|her|their) (?:\w+ )?"
        r"favou?rite (?P<what>[\w'’ -]{1,40})",
        r"最(?:喜欢|喜爱|爱|中意|钟爱)[吃喝看听玩]?的(?P<what>[^，。是]{1,8}?)(?:现在|如今|已经|早就|就|还)*"
        r"(?:是|换成|改成|变成|成了|变为|改为)了?(?P<value>[^，。]+?)了?$",
    )
)
_ANSWERED: Final = re.compile(
    r"\b(?:answer|reply|repl|respond|writ|speak|talk|language|stick|switch|back|change|return)\w*|\buse\b(?!.*spelling)|[回答]|[说讲用写改换切]",
    re.IGNORECASE,
)
_LANGUAGES: Final = (
    "english 英文 英语|chinese mandarin 中文 汉语 普通话|cantonese 粤语 广东话|french 法文 法语|german 德文 德语"
    "|spanish 西班牙语 西语|portuguese 葡萄牙语 葡语|italian 意大利语|japanese 日文 日语|korean 韩文 韩语"
    "|russian 俄文 俄语"
)
_LANGUAGE: Final = tuple(re.compile("|".join(names.split()), re.IGNORECASE) for names in _LANGUAGES.split("|"))
_MANNERS: Final = tuple(
    tuple(re.compile(one, re.IGNORECASE) for one in alternatives)
    for alternatives in (
        (
            r"\b(?:short(?:er)?|brief(?:er)?|concise|succinct)\b|简短|简洁|精简|短一?[点些]|简单一?[点些]",
            r"\b(?:long(?:er)?|detailed|thorough|in depth)\b|详细|详尽|长一?[点些]",
        ),
        (
            r"\b(?:formal(?:ly)?|polite(?:ly)?)\b|正式|书面|礼貌|客气",
            r"\b(?:informal(?:ly)?|casual(?:ly)?)\b|随意|口语|随便",
        ),
        (r"\b(?:metric|kilomet\w+|kilos?)\b|公制|公里|公斤", r"\b(?:imperial|miles|pounds|inches)\b|英制|英里|英寸"),
        (r"\bcelsius\b|摄氏", r"\bfahrenheit\b|华氏"),
        (r"\bsimple\b|通俗|浅显", r"\b(?:technical|academic)\b|专业|学术"),
    )
)
"""Ways to answer that exclude each other."""
_ABILITY_EN: Final = frozenset(
    term
    for word in words_of("know how learn learnt learned can could able unable forgot forgotten to be been again")
    for term in terms(word)
)
_ABILITY_ZH: Final = re.compile(r"已经|现在|终于|再也|学会|忘了|怎么|早就|还|也|都|会|能|不了|[太大]")
_UNABLE: Final = re.compile(r"\bunable to\b|\bforg[eo]t(?:ten)? how\b|不了", re.IGNORECASE)
_FORBIDS: Final = re.compile(
    r"\b(?:stop|quit|avoid|skip|refrain|leave out|no more)\b|避免|禁止|省略|少用", re.IGNORECASE
)
_ALIKE: Final = 0.6
"""The share of the longer instruction's words that two about the same have in common."""


def refilled(attribute: str, new: str, old: str) -> bool | None:
    """Return whether two statements give one place the same value; ``None`` where they have none in common."""
    if attribute == "family" and (mine := bond(new)) is not None and (its := bond(old)) is not None:
        return _same_bond(new, old) if mine & its else False
    if attribute == "skill":
        return _same_ability(new, old)
    if denies(new) or denies(old):
        return None
    known = dict(_filled(attribute, old))
    return next((known[slot] == value for slot, value in _filled(attribute, new) if slot in known), None)


def follows(new: str, old: str) -> bool:
    """Return whether a statement tells a state that comes after the other's in a life, and so contradicts nothing."""
    mine, its = bond(new), bond(old)
    return mine is not None and its is not None and comes_after(mine, its)


def _same_bond(new: str, old: str) -> bool | None:
    """Return whether two statements that do not exclude each other are one; who they name must agree."""
    if bond(new) != bond(old) or denies(new) != denies(old):
        return None
    return True if names(new) <= names(old) or names(old) <= names(new) else None


def _same_ability(new: str, old: str) -> bool | None:
    mine, its = _done(new), _done(old)
    if not mine or not its or len(mine & its) < _ALIKE * min(len(mine), len(its)):
        return None
    return _unable(new) == _unable(old)


def _done(text: str) -> frozenset[str]:
    """Return what somebody can do, or cannot, in words of either language where a table has them."""
    return things(text) or frozenset(term for term in words(_ABILITY_ZH.sub(" ", text)) if term not in _ABILITY_EN)


def _unable(text: str) -> bool:
    return denies(text) or _UNABLE.search(text) is not None


def reversed_order(new: str, old: str) -> bool:
    """Return whether one of two instructions forbids what the other demands."""
    mine, its = words(new), words(old)
    about = [{term for term in one if not _FORBIDS.fullmatch(term)} for one in (mine, its)]
    if _forbids(new) == _forbids(old) or not all(about):
        return False
    return len(about[0] & about[1]) >= _ALIKE * max(map(len, about))


def _forbids(text: str) -> bool:
    return denies(text) or _FORBIDS.search(text) is not None


def _filled(attribute: str, text: str) -> Iterator[tuple[_Slot, _Value]]:
    if attribute in ("like", "dislike"):
        yield from _favourite(text)
    if attribute == "instruction" and _ANSWERED.search(text):
        spoken = frozenset(str(number) for number, names in enumerate(_LANGUAGE) if names.search(text))
        if spoken:
            yield ("language", frozenset()), spoken
    if attribute == "instruction":
        for number, manners in enumerate(_MANNERS):
            chosen = frozenset(str(place) for place, manner in enumerate(manners) if manner.search(text))
            if len(chosen) == 1:
                yield (f"manner {number}", frozenset()), chosen
    found = numbers(text)
    thing = words(without_numbers(text))
    if attribute in _COUNTED and len(found) == 1 and thing:
        yield ("number", thing), frozenset(found)


def _favourite(text: str) -> Iterator[tuple[_Slot, _Value]]:
    for pattern in _FAVOURITES:
        if match := pattern.search(text):
            what, value = _lasting(match["what"]), _lasting(match["value"])
            if what and value:
                yield ("favourite", what), value
            return


def _lasting(text: str) -> frozenset[str]:
    """Return the terms of a text without those that only say that it holds now."""
    return frozenset(terms(" ".join(word for word in text.split() if word.lower() not in _AT_PRESENT)))
