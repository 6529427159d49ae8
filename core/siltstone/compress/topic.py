"""What a conversation is about, in its own words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from ..text.tokenize import terms
from ..text.words import STOP_CHARACTERS, STOP_WORDS
from .fragments import Fragment

WORDS: Final = 3
"""How many words or phrases make a topic."""

_WORD: Final = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_HAN: Final = re.compile(r"[\u3400-\u9fff]{2,}")
_LONGEST_HAN: Final = 4
_VERBAL: Final = frozenset("去来做想看吃用买说问找好多少大小个天年月日号点分钟次位家人里")  # weak at the edge of a word


def topic(pieces: Sequence[Fragment], weights: Mapping[str, float], *, chinese: bool) -> str:
    """Return the weightiest words of the pieces, at most ``WORDS``, as they were written, in order of appearance."""
    scores = _han_words(pieces, weights) if chinese else _words(pieces, weights)
    chosen: list[str] = []
    for word in sorted(scores, key=lambda word: (-scores[word], word)):
        if not any(word in other or other in word for other in chosen):
            chosen.append(word)
        if len(chosen) == WORDS:
            break
    text = "\n".join(piece.text for piece in pieces)
    return ("、" if chinese else ", ").join(sorted(chosen, key=text.find))


def _words(pieces: Sequence[Fragment], weights: Mapping[str, float]) -> dict[str, float]:
    """Score words by the weight of their term in all its forms; the commonest form is shown."""
    forms: dict[str, Counter[str]] = {}
    for piece in pieces:
        for word in _WORD.findall(piece.text):
            stem = terms(word)
            if len(word) > 2 and len(stem) == 1 and word.lower() not in STOP_WORDS and not word[0].isdigit():
                forms.setdefault(stem[0], Counter())[word] += 1
    counts = {stem: sum(shown.values()) for stem, shown in forms.items()}
    return {
        min(shown, key=lambda word: (-shown[word], word)): weights.get(stem, 0.0) * counts[stem]
        for stem, shown in forms.items()
    }


def _han_words(pieces: Sequence[Fragment], weights: Mapping[str, float]) -> dict[str, float]:
    """Score runs of two to four characters that recur; a run is a word when it comes as often as its parts do."""
    counts: Counter[str] = Counter()
    for piece in pieces:
        for run in _HAN.findall(piece.text):
            for size in range(2, min(_LONGEST_HAN, len(run)) + 1):
                counts.update(run[start : start + size] for start in range(len(run) - size + 1))
    scores = {}
    for word, count in counts.items():
        if word[0] in STOP_CHARACTERS or word[-1] in STOP_CHARACTERS or any(c in STOP_CHARACTERS for c in word):
            continue
        pairs = [weights.get(word[start : start + 2], 0.0) for start in range(len(word) - 1)]
        edge = 0.5 if word[0] in _VERBAL or word[-1] in _VERBAL else 1.0
        scores[word] = count * sum(pairs) / len(pairs) * edge * (1 + 0.2 * (len(word) - 2) * (count > 1))
    return scores
