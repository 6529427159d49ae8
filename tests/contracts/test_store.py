"""What every store promises: one suite, run over each implementation."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from datetime import timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from items import DIM, NOON, asked, known, said, space, vector
from postgres_server import emptied
from siltstone.errors import ConflictError, InvalidInputError, NotFoundError
from siltstone.protocols import UNKNOWN, Candidates, Put, Query, Refusal, Store, Stored, Where
from siltstone.records import KINDS, ForgetReport, Message, Record, replace
from siltstone.stores.folder import FolderStore
from siltstone.stores.ram import RamStore
from siltstone.stores.sql.dialect import Database
from siltstone.stores.sql.small import MOST
from siltstone.stores.sql.sqlite import SqliteDatabase
from siltstone.stores.sql.store import SqlStore
from siltstone.stores.sql.unlocking import unlocked
from vector_stores import VECTOR_STORES, over_vector_store, takes_any_width

KINDS_OF_STORES = (
    "ram", "folder", "folder-os", "folder-encrypted", "sqlite", "sqlite-encrypted", "postgres", "postgres-encrypted",
    "sqlite-large", "postgres-large", "postgres-replica",
)  # fmt: skip
"""With ``large``, every user is one of more records than are kept in memory; with ``replica``, a standby that has each
commit when it returns answers what is searched."""


@pytest.fixture(params=[*KINDS_OF_STORES, *VECTOR_STORES])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """One store of each kind."""
    made: Store
    if request.param in VECTOR_STORES:
        inner = None
        if request.param.endswith("postgres"):
            url = request.getfixturevalue("postgres")
            emptied(url)
            inner = postgres_store(url)
        made = over_vector_store(request.param, tmp_path, inner_store=inner)
    elif request.param == "ram":
        made = RamStore()
    elif request.param in ("sqlite", "sqlite-large"):
        small = 0 if request.param.endswith("large") else MOST
        made = SqlStore(SqliteDatabase(tmp_path / "store.db", "sqlite:///store.db"), small=small)
    elif request.param == "sqlite-encrypted":
        made = encrypted(SqliteDatabase(tmp_path / "store.db", "sqlite:///store.db"), tmp_path / "keys")
    elif request.param == "postgres-replica":
        primary, standby = request.getfixturevalue("replicated")
        emptied(primary.url)
        made = postgres_store(primary.url, small=0, replica=standby.url)
    elif request.param.startswith("postgres"):
        url = request.getfixturevalue("postgres")
        emptied(url)
        small = 0 if request.param.endswith("large") else MOST
        made = postgres_store(url, tmp_path / "keys" if request.param == "postgres-encrypted" else None, small=small)
    else:
        if request.param == "folder-encrypted":
            pytest.importorskip("cryptography")
        made = folder(tmp_path / "store", request.param)
    yield made
    made.close()


def postgres_store(url: str, keys: Path | None = None, *, small: int = MOST, replica: str | None = None) -> Store:
    """Open a store on a server, an encrypted one if there is a folder for its keys."""
    from siltstone.stores.sql.postgres import PostgresDatabase

    database = PostgresDatabase(url, replica=replica)
    return SqlStore(database, small=small) if keys is None else encrypted(database, keys)


def encrypted(database: Database, keys: Path) -> SqlStore:
    """Open an encrypted store in a database."""
    pytest.importorskip("cryptography")
    return SqlStore(database, veils=unlocked(database, bytes(range(32)), str(keys), create=True, lock_timeout=10))


def folder(path: Path, kind: str) -> FolderStore:
    """Open a store in a folder."""
    return FolderStore(
        path,
        durability="os" if kind == "folder-os" else "fsync",
        key=bytes(range(32)) if kind == "folder-encrypted" else None,
    )


def texts(store: Store, session: str = "s") -> list[str]:
    """Return what was said in a session, in order."""
    return [message.content for message in store.messages("u", session)]


def found(store: Store, candidates: Candidates) -> dict[str, int]:
    """Return position by id of the rows that may be results."""
    positions = np.flatnonzero(candidates.eligible)
    records = store.resolve("u", candidates.keys[positions].tolist())
    return {record.id: int(at) for record, at in zip(records, positions, strict=True) if record is not None}


# --- writing and reading back


def test_a_message_comes_back_as_it_was_stored(store: Store) -> None:
    """Every field of a message and of its turn survives, metadata, names and time zones included."""
    china = timezone(timedelta(hours=8))
    put = said(
        "m", "我住在深圳。", name="李雷", metadata={"tool_calls": [{"id": 1, "args": {"城市": "深圳"}}], "n": 2.5}
    )
    message = Message("user", "later", id="n", session_id="s", created_at=NOON.astimezone(china))
    store.commit("u", [put, Put(message=message)])
    (first, second) = store.fetch("u", ["m", "turn:n"])
    assert first is not None
    assert (first.message, first.record, first.version, first.supplied_id) == (put.message, put.record, 1, "m")
    assert second is not None
    assert (second.message, second.record, second.supplied_id) == (message, None, None)
    assert second.message is not None
    assert second.message.created_at is not None
    assert second.message.created_at.utcoffset() == timedelta(hours=8)


@given(
    st.builds(
        Record,
        id=st.text("abc", min_size=1),
        text=st.text(st.characters(exclude_categories=["Cs"])),
        kind=st.sampled_from(KINDS),
        level=st.integers(0, 3),
        topic=st.none() | st.text("ab "),
        user_id=st.just("u"),
        session_id=st.none() | st.text("xyz"),
        role=st.none() | st.sampled_from(["user", "assistant"]),
        speaker=st.none() | st.just("Łucja"),
        source_ids=st.lists(st.text("pq", min_size=1)).map(tuple),
        created_at=st.datetimes(timezones=st.just(timezone.utc)),
        stored_at=st.datetimes(timezones=st.just(timezone.utc)),
        updated_at=st.none() | st.datetimes(timezones=st.just(timezone(timedelta(hours=-3, minutes=-30)))),
        occurred_at=st.none() | st.datetimes(timezones=st.just(timezone.utc)),
        expires_at=st.none() | st.datetimes(timezones=st.just(timezone.utc)),
        pinned=st.booleans(),
        importance=st.none() | st.floats(0, 1),
        support=st.integers(1, 9),
        superseded_by=st.none() | st.just("z"),
        flags=st.lists(st.sampled_from(["stale", "fallback"])).map(tuple),
        made_by=st.sampled_from(["user", "extractive"]),
        metadata=st.dictionaries(
            st.text("kl"),
            st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text() | st.lists(st.floats(-1, 1)),
        ).filter(lambda values: all(not isinstance(v, str) or v.isprintable() for v in values.values())),
    )
)
def test_any_record_comes_back_as_it_was_stored(record: Record) -> None:
    """A record of any fields is read back equal."""
    store = RamStore()
    store.commit("u", [Put(record)])
    (stored,) = store.fetch("u", [record.id])
    assert stored is not None
    assert stored.record == record


def test_unknown_things_are_none_or_empty(store: Store) -> None:
    """Reading of a user, session or id that is not there changes nothing and finds nothing."""
    assert store.fetch("u", ["x"]) == [None]
    assert list(store.users()) == []
    assert (store.messages("u", "s"), store.sessions("u"), store.pending("u", 5), store.versions("u", "x")) == ([],) * 4
    assert list(store.scan("u", Where())) == []
    assert store.dependents("u", ["x"]) == []
    assert store.stats("u").messages == 0
    assert len(store.candidates("u", asked("x", seed=1)).keys) == 0
    assert store.resolve("u", [1, 2]) == [None, None]


def test_a_commit_is_all_or_nothing(store: Store) -> None:
    """When one item of a commit cannot be stored, none is, and the revision stays."""
    store.commit("u", [said("a", "one")])
    before = store.revision("u")
    bad = [
        said("b", "half \ud83d a pair"),
        known("b", "x", metadata={"when": NOON}),
        known("b", "x", metadata={"nan": float("nan")}),
        known("b", "x", kind="rumour"),
        known("b", "x", user="somebody else"),
        Put(known("b", "x").record, None, np.ones(DIM + 1, np.float32)),
        Put(known("b", "x").record, None, np.full(DIM, np.nan, np.float32)),
        Put(known("b", "x").record, None, np.zeros(DIM, np.float32)),
        Put(message=Message("robot", "x", id="b", session_id="s")),
        Put(message=Message("user", "x", id="b")),
        Put(message=Message("user", "x", id="turn:b", session_id="s")),
        Put(known("turn:b", "x").record),
        Put(known("other", "x").record, Message("user", "x", id="b", session_id="s")),
        known("a", "a record with the id of a message"),
    ]
    store.commit("u", [said("z", "sets the width", seed=1)])
    before = store.revision("u")
    for put in bad:
        with pytest.raises(InvalidInputError):
            store.commit("u", [said("c", "good"), put])
    assert store.revision("u") == before
    assert texts(store) == ["one", "sets the width"]


def test_expect_guards_against_lost_updates(store: Store) -> None:
    """A commit goes through only when every item it expects still has that version, 0 meaning absent."""
    store.commit("u", [said("a", "one")], expect={"a": 0})
    with pytest.raises(ConflictError, match="version 1"):
        store.commit("u", [said("a", "two")], expect={"a": 0})
    store.commit("u", [said("a", "two", version=2)], expect={"a": 1, "turn:a": 1, "b": 0})
    with pytest.raises(ConflictError, match="absent"):
        store.commit("u", [said("b", "x")], expect={"b": 1})
    assert texts(store) == ["two"]


def test_an_id_that_exists_becomes_its_next_version(store: Store) -> None:
    """The newest version is what is read and found; the older ones stay readable, newest first."""
    for version, text in enumerate(["Berlin", "Lisbon", "Porto"], 1):
        store.commit("u", [known("home", text, version=version)])
    (stored,) = store.fetch("u", ["home"])
    assert stored is not None
    assert stored.record is not None
    assert (stored.version, stored.record.text) == (3, "Porto")
    assert [old.record.text for old in store.versions("u", "home") if old.record] == ["Lisbon", "Berlin"]
    assert [record.text for record in store.scan("u", Where())] == ["Porto"]
    assert len(store.candidates("u", asked("berlin")).postings[0][0]) == 0
    assert store.candidates("u", asked("porto")).total == 1


def test_one_commit_may_hold_two_versions(store: Store) -> None:
    """An item that occurs twice in a commit ends as its second version."""
    store.commit("u", [said("a", "first"), said("a", "second", version=2)])
    (stored,) = store.fetch("u", ["a"])
    assert stored is not None
    assert stored.version == 2
    assert texts(store) == ["second"]
    assert [old.record.text for old in store.versions("u", "a") if old.record] == ["first"]


def test_the_revision_changes_with_every_write(store: Store) -> None:
    """Writes of a user change their token, reads and other users' writes do not."""
    tokens = [store.revision("u")]
    store.commit("u", [said("a", "one")])
    tokens.append(store.revision("u"))
    tokens.append(store.commit("u", [said("b", "two")]).revision)
    records = store.pending("u", 9)
    store.put_vectors("u", records, np.stack([vector(1), vector(2)]))
    tokens.append(store.revision("u"))
    tokens.append(store.remove("u", ["a"]))
    assert len(set(tokens)) == 5
    store.commit("v", [said("a", "one", user="v")])
    store.messages("u", "s")
    assert store.revision("u") == tokens[-1]


