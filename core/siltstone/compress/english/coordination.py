"""English clauses that tell two things of one subject: "I live in Berlin and work at Bosch"."""

from __future__ import annotations

import re
from typing import Final

from ..lexicon import pattern
from ..relations import ENGLISH_PATTERN

_SUBJECT: Final = rf"(?:i|we|he|she|they|(?:my|our|his|her|their)\s+(?:[a-z-]+\s+)?(?:{ENGLISH_PATTERN}))"
_BASE: Final = (
    r"(?:live (?=in|at|near|with|on|here|there|abroad|alone)|work (?=at|for|as|in|with|from|on|part|full)"
    r"|(?:love|hate|adore|dislike|prefer|enjoy|speak|own|drive|teach|keep) (?=\S)|study (?=\S)|am (?=\S)|are (?=\S)"
    r"|have (?=an?\b|two|three|four|five|no\b|my|our|\d|(?:\w+ )?(?:kids|children|brothers|sisters|cats|dogs)))"
)
_INFLECTED: Final = (
    r"(?:lives (?=in|at|near|with|on|here|there|abroad|alone)|works (?=at|for|as|in|with|from|on|part|full)"
    r"|(?:loves|hates|adores|dislikes|prefers|enjoys|speaks|owns|drives|teaches|studies|keeps|has|is) (?=\S)"
    r"|(?:moved|started|joined|quit|left|bought|adopted|married|retired|became|graduated|lived|worked|studied|began"
    r"|changed|switched|got|settled|resettled|relocated) (?=\S))"
)
_QUALITY: Final = (
    r"(?:(?:also |very |severely |slightly )?(?:allergic to|intolerant|lactose|vegan\b|vegetarian|diabetic|married"
    r"|single|divorced|engaged|pregnant|retired|left-handed|colou?r-?blind|based in|\d+ years old|from (?-i:[A-Z])))"
)
_AND: Final = r",?\s+(?:and|but)\s+(?:(?:also|now|still|currently|then|just|really)\s+)*"
_VERBS: Final = pattern(
    rf"(?P<subject>{_SUBJECT})(?P<first>(?:['’](?:m|re|s|ve))?\s+\S.*?){_AND}(?P<rest>(?P<base>{_BASE})|{_INFLECTED})"
)
_QUALITIES: Final = pattern(
    rf"(?P<subject>{_SUBJECT}(?:['’](?:m|re|s)|\s+(?:am|are|is|was|were)))(?P<first>\s+\S.*?){_AND}(?P<rest>{_QUALITY})"
)
_UNREAL: Final = re.compile(r"\b(?:if|unless|when|would|wish|had)\b|['’]d\b", re.IGNORECASE)
_GOVERNS: Final = re.compile(
    r"\b(?:will|can|could|should|might|may|must|do|does|did|not|never|let)\b|n['’]t\b|['’]ll\b"
    r"|\bto (?!(?-i:[A-Z])|the\b|an?\b|my\b|our\b|this\b|that\b|work\b(?!ing))",
    re.IGNORECASE,
)
"""What a bare verb after "and" may still hang on: "I want to move to Rome and work at a museum"."""


def coordinated(clause: str) -> list[str]:
    """Return a clause as one clause per predicate, each with the subject that they share. Most clauses are one.

    It is cut only where the second verb can have no other subject or mood: "I will live in Rome and work from home"
    and "I live and work in Rome" stay whole.
    """
    found: list[str] = []
    rest = clause
    while (cut := _cut(rest)) is not None:
        first, rest = cut
        found.append(first)
    return [*found, rest]


def _cut(clause: str) -> tuple[str, str] | None:
    for kind in (_VERBS, _QUALITIES):
        match = kind.match(clause)
        if match is None or _UNREAL.search(match["first"]) or len(match["first"].split()) < _LEAST[kind]:
            continue
        if kind is _VERBS and match["base"] and _GOVERNS.search(match["first"]):
            continue
        subject = match["subject"]
        return clause[: match.end("first")], f"{subject} {clause[match.start('rest') :]}"
    return None


_LEAST: Final = {_VERBS: 2, _QUALITIES: 1}
"""Words after the subject that the first predicate has: a verb alone shares what follows with the second."""
