"""Choosing what a summary keeps: the fragments that cover the most weight of words within a budget.

Budgeted maximum coverage by greedy steps (Takamura & Okumura 2009; the price exponent after Lin & Bilmes 2010):
each term counts once, so a fragment that repeats what is kept is worth nothing (novelty), and terms that come back in
the conversation weigh more (centrality). With vectors, a fragment far from the middle of the talk gains.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Final

import numpy as np

from ..forks import unforked
from ..protocols import Floats
from ..text.tokenize import terms
from .fragments import Fragment
from .speech import Utterance

PRICE: Final = 0.7
"""Exponent of a fragment's tokens: at 1 only the tersest would win, at 0 only the longest."""
NUMBER, NAME, COMMON, SPEAKER, QUESTION, ASSISTANT = 2.0, 2.0, 0.5, 0.2, 0.5, 0.6
"""Weights: numbers and names are asked about later; chat's common words, speakers' own names, questions and an
assistant's words less so."""
DISTINCT = 0.2
"""With vectors, the gain per standard deviation of a fragment's distance from the centre of the conversation. What is
near the centre is its small talk: the opposite sign costs five points of ``benchmarks/compression``."""

_NAME: Final = re.compile(r"(?<=[a-z,;] )[A-Z][\w'’]+|(?<=[“「《\"])[^”」》\"]+")
_COMMON: Final = frozenset(
    terms(
        "great awesome amazing nice cool glad happy thanks thank wonderful fantastic good sure definitely sounds love "
        "super fun best better hope keep lovely beautiful feel feeling time way lot day make really always something "
        "anything everything know think want need see look looking going go excited agree congrats congratulations "
        "proud sorry bad worry help guess bit let try new maybe absolutely right perfect totally course "
        "谢谢 真的 好的 哈哈 不错 知道 觉得 感觉 东西 现在 开始 应该 需要 确实 一下 有点 比较 非常 当然 "
        "已经 问题 希望 建议"
    )
)


def choose(
    said: Sequence[Utterance],
    pieces: Sequence[Fragment],
    budget: int,
    price_of: Mapping[int, int],
    vectors: Floats | None = None,
) -> list[Fragment]:
    """Return the fragments to keep, in order, whose tokens and speakers' labels fit ``budget``.

    ``price_of`` is what naming the speaker of an utterance costs, paid when the speaker changes.
    ``vectors`` is one row of unit length per fragment, ``(n, dim)``.
    """
    weights = term_weights(said, pieces)
    favour = _favour(said, pieces, vectors)
    covered: set[str] = set()
    kept: list[int] = []

    def judge(number: int) -> tuple[float, int]:
        piece = pieces[number]
        price = piece.tokens + _label_price(said, pieces, kept, piece, price_of)
        return sum(weights[term] for term in sorted(piece.terms - covered)) * favour[number] / price**PRICE, price

    # Worth only falls as more is covered, so a piece that still leads after a new look is the best one.
    queue = [(-judge(number)[0], number) for number in range(len(pieces))]
    heapify(queue)
    while queue:
        _, number = heappop(queue)
        worth, price = judge(number)
        if price > budget or worth <= 0:
            continue
        if queue and -queue[0][0] > worth:
            heappush(queue, (-worth, number))
            continue
        covered |= pieces[number].terms
        insort(kept, number)
        budget -= price
    return [pieces[number] for number in kept]


def term_weights(said: Sequence[Utterance], pieces: Sequence[Fragment]) -> dict[str, float]:
    """Return what each term of the pieces is worth: the logarithm of its frequency, and what kind of word it is."""
    counts = Counter(term for piece in pieces for term in piece.terms)
    names = {term for one in said for name in _NAME.findall(one.text) for term in terms(name)}
    speakers = {term for one in said for term in terms(one.speaker)}
    return {
        term: (1 + math.log(count))
        * (NUMBER if term[0].isdigit() else NAME if term in names else 1.0)
        * (COMMON if term in _COMMON else 1.0)
        * (SPEAKER if term in speakers else 1.0)
        for term, count in counts.items()
    }


def _favour(said: Sequence[Utterance], pieces: Sequence[Fragment], vectors: Floats | None) -> list[float]:
    favour = np.array(
        [(QUESTION if one.asks else 1.0) * (1.0 if said[one.utterance].person else ASSISTANT) for one in pieces]
    )
    if vectors is not None and len(pieces) > 2:
        with unforked:
            nearness = vectors @ vectors.mean(axis=0)
        spread = float(nearness.std())
        if spread > 0:
            favour *= np.clip(1 - DISTINCT * (nearness - nearness.mean()) / spread, 0.5, 1.5)
    return [float(value) for value in favour]


def _label_price(
    said: Sequence[Utterance],
    pieces: Sequence[Fragment],
    kept: Sequence[int],
    piece: Fragment,
    price_of: Mapping[int, int],
) -> int:
    """Return what naming speakers costs more once the piece is put in its place among those kept."""
    place = bisect_left(kept, piece.order)
    speaker = said[piece.utterance].speaker
    before = said[pieces[kept[place - 1]].utterance].speaker if place else None
    after = said[pieces[kept[place]].utterance].speaker if place < len(kept) else None
    if speaker == before:
        return 0
    price = price_of[piece.utterance]
    if after is not None and after == before:
        # It splits a run of the other speaker, who must be named again.
        return price + price_of[pieces[kept[place]].utterance]
    return 0 if speaker == after else price
