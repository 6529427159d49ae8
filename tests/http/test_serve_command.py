"""``siltstone serve``: where it listens, how it ends, and that a kill loses nothing that was acknowledged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest

pytest.importorskip("fastapi")

from scripted_server import Answer, Asked, ScriptedServer
from shell import Shell
from siltstone import TieredMemory
from siltstone.access import make_token


@contextmanager
def served(store: Path, *options: str, before: tuple[str, ...] = ()) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run ``siltstone serve`` on a port of its own; give the block the process and its address."""
    command = [sys.executable, "-m", "siltstone", *before, "serve", "--store", str(store), "--port", "0", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | {"NO_COLOR": "1"}) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert "listening" in line, line + process.stderr.read()
            drain = threading.Thread(target=process.stderr.read, daemon=True)
            drain.start()
            yield process, json.loads(line)["url"]
        finally:
            process.kill()
            process.wait()
            drain.join(30)


def test_it_listens_to_others_with_tokens_only(sh: Shell, tmp_path: Path) -> None:
    """An address that others reach, and no tokens: one sentence that says what to do, and nothing is started."""
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        refused = sh("serve", "--host", host)
        assert refused.code == 1
        assert "--tokens" in refused.err
        assert not sh.store.exists()
    missing = sh("serve", "--tokens", str(tmp_path / "nothing"))
    assert missing.code == 1
    assert "token make" in missing.err


def test_a_port_that_is_taken_is_one_sentence(sh: Shell) -> None:
    """Another process listens there already."""
    with served(sh.store) as (_, url):
        taken = sh("serve", "--port", url.rpartition(":")[2])

    assert taken.code == 1
    assert "--port" in taken.err
    assert "Traceback" not in taken.err


MISSING = """
import sys
from importlib.abc import MetaPathFinder
class Missing(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in ("fastapi", "uvicorn", "starlette", "prometheus_client"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from siltstone.cli import main
main(["serve", "--store", sys.argv[1]])
"""


