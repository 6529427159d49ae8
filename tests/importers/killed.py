"""An import that dies in the middle: before a step on the disk, counted from 1, or after the last one.

``python killed.py STORE SOURCE STEP``: ``STEP`` 0 lives, and prints how many steps there were.
"""

from __future__ import annotations

import os
import signal
import sys

from siltstone import TieredMemory
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter
from siltstone.transfer import importing

steps = 0


def main(store: str, source: str, last: int) -> None:
    """Import, and die before the step."""

    def hook(event: str, args: tuple[object, ...]) -> None:
        global steps
        if event == "siltstone.disk" and str(args[0]).startswith("before"):
            steps += 1
            if steps == last:
                os.kill(os.getpid(), signal.SIGKILL)

    importing.BATCH = 5  # type: ignore[misc]  # small exports, and many commits all the same
    sys.addaudithook(hook)
    clock = FrozenClock()
    with TieredMemory.open(store, embedder=HashEmbedder(16), token_counter=WordCounter(), clock=clock) as memory:
        report = memory.import_from(source, vectors=f"{store}.vectors", failures=f"{store}.failed.jsonl")
        print(report.added, report.failed, steps)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
