"""``KEYS/DESTROYED``: the keys that went with their users, each a line, whatever a kill or damage leaves of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from siltstone.stores.encryption import destroyed


def ids(*numbers: int) -> set[str]:
    """Return ids of keys."""
    return {f"{number:032x}" for number in numbers}


def test_what_is_noted_is_told_once(tmp_path: Path) -> None:
    """Keys are named as they were noted; one that is there already takes no other line."""
    assert destroyed.destroyed(str(tmp_path)) == set()
    destroyed.add(str(tmp_path), ids(1, 2))
    destroyed.add(str(tmp_path), ids(2, 3))
    destroyed.add(str(tmp_path), ids(1))
    assert destroyed.destroyed(str(tmp_path)) == ids(1, 2, 3)
    assert len((tmp_path / "DESTROYED").read_bytes().splitlines()) == 3
    assert (tmp_path / "DESTROYED").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("left", [1, 17, 30, -1])
def test_a_line_that_was_never_finished_makes_room(tmp_path: Path, left: int) -> None:
    """What a killed process left of a line is covered by the next one, and nothing of it is seen as damage."""
    destroyed.add(str(tmp_path), ids(1))
    file = tmp_path / "DESTROYED"
    line = file.read_bytes()
    file.write_bytes(line + line[:left])
    assert destroyed.destroyed(str(tmp_path)) == ids(1)
    destroyed.add(str(tmp_path), ids(2))
    assert destroyed.destroyed(str(tmp_path)) == ids(1, 2)
    assert destroyed.damage(str(tmp_path)) == []


@pytest.mark.parametrize("at", [0, 20, -1])
def test_a_damaged_line_names_nobody(tmp_path: Path, at: int) -> None:
    """A changed byte takes its own line away and no other one, is told, and further lines go on behind it."""
    destroyed.add(str(tmp_path), ids(1))
    file = tmp_path / "DESTROYED"
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)
    destroyed.add(str(tmp_path), ids(2))
    assert destroyed.destroyed(str(tmp_path)) == ids(2)
    assert len(destroyed.damage(str(tmp_path))) == 1
