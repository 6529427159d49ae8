"""``verify --repair``: what is damaged is kept aside and cut out, what is not damaged stays, and then all is sound."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import numpy as np
import pytest

from items import asked, known, said, space
from siltstone.errors import StoreCorruptedError
from siltstone.protocols import Refusal, Where
from siltstone.stores.folder import FolderStore
from siltstone.upkeep import audit, backup, restore, verify
from writers import PROCESSES, repair_until

SECRET = "heliotrope-蓝鹊"
TEXTS = {f"turn:m{n:02}": f"text {n} 深圳" for n in range(40)}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of forty messages in segments, one forgotten, to be copied."""
    folder = tmp_path_factory.mktemp("sound") / "store"
    store = FolderStore(folder, segment_size=2_000, durability="os")
    store.set_fingerprint(space())
    for n in range(0, 40, 2):
        store.commit("u", [said(f"m{n + i:02}", TEXTS[f"turn:m{n + i:02}"], seed=n + i) for i in range(2)])
    store.commit("u", [said("gone", "forgotten", session="t")])
    store.remove("u", ["gone"], transcripts=[Refusal("t", "gone", "forgotten")])
    store._user("u", store.settings).keep()
    store.close()
    return folder


@pytest.fixture
def store(sound: Path, tmp_path: Path) -> Path:
    """A store of one's own to damage."""
    return Path(shutil.copytree(sound, tmp_path / "store"))


def readable(folder: Path) -> dict[str, str]:
    """Return what can be read and searched in a store; all ways of reading must agree."""
    store = FolderStore(folder)
    records = {record.id: record.text for record in store.scan("u", Where())}
    candidates = store.candidates("u", asked("深圳", seed=0))
    assert candidates.document_frequency.tolist() == [len(records)]
    assert np.count_nonzero(~np.isnan(candidates.dense)) + store.stats("u").pending_vectors == len(records)
    assert records.items() <= TEXTS.items()
    assert store.stats("u").health == ()
    assert store.commit("u", [said("gone", "x", session="t")]).skipped == ("gone",)
    store.close()
    return records


def damage(path: Path, at: int, bit: int) -> str:
    """Flip a bit; return the id of the record in whose line that is, if it is a line of documents."""
    data = bytearray(path.read_bytes())
    line = data[data.rfind(b"\n", 0, at) + 1 : (data.find(b"\n", at) + 1) or len(data)]
    data[at] ^= 1 << bit
    path.write_bytes(data)
    if not path.name.startswith("docs.") or b'"i":"m' not in line:
        return ""
    return "turn:" + line.split(b'"i":"')[1][:3].decode()


def test_whatever_is_flipped_the_rest_stays(store: Path, sound: Path) -> None:
    """After random bits anywhere, a repair leaves a sound store that has lost the damaged records and no others."""
    rng = random.Random(3)
    files = [path for path in sorted(store.rglob("*")) if path.is_file() and path.name != "LOCK"]
    for round in range(40):
        spoilt: set[str] = set()
        ends = False
        for _ in range(1 + round % 4):
            path = rng.choice(files)
            whole = path.read_bytes()
            at = rng.randrange(len(whole))
            ends = ends or whole[at] == 10  # the line behind goes too
            spoilt.add(damage(path, at, rng.randrange(8)))
        found = verify(store)
        report = verify(store, repair=True)
        assert report.is_sound, report.findings
        assert set(found.findings) <= {*report.repaired, *report.findings}
        assert verify(store).is_sound
        held = readable(store)
        lost = TEXTS.keys() - held.keys()
        assert lost <= spoilt or (ends and len(lost) <= 2 * len(spoilt))
        assert report.pending_vectors == FolderStore(store).stats("u").pending_vectors
        shutil.rmtree(store)
        shutil.copytree(sound, store)


