"""Asking a model that the user brought: whatever it raises or returns, it fails for itself alone.

What comes back is a digest that can be stored, or an error that the steps of a consolidation know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import TypeVar

from ..errors import BackendUnavailableError, ModelError
from ..protocols import Summarizer
from ..records import Digest, DigestItem, Message
from ..text.wellformed import well_formed

_Answer = TypeVar("_Answer")


def digest_of(summarizer: Summarizer, messages: Sequence[Message], *, max_tokens: int | None) -> Digest:
    """Return what the summarizer makes of messages. Raises ``ModelError`` or ``BackendUnavailableError``, no other."""
    digest = answered(lambda: summarizer.summarize(messages, max_tokens=max_tokens))
    flaw = next(_flaws(digest), None)
    if flaw is not None:
        raise ModelError(f"the summarizer returned {flaw}: nothing was taken in, and it is tried again")
    return digest


def answered(ask: Callable[[], _Answer]) -> _Answer:
    """Return the answer to a request. Raises ``ModelError`` or ``BackendUnavailableError``, whatever went wrong."""
    try:
        return ask()
    except (ModelError, BackendUnavailableError):
        raise
    except Exception as exc:  # a user's code: any error of it is a failure of this request
        told = well_formed(str(exc))
        raise ModelError(f"{type(exc).__name__}: {told}").quoting(told) from exc


def _flaws(digest: object) -> Iterator[str]:
    """Yield what cannot be stored of what should be a digest."""
    if not isinstance(digest, Digest):
        yield f"a {type(digest).__name__} instead of a Digest"
        return
    for name in ("topic", "summary", "made_by", "error", "raw"):
        if not _is_text(getattr(digest, name)):
            yield f"a {name} that is no text"
    for name in ("facts", "preferences", "events"):
        items = getattr(digest, name)
        if not isinstance(items, (list, tuple)) or not all(isinstance(item, DigestItem) for item in items):
            yield f"{name} that are no DigestItems"
        elif not all(map(_is_whole, items)):
            yield f"{name} with a part that cannot be stored"


def _is_whole(item: DigestItem) -> bool:
    time = item.occurred_at
    named = all(part is None or _is_text(part) for part in (item.subject, item.attribute))
    timed = time is None or (isinstance(time, datetime) and time.tzinfo is not None)
    return _is_text(item.text) and named and timed and isinstance(item.source_ids, (list, tuple))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and well_formed(value) == value
