"""``TieredMemory.open("http://…")``: the verbs of a memory over a service, and what goes wrong on the way."""

from __future__ import annotations

import asyncio
import io
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from scripted_server import Answer, ScriptedServer
from siltstone import TieredMemory
from siltstone.errors import (
    AccessDeniedError,
    BackendUnavailableError,
    ConfigurationError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
)
from siltstone.records import Message
from siltstone.testing import HashEmbedder, WordCounter

pytest.importorskip("fastapi")

from running import Running

from siltstone.access import Tokens, make_token
from siltstone.http import create_app
from siltstone.outbox import shared_outbox
from siltstone.remote.memory import RemoteMemory
from siltstone.remote.service import Service
from siltstone.twins import run

MAY = datetime(2024, 5, 8, tzinfo=timezone.utc)


@pytest.fixture
def remote(memory: TieredMemory) -> Iterator[TieredMemory]:
    """Alice's memory over a service that anybody on this machine may use."""
    with (
        Running(create_app(memory)) as running,
        TieredMemory.open(running.url, user_id="alice", token_counter=WordCounter()) as opened,
    ):
        yield opened


@pytest.fixture
def local(memory: TieredMemory) -> TieredMemory:
    """The same memory without the service."""
    return memory.for_user("alice")


@pytest.mark.parametrize("verb", ["flush", "close"])
def test_what_an_adapter_keeps_is_stored_by_the_service_in_the_end(
    remote: TieredMemory, local: TieredMemory, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """A turn that the service could not take is sent once more at the flush or the close."""
    with monkeypatch.context() as away:
        away.setattr(remote.handle, "url", "http://127.0.0.1:9")
        away.setattr(remote.handle, "_deadline", 0.0)
        run(remote, shared_outbox(remote).save("s", [Message("user", "I moved to Rome.")]))
    assert local.messages("s") == []
    getattr(remote, verb)()
    assert [message.content for message in local.messages("s")] == ["I moved to Rome."]


def test_verbs_do_there_what_they_do_here(remote: TieredMemory, local: TieredMemory, tmp_path: Path) -> None:
    """Everything that can be asked of a memory is answered alike over the service and on its machine."""
    ids = remote.add(
        [
            Message("user", "I live in Lisbon.", id="a/b", name="Alice", created_at=MAY),
            ("assistant", "Good!"),
            {"role": "user", "content": "我对花生过敏。", "metadata": {"n": 1}},
        ],
        session_id="s 1/2?",
        created_at="2024-05-09T00:00:00Z",
    )
    fact = remote.remember(
        "Alice moved in May.", source_ids=ids[:1], ttl=timedelta(days=99_999), importance=0.5, metadata={"k": [1, "v"]}
    )
    assert remote.get(fact) == local.get(fact)
    assert remote.get(ids[0]) == local.get(ids[0])
    assert remote.messages("s 1/2?", limit=2) == local.messages("s 1/2?", limit=2)
    assert remote.sessions() == local.sessions()
    assert list(remote.records()) == list(local.records())
    assert list(remote.records(kinds="fact", since=MAY)) == list(local.records(kinds="fact", since=MAY))
    assert remote.window("s 1/2?", max_tokens=50) == local.window("s 1/2?", max_tokens=50)
    for question in ("Where does Alice live?", "过敏"):
        here, there = local.search(question, now=MAY), remote.search(question, now=MAY)
        assert [(hit.record, hit.score, hit.why) for hit in there] == [(hit.record, hit.score, hit.why) for hit in here]
    here, there = (m.context("Where do I live?", session_id="s 1/2?", max_tokens=300, now=MAY) for m in (local, remote))
    assert (there.text, there.tokens, there.sections, there.omitted) == (
        here.text,
        here.tokens,
        here.sections,
        here.omitted,
    )
    assert there.as_prompt("Where?", system="Be brief.") == here.as_prompt("Where?", system="Be brief.")
    assert there.as_messages("Where?") == here.as_messages("Where?")
    before = remote.revision
    assert before == local.revision
    changed = remote.update(fact, text="Alice moved in June.", importance=None, expires_at=None, pinned=True)
    assert changed == local.get(fact)
    assert (changed.importance, changed.expires_at, changed.pinned) == (None, None, True)
    assert remote.history(fact) == local.history(fact) != []
    assert remote.revision == local.revision != before
    remote.flush(10)
    assert remote.stats().records == local.stats().records
    there_file, here_file = tmp_path / "there.jsonl", tmp_path / "here.jsonl"
    assert remote.export_to(there_file) == local.export_to(here_file)
    assert there_file.read_bytes().splitlines()[1:] == here_file.read_bytes().splitlines()[1:]  # the first has the time
    assert remote.for_user("bob").import_from(there_file).added == len(here_file.read_bytes().splitlines()) - 2
    assert remote.for_user("bob").import_from(io.BytesIO(there_file.read_bytes()), dry_run=True).added == 0
    assert remote.replace_session("s 1/2?", [("user", "I live in Porto.")])
    assert [message.content for message in local.messages("s 1/2?")] == ["I live in Porto."]
    assert remote.consolidate(dry_run=True).dry_run
    assert remote.forget(session_id="s 1/2?", dry_run=True).messages
    report = remote.forget(everything=True)
    assert report.records
    assert list(local.records()) == []
    assert list(remote.for_user("bob").records()) != []


def test_async_twins_ask_the_service_too(remote: TieredMemory, local: TieredMemory) -> None:
    """Twins of a memory over a service do what its verbs do, many at once, on threads of its own."""

    async def scenario() -> list[str]:
        async with remote:
            await asyncio.gather(*(remote.aadd([("user", f"number {n}")], session_id=f"s{n}") for n in range(10)))
            assert [hit.record.text for hit in await remote.asearch("number 3", top_k=1)] == ["number 3"]
            return sorted(record.text for record in await remote.arecords())

    assert asyncio.run(scenario()) == sorted(record.text for record in local.records())


def test_errors_are_those_of_the_memory(remote: TieredMemory) -> None:
    """What a memory refuses raises the same classes over a service, with the same sentences, and changes nothing."""
    remote.add([Message("user", "one", id="a")], session_id="s")
    with pytest.raises(ConflictError):
        remote.add([Message("user", "two", id="a")], session_id="s")
    assert remote.add([Message("user", "two", id="a")], session_id="s", on_conflict="skip")
    for wrong in (
        lambda: remote.search(" "),
        lambda: remote.add([("robot", "x")], session_id="s"),
        lambda: remote.add([("user", "x")], session_id=" "),
        lambda: remote.add("x", session_id="s"),  # type: ignore[arg-type]
        lambda: remote.forget(),
        lambda: remote.search("x", since=datetime(2024, 1, 1)),
        lambda: remote.context("x", max_tokens=0),
        lambda: remote.update("a"),
        lambda: remote.get("\ud800"),
        lambda: remote.get(7),  # type: ignore[arg-type]
        lambda: remote.get(""),
        lambda: remote.messages(""),
        lambda: remote.remember("\ud800"),
        lambda: remote.remember(b"x"),  # type: ignore[arg-type]
        lambda: remote.remember("x", ttl=float("nan")),
        lambda: remote.remember("x", importance=float("nan")),
        lambda: remote.remember("x", metadata={"a": float("nan")}),
        lambda: remote.remember("x", metadata={"a": {1, 2}}),
        lambda: remote.remember("x", metadata={1: 2}),  # type: ignore[dict-item]
        lambda: remote.add([Message("user", "x", metadata={"a": object()})], session_id="s"),
        lambda: remote.update("a", metadata={"a": 1 << 70}),
        lambda: remote.search("x", metadata={"a": float("inf")}),
    ):
        with pytest.raises(InvalidInputError):
            wrong()
    assert [record.kind for record in remote.records()] == ["turn"]
    for missing in (
        lambda: remote.get("nope"),
        lambda: remote.history("nope"),
        lambda: remote.update("nope", text="x"),
    ):
        with pytest.raises(NotFoundError):
            missing()
    assert [message.content for message in remote.messages("s")] == ["one"]


@pytest.mark.parametrize("id", [".", "..", "...", "a/../b", "%2E%2E", "?x#y", " ", "猫"])
def test_ids_of_any_text_reach_what_they_name(remote: TieredMemory, id: str) -> None:
    """What would be a step along a path, or the end of one, is an id like any other."""
    stored = id if id.strip() else f"x{id}"
    remote.add([("user", "I like tea.")], session_id=stored)
    remote.remember("Alice likes tea.", id=stored)

    assert [message.content for message in remote.messages(stored)] == ["I like tea."]
    assert remote.get(stored).id == stored
    assert remote.update(stored, pinned=True).id == stored
    assert remote.history(stored)


@pytest.mark.parametrize(
    "url",
    ["http://localhost:99999", "http://localhost:http", "http://localhost:0", "http://[::1", "http://exa mple", "http://",
     "http://a\0b", "http://a\nb:80", f"http://{'ü' * 80}.com", "https:///x"],
)  # fmt: skip
def test_what_is_no_address_is_refused_at_once(url: str) -> None:
    """It is not looked for, and says what an address is."""
    with pytest.raises(ConfigurationError, match=r"e\.g\. http://localhost:8000"):
        TieredMemory.open(url, token="sst_x")


def test_what_only_seems_to_be_a_service_is_named(tmp_path: Path) -> None:
    """A page, other JSON, a redirect, a release without a path: each verb says what stands there, and to do what."""
    no_route = {"type": "urn:siltstone:problem:no-such-route", "status": 405, "detail": "there is no POST"}
    strange = [
        *(Answer(body) for body in ("<html>Log in to this network</html>", "", {"hello": 1}, [], "null", 7)),
        *(Answer(body) for body in ({"ids": 7, "id": 7, "sessions": 7}, {"ids": [7], "sessions": [7]})),
        Answer("not found", 404),
        Answer({"status": "x", "detail": {"a": [1]}, "type": 5}, 400),
        Answer(no_route, 405),
        Answer("", 307, {"Location": "https://other.example/?token=secret"}),
    ]
    now = [Answer()]
    with ScriptedServer(lambda _: now[0]) as server, closing(Service(server.url, None)) as service:
        memory = RemoteMemory(service, "alice", WordCounter(), owner=True)
        for now[0] in strange:
            for verb in (
                lambda: TieredMemory.open(server.url),
                lambda: memory.add([("user", "x")], session_id="s"),
                lambda: memory.remember("x"),
                memory.sessions,
                memory.stats,
                lambda: memory.get("x"),
                lambda: list(memory.records()),
                lambda: memory.import_from(io.BytesIO(b"x")),
                lambda: memory.export_to(tmp_path / "export.jsonl"),
            ):
                with pytest.raises(ConfigurationError, match=re.escape(server.url)) as refused:
                    verb()
                assert "secret" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_stream_that_cannot_begin_yet_is_asked_for_again(memory: TieredMemory) -> None:
    """Records and exports wait for a service that starts, as all other verbs do."""
    memory.remember("Alice likes tea.")
    port = _free_port()
    with closing(Service(f"http://127.0.0.1:{port}", None)) as service, ExitStack() as stack:
        away = RemoteMemory(service, memory.user_id, WordCounter(), owner=True)
        starts = threading.Timer(0.5, lambda: stack.enter_context(Running(create_app(memory), port=port)))
        starts.start()
        found = [record.text for record in away.records()]
        starts.join()

    assert found == ["Alice likes tea."]


def test_options_of_the_service_are_refused_here(memory: TieredMemory) -> None:
    """What only the service can set is refused by name, and so is what is no address of one."""
    with Running(create_app(memory)) as running:
        for name, value in (("embedder", HashEmbedder()), ("key", b"k" * 32), ("read_only", True), ("llm", "ollama:x")):
            with pytest.raises(ConfigurationError, match=f"^{name}= is the service's"):
                TieredMemory.open(running.url, **{name: value})
        with pytest.raises(ConfigurationError, match="not with a name or password"):
            TieredMemory.open(running.url.replace("http://", "http://me:secret@"))
        opened = TieredMemory.open(running.url)
        assert (opened.user_id, opened.location) == (memory.user_id, running.url)
        with pytest.raises(ConfigurationError, match="digests by itself"):
            _ = opened.summarizer
        opened.close()
        with pytest.raises(ConfigurationError, match="is closed"):
            opened.sessions()


def test_token_decides_whose_memory_it_is(
    memory: TieredMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user's token opens that user's memory and nobody else's; it is in no message, and may come from a variable."""
    file = tmp_path / "tokens.jsonl"
    alices = make_token(file, name="alice's", user_id="alice")
    with Running(create_app(memory, tokens=Tokens(file))) as running:
        for token in (None, "sst_wrong"):
            with pytest.raises(AccessDeniedError, match="pass token="):
                TieredMemory.open(running.url, token=token)
        with TieredMemory.open(running.url, token=alices) as opened:
            assert opened.user_id == "alice"
            opened.remember("Alice prefers tea.")
            with pytest.raises(AccessDeniedError) as refused:
                opened.for_user("bob").sessions()
            assert alices not in str(refused.value)
            assert alices not in repr(opened.handle)
        monkeypatch.setenv("SILTSTONE_TOKEN", alices)
        with TieredMemory.open(running.url) as opened:
            assert [record.text for record in opened.records()] == ["Alice prefers tea."]


def test_token_in_the_clear_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    """A token on its way to another machine without TLS can be read: the log says so."""
    with caplog.at_level(logging.WARNING, logger="siltstone"):
        Service("http://memory.example:8000", "secret").close()
    assert "use https://" in caplog.text
    assert "secret" not in caplog.text


def test_service_that_is_down_is_named(tmp_path: Path) -> None:
    """Where nobody listens, opening says so within the deadline, with what to do."""
    service = Service("http://127.0.0.1:9", None, deadline=0.3)
    with pytest.raises(BackendUnavailableError, match="siltstone serve"):
        service.ask("GET", "/memory/stats")


def test_write_through_a_killed_service_is_done_once(tmp_path: Path) -> None:
    """A client whose service is killed and started again goes on by itself, and what it wrote is there, once."""
    with ExitStack() as stack:
        port = _free_port()

        def start() -> subprocess.Popen[bytes]:
            options = ["--store", str(tmp_path / "store"), "--port", str(port)]
            process = subprocess.Popen([sys.executable, "-m", "siltstone", "serve", *options], env={**os.environ})
            stack.callback(_ended, process)
            return process

        process = start()
        memory = stack.enter_context(_patiently(lambda: TieredMemory.open(f"http://127.0.0.1:{port}", user_id="alice")))
        acknowledged = 0
        for round in range(3):
            for n in range(4):
                assert memory.add([("user", f"{round} {n}")], session_id="s")
                acknowledged += 1
            process.send_signal(signal.SIGKILL)
            process.wait()
            process = start()
        memory.add([("user", "the last")], session_id="s")
        assert [message.content for message in memory.messages("s")] == [
            *(f"{round} {n}" for round in range(3) for n in range(4)),
            "the last",
        ]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def _patiently(open_it: Callable[[], Any]) -> Any:
    for _ in range(4):
        try:
            return open_it()
        except BackendUnavailableError:
            time.sleep(1)
    return open_it()


def test_frameworks_work_over_a_service(remote: TieredMemory) -> None:
    """What a LangChain history writes over a service, a LlamaIndex memory recalls over it."""
    pytest.importorskip("langchain_core")
    pytest.importorskip("llama_index.core")
    from langchain_core.messages import AIMessage, HumanMessage

    from langchain_siltstone import SiltstoneChatMessageHistory
    from llama_index_siltstone import SiltstoneMemory

    history = SiltstoneChatMessageHistory("monday", memory=remote)
    history.add_messages([HumanMessage("My cat is called Miez."), AIMessage("A fine name.")])
    assert [message.content for message in history.messages] == ["My cat is called Miez.", "A fine name."]
    told = SiltstoneMemory.from_defaults(memory=remote, session_id="tuesday").get("What is my cat called?")
    assert any("Miez" in str(message.content) for message in told)
