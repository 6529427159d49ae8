"""The words around the entries of a context, per language. Any other language: make your own ``Headings``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..text.guard import PREAMBLES


@dataclass(frozen=True, kw_only=True)
class Headings:
    """One language's words.

    ``preamble`` stands at the top; ``profile`` … ``recent`` head the sections; ``user`` and ``assistant`` stand for
    speakers without a name; ``until`` follows a memory that no longer holds, ``{}`` in it is the day; ``chinese``
    chooses how days are written.
    """

    preamble: str
    profile: str
    summary: str
    recalled: str
    recent: str
    user: str
    assistant: str
    until: str
    chinese: bool = False


ENGLISH: Final = Headings(
    preamble=PREAMBLES[0],
    profile="## Profile",
    summary="## Summary",
    recalled="## Earlier conversations",
    recent="## This conversation",
    user="user",
    assistant="assistant",
    until=" (until {})",
)
CHINESE: Final = Headings(
    preamble=PREAMBLES[1],
    profile="## 用户资料",
    summary="## 摘要",
    recalled="## 以往的对话",
    recent="## 当前对话",
    user="用户",
    assistant="助手",
    until="（至{}）",
    chinese=True,
)
