"""Encryption at rest: what a key opens, what no one sees without it, and that damage is told as in a plain store."""

from __future__ import annotations

import base64
import os
import random
import shutil
import sys
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from items import asked, known, said, space, vector
from siltstone import TieredMemory
from siltstone.errors import ConfigurationError, DecryptionError, NotFoundError, StoreCorruptedError
from siltstone.protocols import Refusal, Where
from siltstone.stores.folder import FolderStore
from siltstone.testing import HashEmbedder
from siltstone.upkeep import backup, restore
from writers import PROCESSES, die_at

pytest.importorskip("cryptography")

KEY = bytes(range(32))
OTHER = bytes(reversed(range(32)))
CANARY = "heliotrope-蓝鹊"


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return every path below a folder with its time of change and its bytes, locks aside."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in [folder, *sorted(folder.rglob("*"))]
        if path.name != "LOCK"
    }


def traces() -> tuple[bytes, ...]:
    """Return the canary in UTF-8 and UTF-16, and the first numbers of its vector."""
    half = vector(77).astype(np.float16).tobytes()
    return CANARY.encode(), CANARY.encode("utf-16-le"), CANARY.encode("utf-16-be"), half[:16]


def seen(folder: Path) -> list[str]:
    """Return the files below a folder, and the paths, that show the canary, and all that a name shows of it."""
    paths = list(folder.rglob("*"))
    named = [str(path) for path in paths if "heliotrope" in str(path.relative_to(folder))]
    files = [path for path in paths if path.is_file()]
    return named + [path.name for path in files if any(trace in path.read_bytes() for trace in traces())]


def with_canary(folder: Path, key: bytes | None = KEY) -> FolderStore:
    """Return a store with the canary wherever a text of the user's goes."""
    user = CANARY
    store = FolderStore(folder, key=key)
    store.set_fingerprint(space())
    store.commit(user, [said("m1", "before", seed=1, user=user), said("m2", f"it is {CANARY}", seed=77, user=user)])
    store.commit(user, [known("f", f"word: {CANARY}", seed=77, user=user), known(CANARY, "x", user=user, topic=CANARY)])
    store.commit(user, [known("f", "nothing", seed=3, version=2, user=user)])
    store.commit(user, [known("g", "x", metadata={CANARY: CANARY}, user=user)])
    store.commit(user, [said("m4", "last", session=CANARY, name=CANARY, user=user)])
    return store


# --- opening


def test_what_was_written_is_read_with_the_key(tmp_path: Path) -> None:
    """Everything comes back in a new opening: texts, metadata, names, vectors, the users."""
    with_canary(tmp_path).close()
    store = FolderStore(tmp_path, key=KEY)
    assert list(store.users()) == [CANARY]
    assert [r.text for r in store.scan(CANARY, Where())] == ["before", f"it is {CANARY}", "nothing", "x", "x", "last"]
    assert store.messages(CANARY, CANARY)[0].name == CANARY
    assert [stored.record.text for stored in store.versions(CANARY, "f") if stored.record] == [f"word: {CANARY}"]
    assert np.nanmax(store.candidates(CANARY, asked(seed=77)).dense) == pytest.approx(1, abs=1e-3)
    assert store.stats(CANARY).health == ()


@pytest.mark.parametrize(
    ("made", "opened"),
    [
        (KEY, KEY),
        (KEY, "base64:" + base64.b64encode(KEY).decode()),
        (KEY, "hex:" + KEY.hex()),
        ("一个口令 пароль", "一个口令 пароль"),
        ("ﬁve", "five"),
    ],
)
def test_a_key_is_bytes_or_a_passphrase(tmp_path: Path, made: bytes | str, opened: bytes | str) -> None:
    """32 bytes, the same written as text, or a passphrase, which is the same however it is composed."""
    FolderStore(tmp_path, key=made).commit("u", [said("a", "one")])
    assert [m.content for m in FolderStore(tmp_path, key=opened).messages("u", "s")] == ["one"]


