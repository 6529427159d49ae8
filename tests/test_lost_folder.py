"""A user's folder that is gone, by hand or by a repair: what they forgot stays refused, since the audit names it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from items import said
from plain_and_encrypted import KEY, needs_encryption, plain_and_encrypted
from siltstone.protocols import Refusal
from siltstone.stores.folder import FolderStore
from siltstone.upkeep import verify


def opened(folder: Path, key: bytes | None) -> FolderStore:
    """Open a store, encrypted where there is a key."""
    return FolderStore(folder, key=key, durability="os")


def forgetful(folder: Path, key: bytes | None) -> None:
    """Write a store whose user ``u`` has forgotten ``peanuts``, and ``v`` something else."""
    with_words = opened(folder, key)
    for user, text in (("u", "peanuts"), ("v", "cashews")):
        with_words.commit(user, [said("m", text, user=user), said("n", "stays", user=user)])
        with_words.remove(user, ["m"], transcripts=[Refusal("s", id="m", text=text)])
    with_words.close()


def told_again(folder: Path, key: bytes | None) -> list[str]:
    """Send the transcripts again, and something new; return what ``u`` has then."""
    store = opened(folder, key)
    store.commit("u", [said("m", "peanuts"), said("o", "cashews"), said("p", "new")])
    contents = [message.content for message in store.messages("u", "s")]
    store.close()
    return contents


@plain_and_encrypted
@pytest.mark.parametrize("repair", [False, True])
def test_what_was_forgotten_stays_refused_without_its_folder(tmp_path: Path, key: bytes | None, repair: bool) -> None:
    """A transcript that was forgotten is refused by the folder made anew; what others forgot is not."""
    forgetful(tmp_path, key)
    for folder in (tmp_path / "users").iterdir():
        shutil.rmtree(folder)
    if repair:
        verify(tmp_path, repair=True, key=key)
    assert told_again(tmp_path, key) == ["cashews", "new"]
    assert [finding for finding in verify(tmp_path, key=key).findings if finding.severity == "lost"] == []


def test_a_store_that_is_open_reads_on_in_the_audit(tmp_path: Path) -> None:
    """What is forgotten after a folder was looked for in the audit is found there, too, and after it was replaced."""
    forgetful(tmp_path, None)
    store = opened(tmp_path, None)
    for round, text in enumerate(("first", "second", "third")):
        store.commit("w", [said("m", text, user="w")])
        store.remove("w", ["m"], transcripts=[Refusal("s", text=text)])
        if round == 1:
            (tmp_path / "copy").write_bytes((tmp_path / "AUDIT").read_bytes())
            (tmp_path / "copy").rename(tmp_path / "AUDIT")
        for folder in (tmp_path / "users").glob("*/w-*"):
            shutil.rmtree(folder)
        assert store.commit("w", [said("m", text, user="w")]).skipped


@needs_encryption
def test_a_folder_that_a_repair_removes_leaves_what_it_refused(tmp_path: Path) -> None:
    """An erased user's folder put back is removed by a repair; what they forgot before is refused all the same."""
    forgetful(tmp_path / "store", KEY)
    shutil.copytree(tmp_path / "store" / "users", tmp_path / "copy")
    store = opened(tmp_path / "store", KEY)
    store.remove("u", [], everything=True)
    store.close()
    shutil.rmtree(tmp_path / "store" / "users")
    shutil.copytree(tmp_path / "copy", tmp_path / "store" / "users")
    verify(tmp_path / "store", repair=True, key=KEY)
    assert told_again(tmp_path / "store", KEY) == ["cashews", "new"]
