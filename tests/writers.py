"""What other processes do in tests of the store: started from a clean server process that has everything loaded."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import sys
import time
import traceback
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

from items import said
from siltstone import Message, Settings, TieredMemory
from siltstone.compress.llm import LLMSummarizer
from siltstone.models.openai import OpenAIChatModel
from siltstone.protocols import Refusal
from siltstone.stores.files.lock import FileLock
from siltstone.stores.folder import FolderStore
from siltstone.stores.user import UserStore
from siltstone.testing import HashEmbedder, WordCounter
from siltstone.upkeep import backup, restore, verify

PROCESSES: ForkServerContext = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(  # what takes a second to import
    ["pytest", "siltstone.memory", "siltstone.stores.folder", "siltstone.testing", "siltstone.upkeep"]
)


def add_some(folder: Path, name: str, user: str, count: int) -> None:
    """Add ``count`` messages, one commit each."""
    store = FolderStore(folder)
    for n in range(count):
        store.commit(user, [said(f"{name}-{n}", f"message {n} of {name}", user=user, seed=n, session=name)])
    store.close()


def add_without_end(folder: Path, name: str, acknowledged: Path) -> None:
    """Add messages one commit after the other, noting each that was acknowledged, until killed."""
    note = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    store = FolderStore(folder, durability="os")
    n = 0
    while True:
        ids = [f"{name}-{n + i}" for i in range(1 + n % 3)]
        store.commit("u", [said(id, f"message {id} 深圳", seed=n, session=name) for id in ids])
        os.write(note, b"".join(b"%b\n" % id.encode() for id in ids))
        n += len(ids)


def remove_until(folder: Path, ids: list[str] | None, step: int) -> None:
    """Remove items, or everything, and die at a step on disk."""
    store = FolderStore(folder)
    store.messages("u", "s")
    die_at(step)
    store.remove("u", ids or [], everything=ids is None)


def act_until(folder: Path, act: str, step: int) -> None:
    """Take something out in one of the ways of ``test_taken_out``, and die at a step on disk."""
    from test_taken_out import ACTS

    store = FolderStore(folder)
    store.messages("u", "s")
    die_at(step)
    ACTS[act](store)


def forget_until(folder: Path, ids: list[str], step: int, key: bytes | None = None, hidden: bool = False) -> None:
    """Forget items, and die at a step on disk; ``hidden``: when they are hidden, and nothing else yet."""
    store = FolderStore(folder, key=key)
    store.messages("u", "s")
    if hidden:
        UserStore._carry_out = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment, method-assign]
    else:
        die_at(step)
    store.forget("u", ids)


def back_up_until(folder: Path, target: Path, step: int) -> None:
    """Back a store up, and die at a step on disk."""
    die_at(step)
    backup(folder, target)


def repair_until(folder: Path, step: int) -> None:
    """Repair a store, and die at a step on disk."""
    die_at(step)
    verify(folder, repair=True)


def restore_until(source: Path, folder: Path, step: int) -> None:
    """Restore a backup, and die at a step on disk."""
    die_at(step)
    restore(source, folder)


def restore_with_few_files(source: Path, folder: Path, most: int) -> None:
    """Restore a backup with at most so many files open."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    restore(source, folder)


def die_at(step: int) -> None:
    """Be killed at a change on disk: ``step`` counts the moments before and after each."""
    left = step

    def die(event: str, args: tuple[object, ...]) -> None:
        nonlocal left
        if event == "siltstone.disk":
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

    sys.addaudithook(die)


def hold_lock(path: Path, held: Path) -> None:
    """Take a lock, say so, and keep it until killed."""
    lock = FileLock(str(path))
    lock.acquire(10)
    held.touch()
    time.sleep(600)


