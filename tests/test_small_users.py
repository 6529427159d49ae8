"""Users of few records on SQL engines, kept in memory: as fresh as the database, and gone when they are gone."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from items import asked, known, said, space, vector
from memory_places import empty_location
from plain_and_encrypted import KEY
from siltstone.opening import open_store
from siltstone.protocols import SESSION_TOP, Candidates, Query, Refusal
from siltstone.records import HIDDEN_KINDS
from siltstone.stores.ram import RamStore
from siltstone.stores.sql.small import Outgrown, SmallUser
from siltstone.stores.sql.sqlite import SqliteDatabase, SqliteTransaction
from siltstone.stores.sql.store import SqlStore

CANARY = "heliotrope"


@pytest.fixture(params=["sqlite", "sqlite-encrypted", "postgres", "postgres-encrypted"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, bytes | None]:
    """Where an empty store of each engine is, and its key."""
    url = empty_location(request.param.removesuffix("-encrypted"), request, tmp_path)
    if not request.param.endswith("encrypted"):
        return url, None
    pytest.importorskip("cryptography")
    return f"{url}{'&' if '?' in url else '?'}keys={tmp_path / 'keys'}", KEY


@pytest.fixture
def stores(location: tuple[str, bytes | None]) -> Iterator[tuple[Any, Any]]:
    """Two openings of one store, as two processes have them."""
    opened = [
        open_store(
            location[0], durability="os", lock_timeout=5, history=20, key=location[1], read_only=False, create=True
        ).store
        for _ in range(2)
    ]
    opened[0].set_fingerprint(space())
    yield opened[0], opened[1]
    for store in opened:
        store.close()


def texts(store: Any, query: Query | None = None) -> list[str]:
    """Return the texts that a search may find, in order of writing."""
    found = store.candidates("u", asked("cat") if query is None else query)
    records = store.resolve("u", found.keys[np.flatnonzero(found.eligible)].tolist())
    return [record.text for record in records if record is not None]


def kept(store: Any) -> SmallUser:
    """Return what is kept of the user."""
    user = store._small.get("u")
    assert isinstance(user, SmallUser)
    return user


def shown(store: Any, query: Query) -> dict[str, Any]:
    """Return all that a store tells of a query, comparable whatever the codes of names."""
    found: Candidates = store.candidates("u", query)
    told = {
        field.name: getattr(found, field.name)
        for field in dataclasses.fields(found)
        if field.name not in ("session", "speaker", "speakers", "session_sizes", "postings")
    }
    told["session"] = [code if code < 0 else min(found.session_sizes[code], SESSION_TOP) for code in found.session]
    told["speaker"] = [None if code < 0 else found.speakers[code] for code in found.speaker]
    told["postings"] = [(rows.tolist(), counts.tolist()) for rows, counts in found.postings]
    return {
        name: np.nan_to_num(value, nan=-9.0).tolist() if isinstance(value, np.ndarray) else value
        for name, value in told.items()
    }


def test_what_others_write_is_found_at_the_next_search(stores: tuple[Any, Any]) -> None:
    """What another process adds, changes, embeds and removes is in the next search, though the user is kept."""
    store, other = stores
    store.commit("u", [said("1", "a cat", seed=1), said("2", "no vector yet", minute=1), known("f", "a fact", seed=3)])
    assert texts(store) == ["a cat", "no vector yet", "a fact"]
    other.commit("u", [said("4", "another cat", minute=4, seed=4)])
    assert texts(store) == ["a cat", "no vector yet", "a fact", "another cat"]
    other.commit("u", [known("f", "a changed fact", seed=5, version=2)])
    assert texts(store) == ["a cat", "no vector yet", "another cat", "a changed fact"]
    query = asked("cat", seed=2)
    assert np.isnan(store.candidates("u", query).dense).tolist() == [False, True, False, False]
    other.put_vectors("u", other.pending("u", 9), vector(2)[None])
    found = store.candidates("u", query)
    assert found.pending == 0
    assert float(found.dense[1]) == pytest.approx(1.0, abs=1e-3)
    other.remove("u", ["1", "4"])
    assert texts(store) == ["no vector yet", "a changed fact"]
    assert store.candidates("u", query).document_frequency.tolist() == [0]
    other.remove("u", [], everything=True)
    assert texts(store) == []
    other.commit("u", [said("1", "a new life", seed=7)])
    assert texts(store) == ["a new life"]


def test_a_row_of_which_others_have_forgotten_is_not_resolved(stores: tuple[Any, Any]) -> None:
    """Between a search and its records, too, what another process removes is gone, and a replaced version is not."""
    store, other = stores
    store.commit("u", [said("1", "a cat", seed=1), said("2", "a dog", seed=2)])
    keys = store.candidates("u", asked("cat")).keys.tolist()
    other.commit("u", [said("2", "a hound", version=2)])
    assert [record.text for record in store.resolve("u", keys)] == ["a cat", "a dog"]
    other.remove("u", ["1"])
    first, second = store.resolve("u", keys)
    assert (first, second.text) == (None, "a dog")
    assert np.isnan(store.vectors("u", keys)).all(axis=1).tolist() == [True, True]


def test_another_vector_of_the_same_text_is_taken(stores: tuple[Any, Any]) -> None:
    """A vector that replaces one, in the same space or in another, is the one that is compared."""
    store, other = stores
    store.commit("u", [said("1", "a cat", seed=1)])
    records = store.resolve("u", store.candidates("u", asked("cat", seed=1)).keys.tolist())
    other.put_vectors("u", records, vector(2)[None])
    assert float(store.candidates("u", asked("cat", seed=2)).dense[0]) == pytest.approx(1.0, abs=1e-3)
    for name, seed in (("another", 3), ("test", 4)):
        other.set_fingerprint(space(name))
        other.put_vectors("u", records, vector(seed)[None])
    assert float(store.candidates("u", asked("cat", seed=4)).dense[0]) == pytest.approx(1.0, abs=1e-3)
    assert store.vectors("u", [1])[0] == pytest.approx(vector(4), abs=1e-3)


def spoken_of(user: SmallUser) -> bool:
    """Return whether a text is among what is kept of a user, or the word for it."""
    cells = [value for column in user.cells.values() if column.dtype == object for value in column]
    names = [*user._view.sessions.names, *user._view.speakers.names]
    assert user.block is user._view.postings.blocks[0]
    assert not user._view.postings.active
    told = [value if isinstance(value, bytes) else str(value).encode() for value in cells + names]
    return any(CANARY.encode() in value for value in told) or user.hashed(CANARY) in user.block.hashes


def test_what_is_forgotten_is_not_kept(tmp_path: Path) -> None:
    """Forgotten here, a text is out of memory at once; forgotten elsewhere, with the next search of the user."""
    store, other = (SqlStore(SqliteDatabase(tmp_path / "store.db", "sqlite:///store.db")) for _ in range(2))
    store.set_fingerprint(space())
    secret = said("1", f"my {CANARY}", session=CANARY, name=CANARY, seed=1)
    rest = said("2", "the rest", minute=1, seed=2)
    for forgetting in (store, other):
        forgetting.commit("u", [secret, rest])
        assert texts(store) == [f"my {CANARY}", "the rest"]
        assert spoken_of(kept(store))
        forgetting.remove("u", ["1"], transcripts=[Refusal("elsewhere", id="1")])
        if forgetting is store:
            assert store._small.get("u") is None
        assert texts(store) == ["the rest"]
        assert not spoken_of(kept(store))
        forgetting.remove("u", ["2"])
    store.commit("u", [secret])
    assert spoken_of(kept(store)) if texts(store) else False
    store.set_fingerprint(space("another", seed=9))
    assert store._small.get("u") is None
    assert texts(store)
    store.close()
    assert store._small.get("u") is None
    other.close()


def test_what_is_read_while_it_is_forgotten_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that began before a removal, and ends after it, leaves nothing in memory."""
    store = SqlStore(SqliteDatabase(tmp_path / "store.db", "sqlite:///store.db"))
    store.commit("u", [said("1", f"my {CANARY}")])
    find = SmallUser.candidates

    def late(self: SmallUser, *arguments: Any) -> Candidates:
        monkeypatch.undo()
        store._drop_kept("u")  # as a removal by another thread ends; SQLite itself would have it wait
        return find(self, *arguments)

    monkeypatch.setattr(SmallUser, "candidates", late)
    assert store.candidates("u", asked("my")).keys.tolist() == [1]
    assert store._small.get("u") is None
    store.close()


