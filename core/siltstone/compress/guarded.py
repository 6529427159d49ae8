"""A summarizer that sees nothing sensitive, or only spans that hold nothing of the kind; the one of this process, too.

What is made of messages is told further than they are: in any context, and to whoever digests it again. So it holds
nothing sensitive, unless ``on_sensitive="local"`` has the whole text stay here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ..models.guarded import Guard, is_local, is_sensitive, redacted
from ..protocols import Summarizer
from ..records import Digest, Message
from .wrapped import WrappedSummarizer

REDACTED: Final = "redacted"
"""Flag of what was made of redacted messages."""
LOCAL: Final = "local"
"""Flag of what the extractive summarizer made because a message was to stay here."""


def guarded_summarizer(summarizer: Summarizer, guard: Guard, extractive: Summarizer) -> Summarizer:
    """Return a summarizer that sees nothing sensitive; the same one without rules, or where it may see all of it."""
    may_see_all = guard.keeps and is_local(summarizer)
    return summarizer if may_see_all or not guard.rules else GuardedSummarizer(summarizer, guard, extractive)


class GuardedSummarizer(WrappedSummarizer):
    """A summarizer that is given redacted messages, or whose place the extractive one takes.

    Messages are redacted one by one, before any request is made of them: no cut can go through what is hidden.
    """

    def __init__(self, inner: Summarizer, guard: Guard, extractive: Summarizer) -> None:
        super().__init__(inner)
        self._guard = guard
        self._extractive = extractive

    def summarize(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Digest:
        """Return the digest of the messages, flagged ``redacted`` or ``local`` where that is what became of them."""
        guard = self._guard
        if not any(is_sensitive(message, guard.rules) for message in messages):
            return self._inner.summarize(messages, max_tokens=max_tokens)
        if guard.keeps:
            guard.note(LOCAL)
            return _flagged(self._extractive.summarize(messages, max_tokens=max_tokens), LOCAL)
        seen = [redacted(message, guard) for message in messages]
        return _flagged(self._inner.summarize(seen, max_tokens=max_tokens), REDACTED)


def _flagged(digest: Digest, flag: str) -> Digest:
    """Return a digest with a flag; what is none is left to whoever checks it."""
    return replace(digest, flags=(*digest.flags, flag)) if isinstance(digest, Digest) else digest
