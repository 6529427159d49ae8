"""A store's process as the one who drives it sees it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any


class GoneError(Exception):
    """The process ended, or said nothing for too long."""


class Process:
    """A child that holds one store. ``ask`` sends a command and waits for its answer, ``timeout`` seconds."""

    def __init__(self, python: str, name: str, place: Path) -> None:
        self._errors = (place / "errors.txt").open("ab")
        self.child = subprocess.Popen(
            [python, str(Path(__file__).with_name("child.py")), name, str(place)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=os.environ | ENVIRONMENT,
        )
        self._rest = b""

    def ask(self, do: str, *, timeout: float = 600, **arguments: Any) -> dict[str, Any]:
        self.send(do, **arguments)
        return self.hear(timeout)

    def send(self, do: str, **arguments: Any) -> None:
        assert self.child.stdin is not None
        try:
            self.child.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
            self.child.stdin.flush()
        except BrokenPipeError as exc:
            raise GoneError(f"ended with {self.child.wait()}") from exc

    def hear(self, timeout: float) -> dict[str, Any]:
        assert self.child.stdout is not None
        while b"\n" not in self._rest:
            if not select.select([self.child.stdout], [], [], timeout)[0]:
                self.kill()
                raise GoneError(f"no answer in {timeout:.0f} s")
            if not (some := os.read(self.child.stdout.fileno(), 1 << 20)):
                raise GoneError(f"ended with {self.child.wait()}")
            self._rest += some
        line, _, self._rest = self._rest.partition(b"\n")
        told: dict[str, Any] = json.loads(line)
        return told.pop("answer", {}) | told

    def kill(self) -> None:
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout):
            assert pipe is not None
            with suppress(BrokenPipeError):  # what was not sent is not missed
                pipe.close()
        self._errors.close()


ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",  # two cores for all: threads of one store would take the others' time
    "TOKENIZERS_PARALLELISM": "false",
    "ANONYMIZED_TELEMETRY": "False",
    "MEM0_TELEMETRY": "False",
    "LANGCHAIN_TRACING_V2": "false",
    "HF_HUB_OFFLINE": "1",
    "PYTHONWARNINGS": "ignore",
}
