"""Forgetting that is killed: hidden at once, with what rests on it, and finished by the next opening for writing."""

from __future__ import annotations

import shutil
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from items import known, said, space
from plain_and_encrypted import plain_and_encrypted
from siltstone.errors import BackendUnavailableError, StoreVersionError
from siltstone.protocols import Where
from siltstone.stores import compaction
from siltstone.stores import user as user_store
from siltstone.stores.files import auditfile, notes, storefile
from siltstone.stores.files.frames import Frame
from siltstone.stores.files.hashedids import hashed_id
from siltstone.stores.folder import FolderStore
from siltstone.stores.user import UserStore
from siltstone.upkeep import backup, restore, verify
from writers import PROCESSES, forget_until

CANARY = "heliotrope-蓝鹊"
MEANT, ALONG, OTHERS = ["m0", "m2"], {"whole", "part", "again"}, {"m1", "bees"}


def filled(folder: Path, key: bytes | None = None) -> Path:
    """Write messages, records that rest on some of them wholly or partly, and a record that rests on those."""
    with closing(FolderStore(folder, key=key, segment_size=600)) as store:
        store.set_fingerprint(space())
        store.commit("u", [said(f"m{n}", f"{CANARY} {n}" if n != 1 else "bees", minute=n, seed=n) for n in range(3)])
        store.commit("u", [known("whole", f"of {CANARY}", seed=4, source_ids=("m0",))])
        store.commit("u", [known("part", f"of bees and {CANARY}", seed=5, source_ids=("m1", "m2"))])
        store.commit("u", [known("again", f"{CANARY} it is", source_ids=("whole",)), known("bees", "bees")])
    return folder


def held(store: FolderStore) -> set[str]:
    """Return the ids of all that a reader sees, which must be the same in every way of reading."""
    found = {record.id.removeprefix("turn:") for record in store.scan("u", Where())}
    assert {m.id for m in store.messages("u", "s")} == {id for id in found if id.startswith("m")}
    assert {s.id for s in store.fetch("u", [*MEANT, *ALONG, *OTHERS]) if s is not None} == found
    assert store.stats("u").records == len(found)
    return found


def words_left(folder: Path) -> list[Path]:
    """Return the files in which the forgotten word stands."""
    return [path for path in folder.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]


def is_forgotten(folder: Path, key: bytes | None) -> None:
    """Check that it is all gone, in the files, too; that the audit names it, and that it is refused."""
    with closing(FolderStore(folder, key=key)) as store:
        assert held(store) == OTHERS
        again = [said("x", f"{CANARY} 0", minute=9), said("m2", "other words", minute=9)]
        assert store.commit("u", again).skipped == ("x", "m2")
        assert store.stats("u").health == ()
    assert words_left(folder) == []
    keys = storefile.unlock(str(folder), key)
    secret = storefile.read(str(folder), keys).user_key("u")
    deeds = [(set(deed.ids), set(deed.hashed or ())) for deed in auditfile.read(str(folder), keys) if deed.ids]
    assert deeds == [({*MEANT}, {hashed_id(secret, id) for id in ALONG})]
    assert verify(folder, key=key).is_sound


