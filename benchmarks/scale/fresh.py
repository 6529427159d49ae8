"""What is measured in a process of its own: opening a store, and what it costs in memory."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from clock import Times, private_mb
from data import Known, Memories

from siltstone import TieredMemory


def _settled(folder: str, user: str) -> TieredMemory:
    memory = TieredMemory.open(folder, user_id=user, embedder=Known())
    memory.sessions()
    return memory


def opening(folder: str, user: str, sessions: str) -> dict[str, float]:
    """Open a user's memory, up to the first answer; the libraries and code are warm from a small store before."""
    memories = Memories()
    with tempfile.TemporaryDirectory() as small:
        embedder = Known()
        with TieredMemory.open(Path(small) / "store", embedder=embedder) as memory:
            memory.add(memories.session(0).messages, session_id="warm")
            memory.search("warm")
        _settled(str(Path(small) / "store"), "default").close()
    base = private_mb()
    times = Times()
    with times.watch():
        memory = _settled(folder, user)
    opened = private_mb()
    text, vector = memories.question(1, int(sessions))
    embedder = Known()
    embedder.add(text, vector)
    first = Times()
    with first.watch():
        memory.search(text)
    for seed in range(50):
        memory.search(memories.question(seed, int(sessions))[0])
    return {
        "open_s": times.wall[0],
        "open_cpu_s": times.cpu[0],
        "first_search_s": first.wall[0],
        "private_mb": opened - base,
        "private_after_searches_mb": private_mb() - base,
        "libraries_mb": base,
    }


if __name__ == "__main__":
    print(json.dumps({"opening": opening}[sys.argv[1]](*sys.argv[2:])))
