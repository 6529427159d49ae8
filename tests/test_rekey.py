"""Other keys for an encrypted store: everything can be read by the new ones, at every moment, and not by the old."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from items import asked, known, said, space, vector
from siltstone.errors import ConfigurationError, DecryptionError, StoreCorruptedError
from siltstone.protocols import Refusal, Where
from siltstone.stores.folder import FolderStore
from siltstone.upkeep import audit, rekey
from writers import PROCESSES, die_at

pytest.importorskip("cryptography")

OLD, NEW, THIRD = bytes(range(32)), bytes(reversed(range(32))), bytes(range(100, 132))
USERS = {"u": 30, "v": 5, "w": 3}


def filled(folder: Path, key: bytes | str = OLD, **options: int) -> None:
    """Write a store of three users, one with a cache, with versions, refusals and an audit."""
    store = FolderStore(folder, key=key, durability="os", **options)
    store.set_fingerprint(space())
    for user, count in USERS.items():
        for n in range(count):
            store.commit(user, [said(f"m{n}", f"text {n} of {user}", minute=n, seed=n, user=user)])
        store.commit(user, [known("f", "old", user=user, seed=90)])
        store.commit(user, [known("f", "fact", version=2, user=user, seed=91)])
    store.remove("v", ["m0"], transcripts=[Refusal("s", id="m0")])
    store.commit("v", [said(f"x{n:03}", "many", minute=n, seed=n, user="v", session="x") for n in range(300)])
    store.close()


def whole(store: FolderStore) -> None:
    """Check that all of it is there, with every vector, and nothing is damaged."""
    assert sorted(store.users()) == sorted(USERS)
    for user, count in USERS.items():
        expected = [f"text {n} of {user}" for n in range(user == "v", count)]
        assert [m.content for m in store.messages(user, "s")] == expected
        assert [r.text for r in store.scan(user, Where(kinds=("fact",)))] == ["fact"]
        assert [s.record.text for s in store.versions(user, "f") if s.record] == ["old"]
        stats = store.stats(user)
        assert (stats.pending_vectors, stats.health) == (0, ())
        dense = store.candidates(user, asked(seed=2)).dense
        assert np.nanmax(dense) == pytest.approx(1, abs=1e-3)
    assert len(store.messages("v", "x")) == 300
    assert store.commit("v", [said("m0", "x", user="v")]).skipped == ("m0",)


def keys_of(folder: Path) -> dict[str, bytes]:
    """Return the users' keys as they lie on disk."""
    return {path.name: path.read_bytes() for path in (folder / "KEYS").glob("??/*")}


@pytest.mark.parametrize("new", [NEW, "a passphrase"])
def test_the_new_key_opens_and_the_old_does_not(tmp_path: Path, new: bytes | str) -> None:
    """Only MASTER changes; who has the store open goes on, and even begins new users."""
    filled(tmp_path)
    other = FolderStore(tmp_path, key=OLD)
    whole(other)
    before, keys = (tmp_path / "STORE").read_bytes(), keys_of(tmp_path)
    report = rekey(tmp_path, key=OLD, new_key=new)
    assert (report.master_key, report.users) == (True, 0)
    with pytest.raises(DecryptionError):
        FolderStore(tmp_path, key=OLD)
    assert (tmp_path / "STORE").read_bytes() == before
    assert keys_of(tmp_path) == keys
    whole(FolderStore(tmp_path, key=new))
    whole(other)
    other.commit("later", [said("a", "one", user="later")])
    assert [m.content for m in FolderStore(tmp_path, key=new).messages("later", "s")] == ["one"]
    assert [entry.action for entry in audit(tmp_path, key=new)][-1] == "rekey"


