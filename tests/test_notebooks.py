"""The notebooks run from top to bottom, and keep what a run prints."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(path.name for path in FOLDER.glob("*.ipynb"))
NEEDS = {"02_": "llama_index.core", "03_": "langchain.agents", "04_": "matplotlib"}
RUN = """
import ast, asyncio, sys

with open(sys.argv[1], encoding="utf-8") as file:  # as a notebook does, await where no function is
    code = compile(file.read(), sys.argv[1], "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
if (rest := eval(code, {"__name__": "__main__"})) is not None:
    asyncio.run(rest)
"""
IGNORED = ("is_running called from within a step", "The `", "Accessing the '")
"""Warnings of LlamaIndex's agents about LlamaIndex's own workflows and models."""


def code_cells(name: str) -> list[dict[str, Any]]:
    """Return the code cells of a notebook, in order."""
    notebook = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_the_notebooks_are_there() -> None:
    """A quickstart, an agent of each framework, and a look inside."""
    assert [name[:2] for name in NOTEBOOKS] == ["01", "02", "03", "04"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_all_cells_run(name: str, tmp_path: Path) -> None:
    """In order, in one process and an empty folder, with warnings as errors; whether they print what the notebook keeps
    is not compared, since a near tie of scores is another order on another processor.

    To keep what a run of today prints: pip install nbclient ipykernel, and
    jupyter execute --inplace --NotebookClient.record_timing=False --NotebookClient.coalesce_streams=True notebooks/*
    """
    if name[:3] in NEEDS:
        pytest.importorskip(NEEDS[name[:3]])
    script = tmp_path / "notebook.py"
    script.write_text("\n\n".join("".join(cell["source"]) for cell in code_cells(name)), encoding="utf-8")

    ignored = [part for words in IGNORED for part in ("-W", f"ignore:{words}:DeprecationWarning")]
    python = [sys.executable, "-X", "utf8", "-W", "error", *ignored, "-c", RUN, script.name]
    environment = {**os.environ, "MPLBACKEND": "agg"}
    ran = subprocess.run(python, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", check=False)

    assert ran.returncode == 0, ran.stderr
    assert "Warning" not in ran.stderr, ran.stderr  # one raised in a destructor changes no exit code


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_line_to_change_for_a_hosted_model_is_named(name: str) -> None:
    """The text says that it runs offline and what the line becomes; exactly one line of code is marked as it."""
    notebook = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    told = " ".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    (line,) = (
        line
        for cell in code_cells(name)
        for line in cell["source"]
        if "# the line to change for a hosted model" in line
    )

    assert "Everything below runs offline" in told
    assert re.search(rf"For a hosted model change one line\*\*[^`]*`{line.split(' = ')[0]} = ", told)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_the_outputs_are_those_of_one_whole_run(name: str) -> None:
    """Cells are numbered from 1 without gaps, every cell that prints shows it, and none shows an error."""
    cells = code_cells(name)

    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert all(cell["outputs"] for cell in cells if "print(" in "".join(cell["source"]))
    assert not any(output["output_type"] == "error" for cell in cells for output in cell["outputs"])
    pictures = [output for cell in cells for output in cell["outputs"] if "image/png" in output.get("data", {})]
    assert len(pictures) == sum("plt.close" in "".join(cell["source"]) for cell in cells)