def consolidate_without_end(folder: Path, ready: Connection) -> None:
    """Say that everything is ready, then consolidate again and again, until killed."""
    settings = Settings(span_turns=4, embed_wait=5.0)
    models = {"embedder": HashEmbedder(), "token_counter": WordCounter()}
    with TieredMemory.open(folder, **models, settings=settings) as memory:
        memory.summarizer.summarize([Message("user", "I live in Lisbon. 我住在深圳。")])  # loads what it needs
        ready.send(None)
        while True:
            memory.consolidate()


def consolidate_with(url: str, folder: Path, ready: Connection, go: Connection) -> None:
    """Say that everything is ready, wait, and consolidate once with the model that is served there."""
    settings = Settings(span_turns=8, embed_wait=5.0, reflect=True)
    model = LLMSummarizer(OpenAIChatModel("m", url, timeout=20.0))
    with TieredMemory.open(
        folder, embedder=HashEmbedder(), token_counter=WordCounter(), summarizer=model, settings=settings
    ) as memory:
        ready.send(None)
        go.recv()
        memory.consolidate()


def serve(pipe: Connection) -> None:
    """Open memories and call their verbs as a pipe asks for it, until killed; answer ``(failed, what)``."""
    memory: Any = None
    while True:
        verb, args, options = pipe.recv()
        try:
            if verb == "open":
                (folder,) = args
                memory = TieredMemory.open(
                    folder, embedder=HashEmbedder(32), token_counter=WordCounter(), durability="os", **options
                )
                answer = None
            elif verb == "read":
                (query,) = args
                answer = {record.id: record.text for record in memory.records()}
                hits = memory.search(query, top_k=len(answer) + 1)
                assert {hit.record.id: hit.record.text for hit in hits} == answer
            else:
                answer = getattr(memory, verb)(*args, **options)
            pipe.send((False, answer))
        except Exception:
            pipe.send((True, traceback.format_exc()))


def compact_until(folder: Path, step: int, history: int, segment_size: int) -> None:
    """Compact a store and die at a step on disk."""
    store = FolderStore(folder, durability="os", history=history, segment_size=segment_size)
    store.messages("u", "s")
    die_at(step)
    store.compact()


def restore_and_count(source: Path, folder: Path, key: bytes | None, told: Connection) -> None:
    """Restore a backup, and tell how many moments before and after changes on disk it had."""
    count = 0

    def see(event: str, args: tuple[object, ...]) -> None:
        nonlocal count
        count += event == "siltstone.disk"

    sys.addaudithook(see)
    restore(source, folder, key=key)
    told.send(count)


def restore_until_count(source: Path, folder: Path, key: bytes | None, at: int | str) -> None:
    """Restore a backup, and die at a moment, by its number or as the old ``users/`` has gone."""

    def die(event: str, args: tuple[object, ...]) -> None:
        if event == "siltstone.disk" and args[0] == "after rename" and f"{os.sep}trash{os.sep}" in str(args[1]):
            os.kill(os.getpid(), signal.SIGKILL)

    if isinstance(at, int):
        die_at(at)
    else:
        sys.addaudithook(die)
    restore(source, folder, key=key)


def write_and_forget(folder: Path, key: bytes | None, seed: int, pipe: Connection) -> None:
    """Add and forget messages until told to stop, and one more; send when each was added, and what was forgotten."""
    store = FolderStore(folder, key=key, durability="os")
    added: dict[str, float] = {}
    forgotten: dict[str, str] = {}
    n, stopping = 0, False
    while not stopping:
        stopping = pipe.poll()
        id, text, session = f"{seed}x{n}", f"canary {seed} {n}", f"{seed}x"
        store.commit("u", [said(id, text, session=session)])
        added[id] = time.time()
        if n % 4 == 3:
            gone = f"{seed}x{n - 2}"
            store.remove("u", [gone], transcripts=[Refusal(session, gone, f"canary {seed} {n - 2}")])
            forgotten[gone] = f"canary {seed} {n - 2}"
        if n == 8:
            pipe.send("ready")
        n += 1
    pipe.send((added, forgotten))
