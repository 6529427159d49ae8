"""A worker process of the tests: takes part in what is due at a store, and notes each span that it digests."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence

from siltstone import Digest, Message, Settings, TieredMemory
from siltstone.compress.extractive import ExtractiveSummarizer
from siltstone.testing import HashEmbedder, WordCounter

SETTINGS = Settings(
    worker=True, worker_pause=0.0, span_turns=4, span_idle=float("inf"), session_idle=float("inf"), lease=2.0
)


class Noting:
    """A summarizer that takes a moment, and appends whose span it has digested to a file."""

    name = "noting"

    def __init__(self, file: str, seconds: float) -> None:
        self._note = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._seconds = seconds

    def summarize(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Digest:
        """Note who does it, and which session it is."""
        os.write(self._note, f"{os.getpid()} {messages[0].session_id}\n".encode())
        time.sleep(self._seconds)
        return ExtractiveSummarizer().summarize(messages, max_tokens=max_tokens)


def main(location: str, file: str, seconds: str) -> None:
    """Work until killed."""
    with TieredMemory.open(
        location,
        embedder=HashEmbedder(),
        token_counter=WordCounter(),
        summarizer=Noting(file, float(seconds)),
        settings=SETTINGS,
    ):
        print("open", flush=True)
        time.sleep(600)


if __name__ == "__main__":
    sys.path[:0] = sys.argv[4:]
    main(*sys.argv[1:4])
