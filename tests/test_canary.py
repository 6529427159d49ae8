"""One word and its vector, through everything that a store does: forgotten, it is nowhere; encrypted, it never was."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siltstone import Message, NotFoundError, Settings, TieredMemory
from siltstone.protocols import Where
from siltstone.stores.encryption.cipher import Keys
from siltstone.stores.files import storefile
from siltstone.stores.migrations.run import migrate
from siltstone.stores.migrations.step import Step
from siltstone.testing import HashEmbedder, WordCounter
from siltstone.upkeep import verify
from test_state_machine import Second

CANARY = "heliotropix-蓝鹊"
KEY = bytes(range(32))


@pytest.fixture
def second() -> Iterator[Second]:
    """Another process that has the store open."""
    process = Second()
    yield process
    process.end()


def opened(folder: Path, **options: Any) -> TieredMemory:
    """Open a memory with small vectors."""
    settings = Settings(close_wait=0)
    return TieredMemory.open(
        folder, embedder=HashEmbedder(32), token_counter=WordCounter(), durability="os", settings=settings, **options
    )


def traces(memory: TieredMemory) -> tuple[bytes, ...]:
    """Return the canary in UTF-8 and UTF-16, and the vectors of all texts that hold it."""
    store = memory.handle.store  # type: ignore[attr-defined]
    records = [r for r in store.scan("default", Where()) if CANARY in r.text]
    assert records
    halves = HashEmbedder(32).embed_documents([record.text for record in records]).astype(np.float16)
    return (*words(), *(half.tobytes() for half in halves))


def words() -> tuple[bytes, ...]:
    """Return the canary in UTF-8 and UTF-16."""
    return CANARY.encode(), CANARY.encode("utf-16-le"), CANARY.encode("utf-16-be")


def files_with(folder: Path, needles: tuple[bytes, ...]) -> list[str]:
    """Return the files below a folder that hold one of the byte strings, in their contents or their names."""
    return [
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if CANARY in path.name or (path.is_file() and any(needle in path.read_bytes() for needle in needles))
    ]


def told(memory: TieredMemory) -> str:
    """Return all that a memory tells: messages, records, histories, what searches and contexts find, and an export."""
    parts = [m.content for session in memory.sessions() for m in memory.messages(session.session_id)]
    for record in memory.records():
        parts += [record.text, *(older.text for older in memory.history(record.id))]
    parts += [hit.record.text for hit in memory.search(CANARY, top_k=500)]
    parts.append(memory.context(f"the word {CANARY}", session_id="s", max_tokens=4_000).text)
    exported = io.StringIO()
    memory.export_to(exported)
    return "\n".join([*parts, exported.getvalue()])


def live_with_it(memory: TieredMemory) -> list[str]:
    """Let the canary be said, noted, summarised, updated and superseded; return the ids to forget it by."""
    a, b = memory.add([("user", f"The word is {CANARY}."), ("user", "I keep bees.")], session_id="s")
    first = memory.remember(f"the word: {CANARY}", metadata={"word": CANARY})
    memory.update(first, text="the word is a secret")
    memory.update(b, text=f"I keep {CANARY} and bees.")
    memory.update(b, text="I keep bees and ducks.")
    memory.remember(f"They spoke of {CANARY} and bees.", kind="summary", source_ids=[a, b], session_id="s")
    silent = memory.add([("system", f"Never say {CANARY}."), ("tool", f"{CANARY}: 1 result")], session_id="s")
    named = memory.add([Message("user", "Hello!", name=CANARY)], session_id=CANARY)
    memory.add([("user", f"note {n}, 深圳") for n in range(300)], session_id="t")
    memory.flush(60)
    return [a, b, first, *silent, *named]


def test_a_forgotten_word_is_in_no_file_and_no_answer(tmp_path: Path, second: Second) -> None:
    """Said, summarised, superseded, updated, indexed and cached, it is gone from here and from other processes."""
    with opened(tmp_path) as memory:
        ids = live_with_it(memory)
        needles = traces(memory)
    assert any(name.endswith("cache") for name in files_with(tmp_path, needles))
    second("open", tmp_path)
    assert any(CANARY in text for text in second("read", "bees 深圳").values())
    with opened(tmp_path) as memory:
        assert CANARY in told(memory)
        memory.forget(ids=ids)
        assert files_with(tmp_path, needles) == []
        assert CANARY not in told(memory)
        assert not any(CANARY in text for text in second("read", "深圳").values())
        with pytest.raises(NotFoundError):
            memory.history(ids[0])
        memory.add([("user", f"The word is {CANARY}.")], session_id="s")
        assert CANARY not in told(memory)
    second("close")
    assert files_with(tmp_path, needles) == []


def test_a_forgotten_word_is_in_no_quarantine(tmp_path: Path) -> None:
    """What a repair had set aside goes with what is forgotten."""
    with opened(tmp_path) as memory:
        ids = live_with_it(memory)
        needles = words()
    (log,) = tmp_path.glob("users/*/*/docs.*.jsonl")
    data = bytearray(log.read_bytes())
    data[data.index(CANARY.encode()) - 3] ^= 1
    log.write_bytes(bytes(data))
    assert verify(tmp_path, repair=True).quarantine
    assert any(name.startswith("quarantine") for name in files_with(tmp_path, needles))
    with opened(tmp_path) as memory:
        memory.forget(ids=ids)
        assert files_with(tmp_path, needles) == []
        assert CANARY not in told(memory)


def test_a_forgotten_word_is_in_no_copy_of_a_migration(tmp_path: Path) -> None:
    """Copies that a migration made are gone before anything can be forgotten."""
    with opened(tmp_path) as memory:
        ids = live_with_it(memory)
    storefile.replace(str(tmp_path), {**storefile.document(str(tmp_path)), "format": storefile.FORMAT - 1})
    copied: list[str] = []

    def touches(root: str) -> list[str]:
        return [str(path.relative_to(root)) for path in Path(root).rglob("docs.*")]

    def apply(root: str, keys: Keys) -> None:
        copied.extend(files_with(Path(root) / "migration", words()))

    step = Step(storefile.FORMAT, "a rehearsal", touches=touches, apply=apply)
    migrate(str(tmp_path), writable=True, lock_timeout=10, steps=[step])
    assert copied
    with opened(tmp_path) as memory:
        memory.forget(ids=ids)
    assert files_with(tmp_path, words()) == []


@contextmanager
def watched(folder: Path, seen: list[str]) -> Iterator[None]:
    """Look for the canary in all files, before and after each change on disk."""
    watching = True

    def look(event: str, args: tuple[object, ...]) -> None:
        nonlocal watching
        if watching and event == "siltstone.disk":
            watching = False  # looking makes events of its own
            seen.append(str(args[0]))
            found = files_with(folder, words())
            watching = True
            assert not found, f"{args[0]} {args[1]}: {found}"

    sys.addaudithook(look)
    try:
        yield
    finally:
        watching = False


def test_an_encrypted_store_never_shows_it(tmp_path: Path) -> None:
    """At no step on disk, from the first write to the forgetting, does any file of an encrypted store hold the word."""
    pytest.importorskip("cryptography")
    seen: list[str] = []
    with watched(tmp_path, seen):
        with opened(tmp_path, key=KEY) as memory:
            ids = live_with_it(memory)
            needles = traces(memory)
        assert files_with(tmp_path, needles) == []
        with opened(tmp_path, key=KEY) as memory:
            assert CANARY in told(memory)
            memory.forget(ids=ids)
            assert CANARY not in told(memory)
    assert len(seen) > 100
    assert files_with(tmp_path, needles) == []