def test_damaged_pieces_are_kept_aside(store: Path) -> None:
    """What is cut out lies in the quarantine, byte for byte, for the owner alone; the audit has a line of it."""
    path = sorted(store.rglob("docs.*"))[0]
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b"text", b"tent")
    path.write_bytes(b"".join(lines))
    report = verify(store, repair=True)
    assert report.quarantine == str(store / "quarantine")
    (piece,) = (path for path in (store / "quarantine").rglob("*") if path.is_file())
    assert piece.read_bytes() == lines[3]
    assert piece.stat().st_mode & 0o777 == 0o600
    assert [entry.action for entry in audit(store)] == ["forget", "repair"]
    assert lines[3] not in path.read_bytes()


def test_what_is_forgotten_leaves_the_quarantine(store: Path) -> None:
    """A quarantined piece may hold the words: all of a user's go with the next thing that the user forgets."""
    live = FolderStore(store)
    live.commit("u", [said("s", f"the word is {SECRET}", session="t")])
    live.commit("v", [known("f", f"{SECRET} of v", user="v")])
    live.close()
    for path in store.rglob("docs.*"):
        path.write_bytes(path.read_bytes().replace(b"the word", b"the worm").replace(b" of v", b" or v"))
    assert verify(store, repair=True).is_sound
    kept = [path for path in (store / "quarantine").rglob("*") if path.is_file()]
    assert sum(SECRET.encode() in path.read_bytes() for path in kept) == 2
    live = FolderStore(store)
    live.remove("u", ["m00"])
    assert [p.read_bytes().count(b"or v") for p in (store / "quarantine").rglob("*") if p.is_file()] == [1]
    live.remove("v", [], everything=True)
    assert not [path for path in store.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def test_a_killed_repair_loses_nothing(store: Path, sound: Path) -> None:
    """Killed at any step, a repair leaves a store that the next one makes sound, with all that was readable."""

    def spoil() -> None:
        for name in ("docs.000001.jsonl", "docs.000002.jsonl"):
            (path,) = store.rglob(name)
            path.write_bytes(path.read_bytes().replace(b"text 3 ", b"texx 3 ").replace(b"text 20 ", b"texx 20 "))
        (vectors,) = store.rglob("vectors.*")
        vectors.write_bytes(vectors.read_bytes()[:200] + b"!" + vectors.read_bytes()[201:])
        (store / "AUDIT").write_bytes((store / "AUDIT").read_bytes() + b"nothing\n")
        settings = (store / "STORE").read_bytes()
        (store / "STORE").write_bytes(b"!" + settings[1:])

    step, ended = 0, False
    while not ended:
        spoil()
        process = PROCESSES.Process(target=repair_until, args=(store, step))
        process.start()
        process.join()
        ended = process.exitcode == 0
        assert verify(store, repair=True).is_sound
        assert TEXTS.keys() - readable(store).keys() == {"turn:m03", "turn:m20"}
        shutil.rmtree(store)
        shutil.copytree(sound, store)
        step += 11
    assert step > 40


def test_writers_go_on_through_a_repair(store: Path) -> None:
    """A store that is open meanwhile reads and writes on, and finds each record at its new place."""
    live = FolderStore(store)
    assert len(list(live.scan("u", Where()))) == 40
    path = sorted(store.rglob("docs.*"))[0]
    path.write_bytes(path.read_bytes().replace(b"text 3 ", b"texx 3 "))
    verify(store, repair=True)
    live.commit("u", [said("m99", "text 99 深圳")])
    texts = {record.id: record.text for record in live.scan("u", Where())}
    assert {id: texts[id] for id in TEXTS if id != "turn:m03"} == {k: v for k, v in TEXTS.items() if k != "turn:m03"}
    assert verify(store).is_sound


def test_a_missing_file_of_documents_is_accepted_by_a_repair(store: Path) -> None:
    """What was in a file that is gone is lost; the files around it are joined, and all else is there."""
    (middle,) = store.rglob("docs.000002.jsonl")
    lost = {f"turn:{line.split(chr(34))[0]}" for line in middle.read_text().split('"i":"')[1:]}
    middle.unlink()
    assert not verify(store).is_sound
    assert verify(store, repair=True).is_sound
    assert TEXTS.keys() - readable(store).keys() == lost


@pytest.mark.parametrize("which", ["first", "last", "two first"])
def test_what_the_first_or_the_last_file_held_is_lost_and_the_rest_stays(store: Path, which: str) -> None:
    """Its loss is told; repaired, the rest is readable, writable and sound, and what was forgotten stays refused."""
    (folder,) = store.glob("users/*/*")
    files = sorted(folder.glob("docs.*"))
    before = set(readable(store))
    for path in {"first": files[:1], "last": files[-1:], "two first": files[:2]}[which]:
        path.unlink()
    assert [f.path for f in verify(store).findings if f.severity == "lost" and "missing" in f.what]
    report = verify(store, repair=True)
    assert report.is_sound
    assert any("missing" in finding.what for finding in report.repaired)
    left = readable(store)
    assert left
    assert set(left) < before
    FolderStore(store).commit("u", [said("m00", TEXTS["turn:m00"], seed=0)])
    assert set(readable(store)) == {*left, "turn:m00"}
    assert verify(store).findings == ()


@pytest.mark.parametrize("places", [(30, 30), (30, 60)], ids=["same place", "different places"])
def test_settings_that_are_damaged_twice(store: Path, places: tuple[int, int], tmp_path: Path) -> None:
    """Two copies damaged in different places make a whole one; otherwise a new one is written, and the texts stay."""
    path = store / "STORE"
    data = bytearray(path.read_bytes())
    backup(store, tmp_path / "backup")
    for copy, place in zip((0, 4_096 * ((len(data) - 1) // 2 // 4_096 + 1)), places, strict=True):
        data[(copy if copy == 0 else len(data) - len(bytes(data).split(b"\n")[0]) - 1) + place] ^= 2
    path.write_bytes(data)
    with pytest.raises(StoreCorruptedError, match="restore"):
        FolderStore(store)
    report = verify(store, repair=True)
    assert report.is_sound
    live = FolderStore(store)
    assert {record.id: record.text for record in live.scan("u", Where())} == TEXTS
    if places[0] != places[1]:
        assert live.fingerprint() == space()
        assert report.pending_vectors == 0
        assert readable(store) == TEXTS
    else:
        assert "no longer refused" in report.repaired[0].repair
        assert live.fingerprint() is None
        assert report.pending_vectors == 40
        live.set_fingerprint(space("another"))
        live.put_vectors("u", live.pending("u", 1), np.ones((1, 16), np.float32))
        assert verify(store).pending_vectors == 39


def test_damaged_settings_are_restored_from_a_backup(store: Path, tmp_path: Path) -> None:
    """Where ``STORE`` is damaged in both copies, a backup goes over the store, which its audit still names."""
    backup(store, tmp_path / "backup")
    live = FolderStore(store)
    live.remove("u", ["m00"])
    live.close()
    (store / "STORE").write_bytes(bytes(8_000))
    assert restore(tmp_path / "backup", store).forgotten == 1
    assert TEXTS.keys() - readable(store).keys() == {"turn:m00"}


def test_the_name_of_a_user_is_found_again(store: Path) -> None:
    """A head that is damaged in the very name, in a store of one file, is written anew; else the name is asked for."""
    live = FolderStore(store)
    live.commit("alice and 小明", [known("f", "hers", user="alice and 小明")])
    live.close()
    (path,) = store.glob("users/*/alice*/docs.*")
    whole = path.read_bytes()
    path.write_bytes(whole.replace("小明".encode(), "小昏".encode().replace(b"\x8f", b"\x8e")))
    path.write_bytes(whole.replace(b'"alice', b'"alicd'))
    assert not verify(store).is_sound
    assert verify(store, repair=True).is_sound
    assert "alice and 小明" in FolderStore(store).users()
    path.write_bytes(whole.replace(b'"alice', b'"bob  '))
    assert not verify(store, repair=True).is_sound
    assert verify(store, repair=True, user_id="alice and 小明").is_sound
    assert [record.text for record in FolderStore(store).scan("alice and 小明", Where())] == ["hers"]
