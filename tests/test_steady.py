"""A process that runs for long: what has come and gone again costs it neither memory nor the time of what is left."""

from __future__ import annotations

import gc
import shutil
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from items import known, said
from plain_and_encrypted import plain_and_encrypted
from siltstone import upkeep
from siltstone.protocols import Refusal
from siltstone.stores.folder import FolderStore

ROUNDS = 3
"""How often the table is cleared of what has gone, some 500 rows at once."""


def come_and_go(store: FolderStore, first: int, *, refused: bool) -> int:
    """Let messages of sessions of their own come, sixty at once, and go again, until the table has been cleared.

    Returns the number of the next one.
    """
    table, at = store._table("u"), first
    while store._table("u") is table:
        assert at < first + 3_000, "what has gone is never cleared"
        ids = [f"m{n}" for n in range(at, at + 60)]
        store.commit("u", [said(id, "some words", session=f"session {at}", seed=1) for id in ids])
        store.remove("u", ids, transcripts=[Refusal(f"session {at}", text=id) for id in ids] if refused else ())
        at += 60
        if store._keeper is not None:
            store._keeper.join()
    return at


def held() -> int:
    """Return the bytes that Python and numpy hold, less what waits for the collector."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


@pytest.mark.parametrize("refused", [False, True])
def test_what_came_and_went_is_no_more_in_memory(tmp_path: Path, refused: bool) -> None:
    """Rows, names, words and items go with what is taken out; of what may not come back, twelve bytes a hash stay."""
    store = FolderStore(tmp_path, durability="os")
    store.commit("u", [known(f"k{n}", f"fact {n}", seed=n) for n in range(20)])
    first = come_and_go(store, 0, refused=refused)
    tracemalloc.start()
    try:
        at = come_and_go(store, first, refused=refused)
        before, grown = held(), []
        for _ in range(ROUNDS):
            first, at = at, come_and_go(store, at, refused=refused)
            before, now = held(), before
            grown.append((before - now) / (at - first))
    finally:
        tracemalloc.stop()
    table = store._table("u")
    assert table.rows.count == 20
    assert len(table.sessions.names) <= 1
    assert len(table.refused) == (at if refused else 0)
    assert min(grown) < (80 if refused else 50)  # threads that other tests left may take memory, too, but not each time
    store.close()


@contextmanager
def written() -> Iterator[list[tuple[str, str]]]:
    """Note the steps on disk of the block."""
    steps: list[tuple[str, str]] = []
    noting = [True]

    def watch(event: str, args: tuple[object, ...]) -> None:
        if event == "siltstone.disk" and noting and str(args[0]).startswith("before "):
            steps.append((str(args[0]).removeprefix("before "), Path(str(args[1])).name))

    sys.addaudithook(watch)
    yield steps
    noting.clear()


@plain_and_encrypted
def test_what_is_forgotten_is_overwritten_where_it_lies(tmp_path: Path, key: bytes | None) -> None:
    """The file of documents keeps its place and grows by notes alone, however much else is in it."""
    store = FolderStore(tmp_path, key=key)
    store.commit("u", [said(f"m{n:03}", f"text {n} " + "word " * n, minute=n, seed=n) for n in range(300)])
    (log,) = tmp_path.rglob("docs.*.jsonl")
    before = log.stat()

    with written() as steps:
        store.remove("u", ["m010", "m011", "m299", "m150"])

    after = log.stat()
    assert after.st_ino == before.st_ino
    assert before.st_size < after.st_size < before.st_size + 1_000
    assert ("rename", log.name) not in steps
    assert [m.id for m in store.messages("u", "s")] == [f"m{n:03}" for n in range(300) if n not in (10, 11, 299, 150)]
    assert all(f'"text {n} '.encode() not in log.read_bytes() for n in (10, 11, 299, 150))
    assert upkeep.verify(tmp_path, key=key).is_sound
    again = FolderStore(tmp_path, key=key, read_only=True)
    assert again.messages("u", "s") == store.messages("u", "s")
    assert again.stats("u").health == store.stats("u").health == ()
    again.close()
    store.close()


def test_a_torn_overwriting_is_made_up_for(tmp_path: Path) -> None:
    """Where the power goes while words are overwritten, the next opening takes out what is left of them."""
    store = FolderStore(tmp_path / "m")
    store.commit("u", [said(f"m{n}", f"heliotrope {n}", minute=n, seed=n) for n in range(60)])
    (log,) = (tmp_path / "m").rglob("docs.*.jsonl")
    place = log.read_bytes().index(b"heliotrope 40")

    def tear(event: str, args: tuple[object, ...]) -> None:
        if event == "siltstone.disk" and args == ("before sync", str(log)) and b"heliotrope 40" not in log.read_bytes():
            with log.open("r+b") as file:
                file.seek(place)
                file.write(b"helio")
            shutil.copytree(tmp_path / "m", tmp_path / "torn", dirs_exist_ok=True)

    sys.addaudithook(tear)
    store.remove("u", ["m40"])
    (torn,) = (tmp_path / "torn").rglob("docs.*.jsonl")
    assert b"helio  " in torn.read_bytes()

    again = FolderStore(tmp_path / "torn")

    assert b"helio  " not in torn.read_bytes()
    assert [m.id for m in again.messages("u", "s")] == [f"m{n}" for n in range(60) if n != 40]
    assert again.stats("u").health == ()
    again.close()


def test_what_is_forgotten_while_a_file_is_compacted_does_not_come_back(tmp_path: Path) -> None:
    """A file is prepared anew without a lock: what is overwritten in the old one meanwhile is not put back."""
    store = FolderStore(tmp_path, durability="os", history=1)
    for version in range(1, 6):
        store.commit("u", [known("f", f"version {version}", version=version)])
    store.commit("u", [said("m", "heliotrope")])
    user = store._user("u", store._settled())
    revise, forgotten = user._log.revise, []

    class Slow(type(user._log)):  # type: ignore[misc]
        def revise(self, *args: Any) -> Any:
            draft = revise(*args)
            forgotten.append(draft)
            store.remove("u", ["m"])
            return draft

    user._log.__class__ = Slow
    user.compact(user._space, whole=True)

    assert b"heliotrope" in forgotten[0].data
    assert not any(b"heliotrope" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    store.close()