def test_data_keys_leave_nothing_under_the_old_ones(tmp_path: Path) -> None:
    """Every file is written anew: with the old KEYS and the old key nothing of the present store can be read."""
    folder = tmp_path / "store"
    filled(folder, segment_size=2_000)
    keys = keys_of(folder)
    shutil.copytree(folder / "KEYS", tmp_path / "KEYS")
    files = {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
    files[folder / "AUDIT"] = (folder / "AUDIT").read_bytes()
    report = rekey(folder, key=OLD, new_key=NEW, data_keys=True)
    assert (report.master_key, report.users) == (True, 3)
    assert len(keys_of(folder)) == 3
    assert not keys.keys() & keys_of(folder).keys()
    for path, data in files.items():
        if path.exists():
            present = path.read_bytes()
            assert not any(line in present for line in data.split(b"\n") if len(line) > 40), path
    whole(FolderStore(folder, key=NEW))
    shutil.copytree(tmp_path / "KEYS", folder / "KEYS", dirs_exist_ok=True)
    with pytest.raises(StoreCorruptedError):
        FolderStore(folder, key=OLD)


def test_data_keys_change_while_others_go_on(tmp_path: Path) -> None:
    """With the same master key, a store that is open reads on, writes on, and its new writes are under the new keys."""
    filled(tmp_path)
    reader, writer = FolderStore(tmp_path, key=OLD), FolderStore(tmp_path, key=OLD)
    whole(reader)
    whole(writer)
    assert rekey(tmp_path, key=OLD, data_keys=True).users == 3
    whole(reader)
    writer.commit("u", [known("late", "late", user="u", seed=5)])
    writer.commit("later", [said("a", "one", user="later", seed=6)])
    assert [r.id for r in reader.scan("u", Where(kinds=("fact",)))] == ["f", "late"]
    for store in (reader, FolderStore(tmp_path, key=OLD)):
        assert [m.content for m in store.messages("later", "s")] == ["one"]
        assert store.stats("u").health == ()
    assert rekey(tmp_path, key=OLD, data_keys=True).users == 4


def test_whoever_has_the_old_key_is_told_before_anything_is_written(tmp_path: Path) -> None:
    """After new data keys under a new key, a store that is open says that it must be opened again."""
    filled(tmp_path)
    other = FolderStore(tmp_path, key=OLD)
    whole(other)
    rekey(tmp_path, key=OLD, new_key=NEW, data_keys=True)
    for act in (lambda: other.messages("u", "s"), lambda: other.commit("u", [known("z", "z")])):
        with pytest.raises(DecryptionError, match="open it with that key"):
            act()
    whole(FolderStore(tmp_path, key=NEW))


def test_wrong_keys_and_plain_stores_are_refused(tmp_path: Path) -> None:
    """A wrong old key, no new key at all, and a store without keys are errors; nothing changes."""
    filled(tmp_path / "sealed")
    FolderStore(tmp_path / "plain").close()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(DecryptionError):
        rekey(tmp_path / "sealed", key=bytes(32), new_key=NEW)
    with pytest.raises(DecryptionError, match="no key was given"):
        rekey(tmp_path / "sealed", new_key=NEW)
    with pytest.raises(ConfigurationError, match="no new key"):
        rekey(tmp_path / "sealed", key=OLD)
    with pytest.raises(ConfigurationError, match="32"):
        rekey(tmp_path / "sealed", key=OLD, new_key=b"short")
    with pytest.raises(ConfigurationError, match="not encrypted"):
        rekey(tmp_path / "plain", new_key=NEW)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_damaged_user_keeps_the_old_key(tmp_path: Path) -> None:
    """What might still be saved of damaged documents is not written over; all others are moved when it is repaired."""
    filled(tmp_path)
    log = max(tmp_path.rglob("docs.*"), key=lambda path: path.stat().st_size)
    data = log.read_bytes()
    log.write_bytes(data[:3_000] + bytes([data[3_000] ^ 1]) + data[3_001:])
    with pytest.raises(StoreCorruptedError, match="keeps the old key"):
        rekey(tmp_path, key=OLD, new_key=NEW, data_keys=True)
    assert log.read_bytes()[:3_000] == data[:3_000]
    log.write_bytes(data)
    whole(FolderStore(tmp_path, key=NEW))
    rekey(tmp_path, key=OLD, new_key=NEW, data_keys=True)
    assert len(keys_of(tmp_path)) == 3
    whole(FolderStore(tmp_path, key=NEW))


@pytest.mark.parametrize(("data_keys", "every"), [(False, 1), (True, 9)])
def test_a_rekey_that_was_killed_goes_on(tmp_path: Path, data_keys: bool, every: int) -> None:
    """Killed at a change on disk, all can be read with the old key or the new one, and the same call ends it."""
    filled(tmp_path / "begin", segment_size=3_000)
    outcomes = set()
    step = 0
    while True:
        folder = tmp_path / str(step)
        shutil.copytree(tmp_path / "begin", folder)
        process = PROCESSES.Process(target=rekey_until, args=(folder, data_keys, step))
        process.start()
        process.join()
        assert process.exitcode in (0, -9)
        key = NEW
        try:
            store = FolderStore(folder, key=NEW)
        except DecryptionError:
            key, store = OLD, FolderStore(folder, key=OLD)
        outcomes.add((process.exitcode, key))
        whole(store)
        store.close()
        rekey(folder, key=OLD if key == OLD or step % 2 else NEW, new_key=NEW, data_keys=data_keys)
        assert len(keys_of(folder)) == 3
        whole(FolderStore(folder, key=NEW))
        shutil.rmtree(folder)
        step += every
        if process.exitcode == 0:
            break
    assert outcomes == {(-9, OLD), (-9, NEW), (0, NEW)}


def rekey_until(folder: Path, data_keys: bool, step: int) -> None:
    """Change the keys, and be killed at a change on disk."""
    die_at(step)
    rekey(folder, key=OLD, new_key=NEW, data_keys=data_keys)


@pytest.mark.parametrize("key", [OLD, NEW])
@pytest.mark.parametrize(("data_keys", "turn"), [(False, 1), (True, 1), (True, 5)])  # 5: the last, with all users moved
def test_a_rekey_undoes_no_other_one(tmp_path: Path, data_keys: bool, turn: int, key: bytes) -> None:
    """While one waits for the lock of KEYS another comes to its end: the key of whichever succeeded opens."""
    filled(tmp_path)
    faster = Faster(tmp_path, turn, key)
    sys.addaudithook(faster)
    mine = outcome(tmp_path, OLD, NEW, data_keys)
    in_force = OLD if turn == 1 else NEW
    assert (mine, faster.told) == (("refused", "done") if key == in_force else ("done", "refused"))
    whole(FolderStore(tmp_path, key=THIRD if key == in_force else NEW))


class Faster:
    """Changes the key when somebody else is about to take the lock of ``KEYS`` for the nth time."""

    def __init__(self, folder: Path, turn: int, key: bytes) -> None:
        self.folder, self.left, self.key = folder, turn, key
        self.told = ""

    def __call__(self, event: str, args: tuple[object, ...]) -> None:
        """Hear of an audit event."""
        if event == "open" and self.left and str(args[0]) == str(self.folder / "KEYS" / "LOCK"):
            self.left -= 1
            if not self.left:
                self.told = outcome(self.folder, self.key, THIRD, False)


def outcome(folder: Path, old: bytes, new: bytes, data_keys: bool) -> str:
    """Change the key; return whether that was done or refused."""
    try:
        rekey(folder, key=old, new_key=new, data_keys=data_keys)
    except DecryptionError:
        return "refused"
    return "done"


def test_vectors_stay_those_of_their_records(tmp_path: Path) -> None:
    """After new data keys each record has the vector that it had."""
    filled(tmp_path)
    rekey(tmp_path, key=OLD, data_keys=True)
    store = FolderStore(tmp_path, key=OLD)
    for seed in (1, 7, 29):
        candidates = store.candidates("u", asked(seed=seed))
        best = int(np.nanargmax(np.where(candidates.eligible, candidates.dense, -1)))
        (record,) = store.resolve("u", [int(candidates.keys[best])])
        assert record is not None
        assert record.id == f"turn:m{seed}"
        (half,) = store.vectors("u", [int(candidates.keys[best])])
        assert half == pytest.approx(vector(seed), abs=1e-3)
