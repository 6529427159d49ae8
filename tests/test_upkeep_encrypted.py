"""Verify, repair, backup, restore and audit of an encrypted store: the same promises, and nothing readable anywhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from items import known, said, space
from siltstone.errors import ConfigurationError, DecryptionError, StoreCorruptedError
from siltstone.protocols import Refusal, Where
from siltstone.stores.folder import FolderStore
from siltstone.upkeep import audit, backup, restore, verify

pytest.importorskip("cryptography")

KEY = bytes(range(32))
SECRET = "heliotrope-蓝鹊"


def filled(folder: Path) -> FolderStore:
    """Return an encrypted store of two users."""
    store = FolderStore(folder, key=KEY, segment_size=4_000)
    store.set_fingerprint(space())
    for n in range(30):
        store.commit("u", [said(f"m{n:02}", f"text {n} 深圳", minute=n, seed=n)])
    store.commit("u", [said("s", f"the word is {SECRET}", session="t", seed=77), known("f", SECRET, seed=78)])
    store.commit("v", [said("m", f"{SECRET} of v", user="v", seed=1)])
    store._user("u", store.settings).keep()
    return store


def texts(folder: Path, user: str = "u") -> list[str]:
    """Return what a user has."""
    store = FolderStore(folder, key=KEY)
    found = [record.text for record in store.scan(user, Where())]
    assert store.stats(user).health == ()
    store.close()
    return found


def readable(folder: Path) -> list[str]:
    """Return the files that hold the secret, or a user's id, in plain."""
    needles = (SECRET.encode(), "深圳".encode(), b'"user":')
    return [p.name for p in folder.rglob("*") if p.is_file() and any(n in p.read_bytes() for n in needles)]


