"""The README tells the truth: its code runs, its commands exist."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from siltstone import TieredMemory
from siltstone.cli import app

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
SHELL = "\n".join(re.findall(r"^```(?:sh|bash|shell)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE))
EXTRAS = ("langchain", "langchain_core", "langgraph", "llama_index", "sentence_transformers", "onnxruntime")
VARIABLES = ("CUDA_VISIBLE_DEVICES", "OPENAI_API_KEY")


def test_the_readme_opens_with_the_demonstration_and_the_tests() -> None:
    """The first two commands run the demonstration and all tests."""
    first, second = re.findall(r"^```(?:sh|bash|shell)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)[:2]

    assert "siltstone demo" in first
    assert "pytest" in second


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_code_blocks_run(number: int, tmp_path: Path) -> None:
    """Each Python block runs on its own, in an empty folder, with warnings as errors."""
    block = BLOCKS[number]
    for extra in EXTRAS:
        if re.search(rf"^\s*(?:from|import) {extra}\b", block, re.MULTILINE) and not _installed(extra):
            pytest.skip(f"this block needs {extra}, which is not installed")
    if "key=key" in block and not _installed("cryptography"):
        pytest.skip("this block needs cryptography, which is not installed")
    script = tmp_path / f"readme_{number}.py"
    script.write_text(block, encoding="utf-8")

    python = [sys.executable, "-W", "error", script.name]
    ran = subprocess.run(python, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert ran.returncode == 0, f"{block}\n{ran.stderr}"
    assert "Warning" not in ran.stderr, f"{block}\n{ran.stderr}"  # one raised in a destructor changes no exit code


def test_the_readme_has_no_placeholder_left() -> None:
    """A word such as ``NUMBER_A`` waits for its value: only names of environment variables look like that."""
    shouted = set(re.findall(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b", README))

    assert {word for word in shouted if word not in VARIABLES and not word.startswith("SILTSTONE_")} == set()


def test_the_readme_names_the_commands_that_exist() -> None:
    """Every ``siltstone COMMAND`` of the shell blocks is one, and every command has a place in the README."""
    commands = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    commands |= {str(group.name) for group in app.registered_groups}

    assert set(re.findall(r"^.*\bsiltstone ([a-z]+)\b", SHELL, re.MULTILINE)) <= commands
    assert {command for command in commands if f"`{command}`" not in README} == set()


def test_what_keeps_it_safe_can_be_typed_as_it_stands(tmp_path: Path) -> None:
    """The commands of "Keep it safe" run one after the other on a store that has what they name."""
    (block,) = re.findall(r"^## Keep it safe\n\n```sh\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    with TieredMemory.open(tmp_path / "work" / "memory", user_id="alice") as memory:
        memory.add([("user", "I'm Alice, a front-end engineer in Shenzhen.")], session_id="monday")
        memory.add([("user", "I play the cello.")], session_id="tuesday")
    command = f'siltstone() {{ "{sys.executable}" -m siltstone "$@"; }}\nset -e\n{block}'

    ran = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path / "work",
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )

    assert ran.returncode == 0, ran.stderr
    with TieredMemory.open(tmp_path / "work" / "memory", user_id="alice") as memory:
        assert [info.session_id for info in memory.sessions()] == ["tuesday"]


def test_the_figures_of_scale_are_those_that_were_measured() -> None:
    """Opening, searching, memory and bytes of each size are those of the committed results, but for rounding."""
    rows = re.findall(
        r"^\| ([\d,]+) \| ([\d.]+) s \| ([\d.]+) ms \| ([\d,]+) MB \| ([\d,]+) bytes \|$", README, re.MULTILINE
    )
    assert [row[0] for row in rows] == ["10,000", "100,000", "1,000,000"]
    for row, name in zip(rows, ("10k", "100k", "1m"), strict=True):
        found = json.loads(
            (Path(__file__).parent.parent / f"benchmarks/results/one-user-{name}.json").read_text("utf-8")
        )
        size = found["bytes_per_record"]
        measured = (
            found["open"]["open_s"],
            found["search"]["search_ms"]["wall"],
            found["open"]["private_mb"],
            size["documents_and_vectors"] + size["cache"],
        )
        told = tuple(float(figure.replace(",", "")) for figure in row[1:])
        assert told == pytest.approx(measured, rel=0.05)


def _installed(package: str) -> bool:
    """Return whether a package is there; a folder of tests that bears its name is not it."""
    spec = importlib.util.find_spec(package)
    places = [] if spec is None else list(spec.submodule_search_locations or [spec.origin or ""])
    return any(Path(place).parent != Path(__file__).parent for place in places)