def test_wrong_missing_and_superfluous_keys_touch_nothing(tmp_path: Path) -> None:
    """Each is an error that says what to do, and no byte and no time on disk changes."""
    for name, key in (("bytes", KEY), ("passphrase", "open sesame"), ("plain", None)):
        store = FolderStore(tmp_path / name, key=key)
        store.commit("u", [said("a", "one", seed=1)])
        store.close()
    before = tree(tmp_path)
    wrong: dict[str, list[bytes | str]] = {"bytes": [OTHER, "open sesame"], "passphrase": ["Open sesame", KEY]}
    for read_only in (False, True):
        for name, keys in wrong.items():
            for key in keys:
                with pytest.raises(DecryptionError, match="nothing was changed"):
                    FolderStore(tmp_path / name, key=key, read_only=read_only)
            with pytest.raises(DecryptionError, match=r"key=.*SILTSTONE_KEY"):
                FolderStore(tmp_path / name, read_only=read_only)
        for key in (KEY, "open sesame"):
            with pytest.raises(ConfigurationError, match="not encrypted"):
                FolderStore(tmp_path / "plain", key=key, read_only=read_only)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("key", [b"short", bytes(33), "", "base64:AAAA", "base64:?", "hex:00", "hex:zz"])
def test_what_cannot_be_a_key_is_refused(tmp_path: Path, key: bytes | str) -> None:
    """Bytes of another length, nothing at all, and text that is not what it says, are errors; no store is made."""
    folder = tmp_path / "store"
    with pytest.raises(ConfigurationError):
        FolderStore(folder, key=key)
    assert not folder.exists()
    FolderStore(folder, key=KEY)


def test_the_memory_takes_keys_and_callables_and_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``key=`` may be a callable, called once; without one ``SILTSTONE_KEY`` counts; ``:memory:`` takes none."""
    calls: list[int] = []

    def key() -> str:
        calls.append(1)
        return "open sesame"

    embedder = HashEmbedder()
    with TieredMemory.open(tmp_path, key=key, embedder=embedder) as memory:
        memory.add([("user", f"I like {CANARY}.")], session_id="s")
    assert calls == [1]
    assert seen(tmp_path) == []
    with pytest.raises(DecryptionError):
        TieredMemory.open(tmp_path, embedder=embedder)
    monkeypatch.setenv("SILTSTONE_KEY", "open sesame")
    with TieredMemory.open(tmp_path, embedder=embedder) as memory:
        assert CANARY in memory.context("What do I like?").text
        assert TieredMemory.reembed(tmp_path, embedder=embedder) == 0
    with TieredMemory.open(":memory:", embedder=embedder):
        pass
    with pytest.raises(ConfigurationError):
        TieredMemory.open(":memory:", key=KEY, embedder=embedder)
    with pytest.raises(ConfigurationError, match="int"):
        TieredMemory.open(tmp_path, key=lambda: 5, embedder=embedder)  # type: ignore[arg-type,return-value]


def test_a_second_opening_in_the_process_needs_the_key_too(tmp_path: Path) -> None:
    """The engine that is open already is shared with nobody who has another key, or none."""
    embedder = HashEmbedder()
    with TieredMemory.open(tmp_path / "sealed", key=KEY, embedder=embedder):
        for key in (OTHER, "open sesame", None):
            with pytest.raises(DecryptionError):
                TieredMemory.open(tmp_path / "sealed", key=key, embedder=embedder)
        TieredMemory.open(tmp_path / "sealed", key=KEY, embedder=embedder).close()
    with TieredMemory.open(tmp_path / "plain", embedder=embedder), pytest.raises(ConfigurationError):
        TieredMemory.open(tmp_path / "plain", key=KEY, embedder=embedder)


# --- what is seen without the key


def test_nothing_is_seen_at_any_moment(tmp_path: Path) -> None:
    """At no change on disk does a file or a name show a text, an id, a name, metadata or a vector of the user's."""
    shown: list[str] = []
    watching, steps = True, 0

    def watch(event: str, args: tuple[Any, ...]) -> None:
        nonlocal steps
        if watching and event == "siltstone.disk" and str(tmp_path) in args[1]:
            steps += 1
            shown.extend(seen(tmp_path))

    sys.addaudithook(watch)
    store = with_canary(tmp_path)
    many = [said(f"x{n:03}", f"{CANARY} {n}", minute=n, user=CANARY, session=CANARY, seed=77) for n in range(300)]
    store.commit(CANARY, many)
    store.remove(CANARY, ["m2", "x007"], transcripts=[Refusal("s", text=f"it is {CANARY}")])
    store.put_vectors(CANARY, store.pending(CANARY, 1), vector(77)[None])
    store.close()
    assert list(tmp_path.rglob("cache"))
    FolderStore(tmp_path, key=KEY).remove(CANARY, [], everything=True)
    watching = False
    assert shown == []
    assert steps > 60
    with_canary(tmp_path / "plain", key=None)
    assert seen(tmp_path / "plain")  # the test can see


