"""Encrypted stores on SQL engines: what a key opens, what the database shows without it, and where the keys lie."""

from __future__ import annotations

import base64
import random
import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from items import asked, known, said, space, vector
from memory_places import empty_location
from plain_and_encrypted import KEY
from postgres_server import emptied
from siltstone import Settings, TieredMemory, upkeep
from siltstone.errors import ConfigurationError, DecryptionError, NotFoundError, StoreCorruptedError
from siltstone.opening import open_store
from siltstone.protocols import Refusal, Where
from siltstone.stores.sql.veil import term_key
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter
from siltstone.text.tokenize import terms
from writers import PROCESSES, die_at

pytest.importorskip("cryptography")

OTHER = bytes(reversed(range(32)))
CANARY = "heliotrope-蓝鹊"
(WORD,) = terms("heliotrope")


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty store of each engine is, and where its keys are to be."""
    url = empty_location(request.param, request, tmp_path)
    return f"{url}{'&' if '?' in url else '?'}keys={tmp_path / 'keys'}"


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    """Where an empty SQLite store is; its keys are beside it."""
    return f"sqlite:///{tmp_path / 'memory.db'}"


def opened(location: str, key: bytes | str | None = KEY, **options: Any) -> Any:
    """Open a store as anybody would."""
    options = {"read_only": False, "create": True, **options}
    return open_store(location, durability="os", lock_timeout=5, history=20, key=key, **options).store


def with_canary(location: str, key: bytes | None = KEY) -> Any:
    """Return a store with the canary wherever a text of the user's goes."""
    user = CANARY
    store = opened(location, key)
    store.set_fingerprint(space())
    store.commit(user, [said("m1", "before", seed=1, user=user), said("m2", f"it is {CANARY}", seed=77, user=user)])
    store.commit(user, [known("f", f"word: {CANARY}", seed=77, user=user), known(CANARY, "x", user=user, topic=CANARY)])
    store.commit(user, [known("f", "nothing", seed=3, version=2, user=user)])
    store.commit(user, [known("g", "x", metadata={CANARY: CANARY}, user=user, speaker=CANARY)])
    store.commit(user, [said("m4", "last", session=CANARY, name=CANARY, user=user)])
    store.turn_owed(lambda page: {**page, CANARY: CANARY})
    return store


def dump(location: str) -> list[tuple[str, tuple[Any, ...]]]:
    """Return every row of every table, by the table's name."""
    if location.startswith("sqlite"):
        import sqlite3

        connection: Any = sqlite3.connect(location.removeprefix("sqlite:///").partition("?")[0])
        tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
    else:
        import psycopg

        connection = psycopg.connect(location.rpartition("keys=")[0].rstrip("?&"))
        connection.execute("SET siltstone.everyone = 'on'")
        tables = "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relname ~ '^siltstone_[a-z]+$'"
    with closing(connection):
        names = sorted(name for (name,) in connection.execute(tables).fetchall())
        return [(name, row) for name in names for row in connection.execute(f"SELECT * FROM {name}").fetchall()]


def seen(location: str) -> list[str]:
    """Return the tables, and the file, that show the canary, a word of it, or its vector, in any spelling."""
    half = vector(77).astype(np.float16).tobytes()[:16]
    traces = [CANARY.encode(), CANARY.encode("utf-16-le"), CANARY.encode("utf-16-be"), b"heliotrope", half]
    traces += [trace.hex().encode() for trace in traces] + [base64.b64encode(CANARY.encode()).rstrip(b"=")]
    shown = []
    for table, row in dump(location):
        values = [bytes(one) if isinstance(one, (bytes, memoryview)) else str(one).encode() for one in row]
        plain_term = table == "siltstone_terms" and term_key(WORD) in row
        if plain_term or table == "siltstone_vectors" or any(t in value for t in traces for value in values):
            shown.append(table)
    if location.startswith("sqlite"):
        data = Path(location.removeprefix("sqlite:///").partition("?")[0]).read_bytes()
        shown += ["the file"] * any(trace in data for trace in traces)
    return shown


