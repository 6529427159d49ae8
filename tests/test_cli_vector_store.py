"""A vector store of one's own on the command line: a function that returns it is named by a flag or a variable."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

import pytest

from shell import Shell

ENGINE = textwrap.dedent(
    """
    from siltstone.stores.vectorstore.engine import Held

    class Engine:
        name, serial = "Ours", False

        def __init__(self):
            self.rows, self.asked = {}, 0

        def add(self, user, names, ids, vectors):
            self.rows |= {name: (user, Held(name, id, row, 1)) for name, id, row in zip(names, ids, vectors)}

        def query(self, user, vector, count):
            self.asked += 1
            there = [held for whose, held in self.rows.values() if whose == user]
            return sorted(there, key=lambda held: -float(held.vector @ vector))[:count]

        def fetch(self, names):
            return {name: self.rows[name][1].vector for name in names if name in self.rows}

        def listed(self, user):
            return {name: held.sent for name, (whose, held) in self.rows.items() if whose == user}

        def delete(self, names):
            for name in names:
                self.rows.pop(name, None)

    engine, thing = Engine(), 5

    def make():
        return engine

    def fails():
        raise RuntimeError("no server")
    """
)


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module with an engine that outlives commands, and functions."""
    (tmp_path / "our_vectors.py").write_text(ENGINE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "our_vectors", raising=False)
    return "our_vectors"


def test_commands_keep_vectors_where_the_function_says(sh: Shell, ours: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is added lies there, is found by its vector, and goes with ``forget``; the doctor opens it, too."""
    named = ("--vector-store", f"{ours}:make")
    assert sh(*named, "remember", "Alice prefers short answers.", "--kind", "profile").code == 0
    engine = sys.modules[ours].engine
    assert len(engine.rows) == 1
    assert sh("search", "short answers").code == 1  # a store and its vectors belong together
    monkeypatch.setenv("SILTSTONE_VECTOR_STORE", f"{ours}:make")
    before = engine.asked
    assert "short answers" in sh("search", "Which answers does she like?").out
    assert engine.asked > before
    checks = {check["name"]: check for check in sh("doctor", "--quick", "--json").json["checks"]}
    assert checks["store"]["state"] == "ok"
    assert sh("forget", "--everything", "--yes").code == 0
    assert not engine.rows


def test_vectors_move_there_and_back(sh: Shell, ours: str) -> None:
    """``reembed`` moves them out of the store, and without a name into it again."""
    named = ("--vector-store", f"{ours}:make")
    sh("remember", "Alice prefers short answers.")
    assert sh(*named, "reembed").out == "made 1 vectors\n"
    assert len(sys.modules[ours].engine.rows) == 1
    assert sh(*named, "search", "short answers").code == 0
    assert sh("reembed").code == 0
    assert sh("search", "short answers").code == 0


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("nothing", "names a function as MODULE:FUNCTION"),
        ("nowhere:make", "no module 'nowhere'"),
        ("our_vectors:absent", "our_vectors has no function 'absent'"),
        ("our_vectors:thing", "our_vectors has no function 'thing'"),
        ("our_vectors:fails", "RuntimeError: no server"),
        ("os:getcwd", "str is no vector store"),
    ],
)
def test_what_is_no_such_function_is_refused(sh: Shell, ours: str, named: str, told: str) -> None:
    """One sentence says what is wrong with the name, and nothing is made."""
    ran = sh("--vector-store", named, "add", "I keep bees.")
    assert ran.code == 1
    assert told in ran.err
    assert "nothing was opened" in ran.err


def test_a_file_of_settings_names_no_code(sh: Shell, ours: str, tmp_path: Path) -> None:
    """A line for it in ``siltstone.toml`` is refused: a folder is not to choose what is run in it."""
    (tmp_path / "siltstone.toml").write_text(f'vector_store = "{ours}:make"\n')
    ran = sh("--config", str(tmp_path / "siltstone.toml"), "stats")
    assert ran.code == 1
    assert "'vector_store' is no setting" in ran.err
    assert ours not in sys.modules
