"""Time and memory of this process, and fresh processes to measure in."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class Times:
    """Seconds of wall and of this process's CPUs, one entry per use of ``watch``."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @contextmanager
    def watch(self) -> Iterator[None]:
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            yield
        finally:
            self.cpu.append(time.process_time() - cpu)
            self.wall.append(time.perf_counter() - wall)

    def middle(self, unit: float = 1.0) -> dict[str, float]:
        """Return the medians, divided by ``unit``."""
        return {"wall": _median(self.wall) / unit, "cpu": _median(self.cpu) / unit}


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def private_mb() -> float:
    """Return the memory that belongs to this process alone, pages of mapped files left out, in MB."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["RssAnon"].split()[0]) / 1024


def fresh(function: str, *args: object) -> dict[str, Any]:
    """Return what a function of ``fresh.py`` returns in a process of its own."""
    script = Path(__file__).with_name("fresh.py")
    call = [sys.executable, str(script), function, *map(str, args)]
    done = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
