"""Items that were read lately are kept decoded: the same answers, a bounded number, nothing of what is forgotten."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

from items import known, said, space
from siltstone.protocols import Stored, Where
from siltstone.stores import decoded
from siltstone.stores.decoded import Decoded
from siltstone.stores.files.log import Log
from siltstone.stores.folder import FolderStore


def filled(folder: Path) -> FolderStore:
    """Return a store of three messages and three records, of which two have metadata, one nested."""
    store = FolderStore(folder, durability="os")
    store.set_fingerprint(space())
    store.commit("u", [said(f"m{n}", f"text {n}", minute=n, seed=n) for n in range(3)])
    store.commit("u", [known("plain", "a fact"), known("rich", "a thing", metadata={"shelf": 3})])
    store.commit("u", [known("nested", "a list", metadata={"tags": ["red"]})])
    return store


def kept(store: FolderStore) -> list[Stored]:
    """Return what is kept."""
    cache = store._rules.decoded
    return [one.item for one in (*cache._young.values(), *cache._old.values())]


def test_what_was_read_is_not_read_again(tmp_path: Path) -> None:
    """The second time the files are asked for what has nested metadata only, which a caller could have changed."""
    with closing(filled(tmp_path)) as store:
        first = list(store.scan("u", Where()))
        with patch.object(Log, "load", autospec=True, side_effect=Log.load) as load:
            assert list(store.scan("u", Where())) == first
        assert load.call_count == 1


def test_what_a_caller_does_to_a_record_stays_with_the_caller(tmp_path: Path) -> None:
    """Metadata that someone writes into a record or message is not in what others read."""
    with closing(filled(tmp_path)) as store:
        store.commit("u", [said("m3", "text 3", minute=3, seed=3, metadata={"from": "phone"})])
        for _ in range(3):
            for record in store.scan("u", Where()):
                metadata = cast("dict[str, Any]", record.metadata)
                metadata["mine"] = True
                for value in metadata.values():
                    if isinstance(value, list):
                        value.append("blue")
            for message in store.messages("u", "s"):
                if message.metadata:
                    cast("dict[str, Any]", message.metadata)["mine"] = True
        found = [record.metadata for record in store.scan("u", Where()) if record.metadata]
        assert found == [{"shelf": 3}, {"tags": ["red"]}, {"from": "phone"}]
        assert [message.metadata for message in store.messages("u", "s") if message.metadata] == [{"from": "phone"}]


def test_a_new_version_is_read(tmp_path: Path) -> None:
    """What was replaced, by this process or by another, is not what is read."""
    with closing(filled(tmp_path)) as store, closing(FolderStore(tmp_path, durability="os")) as other:
        assert {record.text for record in other.scan("u", Where(kinds=("fact",)))} == {"a fact", "a thing", "a list"}
        store.commit("u", [known("plain", "another fact", version=2)])
        for one in (store, other):
            assert {record.text for record in one.scan("u", Where(kinds=("fact",)))} == {
                "another fact",
                "a thing",
                "a list",
            }


def test_what_is_forgotten_is_not_kept(tmp_path: Path) -> None:
    """Neither by the process that forgot it nor by one that has read of it."""
    with closing(filled(tmp_path)) as store, closing(FolderStore(tmp_path, durability="os")) as other:
        for one in (store, other):
            list(one.scan("u", Where()))
            assert "m1" in {item.id for item in kept(one)}
        store.forget("u", ["m1"])
        list(other.scan("u", Where()))
        for one in (store, other):
            assert "m1" not in {item.id for item in kept(one)}


def test_so_many_are_kept_and_no_more(tmp_path: Path) -> None:
    """Two generations; what is read again stays."""
    with closing(filled(tmp_path)) as store, patch.object(decoded, "GENERATION", 2):
        store._rules.decoded.__init__()  # type: ignore[misc]
        for _ in range(3):
            list(store.scan("u", Where()))
            assert len(kept(store)) <= 4
    cache = Decoded()
    with patch.object(decoded, "GENERATION", 2):
        often = cache.put((0, 0), Stored(1))
        for n in range(1, 20):
            cache.put((0, n), Stored(1))
            assert cache.get((0, 0)) is often