def test_an_encrypted_store_is_verified_and_repaired(tmp_path: Path) -> None:
    """Damage in any kind of file is found and mended; what is kept aside stays encrypted."""
    store = tmp_path / "store"
    filled(store).close()
    assert verify(store, key=KEY).findings == ()
    with pytest.raises(DecryptionError):
        verify(store)
    with pytest.raises(DecryptionError):
        verify(store, key=bytes(32))
    spoilt = {"docs.000001.jsonl": "lost", "cache": "recomputable", "STORE": "recomputable", "KEY": "recomputable"}
    for path in sorted(store.rglob("*")):
        if path.name.startswith("vectors."):
            spoilt[path.name] = "recomputable"
        if path.name == "MASTER":
            spoilt["MASTER"] = "recomputable"
        if path.name in spoilt:
            data = bytearray(path.read_bytes())
            data[min(100, len(data) // 2)] ^= 1
            path.write_bytes(data)
    found = {(Path(finding.path).name, finding.severity) for finding in verify(store, key=KEY).findings}
    assert spoilt.items() <= found
    report = verify(store, key=KEY, repair=True)
    assert report.findings == ()
    assert {finding.severity for finding in report.repaired} >= {"lost", "recomputable"}
    assert len(texts(store)) >= 31
    assert readable(store) == []
    assert report.quarantine is not None


def test_a_backup_of_an_encrypted_store_holds_no_key(tmp_path: Path) -> None:
    """Nothing in a backup can be read, and it is restored only where the keys are."""
    store = tmp_path / "store"
    filled(store).close()
    backup(store, tmp_path / "backup", key=KEY)
    assert readable(tmp_path / "backup") == []
    assert not list((tmp_path / "backup").rglob("KEYS"))
    with pytest.raises(StoreCorruptedError, match="put your copy of the folder KEYS at"):
        restore(tmp_path / "backup", tmp_path / "again", key=KEY)
    with pytest.raises(DecryptionError):
        restore(tmp_path / "backup", tmp_path / "again")
    assert not (tmp_path / "again").exists()
    (tmp_path / "again").mkdir(exist_ok=True)
    shutil.copytree(store / "KEYS", tmp_path / "again" / "KEYS")
    with pytest.raises(DecryptionError):
        restore(tmp_path / "backup", tmp_path / "again", key=bytes(32))
    assert [path.name for path in (tmp_path / "again").iterdir()] == ["KEYS"]
    report = restore(tmp_path / "backup", tmp_path / "again", key=KEY)
    assert (report.users, report.unreadable, report.knew) == (2, (), "nothing")
    for user in ("u", "v"):
        assert texts(tmp_path / "again", user) == texts(store, user)
    assert verify(tmp_path / "again", key=KEY).is_sound


@pytest.mark.parametrize("left", ["store", "audit"])
def test_what_was_forgotten_since_stays_forgotten(tmp_path: Path, left: str) -> None:
    """Forgotten items and erased users do not come back into an encrypted store, and the audit says so."""
    folder = tmp_path / "store"
    store = filled(folder)
    backup(folder, tmp_path / "backup", key=KEY)
    store.remove("u", ["s", "f"], transcripts=[Refusal("t", "s", f"the word is {SECRET}")])
    store.remove("v", [], everything=True)
    store.close()
    for path in folder.iterdir():
        if left == "audit" and path.name not in ("AUDIT", "KEYS"):
            path.rename(tmp_path / f"gone-{path.name}")
    report = restore(tmp_path / "backup", folder, key=KEY)
    assert (report.forgotten, report.erased, report.unreadable, report.knew) == (2, ("v",), (), left)
    assert texts(folder) == [f"text {n} 深圳" for n in range(30)]
    assert texts(folder, "v") == []
    assert [entry.action for entry in audit(folder, key=KEY)] == ["forget", "erase", "restore"]
    again = FolderStore(folder, key=KEY)
    assert again.commit("u", [said("s", "x", session="t")]).skipped == ("s",)
    assert verify(folder, key=KEY).is_sound


def test_a_user_whose_key_is_gone_is_reported(tmp_path: Path) -> None:
    """Where a user's key is missing, their part of a backup stays noise: reported, and in nobody's way."""
    store = tmp_path / "store"
    filled(store).close()
    backup(store, tmp_path / "backup", key=KEY)
    before = {path.name for path in (store / "KEYS").rglob("*") if path.is_file()}
    live = FolderStore(store, key=KEY)
    live.remove("v", [], everything=True)
    live.close()
    gone = before - {path.name for path in (store / "KEYS").rglob("*") if path.is_file()}
    assert len(gone) == 1
    (tmp_path / "again").mkdir()
    shutil.copytree(store / "KEYS", tmp_path / "again" / "KEYS")  # without the destroyed key, and without the audit
    report = restore(tmp_path / "backup", tmp_path / "again", key=KEY)
    assert (report.users, len(report.unreadable), report.knew) == (1, 1, "nothing")
    assert len(texts(tmp_path / "again")) == 32
    told = tmp_path / "again" / "KEYS" / "DESTROYED"
    lines = told.read_bytes()
    told.unlink()  # as of a KEYS that is older than the user: somebody may have the key
    (finding,) = verify(tmp_path / "again", key=KEY).findings
    assert finding.severity == "lost"
    assert verify(tmp_path / "again", key=KEY, repair=True).findings == (finding,)
    told.write_bytes(b"0000" + lines + lines[:9])
    told.chmod(0o600)
    assert {(f.severity, f.path) for f in verify(tmp_path / "again", key=KEY).findings} == {
        ("lost", finding.path),
        ("cosmetic", "KEYS/DESTROYED"),
    }
    told.write_bytes(lines)
    with pytest.raises(StoreCorruptedError, match="siltstone verify --repair"):
        texts(tmp_path / "again", "v")
    report = verify(tmp_path / "again", key=KEY)
    assert report.is_sound
    assert [(f.severity, f.path) for f in report.findings] == [("cosmetic", finding.path)]
    assert verify(tmp_path / "again", key=KEY, repair=True).findings == ()
    assert len(texts(tmp_path / "again")) == 32
    again = FolderStore(tmp_path / "again", key=KEY)
    assert again.commit("v", [said("m", "here again", user="v")]).skipped == ()
    again.close()
    assert verify(tmp_path / "again", key=KEY).findings == ()


def test_settings_lost_in_both_copies_come_from_a_backup(tmp_path: Path) -> None:
    """An encrypted store without its settings is not repaired by guesses: a backup brings them back."""
    store = tmp_path / "store"
    filled(store).close()
    backup(store, tmp_path / "backup", key=KEY)
    before = texts(store)
    (store / "STORE").write_bytes(bytes(9_000))
    for repair in (False, True):
        with pytest.raises(StoreCorruptedError, match="restore a backup"):
            verify(store, key=KEY, repair=repair)
    with pytest.raises(ConfigurationError):
        restore(tmp_path / "backup", filled_plain(tmp_path / "plain"), key=KEY)
    assert restore(tmp_path / "backup", store, key=KEY).users == 2
    assert texts(store) == before


def filled_plain(folder: Path) -> Path:
    """Write another store, which is not encrypted."""
    FolderStore(folder).commit("u", [known("f", "x")])
    return folder
