"""The pages about moving to siltstone: a user who follows one from top to bottom arrives."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "docs" / "migrating"
PAGES = sorted(page.name for page in FOLDER.glob("*.md") if page.name != "README.md")
NEEDS = {"llama_index": "llama_index.core", "langchain": "langchain.agents", "langgraph": "langgraph.store.base"}
ELSEWHERE = "mem0"
"""The package whose blocks run in another environment; what they write, a test writes in their place."""
EXPORTED = {"id": "7", "memory": "Mia loves whales.", "created_at": "2026-05-01T09:00:00-07:00", "metadata": None}


def blocks(page: str) -> list[str]:
    """Return a page's Python blocks, in order."""
    return re.findall(r"^```python\n(.*?)^```$", (FOLDER / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def imported(block: str, package: str) -> bool:
    """Return whether a block imports a package."""
    return re.search(rf"^\s*(?:from|import) {package}\b", block, re.MULTILINE) is not None


def test_the_overview_names_every_page() -> None:
    """Each page has a line in the table."""
    assert set(re.findall(r"\((\w+\.md)\)", (FOLDER / "README.md").read_text(encoding="utf-8"))) == set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_can_be_followed(page: str, tmp_path: Path) -> None:
    """All its blocks run one after the other in one folder, each in a process of its own; the last finds what came."""
    for package, module in NEEDS.items():
        if any(imported(block, package) for block in blocks(page)):
            pytest.importorskip(module)
    (tmp_path / "mem0-alice.json").write_text(json.dumps([EXPORTED]), encoding="utf-8")

    for number, block in enumerate(blocks(page)):
        if imported(block, ELSEWHERE):
            continue
        script = tmp_path / f"block_{number}.py"
        script.write_text(block, encoding="utf-8")
        python = [sys.executable, "-W", "error", script.name]
        ran = subprocess.run(python, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, f"{block}\n{ran.stderr}"


def test_a_move_from_mem0_can_be_repeated(tmp_path: Path) -> None:
    """Taken over twice, a memory of mem0 is there once, under mem0's id and with its date."""
    (tmp_path / "mem0-alice.json").write_text(json.dumps([EXPORTED]), encoding="utf-8")
    take_over = next(block for block in blocks("mem0.md") if "ConflictError" in block)
    look = (
        "from siltstone import TieredMemory\n"
        "with TieredMemory.open('./memory', user_id='alice') as memory:\n"
        "    print([(one.id, one.occurred_at.day) for one in memory.records(kinds='fact')])\n"
    )
    for code in (take_over, take_over, look):
        ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[('mem0:7', 1)]"
