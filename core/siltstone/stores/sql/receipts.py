"""By what a user's transactions are known again whose commits got no answer.

A connection that breaks leaves open whether a commit went through. Each writer, a thread, tags its transactions, and
the tags of those that were committed stand beside the user's counts, on every copy of the database, so that a promoted
standby can tell, too; the number of a transaction could not, which a promoted standby gives anew. A writer does nothing
else before it knows what became of its last commit, so that of each writer the newest tag is enough.
"""

from __future__ import annotations

import os
import secrets
import threading
from typing import Final

KEPT: Final = 32
"""So many of the newest tags are kept, and behind them the newest of so many other writers."""


class Tags(threading.local):
    """The tags of one writer: each thread has its own."""

    def __init__(self) -> None:
        self._process, self._writer, self._count = os.getpid(), secrets.token_hex(4), 0

    def next(self) -> str:
        """Return a tag that no other transaction has."""
        if self._process != os.getpid():  # forked
            self.__init__()  # type: ignore[misc]
        self._count += 1
        return f"{self._writer}.{self._count:x}"


def noted(receipts: str, tag: str) -> str:
    """Return the receipts of a user after one more transaction; newest first."""
    newest, *older = [tag, *receipts.split()][: 2 * KEPT + 1]
    kept, writers = [newest], {_writer(newest)}
    for one in older:
        if len(kept) < KEPT or (_writer(one) not in writers and len(kept) < 2 * KEPT):
            kept.append(one)
        writers.add(_writer(one))
    return " ".join(kept)


def went_through(receipts: str, tag: str) -> bool | None:
    """Return whether the last transaction of a writer was committed; ``None`` where nobody can tell any more.

    That is where more than ``KEPT`` other writers have followed.
    """
    tags = receipts.split()
    writers = {_writer(one) for one in tags}
    if tag in tags:
        return True
    return False if _writer(tag) in writers or len(writers) <= KEPT else None


def _writer(tag: str) -> str:
    return tag.partition(".")[0]
