"""Ids that follow from words: the audit keeps keyed hashes of them, which confirm nothing and are known in a backup."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from items import NOON, known, said
from plain_and_encrypted import plain_and_encrypted
from siltstone import Message, TieredMemory
from siltstone.cli import main
from siltstone.protocols import Where
from siltstone.stores.files import auditfile, disk, storefile
from siltstone.stores.files.auditfile import Deed
from siltstone.stores.files.frames import Frame, frame, scan
from siltstone.stores.folder import FolderStore
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter
from siltstone.upkeep import audit, backup, restore, verify
from writers import PROCESSES, remove_until

MADE = "0123456789abcdef0123"
"""An id as siltstone makes them of words."""


def told(folder: Path) -> list[str]:
    """Tell a memory the same, have it consolidated, and forget the statements by id; return their ids."""
    clock = FrozenClock(NOON)
    with TieredMemory.open(
        folder, user_id="u", embedder=HashEmbedder(64), token_counter=WordCounter(), clock=clock
    ) as memory:
        memory.add([Message("user", "I live in Ghent and I am allergic to peanuts.", id="m1")], session_id="s")
        memory.remember("likes tea", id="tea")
        clock.advance(days=1)
        memory.consolidate()
        made = [record.id for record in memory.records() if record.kind != "turn" and record.source_ids]
        memory.forget(ids=[*made, "tea"])
    return made


def filled(folder: Path, key: bytes | None = None) -> FolderStore:
    """Return a store of a message, a record that rests on it, and another that rests on nothing."""
    store = FolderStore(folder, key=key)
    store.commit("u", [said("m", "one"), known(MADE, "two", source_ids=("m",), made_by="x"), known("g", "three")])
    return store


def found(folder: Path, key: bytes | None = None) -> list[str]:
    """Return the texts of the user."""
    with closing(FolderStore(folder, key=key)) as store:
        return [record.text for record in store.scan("u", Where())]


def as_format_3(folder: Path, ids: Sequence[str]) -> None:
    """Write the audit of a store as a release of format 3 did, with one line that names ids."""
    root = str(folder)
    auditfile.rewrite(root, [Deed("forget", user_id="u", ids=tuple(ids), counts={"items": len(ids)}, hashed=None)])
    storefile.replace(root, {**storefile.document(root), "format": 3})


def test_the_audit_confirms_no_words(tmp_path: Path) -> None:
    """Two stores that were told the same, and forgot it, have no hash in common in their audits."""
    made = told(tmp_path / "one")
    assert made
    assert told(tmp_path / "other") == made  # so that whoever guesses the words has the ids
    hashes = []
    for name in ("one", "other"):
        line = (tmp_path / name / "AUDIT").read_text()
        assert not [id for id in made if id in line]
        (entry,) = audit(tmp_path / name)
        assert entry.ids == ("tea",)
        assert entry.counts["items"] == 1 + len(entry.hashed_ids)
        assert len(entry.hashed_ids) >= len(made)
        hashes.append({*entry.hashed_ids, *re.findall(r"[0-9a-f]{20,}", line)})
    assert hashes[0].isdisjoint(hashes[1])


@plain_and_encrypted
@pytest.mark.parametrize("left", ["store", "audit"])
def test_what_hashed_ids_name_is_forgotten_from_a_backup(tmp_path: Path, left: str, key: bytes | None) -> None:
    """A restore knows the items by the keyed hashes of their ids, from the store or from its audit alone."""
    folder = tmp_path / "store"
    with closing(filled(folder, key)) as store:
        backup(folder, tmp_path / "backup", key=key)
        store.remove("u", [MADE])
        store.commit("u", [known("h", "since")])
    if left == "audit":
        for path in folder.iterdir():
            if path.name not in ("AUDIT", "KEYS"):
                path.rename(tmp_path / f"gone-{path.name}")
    report = restore(tmp_path / "backup", folder, key=key)
    assert (report.forgotten, report.knew) == (1, left)
    assert found(folder, key) == ["one", "three"]
    assert [len(entry.hashed_ids) for entry in audit(folder, key=key) if entry.action == "forget"] == [1]


@pytest.mark.parametrize("ids", [[MADE], ["m"], [MADE, "g"]], ids=["made", "given", "both"])
def test_no_line_lacks_an_id_whenever_its_removal_is_killed(tmp_path: Path, ids: list[str]) -> None:
    """Finished by another process, a removal has the same line: what follows from words is hashed."""
    ended, step, expected = False, 0, None
    while not ended:
        folder = tmp_path / str(step)
        filled(folder).close()
        process = PROCESSES.Process(target=remove_until, args=(folder, ids, step))
        process.start()
        process.join()
        ended = process.exitcode == 0
        FolderStore(folder).close()
        lines = [(entry.ids, len(entry.hashed_ids)) for entry in audit(folder)]
        expected = (tuple(id for id in ids if id != MADE), ids.count(MADE))
        assert lines in ([], [expected])
        assert MADE.encode() not in (folder / "AUDIT").read_bytes()
        step += 5
    assert lines == [expected]


def test_lines_of_an_older_format_are_hashed(tmp_path: Path) -> None:
    """Opened for writing, a store of format 3 names no id any more that may follow from words; it still forgets it."""
    folder = tmp_path / "store"
    filled(folder).close()
    backup(folder, tmp_path / "backup")
    with closing(FolderStore(folder)) as store:
        store.remove("u", [MADE, "m"])
    as_format_3(folder, [MADE, "m"])
    assert [entry.ids for entry in audit(folder)] == [(MADE, "m")]
    FolderStore(folder, read_only=True).close()
    FolderStore(folder).close()
    assert MADE.encode() not in (folder / "AUDIT").read_bytes()
    forgotten, migrated = audit(folder)
    assert (forgotten.ids, len(forgotten.hashed_ids), migrated.action) == (("m",), 1, "migrate")
    assert verify(folder).findings == ()
    before = (folder / "AUDIT").read_bytes()
    FolderStore(folder).close()
    assert (folder / "AUDIT").read_bytes() == before
    assert restore(tmp_path / "backup", folder).forgotten == 2
    assert found(folder) == ["three"]


def test_damage_in_the_audit_outlives_the_hashing(tmp_path: Path) -> None:
    """A line that does not check stays as it is, for ``verify`` to tell of; the others are hashed."""
    folder = tmp_path / "store"
    filled(folder).close()
    as_format_3(folder, [MADE])
    whole = (folder / "AUDIT").read_bytes()
    damaged = whole.splitlines(keepends=True)[-1].replace(b"forget", b"f0rget")
    (folder / "AUDIT").write_bytes(whole + damaged)
    FolderStore(folder).close()
    assert damaged in (folder / "AUDIT").read_bytes()
    assert (folder / "AUDIT").read_bytes().count(MADE.encode()) == 1
    assert "lost" in {finding.severity for finding in verify(folder).findings}


def test_an_audit_that_was_kept_apart_is_hashed_by_the_restore_that_uses_it(tmp_path: Path) -> None:
    """A copy of an audit of format 3 tells what was forgotten, and names no such id once the store is back."""
    folder = tmp_path / "store"
    filled(folder).close()
    backup(folder, tmp_path / "backup")
    as_format_3(folder, [MADE])
    for path in folder.iterdir():
        if path.name != "AUDIT":
            path.rename(tmp_path / f"gone-{path.name}")
    report = restore(tmp_path / "backup", folder)
    assert (report.forgotten, report.knew) == (1, "audit")
    assert MADE.encode() not in (folder / "AUDIT").read_bytes()
    assert found(folder) == ["one", "three"]


def test_a_removal_that_an_older_release_began_has_a_hashed_line(tmp_path: Path) -> None:
    """Its note names ids as they are; the line that another process writes for it does not."""
    folder = tmp_path / "store"
    filled(folder).close()
    process = PROCESSES.Process(target=remove_until, args=(folder, [MADE], 11))
    process.start()
    process.join()
    (docs,) = folder.rglob("docs.*")
    pieces = [piece for piece in scan(docs.read_bytes()) if isinstance(piece, Frame)]
    note = orjson.loads(pieces[-1].document)
    assert len(note.pop("k")) == 1
    note["ids"] = [MADE]
    pieces[-1] = Frame(pieces[-1].number, 0, 0, True, orjson.dumps(note))
    disk.replace(str(docs), b"".join(frame(piece.number, piece.document, piece.last) for piece in pieces))
    FolderStore(folder).close()
    (entry,) = audit(folder)
    assert (entry.ids, len(entry.hashed_ids), entry.counts["items"]) == ((), 1, 1)
    assert MADE.encode() not in (folder / "AUDIT").read_bytes()


def test_the_command_counts_hashed_ids_and_lists_them_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table shows ids that were given, and how many are hashed."""
    filled(tmp_path).remove("u", ["m", MADE])
    for options in ([], ["--json"]):
        with pytest.raises(SystemExit):
            main(["audit", "--store", str(tmp_path), *options])
    table, _, listed = capsys.readouterr().out.rpartition("\n{")
    assert "m 1 hashed" in " ".join(table.split())
    (entry,) = json.loads("{" + listed)["entries"]
    assert (entry["ids"], len(entry["hashed_ids"])) == (["m"], 1)
