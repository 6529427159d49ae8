"""A fork at any moment, whatever other threads are amid: the child opens, writes and reads, and never hangs."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

import siltstone
from redis_server import free_port
from siltstone import Settings, TieredMemory
from siltstone.forks import ForkSafeEvent, ForkSafeLock, cached
from siltstone.testing import HashEmbedder

EMBEDDER = HashEmbedder()
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@pytest.fixture(autouse=True)
def _forking_with_threads() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # it is what this is about
        yield


def in_a_child(act: Callable[[], object]) -> int:
    """Return the exit code of a forked child that does something: -14 if it hangs."""
    pid = os.fork()
    if pid == 0:  # pragma: no cover
        signal.alarm(30)
        code = 1
        try:
            act()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def live(folder: Path) -> None:
    """Open a memory, say, ask, forget and close."""
    with TieredMemory.open(folder, embedder=EMBEDDER) as memory:
        (id,) = memory.add([("user", "I like plums.")], session_id="s")
        assert "plums" in memory.context("What do I like?", session_id="s").text
        memory.forget(ids=[id])


def test_a_child_lives_whatever_another_thread_was_amid(tmp_path: Path) -> None:
    """Forked at each change on disk of another thread's life, the child opens that store and another, and uses both."""
    arrived, onward = threading.Semaphore(0), threading.Semaphore(0)
    halting, done = True, False

    def halt(event: str, args: tuple[object, ...]) -> None:
        if (
            halting
            and event == "siltstone.disk"
            and threading.current_thread().name == "amid"
            and "before" in str(args[0])
        ):
            arrived.release()
            onward.acquire()

    def other() -> None:
        nonlocal done
        try:
            live(tmp_path / "other")
        finally:
            done = True
            arrived.release()

    def child() -> None:
        live(tmp_path / str(os.getpid()))
        inherited.add([("user", "I was forked.")], session_id="s")
        assert "forked" in inherited.context("Who was forked?", session_id="s").text

    sys.addaudithook(halt)
    codes = []
    with TieredMemory.open(tmp_path / "shared", embedder=EMBEDDER) as inherited:
        thread = threading.Thread(target=other, name="amid", daemon=True)
        thread.start()
        while arrived.acquire() and not done:
            codes.append(in_a_child(child))
            halting = codes[-1] == 0
            onward.release()
        thread.join()
    assert set(codes) == {0}
    assert len(codes) > 20


def test_a_child_asks_while_other_threads_ask(tmp_path: Path) -> None:
    """Forked again and again amid the searches and openings of other threads, each child gets its answer."""
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            memory.context("What do I like?", session_id="s")
            TieredMemory.open(tmp_path, embedder=EMBEDDER).close()

    def child() -> None:
        assert "plums" in memory.context("What do I like?", session_id="s").text

    with TieredMemory.open(tmp_path, embedder=EMBEDDER) as memory:
        memory.add([("user", "I like plums.")], session_id="s")
        threads = [threading.Thread(target=ask, daemon=True) for _ in range(2)]
        for thread in threads:
            thread.start()
        codes = {in_a_child(child) for _ in range(15)}
        stop.set()
        for thread in threads:
            thread.join()
    assert codes == {0}


