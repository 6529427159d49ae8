"""How much of a question's evidence stands in a text: looked for in the text itself, whatever put it there. Pure.

A gold unit whose words stand there whole counts 1. Otherwise its fragments are looked for, the pieces that the
extractive summarizer selects: it counts the share of its terms that those which stand there hold. So a summary and a
chunk that was cut get what they kept. Case, punctuation and line breaks do not matter. Messages that share an id are
one unit, which counts what the best of them does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ...compress.budget import RoughCounter
from ...compress.fragments import fragments
from ...compress.speech import utterances
from ...records import Message
from ...text.tokenize import terms
from ..cases import Unit

_WORD: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")


@dataclass(frozen=True)
class _Said:
    words: str
    terms: frozenset[str]
    pieces: tuple[tuple[str, frozenset[str]], ...]


class Evidence:
    """The units of a haystack, by id, ready to be looked for."""

    def __init__(self, units: Iterable[Unit]) -> None:
        self._said: dict[str, list[_Said]] = {}
        for unit in units:
            self._said.setdefault(unit.id, []).append(_read(unit.text))

    def share(self, gold: Iterable[str], text: str) -> float:
        """Return the share of the gold units that the text holds, 0 to 1."""
        held = words_of(text)
        shares = [max(_share(said, held) for said in self._said[id]) for id in gold]
        return sum(shares) / len(shares)


@lru_cache(maxsize=32)  # some architectures inject the same, whatever is asked
def words_of(text: str) -> str:
    """Return the words of a text, a space around each; a Chinese character is a word."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _read(text: str) -> _Said:
    pieces = fragments(utterances([Message("user", text)]), RoughCounter())
    return _Said(words_of(text), frozenset(terms(text)), tuple((words_of(one.text), one.terms) for one in pieces))


def _share(said: _Said, held: str) -> float:
    if said.words in held:
        return 1.0
    found: frozenset[str] = frozenset().union(*(terms for words, terms in said.pieces if words in held))
    return len(found & said.terms) / len(said.terms) if said.terms else 0.0
