"""Starting a session's working memory afresh, without forgetting anything.

Pure. A restart is a message of the session itself (system, without text), so it is as durable as the rest and every
process sees it. It names the messages that stay in the window; what else was said before is recalled, not shown.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..records import RESTART, Message, is_restart

__all__ = ["RESTART", "current", "is_restart", "kept_ids", "restart"]


def restart(keep: Sequence[str] = ()) -> Message:
    """Return the message that empties the working memory of the session it is added to, but for ``keep``."""
    return Message("system", "", metadata={RESTART: list(keep)})


def current(messages: Sequence[Message]) -> list[Message]:
    """Return what the session's working memory holds: what the last restart kept, and what was said since.

    Ids that are not among ``messages`` (forgotten since, or before the first one given) are passed over.
    """
    last = next((n for n in range(len(messages) - 1, -1, -1) if is_restart(messages[n])), None)
    if last is None:
        return list(messages)
    marker = messages[last].metadata or {}
    earlier = {message.id: message for message in messages[:last]}
    kept = [earlier[id] for id in marker[RESTART] if id in earlier]
    return [*kept, *messages[last + 1 :]]


def kept_ids(messages: Sequence[Message]) -> set[str] | None:
    """Return the ids that the last restart among the messages keeps; ``None`` without a restart."""
    marker = next((message for message in reversed(messages) if is_restart(message)), None)
    return None if marker is None else set((marker.metadata or {})[RESTART])
