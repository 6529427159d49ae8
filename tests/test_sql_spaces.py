"""What a process keeps of the distribution of users' vectors in a database."""

from __future__ import annotations

import dataclasses
from contextlib import closing
from pathlib import Path

import pytest

from items import asked, said, space
from siltstone.stores import spaces
from siltstone.stores.sql.sqlite import SqliteDatabase
from siltstone.stores.sql.store import SqlStore


def test_of_many_users_few_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory does not grow with all who ever searched; who was let go is measured again, with the same result."""
    monkeypatch.setattr(spaces, "MANY", 2)
    with closing(SqlStore(SqliteDatabase(tmp_path / "store.db", "sqlite:///store.db"))) as store:
        store.set_fingerprint(space())
        users = [f"u{n}" for n in range(4)]
        for user in users:
            store.commit(user, [said(str(n), f"a cat {n}", minute=n, seed=n, user=user) for n in range(60)])
        query = dataclasses.replace(asked("cat", seed=3), whiten=True)
        found = [store.candidates(user, query).dense.tolist() for user in users]
        assert list(store._spaces._known) == ["u2", "u3"]
        assert [store.candidates(user, query).dense.tolist() for user in users] == found
