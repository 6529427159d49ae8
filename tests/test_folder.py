"""The folder on disk: what may be opened, what lies there, who may read it, and how big it is."""

from __future__ import annotations

import gc
import os
import resource
import shutil
import stat
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from items import asked, known, said, space, vector
from siltstone.errors import (
    ConfigurationError,
    EmbedderMismatchError,
    NotFoundError,
    ReadOnlyError,
    StoreCorruptedError,
    StoreVersionError,
)
from siltstone.protocols import Refusal, Where
from siltstone.stores.files import storefile
from siltstone.stores.folder import FolderStore


def listing(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_what_was_written_is_there_after_reopening(tmp_path: Path) -> None:
    """Messages, versions, vectors, removals and the embedding space are read back by a new store."""
    store = FolderStore(tmp_path)
    store.set_fingerprint(space())
    store.commit("u", [said(f"m{n}", f"text {n}", seed=n, minute=-n) for n in range(9)])
    store.commit("u", [said("m3", "new", version=2), known("f", "fact", seed=50, metadata={"a": 1})])
    store.remove("u", ["m5"], transcripts=[Refusal("s", id="m5")])
    store.put_vectors("u", store.pending("u", 9), vector(60)[None])
    for again in (FolderStore(tmp_path), FolderStore(tmp_path, read_only=True)):
        assert again.fingerprint() == space()
        assert [m.content for m in again.messages("u", "s")] == [m.content for m in store.messages("u", "s")]
        assert [old.record.text for old in again.versions("u", "m3") if old.record] == ["text 3"]
        assert [r.id for r in again.scan("u", Where(metadata={"a": 1}))] == ["f"]
        assert again.stats("u") == store.stats("u")
        assert again.revision("u") == store.revision("u")
        ours, theirs = (s.candidates("u", asked("text", seed=3)) for s in (store, again))
        live = ours.keys[ours.eligible]
        assert theirs.keys[theirs.eligible].tolist() == live.tolist()
        assert theirs.dense[theirs.eligible] == pytest.approx(ours.dense[ours.eligible])
    assert FolderStore(tmp_path).commit("u", [said("m5", "again")]).skipped == ("m5",)


def test_a_store_is_for_its_owner_alone(tmp_path: Path) -> None:
    """Folders have mode 0700, files 0600, whatever the umask."""
    before = os.umask(0)
    try:
        store = FolderStore(tmp_path / "store")
        store.commit("u", [said("a", "one", seed=1)])
        store.set_fingerprint(space())
        store.remove("u", ["a"])
        store.close()
    finally:
        os.umask(before)
    for path in [tmp_path / "store", *(tmp_path / "store").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_documents_are_lines_that_a_person_can_read(tmp_path: Path) -> None:
    """The documents file is UTF-8 text with a line for each document, the user's id in the first."""
    FolderStore(tmp_path).commit("用户", [said("a", "我住在深圳", user="用户")])
    (path,) = tmp_path.rglob("docs.*.jsonl")
    first, second = path.read_text("utf-8").splitlines()
    assert '"user":"用户"' in first
    assert '"c":"我住在深圳"' in second


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    """A folder that holds files of another kind is an error, and stays as it is."""
    (tmp_path / "thesis.doc").write_text("precious")
    with pytest.raises(ConfigurationError, match="no siltstone store"):
        FolderStore(tmp_path)
    assert listing(tmp_path) == {"thesis.doc": b"precious"}


def test_a_file_is_refused(tmp_path: Path) -> None:
    """A file where the folder should be, or on the way to it, is an error."""
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "file" / "store"):
        with pytest.raises(ConfigurationError):
            FolderStore(path)


def test_nothing_is_made_unless_asked(tmp_path: Path) -> None:
    """Without ``create``, and when only reading, a missing or empty folder is an error and stays so."""
    for options in ({"create": False}, {"read_only": True}):
        for path in (tmp_path / "none", tmp_path):
            with pytest.raises(NotFoundError):
                FolderStore(path, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_durability_is_refused(tmp_path: Path) -> None:
    """Durability is one of two words."""
    with pytest.raises(ConfigurationError, match="fsync"):
        FolderStore(tmp_path, durability="maybe")


def test_a_read_only_store_writes_nothing(tmp_path: Path) -> None:
    """Every writing verb is refused, and reading changes no byte, not even of a torn tail."""
    store = FolderStore(tmp_path)
    store.commit("u", [said("a", "one", seed=1)])
    store.close()
    (log,) = tmp_path.rglob("docs.*.jsonl")
    with log.open("ab") as file:
        file.write(b"000000ff 00000000 .9 {")
    before = listing(tmp_path)
    reader = FolderStore(tmp_path, read_only=True)
    refused = [
        lambda: reader.commit("u", [said("b", "two")]),
        lambda: reader.remove("u", ["a"]),
        lambda: reader.remove("u", [], everything=True),
        lambda: reader.put_vectors("u", [], vector(1)[None][:0]),
        lambda: reader.set_fingerprint(space()),
    ]
    for act in refused:
        with pytest.raises(ReadOnlyError):
            act()
    assert [m.content for m in reader.messages("u", "s")] == ["one"]
    assert reader.stats("nobody").messages == 0
    reader.close()
    assert listing(tmp_path) == before


def test_a_folder_without_permission_is_read_only() -> None:
    """Writing where the system does not let us is a ReadOnlyError, and nothing changes."""
    folder = Path(tempfile.mkdtemp())
    root, nobody = os.geteuid(), 65_534
    try:
        FolderStore(folder).commit("u", [said("a", "one")])
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        if root == 0:
            os.seteuid(nobody)  # root may write everywhere
        with pytest.raises(ReadOnlyError):
            FolderStore(folder).commit("u", [said("b", "two")])
        assert [m.content for m in FolderStore(folder, read_only=True).messages("u", "s")] == ["one"]
    finally:
        os.seteuid(root)
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755)
        shutil.rmtree(folder)


def test_a_newer_format_is_refused_by_name(tmp_path: Path) -> None:
    """A store of a later release is not touched."""
    FolderStore(tmp_path).close()
    settings = storefile.read(str(tmp_path))
    newer = storefile.StoreFile(settings.secret, format=storefile.FORMAT + 1)
    storefile.write(str(tmp_path), newer)
    before = listing(tmp_path)
    with pytest.raises(StoreVersionError, match=str(storefile.FORMAT + 1)):
        FolderStore(tmp_path)
    assert listing(tmp_path) == before


def test_one_damaged_copy_of_the_settings_is_enough_to_go_on(tmp_path: Path) -> None:
    """Any single flipped bit in STORE is survived and reported; both copies gone is an error, not a new store."""
    store = FolderStore(tmp_path)
    store.set_fingerprint(space())
    store.commit("u", [said("a", "one")])
    path = tmp_path / "STORE"
    good = path.read_bytes()
    for at in range(0, len(good), 97):
        path.write_bytes(good[:at] + bytes([good[at] ^ 4]) + good[at + 1 :])
        again = FolderStore(tmp_path)
        assert again.fingerprint() == space()
        assert any("STORE" in note for note in again.stats("u").health)
    path.write_bytes(good.replace(b"secret", b"sEcret"))
    with pytest.raises(StoreCorruptedError):
        FolderStore(tmp_path)


def test_users_are_listed_and_their_folders_are_safe_names(tmp_path: Path) -> None:
    """Folders hold only characters that every file system keeps apart."""
    store = FolderStore(tmp_path)
    users = ["a", "A", "../../etc", "用户", "x" * 300]
    for user in users:
        store.commit(user, [said("m", "x", user=user)])
    assert set(FolderStore(tmp_path).users()) == set(users)
    names = [path.name for path in tmp_path.glob("users/*/*")]
    assert len(set(names)) == len(users)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") and len(name) < 64 for name in names)


def test_documents_and_vectors_are_compact(tmp_path: Path) -> None:
    """A message of 300 bytes with a 384-d vector takes at most 1.25 times its text and its float16 vector."""
    store = FolderStore(tmp_path)
    session = "3f0e9a52-8a3c-4a37-b8d6-2f6f5f2c7a10"
    puts = []
    for n in range(200):
        put = said(f"{n:032x}", "x" * 300, session=session, name="Alice", minute=n)
        puts.append(type(put)(put.record, put.message, vector(n, 384), f"{n:032x}"))
    store.commit("u", puts)
    size = store.stats("u").bytes
    assert size["documents"] + size["vectors"] <= 1.25 * 200 * (300 + 2 * 384)


def test_another_process_embedding_anew_is_noticed(tmp_path: Path) -> None:
    """Vectors of the old space are neither written nor searched with after the space has changed."""
    old, new = FolderStore(tmp_path), FolderStore(tmp_path)
    old.set_fingerprint(space())
    old.commit("u", [said("a", "one", seed=1)])
    new.set_fingerprint(space("other"))
    with pytest.raises(EmbedderMismatchError, match="other"):
        old.commit("u", [said("b", "two", seed=2)], space=space())
    with pytest.raises(EmbedderMismatchError):
        old.put_vectors("u", old.pending("u", 1), vector(1)[None], space=space())
    with pytest.raises(EmbedderMismatchError):
        old.candidates("u", replace(asked(seed=1), space=space()))
    assert len(old.messages("u", "s")) == old.stats("u").pending_vectors == 1
    assert old.fingerprint() == space("other")
    old.commit("u", [said("b", "two", seed=2)], space=space("other"))
    assert new.stats("u").pending_vectors == 1


def test_the_embedding_space_is_what_the_disk_says_now(tmp_path: Path) -> None:
    """However often, and by whichever store, the space is changed, every other store tells the present one."""
    one, two = FolderStore(tmp_path), FolderStore(tmp_path)
    reader = FolderStore(tmp_path, read_only=True)
    assert reader.fingerprint() is None
    for n in range(200):
        (one if n % 3 else two).set_fingerprint(space(f"model-{n}"))
        assert one.fingerprint() == two.fingerprint() == reader.fingerprint() == space(f"model-{n}")


def test_many_users_do_not_exhaust_open_files(tmp_path: Path) -> None:
    """Files of users not used lately are closed, so that half of what the process may open is left to others."""
    gc.collect()  # what other tests left open
    before = len(os.listdir("/proc/self/fd"))
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (800, most[1]))
    try:
        store = FolderStore(tmp_path, durability="os")
        for n in range(150):
            store.commit(f"u{n}", [said("m", "x", user=f"u{n}", seed=n)])
        assert len(os.listdir("/proc/self/fd")) - before <= 410
        assert [m.content for m in store.messages("u0", "s")] == ["x"]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)


def test_documents_go_on_in_another_file(tmp_path: Path) -> None:
    """Past ``segment_size`` a new documents file is begun; all are read, by this store and by others, and compacted."""
    store, other = FolderStore(tmp_path, segment_size=1_000), FolderStore(tmp_path)
    for n in range(40):
        (store if n % 3 else other).commit("u", [said(f"m{n:02}", f"text {n} " + "x" * 100, minute=n, seed=n)])
        assert len(other.messages("u", "s")) == len(store.messages("u", "s")) == n + 1
    assert len(list(tmp_path.rglob("docs.*"))) > 5
    store.remove("u", [f"m{n:02}" for n in range(0, 40, 2)])
    expected = [f"m{n:02}" for n in range(1, 40, 2)]
    for one in (store, other, FolderStore(tmp_path)):
        assert [m.id for m in one.messages("u", "s")] == expected
        assert one.stats("u").health == ()
        assert one.stats("u").pending_vectors == 0
