"""How a process ends while a model is at work."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
from siltstone import Settings, TieredMemory

memory = TieredMemory.open(":memory:", settings=Settings(embed_wait=0.0, close_wait=0.0))
for session in ("one", "two", "three"):
    memory.add([("user", "a sentence of some length " * 8)] * 40, session_id=session)
{end}
"""


@pytest.mark.parametrize("end", ["memory.close()", "pass"], ids=["closed", "not closed"])
def test_a_process_ends_cleanly_while_vectors_are_made(end: str) -> None:
    """Vectors still under way at the end of a program do not abort it, whether the memory was closed or not."""
    for _ in range(2):
        ran = subprocess.run(
            [sys.executable, "-c", CODE.format(end=end)], capture_output=True, encoding="utf-8", check=False
        )
        assert (ran.returncode, ran.stderr) == (0, "")