def test_a_fetched_item_knows_its_row(store: Store) -> None:
    """The row of an item is the key by which a search's results are resolved, and tells the order of writing."""
    store.commit("u", [said("a", "one"), said("b", "two")])
    store.commit("u", [said("c", "three")])
    found = [item for item in store.fetch("u", ["a", "b", "c"]) if item is not None]
    assert [record.text for record in store.resolve("u", [one.row for one in found]) if record] == [
        "one",
        "two",
        "three",
    ]
    assert sorted(one.row for one in found) == [one.row for one in found]


# --- sessions


def test_messages_are_in_the_order_they_were_said(store: Store) -> None:
    """A late message takes its place by time; equal times keep the order of writing, also after an edit."""
    store.commit("u", [said("a", "a", minute=1), said("d", "d", minute=4), said("e", "e", minute=4)])
    store.commit("u", [said("b", "b", minute=2)])
    store.commit("u", [said("d", "D", minute=4, version=2)])
    assert texts(store) == ["a", "b", "D", "e"]


def test_messages_can_be_paged_from_the_end(store: Store) -> None:
    """``limit`` gives the newest, ``before`` those before a message, and an unknown one is an error."""
    store.commit("u", [said(str(n), f"text {n}", minute=n) for n in range(10)])
    assert [m.id for m in store.messages("u", "s", limit=3)] == ["7", "8", "9"]
    assert [m.id for m in store.messages("u", "s", limit=2, before="7")] == ["5", "6"]
    assert [m.id for m in store.messages("u", "s", before="1")] == ["0"]
    assert store.messages("u", "s", limit=0) == []
    with pytest.raises(NotFoundError):
        store.messages("u", "s", before="nobody")


