"""Lets each system call of a store's life fail in each way, and collects what came of it."""

from __future__ import annotations

import errno
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .inject import Mode, build
from .worker import Outcome

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
    """The call of a number, counted from 0, fails in a way."""

    number: int
    error: int
    mode: Mode

    @property
    def way(self) -> str:
        """How it fails, in words."""
        return f"{errno.errorcode[self.error]} {self.mode}" if self.error else self.mode

    def __str__(self) -> str:
        """Say it in words."""
        return f"call {self.number} {self.way}"


def every(calls: Sequence[str]) -> list[Fault]:
    """Return each call failing in each way; only reads and writes can do half of their work."""
    return [Fault(n, *way) for n, call in enumerate(calls) for way in WAYS if way[0] or call in _BY_HALVES]


def sample(calls: Sequence[str], count: int, rng: random.Random) -> list[Fault]:
    """Return ``count`` faults or more: each kind of call in each way, and others at random."""
    faults = every(calls)
    rng.shuffle(faults)
    first = {(calls[fault.number], fault.way): fault for fault in faults}
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

    def calls(self) -> list[str]:
        """Return the names of the calls that an undisturbed life makes on the files of the store."""
        ((_, outcome),) = self.through([Fault(1 << 40, 0, "once")])
        assert not outcome.broken, outcome.broken
        return outcome.calls

    def through(self, faults: Sequence[Fault]) -> Iterator[tuple[Fault, Outcome]]:
        """Live once with each fault, and yield what came of it."""
        for first in range(0, len(faults), len(self._workers)):
            some = faults[first : first + len(self._workers)]
            for worker, fault in zip(self._workers, some, strict=False):
                assert worker.stdin is not None
                worker.stdin.write(json.dumps([fault.number, fault.error, fault.mode]) + "\n")
                worker.stdin.flush()
            for worker, fault in zip(self._workers, some, strict=False):
                assert worker.stdout is not None
                yield fault, Outcome(**json.loads(worker.stdout.readline()))

    def end(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.communicate()
