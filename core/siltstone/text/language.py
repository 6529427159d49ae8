"""Which script a text is written in, by counting its words: no model, no dictionary."""

from __future__ import annotations

import re
from typing import Final

_SAMPLE: Final = 4_000  # characters are enough to tell a script, whatever the length of the text
_SCRIPTS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("latin", re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]+")),
    ("han", re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")),
    ("kana", re.compile(r"[\u3040-\u30ff\u31f0-\u31ff]")),
    ("hangul", re.compile(r"[\u1100-\u11ff\uac00-\ud7af]")),
    ("cyrillic", re.compile(r"[\u0400-\u052f]+")),
    ("greek", re.compile(r"[\u0370-\u03ff]+")),
    ("arabic", re.compile(r"[\u0600-\u06ff\u0750-\u077f]+")),
    ("hebrew", re.compile(r"[\u0590-\u05ff]+")),
    ("devanagari", re.compile(r"[\u0900-\u097f]+")),
    ("thai", re.compile(r"[\u0e00-\u0e7f]")),
)
_CHARACTERS_PER_WORD: Final = {"han": 1.5, "kana": 2.0, "hangul": 3.0, "thai": 4.0}


def script(text: str) -> str:
    """Return the dominant script: ``latin``, ``han``, ``kana``, ``hangul``, ``cyrillic`` …, or ``none``.

    Japanese is ``kana`` even where Han characters prevail, as Chinese never has kana.
    """
    sample = text[:_SAMPLE]
    if sample.isascii():  # the usual case
        return "latin" if any(map(str.isalpha, sample)) else "none"
    words = {name: len(pattern.findall(sample)) / _CHARACTERS_PER_WORD.get(name, 1.0) for name, pattern in _SCRIPTS}
    if words["kana"] * 5 > words["han"]:
        words["kana"] += words.pop("han")
    best = max(words, key=lambda name: words[name])
    return best if words[best] else "none"


def is_chinese(text: str) -> bool:
    """Return whether the text is mainly Chinese: headings, dates and labels are then Chinese too."""
    return script(text) == "han"
