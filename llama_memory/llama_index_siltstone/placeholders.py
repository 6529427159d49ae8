"""ContextChatEngine takes the chat history for a template: what a user wrote must not be filled in there."""

from __future__ import annotations

import re
from typing import Final

_PLACEHOLDERS: Final = re.compile(r"\{(query_str|context_str|context_msg|existing_answer)\}")
"""What LlamaIndex's chat engines fill in."""


def neutralised(text: str) -> str:
    """Return the text with LlamaIndex's placeholders spaced out, so that a template leaves them alone."""
    return _PLACEHOLDERS.sub(r"{ \1 }", text) if "{" in text else text
