"""Resources in sight: what a memory takes on disk and in memory, and what its work has cost."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from shell import Shell
from siltstone import NotFoundError, TieredMemory, footprint, upkeep
from siltstone.models.e5_file import locate
from siltstone.testing import HashEmbedder


def test_stats_tell_what_each_stage_has_cost(tmp_path: Path) -> None:
    """The figures of the meter, of the process that holds the store, for all users of it."""
    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(64)) as memory:
        memory.for_user("bob").remember("Likes tea.")
        memory.search("tea")
        stages = memory.stats().stages

    assert (stages["add"].calls, stages["search"].calls) == (1, 1)
    assert stages == {**memory.meter.spent()}


def test_stats_tell_the_memory_of_index_and_process(tmp_path: Path) -> None:
    """A vector takes four bytes for each dimension; words and rows take something; the process all of it and more."""
    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(64)) as memory:
        before = memory.stats().memory
        memory.add([("user", f"Message {number}.") for number in range(100)], session_id="s")
        memory.flush()
        after = memory.stats().memory

    assert before["vector_index"] < 1_000
    assert after["vector_index"] >= 100 * 64 * 4
    assert after["word_index"] > before["word_index"]
    assert after["rows"] > before["rows"]
    assert after["process"] > sum(after[part] for part in ("vector_index", "word_index", "rows", "embedder"))


def test_an_embedder_tells_its_memory_once_it_is_loaded(tmp_path: Path) -> None:
    """At least its file once it is loaded, whatever was freed before; an embedder that does not tell counts as none."""
    with TieredMemory.open(tmp_path / "m") as memory:
        memory.remember("Likes tea.")
        memory.flush()
        assert memory.stats().memory["embedder"] >= locate().stat().st_size > 10_000_000
    with TieredMemory.open(":memory:", embedder=HashEmbedder(64)) as memory:
        memory.remember("Likes tea.")
        assert memory.stats().memory["embedder"] == 0


def test_a_gpu_is_told_of_where_pytorch_uses_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch is never loaded for it, and asked where it is there already."""
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert footprint.gpu() == {}
    assert "torch" not in sys.modules
    cuda = SimpleNamespace(is_available=lambda: True, mem_get_info=lambda: (1, 100), memory_reserved=lambda: 40)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert footprint.gpu() == {"gpu": 40, "gpu_total": 100}
    monkeypatch.setattr(cuda, "is_available", lambda: False)
    assert footprint.gpu() == {}


def test_every_file_of_a_store_has_its_part(tmp_path: Path) -> None:
    """The parts add up to the files; what was set aside by a repair counts as quarantine, whatever its name."""
    store = tmp_path / "m"
    with TieredMemory.open(store, embedder=HashEmbedder(64)) as memory:
        memory.remember("Likes tea.")
        memory.forget(ids=memory.remember("Likes coffee."))
    (store / "quarantine").mkdir()
    (store / "quarantine" / "docs.000001.jsonl").write_bytes(b"x" * 1_000)

    parts = upkeep.sizes(store)

    assert {"documents", "vectors", "audit", "settings", "quarantine"} <= set(parts)
    assert parts["quarantine"] == 1_000
    assert sum(parts.values()) == sum(path.stat().st_size for path in store.rglob("*") if path.is_file())
    with pytest.raises(NotFoundError):
        upkeep.sizes(tmp_path)


def test_the_command_shows_all_of_it(sh: Shell) -> None:
    """Disk by part, memory, and with ``--ask`` the stages; the same as JSON."""
    sh("add", "我喜欢喝茶。", "--session", "s")

    shown = sh("stats", "--ask", "我喜欢喝什么？").out
    told = sh("stats", "--ask", "我喜欢喝什么？", "--json").json

    for word in ("documents", "vectors", "of all users", "word index", "embedder", "process", "context", "ms each"):
        assert word in shown
    assert told["stages"]["context"]["calls"] == told["stages"]["search"]["calls"] == 1
    assert told["stages"]["context"]["tokens"] > 0
    assert told["stages"]["embed"]["seconds"] > 0
    assert told["store_bytes"]["documents"] == told["bytes"]["documents"] > 0
    assert "context" not in sh("stats").out  # nothing was asked
    assert os.path.isdir(sh.store)
