"""How many users a store keeps open: those used last, more of them while they are small."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from items import said, space
from siltstone.protocols import Where
from siltstone.stores.folder import FolderStore
from siltstone.stores.users import fits

_opened: list[str] = []


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open":
        _opened.append(str(arguments[0]))


sys.addaudithook(_note)


def test_a_hundred_small_users_in_turn_stay_open(tmp_path: Path) -> None:
    """Who is read again after all the others is not read from the disk again."""
    users = [f"user-{number}" for number in range(100)]
    store = FolderStore(tmp_path, durability="os")
    store.set_fingerprint(space())
    for user in users:
        store.commit(user, [said("m", "I like tea.", user=user)])

    _opened.clear()
    for user in users:
        assert len(list(store.scan(user, Where()))) == 1
    opened = [path for path in _opened if path.startswith(str(tmp_path))]

    assert opened == []


@pytest.mark.parametrize(
    ("files", "users", "rows", "fit"),
    [
        (1_024, 128, 10, True),
        (1_024, 129, 10, False),
        (100_000, 256, 256, True),
        (100_000, 257, 1, False),
        (100_000, 65, 1_009, False),
        (256, 64, 100_000, True),
    ],
)
def test_more_users_are_kept_while_they_are_small(files: int, users: int, rows: int, fit: bool) -> None:
    """64 always; up to 256 with 65,536 rows together, whose files are at most half of those that may be open."""
    assert fits(users, [rows] * users, files) is fit