def test_messages_without_a_turn_are_kept_in_their_session(store: Store) -> None:
    """System and tool messages are read back in order, but are no records and no neighbours."""
    store.commit(
        "u",
        [
            said("0", "Be brief.", minute=0, role="system"),
            said("1", "How is the weather?", minute=1),
            said("2", "", minute=2, role="assistant", metadata={"tool_calls": []}),
            said("3", "21 degrees", minute=3, role="tool"),
            said("4", "It is warm.", minute=4, role="assistant"),
        ],
    )
    assert [m.role for m in store.messages("u", "s")] == ["system", "user", "assistant", "tool", "assistant"]
    candidates = store.candidates("u", asked("warm"))
    rows = found(store, candidates)
    assert set(rows) == {"turn:1", "turn:4"}
    assert candidates.following[rows["turn:1"]] == rows["turn:4"]
    assert candidates.previous[rows["turn:4"]] == rows["turn:1"]


def test_sessions_are_listed_with_the_last_written_at_the_end(store: Store) -> None:
    """Each session has its number of messages and its first and last time."""
    store.commit("u", [said("a", "a", session="old", minute=50), said("b", "b", session="new", minute=1)])
    store.commit("u", [said("c", "c", session="old", minute=-5)])
    new, old = store.sessions("u")
    assert (new.session_id, old.session_id) == ("new", "old")
    assert (old.messages, old.started_at, old.ended_at) == (
        2,
        NOON - timedelta(minutes=5),
        NOON + timedelta(minutes=50),
    )


# --- candidates


def test_neighbours_follow_time_within_the_session(store: Store) -> None:
    """The turn before and after is by time, never in another session, whatever the order of writing."""
    store.commit("u", [said("c", "c", minute=3), said("x", "x", minute=2, session="t")])
    store.commit("u", [said("a", "a", minute=1)])
    store.commit("u", [said("b", "b", minute=2), known("fact", "f", session_id="s")])
    assert chain(store, "s") == ["turn:a", "turn:b", "turn:c"]
    assert chain(store, "t") == ["turn:x"]
    store.remove("u", ["b"])
    assert chain(store, "s") == ["turn:a", "turn:c"]
    store.commit("u", [said("c", "C", minute=3, version=2)])
    assert chain(store, "s") == ["turn:a", "turn:c"]
    store.remove("u", ["c"])
    store.commit("u", [said("d", "d", minute=9)])
    assert chain(store, "s") == ["turn:a", "turn:d"]


def chain(store: Store, session: str) -> list[str]:
    """Return a session's turns by following the links, checking both directions."""
    candidates = store.candidates("u", asked(session_id=session, kinds=("turn",)))
    rows = {row: id for id, row in found(store, candidates).items()}
    (row,) = [row for row in rows if candidates.previous[row] == -1]
    ids = []
    while row != -1:
        ids.append(rows.pop(row))
        after = int(candidates.following[row])
        assert after == -1 or candidates.previous[after] == row
        row = after
    assert not rows
    return ids


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1), st.sampled_from(["add", "edit", "remove"])), max_size=40)
)
def test_neighbours_stay_right_whatever_happens(steps: list[tuple[int, int, str]]) -> None:
    """After any additions, edits and removals in any order of time, the links are those of a fresh sort."""
    store = RamStore()
    alive: dict[str, tuple[int, int, str]] = {}
    for n, (minute, session, what) in enumerate(steps):
        if what == "add" or not alive:
            alive[f"m{n}"] = (minute, n, f"s{session}")
            store.commit("u", [said(f"m{n}", f"text {n}", minute=minute, session=f"s{session}")])
        elif what == "edit":
            id = sorted(alive)[n % len(alive)]
            alive[id] = (minute, alive[id][1], f"s{session}")
            store.commit("u", [said(id, f"edit {n}", minute=minute, session=f"s{session}", version=n + 2)])
        else:
            id = sorted(alive)[n % len(alive)]
            del alive[id]
            store.remove("u", [id])
    for session in {session for _, _, session in alive.values()}:
        expected = sorted((minute, n, id) for id, (minute, n, s) in alive.items() if s == session)
        assert chain(store, session) == [f"turn:{id}" for _, _, id in expected]


def test_long_sessions_written_backwards_are_linked_right(store: Store) -> None:
    """Hundreds of turns in reverse or in one commit get the same links as one by one."""
    for n in range(150, 0, -1):
        store.commit("u", [said(f"m{n:03}", "x", minute=n)])
    store.commit("u", [said(f"m{n:03}", "x", minute=n) for n in range(300, 150, -1)])
    assert chain(store, "s") == [f"turn:m{n:03}" for n in range(1, 301)]


