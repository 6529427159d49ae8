"""The words of the pages, a module for each language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..session import Language
from .chinese import CHINESE
from .english import ENGLISH
from .texts import Words

__all__ = ["CHINESE", "ENGLISH", "WORDS", "Words"]

WORDS: Final[Mapping[Language, Words]] = {"en": ENGLISH, "zh": CHINESE}
