"""Reading an English clause: subject, tense, whether it is denied, main verb, and what follows it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ...text.tokenize import terms
from ...text.words import IRREGULAR
from ..lexicon import words_of

_CONTRACTIONS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), full)
    for pattern, full in (
        (r"[’`]", "'"),
        (r"\bi'm\b|\bim\b(?=\s)", "I am"),
        (r"\bcan'?t\b|\bcannot\b", "can not"),
        (r"\bwon'?t\b", "will not"),
        (r"\bain'?t\b", "is not"),
        (r"\b(do|does|did|is|are|was|were|has|have|had|would|could|should|must|need)n'?t\b", r"\1 not"),
        (r"'re\b", " are"),
        (r"'ve\b", " have"),
        (r"\bi'ma\b", "I am going to"),
        (r"'ll\b", " will"),
        (r"\byou (?:will|can|may) (?:always |usually |now )*find me\b", "I am"),
        (r"\bgonna\b", "going to"),
        (r"\bwanna\b", "want to"),
        (r"\b(?:gotta|have got to|has got to)\b", "have to"),
        (r"\b(have|has) got\b", r"\1"),
        (r"\b(i|we|you|he|she|they|it)'d (?=been|never been|had|always wanted|already)", r"\1 had "),
        (r"\b(i|we|you|he|she|they|it)'d\b", r"\1 would"),
        (r"\b(he|she|it|that|there|here|who|name)'s (?=been\b|got\b|had\b|just \w+ed\b)", r"\1 has "),
        (r"\b(he|she|it|that|there|here|who|what|name)'s\b", r"\1 is"),
    )
)
_ADVERBS: Final = words_of(
    "really actually currently now just also still always usually mostly recently finally already only mainly ",
    "absolutely definitely honestly probably basically literally simply both all even practically totally secretly ",
    "quite pretty so very ever since long often sometimes rarely normally generally personally officially originally ",
    "obviously unfortunately sadly luckily apparently seriously genuinely truly first then today nowadays lately ",
    "proudly happily kinda sorta almost nearly barely technically temporarily permanently sort kind of too",
)
_AUXILIARIES: Final = words_of(
    "do does did will would can could should must might may shall had",
)
_AFTER_DO: Final = _ADVERBS | words_of(
    "not never like love want think know enjoy have need work live hate prefer been eat drink smoke speak own drive",
    "swim cook teach study",
)
_BE: Final = words_of(
    "am is are was were be been being",
)
_NOT: Final = frozenset({"not", "never"})
_NO_GERUND: Final = words_of(
    "interesting amazing exciting boring willing tiring annoying missing sibling darling king ring thing nothing ",
    "something anything everything morning evening wedding during string spring ceiling challenging depressing ",
    "relaxing surprising worrying embarrassing outstanding terrifying demanding rewarding charming",
)
_WINDS_UP: Final = re.compile(r"(?:ended up|wound up|(?:just )?finished|completed) \w+ing\b", re.IGNORECASE)
_TOKEN: Final = re.compile(r"\S+")


@dataclass(frozen=True)
class Predicate:
    """What a clause says of its subject.

    ``verb`` is the stem of the main verb, ``be`` for a copula; ``word`` its form; ``after`` what follows.
    ``tense`` is ``past``, ``present``, ``perfect``, ``future`` or ``unreal`` (would, might, should).
    ``plan`` is true after "going to" and "will". ``modal`` names can, must and their like.
    """

    verb: str
    word: str
    after: str
    tense: str
    negated: bool = False
    progressive: bool = False
    modal: str = ""


def expand(text: str) -> str:
    """Return English text with its contractions written out, as ``predicate`` reads it."""
    for pattern, full in _CONTRACTIONS:
        text = pattern.sub(full, text)
    return text


def read_predicate(rest: str) -> Predicate | None:
    """Return the predicate that begins what follows a subject, contractions written out; ``None`` without a verb."""
    words = [(match.group(), match.end()) for match in _TOKEN.finditer(rest)]
    tense, negated, modal, copula, perfect = "", False, "", "", False
    position = 0
    while position < len(words):
        word = words[position][0].lower().strip(",.!;:")
        following = words[position + 1][0].lower().strip(",.!;:") if position + 1 < len(words) else ""
        if word in _NOT:
            negated = True
        elif word == "no" and following in ("longer", "more"):
            negated = True
            position += 1
        elif word in _BE:
            copula = word
            tense = tense or ("past" if word in ("was", "were") else "perfect" if word == "been" else "present")
        elif word in ("have", "has") and _participle_ahead(words, position + 1):
            perfect, tense = True, "perfect"
        elif word in ("have", "has", "need", "needs") and following == "to":
            modal, position = "must", position + 1
        elif word == "used" and following == "to" and not copula:
            tense, modal, negated, position = "past", "used", True, position + 1
        elif (copula and word == "going" and following == "to" and position + 2 < len(words)) or (
            copula and word == "about" and following == "to"
        ):
            tense, copula, position = "future", "", position + 1
        elif copula and word == "unable" and following == "to":
            negated, modal, copula, position = True, "can", "", position + 1
        elif copula and word in ("supposed", "able", "allowed") and following == "to":
            modal, copula, position = "can" if word != "supposed" else "must", "", position + 1
        elif (
            word in _AUXILIARIES
            and not copula
            and not (word in ("do", "does", "did", "had") and following not in _AFTER_DO)
        ):
            tense, modal = _auxiliary(word, tense, modal)
        elif word not in _ADVERBS:
            break
        position += 1
    if position == len(words):
        return None
    if winding := _WINDS_UP.match(" ".join(word for word, _ in words[position : position + 3])):
        tense, position = "past", position + winding.group().count(" ")  # "ended up moving" is "moved"
    main, end = words[position]
    main = main.strip(",.!;:")
    if copula and not _is_gerund(main):
        start = words[position][1] - len(words[position][0])
        return Predicate("be", copula, rest[start:].strip(), "perfect" if perfect else tense, negated, False, modal)
    if not copula and not tense:
        tense = "past" if is_past(main) else "present"
    return Predicate(verb_stem(main), main.lower(), rest[end:].strip(), tense, negated, bool(copula), modal)


def _auxiliary(word: str, tense: str, modal: str) -> tuple[str, str]:
    if word in ("will", "shall"):
        return "future", modal
    if word in ("would", "could", "should", "might", "may"):
        return "unreal", word
    if word in ("can", "must"):
        return tense or "present", word
    return ("past" if word in ("did", "had") else tense or "present"), modal


def _participle_ahead(words: list[tuple[str, int]], position: int) -> bool:
    while position < len(words):
        word = words[position][0].lower().strip(",.!;:")
        if word in _ADVERBS or word in _NOT:
            position += 1
            continue
        return word in ("been", "become", "come", "run") or is_past(word)
    return False


def _is_gerund(word: str) -> bool:
    lowered = word.lower()
    return lowered.endswith("ing") and len(lowered) > 4 and lowered not in _NO_GERUND


_ALSO_PAST: Final = words_of(
    "quit put cut hit hurt let set had did was were been done left met felt sent got gotten won tore torn "
    "stuck bent bit bitten froze frozen hung shook shaken slid split stung struck woven wound lit dug "
    "took",
)
_NOT_PAST: Final = words_of(
    "need feed seed bed red tired speed shed sled weed deed reed indeed exceed proceed embed wed men "
    "women children feet teeth mice people",
)


def is_past(word: str) -> bool:
    """Return whether a word has the form of a past tense or participle."""
    lowered = word.lower()
    if lowered in _NOT_PAST:
        return False
    return (
        (lowered in IRREGULAR and lowered not in _BASES and not lowered.endswith("s"))
        or lowered in _ALSO_PAST
        or (lowered.endswith("ed") and len(lowered) > 3)
    )


_AVERTED: Final = re.compile(
    r"\b(?:(?:was|were|had been) (?:\w+ )?(?:going|about|supposed|meant|planning|hoping|due|set) to"
    r"(?! (?:say|tell|mention|ask|add|write)\b)|came (?:\w+ )?close to \w+ing"
    r"|(?:almost|nearly|all but) (?P<verb>[a-z]+))\b",
    re.IGNORECASE,
)


def averted(text: str) -> bool:
    """Return whether a clause tells what nearly happened: "I almost moved to Spain", not "I almost always walk"."""
    return any(match["verb"] is None or is_past(match["verb"]) for match in _AVERTED.finditer(text))


_BASES: Final = frozenset(IRREGULAR.values())


_FORMS: Final = {
    "lives": "live",
    "won": "win",
    "left": "leave",
    "born": "born",
    "wed": "marry",
    "goes": "go",
    "does": "do",
}
"""Forms that the tokenizer, which sees words without their clause, takes for something else."""


@lru_cache(maxsize=20_000)
def verb_stem(word: str) -> str:
    """Return the form under which all forms of a verb are known; auxiliaries stand for themselves."""
    lowered = word.lower()
    if lowered in ("have", "has", "having", "had"):
        return "have"
    if lowered in ("do", "does", "doing", "did", "done"):
        return "do"
    if lowered in ("get", "gets", "getting", "got", "gotten"):
        return "get"
    found = terms(_FORMS.get(lowered, lowered))
    return found[0] if found else lowered