def test_words_are_counted_over_live_rows(store: Store) -> None:
    """Postings, document frequency, total and mean length know nothing of removed or replaced rows."""
    store.commit("u", [said("a", "tea tea coffee"), said("b", "tea"), said("c", "coffee"), known("d", "tea")])
    store.remove("u", ["b"])
    store.commit("u", [known("d", "water", version=2)])
    candidates = store.candidates("u", asked("tea", "coffe", "water", "whisky"))
    rows = found(store, candidates)
    assert candidates.document_frequency.tolist() == [1, 2, 1, 0]
    assert candidates.total == 3
    positions, counts = candidates.postings[0]
    assert (positions.tolist(), counts.tolist()) == ([rows["turn:a"]], [2.0])
    live = np.array(list(rows.values()))
    assert candidates.mean_length == pytest.approx(float(candidates.lengths[live].mean()))


def test_sessions_are_as_large_as_what_lives_in_them(store: Store) -> None:
    """Neither what was removed from a session nor earlier versions count, for sessions of so few rows."""
    store.commit("u", [said(str(n), f"cat {n}", minute=n, session=f"s{n % 2}") for n in range(4)])
    store.commit("u", [said("1", "cat again", minute=1, session="s1", version=2)], expect={"1": 1})
    store.remove("u", ["2", "3"])
    found = store.candidates("u", asked("cat"))
    assert found.session_sizes is not None
    rows = np.flatnonzero(found.eligible)
    records = store.resolve("u", found.keys[rows].tolist())
    assert sorted(record.session_id or "" for record in records if record is not None) == ["s0", "s1"]
    assert found.session_sizes[found.session[rows]].tolist() == [1, 1]


def test_chinese_is_found_by_its_characters(store: Store) -> None:
    """A Chinese sentence is many terms, not one."""
    store.commit("u", [said("a", "我叫张三，是深圳的前端工程师。")])
    assert store.candidates("u", asked("深圳", "工程", "北京")).document_frequency.tolist() == [1, 1, 0]


def test_rows_carry_what_ranking_asks(store: Store) -> None:
    """Kind, role, speaker, times, importance, questions and text hashes are those of the records."""
    store.commit(
        "u",
        [
            said("a", "Where do you live?", name="Ann", minute=3),
            said("b", "where do you live?!", role="assistant", minute=4),
            known("c", "moved", kind="event", importance=0.5, occurred_at=NOON, valid_until=NOON + timedelta(1)),
        ],
    )
    candidates = store.candidates("u", asked("live", "move"))
    rows = found(store, candidates)
    a, b, c = rows["turn:a"], rows["turn:b"], rows["c"]
    assert [KINDS[candidates.kind[row]] for row in (a, b, c)] == ["turn", "turn", "event"]
    assert candidates.role[[a, b, c]].tolist() == [1, 2, -1]
    assert candidates.speakers[candidates.speaker[a]] == "Ann"
    assert candidates.speaker[b] == -1
    assert candidates.said_at[a] == int((NOON + timedelta(minutes=3)).timestamp() * 1e6)
    assert candidates.occurred_at[[a, c]].tolist() == [UNKNOWN, int(NOON.timestamp() * 1e6)]
    assert candidates.valid_until[[a, c]].tolist() == [UNKNOWN, int((NOON + timedelta(1)).timestamp() * 1e6)]
    assert np.isnan(candidates.importance[a])
    assert candidates.importance[c] == 0.5
    assert candidates.question[[a, b, c]].tolist() == [True, True, False]
    assert candidates.session[a] == candidates.session[b] >= 0
    assert candidates.session[c] == -1
    assert (np.diff(candidates.keys) > 0).all()


def test_filters_are_joined_by_and(store: Store) -> None:
    """Kinds, times, sessions, ids, metadata and expiry each restrict what may be a result."""
    store.commit(
        "u",
        [
            said("a", "one", minute=0, session="x"),
            said("b", "two", minute=60, session="y"),
            known("f", "three", metadata={"topic": "tea", "n": 2}, occurred_at=NOON - timedelta(days=9)),
            known("g", "four", kind="event", metadata={"topic": "tea", "n": 3}, expires_at=NOON),
            known("h", "five", kind="event", pinned=True, expires_at=NOON, session_id="x"),
        ],
    )

    def ids(**where: object) -> str:
        scanned = "".join(sorted(record.id[-1] for record in store.scan("u", Where(**where))))
        assert scanned == "".join(sorted(id[-1] for id in found(store, store.candidates("u", asked(**where)))))
        return scanned

    assert ids() == "abfgh"
    assert ids(kinds=("fact", "event")) == "fgh"
    assert ids(kinds=()) == ""
    assert ids(session_id="x") == "ah"
    assert ids(session_id="nowhere") == ""
    assert ids(exclude_session_id="x") == "bfg"
    assert ids(exclude_ids=("a", "turn:b", "f", "nobody")) == "gh"
    assert ids(since=NOON + timedelta(minutes=60)) == "b"
    assert ids(until=NOON - timedelta(days=9)) == "f"
    assert ids(metadata={"topic": "tea"}) == "fg"
    assert ids(metadata={"topic": "tea", "n": 2.0}) == "f"
    assert ids(metadata={"topic": "coffee"}) == ""
    assert ids(now=NOON) == "abfh"
    assert ids(now=NOON, kinds=("event",), session_id="x") == "h"


def test_nearest_rows_have_their_cosine(store: Store) -> None:
    """Cosines are exact to float16, nan without a vector, and unknown rows are counted as pending."""
    store.commit("u", [said(f"m{n}", f"text {n}", seed=n, minute=n) for n in range(50)] + [said("n", "no vector")])
    candidates = store.candidates("u", asked(seed=7, depth=50))
    rows = found(store, candidates)
    for n in range(50):
        assert candidates.dense[rows[f"turn:m{n}"]] == pytest.approx(float(vector(n) @ vector(7)), abs=2e-3)
    assert np.isnan(candidates.dense[rows["turn:n"]])
    assert candidates.pending == 1
    assert np.isnan(store.candidates("u", asked("text")).dense).all()


