"""The crash harness of ``tests/crash``, in the size of a test: ``python tests/crash/run.py`` kills more often."""

from __future__ import annotations

from pathlib import Path

import pytest

from crash.check import Broken, check
from crash.harness import Harness
from crash.journal import Journal
from crash.steps import NAMED
from crash.writer import Writer


@pytest.mark.slow
@pytest.mark.timeout(1_800)  # some 220 kills; a busy machine takes many minutes
def test_a_kill_at_any_step_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """Killed before and after every named step and at random, with others at work: all that was promised is there."""
    pytest.importorskip("cryptography", reason="encrypted stores are killed, too")
    tally = Harness(tmp_path, crowded=0.2).run(50)
    assert tally.broken == []
    assert {moment for _, moment in tally.named} == {(when, step) for when in ("before", "after") for step in NAMED}
    assert tally.kills >= 50


def written(folder: Path) -> Writer:
    """Return a writer that has added, changed and forgotten."""
    writer = Writer(folder / "store", folder / "v", "v")
    writer.add("u", 9)
    writer.update("u", ["v-2"])
    writer.forget("u", ["v-4"])
    return writer


def test_the_check_sees_a_lost_write(tmp_path: Path) -> None:
    """A harness that cannot fail proves nothing: one line cut off the documents, and the check says so."""
    written(tmp_path).close()
    check(tmp_path / "store", [tmp_path / "v"])
    (log,) = tmp_path.glob("store/users/*/u-*/docs.*.jsonl")
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(line for line in lines if b'"v-2"' not in line))
    with pytest.raises(Broken, match="v-2"):
        check(tmp_path / "store", [tmp_path / "v"])


def test_the_check_sees_forgotten_words(tmp_path: Path) -> None:
    """A file that still holds a forgotten word is named."""
    writer = written(tmp_path)
    writer.close()
    ((text, _),) = (version for version in writer.journal.state.gone)
    (tmp_path / "store" / "left").write_text(text)
    with pytest.raises(Broken, match="left holds forgotten words"):
        check(tmp_path / "store", [tmp_path / "v"])


def test_the_check_sees_what_was_never_written(tmp_path: Path) -> None:
    """An acknowledged operation that did not happen is missed."""
    writer = written(tmp_path)
    with Journal(tmp_path / "v").doing(user="u", put={"v-99": [("never", None)]}):
        pass
    writer.close()
    with pytest.raises(Broken, match="v-99"):
        check(tmp_path / "store", [tmp_path / "v"])
