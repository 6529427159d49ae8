"""A shell for tests of the command line: commands run in this process, on a store of their own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from siltstone.cli import main

STRICT = ("-W", "error", "-W", "ignore:builtin type:DeprecationWarning")
"""Python's options for a process in which warnings are errors, but for one: faiss-cpu 1.11 crashes where it is one."""


@dataclass(frozen=True)
class Ran:
    """How a command ended: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The JSON document on stdout."""
        return json.loads(self.out)

    @property
    def told(self) -> str:
        """What stands on stderr, out of the frame that breaks its lines where the terminal ends."""
        return " ".join(self.err.replace("│", " ").split())


class Shell:
    """Runs commands in this process, on a store of its own, as a shell with two variables set would."""

    def __init__(self, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.store = store
        self._capsys = capsys

    def __call__(self, *args: str) -> Ran:
        """Run one command and return how it ended."""
        with pytest.raises(SystemExit) as ended:
            main(args)
        printed = self._capsys.readouterr()
        return Ran(int(ended.value.code or 0), printed.out, printed.err)
