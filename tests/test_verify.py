"""``verify`` reads every file, sees every damage, says where and how bad, and changes nothing."""

from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from items import known, said, space
from siltstone.cli import main
from siltstone.errors import NotFoundError, StoreLockedError
from siltstone.protocols import Refusal
from siltstone.reports import VerifyReport
from siltstone.stores.files import auditfile
from siltstone.stores.files.auditfile import Deed
from siltstone.stores.files.frames import Frame, frame, scan
from siltstone.stores.files.lock import FileLock
from siltstone.stores.folder import FolderStore
from siltstone.stores.maintenance.verify import look
from siltstone.upkeep import verify
from writers import PROCESSES, add_without_end


def filled(folder: Path) -> Path:
    """Write a store of two users with segments, versions, removals, refusals, cache and audit; return its folder."""
    store = FolderStore(folder, segment_size=10_000, durability="os")
    store.set_fingerprint(space())
    for n in range(15):
        store.commit("u", [said(f"m{n:02}-{i:02}", f"text {n} {i} 深圳", minute=n, seed=n * 20 + i) for i in range(20)])
    store.commit("u", [known("f", "one thing", seed=1)])
    store.commit("u", [known("f", "another thing", seed=2, version=2), known("late", "not embedded yet")])
    store.remove("u", ["m03-01", "m04-02"], transcripts=[Refusal("s", "m03-01", "text 3 1 深圳")])
    store.commit("v", [said("m", "another user", user="v", seed=1)])
    store.close()
    return folder


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store without damage, to be copied."""
    return filled(tmp_path_factory.mktemp("sound") / "store")


@pytest.fixture
def store(sound: Path, tmp_path: Path) -> Path:
    """A store of one's own to damage."""
    return Path(shutil.copytree(sound, tmp_path / "store"))


def told(report: VerifyReport) -> set[tuple[str, str]]:
    """Return how bad and in what file each finding is."""
    return {(finding.severity, Path(finding.path).name) for finding in report.findings}


def flip(path: Path, at: int, bit: int = 0) -> None:
    """Change one bit of a file."""
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << bit
    path.write_bytes(data)


def test_a_sound_store_is_sound(store: Path) -> None:
    """Nothing is found where nothing is wrong, and what was read is counted."""
    before = {path: path.stat().st_mtime_ns for path in store.rglob("*")}
    report = verify(store)
    assert report.findings == ()
    assert report.is_sound
    assert (report.users, report.documents, report.vectors, report.pending_vectors) == (2, 302, 300, 1)
    assert {path: path.stat().st_mtime_ns for path in store.rglob("*")} == before
    assert len(list(store.rglob("docs.*"))) == 5
    assert len(list(store.rglob("cache"))) == 1


def test_verifying_waits_for_writers_and_leaves_no_trace(store: Path) -> None:
    """It takes the lock that is there without a word in it, and makes none where a restore has left none."""
    (lock,) = store.glob("users/*/v-*/LOCK")
    with FileLock(str(lock)).held(0), pytest.raises(StoreLockedError):
        look(str(store), None, timeout=0.05)
    with FileLock(str(lock), write=False).held(0), FileLock(str(lock), write=False).held(0):
        assert look(str(store), None, timeout=0.05).is_sound
        with pytest.raises(StoreLockedError):
            FileLock(str(lock)).acquire(0.05)
    lock.unlink()
    assert look(str(store), None, timeout=0.05).users == 2
    assert not lock.exists()


def test_every_flipped_bit_is_found(store: Path) -> None:
    """One bit changed anywhere, in any file, is found, in that file, and as bad as it is."""
    rng = random.Random(7)
    files = [path for path in sorted(store.rglob("*")) if path.is_file() and path.name != "LOCK"]
    expected = {"docs": {"lost", "cosmetic"}, "vectors": {"recomputable"}, "cache": {"recomputable"}}
    expected |= {"AUDIT": {"lost", "recomputable", "cosmetic"}, "STORE": {"recomputable"}}
    for _ in range(160):
        path = rng.choice(files)
        whole = path.read_bytes()
        at = rng.randrange(len(whole))
        if path.name == "STORE" and whole[at : at + 1].isspace():
            continue  # between the copies
        flip(path, at, rng.randrange(8))
        report = verify(store)
        severities = {finding.severity for finding in report.findings if Path(finding.path).name == path.name}
        assert severities, f"{path.name} {at}"
        assert severities <= expected[path.name.partition(".")[0]]
        assert not report.is_sound or severities == {"cosmetic"}
        path.write_bytes(whole)
    assert verify(store).findings == ()


def rewrite(store: Path, change: Callable[[Frame], bytes | None], segment: int = 1) -> None:
    """Write a segment of u anew, each frame as ``change`` makes it, all with right checksums."""
    (path,) = store.glob(f"users/*/u-*/docs.{segment:06d}.jsonl")
    pieces = [piece for piece in scan(path.read_bytes()) if isinstance(piece, Frame)]
    path.write_bytes(b"".join(frame(p.number, made, p.last) for p in pieces if (made := change(p)) is not None))