def test_a_fork_finds_what_is_kept(tmp_path: Path) -> None:
    """A forked process searches what its parent kept, as far as it still holds."""
    if not hasattr(os, "fork"):
        pytest.skip("there are no forks here")
    store = SqlStore(SqliteDatabase(tmp_path / "store.db", "sqlite:///store.db"))
    store.commit("u", [said("1", "a cat")])
    assert texts(store) == ["a cat"]
    child = os.fork()
    if child == 0:
        store.commit("u", [said("2", "a dog", minute=1)])
        os._exit(0 if texts(store) == ["a cat", "a dog"] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert texts(store) == ["a cat", "a dog"]
    store.close()


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who was searched longest ago makes room; who has more records, or words, than are kept never takes any."""
    store = SqlStore(SqliteDatabase(tmp_path / "store.db", "sqlite:///store.db"), small=20)
    users = [f"user {n}" for n in range(6)]
    for user in users:
        store.commit(user, [said(str(n), f"a cat {n}", minute=n, seed=n, user=user) for n in range(20)])
    store.candidates(users[0], asked("cat"))
    store._small._room = 3 * store._small.memory + 1_000
    for user in users:
        store.candidates(user, asked("cat"))
        assert store._small.memory <= store._small._room
    assert list(store._small._kept) == users[3:]
    assert store._small.memory == sum(user.memory for user in store._small._kept.values())
    store.commit(users[5], [said("21", "one more", user=users[5])])
    store.candidates(users[5], asked("cat"))
    assert store._small.get(users[5]) == Outgrown(21)
    store.commit(users[5], [], remove=[str(n) for n in range(11)])
    store.candidates(users[5], asked("cat"))
    assert isinstance(store._small.get(users[5]), SmallUser)
    monkeypatch.setattr("siltstone.stores.sql.small_reading.MOST_WORDS", 50)
    store.candidates(users[0], asked("cat"))
    assert isinstance(store._small.get(users[0]), Outgrown)
    store.close()


def test_a_kept_user_costs_one_short_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second search, its records and its vectors ask the engine nothing but what is counted of the user."""
    store = SqlStore(SqliteDatabase(tmp_path / "store.db", "sqlite:///store.db"))
    store.commit("u", [said(str(n), f"a cat {n}", minute=n, seed=n) for n in range(30)])
    store.candidates("u", asked("cat", seed=1))
    said_to_it: list[str] = []
    rows = SqliteTransaction.rows

    def heard(self: SqliteTransaction, statement: str, *parameters: Any) -> Any:
        said_to_it.append(statement)
        return rows(self, statement, *parameters)

    monkeypatch.setattr(SqliteTransaction, "rows", heard)
    found = store.candidates("u", asked("cat", seed=1, exclude_ids=["3"], session_id="s"))
    assert len(store.resolve("u", found.keys[:10].tolist())) == 10
    assert store.vectors("u", found.keys[:10].tolist()).shape == (10, 16)
    assert len(said_to_it) == 3
    assert all("FROM siltstone_users WHERE user_id = ?" in statement for statement in said_to_it)
    store.close()


STEP = st.tuples(
    st.sampled_from(["say", "say", "know", "edit", "remove", "embed", "plan", "search", "space", "everything"]),
    st.integers(0, 5),
    st.sampled_from(["tea coffee", "tea tea", "green tea", "milk", ""]),
    st.booleans(),
)
QUERIES = (
    asked("tea", "milk", "x", seed=3),
    asked("coffe", session_id="s1"),
    asked("tea", seed=4, exclude_session_id="s1", exclude_ids=["m0", "m1"], kinds=("turn", "fact")),
    asked(metadata={"n": 1}),
)


@given(st.lists(STEP, max_size=25))
def test_any_history_leaves_what_a_fresh_reading_gives(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, str, bool]]
) -> None:
    """After whatever was written by two processes, a search of what is kept is one of what was just read, and one in
    memory.
    """
    path = tmp_path_factory.mktemp("small") / "store.db"

    def opened() -> SqlStore:
        return SqlStore(SqliteDatabase(path, "sqlite:///store.db", durability="os"))

    kept, other, model = opened(), opened(), RamStore()
    versions: dict[str, int] = {}
    for n, (what, place, text, here) in enumerate(steps):
        for store in (kept if here else other, model):
            live = sorted(versions)
            if what == "say":
                put = said(
                    f"m{n}", text, minute=place, session=f"s{place % 2}", seed=n if place and text else None, name="Ann"
                )
                store.commit("u", [put])
            elif what == "know":
                store.commit("u", [known(f"k{n}", text or "x", seed=n, metadata={"n": place}, session_id="s1")])
            elif what == "plan":
                store.commit("u", [known(f"p{n}", text or "x", kind=HIDDEN_KINDS[0], metadata={"n": place})])
            elif what == "edit" and live:
                id = live[place % len(live)]
                version = versions[id] + 1
                made = known if id[0] == "k" else said
                store.commit("u", [made(id, f"{text} edited", seed=n, version=version)], expect={id: version - 1})
            elif what == "remove" and live:
                store.remove("u", [live[place % len(live)]])
            elif what == "embed" and (records := store.pending("u", 2)):
                store.put_vectors("u", records, np.stack([vector(n + at) for at in range(len(records))]))
            elif what == "space":
                store.set_fingerprint(space(f"space {place}", seed=place))
            elif what == "everything":
                store.remove("u", [], everything=True)
            elif what == "search":
                store.candidates("u", QUERIES[place % len(QUERIES)])
        if what in ("say", "know"):
            versions[f"{'m' if what == 'say' else 'k'}{n}"] = 1
        elif what == "edit" and live:
            versions[id] = version
        elif what == "remove" and live:
            del versions[live[place % len(live)]]
        elif what == "everything":
            versions.clear()
    fresh = opened()
    for query in QUERIES:
        assert shown(kept, query) == shown(fresh, query)
        alive, wanted = kept.candidates("u", query), model.candidates("u", query)
        found = {r.id: alive.dense[at] for at, r in eligible(kept, alive)}
        assert found == pytest.approx({r.id: wanted.dense[at] for at, r in eligible(model, wanted)}, 1e-4, nan_ok=True)
        assert alive.document_frequency.tolist() == wanted.document_frequency.tolist()
        assert (alive.total, alive.pending) == (wanted.total, wanted.pending)
    for store in (kept, other, fresh):
        store.close()


def eligible(store: Any, found: Candidates) -> list[tuple[int, Any]]:
    """Return the places and records of the rows that may be results."""
    places = np.flatnonzero(found.eligible)
    return list(zip(places.tolist(), store.resolve("u", found.keys[places].tolist()), strict=True))