def test_a_filter_never_costs_depth(store: Store) -> None:
    """Under a filter that leaves one row in fifty, all of these have their cosine."""
    store.commit("u", [said(f"m{n}", "x", seed=n, session=f"s{n % 50}") for n in range(1000)])
    candidates = store.candidates("u", asked(seed=1, depth=20, session_id="s7"))
    assert np.count_nonzero(candidates.eligible) == 20
    assert not np.isnan(candidates.dense[candidates.eligible]).any()


def test_a_query_of_another_width_is_refused(store: Store) -> None:
    """A query vector that does not fit the store is an error, not a wrong answer."""
    store.commit("u", [said("a", "one", seed=1)])
    with pytest.raises(InvalidInputError):
        store.candidates("u", Query((), vector(1, DIM + 1)))


# --- vectors that come late, and embedding spaces


def test_vectors_may_come_late(store: Store) -> None:
    """Records without a vector are pending in order of writing, until theirs is attached."""
    store.commit("u", [said(f"m{n}", f"text {n}") for n in range(5)])
    first = store.pending("u", 3)
    assert [record.id for record in first] == ["turn:m0", "turn:m1", "turn:m2"]
    assert store.put_vectors("u", first, np.stack([vector(n) for n in range(3)])) == 3
    assert [record.id for record in store.pending("u", 9)] == ["turn:m3", "turn:m4"]
    assert store.stats("u").pending_vectors == 2
    candidates = store.candidates("u", asked(seed=2))
    assert candidates.dense[found(store, candidates)["turn:m2"]] == pytest.approx(1, abs=1e-3)


def test_a_late_vector_of_changed_text_is_dropped(store: Store) -> None:
    """A vector attaches only to the text that it was made from."""
    store.commit("u", [said("a", "old"), said("b", "stays"), said("c", "goes")])
    records = store.pending("u", 9)
    store.commit("u", [said("a", "new", version=2)])
    store.remove("u", ["c"])
    assert store.put_vectors("u", records, np.stack([vector(1), vector(2), vector(3)])) == 1
    assert [record.text for record in store.pending("u", 9)] == ["new"]


def test_an_update_that_keeps_the_text_keeps_its_vector(store: Store) -> None:
    """Changing importance or metadata does not ask for a new vector; changing the text does."""
    store.commit("u", [known("a", "tea", seed=3)])
    store.commit("u", [known("a", "tea", importance=0.9, version=2)])
    candidates = store.candidates("u", asked(seed=3))
    assert candidates.dense[found(store, candidates)["a"]] == pytest.approx(1, abs=1e-3)
    store.commit("u", [known("a", "coffee", version=3)])
    assert [record.version for record in store.pending("u", 9)] == [3]


def test_another_embedding_space_drops_every_vector(store: Store) -> None:
    """The same model on another engine keeps the vectors; another model drops them, and leaves all pending."""
    assert store.fingerprint() is None
    store.set_fingerprint(space())
    store.commit("u", [said("a", "one", seed=1)])
    shaken = tuple(value + 0.01 * (-1) ** n for n, value in enumerate(space().probe))
    close = dataclasses.replace(space(), engine="another", probe=shaken)
    store.set_fingerprint(close)
    assert store.fingerprint() == close
    assert store.stats("u").pending_vectors == 0
    width = 8 if takes_any_width(store) else DIM
    store.set_fingerprint(space("other", width))
    assert store.stats("u").pending_vectors == 1
    store.put_vectors("u", store.pending("u", 1), vector(1, width)[None])
    assert store.stats("u").pending_vectors == 0
    if width == DIM:
        return
    with pytest.raises(InvalidInputError):
        store.commit("u", [said("b", "two", seed=2)])


# --- provenance and removal


def test_dependents_are_the_records_that_rest_on_something(store: Store) -> None:
    """Live derived records are found by any of their sources; turns are not, though they name their message."""
    store.commit("u", [said("a", "one"), said("b", "two")])
    store.commit("u", [known("f", "fact", source_ids=("a", "b")), known("g", "insight", source_ids=("f",))])
    assert [record.id for record in store.dependents("u", ["b"])] == ["f"]
    assert {record.id for record in store.dependents("u", ["a", "f"])} == {"f", "g"}
    store.commit("u", [known("f", "fact", source_ids=("a",), version=2)])
    assert store.dependents("u", ["b"]) == []


def test_dependents_of_what_is_gone_are_found(store: Store) -> None:
    """A record that was written without a look at its sources, or outlived them, is found by their ids."""
    store.commit("u", [said("a", "x"), known("f", "of a", source_ids=("a",))])
    store.remove("u", ["a"])
    store.commit("u", [known("g", "of a and f", source_ids=("a", "f")), known("h", "of z", source_ids=("z",))])
    assert {record.id for record in store.dependents("u", ["a"])} == {"f", "g"}
    store.remove("u", ["f"])
    assert [record.id for record in store.dependents("u", ["f"])] == ["g"]
    store.remove("u", [], everything=True)
    store.commit("u", [known("i", "of a", source_ids=("a",))])
    assert [record.id for record in store.dependents("u", ["a", "z"])] == ["i"]


def test_what_is_removed_is_nowhere(store: Store) -> None:
    """Removed items, with all their versions, are in no reading verb, and not before anybody else's."""
    store.commit("u", [said("a", "alpha", seed=1), said("b", "beta", seed=2), known("f", "phi", seed=3)])
    store.commit("u", [known("f", "phi two", seed=4, version=2)])
    store.remove("u", ["turn:a", "f", "nobody"])
    assert store.fetch("u", ["a", "f", "b"])[:2] == [None, None]
    assert texts(store) == ["beta"]
    assert store.versions("u", "f") == []
    assert [record.id for record in store.scan("u", Where())] == ["turn:b"]
    candidates = store.candidates("u", asked("alpha", "phi", seed=1))
    assert set(found(store, candidates)) == {"turn:b"}
    assert candidates.document_frequency.tolist() == [0, 0]
    assert store.stats("u").messages == 1