LOADING = """
import os, signal, sys, threading, time
from importlib.abc import MetaPathFinder
from siltstone.models.e5_counter import E5TokenCounter

begun = threading.Event()

class Slow(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "siltstone.models.e5" and not begun.is_set():
            begun.set()
            time.sleep(1)

sys.meta_path.insert(0, Slow())
threading.Thread(target=E5TokenCounter().count, args=("plums",)).start()
begun.wait()
pid = os.fork()
if pid == 0:
    signal.alarm(30)
    E5TokenCounter().count("plums")
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


def test_no_child_is_made_amid_the_first_count_of_tokens() -> None:
    """Forked while another thread loads what counts tokens, the child counts: the fork waited."""
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", LOADING], timeout=120, check=False).returncode == 0


def test_a_child_computes_what_another_thread_was_amid() -> None:
    """A property that is computed once keeps no child waiting for a thread that it does not have."""
    amid, onward = threading.Event(), threading.Event()
    parent = os.getpid()

    class Thing:
        @cached
        def slow(self) -> int:
            """Take its time in the parent."""
            amid.set()
            if os.getpid() == parent:
                onward.wait()
            return 7

    thing = Thing()
    thread = threading.Thread(target=lambda: thing.slow)
    thread.start()
    amid.wait()
    code = in_a_child(lambda: thing.slow)
    onward.set()
    thread.join()
    assert code == 0
    assert thing.slow == 7
    assert vars(thing) == {"slow": 7}
    assert Thing.slow.__doc__ == "Take its time in the parent."


def test_no_module_has_properties_that_a_fork_may_leave_locked() -> None:
    """Where threads and forks meet, ``functools.cached_property`` is not used: until Python 3.12 it holds a lock."""
    core = Path(siltstone.__file__).parent
    users = {path.name for path in core.rglob("*.py") if "import cached_property" in path.read_text("utf-8")}
    assert users <= {"source.py"}  # of one import, which is one thread's


def test_a_guard_is_free_in_the_child(tmp_path: Path) -> None:
    """Held by another thread, it is free there; held by the thread that forks, both it and the parent leave it."""
    guard = ForkSafeLock()

    def enter() -> None:
        with guard:
            pass

    taken, free = threading.Event(), threading.Event()

    def hold() -> None:
        with guard:
            taken.set()
            free.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait()
    assert in_a_child(enter) == 0
    free.set()
    holder.join()
    with guard:
        assert in_a_child(enter) == 0
    enter()


def conditions() -> list[threading.Condition]:
    """Return all conditions that there are: those within events, too."""
    return [found for found in gc.get_objects() if isinstance(found, threading.Condition)]


@contextmanager
def held_by_another(before: Sequence[threading.Condition]) -> Iterator[int]:
    """Have another thread hold the locks of all conditions that were not there before; how many these are."""
    made = [found for found in conditions() if not any(found is old for old in before)]
    taken, free = threading.Event(), threading.Event()
    held: list[threading.Condition] = []

    def hold() -> None:
        held.extend(condition for condition in made if condition.acquire(blocking=False))  # some share one lock
        taken.set()
        free.wait()
        for condition in held:
            condition.release()

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait()
    try:
        yield len(held)
    finally:
        free.set()
        holder.join()


def test_an_event_is_free_in_the_child_and_stays_set() -> None:
    """Forked while another thread is amid it, the child sets it and waits for it; what was set still is."""
    before = conditions()
    event, was_set = ForkSafeEvent(), ForkSafeEvent()
    was_set.set()

    def use() -> None:
        assert not event.is_set()
        assert not event.wait(0.01)
        event.set()
        assert event.wait()
        assert was_set.wait()

    with held_by_another(before) as held:
        assert held == 2
        assert in_a_child(use) == 0
    assert not event.is_set()


@pytest.mark.parametrize("away", [False, True], ids=["turns of its own", "turns on a server that is away"])
def test_a_child_closes_what_other_threads_were_amid(tmp_path: Path, away: bool) -> None:
    """Forked while others are amid every event and condition of a memory, the child writes, asks and closes it."""
    short_term = None
    if away:
        pytest.importorskip("redis", reason="needs the extra redis")
        short_term = f"redis://127.0.0.1:{free_port()}/0"
    before = conditions()
    settings = Settings(short_term_down="degrade", requests_per_minute=9)
    with TieredMemory.open(tmp_path, embedder=EMBEDDER, short_term=short_term, settings=settings) as memory:
        memory.add([("user", "I like plums.")], session_id="s")
        memory.consolidate()

        def use() -> None:
            memory.add([("user", "I was forked.")], session_id="s")
            assert "forked" in memory.context("Who was forked?", session_id="s").text
            memory.close()

        with held_by_another(before) as held:
            assert held > 2
            assert in_a_child(use) == 0