def test_a_cache_is_taken_and_gives_the_same_answers(tmp_path: Path) -> None:
    """An open from the sealed cache equals one from the documents; a cache of another time does not come in."""
    store = FolderStore(tmp_path, key=KEY)
    store.commit("u", [said(f"m{n:04}", f"word{n % 7} {n}", minute=n, seed=n) for n in range(600)])
    store.close()
    (cache,) = tmp_path.rglob("cache")
    whole = cache.read_bytes()
    answers = []
    rng = random.Random(3)
    for change in range(20):
        if change:
            at = rng.randrange(len(whole))
            cache.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        if change == 19:
            cache.unlink()
        again = FolderStore(tmp_path, key=KEY, read_only=True)
        found = again.candidates("u", asked("word3", seed=5, depth=40))
        answers.append((found.total, found.document_frequency.tolist(), np.nan_to_num(found.dense).round(4).tolist()))
        again.close()
    assert all(answer == answers[0] for answer in answers)


# --- damage


def small_store(folder: Path, user: str = "u", key: bytes | None = KEY) -> Path:
    """Write four commits of three messages; return the user's folder."""
    store = FolderStore(folder, durability="os", key=key)
    before = set(folder.glob("users/*/*"))
    for first in range(0, 12, 3):
        puts = [said(f"m{n}", f"text {n} of {user}", seed=n, user=user) for n in range(first, first + 3)]
        store.commit(user, puts)
    store.close()
    (made,) = set(folder.glob("users/*/*")) - before
    return made


def read_back(folder: Path, user: str = "u", **options: Any) -> tuple[list[int], bool]:
    """Return which of the messages are read, and whether damage is reported."""
    store = FolderStore(folder, durability="os", key=KEY, **options)
    records = list(store.scan(user, Where()))
    assert all(record.text == f"text {record.id[6:]} of {user}" for record in records)
    health = store.stats(user).health
    store.close()
    return [int(record.id[6:]) for record in records], bool(health)


def test_a_log_cut_anywhere_loses_only_the_cut_commit(tmp_path: Path) -> None:
    """Cut at every byte of its last commit, a sealed log gives all whole commits, none in part, and goes on."""
    made = small_store(tmp_path)
    log = made / "docs.000001.jsonl"
    whole = log.read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == 10]
    assert len(ends) == 13  # a line for each document and the head: no newline within
    assert b"\0" not in whole
    for size in range(ends[9], len(whole) + 1):
        log.write_bytes(whole[:size])
        expected = list(range(12 if size == len(whole) else 9))
        assert read_back(tmp_path) == (expected, size not in (ends[9], ends[12]))
        assert read_back(tmp_path) == (expected, False)


@pytest.mark.parametrize("read_only", [True, False])
def test_a_flipped_bit_costs_its_document_and_is_reported(tmp_path: Path, read_only: bool) -> None:
    """As in a plain store: at most the documents that it touches are lost, it is reported, the others are read."""
    made = small_store(tmp_path)
    log = made / "docs.000001.jsonl"
    whole = log.read_bytes()
    rng = random.Random(1)
    for _ in range(100):
        at = rng.randrange(len(whole))
        log.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :])
        found, reported = read_back(tmp_path, read_only=read_only)
        hit = whole[:at].count(b"\n")  # the line; the first names the user
        spared = {n for n in range(12) if n + 1 != hit and (whole[at] != 10 or n != hit)}
        assert spared <= set(found)
        assert reported


