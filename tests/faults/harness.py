"""Lets each system call of a store's life fail in each way, and collects what came of it."""

from __future__ import annotations

import errno
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Final, TypeAlias

from .inject import Mode, build
from .worker import UNDISTURBED, Outcome

WAYS: Final[tuple[tuple[int, Mode], ...]] = (
    (errno.ENOSPC, "once"),
    (errno.EIO, "once"),
    (errno.EINTR, "once"),
    (errno.ENOSPC, "from then on"),
    (errno.EIO, "from then on"),
    (0, "half"),
)
"""How a call fails: with which error, and whether the later ones fail too; or it does half of its work."""
_BY_HALVES: Final = ("read", "pread", "write", "pwrite")


@dataclass(frozen=True)
class Fault:
    """The call of a number, counted from 0 in a chapter, fails in a way."""

    chapter: int
    number: int
    error: int
    mode: Mode

    @property
    def way(self) -> str:
        """How it fails, in words."""
        return f"{errno.errorcode[self.error]} {self.mode}" if self.error else self.mode

    def __str__(self) -> str:
        """Say it in words."""
        return f"call {self.number} of chapter {self.chapter}, {self.way}"


Calls: TypeAlias = Sequence[Sequence[str]]
"""The names of the system calls of each chapter, in order."""


def every(calls: Calls) -> list[Fault]:
    """Return each call failing in each way; only reads and writes can do half of their work."""
    return [
        Fault(chapter, n, *way)
        for chapter, names in enumerate(calls)
        for n, call in enumerate(names)
        for way in WAYS
        if way[0] or call in _BY_HALVES
    ]


def sample(calls: Calls, count: int, rng: random.Random) -> list[Fault]:
    """Return ``count`` faults or more: each kind of call in each way, and others at random."""
    faults = every(calls)
    rng.shuffle(faults)
    first = {(calls[fault.chapter][fault.number], fault.way): fault for fault in faults}
    return [*first.values(), *faults[: max(0, count - len(first))]]


class Lives:
    """Processes beneath which the library lies, each living through one fault after the other."""

    def __init__(self, folder: Path, *, jobs: int = 1, encrypted: bool = False) -> None:
        paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
        env = {**os.environ, "LD_PRELOAD": str(build(folder)), "PYTHONPATH": paths}
        self._workers = [
            subprocess.Popen(
                [sys.executable, "-m", "faults.worker", str(folder), *(["encrypted"] if encrypted else [])],
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(jobs)
        ]
        self._chapters = min(int(self._answer(worker)) for worker in self._workers)

    def calls(self) -> list[list[str]]:
        """Return the names of the calls that each chapter of an undisturbed life makes on the files of the store."""
        chapters = [outcome for _, outcome in self.through([Fault(n, *UNDISTURBED) for n in range(self._chapters)])]
        assert not any(outcome.broken for outcome in chapters), chapters
        return [outcome.calls for outcome in chapters]

    def through(self, faults: Sequence[Fault]) -> Iterator[tuple[Fault, Outcome]]:
        """Live once with each fault, and yield what came of it, in order; no worker waits for another."""
        free: SimpleQueue[subprocess.Popen[str]] = SimpleQueue()
        for worker in self._workers:
            free.put(worker)

        def lived(fault: Fault) -> Outcome:
            worker = free.get()
            try:
                assert worker.stdin is not None
                worker.stdin.write(json.dumps([fault.chapter, fault.number, fault.error, fault.mode]) + "\n")
                worker.stdin.flush()
                return Outcome(**json.loads(self._answer(worker)))
            finally:
                free.put(worker)

        with ThreadPoolExecutor(len(self._workers)) as pool:
            yield from zip(faults, pool.map(lived, faults), strict=True)

    def _answer(self, worker: subprocess.Popen[str]) -> str:
        assert worker.stdout is not None
        return worker.stdout.readline()

    def end(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.communicate()
