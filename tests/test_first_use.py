"""What the first calls of a process load: nothing that takes its time and that they have no use for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FIRST = """
import sys
from siltstone import TieredMemory

with TieredMemory.open(sys.argv[1]) as memory:
    memory.add([("user", "I live in Lisbon."), ("assistant", "How lovely!")], session_id="monday")
    memory.search("Where do I live?")
    memory.search("Where do I live now?")
    memory.context("Where do I live?", session_id="tuesday", max_tokens=200)
    memory.stats()
    print(*sorted({"numpy.ma", "rjieba"} & set(sys.modules)))
    memory.forget(ids=memory.remember("The code of the locker is 4711."))
with TieredMemory.open(sys.argv[1]) as memory:
    memory.search("Where do I live?")
print(*sorted({"numpy.ma", "rjieba"} & set(sys.modules)))
"""


def test_a_first_search_loads_neither_masked_arrays_nor_the_chinese_dictionary(tmp_path: Path) -> None:
    """Both take longer to load than a search does; a dictionary is of use once there is something Chinese."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST, str(tmp_path / "m")], check=True, stdout=subprocess.PIPE, text=True
    )
    assert done.stdout == "\n\n"


COUNTING = """
import sys
from siltstone import TieredMemory
from siltstone.testing import HashEmbedder

with TieredMemory.open(sys.argv[1], embedder=HashEmbedder()) as memory:
    memory.add([("user", "I live in Lisbon.")], session_id="monday")
    memory.search("Where do I live?")
    print("siltstone.models.e5" in sys.modules)
    print(memory.token_counter.count("I live in Lisbon."))
"""


def test_the_embedded_model_is_loaded_for_its_tokens_once_they_are_counted(tmp_path: Path) -> None:
    """A store that is opened with another embedder, and never asked for a context, has no use for it."""
    done = subprocess.run(
        [sys.executable, "-c", COUNTING, str(tmp_path / "m")], check=True, stdout=subprocess.PIPE, text=True
    )
    assert done.stdout.split() == ["False", "5"]