def test_what_rests_on_the_forgotten_goes_along(store: Store) -> None:
    """Forgetting takes all versions of an item and what rests on it, says which, and refuses the same again."""
    store.commit("u", [said("a", "alpha", seed=1), said("b", "beta", seed=2), said("c", "gamma")])
    store.commit("u", [said("a", "alpha two", seed=3, version=2), known("f", "of alpha", source_ids=("a",))])
    store.commit("u", [known("g", "of both", source_ids=("f", "b")), known("h", "of beta", source_ids=("b",))])
    report = store.forget("u", ["turn:a", "c", "nobody"])
    assert report == ForgetReport(("a", "c"), ("turn:a", "turn:c", "f", "g"), ("f",), ("g",))
    assert [stored and stored.id for stored in store.fetch("u", [*"abcfgh"])] == [None, "b", None, None, None, "h"]
    assert {record.id for record in store.scan("u", Where())} == {"turn:b", "h"}
    assert set(found(store, store.candidates("u", asked("alpha", seed=1)))) <= {"turn:b", "h"}
    assert store.stats("u").messages == 1
    again = [said("a", "new"), said("x", "Alpha"), said("y", "alpha two"), said("z", "gamma"), said("d", "delta")]
    assert store.commit("u", again).skipped == ("a", "x", "y", "z")
    with pytest.raises(ConflictError):  # a job under way
        store.commit("u", [known("late", "of alpha", source_ids=("a",))], expect={"a": 2})
    assert store.forget("u", ["a"]) == store.forget("v", ["a"]) == ForgetReport()


def test_what_was_made_of_what_is_not_there_any_more_is_forgotten(store: Store) -> None:
    """Of an id that made room for others, what rests on it goes, and a copy does not bring it back."""
    store.commit("u", [said("a", "alpha"), known("f", "of alpha", source_ids=("a",))])
    store.remove("u", ["a"])
    assert store.forget("u", ["a"]) == ForgetReport((), ("f",), ("f",))
    copies = [dataclasses.replace(put, restores=True) for put in (said("a", "alpha"), known("f", "of alpha"))]
    assert store.refused("u", copies) == ("a", "f")


def test_a_removed_id_can_be_written_again_unless_refused(store: Store) -> None:
    """A removed id is free; a transcript that is to be refused is skipped and reported, by id and by text."""
    store.commit("u", [said("a", "I live in Berlin."), said("b", "Hello"), said("c", "hello again")])
    store.remove("u", ["a", "b", "c"], transcripts=[Refusal("s", id="a"), Refusal("s", text="Hello")])
    again = [said("a", "other text"), said("x", "  HELLO "), said("c", "hello again"), said("a2", "Hello", session="t")]
    receipt = store.commit("u", again)
    assert receipt.skipped == ("a", "x")
    assert receipt.revision == store.revision("u")
    assert (texts(store), texts(store, "t")) == (["hello again"], ["Hello"])
    (stored,) = store.fetch("u", ["c"])
    assert stored is not None
    assert stored.version == 1


def test_an_id_and_a_text_are_refused_each_as_what_it_is(store: Store) -> None:
    """What was forgotten as an id is no reason to refuse a message that says it, nor a text one that is named so."""
    store.commit("u", [said("yes", "好的"), said("no", "bye")])
    store.remove("u", ["yes", "no"], transcripts=[Refusal("s", id="yes", text="好的"), Refusal("s", id="no")])
    new = [said("a", "yes"), said("b", "no"), said("好的", "fine"), said("c", "bye")]
    assert store.commit("u", new).skipped == ()
    assert texts(store) == ["yes", "no", "fine", "bye"]
    assert store.commit("u", [said("yes", "x"), said("d", "好的"), said("no", "y")]).skipped == ("yes", "d", "no")


def test_everything_of_a_user_goes(store: Store) -> None:
    """The whole store of a user goes, and a new one may begin; another user's stays."""
    for user in ("u", "v"):
        store.commit(user, [said("a", f"of {user}", user=user, seed=1), known("f", "x", user=user)])
    old = store.revision("u")
    store.remove("u", [], everything=True)
    assert list(store.users()) == ["v"]
    assert store.stats("u").messages == 0
    assert store.revision("u") != old
    store.commit("u", [said("b", "new")])
    assert texts(store) == ["new"]
    assert store.revision("u") != old
    assert [m.content for m in store.messages("v", "s")] == ["of v"]
    store.remove("u", [], everything=True, transcripts=[Refusal("s", id="b")])
    assert store.commit("u", [said("b", "new")]).skipped == ("b",)


def test_what_is_refused_outlives_everything(store: Store) -> None:
    """Removing the whole user forgets no refusal, neither an earlier one nor one of the same call, however often."""
    store.commit("u", [said(id, f"text {id}") for id in "abc"])
    store.remove("u", ["a"], transcripts=[Refusal("s", id="a", text="text a")])
    store.remove("u", ["b"], transcripts=[Refusal("s", id="b")])
    store.remove("u", [], everything=True, transcripts=[Refusal("s", id="c")])
    again = [said("a", "new"), said("a2", "Text  A"), said("b", "new"), said("c", "new")]
    for _ in range(3):
        assert store.commit("u", [*again, said("d", "kept")]).skipped == ("a", "a2", "b", "c")
        assert texts(store) == ["kept"]
        store.remove("u", [], everything=True)
        assert store.stats("u").messages == 0


# --- users


