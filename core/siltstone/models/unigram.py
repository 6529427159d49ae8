"""The tokenizer of multilingual-e5-small: a SentencePiece unigram model in plain Python.

A text is normalised, cut at spaces into words, each with the mark ``▁`` in front, and each word split into the
pieces of greatest total log probability (Kudo 2018, "Subword Regularization", by the Viterbi algorithm). No piece
holds a ``▁`` but in front, so words are independent and repeated ones come from a cache.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import numpy as np

from ..index.distinct import distinct
from .e5_file import E5File

_SPACES: Final = re.compile("  +")
_CACHED_LENGTH: Final = 24
"""Longer words, mostly whole Chinese clauses, do not come again."""


class Unigram:
    """Turns texts into token ids, as the model was trained; thread-safe."""

    def __init__(self, file: E5File) -> None:
        vocabulary = file.vocabulary()
        self._normalization = vocabulary.normalization
        self._pieces = vocabulary.pieces
        self._scores = vocabulary.scores
        self._ids = dict(zip(vocabulary.pieces, range(len(vocabulary.pieces)), strict=True))
        self._unknown = file.header.unknown
        del self._ids[vocabulary.pieces[self._unknown]]
        self._unknown_score = min(vocabulary.scores) - 10
        self._reach = _longest_by_first_character(vocabulary.pieces)
        self._cached = lru_cache(maxsize=50_000)(self._split)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text, without the special tokens at its ends."""
        text = _SPACES.sub(" ", text.translate(self._normalization))
        words = text.removeprefix(" ").split(" ") if text else []
        ids: list[int] = []
        for word in words:
            ids += self._cached(word) if len(word) <= _CACHED_LENGTH else self._split(word)
        return ids

    def decode(self, ids: list[int]) -> str:
        """Return the normalised text that the ids stand for."""
        return "".join(self._pieces[i] for i in ids).replace("▁", " ").removeprefix(" ")

    def _split(self, word: str) -> tuple[int, ...]:
        """Return the best split of one word. A character that begins no piece is one unknown token."""
        text = "▁" + word
        end = len(text)
        ids, scores, reach, unknown, nothing = self._ids, self._scores, self._reach, self._unknown_score, -1e30
        best = [0.0] + [nothing] * end  # best[i]: score of the best split of text[:i]
        last = [(0, self._unknown)] * (end + 1)  # last[i]: where its last piece begins, and the piece's id
        for start in range(end):
            base = best[start]
            for stop in range(start + 1, min(end, start + reach.get(text[start], 0)) + 1):
                piece = ids.get(text[start:stop])
                if piece is not None and base + scores[piece] > best[stop]:
                    best[stop] = base + scores[piece]
                    last[stop] = (start, piece)
            if base + unknown > best[start + 1]:
                best[start + 1] = base + unknown
                last[start + 1] = (start, self._unknown)
        path: list[int] = []
        while end:
            end, piece = last[end]
            path.append(piece)
        return tuple(reversed(path))


def _longest_by_first_character(pieces: list[str]) -> dict[str, int]:
    """Return how many characters the longest piece has, by its first character."""
    codepoints = np.frombuffer("\n".join(pieces).encode("utf-32-le"), np.uint32)
    ends = np.append(np.flatnonzero(codepoints == ord("\n")), len(codepoints))
    starts = np.append(0, ends[:-1] + 1)
    first, length = np.divmod(distinct(codepoints[starts] * 64 + (ends - starts).astype(np.uint32)), 64)
    return dict(zip(map(chr, first.tolist()), length.tolist(), strict=True))  # ascending: the longest comes last