def test_damaged_vectors_are_embedded_anew(tmp_path: Path) -> None:
    """A sealed row that does not check is not used: its record is pending again, the others keep theirs."""
    made = small_store(tmp_path)
    (path,) = made.glob("vectors.*")
    whole = path.read_bytes()
    size = len(whole) // 12
    rng = random.Random(2)
    for _ in range(40):
        at = rng.randrange(len(whole))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :])
        store = FolderStore(tmp_path, read_only=True, key=KEY)
        assert [record.id for record in store.pending("u", 99)] == [f"turn:m{at // size}"]
        assert any("vector" in note for note in store.stats("u").health)


def test_sealed_things_open_only_where_they_were_sealed(tmp_path: Path) -> None:
    """A document under another number, a row of another document, and either in another user's file, are damage."""
    one, two = small_store(tmp_path), small_store(tmp_path, "v")
    log = one / "docs.000001.jsonl"
    whole, foreign = log.read_bytes(), (two / "docs.000001.jsonl").read_bytes()
    lines = [line + b"\n" for line in whole.split(b"\n")[:-1]]

    def forged(head: bytes, body: bytes) -> bytes:
        """Return a line that checks, with the number of one and the document of another."""
        checked = head[18:].split(b" ", 1)[0] + b" " + body[18:].split(b" ", 1)[1].rstrip(b"\n")
        return b"%08x %08x %b\n" % (len(checked), crc32(checked), checked)

    for replacement in (forged(lines[5], lines[6]), foreign.split(b"\n")[5] + b"\n"):
        log.write_bytes(b"".join([*lines[:5], replacement, *lines[6:]]))
        assert read_back(tmp_path) == ([n for n in range(12) if n != 4], True)
    log.write_bytes(whole)

    (path,), (other,) = one.glob("vectors.*"), two.glob("vectors.*")
    rows, size = path.read_bytes(), path.stat().st_size // 12
    exchanged = bytearray(rows)
    for row, source in ((3, rows[4 * size : 5 * size]), (7, other.read_bytes()[7 * size : 8 * size])):
        body = exchanged[row * size + 4 : row * size + 16] + source[16:]
        exchanged[row * size : (row + 1) * size] = crc32(body).to_bytes(4, "little") + body
    path.write_bytes(exchanged)
    store = FolderStore(tmp_path, read_only=True, key=KEY)
    assert [record.id for record in store.pending("u", 99)] == ["turn:m3", "turn:m7"]


def test_a_user_in_the_place_of_another_is_refused(tmp_path: Path) -> None:
    """Whole folders that were exchanged are an error, not another user's memories."""
    one, two = small_store(tmp_path), small_store(tmp_path, "v")
    shutil.rmtree(one)
    shutil.copytree(two, one)
    store = FolderStore(tmp_path, key=KEY)
    with pytest.raises(StoreCorruptedError, match="move it back"):
        store.messages("u", "s")
    assert len(store.messages("v", "s")) == 12


# --- KEYS


def test_damaged_keys_say_what_is_lost(tmp_path: Path) -> None:
    """One damaged copy of a key file is reported and survived; both are an error that touches nothing."""
    one = small_store(tmp_path)
    small_store(tmp_path, "v")
    (key,) = (path for path in (tmp_path / "KEYS").glob("??/*") if path.name.encode() in (one / "KEY").read_bytes())
    for path in (tmp_path / "KEYS" / "MASTER", key, one / "KEY"):
        whole = path.read_bytes()
        path.write_bytes(b"!" + whole[1:])
        store = FolderStore(tmp_path, key=KEY, read_only=True)
        assert len(store.messages("u", "s")) == 12
        assert any("KEY" in note for note in store.stats("u").health)
        path.write_bytes(whole.replace(b'"', b"'"))
        before = tree(tmp_path)
        with pytest.raises(StoreCorruptedError, match=str(path)):
            FolderStore(tmp_path, key=KEY).messages("u", "s")
        if path.name != "MASTER":
            store = FolderStore(tmp_path, key=KEY)
            assert len(store.messages("v", "s")) == 12
            with pytest.raises(StoreCorruptedError, match=str(path)):
                store.commit("u", [said("n", "new")])
        assert tree(tmp_path) == before
        path.write_bytes(whole)
    assert read_back(tmp_path) == (list(range(12)), False)


