"""Adding: the cost per message as a store grows, and against a bare writer in the same batches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from clock import Times
from data import BYTES, DIM, SESSION, Known, Memories, Session
from limits import JsonLines

from siltstone import TieredMemory

STEPS: Final = (1_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000)
BATCH: Final = 100
AT_ONCE: Final = 50
"""Sessions that are made up before the clock runs."""
BLOCKS: Final = {1: (200, 5), 10: (1_000, 5), 100: (4_000, 5), 1_000: (8_000, 5)}
"""Messages of a block and number of blocks, by batch; ours and the bare writer take turns."""


def build(folder: Path, count: int, halves: Path, *, user: str = "default") -> tuple[dict[str, Any], list[str]]:
    """Fill a user's store with ``count`` messages in batches of ``BATCH``; return figures and the messages' ids.

    The vectors go to ``halves`` as well, for the bare index.
    """
    memories, embedder, ids = Memories(), Known(), []
    curve: list[dict[str, float]] = []
    times, begun = Times(), 0
    with TieredMemory.open(folder, user_id=user, embedder=embedder) as memory, halves.open("wb") as file:
        for first in range(0, count // SESSION, AT_ONCE):
            sessions = list(memories.sessions(first, min(first + AT_ONCE, count // SESSION)))
            embedder.learn(sessions)
            with times.watch():
                for session in sessions:
                    ids += _add(memory, session, BATCH)
            for session in sessions:
                file.write(session.vectors.astype(np.float16).tobytes())
            if len(ids) in STEPS or len(ids) == count:
                new = len(ids) - begun
                curve.append(
                    {"up_to": len(ids), "cpu_us": sum(times.cpu) / new * 1e6, "us": sum(times.wall) / new * 1e6}
                )
                times, begun = Times(), len(ids)
                print(curve[-1], flush=True)
        memory.flush()
    with TieredMemory.open(folder, user_id=user, embedder=embedder) as memory:
        size = memory.stats().bytes
    limit = 1.25 * (BYTES + 2 * DIM)
    return {
        "cost_per_add": curve,
        "bytes_per_record": {
            "documents_and_vectors": (size["documents"] + size["vectors"]) / count,
            "limit": limit,
            "cache": size["cache"] / count,
            "cache_limit": 300,
        },
    }, ids


def _add(memory: TieredMemory, session: Session, batch: int) -> list[str]:
    ids: list[str] = []
    for n in range(0, len(session.messages), batch):
        ids += memory.add(session.messages[n : n + batch], session_id=session.id)
    return ids


def against_bare(folder: Path, *, after: int = 10_000) -> dict[str, Any]:
    """Return adds per second by batch, ours and a bare writer's, into a store of ``after`` messages."""
    memories, embedder = Memories(), Known()
    found: dict[str, Any] = {}
    bare = {"text": JsonLines(folder / "bare", halves=False), "and vectors": JsonLines(folder / "both", halves=True)}
    with TieredMemory.open(folder / "store", embedder=embedder) as memory:
        for session in memories.sessions(0, after // SESSION):
            embedder.learn([session])
            _add(memory, session, SESSION)
        number = after // SESSION
        for batch, (size, blocks) in BLOCKS.items():
            ours, limits = Times(), {name: Times() for name in bare}
            for _ in range(blocks):
                session = memories.session(number, size)
                number += size // SESSION
                embedder.learn([session])
                with ours.watch():
                    _add(memory, session, batch)
                for name, writer in bare.items():
                    with limits[name].watch():
                        _write(writer, session, batch)
            found[str(batch)] = _rates(ours, limits, size)
            print(batch, found[str(batch)], flush=True)
    return found


def _write(writer: JsonLines, session: Session, batch: int) -> None:
    for n in range(0, len(session.messages), batch):
        some: Sequence[Any] = session.messages[n : n + batch]
        writer.add(some, session.vectors[n : n + batch], session.id)


def _rates(ours: Times, limits: dict[str, Times], size: int) -> dict[str, Any]:
    mine = ours.middle(size)
    rates: dict[str, Any] = {"per_second": 1 / mine["wall"], "cpu_us": mine["cpu"] * 1e6}
    for name, times in limits.items():
        middle = times.middle(size)
        rates[f"bare {name}"] = {
            "per_second": 1 / middle["wall"],
            "cpu_us": middle["cpu"] * 1e6,
            "ratio": middle["wall"] / mine["wall"],
        }
    return rates