def test_two_users_never_meet(store: Store) -> None:
    """Fifty near-identical memories each: nobody sees the other's, and both get their full depth."""
    for user in ("u", "v"):
        for n in range(50):
            put = said(f"m{n}", f"I like tea number {n}, says {user}", user=user, seed=n)
            store.commit(user, [put])
    for user in ("u", "v"):
        candidates = store.candidates(user, asked("tea", seed=5, depth=50))
        records = store.resolve(user, candidates.keys[candidates.eligible].tolist())
        assert len(records) == 50
        assert all(record is not None and record.user_id == user and record.text.endswith(user) for record in records)
        assert np.count_nonzero(~np.isnan(candidates.dense)) == 50
        assert candidates.total == 50


@pytest.mark.parametrize(
    "user", ["a/b", "..", ".", "Ärger", "用户", "A", "a", "x" * 500, "a\0b", "tab\t", "con", " ", "*"]
)
def test_user_ids_may_be_any_text(store: Store, user: str) -> None:
    """Ids of any characters, alike but for case too, are users of their own."""
    others = ["a", "A", "ä"]
    for name in {*others, user}:
        store.commit(name, [said("m", f"I am {name!r}", user=name)])
    assert set(store.users()) == {*others, user}
    assert [m.content for m in store.messages(user, "s")] == [f"I am {user!r}"]


@pytest.mark.parametrize("user", ["", "\ud800"])
def test_user_ids_must_be_text(store: Store, user: str) -> None:
    """An empty id, or one that is no Unicode, is refused."""
    with pytest.raises(InvalidInputError):
        store.commit(user, [said("m", "x", user=user)])


# --- the whole


def test_stats_count_live_rows(store: Store) -> None:
    """Messages, records, sessions and kinds are counted as they are now."""
    store.commit("u", [said("a", "x"), said("b", "y", session="t"), said("s", "z", role="system"), known("f", "k")])
    store.commit("u", [known("f", "k2", version=2)])
    stats = store.stats("u")
    assert (stats.messages, stats.records, stats.sessions) == (3, 3, 2)
    assert dict(stats.kinds) == {"turn": 2, "fact": 1}
    assert stats.pending_vectors == 3
    assert stats.health == ()


def test_a_scan_is_in_order_of_writing(store: Store) -> None:
    """Records come in the order in which they were first written, an edit notwithstanding."""
    store.commit("u", [known(id, id) for id in "abc"])
    store.commit("u", [known("a", "A", version=2)])
    assert [record.text for record in store.scan("u", Where())] == ["A", "b", "c"]


def test_an_empty_commit_is_nothing(store: Store) -> None:
    """No puts, no write, no new user."""
    receipt = store.commit("u", [])
    assert receipt.revision == store.revision("u")
    assert list(store.users()) == []


def test_keys_stay_valid_while_others_write(store: Store) -> None:
    """Keys of a search resolve to the same records afterwards, and to nothing once these are gone."""
    store.commit("u", [said(f"m{n}", f"text {n}") for n in range(4)])
    candidates = store.candidates("u", asked("text"))
    store.commit("u", [said("m9", "text 9")])
    store.remove("u", ["m1"])
    resolved = store.resolve("u", candidates.keys.tolist())
    assert [None if record is None else record.text for record in resolved] == ["text 0", None, "text 2", "text 3"]


def test_replaced_rows_are_still_resolved(store: Store) -> None:
    """A row replaced between search and reading gives the version that was found, not another record."""
    store.commit("u", [known("a", "one"), known("b", "two")])
    candidates = store.candidates("u", asked("one", "two"))
    store.commit("u", [known("a", "three", version=2)])
    resolved = store.resolve("u", candidates.keys.tolist())
    assert [record.id for record in resolved if record is not None] == ["a", "b"]


def test_turn_fields_that_differ_are_kept(store: Store) -> None:
    """A turn record may say more than its message: importance, metadata, expiry."""
    put = said("a", "x", metadata={"k": 1})
    assert put.record is not None
    record = replace(put.record, importance=0.7, metadata={"k": 1}, expires_at=NOON + timedelta(1), flags=("stale",))
    store.commit("u", [Put(record, put.message)])
    (stored,) = store.fetch("u", ["a"])
    assert stored is not None
    assert stored.record == record


# --- the memory's own affairs


def job(id: str = "j", **fields: Any) -> Put:
    """Return a record of the hidden kind, resting on the message ``m``."""
    return known(id, "the model's answer", kind="job", source_ids=("m",), **fields)


def test_a_job_is_fetched_scanned_and_versioned(store: Store) -> None:
    """A record of a hidden kind is there for whoever names its id, its kind or its source, with a version to expect."""
    store.commit("u", [said("m", "hello"), job(metadata={"state": "open"})])
    store.commit("u", [job(version=2, metadata={"state": "done"})], expect={"j": 1})
    with pytest.raises(ConflictError):
        store.commit("u", [job()], expect={"j": 1})
    (stored,) = store.fetch("u", ["j"])
    assert stored is not None
    assert stored.record is not None
    assert (stored.version, stored.record.metadata) == (2, {"state": "done"})
    assert [record.id for record in store.scan("u", Where(kinds=("job",)))] == ["j"]
    assert list(store.scan("u", Where(kinds=("job",), metadata={"state": "open"}))) == []
    assert [record.id for record in store.dependents("u", ["m"])] == ["j"]


def test_a_job_is_no_memory(store: Store) -> None:
    """Nothing that lists, counts, searches or embeds meets a record of a hidden kind."""
    store.commit("u", [said("m", "hello")])
    before = store.stats("u")
    store.commit("u", [job()])
    after = store.stats("u")
    assert (after.records, after.kinds, after.pending_vectors) == (before.records, before.kinds, before.pending_vectors)
    assert [record.id for record in store.scan("u", Where())] == ["turn:m"]
    assert [record.id for record in store.pending("u", 9)] == ["turn:m"]
    assert list(found(store, store.candidates("u", asked("answer", "hello")))) == ["turn:m"]
    assert list(found(store, store.candidates("u", asked("answer", kinds=("job",))))) == []
    with pytest.raises(InvalidInputError):
        store.commit("u", [dataclasses.replace(job("k"), vector=vector(1))])


