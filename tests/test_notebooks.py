"""The notebooks run from top to bottom, and show what a run prints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(path.name for path in FOLDER.glob("*.ipynb"))


def code_cells(name: str) -> list[dict[str, Any]]:
    """Return the code cells of a notebook, in order."""
    notebook = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_the_quickstart_is_there() -> None:
    """The first notebook is the quickstart."""
    assert NOTEBOOKS[:1] == ["01_quickstart.ipynb"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_all_cells_run(name: str, tmp_path: Path) -> None:
    """All code cells run in order in one process, in an empty folder, with warnings as errors."""
    script = tmp_path / "notebook.py"
    script.write_text("\n\n".join("".join(cell["source"]) for cell in code_cells(name)), encoding="utf-8")

    python = [sys.executable, "-X", "utf8", "-W", "error", script.name]
    ran = subprocess.run(python, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)

    assert ran.returncode == 0, ran.stderr
    assert "Warning" not in ran.stderr, ran.stderr  # one raised in a destructor changes no exit code


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_outputs_are_those_of_one_whole_run(name: str) -> None:
    """Cells are numbered from 1 without gaps, every cell that prints shows it, and none shows an error."""
    cells = code_cells(name)

    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert all(cell["outputs"] for cell in cells if "print(" in "".join(cell["source"]))
    assert not any(output["output_type"] == "error" for cell in cells for output in cell["outputs"])
