"""The words around the entries of a context in English and Chinese; ``Settings.headings`` replaces them."""

from __future__ import annotations

from typing import Final

from ..settings import Headings
from ..text.guard import PREAMBLES

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
