"""Words by which a statement says that something has changed, or that an earlier one was wrong. Pure."""

from __future__ import annotations

import re
from typing import Final

_CORRECTS: Final = re.compile(
    r"\b(?:i meant|i mean|correction|scratch that|let me correct|to be precise|i misspoke|i was wrong|my mistake|"
    r"sorry,? (?:it'?s|it is|that'?s|i)|(?:oh )?wait,?|actually)\b|\bnot [\w' ]{1,30}$|,\s*not\b|"
    r"不对|记错|说错|搞错|更正|纠正|应该是|其实是|不是[^，。]{1,12}(?:，|,)?(?:而)?是",
    re.IGNORECASE,
)
_CHANGES: Final = re.compile(
    r"\b(?:now|nowadays|these days|currently|any ?more|no longer|moved|relocated|switched|changed|new|just|recently|"
    r"from now on|instead|back (?:to|in)|finally|turned|left|quit|started|became|joined)\b|"
    r"现在|如今|目前|最近|不再|改成|改为|改用|改叫|换成|换到|换了|搬到|搬去|搬家|跳槽|刚|新|以后|从此|已经",
    re.IGNORECASE,
)


def corrects(text: str) -> bool:
    """Return whether a statement says that an earlier one was wrong."""
    return _CORRECTS.search(text) is not None


def changes(text: str) -> bool:
    """Return whether a statement says that something is no longer as it was."""
    return _CHANGES.search(text) is not None
