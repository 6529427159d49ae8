"""What the README says of the service can be typed as it stands."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

pytest.importorskip("fastapi")

from shell import STRICT, Shell
from siltstone import TieredMemory

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
(PART,) = re.findall(r"^## Run it as a service\n(.*?)^## ", README, re.DOTALL | re.MULTILINE)
START, CURL, TOKENS = re.findall(r"^```sh\n(.*?)^```$", PART, re.DOTALL | re.MULTILINE)
PYTHON, VERBS = re.findall(r"^```py\n(.*?)^```$", PART, re.DOTALL | re.MULTILINE)
ADDRESS = "http://127.0.0.1:8000"


def test_the_calls_from_a_shell_and_from_python_work(client: httpx.Client, memory: TieredMemory) -> None:
    """The calls by curl, by httpx and by the verbs, written as in the README but for the port."""
    here = str(client.base_url).rstrip("/")

    curl = subprocess.run(
        ["bash", "-ec", CURL.replace(ADDRESS, here)], capture_output=True, text=True, check=True, encoding="utf-8"
    )
    python, verbs = (
        subprocess.run(
            [sys.executable, *STRICT, "-c", block.replace(ADDRESS, here)],
            capture_output=True,
            text=True,
            check=True,
        )
        for block in (PYTHON, VERBS)
    )

    assert '"status":"ok"' in curl.stdout
    assert "我喜欢用 Python 写自动化脚本。" in curl.stdout
    assert "Lisbon" in python.stdout
    assert "Shenzhen" in verbs.stdout
    assert len(memory.messages("session_002")) == 2
    assert len(memory.for_user("alice").messages("session_003")) == 2


def test_the_commands_that_make_tokens_work(sh: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens are made as the README says; the service is started with options that exist."""
    monkeypatch.chdir(tmp_path)
    commands = [shlex.split(line)[1:] for line in (START + TOKENS).splitlines() if line.startswith("siltstone ")]
    served = [command for command in commands if command[0] == "serve"]

    for command in commands:
        if command[0] == "token":
            assert sh(*command).code == 0
    assert len(served) == 2
    for command in served:
        assert "Traceback" not in sh(*command, "--port", "99999").err
        assert sh(*command, "--port", "99999").code == 2  # all but the port is understood
