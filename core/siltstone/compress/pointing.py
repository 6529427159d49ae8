"""Statements that only point at something: "I live there now", "I like both", 我对它过敏. Alone they say nothing."""

from __future__ import annotations

import re
from typing import Final

from ..text.language import script
from .english.predicate import expand
from .lexicon import words_of

_VALUED: Final = frozenset(
    {"home", "work", "like", "dislike", "diet", "health", "pet", "possession", "education", "skill"}
)
"""Attributes that are nothing without a value."""
_EMPTY_EN: Final = words_of(
    "i we he she they am is are was have has had been being be do does did not never can could will live lives living",
    "lived stay moved work works working worked like likes love loves hate hates prefer prefers enjoy eat eats drink",
    "drinks into allergic to in at for from with on of the a an my our now still also too really just so very much",
    "already only always any more longer and but it that this them those these him her you there here both either",
    "one ones two three stuff thing things first second third other last latter former same all better best since then",
)
_SINCE: Final = re.compile(r"\b(?:since|for|until) \w+(?: years?| months?| weeks?)?\b", re.IGNORECASE)
_EMPTY_ZH: Final = re.compile(
    r"我们?|咱们?|他们?|她们?|它们?|你们?|大家|一直|从来?|那时起?|现在|已经|早就|就|也|都|很|还|再|太|最|真|特别|这|那|哪|儿|里|边|个|些"
    r"|种|样|行|两|一|住|在|上班|工作|干|做|学|对|过敏|不|没|了|的|是|有|会|能|喜欢|爱|讨厌|怕|吃|喝|玩|看|听|搬|到|去|来"
)


def points(attribute: str, text: str) -> bool:
    """Return whether a statement gives its attribute no value but a word that points elsewhere."""
    if attribute.removeprefix("former ") not in _VALUED:
        return False
    if script(text) == "han":
        return re.search(r"\w", _EMPTY_ZH.sub("", text)) is None
    return all(word in _EMPTY_EN for word in re.findall(r"[\w-]+", _SINCE.sub("", expand(text)).lower()))
