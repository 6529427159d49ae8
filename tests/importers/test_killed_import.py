"""An import that is killed goes on when it is run again, and ends as if nobody had disturbed it."""

from __future__ import annotations

import io
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from exports import EXPORTS, LLAMA_INDEX, lines

from siltstone import TieredMemory
from siltstone.testing import HashEmbedder, WordCounter

_SCRIPT = Path(__file__).parent / "killed.py"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an export in every format, one of which has something that fails."""
    folder = tmp_path_factory.mktemp("source") / "exports"
    folder.mkdir()
    for export in EXPORTS:
        if export is not LLAMA_INDEX:  # it would make the folder one of LlamaIndex
            (folder / export.file).write_bytes(export.data)
    (folder / "more.jsonl").write_bytes(
        lines(*({"id": f"m{n}", "text": f"消息 {n}"} for n in range(40)), {"id": "bad"})
    )
    return folder


def run(store: Path, source: Path, step: int) -> subprocess.CompletedProcess[str]:
    """Import in a process of its own, which dies before a step on the disk; 0 lives."""
    command = [sys.executable, str(_SCRIPT), str(store), str(source), str(step)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def state(store: Path) -> tuple[list[bytes], int, bytes]:
    """Return what a store holds, in no order, without its header; how many vectors it lacks; and what failed."""
    buffer = io.BytesIO()
    with TieredMemory.open(store, embedder=HashEmbedder(16), token_counter=WordCounter(), read_only=True) as memory:
        memory.export_to(buffer)
        pending = memory.stats().pending_vectors
    failed = Path(f"{store}.failed.jsonl").read_bytes()
    return sorted(buffer.getvalue().splitlines()[1:]), pending, failed


@pytest.mark.slow
def test_killed_at_ten_random_points_and_resumed(tmp_path: Path, source: Path) -> None:
    """Killed before any of its steps on the disk, once or again and again, the end is the same to the byte."""
    undisturbed = run(tmp_path / "undisturbed", source, 0)
    assert undisturbed.returncode == 0, undisturbed.stderr
    added, failed, steps = map(int, undisturbed.stdout.split())
    assert added > 80
    assert failed == 1
    expected = state(tmp_path / "undisturbed")
    seed = random.randrange(1 << 32)
    kills = sorted(random.Random(seed).sample(range(1, steps + 1), 9))
    for kill in kills:
        store = tmp_path / f"killed-{kill}"
        assert run(store, source, kill).returncode == -signal.SIGKILL
        resumed = run(store, source, 0)
        assert resumed.returncode == 0, resumed.stderr
        assert state(store) == expected, f"seed {seed}, killed before step {kill}"
    store = tmp_path / "again and again"
    for _ in range(10):  # each life is long enough to write a little, and no longer
        if run(store, source, steps // 5).returncode == 0:
            break
    assert run(store, source, 0).returncode == 0
    assert state(store) == expected


@pytest.mark.parametrize("export", EXPORTS, ids=lambda export: export.file)
def test_each_format_goes_on_where_it_stopped(tmp_path: Path, export: object) -> None:
    """Stopped after any of its items and begun again, the memory is that of an undisturbed import."""
    from exports import Export

    assert isinstance(export, Export)
    file = tmp_path / export.file
    file.write_bytes(export.data)

    class StopError(Exception):
        pass

    def texts(memory: TieredMemory) -> list[tuple[str, str]]:
        return sorted((record.id, record.text) for record in memory.records())

    with TieredMemory.open(":memory:", embedder=HashEmbedder(16), token_counter=WordCounter()) as whole:
        total = whole.import_from(file).added
        expected = texts(whole)
    from siltstone.transfer import importing

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importing, "BATCH", 1)
        for stop in random.Random(export.file).choices(range(1, total + 1), k=10):

            def progress(done: int, total: int, stop: int = stop) -> None:
                if done == stop:
                    raise StopError

            with TieredMemory.open(":memory:", embedder=HashEmbedder(16), token_counter=WordCounter()) as memory:
                with pytest.raises(StopError):
                    memory.import_from(file, progress=progress)
                memory.import_from(file)
                assert texts(memory) == expected
