"""Reading a running session backwards, as far as its window reaches."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from ..protocols import Store, TokenCounter, Where
from ..records import Message
from .restart import current, is_restart, kept_ids
from .turns import Turns
from .working import OVERHEAD, enough

_LEAST: Final = 32  # messages in the first page
_GROWTH: Final = 4  # each page is so many times the one before: all of them cost a third more than the last


def recent(
    store: Store,
    turns: Turns,
    user_id: str,
    session_id: str,
    *,
    max_tokens: int,
    counter: TokenCounter,
    now: datetime,
) -> list[Message]:
    """Return the newest messages of a session that its window may hold, oldest first, without expired turns.

    They reach back to where ``working.fit`` can use no more, at least to a user's message, however long the answer
    is; the message that opened the session comes first if it is the system's. O(messages returned).
    """
    limit = max(max_tokens // (4 * OVERHEAD), _LEAST)
    while True:
        page = turns.page(user_id, session_id, limit, now)
        held = turns.live(user_id, current(page), now)
        restarted = kept_ids(page)
        complete = restarted is not None and restarted <= {message.id for message in page}
        if len(page) < limit or complete or enough(held, max_tokens, counter):
            break
        limit *= _GROWTH
    if not page or restarted is not None:
        return held
    return [*_opening(store, user_id, session_id, page[0]), *held]


def _opening(store: Store, user_id: str, session_id: str, oldest: Message) -> list[Message]:
    """Return the system message that a session began with, unless it is the oldest one read."""
    records = store.scan(user_id, Where(kinds=("turn",), session_id=session_id))
    first = next((record.source_ids[0] for record in records), None)
    before = [] if first is None else store.messages(user_id, session_id, before=first)
    opening = [message for message in before[:1] if message.role == "system" and not is_restart(message)]
    return [] if oldest.id in {message.id for message in before} else opening