def keys_in(folder: Path) -> dict[str, bytes]:
    """Return the files in a folder of keys."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "LOCK"
    }


# --- opening


def test_what_was_written_is_read_with_the_key(location: str) -> None:
    """Everything comes back in a new opening: texts, metadata, names, sessions, vectors, the users, filters."""
    with_canary(location).close()
    with closing(opened(location)) as store:
        assert store.encrypted
        assert list(store.users()) == [CANARY]
        assert [r.text for r in store.scan(CANARY, Where())] == [
            "before",
            f"it is {CANARY}",
            "nothing",
            "x",
            "x",
            "last",
        ]
        assert store.messages(CANARY, CANARY)[0].name == CANARY
        assert [session.session_id for session in store.sessions(CANARY)] == ["s", CANARY]
        assert [r.id for r in store.scan(CANARY, Where(kinds=("fact",), metadata={CANARY: CANARY}))] == ["g"]
        assert [version.record.text for version in store.versions(CANARY, "f")] == [f"word: {CANARY}"]
        found = store.candidates(CANARY, asked(WORD, seed=77))
        assert np.nanmax(found.dense) == pytest.approx(1, abs=1e-3)
        assert found.document_frequency[0] > 0
        assert set(found.speakers) == {CANARY}
        assert store.owed() == {CANARY: CANARY}


def test_wrong_missing_and_superfluous_keys_touch_nothing(location: str, tmp_path: Path) -> None:
    """Each is an error that says what to do, and no row and no key changes."""
    with_canary(location).close()
    rows, keys = dump(location), keys_in(tmp_path / "keys")
    for read_only in (False, True):
        for key in (OTHER, "open sesame"):
            with pytest.raises(DecryptionError, match="nothing was changed"):
                opened(location, key, read_only=read_only)
        with pytest.raises(DecryptionError, match=r"key=.*SILTSTONE_KEY"):
            opened(location, None, read_only=read_only)
        with pytest.raises(ConfigurationError, match="32"):
            opened(location, b"short", read_only=read_only)
    assert (dump(location), keys_in(tmp_path / "keys")) == (rows, keys)


def test_a_plain_store_takes_no_key(location: str, tmp_path: Path) -> None:
    """It stays plain, and nothing is made for a key that it was given."""
    with_canary(location, None).close()
    rows = dump(location)
    for read_only in (False, True):
        with pytest.raises(ConfigurationError, match="not encrypted"):
            opened(location, KEY, read_only=read_only)
    assert dump(location) == rows
    assert not (tmp_path / "keys").exists()
    assert {"siltstone_rows", "siltstone_terms", "siltstone_vectors", "siltstone_meta"} <= set(seen(location))


def test_a_store_opened_plain_before_it_was_encrypted_writes_nothing(location: str) -> None:
    """Whoever had it open while it was empty gets an error, not a plain row among sealed ones."""
    early = opened(location, None)
    with_canary(location).close()
    with pytest.raises(DecryptionError):
        early.commit("u", [said("m", f"it is {CANARY}")])
    early.close()
    assert seen(location) == []


def test_a_server_needs_to_be_told_where_the_keys_are(postgres: str) -> None:
    """There is no place beside a server; a file has its keys in a folder beside it."""
    emptied(postgres)
    with pytest.raises(ConfigurationError, match=r"\?keys=FOLDER"):
        opened(postgres)


def test_the_environment_gives_the_key_of_a_database(sqlite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A memory over a database is encrypted by ``SILTSTONE_KEY``, as a folder is; tiers that show it are refused."""
    monkeypatch.setenv("SILTSTONE_KEY", "open sesame")
    options: dict[str, Any] = {"embedder": HashEmbedder(), "token_counter": WordCounter(), "clock": FrozenClock()}
    with TieredMemory.open(sqlite, user_id="alice", **options) as memory:
        memory.add([("user", f"I like {CANARY}.")], session_id="monday")
        assert CANARY in memory.context("What do I like?", max_tokens=200).text
    assert seen(sqlite) == []
    assert upkeep.is_encrypted(sqlite)
    with pytest.raises(ConfigurationError, match="vector_store would hold its vectors in the clear"):
        TieredMemory.open(sqlite, vector_store=object(), **options)
    assert list(upkeep.users(sqlite)) == ["alice"]
    with TieredMemory.open(sqlite, user_id="alice", **options) as memory:
        memory.forget(everything=True)
        assert memory.sessions() == []
    assert [entry.action for entry in upkeep.audit(sqlite)] == ["erase"]


# --- what is seen without the key