def test_a_store_without_its_keys_is_no_new_store(tmp_path: Path) -> None:
    """A restored backup, which holds no KEYS, says what to put back; nothing is written."""
    made = small_store(tmp_path)
    shutil.move(tmp_path / "KEYS", tmp_path.parent / "kept")
    before = tree(tmp_path)
    with pytest.raises(StoreCorruptedError, match="KEYS"):
        FolderStore(tmp_path, key=KEY)
    assert tree(tmp_path) == before
    shutil.move(tmp_path.parent / "kept", tmp_path / "KEYS")
    (made / "KEY").unlink()
    with pytest.raises(StoreCorruptedError, match="KEY is gone"):
        FolderStore(tmp_path, key=KEY).commit("u", [said("n", "new")])


@pytest.mark.parametrize("key", [KEY, OTHER, "open sesame", None, b"short"])
def test_keys_without_their_store_are_no_new_store(tmp_path: Path, key: bytes | str | None) -> None:
    """KEYS alone, put back before the backup, stays as it is under whatever key; the restore finds it there."""
    small_store(tmp_path / "lost")
    backup(tmp_path / "lost", tmp_path / "backup", key=KEY)
    shutil.copytree(tmp_path / "lost" / "KEYS", tmp_path / "store" / "KEYS")
    before = tree(tmp_path / "store")
    for read_only in (False, True):
        with pytest.raises((ConfigurationError, NotFoundError)):
            FolderStore(tmp_path / "store", key=key, read_only=read_only)
        assert tree(tmp_path / "store") == before
    restore(tmp_path / "backup", tmp_path / "store", key=KEY)
    assert read_back(tmp_path / "store") == (list(range(12)), False)


def test_a_store_whose_making_was_killed_is_made_with_the_same_key(tmp_path: Path) -> None:
    """Killed at any step of it, the next open with the key makes the store; another key, or none, changes nothing."""
    begun = 0
    for step in range(100):
        folder = tmp_path / str(step)
        process = PROCESSES.Process(target=make_until, args=(folder, step))
        process.start()
        process.join()
        before = tree(folder) if folder.exists() else {}
        if "KEYS/MASTER" in before:
            begun += "STORE" not in before
            for key in (OTHER, "open sesame", None):
                with pytest.raises(DecryptionError, match="nothing was changed"):
                    FolderStore(folder, key=key)
            assert tree(folder) == before
        FolderStore(folder, key=KEY).commit("u", [said("a", "one")])
        if process.exitcode == 0:
            break
    assert process.exitcode == 0
    assert begun > 2


def make_until(folder: Path, step: int) -> None:
    """Make a store, and be killed at a change on disk."""
    die_at(step)
    FolderStore(folder, key=KEY)


@pytest.mark.parametrize(("before", "after"), [(None, KEY), (KEY, None), (KEY, OTHER)])
def test_another_store_in_the_place_of_an_open_one_is_told(
    tmp_path: Path, before: bytes | None, after: bytes | None
) -> None:
    """A store that is replaced while it is open, by one of another kind or key, is an error, and is not written to."""
    for name, key in (("store", before), ("other", after)):
        small_store(tmp_path / name, key=key)
    store = FolderStore(tmp_path / "store", key=before)
    assert len(store.messages("u", "s")) == 12
    shutil.rmtree(tmp_path / "store")
    shutil.move(tmp_path / "other", tmp_path / "store")
    left = tree(tmp_path / "store")
    for act in (lambda: store.messages("u", "s"), lambda: store.commit("v", [said("n", "new", user="v")])):
        with pytest.raises((ConfigurationError, DecryptionError), match="nothing was changed"):
            act()
    assert tree(tmp_path / "store") == left


# --- removing a user


