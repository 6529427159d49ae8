"""How long a summary may be, and counting when no counter was given."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from ..protocols import TokenCounter

RATIO: Final = 5
"""A digest has at most one fifth of its source's tokens, and of its characters: a span shrinks at least fivefold."""

SHARE: Final = 0.195
"""The share that is aimed at: the end of a session is a short span, whose summary takes ``SMALLEST`` all the same."""

LONG: Final = 2000
"""Characters from which on a source shrinks fivefold whatever is stated: its summary may then be a few words."""

SMALLEST: Final = 20
"""A budget below this many tokens holds no sentence."""

_UNIT: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003134f]|[^\W_]{1,6}|[^\w\s]")


class RoughCounter:
    """Counts tokens without a tokenizer: one per CJK character, per six letters of a word, per punctuation mark.

    It errs on the high side for the usual multilingual vocabularies, so what fits by it fits.
    """

    def count(self, text: str) -> int:
        """Return the estimated number of tokens."""
        return len(_UNIT.findall(text))


def summary_budget(source_tokens: int, max_tokens: int | None) -> int:
    """Return how many tokens a summary may have: a fifth of its source, and no more than ``max_tokens``."""
    share = max(source_tokens // RATIO, SMALLEST)
    return share if max_tokens is None else min(share, max_tokens)


@dataclass(frozen=True)
class Room:
    """What a summary may cost beside statements, in tokens; where characters are scarcer, they count instead.

    Together they have at most a fifth of their source. Of a source of less than ``LONG`` characters, a summary of
    ``SMALLEST`` tokens has its room whatever the statements take.
    """

    counter: TokenCounter
    tokens: int
    characters: int

    def count(self, text: str) -> int:
        """Return what a text costs."""
        if not self.characters:
            return self.tokens + 1 if text else 0
        return max(self.counter.count(text), ceil(len(text) * self.tokens / self.characters))


def room_beside(
    statements: Sequence[str], source: Sequence[str], counter: TokenCounter, max_tokens: int | None
) -> Room:
    """Return the room that is left for a summary, of at most ``max_tokens``."""
    tokens = sum(map(counter.count, source))
    characters = sum(map(len, source))
    per_token = max(characters / tokens, 1.0) if tokens else 1.0
    budget = int(tokens * SHARE) - sum(map(counter.count, statements))
    room = int(characters * SHARE) - sum(map(len, statements))
    if characters < LONG:
        budget, room = max(budget, SMALLEST), max(room, ceil(SMALLEST * per_token))
    budget, room = max(budget, 0), max(room, 0)
    return Room(counter, budget if max_tokens is None else min(budget, max_tokens), room)
