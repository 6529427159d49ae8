"""A dialogue written down as text: lines that begin with who speaks. Pure."""

from __future__ import annotations

import re
from typing import Final

_ROLES: Final = {"用户": "user", "用戶": "user", "user": "user", "助手": "assistant", "assistant": "assistant"}
_LINE: Final = re.compile(rf"^[ \t]*(?P<who>{'|'.join(_ROLES)})[ \t]*[:：][ \t]*", re.IGNORECASE | re.MULTILINE)


def turns(text: str) -> list[tuple[str, str]]:
    """Return the turns of a dialogue as ``(role, content)``, in order, without empty ones.

    A turn begins with a line such as ``User:`` or ``用户：`` and goes on to the next one. What stands before the first
    is the user's, and so is all of a text without such lines.
    """
    marks = list(_LINE.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    before = text[: marks[0].start()] if marks else text
    said = [(_ROLES[mark["who"].lower()], text[mark.end() : end]) for mark, end in zip(marks, ends, strict=False)]
    found = [("user", before), *said]
    return [(role, content.strip()) for role, content in found if content.strip()]
