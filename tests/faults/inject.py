"""Builds the library that lets system calls fail, and speaks to it."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Final, Literal, TypeAlias

Mode: TypeAlias = Literal["once", "from then on", "half"]
"""The call alone fails, all later ones too, or the call reads or writes half of what it was to."""

_MODES: Final[tuple[Mode, ...]] = ("once", "from then on", "half")


def build(folder: Path) -> Path:
    """Compile the library into a folder; needs a C compiler, and Linux."""
    built = folder / "inject.so"
    source = Path(__file__).with_name("inject.c")
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler, "the fault injection needs a C compiler: apt-get install gcc libc6-dev"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", str(source), "-o", str(built), "-ldl"], check=True)
    return built


class Injector:
    """The library as it is loaded beneath this process."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)  # what LD_PRELOAD brought in
        self._library.faults_arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int]
        self._library.faults_disarm.restype = ctypes.c_long
        self._library.faults_hit.restype = ctypes.c_char_p
        self._library.faults_call.argtypes = [ctypes.c_long]
        self._library.faults_call.restype = ctypes.c_char_p

    def arm(self, folder: Path, number: int, error: int, mode: Mode) -> None:
        """Let the call of a number, counted from 0, on files below ``folder`` fail with an ``errno``."""
        self._library.faults_arm(str(folder).encode(), number, error, _MODES.index(mode))

    def disarm(self) -> list[str]:
        """Let all calls work again; return the names of those that came meanwhile."""
        return [self._library.faults_call(n).decode() for n in range(self._library.faults_disarm())]

    @property
    def hit(self) -> str:
        """The name of the call that failed first, or nothing."""
        return str(self._library.faults_hit().decode())