def test_what_checks_and_is_wrong_is_found(store: Path) -> None:
    """Checksums are not all: documents that are none, of another user, doubled, forgotten, or without their cache."""
    (first,) = store.glob("users/*/u-*/docs.000001.jsonl")
    (second,) = store.glob("users/*/u-*/docs.000002.jsonl")
    whole = first.read_bytes()

    rewrite(store, lambda p: b'{"i":"x","k":1}' if p.number == 5 else p.document)
    assert ("lost", first.name) in told(verify(store))
    rewrite(store, lambda p: p.document.replace(b'"user":"u"', b'"user":"w"') if not p.number else p.document)
    assert ("lost", second.name) in told(verify(store))
    first.write_bytes(whole)
    kept = second.read_bytes()
    second.write_bytes(whole.replace(b'"segment":1', b'"segment":2'))
    assert ("lost", second.name) in told(verify(store))
    second.write_bytes(kept)
    rewrite(store, lambda p: p.document.replace(b"text", b"next"))
    assert told(verify(store)) == {("recomputable", "cache")}
    first.write_bytes(whole)
    assert verify(store).findings == ()


def test_forgotten_documents_that_are_still_there_are_found(store: Path) -> None:
    """A document that a finished removal names is exposed."""
    (path,) = store.glob("users/*/v-*/docs.000001.jsonl")
    data = path.read_bytes()
    for number, note in ((2, {"x": [1], "h": []}), (3, {"y": 2})):
        data += frame(number, orjson.dumps(note), True)
    path.write_bytes(data)
    (finding,) = [finding for finding in verify(store).findings if finding.severity == "exposed"]
    assert finding.user_id == "v"


def test_missing_segments_are_found(store: Path) -> None:
    """A file of documents that is gone is named, in the middle and at the end."""
    (middle,) = store.glob("users/*/u-*/docs.000002.jsonl")
    whole = middle.read_bytes()
    middle.unlink()
    assert ("lost", "docs.000002.jsonl") in told(verify(store))
    middle.write_bytes(whole)
    for last in (sorted(store.glob("users/*/u-*/docs.*"))[-1], *store.glob("users/*/u-*/docs.000001.jsonl")):
        whole = last.read_bytes()
        last.unlink()
        assert ("lost", last.name) in told(verify(store))
        last.write_bytes(whole)


def test_refusals_that_only_the_audit_remembers_are_found(store: Path) -> None:
    """What the documents should refuse is compared with what was written down when it was forgotten."""
    auditfile.append_locked(str(store), [Deed("forget", user_id="v", hashes=("ab" * 12,))], durable=True, timeout=1)
    (finding,) = verify(store).findings
    assert (finding.severity, finding.user_id) == ("recomputable", "v")


def test_leftovers_and_modes_are_found(store: Path) -> None:
    """What killed processes left is cosmetic; what others may read is exposed."""
    (user,) = store.glob("users/*/u-*")
    (user / "docs.000001.jsonl.new").write_bytes(b"x")
    (store / "STORE.new").write_bytes(b"x")
    for path in (user / "docs.000001.jsonl.new", store / "STORE.new"):
        path.chmod(0o600)
    (store / "trash" / "0123").mkdir(mode=0o700, parents=True)
    (store / "trash").chmod(0o700)
    report = verify(store)
    assert told(report) == {("cosmetic", "docs.000001.jsonl.new"), ("cosmetic", "STORE.new"), ("cosmetic", "0123")}
    assert report.is_sound
    (user / "cache").chmod(0o644)
    user.chmod(0o755)
    report = verify(store)
    assert {f.path for f in report.findings if f.severity == "exposed"} == {
        str((user / "cache").relative_to(store)),
        str(user.relative_to(store)),
    }
    assert not report.is_sound


def test_verifying_does_not_mind_writers(tmp_path: Path) -> None:
    """While three processes write, nothing is found that is not there."""
    FolderStore(tmp_path / "store")
    writers = [
        PROCESSES.Process(target=add_without_end, args=(tmp_path / "store", f"w{n}", tmp_path / f"w{n}"), daemon=True)
        for n in range(3)
    ]
    for process in writers:
        process.start()
    try:
        while not all((tmp_path / f"w{n}").exists() and (tmp_path / f"w{n}").stat().st_size for n in range(3)):
            assert all(process.is_alive() for process in writers)
            time.sleep(0.01)
        for _ in range(15):
            report = verify(tmp_path / "store")
            assert [f for f in report.findings if f.severity != "cosmetic"] == []
        assert report.documents > 10
    finally:
        for process in writers:
            process.kill()
            process.join()
    assert verify(tmp_path / "store").is_sound


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    """Run a command; return its exit code and what it printed."""
    with pytest.raises(SystemExit) as ended:
        main(args)
    return int(ended.value.code or 0), capsys.readouterr().out


def test_the_command_has_an_exit_code_for_damage(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """``siltstone verify`` exits with 0 where all is sound, 3 where it is not, 1 where there is no store."""
    monkeypatch.setenv("COLUMNS", "200")
    assert run(capsys, "verify", "--store", str(store)) == (
        0,
        "2 users, 302 documents, 300 vectors, 1 to be embedded: sound\n",
    )
    (path,) = store.glob("users/*/u-*/docs.000002.jsonl")
    flip(path, 300)
    code, printed = run(capsys, "verify", "--store", str(store))
    assert code == 3
    assert "docs.000002.jsonl" in printed
    assert "lost" in printed
    code, printed = run(capsys, "verify", "--store", str(store), "--json")
    assert code == 3
    assert json.loads(printed)["is_sound"] is False
    assert run(capsys, "verify", "--repair", "--store", str(store))[0] == 0
    assert run(capsys, "verify", "--store", str(store))[0] == 0
    assert run(capsys, "verify", "--store", str(tmp_path / "none"))[0] == 1
    with pytest.raises(NotFoundError):
        verify(tmp_path / "none")
