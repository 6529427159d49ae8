"""How near items are in meaning to the nearest sentence of their sources, on a scale that models share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ..protocols import Embedder, Floats, Progress
from ..text.sentences import sentences

BACKGROUND: Final = (
    "The train was late again this morning.", "I bought bread and milk on the way home.",
    "He plays the piano every evening.", "The meeting has been moved to another room.",
    "It rained all weekend.", "She is reading a book about birds.", "The phone needs a new battery.",
    "They painted the kitchen yellow.",
    "今天早上地铁又晚点了。", "我回家路上买了面包和牛奶。", "他每天晚上弹钢琴。", "会议改到另一个房间了。",
    "周末一直在下雨。", "她在看一本关于鸟的书。", "手机该换电池了。", "他们把厨房刷成了黄色。",
)  # fmt: skip
"""Sentences about nothing in particular: as near as an item is to these, it is to anything."""


def nearness(
    items: Sequence[tuple[str, Sequence[str]]], embedder: Embedder, *, batch: int = 32, progress: Progress | None = None
) -> list[float | None]:
    """Return for each item, a text with the texts of its sources, how near it is to their nearest sentence.

    1 is the same, 0 no nearer than to what it has nothing to do with: the cosine, less the item's largest one with
    ``BACKGROUND``, on the scale from that to 1. So thresholds hold for models whose cosines begin at 0.8 as well as for
    those that begin at 0. ``None`` for an item without sources. Each text is embedded once, ``batch`` at a time;
    ``progress(done, total)`` counts them.
    """
    parts = [tuple(dict.fromkeys(one for text in texts for one in (*sentences(text), text))) for _, texts in items]
    texts = list(dict.fromkeys([*BACKGROUND, *(text for text, _ in items), *(one for part in parts for one in part)]))
    place = {text: number for number, text in enumerate(texts)}
    made: list[Floats] = []
    for start in range(0, len(texts), batch):
        made.append(embedder.embed_documents(texts[start : start + batch]))
        if progress is not None:
            progress(min(start + batch, len(texts)), len(texts))
    rows: Floats = np.concatenate(made)
    background = rows[: len(BACKGROUND)]
    found: list[float | None] = []
    for (text, _), part in zip(items, parts, strict=True):
        own = rows[place[text]]
        floor = float((background @ own).max())
        best = max((float(rows[place[one]] @ own) for one in part), default=None)
        found.append(None if best is None else min(max((best - floor) / max(1 - floor, 1e-6), 0.0), 1.0))
    return found
