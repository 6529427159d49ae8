"""Longer Chinese words as terms of their own, where the extra ``chinese`` is installed: rjieba, a dictionary in Rust.

Characters and pairs find nearly all that words find: on MADial, MemoryBank and our own conversations the words change
nothing that is beyond chance. They tell 五月天 (a band) from 五月的天气 where many memories have such parts in common.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, Final

from ..forks import unforked

logger = logging.getLogger("siltstone")

DICTIONARY: Final = f"rjieba {version('rjieba')}" if find_spec("rjieba") else None
"""What words come from, or ``None``. An index made with another one is made anew, so that all terms agree."""
_SHORTEST: Final = 3
_LONGEST: Final = 8
"""Shorter words are pairs, which are terms already; longer ones are slips of the dictionary."""


def longer_words(run: str) -> Iterator[str]:
    """Yield the words of three characters and more in a run of Chinese, by the dictionary alone, guessing none."""
    if DICTIONARY is not None and len(run) >= _SHORTEST:
        yield from (word for word in _dictionary().cut(run, hmm=False) if _SHORTEST <= len(word) <= _LONGEST)


@lru_cache(1)
def _dictionary() -> Any:
    with unforked:
        import rjieba

    logger.info("Chinese words are search terms beside characters and pairs (%s)", DICTIONARY)
    return rjieba
