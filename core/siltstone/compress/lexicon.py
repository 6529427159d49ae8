"""How word lists and patterns are written down in this room."""

from __future__ import annotations

import re


def words_of(*lines: str) -> frozenset[str]:
    """Return the words of some lines, as a set."""
    return frozenset(word for line in lines for word in line.split())


def pattern(*parts: str) -> re.Pattern[str]:
    """Compile a pattern from its parts. Case is ignored, except where it asks for a capital by ``(?-i:[A-Z])``."""
    return re.compile("".join(parts), re.IGNORECASE)
