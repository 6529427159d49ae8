"""Writers that are killed: nothing acknowledged is lost, nothing doubled, the store opens each time."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from items import asked, known, vector
from siltstone.protocols import Query, Where
from siltstone.stores.folder import FolderStore
from writers import PROCESSES, add_without_end, live_until


def killed_once(folder: Path, notes: Path, name: str, *, writers: int, rng: random.Random) -> set[str]:
    """Start writers, kill them at a random moment, and return what was acknowledged to them."""
    files = [notes / f"{name}-{writer}" for writer in range(writers)]
    started = [
        PROCESSES.Process(
            target=add_without_end, args=(folder, file.name, "u", file, "os" if n % 2 else "fsync"), daemon=True
        )
        for n, file in enumerate(files)
    ]
    for process in started:
        process.start()
    deadline = time.monotonic() + 60
    while not any(file.exists() and file.stat().st_size for file in files) and time.monotonic() < deadline:
        time.sleep(0.002)
    time.sleep(rng.random() * 0.06)
    for process in rng.sample(started, len(started)):
        process.kill()
    for process in started:
        process.join()
    return {id for file in files if file.exists() for id in file.read_text().split("\n")[:-1]}


@pytest.mark.parametrize("writers", [1, 3])
def test_nothing_acknowledged_is_lost(tmp_path: Path, writers: int) -> None:
    """After each of 25 kills at random moments, every acknowledged message is there, once, with its text and vector."""
    rng = random.Random(writers)
    folder, acknowledged = tmp_path / "store", set[str]()
    for round in range(25):
        acknowledged |= killed_once(folder, tmp_path, f"r{round}", writers=writers, rng=rng)
        store = FolderStore(folder)
        messages = [m for session in store.sessions("u") for m in store.messages("u", session.session_id)]
        held = Counter(message.id for message in messages)
        assert acknowledged <= set(held)
        assert max(held.values()) == 1
        assert all(message.content == f"message {message.id} 深圳" for message in messages)
        whole(messages)
        candidates = store.candidates("u", asked("深圳", seed=0))
        assert candidates.document_frequency.tolist() == [len(held)]
        assert store.stats("u").records == len(held)
        store.close()
    store = FolderStore(folder)
    candidates = store.candidates("u", Query((), vector(0), Where(), 10))
    assert np.count_nonzero(candidates.eligible) == len(held)
    assert acknowledged
    assert np.count_nonzero(~np.isnan(candidates.dense)) >= len(acknowledged)


def whole(messages: list) -> None:  # type: ignore[type-arg]
    """Check that each commit of several messages is there whole or not at all."""
    sessions: dict[str, set[int]] = {}
    for message in messages:
        sessions.setdefault(message.session_id, set()).add(int(message.id.rsplit("-", 1)[1]))
    for numbers in sessions.values():
        n = 0
        while n in numbers:
            size = 1 + n % 3
            assert numbers.issuperset(range(n, n + size))
            n += size
        assert max(numbers) < n


def test_a_kill_at_any_step_leaves_all_that_was_acknowledged(tmp_path: Path) -> None:
    """Killed before or after each write, sync, rename and unlink in a store's life, it opens with what it promised."""
    step, done = 0, False
    while not done:
        folder, notes = tmp_path / str(step), tmp_path / f"{step}.acknowledged"
        process = PROCESSES.Process(target=live_until, args=(folder, notes, step))
        process.start()
        process.join()
        done = process.exitcode == 0
        assert process.exitcode in (0, -9)
        acknowledged = notes.read_text().split() if notes.exists() else []
        for opened in range(2):
            store = FolderStore(folder)
            held = [message.id for message in store.messages("u", "s")]
            assert len(held) == len(set(held))
            assert set(acknowledged) <= set(held)
            assert len(held) in (0, 2, 4, 6, 306)
            assert store.stats("u").records == len(held) + opened
            store.commit("u", [known("f", "afterwards", version=opened + 1)])
            store.close()
        step += 1
    assert step > 40