def test_nothing_is_seen_in_the_database(location: str) -> None:
    """No row and no byte of the file shows a text, an id, a name, metadata, a word or a vector of the user's."""
    store = with_canary(location)
    assert seen(location) == []
    many = [said(f"x{n:03}", f"{CANARY} {n}", minute=n, user=CANARY, session=CANARY, seed=77) for n in range(60)]
    store.commit(CANARY, many)
    store.remove(CANARY, ["m2", "x007"], transcripts=[Refusal("s", text=f"it is {CANARY}")])
    store.put_vectors(CANARY, store.pending(CANARY, 1), vector(77)[None])
    assert seen(location) == []
    store.remove(CANARY, [], everything=True)
    store.close()
    assert seen(location) == []


def test_equal_texts_of_two_users_look_different(location: str) -> None:
    """Neither ids nor sessions nor words of one user tell anything about those of another."""
    with closing(opened(location)) as store:
        for user in ("u", "v"):
            store.commit(user, [said("m", "the same words", user=user, seed=1)])
    shared: dict[str, list[set[Any]]] = {"siltstone_rows": [], "siltstone_terms": []}
    for user in {row[0] for table, row in dump(location) if table == "siltstone_users"}:
        rows = [(table, row) for table, row in dump(location) if row[0] == user]
        shared["siltstone_rows"].append(
            {v for table, row in rows if table == "siltstone_rows" for v in (row[3], row[9])}
        )
        shared["siltstone_terms"].append({row[1] for table, row in rows if table == "siltstone_terms"})
    for one, other in shared.values():
        assert one
        assert not one & other


# --- the same answers as a plain store


def test_an_encrypted_store_answers_as_a_plain_one(tmp_path: Path) -> None:
    """Over random writes, changes, removals and late vectors, by an old and a new opening, candidates are equal."""
    rng = random.Random(5)
    plain = opened(f"sqlite:///{tmp_path / 'plain.db'}", None)
    sealed, reader = (opened(f"sqlite:///{tmp_path / 'sealed.db'}") for _ in range(2))
    for store in (plain, sealed):
        store.set_fingerprint(space())
    for turn in range(12):
        puts = [
            said(f"m{turn}-{n}", f"word{rng.randrange(5)} \\ and {n}", minute=turn, name="a\\b",
                 seed=rng.choice([None, turn * 9 + n]))
            for n in range(6)
        ] + [known("f", f"fact {turn}", seed=turn, version=turn + 1, importance=0.5)]  # fmt: skip
        gone = [f"m{rng.randrange(turn + 1)}-{rng.randrange(6)}"]
        made = vector(900 + turn)[None]
        answers = []
        for store in (plain, sealed):
            store.commit("u", puts)
            store.remove("u", gone)
            store.put_vectors("u", store.pending("u", 1), made)
        for store in (plain, sealed, reader):
            found = store.candidates("u", asked("word1", "word3", seed=turn, depth=20))
            answers.append({name: getattr(found, name) for name in ("keys", "dense", "role", "importance", "speaker")})
            assert found.speakers == ("a\\b",)
        for answer in answers[1:]:
            for name, values in answers[0].items():
                np.testing.assert_allclose(answer[name], values, atol=1e-6, err_msg=name)
    for store in (plain, sealed, reader):
        store.close()


# --- keys


def test_forgetting_a_user_destroys_the_key_of_every_copy(sqlite: str, tmp_path: Path) -> None:
    """A copy of the database from before shows nothing of them, says so, and is rid of them by forgetting again."""
    store = with_canary(sqlite)
    store.commit("v", [said("m", "of another", user="v")])
    store.close()
    shutil.copy(tmp_path / "memory.db", tmp_path / "copy.db")
    with closing(opened(sqlite)) as store:
        store.remove(CANARY, [], everything=True)
    shutil.copy(tmp_path / "copy.db", tmp_path / "memory.db")
    with closing(opened(sqlite)) as store:
        with pytest.raises(StoreCorruptedError, match="forgotten for good"):
            list(store.scan(CANARY, Where()))
        assert [m.content for m in store.messages("v", "s")] == ["of another"]
        store.remove(CANARY, [], everything=True)
        assert list(store.users()) == ["v"]
        store.commit(CANARY, [said("m", "I am back", user=CANARY)])
        assert [m.content for m in store.messages(CANARY, "s")] == ["I am back"]


