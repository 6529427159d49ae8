"""The compressor of the summary memories: what the extractive summarizer selects, within a size of one's own.

``ExtractiveSummarizer`` makes a fifth of its source at most. A summary memory chooses the size of its summary itself:
so fragments are chosen here by the same rules (``compress.fragments``, ``compress.select``) for any size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np

from ...compress.fragments import Fragment, fragments
from ...compress.select import choose
from ...compress.speech import Utterance, utterances
from ...protocols import Floats, TokenCounter
from ...records import Message
from ...text.language import is_chinese
from .effort import CountedEmbedder, Effort
from .lines import Line


class Compressor:
    """Makes lines shorter by choosing fragments of them; each call counts as one of a model.

    It keeps the vectors of fragments that it has seen, as a memory that summarises its summary anew would.
    """

    def __init__(self, embedder: CountedEmbedder, counter: TokenCounter, effort: Effort) -> None:
        self._embedder = embedder
        self._counter = counter
        self._effort = effort
        self._vectors: dict[str, Floats] = {}

    def compress(self, lines: Sequence[Line], max_tokens: int, *, text: Callable[[Sequence[Line]], str]) -> list[Line]:
        """Return what is kept of the lines, in order; as a ``text`` it has at most ``max_tokens`` tokens."""
        self._effort.model_calls += 1
        self._effort.model_tokens += self._counter.count(text(lines))
        said = utterances([Message(one.role, one.text, name=one.speaker) for one in lines])
        pieces = fragments(said, self._counter)
        prices = {number: self._counter.count(f"{one.speaker}: ") for number, one in enumerate(said)}
        vectors = self._embedded(pieces)
        room = max_tokens
        while room > 0:
            kept = _lines(choose(said, pieces, room, prices, vectors), said, lines)
            over = self._counter.count(text(kept)) - max_tokens
            if over <= 0:
                return kept
            room -= max(over // 2, 1)  # the days above the lines, and what joining costs; in steps, to leave no gap
        return []

    def _embedded(self, pieces: Sequence[Fragment]) -> Floats | None:
        missing = list(dict.fromkeys(piece.text for piece in pieces if piece.text not in self._vectors))
        if missing:
            self._vectors.update(zip(missing, self._embedder.embed_documents(missing), strict=True))
        return np.stack([self._vectors[piece.text] for piece in pieces]) if pieces else None


def _lines(chosen: Sequence[Fragment], said: Sequence[Utterance], lines: Sequence[Line]) -> list[Line]:
    def source(piece: Fragment) -> tuple[str, str, str]:
        line = lines[said[piece.utterance].position]
        return line.role, line.speaker, line.day

    found = []
    for (role, speaker, day), run in groupby(chosen, key=source):
        texts = [piece.text for piece in run]
        found.append(Line(role, speaker, ("；" if is_chinese(texts[0]) else "; ").join(texts), day))
    return found
