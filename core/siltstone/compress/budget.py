"""How long a summary may be, and counting when no counter was given."""

from __future__ import annotations

import re
from typing import Final

RATIO: Final = 5
"""By default a summary has at most one fifth of its source's tokens: a span shrinks at least fivefold."""

SMALLEST: Final = 24
"""A budget below this many tokens holds no sentence."""

_UNIT: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003134f]|[^\W_]{1,6}|[^\w\s]")


class RoughCounter:
    """Counts tokens without a tokenizer: one per CJK character, per six letters of a word, per punctuation mark.

    It errs on the high side for the usual multilingual vocabularies, so what fits by it fits.
    """

    def count(self, text: str) -> int:
        """Return the estimated number of tokens."""
        return sum(1 for _ in _UNIT.finditer(text))


def summary_budget(source_tokens: int, max_tokens: int | None) -> int:
    """Return how many tokens a summary may have: a fifth of its source, and no more than ``max_tokens``."""
    share = max(source_tokens // RATIO, SMALLEST)
    return share if max_tokens is None else min(share, max_tokens)
