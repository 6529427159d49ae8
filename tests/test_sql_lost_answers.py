"""Commits whose answer gets lost on the way, and changes of the embedding space beside new users' first writes."""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from items import said, space
from postgres_server import emptied
from siltstone.errors import BackendUnavailableError, EmbedderMismatchError
from siltstone.stores.sql.receipts import KEPT, noted, went_through
from siltstone.stores.sql.sqlite import SqliteDatabase
from siltstone.stores.sql.store import SqlStore


class Proxy:
    """Stands between client and server, and breaks the connection that commits next."""

    def __init__(self, url: str) -> None:
        self._server = url.partition("?host=")[2] + "/.s.PGSQL.5432"
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"postgresql://postgres@127.0.0.1:{self._listener.getsockname()[1]}/postgres"
        self.breaks: str | None = None
        """``before`` the server hears of it, or ``after`` it has answered."""
        self.broken = 0
        self._hidden: socket.socket | None = None
        self._committed = threading.Event()
        self.meanwhile: Callable[[], None] = lambda: None
        """What happens before the client can connect anew."""
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        server = socket.socket(socket.AF_UNIX)
        server.connect(self._server)
        threading.Thread(target=self._answer, args=(server, client), daemon=True).start()
        with client, suppress(OSError):
            while data := client.recv(65536):
                if self.breaks and b"COMMIT" in data:
                    how, self.breaks = self.breaks, None
                    if how == "after":
                        self._hidden = client
                        self._committed.clear()
                        server.sendall(data)
                        self._committed.wait(10)
                    self.broken += 1
                    self.meanwhile()
                    break
                server.sendall(data)
        with suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)  # wakes the other thread, which closes it

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        with server, suppress(OSError):
            while data := server.recv(65536):
                if self._hidden is client:
                    self._committed.set()
                else:
                    client.sendall(data)


@pytest.fixture
def proxy(postgres: str) -> Iterator[Proxy]:
    """A proxy before an empty store."""
    emptied(postgres)
    made = Proxy(postgres)
    yield made
    made.close()


def through(proxy: Proxy, **options: Any) -> SqlStore:
    """Open the store behind a proxy, with one message in it."""
    from siltstone.stores.sql.postgres import PostgresDatabase

    store = SqlStore(PostgresDatabase(proxy.url, **options))
    store.commit("u", [said("a", "one")])
    return store


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_commit_without_answer_is_done_once(proxy: Proxy, moment: str) -> None:
    """Whether the server had committed or not when the connection broke: the message is stored, once."""
    store = through(proxy)
    proxy.breaks = moment
    made = store.commit("u", [said("b", "two", minute=1)], expect={"b": 0})  # a conflict, were it done twice
    assert proxy.broken == 1
    assert [message.content for message in store.messages("u", "s")] == ["one", "two"]
    assert store.revision("u") == made.revision
    proxy.breaks = moment
    store.remove("u", ["a"])
    assert [message.content for message in store.messages("u", "s")] == ["two"]
    store.close()


@pytest.mark.parametrize("writers", [1, KEPT, 2 * KEPT])
def test_a_commit_is_known_again_behind_others(proxy: Proxy, postgres: str, writers: int) -> None:
    """Others may write for the user in between, however often; behind so many of them that nobody can tell, that is
    what the error says.
    """
    store, other = through(proxy), through(proxy)
    others = max(writers, 100)

    def meanwhile() -> None:
        for n in range(others):
            message = said(f"o{n}", f"other {n}", minute=2 + n)
            if n < others - writers:
                other.commit("u", [message])
            else:  # a thread is a writer
                thread = threading.Thread(target=other.commit, args=("u", [message]))
                thread.start()
                thread.join()

    proxy.meanwhile = meanwhile
    proxy.breaks = "after"
    if writers < 2 * KEPT:
        store.commit("u", [said("b", "two", minute=1)], expect={"b": 0})
    else:
        with pytest.raises(BackendUnavailableError, match="whether it was stored is not known"):
            store.commit("u", [said("b", "two", minute=1)], expect={"b": 0})
    texts = [message.content for message in store.messages("u", "s")]
    assert texts == ["one", "two", *(f"other {n}" for n in range(others))]
    store.close()
    other.close()


WRITERS = st.lists(st.integers(1, 60), max_size=300)


@given(WRITERS, st.booleans(), WRITERS)
def test_receipts_never_tell_what_is_not_so(before: list[int], committed: bool, after: list[int]) -> None:
    """Whoever wrote before and since, and however often: whether a commit went through is told as it was, or not."""
    tags = itertools.count()
    receipts = ""
    for writer in before:
        receipts = noted(receipts, f"{writer}.{next(tags)}")
    mine = f"1.{next(tags)}"
    if committed:
        receipts = noted(receipts, mine)
    for writer in after:
        if writer != 1:  # who does not know what became of a commit writes nothing else
            receipts = noted(receipts, f"{writer}.{next(tags)}")
    told = went_through(receipts, mine)
    assert told is committed or (told is None and len({*before, *after}) > KEPT)
    assert told is committed or not committed or len({*after} - {1}) > KEPT
    assert len(receipts.split()) <= 2 * KEPT


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_a_new_user_waits_for_a_change_of_the_space(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """While the embedding space is being changed, a user of whom nothing is stored yet cannot write in the old one."""
    changing, go = threading.Event(), threading.Event()

    class Slow:
        """Changes the space slowly."""

        def write(self, user_id: str | None, work: Any) -> Any:
            """Wait before the commit of what concerns all users, once told so."""

            def waiting(transaction: Any) -> Any:
                result = work(transaction)
                if user_id is None and threading.current_thread() is changer:
                    changing.set()
                    go.wait(10)
                return result

            return super().write(user_id, waiting)  # type: ignore[misc]

    database: Any
    if engine == "sqlite":
        database = type("SlowSqlite", (Slow, SqliteDatabase), {})(tmp_path / "store.db", "sqlite:///store.db")
    else:
        url = request.getfixturevalue("postgres")
        emptied(url)
        from siltstone.stores.sql.postgres import PostgresDatabase

        database = type("SlowPostgres", (Slow, PostgresDatabase), {})(url)
    store = SqlStore(database)
    changer = threading.Thread(target=store.set_fingerprint, args=(space(name="other", seed=9),))
    store.set_fingerprint(space())
    store.commit("old", [said("a", "one", user="old", seed=1)], space=space())
    changer.start()
    assert changing.wait(10)
    outcome: list[object] = []

    def first_write() -> None:
        try:
            outcome.append(store.commit("new", [said("a", "one", user="new", seed=1)], space=space()))
        except EmbedderMismatchError as exc:
            outcome.append(exc)

    writer = threading.Thread(target=first_write)
    writer.start()
    writer.join(0.3)
    go.set()
    writer.join(10)
    changer.join(10)
    assert [type(one) for one in outcome] == [EmbedderMismatchError]
    assert store.messages("new", "s") == []
    store.close()
