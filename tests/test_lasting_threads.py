from __future__ import annotations

import threading
import weakref

import pytest

from siltstone.tiers.threads import LastingThreads

SOON = 10.0


def test_one_piece_of_work_after_another_is_done_by_one_thread() -> None:
    """A thread that has nothing to do takes the next work, instead of another one being started."""
    threads, done_by = LastingThreads("one"), set[int]()
    for _ in range(20):
        threads.do(lambda: done_by.add(threading.get_ident()))
        threads.wait(SOON)
    assert len(done_by) == 1
    threads.close()


def test_work_that_hangs_holds_up_no_other() -> None:
    """While one piece of work does not end, the next is done all the same, and ``wait`` gives up in time."""
    threads, go_on, done = LastingThreads("hangs"), threading.Event(), threading.Event()
    threads.do(lambda: go_on.wait(SOON) or None)
    threads.do(done.set)
    assert done.wait(SOON)
    threads.wait(0.01)
    go_on.set()
    threads.wait(SOON)
    threads.close()


def test_threads_end_when_they_are_closed_and_after_a_while_without_work() -> None:
    """Nothing is left running: neither of what was closed, nor of what is used no more, nor after work while closed."""
    closed, unused = LastingThreads("closed"), LastingThreads("unused", idle=0.01)
    ran: list[threading.Thread] = []
    for threads in (closed, unused):
        threads.do(lambda: ran.append(threading.current_thread()))
        threads.wait(SOON)
    closed.close()
    closed.do(lambda: ran.append(threading.current_thread()))
    closed.wait(SOON)
    for thread in ran:
        thread.join(SOON)
    assert len(ran) == 3
    assert not any(thread.is_alive() for thread in ran)
    unused.do(lambda: ran.append(threading.current_thread()))
    unused.wait(SOON)
    assert len(ran) == 4


def test_work_that_fails_leaves_nothing_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails ends with its thread: it does not count as under way, and the next work is done."""
    monkeypatch.setattr(threading, "excepthook", lambda failure: None)
    threads, done = LastingThreads("fails"), threading.Event()

    def fail() -> None:
        raise ValueError("on purpose")

    threads.do(fail)
    threads.wait(SOON)
    threads.do(done.set)
    assert done.wait(SOON)
    threads.close()


def test_an_idle_thread_keeps_nothing_alive() -> None:
    """What was worked for can go while the thread waits for more: an unclosed store is not held by it."""

    class Something:
        def work(self) -> None:
            pass

    threads, something = LastingThreads("idle"), Something()
    gone = weakref.ref(something)
    threads.do(something.work)
    threads.wait(SOON)
    del something
    assert gone() is None
    threads.close()