def hidden_alone(folder: Path, key: bytes | None = None) -> Path:
    """Leave a store as a process does that is killed when what is meant is hidden, and nothing else done."""
    filled(folder, key)
    with patch.object(UserStore, "_carry_out", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        FolderStore(folder, key=key).forget("u", MEANT)
    return folder


@pytest.mark.slow
@plain_and_encrypted
def test_killed_at_any_step_it_is_finished_or_was_never_begun(tmp_path: Path, key: bytes | None) -> None:
    """Killed before or after any change on disk, all is there or nothing, to readers too, and then it is gone."""
    begun = filled(tmp_path / "begun", key)
    seen: list[tuple[object, ...]] = []
    watching = True
    sys.addaudithook(lambda event, args: seen.append(args) if watching and event == "siltstone.disk" else None)
    with closing(FolderStore(shutil.copytree(begun, tmp_path / "count"), key=key)) as store:
        store.messages("u", "s")
        first = len(seen)
        store.forget("u", MEANT)
    steps, watching = len(seen) - first, False
    outcomes = []
    for step in range(0, steps, 2 if key is None else 6):  # before each, which is behind the one before
        folder = shutil.copytree(begun, tmp_path / str(step))
        process = PROCESSES.Process(target=forget_until, args=(folder, MEANT, step, key))
        process.start()
        process.join()
        assert process.exitcode == -9
        with closing(FolderStore(folder, key=key, read_only=True)) as store:
            read = held(store)
        with closing(FolderStore(folder, key=key)) as store:
            assert held(store) == read
        outcomes.append(read == OTHERS)
        assert read in ({*MEANT, *ALONG, *OTHERS}, OTHERS)
        if read == OTHERS:
            is_forgotten(folder, key)
        shutil.rmtree(folder)
    assert outcomes == sorted(outcomes)
    assert {*outcomes} == {False, True}


@plain_and_encrypted
def test_what_is_hidden_alone_is_finished_by_the_next_opening(tmp_path: Path, key: bytes | None) -> None:
    """Where only the note of what is meant was written, the next opening finds what rests on it, and removes all."""
    folder = hidden_alone(tmp_path, key)
    assert key is not None or words_left(folder)
    with closing(FolderStore(folder, key=key, read_only=True)) as store:
        assert held(store) == OTHERS  # it finds the rest by itself
    is_forgotten(folder, key)


def test_a_process_that_is_at_work_already_finishes_it(tmp_path: Path) -> None:
    """One that has the store open sees at its next read that a removal was left, and comes to an end with it."""
    with closing(FolderStore(filled(tmp_path))) as other:
        assert held(other) == {*MEANT, *ALONG, *OTHERS}
        process = PROCESSES.Process(target=forget_until, args=(tmp_path, MEANT, 0, None, True))
        process.start()
        process.join()
        assert process.exitcode == -9
        assert held(other) == OTHERS
    is_forgotten(tmp_path, None)


def test_what_is_meant_is_hidden_while_the_rest_is_looked_for(tmp_path: Path) -> None:
    """Readers of this process and of others no longer see it then, and what rests on it goes with the end."""
    with closing(FolderStore(filled(tmp_path))) as store, closing(FolderStore(tmp_path, read_only=True)) as other:
        assert held(other) == {*MEANT, *ALONG, *OTHERS}
        carry_out, seen = UserStore._carry_out, []

        def look(user: UserStore, *args: object) -> object:
            seen.extend((held(store), held(other)))
            return carry_out(user, *args)  # type: ignore[arg-type]

        with patch.object(UserStore, "_carry_out", look):
            report = store.forget("u", MEANT)
        assert seen == [{*ALONG, *OTHERS}, OTHERS]
        assert (set(report.derived), set(report.partial)) == ({"whole", "again"}, {"part"})
        assert held(store) == held(other) == OTHERS
    is_forgotten(tmp_path, None)


def test_without_room_for_the_end_the_next_write_comes_to_it(tmp_path: Path) -> None:
    """Where the disk is full when the rest has been found, all stays hidden; once there is room, it is taken out."""
    with closing(FolderStore(filled(tmp_path))) as store:
        full = BackendUnavailableError("no room left")
        with patch.object(UserStore, "_note_removal", side_effect=full), pytest.raises(BackendUnavailableError):
            store.forget("u", MEANT)
        assert not {*MEANT} & {record.id for record in store.scan("u", Where())}
        store.commit("u", [known("bees", "many bees", version=2)])
        assert held(store) == OTHERS
    is_forgotten(tmp_path, None)


def test_what_cannot_be_read_for_the_end_is_read_by_the_next_read(tmp_path: Path) -> None:
    """Where a file cannot be read while the rest is looked for, the same process goes on as soon as it can be."""
    with closing(FolderStore(filled(tmp_path))) as store, patch.object(user_store, "_PAUSE", 0.0):
        broken = BackendUnavailableError("input/output error")
        with patch.object(UserStore, "_goes", side_effect=broken):
            with pytest.raises(BackendUnavailableError):
                store.forget("u", MEANT)
            assert any("broke off" in remark for remark in store.stats("u").health)
        assert held(store) == OTHERS
        assert store.stats("u").health == ()
    is_forgotten(tmp_path, None)


def test_a_copy_of_what_is_hidden_alone_is_finished_too(tmp_path: Path) -> None:
    """A backup that was made in between ends, restored, without what was forgotten."""
    hidden_alone(tmp_path / "store")
    backup(tmp_path / "store", tmp_path / "backup")
    restore(tmp_path / "backup", tmp_path / "elsewhere")
    with closing(FolderStore(tmp_path / "elsewhere")) as store:
        assert held(store) == OTHERS
    assert words_left(tmp_path / "elsewhere") == []


def test_an_older_release_keeps_away(tmp_path: Path) -> None:
    """A store of this format names it, so that a release that would pass the note over refuses to open it."""
    hidden_alone(tmp_path)
    written = storefile.document(str(tmp_path))["format"]
    assert written >= 3
    with patch.object(storefile, "FORMAT", 2), pytest.raises(StoreVersionError, match=f"format {written}"):
        storefile.document(str(tmp_path))


def test_verify_says_that_it_is_left_and_a_repair_ends_it(tmp_path: Path) -> None:
    """What is hidden alone is no damage: words that are still there, and that a repair takes out."""
    (finding,) = verify(hidden_alone(tmp_path)).findings
    assert (finding.severity, finding.path.split("/")[0]) == ("exposed", "unfinished")
    assert verify(tmp_path, repair=True).is_sound
    is_forgotten(tmp_path, None)


@plain_and_encrypted
@pytest.mark.parametrize("read_only", [False, True], ids=["writable", "read-only"])
def test_who_read_between_the_notes_carries_nothing_out_again(
    tmp_path: Path, key: bytes | None, read_only: bool
) -> None:
    """After a forget and a compaction, what comes under a freed id is another thing, whoever saw it half done."""
    folder = filled(tmp_path / "store", key)
    carry_out = UserStore._carry_out
    with (
        closing(FolderStore(folder, key=key)) as ours,
        closing(FolderStore(folder, key=key, read_only=read_only)) as other,
    ):

        def slowly(user: UserStore, *args: Any) -> Any:
            assert not {"m0", "m2"} & held(other)
            return carry_out(user, *args)

        with patch.object(UserStore, "_carry_out", slowly):
            ours.forget("u", MEANT)
        ours.compact()
        ours.commit("u", [said("m0", "new words", session="t"), known("new", "of them", source_ids=("m0",))])
        for _ in range(2):
            for store in (other, ours):
                assert ids_of(store) == {*OTHERS, "m0", "new"}


def test_a_compacted_segment_still_tells_what_another_one_has_been_told() -> None:
    """Where the first note of a forget lies in another segment, word that it was carried out outlives the second."""

    def frame(number: int, note: notes.Note | None) -> Frame:
        return Frame(number, 0, 0, True, notes.pack(note) if note is not None else b'{"i": "x", "k": "fact"}')

    meant = notes.Meant([1], ["m0"], True)
    apart = [frame(7, notes.Removal([1, 2], ["aa"], ["m0"], meant=5)), frame(8, notes.Finished(7)), frame(9, None)]
    together = [frame(5, meant), *apart]

    def kept(frames: list[Frame]) -> dict[int, bytes]:
        changes = compaction.revised(frames, {9}, set())
        return {number: document for number, document in changes.items() if document is not None}

    assert kept(apart) == {7: notes.pack(notes.Removal(hashes=["aa"], meant=5))}
    assert kept([Frame(7, 0, 0, True, kept(apart)[7]), frame(9, None)]) == kept(apart)  # and again
    assert kept([frame(7, notes.Removal([1], meant=5)), *apart[1:]]) == {7: notes.pack(notes.Removal(meant=5))}
    assert kept(together) == {7: notes.pack(notes.Removal(hashes=["aa"]))}


def ids_of(store: FolderStore) -> set[str]:
    """Return the ids of all records, a turn's as that of its message."""
    return {record.id.removeprefix("turn:") for record in store.scan("u", Where())}
