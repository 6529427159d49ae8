"""``verify`` says what a loss may be: how many messages, of which session, between which messages and times."""

from __future__ import annotations

from pathlib import Path

import pytest

from items import NOON, known, said
from plain_and_encrypted import plain_and_encrypted
from shell import Shell
from siltstone.reports import Finding, Gap
from siltstone.stores.files.frames import frame
from siltstone.stores.folder import FolderStore
from siltstone.upkeep import verify


def filled(folder: Path, key: bytes | None = None, segment_size: int = 1 << 20) -> list[Path]:
    """Write ten messages of two sessions and a memory, each a commit of its own; return the files of documents."""
    store = FolderStore(folder, durability="os", key=key, segment_size=segment_size)
    for n in range(10):
        session = "monday" if n < 6 else "tuesday"
        store.commit("u", [said(f"m{n}", f"text {n} 深圳", minute=n, session=session)])
    store.commit("u", [known("f", "a fact")])
    store.close()
    return sorted(folder.rglob("docs.*"))


def lines(path: Path) -> list[bytes]:
    """Return the lines of a file of documents: its head, and then a document each."""
    return [line + b"\n" for line in path.read_bytes().split(b"\n")[:-1]]  # splitlines minds sealed bytes


def damage(path: Path, *places: int) -> None:
    """Change a byte of some lines of a file."""
    changed = [line[:25] + b"?" + line[26:] if at in places else line for at, line in enumerate(lines(path))]
    path.write_bytes(b"".join(changed))


def lost(folder: Path, key: bytes | None = None) -> Finding:
    """Return the one thing that is lost."""
    (finding,) = [finding for finding in verify(folder, key=key).findings if finding.severity == "lost"]
    return finding


@plain_and_encrypted
def test_a_loss_is_told_by_its_neighbours(tmp_path: Path, key: bytes | None) -> None:
    """Two messages that cannot be read: no more than two, their session, and what was said before and after them."""
    (path,) = filled(tmp_path / "store", key)
    damage(path, 3, 4)
    finding = lost(tmp_path / "store", key)
    times = (NOON.replace(minute=1), NOON.replace(minute=4))
    assert finding.gap == Gap(2, "monday", "m1", "m4", *times)
    assert finding.user_id == "u"
    assert finding.what.endswith(
        "at most 2 messages or memories of session 'monday', after m1 (2024-05-08 12:01 UTC), "
        "before m4 (2024-05-08 12:04 UTC)"
    )


@pytest.mark.parametrize(
    ("place", "gap"),
    [
        (1, (1, None, None, "m1")),
        (7, (1, None, "m5", "m7")),
        (11, (1, None, "m9", None)),
    ],
    ids=["at the beginning", "between sessions", "at the end"],
)
def test_a_loss_at_an_edge_is_told_as_far_as_it_can_be(
    tmp_path: Path, place: int, gap: tuple[int, str | None, str | None, str | None]
) -> None:
    """Where a neighbour is missing, or is of another session, that is left out; the number still is right."""
    (path,) = filled(tmp_path / "store")
    damage(path, place)
    found = lost(tmp_path / "store").gap
    assert found is not None
    assert (found.documents, found.session_id, found.after, found.before) == gap


def test_each_of_several_losses_has_its_own_neighbours(tmp_path: Path) -> None:
    """Losses that lie apart are told apart."""
    (path,) = filled(tmp_path / "store")
    damage(path, 2, 5, 9)
    gaps = [finding.gap for finding in verify(tmp_path / "store").findings if finding.gap is not None]
    assert [(gap.documents, gap.after, gap.before) for gap in gaps] == [
        (1, "m0", "m2"),
        (1, "m3", "m5"),
        (1, "m7", "m9"),
    ]


def test_a_missing_file_is_a_gap(tmp_path: Path) -> None:
    """Of a file of documents that is gone, the files before and behind it tell how much it held, and of what time."""
    paths = filled(tmp_path / "store", segment_size=400)
    assert len(paths) > 2
    first, held = (sum(b'"i":' in line for line in lines(path)) for path in paths[:2])
    paths[1].unlink()
    gap = lost(tmp_path / "store").gap
    assert gap is not None
    assert held <= gap.documents <= held + 1  # it ended with a note
    assert (gap.after, gap.before) == (f"m{first - 1}", f"m{first + held}")


def test_a_document_that_is_none_is_a_gap(tmp_path: Path) -> None:
    """A frame that checks and holds nonsense is told like one that does not check."""
    (path,) = filled(tmp_path / "store")
    path.write_bytes(b"".join(frame(4, b'{"i":"x","k":1}', True) if at == 4 else o for at, o in enumerate(lines(path))))
    gap = lost(tmp_path / "store").gap
    assert gap is not None
    assert (gap.documents, gap.after, gap.before) == (1, "m2", "m4")


def test_a_damaged_head_costs_no_message(tmp_path: Path) -> None:
    """Where only the line that names the user is damaged, nothing is said to be missing."""
    (path,) = filled(tmp_path / "store")
    damage(path, 0)
    assert not any("messages or memories" in finding.what for finding in verify(tmp_path / "store").findings)


def test_the_command_says_what_is_safe_and_what_comes_next(sh: Shell) -> None:
    """The user, what is safe, and the command to go on with: a repair, and for what it cannot bring back a backup."""
    (path,) = filled(sh.store)
    damage(path, 3)
    assert "siltstone verify" in sh("stats", "--user", "u").err
    told = sh("verify")
    assert told.code == 3
    assert "user 'u'" in told.out
    assert "safe: 10 documents" in told.err
    assert f"next: siltstone verify --repair --store {sh.store}" in told.err
    mended = sh("verify", "--repair")
    assert mended.code == 0
    assert f"siltstone restore DIR --store {sh.store}" in mended.err
    assert "next:" not in mended.err
    assert "siltstone verify" not in sh("stats", "--user", "u").err
    sound = sh("verify")
    assert (sound.code, sound.err.strip()) == (0, "")
    assert sh("verify", "--json").json["findings"] == []
