"""The turns before and after each candidate in a store on SQL, whichever way they are found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from items import asked, known, said
from siltstone.protocols import SESSION_TOP
from siltstone.stores.sql.sqlite import SqliteDatabase
from siltstone.stores.sql.store import SqlStore


def test_neighbours_are_the_same_read_in_order_or_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading short sessions in order finds what looking up each row finds: with ties, gaps, facts and new versions."""
    store = SqlStore(SqliteDatabase(tmp_path / "file", "sqlite:///file"))
    for n in range(60):
        text = "a cat" if n % 7 == 0 else "another thing"
        store.commit("u", [said(str(n), text, minute=n // 12, session=f"s{n % 4}")])
    store.commit("u", [known("f", "a cat of a fact"), said("7", "a cat again", minute=2, session="s3", version=2)])
    store.commit("v", [said(f"v{n}", "a cat", minute=n, session="s0", user="v") for n in range(5)])
    store.remove("u", ["12", "13", "29"])
    in_order = store.candidates("u", asked("cat"))
    monkeypatch.setattr("siltstone.stores.sql.candidates._PROBES", 0)
    looked_up = store.candidates("u", asked("cat"))
    assert len(in_order.keys) > 20
    for column in ("keys", "previous", "following", "session", "eligible"):
        np.testing.assert_array_equal(getattr(in_order, column), getattr(looked_up, column))
    sizes = [np.minimum(found.session_sizes, SESSION_TOP) for found in (in_order, looked_up)]  # type: ignore[type-var]
    np.testing.assert_array_equal(*sizes)
    assert (in_order.previous >= 0).any()
    assert in_order.links == looked_up.links