def test_a_killed_removal_is_finished_by_the_next_opening(sqlite: str, tmp_path: Path) -> None:
    """Killed between the rows and the key, at any change on disk, the key goes with the next opening."""
    for step in range(0, 20, 2):
        with_canary(sqlite).close()
        before = len([name for name in keys_in(tmp_path / "memory.db.keys") if "/" in name])
        assert before == 1
        process = PROCESSES.Process(target=erase_until, args=(sqlite, step))
        process.start()
        process.join()
        with closing(opened(sqlite)) as store:
            left = [name for name in keys_in(tmp_path / "memory.db.keys") if "/" in name]
            assert bool(left) == bool(list(store.users()))
            store.remove(CANARY, [], everything=True)
        if process.exitcode == 0:
            break
    assert process.exitcode == 0
    assert step > 1


def erase_until(location: str, step: int) -> None:
    """Remove everything of the user, and be killed at a change on disk."""
    store = opened(location)
    die_at(step)
    store.remove(CANARY, [], everything=True)


def test_lost_and_foreign_keys_are_told_apart(sqlite: str, tmp_path: Path) -> None:
    """Without the folder, one user's key, or with another store's keys, each error names what to put back."""
    keys = tmp_path / "memory.db.keys"
    store = with_canary(sqlite)
    store.commit("v", [said("m", "of another", user="v")])
    store.close()
    rows = dump(sqlite)
    shutil.move(keys, tmp_path / "aside")
    with pytest.raises(StoreCorruptedError, match="MASTER is missing"):
        opened(sqlite)
    opened(f"sqlite:///{tmp_path / 'other.db'}?keys={keys}").close()
    with pytest.raises(StoreCorruptedError, match="keys of another store"):
        opened(sqlite)
    with pytest.raises(ConfigurationError, match="keys of another store"):
        opened(f"sqlite:///{tmp_path / 'third.db'}?keys={keys}")
    shutil.rmtree(keys)
    shutil.move(tmp_path / "aside", keys)
    (mine,) = [row[-1] for table, row in dump(sqlite) if table == "siltstone_users" and row[4] > 2]
    (keys / mine[:2] / mine).unlink()
    with closing(opened(sqlite)) as store:
        with pytest.raises(StoreCorruptedError, match="put the newer folder back"):
            store.commit(CANARY, [said("n", "new", user=CANARY)])
        assert [m.content for m in store.messages("v", "s")] == ["of another"]
    assert dump(sqlite) == rows


def test_rekey_changes_the_key_and_all_keys(location: str, tmp_path: Path) -> None:
    """The new key alone changes one file; ``data_keys`` every sealed cell, and whoever has the store open goes on."""
    with_canary(location).close()
    rows = dump(location)
    assert upkeep.rekey(location, key=KEY, new_key="open sesame").users == 0
    assert [row for row in dump(location) if row[0] != "siltstone_audit"] == rows
    with pytest.raises(DecryptionError):
        opened(location)
    user_keys = {name for name in keys_in(tmp_path / "keys") if "/" in name}
    store = opened(location, "open sesame")
    found = store.candidates(CANARY, asked(WORD, seed=77))
    assert upkeep.rekey(location, key="open sesame", data_keys=True).users == 1
    assert not user_keys & set(keys_in(tmp_path / "keys"))
    kept = {
        value for _, row in rows for value in row if isinstance(value, (bytes, memoryview, str)) and len(value) > 20
    }
    assert not kept & {value for table, row in dump(location) for value in row[1:] if table != "siltstone_meta"}
    again = store.candidates(CANARY, asked(WORD, seed=77))
    np.testing.assert_array_equal(again.dense, found.dense)
    assert again.document_frequency.tolist() == found.document_frequency.tolist()
    store.commit(CANARY, [said("later", f"and {CANARY}", user=CANARY)])
    assert [entry.action for entry in upkeep.audit(location, key="open sesame")] == ["rekey", "rekey"]
    assert store.owed() == {CANARY: CANARY}
    store.close()
    assert seen(location) == []


