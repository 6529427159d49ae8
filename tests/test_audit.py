"""The audit: a line for each deed, with ids and counts and no text, that survives the user and any kill."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from items import known, said
from shell import Shell
from siltstone.cli import main
from siltstone.errors import NotFoundError
from siltstone.protocols import Refusal
from siltstone.stores.files import auditfile
from siltstone.stores.files.auditfile import Deed
from siltstone.stores.files.storefile import FORMAT
from siltstone.stores.folder import FolderStore
from siltstone.upkeep import audit, backup, restore, verify
from writers import PROCESSES, remove_until

SECRET = "heliotrope-蓝鹊"


def small_store(folder: Path) -> FolderStore:
    """Return a store of two messages and two records, one of them in two versions."""
    store = FolderStore(folder)
    store.commit("u", [said("m1", "before"), said("m2", SECRET), known("f", SECRET), known("g", "kept")])
    store.commit("u", [known("f", f"{SECRET} again", version=2)])
    return store


def test_a_removal_leaves_a_line_without_its_words(tmp_path: Path) -> None:
    """Each removal is one line: user, ids, how many items and versions; what it was about is nowhere in the file."""
    store = small_store(tmp_path)
    store.remove("u", ["m2", "f", "absent"], transcripts=[Refusal("s", "m2", SECRET)])
    store.remove("u", ["g"])
    first, second = audit(tmp_path)
    assert (first.action, first.user_id, first.ids) == ("forget", "u", ("m2", "f"))
    assert first.counts == {"items": 2, "versions": 3}
    assert second.ids == ("g",)
    assert second.at >= first.at
    assert SECRET.encode() not in (tmp_path / "AUDIT").read_bytes()
    assert (tmp_path / "AUDIT").stat().st_mode & 0o777 == 0o600


def test_the_line_of_an_erasure_survives_the_user(tmp_path: Path) -> None:
    """When all of a user is gone, the audit still says that they were erased, and when."""
    store = small_store(tmp_path)
    store.remove("u", [], everything=True)
    store.close()
    (entry,) = audit(tmp_path)
    assert (entry.action, entry.user_id, entry.counts) == ("erase", "u", {"documents": 5})
    assert list(FolderStore(tmp_path).users()) == []
    assert [e.action for e in audit(tmp_path, user_id="u")] == ["erase"]
    assert list(audit(tmp_path, user_id="v")) == []


@pytest.mark.parametrize("ids", [["m2", "f"], None], ids=["forget", "erase"])
def test_no_removal_lacks_its_line_whenever_it_is_killed(tmp_path: Path, ids: list[str] | None) -> None:
    """Killed at any step, a removal that has happened has exactly one line at the next open, one that has not none."""
    outcomes, step, ended = set(), 0, False
    while not ended:
        folder = tmp_path / str(step)
        small_store(folder).close()
        process = PROCESSES.Process(target=remove_until, args=(folder, ids, step))
        process.start()
        process.join()
        ended = process.exitcode == 0
        store = FolderStore(folder)
        happened = "m2" not in {message.id for message in store.messages("u", "s")}
        assert [entry.action for entry in audit(folder)] == (["erase" if ids is None else "forget"] if happened else [])
        outcomes.add((happened, ended))
        store.close()
        step += 3
    assert outcomes == {(False, False), (True, False), (True, True)}


def test_a_torn_line_is_cut_and_a_damaged_one_is_left(tmp_path: Path) -> None:
    """What a killed writer left of a line goes when the next one is written; other lines go on behind damage."""
    FolderStore(tmp_path)
    path = tmp_path / "AUDIT"

    def add(action: str) -> None:
        auditfile.append_locked(str(tmp_path), [Deed(action)], durable=True, timeout=1)

    add("repair")
    whole = path.read_bytes()
    add("restore")
    line = path.read_bytes()[len(whole) :]
    for size in range(1, len(line)):
        path.write_bytes(whole + line[:size])
        assert [entry.action for entry in audit(tmp_path)] == ["repair"]
        add("migrate")
        assert [entry.action for entry in audit(tmp_path)] == ["repair", "migrate"]
        assert path.read_bytes().startswith(whole)
    path.write_bytes(whole + line[:-9] + b"!" + line[-8:-1])
    add("migrate")
    assert [entry.action for entry in audit(tmp_path)] == ["repair", "migrate"]


def test_the_command_lists_the_audit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``siltstone audit`` prints a table, or JSON, and refuses where there is no store."""
    small_store(tmp_path / "store").remove("u", ["m2"])
    with pytest.raises(SystemExit) as ended:
        main(["audit", "--store", str(tmp_path / "store"), "--json"])
    assert not ended.value.code
    (entry,) = json.loads(capsys.readouterr().out)["entries"]
    assert entry["action"] == "forget"
    assert entry["ids"] == ["m2"]
    with pytest.raises(SystemExit):
        main(["audit", "--store", str(tmp_path / "store")])
    assert "forget" in capsys.readouterr().out
    with pytest.raises(NotFoundError):
        audit(tmp_path / "nothing")


def test_a_restore_says_of_what_time_its_backup_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The line of a restore tells when the backup was taken: a local time in the table, ISO 8601 in JSON."""
    small_store(tmp_path / "store").close()
    backup(tmp_path / "store", tmp_path / "backup")
    report = restore(tmp_path / "backup", tmp_path / "store")
    (entry,) = audit(tmp_path / "store")
    assert (entry.action, entry.taken_at, entry.counts) == ("restore", report.taken_at, {"users": 1})
    for options in ([], ["--json"]):
        with pytest.raises(SystemExit):
            main(["audit", "--store", str(tmp_path / "store"), *options])
    table, _, told = capsys.readouterr().out.rpartition("\n{")
    assert json.loads("{" + told)["entries"][0]["taken_at"] == report.taken_at.isoformat()
    assert f"as of {report.taken_at.astimezone():%Y-%m-%d}" in " ".join(table.split())


def test_a_migration_has_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A store of an older format that is opened for writing notes once that it was brought to the present one."""
    store = tmp_path / "store"
    shutil.copytree(Path(__file__).parent / "fixtures" / "format-1" / "store", store)
    for _ in range(2):
        FolderStore(store).close()
    (entry,) = (entry for entry in audit(store) if entry.action == "migrate")
    assert entry.counts["from"] == 1
    with pytest.raises(SystemExit):
        main(["audit", "--store", str(store)])
    assert f"format 1 to {FORMAT}" in capsys.readouterr().out
    assert verify(store, repair=True).is_sound  # git does not keep the modes


@pytest.mark.parametrize("option", [("--out", "report.html"), ("--seed", "7"), ("--judge", "ollama:m")])
def test_options_of_a_review_are_refused_without_one(sh: Shell, option: tuple[str, str]) -> None:
    """An option that would change nothing is wrong usage, not silence."""
    ran = sh("audit", *option)
    assert (ran.code, "go with --sample" in " ".join(ran.err.split())) == (2, True)