def test_a_removed_user_cannot_be_read_from_any_copy(tmp_path: Path) -> None:
    """With everything, the key is destroyed: a copy of the user's folder is noise, even beside the present KEYS."""
    folder = tmp_path / "store"
    made = small_store(folder)
    small_store(folder, "v")
    shutil.copytree(made, tmp_path / "copy")
    store = FolderStore(folder, key=KEY)
    reader = FolderStore(folder, key=KEY)
    assert len(reader.messages("u", "s")) == 12
    store.remove("u", ["m1"], transcripts=[Refusal("s", id="m1")])
    store.remove("u", [], everything=True)
    assert reader.messages("u", "s") == []
    assert store.commit("u", [said("m1", "x"), said("n", "new")]).skipped == ("m1",)
    assert [m.content for m in reader.messages("u", "s")] == ["new"]
    assert len(list((folder / "KEYS").glob("??/*"))) == 2
    store.remove("u", [], everything=True)
    shutil.rmtree(made, ignore_errors=True)
    shutil.copytree(tmp_path / "copy", made)
    for opened in (FolderStore(folder, key=KEY), reader):
        with pytest.raises(StoreCorruptedError, match="destroyed"):
            opened.messages("u", "s")
        assert len(opened.messages("v", "s")) == 12
    assert list(store.users()) == ["v"]
    store.remove("u", [], everything=True)  # what cannot be read can still be removed
    assert list(store.users()) == ["v"]


def test_a_removal_that_was_killed_leaves_no_key(tmp_path: Path) -> None:
    """Killed at any step, the user is there, or gone with the key after the next open; what is refused stays so."""
    outcomes = set()
    step = 0
    while True:
        folder = tmp_path / str(step)
        small_store(folder)
        FolderStore(folder, key=KEY).remove("u", ["m1"], transcripts=[Refusal("s", id="m1")])
        (old,) = (folder / "KEYS").glob("??/*")
        process = PROCESSES.Process(target=remove_until, args=(folder, step))
        process.start()
        process.join()
        store = FolderStore(folder, key=KEY)
        there = len(store.messages("u", "s"))
        assert there in (0, 11)
        assert old.exists() == (there == 11)
        assert list(folder.glob("trash/*")) == []
        assert store.commit("u", [said("m1", "x"), said("n", "new")]).skipped == ("m1",)
        outcomes.add((process.exitcode, there))
        step += 3
        if process.exitcode == 0:
            break
    assert outcomes == {(-9, 11), (-9, 0), (0, 0)}


def remove_until(folder: Path, step: int) -> None:
    """Remove everything of a user, and be killed at a change on disk."""
    store = FolderStore(folder, key=KEY)
    store.messages("u", "s")
    die_at(step)
    store.remove("u", [], everything=True)


def test_several_processes_give_one_user_one_key(tmp_path: Path) -> None:
    """Writers that begin a user, and other users, at once all read each other."""
    small_store(tmp_path)
    started = [
        PROCESSES.Process(target=begin_users, args=(tmp_path, f"p{n}", [f"u{i}" for i in range(6)])) for n in range(3)
    ]
    for process in started:
        process.start()
    for process in started:
        process.join()
        assert process.exitcode == 0
    store = FolderStore(tmp_path, key=KEY)
    assert sorted(store.users()) == ["u", *(f"u{i}" for i in range(6))]
    for i in range(6):
        assert sorted(m.content for m in store.messages(f"u{i}", "s")) == ["p0", "p1", "p2"]
        assert store.stats(f"u{i}").health == ()


def begin_users(folder: Path, name: str, users: list[str]) -> None:
    """Write a message of each user."""
    store = FolderStore(folder, key=KEY)
    for user in users:
        store.commit(user, [said(name, name, user=user)])


def test_a_child_goes_on_after_a_fork(tmp_path: Path) -> None:
    """A forked child writes and reads with the keys of its parent."""
    store = FolderStore(tmp_path, key=KEY)
    store.commit("u", [said("a", "one")])
    pid = os.fork()
    if not pid:  # pragma: no cover
        try:
            store.commit("w", [said("b", "two", user="w")])
            os._exit(0 if len(store.messages("u", "s")) == 1 else 2)
        finally:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
    assert [m.content for m in store.messages("w", "s")] == ["two"]
    assert [m.content for m in store.messages("u", "s")] == ["one"]