def test_a_killed_rekey_goes_on(sqlite: str, tmp_path: Path) -> None:
    """Killed at any change on disk, all is read with one of the two keys, and the next run brings it to its end."""
    for step in range(2, 200, 6):
        database = tmp_path / "memory.db"
        database.unlink(missing_ok=True)
        shutil.rmtree(tmp_path / "memory.db.keys", ignore_errors=True)
        with_canary(sqlite).close()
        process = PROCESSES.Process(target=rekey_until, args=(sqlite, step))
        process.start()
        process.join()
        try:
            store = opened(sqlite)
        except DecryptionError:
            store = opened(sqlite, OTHER)
        assert len(list(store.scan(CANARY, Where()))) == 6
        store.close()
        upkeep.rekey(sqlite, key=KEY, new_key=OTHER, data_keys=True)
        with closing(opened(sqlite, OTHER)) as store:
            assert len(list(store.scan(CANARY, Where()))) == 6
        assert len([name for name in keys_in(tmp_path / "memory.db.keys") if "/" in name]) == 1
        if process.exitcode == 0:
            break
    assert process.exitcode == 0
    assert step > 3


def rekey_until(location: str, step: int) -> None:
    """Give the store other keys, and be killed at a change on disk."""
    die_at(step)
    upkeep.rekey(location, key=KEY, new_key=OTHER, data_keys=True)


def test_a_plain_database_has_no_keys_to_change(sqlite: str) -> None:
    """It says how it is encrypted; where there is no store, that."""
    with pytest.raises(NotFoundError):
        upkeep.rekey(sqlite, key=KEY, new_key=OTHER)
    with_canary(sqlite, None).close()
    with pytest.raises(ConfigurationError, match="--to-key-file"):
        upkeep.rekey(sqlite, key=KEY, new_key=OTHER)


# --- moving


def test_stores_move_between_plain_and_encrypted_databases(location: str, tmp_path: Path) -> None:
    """Plain into encrypted, into an encrypted folder, and back, by count and checksum; plain only on word."""
    source, back = f"sqlite:///{tmp_path / 'source.db'}", f"sqlite:///{tmp_path / 'back.db'}"
    with_canary(source, None).close()
    there = upkeep.migrate(source, location, target_key=KEY)
    assert seen(location) == []
    with pytest.raises(ConfigurationError, match="--plain"):
        upkeep.migrate(location, back, key=KEY)
    folder = str(tmp_path / "folder")
    assert upkeep.migrate(location, folder, key=KEY, target_key=OTHER).checksum == there.checksum
    assert upkeep.migrate(folder, back, key=OTHER, plain=True).checksum == there.checksum
    assert upkeep.migrate(source, location, target_key=KEY).target_was == "the same"
    with closing(opened(location)) as store:
        assert np.nanmax(store.candidates(CANARY, asked(seed=77)).dense) == pytest.approx(1, abs=1e-3)


def test_a_replaced_encrypted_database_keeps_no_key_of_before(location: str, tmp_path: Path) -> None:
    """What was there goes with its keys, and what comes is sealed with others."""
    with_canary(location).close()
    before = {name for name in keys_in(tmp_path / "keys") if "/" in name}
    source = f"sqlite:///{tmp_path / 'source.db'}"
    with closing(opened(source, None)) as store:
        store.commit("v", [said("m", "of another", user="v")])
    upkeep.migrate(source, location, target_key=KEY, replace=True)
    after = {name for name in keys_in(tmp_path / "keys") if "/" in name}
    assert len(after) == 1
    assert not before & after
    with closing(opened(location)) as store:
        assert list(store.users()) == ["v"]


def test_an_export_goes_into_and_out_of_an_encrypted_database(location: str, tmp_path: Path) -> None:
    """A user's export from an encrypted database comes into another store as the same memories."""
    options: dict[str, Any] = {"embedder": HashEmbedder(), "token_counter": WordCounter(), "clock": FrozenClock()}
    with TieredMemory.open(location, user_id="alice", key=KEY, **options) as memory:
        memory.add([("user", f"I like {CANARY}.")], session_id="monday")
        memory.export_to(tmp_path / "alice.jsonl")
    with TieredMemory.open(tmp_path / "folder", user_id="alice", settings=Settings(), **options) as memory:
        memory.import_from(tmp_path / "alice.jsonl")
        assert [m.content for m in memory.messages("monday")] == [f"I like {CANARY}."]
        memory.export_to(tmp_path / "again.jsonl")
    lines = [(tmp_path / name).read_text().splitlines()[1:] for name in ("alice.jsonl", "again.jsonl")]
    assert lines[0] == lines[1]
