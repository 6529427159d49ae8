"""Recalled text is data: it is fenced, cannot leave its fence, and is recognised when it comes back."""

from __future__ import annotations

import re
from typing import Final

OPEN: Final = "<siltstone_memory>"
CLOSE: Final = "</siltstone_memory>"
"""The fence around everything that siltstone injects; also the marker by which it is known again."""

_LT, _GT = r"(?:<|＜|&lt;|\\u003c)", r"(?:>|＞|&gt;|\\u003e)"  # as written, full-width, and escaped by HTML or JSON
_FENCE: Final = re.compile(rf"{_LT}(\s*/?\s*)(siltstone)_(memory)(\s*){_GT}", re.IGNORECASE)
_MARKED: Final = re.compile("siltstone_memory", re.IGNORECASE)  # looked for first: twenty times faster
_CONTROL: Final = re.compile(r"<\|(?=[\w /]+\|>)")  # <|im_start|>, <|endoftext|> … of chat templates
_PLACEHOLDERS: Final = re.compile(
    r"\{(query_str|context_str|context_msg|context|existing_answer|chat_history|history|question|input|schema"
    r"|agent_scratchpad|tool_desc|tool_names|messages|memory)\}"
)


def neutral(text: str) -> str:
    """Return a recalled text that a prompt template, a chat template or the fence takes for plain words."""
    if "{" in text:
        text = _PLACEHOLDERS.sub(r"{ \1 }", text)
    if "<|" in text:
        text = _CONTROL.sub("< |", text)
    return _FENCE.sub(r"(\1\2 \3\4)", text) if _MARKED.search(text) else text


def fence(text: str) -> str:
    """Return the text inside the fence. Its entries must be ``neutral`` already."""
    return f"{OPEN}\n{text}\n{CLOSE}"


def is_injected(text: str) -> bool:
    """Return whether some of the text was injected by siltstone, whatever stands around it."""
    return _MARKED.search(text) is not None and _FENCE.search(text) is not None


def without_injected(text: str) -> str:
    """Return the text without what siltstone injected; a fence that lost one end reaches to that end of the text."""
    kept, depth, start = [], 0, 0
    for match in _FENCE.finditer(text):
        if "/" not in match.group(1):
            if depth == 0:
                kept.append(text[start : match.start()])
            depth += 1
        elif depth:
            depth -= 1
        else:  # its opening was cut off
            kept.clear()
        start = match.end()
    if depth == 0:
        kept.append(text[start:])
    parts = [part for piece in kept if (part := piece.strip())]
    return "\n\n".join(parts) if len(parts) > 1 or start else text