def test_a_job_goes_for_good(store: Store, request: pytest.FixtureRequest) -> None:
    """Removed like any other record, and gone at the next opening of a folder, too."""
    store.commit("u", [said("m", "hello"), job(), job("k")])
    store.remove("u", ["j"])
    assert [record.id for record in store.scan("u", Where(kinds=("job",)))] == ["k"]
    if isinstance(store, FolderStore):
        store.close()
        again = folder(Path(store.location), request.node.callspec.params["store"])
        assert [record.id for record in again.scan("u", Where(kinds=("job",)))] == ["k"]
        assert again.stats("u").records == 1
        again.close()


# --- whole items, for copies of a store


def test_items_come_with_all_their_versions(store: Store) -> None:
    """Everything of a user is yielded once, in order of first writing, messages without a turn among it."""
    store.commit("u", [said("a", "一"), Put(message=Message("tool", "42", id="t", session_id="s", created_at=NOON))])
    store.commit("u", [known("f", "old"), said("b", "b")])
    store.commit("u", [said("a", "二", version=2), known("f", "new", version=2)])
    store.commit("u", [said("a", "三", version=3)])
    store.remove("u", ["b"])

    def text(item: Stored) -> str:
        return item.message.content if item.message else item.record.text if item.record else ""

    assert [[text(item) for item in items] for items in store.items("u")] == [
        ["一", "二", "三"],
        ["42"],
        ["old", "new"],
    ]
    assert [[item.version for item in items] for items in store.items("u")] == [[1, 2, 3], [1], [1, 2]]
    assert list(store.items("nobody")) == []


def test_a_copy_brings_no_forgotten_item_back(store: Store) -> None:
    """A put that restores is skipped if its id was forgotten; one that does not restore is a new item."""
    store.commit("u", [known("f", "the word")])
    store.remove("u", ["f"], transcripts=[Refusal(id="f")])
    copy = dataclasses.replace(known("f", "the word"), restores=True)
    assert store.refused("u", [copy, known("g", "other")]) == ("f",)
    assert store.commit("u", [copy], expect={"f": 0}).skipped == ("f",)
    assert store.fetch("u", ["f"]) == [None]
    assert store.commit("u", [known("f", "anew")]).skipped == ()
    assert store.refused("u", [copy]) == ()


def test_what_rests_on_a_skipped_item_is_skipped(store: Store) -> None:
    """A commit that brings a forgotten message and a record made of it stores neither, versions included."""
    store.commit("u", [said("m", "the word")])
    store.remove("u", ["m"], transcripts=[Refusal("s", id="m")])
    puts = [
        said("m", "changed"),
        said("m", "again"),
        known("r", "of it", source_ids=("turn:m",)),
        known("q", "of that", source_ids=("r",)),
    ]
    assert store.refused("u", puts) == ("m", "r", "q")
    assert store.commit("u", [*puts, known("k", "kept")]).skipped == ("m", "r", "q")
    assert [record.id for record in store.scan("u", Where())] == ["k"]


# --- writing and removing in one commit


def test_a_commit_takes_out_what_it_replaces(store: Store) -> None:
    """What is removed with a commit is gone for readers, searches and dependents, with all its versions."""
    store.commit("u", [said("a", "one old thing", seed=1), said("b", "two", minute=1, seed=2)])
    store.commit("u", [said("a", "one thing", seed=1, version=2)])

    store.commit("u", [said("c", "three", minute=2, seed=3)], remove=["a", "nobody"])

    assert texts(store) == ["two", "three"]
    assert store.fetch("u", ["a"]) == [None]
    assert store.versions("u", "a") == []
    assert set(found(store, store.candidates("u", asked("one", "three")))) >= {"turn:c"}
    assert "turn:a" not in found(store, store.candidates("u", asked("one", seed=1)))
    assert store.stats("u").messages == 2


def test_a_commit_that_is_refused_takes_nothing_out(store: Store) -> None:
    """Whether an item has another version than expected, or a session another size: nothing changes."""
    store.commit("u", [said("a", "one")])

    for wrong in ({"expect": {"a": 2}}, {"sizes": {"s": 2}}, {"sizes": {"s": 0}}, {"sizes": {"s": 1, "new": 1}}):
        with pytest.raises(ConflictError, match="nothing was stored"):
            store.commit("u", [said("b", "two")], remove=["a"], **wrong)

    assert texts(store) == ["one"]
    store.commit("u", [said("b", "two")], remove=["a"], expect={"a": 1}, sizes={"s": 1, "new": 0})
    assert texts(store) == ["two"]


def test_what_a_commit_took_out_may_be_written_again(store: Store) -> None:
    """It was replaced, not forgotten: the same text and id of the same session are taken again."""
    store.commit("u", [said("a", "one")])
    store.commit("u", [], remove=["a"])

    assert texts(store) == []
    assert store.commit("u", [said("a", "one")]).skipped == ()
    assert texts(store) == ["one"]


def test_no_reader_sees_half_of_a_replacement(store: Store) -> None:
    """While a session is replaced again and again, whoever reads it finds one whole state, never none or two."""
    store.commit("u", [said(f"0-{n}", "state 0") for n in range(3)])
    done = threading.Event()
    seen: list[list[str]] = []

    def look() -> None:
        while not done.is_set():
            seen.append(texts(store))

    reader = threading.Thread(target=look)
    reader.start()
    for state in range(1, 40):
        before = [f"{state - 1}-{n}" for n in range(3)]
        store.commit("u", [said(f"{state}-{n}", f"state {state}") for n in range(3)], remove=before)
    done.set()
    reader.join()

    assert seen
    assert all(len(state) == 3 and len(set(state)) == 1 for state in seen)
