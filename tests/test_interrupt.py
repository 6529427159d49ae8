"""Ctrl-C in a process of its own: exit code 130, a sound store, and a sentence that says how to go on."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from scripted_server import Answer, Asked, ScriptedServer
from siltstone import TieredMemory, upkeep
from siltstone.cli import app
from siltstone.cli.interrupted import _NEXT
from siltstone.testing import HashEmbedder

NOTES = 1_200
SCRIPT = re.search(r'^siltstone = "(.+)"$', (Path(__file__).parent.parent / "pyproject.toml").read_text(), re.M)[1]


def slow(asked: Asked) -> Answer:
    """Answer as a server of embeddings that takes its time."""
    rows = HashEmbedder().embed_documents(asked.body["input"])
    return Answer({"data": [{"index": i, "embedding": row.tolist()} for i, row in enumerate(rows)]}, delay=0.05)


def started(*arguments: str) -> subprocess.Popen[str]:
    """Start a command of its own process, which hears Ctrl-C although these tests may run in the background."""

    def hear() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    command = [sys.executable, "-m", "siltstone", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hear)


def interrupted(process: subprocess.Popen[str], when: Callable[[], bool]) -> str:
    """Press Ctrl-C once it is time to; return what was said on stderr."""
    while not when():
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 130, told
    assert "Traceback" not in told
    return told


def written(store: Path) -> int:
    """Return how many bytes of documents a store has."""
    return sum(path.stat().st_size for path in store.glob("users/*/*/docs.*"))


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    """The file of a memory with many notes."""
    with TieredMemory.open(":memory:", embedder=HashEmbedder()) as memory:
        for number in range(NOTES):
            memory.remember(f"Note {number} of many.")
        memory.export_to(tmp_path / "notes.jsonl")
    return tmp_path / "notes.jsonl"


def test_an_import_goes_on_where_it_was_interrupted(exported: Path, tmp_path: Path) -> None:
    """What was imported is stored, the store is sound, and a second run brings the rest, once."""
    store = tmp_path / "memory"
    with ScriptedServer(slow) as server:
        command = ("import", str(exported), "--store", str(store), "--embedder", f"openai:hash@{server.url}")
        told = interrupted(started(*command), lambda: written(store) > 10_000)
        assert "run the same command again" in told
        found = upkeep.verify(store)
        assert 0 < found.documents < NOTES or found.pending_vectors > 0
        assert all(finding.severity == "cosmetic" for finding in found.findings)
        again = started(*command, "--json")
        out, told = again.communicate(timeout=120)
    assert again.returncode == 0, told
    assert json.loads(out)["files"][0]["report"]["failed"] == 0
    report = upkeep.verify(store)
    assert (report.documents, report.pending_vectors, report.is_sound) == (NOTES, 0, True)


def test_a_reembedding_goes_on_where_it_was_interrupted(exported: Path, tmp_path: Path) -> None:
    """No text is touched; a second run makes the vectors that are missing."""
    store = tmp_path / "memory"
    with TieredMemory.open(store, embedder=HashEmbedder(64)) as memory:
        memory.import_from(exported)
        memory.flush()
    with ScriptedServer(slow) as server:
        command = ("reembed", "--store", str(store), "--embedder", f"openai:hash@{server.url}", "--json")
        told = interrupted(started(*command), lambda: len(server.asked) > 5)
        assert "goes on where it was" in told
        again = started(*command)
        out, told = again.communicate(timeout=120)
    assert again.returncode == 0, told
    assert 0 < json.loads(out)["vectors"] < NOTES
    assert upkeep.verify(store).is_sound


def test_what_only_looks_has_nothing_to_go_on_with(tmp_path: Path) -> None:
    """A command that changes nothing says so."""
    store = tmp_path / "memory"
    with TieredMemory.open(store, embedder=HashEmbedder()) as memory:
        memory.remember("Likes tea.")
    with ScriptedServer([Answer("", delay=60.0)]) as server:
        command = ("--set", "embed_wait=60", "search", "tea", "--store", str(store))
        told = interrupted(started(*command, "--embedder", f"openai:hash@{server.url}"), lambda: len(server.asked) > 0)
    assert "the store is sound: nothing was changed." in told


LOADING = """
import os, signal, sys
from importlib.abc import MetaPathFinder
class Pressed(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1_000):
                pass
sys.meta_path.insert(0, Pressed())
signal.signal(signal.SIGINT, signal.{handler})
sys.argv = ["siltstone", "--version"]
{door}
"""
DOORS = {
    "python -m": "import runpy; runpy.run_module('siltstone', run_name='__main__', alter_sys=True)",
    "the script": (
        f"from importlib.metadata import EntryPoint\nEntryPoint('siltstone', {SCRIPT!r}, 'console_scripts').load()()"
    ),
}


@pytest.mark.parametrize("door", DOORS)
def test_one_that_is_still_loading_ends_with_one_line(door: str) -> None:
    """Pressed while Python imports, Ctrl-C shows no traceback, however the command was started."""
    code = LOADING.format(handler="default_int_handler", door=DOORS[door])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.splitlines() == ["siltstone: interrupted; nothing was begun."]


def test_one_that_is_to_ignore_it_does_so_while_it_loads() -> None:
    """A process that was started to ignore Ctrl-C, as by nohup, goes on."""
    code = LOADING.format(handler="SIG_IGN", door=DOORS["python -m"])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_sentences_are_of_commands_that_exist() -> None:
    """No sentence is left behind by a command that has another name."""
    assert _NEXT.keys() <= {str(command.name) for command in app.registered_commands}
