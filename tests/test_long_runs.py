"""A process that runs for long, over a store in which much comes and goes, holds what is there and not what was."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from time import sleep
from unittest.mock import patch

import numpy as np
import pytest

from items import asked, said, space
from siltstone.protocols import Where
from siltstone.stores import user
from siltstone.stores.folder import FolderStore
from siltstone.stores.table import table
from siltstone.stores.user import UserStore

ROUND = 60


def settle(store: FolderStore) -> None:
    """Wait for the thread that writes the cache."""
    if store._keeper is not None:
        store._keeper.join()


def rounds(store: FolderStore, count: int) -> list[int]:
    """Have a round of messages come, and the one before go, ``count`` times; return the bytes of the rows after each.

    Some messages are there from the first round to the last.
    """
    store.set_fingerprint(space())
    store.commit("u", [said(f"stays{n}", f"stays {n}", seed=n, minute=n) for n in range(9)])
    sizes = []
    for at in range(count):
        store.commit("u", [said(f"m{at}-{n}", f"word{n} of {at}", seed=n, session=f"s{at}") for n in range(ROUND)])
        settle(store)
        if at:
            store.remove("u", [f"m{at - 1}-{n}" for n in range(ROUND)])
        settle(store)
        sizes.append(store.stats("u").memory["rows"])
    return sizes


def until_it_gives_way(store: FolderStore, before: object) -> None:
    """Have messages come and go until another table has the place of the one before; a busy thread may take a while."""
    for at in range(1, 60):
        store.commit("u", [said(f"m{at}-{n}", f"word{n}", session=f"s{at}") for n in range(ROUND)])
        store.remove("u", [f"m{at - 1}-{n}" for n in range(ROUND)])
        settle(store)
        assert len(store.messages("u", "s")) == 9
        if store._table("u") is not before:
            return
    raise AssertionError("the table of what has gone is still there")


@pytest.fixture(autouse=True)
def _small_stores_have_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user, "_LEAST_RUNNING", ROUND)
    monkeypatch.setattr(table, "_LEAST_GONE", ROUND)


def test_rows_of_what_has_gone_are_given_back(tmp_path: Path) -> None:
    """They are no more in the second half than in the first, and answers are those of a process that has just begun."""
    with closing(FolderStore(tmp_path, durability="os")) as store:
        sizes = rounds(store, 16)
        assert max(sizes[8:]) <= max(sizes[:8])
        with closing(FolderStore(tmp_path, durability="os")) as fresh:
            assert list(store.scan("u", Where())) == list(fresh.scan("u", Where()))
            assert store.sessions("u") == fresh.sessions("u")
            query = asked("word3", "stays", seed=3, depth=30)
            found, expected = store.candidates("u", query), fresh.candidates("u", query)
            assert sorted(found.keys[found.eligible]) == sorted(expected.keys[expected.eligible])


@pytest.mark.slow
def test_readers_go_on_meanwhile(tmp_path: Path) -> None:
    """What stays is there in every scan while another thread has much come and go."""
    with closing(FolderStore(tmp_path, durability="os")) as store:
        rounds(store, 1)
        done, counts = Event(), set()

        def read() -> None:
            while not done.is_set():
                counts.add(sum(record.text.startswith("stays") for record in store.scan("u", Where())))

        reader = Thread(target=read)
        reader.start()
        try:
            for at in range(1, 9):
                store.commit("u", [said(f"m{at}-{n}", f"word{n}", session=f"s{at}") for n in range(ROUND)])
                store.remove("u", [f"m{at - 1}-{n}" for n in range(ROUND)])
        finally:
            done.set()
            reader.join()
        assert counts == {9}


def test_a_scan_that_was_begun_before_comes_to_its_end(tmp_path: Path) -> None:
    """What gets another place in the files after the table of a scan gave way is found there."""
    with closing(FolderStore(tmp_path, durability="os", segment_size=2_000)) as store:
        rounds(store, 1)
        scan = store.scan("u", Where())
        next(scan)
        before = store._table("u")
        until_it_gives_way(store, before)
        store._rules.decoded.drop_reader(before._read_item._number)  # type: ignore[attr-defined]
        store.remove("u", ["stays1"])  # whatever lies behind it gets another place
        assert [record.text for record in scan] == [f"stays {n}" for n in range(2, 9)]


def test_vectors_are_found_where_they_lie_by_who_began_before(tmp_path: Path) -> None:
    """What is copied elsewhere after a table gave way is read there through the old table, too."""
    with closing(FolderStore(tmp_path, durability="os")) as store:
        rounds(store, 1)
        before = store._table("u")
        rows = np.array(before.find([f"stays{n}" for n in range(9)], before.view), np.int32)
        vectors = before._halves(rows)
        assert not np.isnan(vectors).any()
        until_it_gives_way(store, before)
        store.compact()
        assert np.array_equal(before._halves(rows), vectors)


def test_what_is_forgotten_later_is_not_kept_in_memory(tmp_path: Path) -> None:
    """Neither is what was read of it before its table gave way to a fresh one."""
    with closing(FolderStore(tmp_path, durability="os")) as store:
        list(store.scan("u", Where()))
        rounds(store, 1)
        before = store._table("u")
        list(store.scan("u", Where()))
        until_it_gives_way(store, before)
        store.remove("u", ["stays3"])
        cache = store._rules.decoded
        kept = [one.item.id for one in (*cache._young.values(), *cache._old.values())]
        assert "stays3" not in kept


def test_who_reads_while_another_thread_begins_waits_for_it(tmp_path: Path) -> None:
    """A cache that has been read is not all there is to know: nobody sees the table before it has been published."""
    with closing(FolderStore(tmp_path, durability="os")) as store:
        rounds(store, 2)
        store.close()
    with closing(FolderStore(tmp_path, durability="os")) as store:
        publish, seen, inside = UserStore._publish, [], Event()

        def slowly(one: UserStore) -> None:
            if not inside.is_set():
                inside.set()
                sleep(0.3)
            publish(one)

        def look() -> None:
            inside.wait()
            seen.append(len(store.messages("u", "s")))

        other = Thread(target=look)
        other.start()
        with patch.object(UserStore, "_publish", slowly):
            seen.append(len(store.messages("u", "s")))
            other.join()
        assert seen == [9, 9]