def test_without_the_extra_it_is_one_sentence(tmp_path: Path) -> None:
    """What is missing, what for, and the line to paste."""
    done = subprocess.run(
        [sys.executable, "-c", MISSING, str(tmp_path / "store")], capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert 'pip install "siltstone[http]"' in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_it_serves_with_tokens(tmp_path: Path) -> None:
    """Started with a file of tokens, it asks for one, and takes the names that it is given."""
    file = tmp_path / "tokens.jsonl"
    token = make_token(file, name="alice", user_id="alice")
    with served(tmp_path / "store", "--tokens", str(file), "--allow-host", "memory.example.com") as (_, url):
        allowed = {"authorization": f"Bearer {token}", "host": "memory.example.com"}

        assert httpx.get(f"{url}/memory/stats", timeout=60).status_code == 401
        assert httpx.get(f"{url}/memory/stats", headers=allowed, timeout=60).json()["user_id"] == "alice"
        assert (
            httpx.get(f"{url}/memory/stats", headers=allowed | {"host": "x.example.com"}, timeout=60).status_code == 421
        )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_what_it_is_at_is_done(tmp_path: Path, number: signal.Signals) -> None:
    """Told to end amid writes, it finishes those that it took, and its exit code is 0."""
    acknowledged: list[str] = []
    with served(tmp_path / "store") as (process, url):
        first = threading.Event()

        def write() -> None:
            for n in range(100_000):
                try:
                    answer = httpx.post(f"{url}/memory/remember", json={"text": f"memory {n}"}, timeout=60)
                except httpx.TransportError:
                    return
                if answer.status_code == 200:
                    acknowledged.append(f"memory {n}")
                    first.set()

        writer = threading.Thread(target=write)
        writer.start()
        assert first.wait(120)
        process.send_signal(number)
        assert process.wait(60) == 0
        writer.join(60)

    with TieredMemory.open(tmp_path / "store") as memory:
        assert {record.text for record in memory.records()} >= set(acknowledged)


@pytest.mark.parametrize("work", ["consolidate", "import"])
def test_it_ends_although_what_it_is_at_does_not(tmp_path: Path, work: str) -> None:
    """A model that does not answer, or a client that sends no more, is not waited for; what was stored is there."""

    def ask() -> None:
        connection = HTTPConnection(url.removeprefix("http://"), timeout=120)
        if work == "consolidate":
            connection.request("POST", "/memory/consolidate", "{}", {"Content-Type": "application/json"})
        else:
            connection.putrequest("POST", "/memory/import")
            connection.putheader("Transfer-Encoding", "chunked")
            connection.endheaders()
            connection.send(b'26\r\n[{"id": "one", "text": "Likes tea."},\n\r\n')
            while "siltstone_http_requests_running 2.0" not in httpx.get(f"{url}/metrics", timeout=60).text:
                time.sleep(0.05)  # beside this question, nothing is worked on yet
            begun.set()
        with closing(connection), connection.getresponse() as answer:
            answers.append((answer.status, json.load(answer)["detail"]))

    begun, answers = threading.Event(), list[tuple[int, str]]()

    def stall(asked: Asked) -> Answer:
        begun.set()
        return Answer("", delay=100)

    with ScriptedServer(stall) as model:
        options = ("--grace", "1", "--summarizer", f"openai:slow@{model.url}")
        with served(tmp_path / "store", *options, before=("--set", "worker=false", "--set", "span_turns=4")) as (
            process,
            url,
        ):
            said = [{"role": "user", "content": f"Sentence {n}."} for n in range(8)]
            httpx.post(
                f"{url}/memory/messages", json={"session_id": "s", "messages": said}, timeout=60
            ).raise_for_status()
            asking = threading.Thread(target=ask)
            asking.start()
            assert begun.wait(60)
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
            asking.join(60)

    assert [status for status, _ in answers] == [503]
    assert "begun again" in answers[0][1]
    with TieredMemory.open(tmp_path / "store") as memory:
        assert len(memory.messages("s")) == 8


def test_killed_amid_writes_it_has_lost_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """Killed and started again, over and over, while clients write and replace: all that was answered is there."""
    store = tmp_path / "store"
    acknowledged: dict[str, set[str]] = {f"user {n}": set() for n in range(4)}
    dialogues: dict[str, int] = {}
    for life in range(3):
        with served(store, "--rate", "0") as (process, url):
            enough = threading.Semaphore(0)

            def write(user: str, url: str = url, life: int = life, enough: threading.Semaphore = enough) -> None:
                with httpx.Client(base_url=url, timeout=60) as client:
                    for n in range(100_000):
                        text = f"{user}, life {life}, memory {n}"
                        lines = "\n".join(f"User: {life}.{n}, line {line}" for line in range(3))
                        try:
                            said = client.post("/memory/remember", json={"text": text, "user_id": user})
                            body = {"dialogue_id": "d", "dialogue_text": lines, "user_id": user}
                            wrote = client.post("/memory/write", json=body)
                        except httpx.TransportError:
                            return
                        assert (said.status_code, wrote.status_code) == (200, 200)
                        acknowledged[user].add(text)
                        dialogues[user] = life * 1_000_000 + n
                        enough.release()

            writers = [threading.Thread(target=write, args=(user,)) for user in acknowledged]
            for writer in writers:
                writer.start()
            for _ in range(12):
                assert enough.acquire(timeout=120)
            process.kill()
            for writer in writers:
                writer.join(60)

        with TieredMemory.open(store) as memory:
            for user, texts in acknowledged.items():
                mine = memory.for_user(user)
                assert {record.text for record in mine.records(kinds="fact")} >= texts
                lines = [message.content for message in mine.messages("d")]
                assert len(lines) in (0, 3)
                assert [line.rpartition(" ")[2] for line in lines] == ["0", "1", "2"][: len(lines)]
                if user in dialogues:
                    last, n = map(int, lines[0].partition(",")[0].split("."))
                    assert last * 1_000_000 + n >= dialogues[user]
                    assert len({line.partition(",")[0] for line in lines}) == 1
