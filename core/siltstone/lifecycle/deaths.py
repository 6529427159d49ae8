"""Words by which somebody says that a person or an animal has died, or that an animal is somebody else's now. Pure."""

from __future__ import annotations

import re
from typing import Final

from ..compress.english.predicate import averted
from ..compress.modality import negated
from ..compress.relations import CHINESE, ENGLISH, GENDER

DEATH: Final = "death"
"""Attribute of a happening that ends what held of somebody, or of an animal."""
ANIMALS: Final = "|".join(form for form, kind in ENGLISH.items() if GENDER[kind] == "a")
ANIMALS_ZH: Final = "|".join(form for form, kind in CHINESE.items() if GENDER[kind] == "a")
"""Alternatives for a regular expression."""
_PEOPLE: Final = "|".join(re.escape(form) for form, kind in ENGLISH.items() if GENDER[kind] != "a")

_OUR_ANIMAL: Final = rf"(?:my|our|the) (?:[a-z-]+ ){{0,2}}?(?:{ANIMALS})s?\b"
_DIES: Final = re.compile(
    r"\b(?:died|passed away|(?:is|are) (?:dead|no longer with us)|euthani[sz]ed|crossed the rainbow bridge)\b"
    r"(?! (?:laughing|inside|of (?:laughter|shame|boredom|embarrassment)|(?:out|down|off)\b))"
    r"|\b(?:was|were|been|be) put (?:down|to sleep)\b|\bhad to put (?:\w+ ){1,3}(?:down|to sleep)\b"
    rf"|\blost {_OUR_ANIMAL}(?= (?:last|yesterday|this|recently|to (?!the\b)|in \d|\w+ (?:weeks|months|years) ago))"
    rf"|\blost (?:my|our) (?:[a-z-]+ ){{0,2}}?(?:{_PEOPLE})\b(?! (?:in (?:the|an?)|at)|['’]s)"
    r"|去世|过世|离世|病逝|逝世|安乐死|(?<![笑累饿渴冷热烦困吓急痛疼忙爱想气])死了|没能救回来"
    rf"|(?:{ANIMALS_ZH})[^，。]{{0,4}}走了|走了[，。！!]*(?:我|心里|真的|好|很|太)*(?:难过|伤心|难受|舍不得|想它)",
    re.IGNORECASE,
)
_GIVEN_AWAY: Final = re.compile(
    rf"\b(?:gave|given|sold) (?:away )?{_OUR_ANIMAL}|\b(?:rehomed|found a new home for) {_OUR_ANIMAL}"
    rf"|(?:{ANIMALS_ZH})[^，。]{{0,4}}(?:送人|送走|送给[^，。]+|卖掉?|转让)了",
    re.IGNORECASE,
)
_NOT_HELD: Final = re.compile(
    rf"\b(?:do not|don['’]t|no longer) (?:have|own|keep) (?:an?|any|the|my|our) (?:{ANIMALS})s?"
    r"(?=\W*$|[,.;!]| any| now)",
    re.IGNORECASE,
)
_SAID: Final = re.compile(
    r"\b(?:said|says|told|heard|read|thinks?|when|if|before|after|until)\b|听说|说|如果|要是|的时候|之前|以前"
)
_NO_DENIAL: Final = re.compile(r"no longer with us|没能救回来", re.IGNORECASE)


def dies(sentence: str) -> bool:
    """Return whether a sentence tells of a death, or of an animal that somebody has no longer."""
    if averted(sentence) or _SAID.search(sentence):
        return False
    if _NOT_HELD.search(sentence):
        return True
    return moment(sentence) is not None and not negated(_NO_DENIAL.sub("", sentence))


def moment(sentence: str) -> re.Match[str] | None:
    """Return the words that tell of a death, or that an animal was given away."""
    return _DIES.search(sentence) or _GIVEN_AWAY.search(sentence)


def given_away(sentence: str) -> str:
    """Return the words that tell of an animal that somebody has no longer; empty where none do."""
    match = _GIVEN_AWAY.search(sentence) or _NOT_HELD.search(sentence)
    return match.group() if match else ""
