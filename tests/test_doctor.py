"""``siltstone doctor``: each thing that goes wrong in practice is made to, is told, and is put right as it says."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from postgres_server import emptied
from scripted_server import Answer, Asked, ScriptedServer
from shell import Shell
from siltstone import ModelError, Settings, StoreLockedError, TieredMemory
from siltstone.doctor import Check, examine, installation, machine, models
from siltstone.models.e5 import E5Embedder
from siltstone.models.sentence_transformers import SentenceTransformersEmbedder
from siltstone.protocols import Floats
from siltstone.stores.files.lock import FileLock
from siltstone.testing import FailingEmbedder, FrozenClock, HashEmbedder, ScriptedChatModel

QUICK = ("doctor", "--quick", "--json")
TRANSCRIPT = [
    ("user", "I live in Lisbon."),
    ("assistant", "A fine town."),
    ("user", "我喜欢喝茶。"),
    ("assistant", "好的。"),
]


def found(checks: Sequence[dict[str, str]], name: str) -> dict[str, str]:
    """Return the one check of a name."""
    (one,) = [check for check in checks if check["name"] == name]
    return one


def seen(sh: Shell, *arguments: str, name: str) -> dict[str, str]:
    """Return what the doctor says of one thing."""
    return found(sh(*(arguments or QUICK)).json["checks"], name)


def names(checks: Sequence[Check]) -> dict[str, Check]:
    """Return checks by their names."""
    return {check.name: check for check in checks}


def fix(sh: Shell, told: str) -> str:
    """Type the command that a fix begins with; return what it prints."""
    command = told.partition(";")[0].partition(" makes ")[0].partition(" moves ")[0].partition(" lists ")[0]
    ran = sh(*shlex.split(command)[1:])
    assert ran.code == 0, ran.err
    return ran.out


# --- all is well


def test_a_sound_store_is_told_so(sh: Shell) -> None:
    """Exit code 0, nothing wrong; each thing has its line."""
    sh("add", "I live in Lisbon.", "--session", "s")

    ran = sh("doctor")
    told = sh("doctor", "--json").json

    assert ran.code == 0, ran.out
    assert "0 wrong" in ran.out
    assert told["is_well"] is True
    assert {"python", "packages", "extras", "store", "disk", "locks", "clock", "user", "queue", "embedder"} <= {
        check["name"] for check in told["checks"]
    }


def test_it_changes_nothing(sh: Shell) -> None:
    """Not a byte of the store, and no store where none was."""
    assert sh("doctor", "--quick").code == 3
    assert not sh.store.exists()
    sh("add", "I live in Lisbon.", "--session", "s")
    before = {path: path.read_bytes() for path in sh.store.rglob("*") if path.is_file()}
    assert sh("doctor").code == 0
    assert {path: path.read_bytes() for path in sh.store.rglob("*") if path.is_file()} == before


# --- memory lost after a restart


def test_a_memory_lost_for_another_working_folder(sh: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative folder is meant from where a process starts: the store that is elsewhere is named."""
    monkeypatch.delenv("SILTSTONE_STORE")
    for folder in ("yesterday", "today"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "yesterday")
    sh("add", "I live in Lisbon.")
    monkeypatch.chdir(tmp_path / "today")

    assert sh("search", "Where do I live?").code == 1
    check = seen(sh, name="store")

    assert check["state"] == "wrong"
    assert str(tmp_path / "today" / "memory") in check["what"]
    assert str(tmp_path / "yesterday" / "memory") in check["what"]
    assert check["fix"] == f"siltstone doctor --store {tmp_path / 'yesterday' / 'memory'}"
    assert sh("doctor", "--quick", "--store", str(tmp_path / "yesterday" / "memory")).code == 0


def test_a_memory_lost_for_another_user(sh: Shell) -> None:
    """The memories are there, under another name, and the command that lists the names is told."""
    sh("add", "I live in Lisbon.", "--user", "alice")

    check = seen(sh, name="user")

    assert check["state"] == "wrong"
    assert "1 other has" in check["what"]
    assert "alice" in fix(sh, check["fix"])


def test_a_memory_that_was_never_kept(sh: Shell) -> None:
    """``:memory:`` is no place to come back to."""
    check = seen(sh, *QUICK, "--store", ":memory:", name="store")

    assert check["state"] == "wrong"
    assert "--store FOLDER" in check["fix"]


@pytest.mark.parametrize(
    ("kind", "state", "word"),
    [("tmpfs", "hint", "restarts"), ("overlay", "hint", "container"), ("nfs4", "hint", "network"), ("ext4", "ok", "")],
)
def test_a_file_system_that_does_not_last(tmp_path: Path, kind: str, state: str, word: str) -> None:
    """A store in memory, in a container or on the network is told of, with what to do."""
    mountinfo = f"36 35 98:0 / / rw,noatime shared:1 - {kind} none rw"

    (check,) = machine.file_system(str(tmp_path / "not" / "there"), mountinfo)

    assert check.state == state
    assert word in check.what


# --- unrelated results


def test_a_store_of_another_embedder(sh: Shell) -> None:
    """The command that moves the store is named, and after it all is well."""
    with TieredMemory.open(sh.store, embedder=HashEmbedder(64)) as memory:
        memory.add(TRANSCRIPT, session_id="s")

    check = seen(sh, name="store")

    assert check["state"] == "wrong"
    assert "reembed" in check["fix"]
    fix(sh, check["fix"])
    assert sh("doctor", "--quick").code == 0


class EnglishOnly:
    """A model that gives other scripts vectors that mean nothing."""

    name = "english-only"
    dim = 384
    local = True

    def __init__(self) -> None:
        self._knows, self._guesses = E5Embedder(), HashEmbedder(384)

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return one row per text."""
        rows = [(self._knows if text.isascii() else self._guesses).embed_documents([text])[0] for text in texts]
        return np.stack(rows)

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a question."""
        return self.embed_documents([text])[0]


def test_a_model_that_does_not_understand_what_is_stored(tmp_path: Path) -> None:
    """Chinese in a store of an English model is told of; English alone is not."""
    model = EnglishOnly()
    with TieredMemory.open(tmp_path / "m", embedder=model) as memory:
        memory.remember("Likes tea.")
    assert "languages" not in names(list(examine(str(tmp_path / "m"), embedder=model)))
    with TieredMemory.open(tmp_path / "m", embedder=model) as memory:
        memory.remember("我在医院当护士。")

    check = names(list(examine(str(tmp_path / "m"), embedder=model)))["languages"]

    assert check.state == "wrong"
    assert "Chinese" in check.what
    assert f"siltstone reembed --store {tmp_path / 'm'}" in check.fix


# --- a digest that does not parse


def test_a_summarizer_that_answers_nonsense(sh: Shell) -> None:
    """What it answered is shown; nothing of the store changes."""
    sh("add", "I live in Lisbon.")
    nonsense = Answer({"choices": [{"message": {"content": "As a model I cannot do that, sorry."}}]})
    with ScriptedServer([nonsense]) as server:
        check = seen(sh, "doctor", "--json", "--summarizer", f"openai:tiny@{server.url}", name="summarizer")

    assert check["state"] == "wrong"
    assert "As a model I cannot" in check["what"]
    assert "--retry" in check["fix"]


def test_spans_that_have_failed_for_good(sh: Shell) -> None:
    """Dead letters are told with the command that tries them again, and are gone once a model answers."""
    settings = Settings(span_turns=2, retries=1, retry_wait=0.0)
    clock = FrozenClock(datetime.now(timezone.utc) - timedelta(days=2))
    with TieredMemory.open(
        sh.store,
        embedder=HashEmbedder(64),
        summarizer=ScriptedChatModel(["{"] * 50),
        settings=settings,
        clock=clock,
    ) as memory:
        memory.add(TRANSCRIPT, session_id="s")
        for _ in range(3):
            memory.consolidate()
            clock.advance(hours=1)
        assert memory.stats().dead_letters
    sh("reembed")

    check = seen(sh, name="dead letters")

    assert check["state"] == "wrong"
    assert "siltstone consolidate --retry" in check["fix"]
    assert sh("consolidate", "--retry").code == 0  # without a model: the extractive summarizer makes it
    assert sh("doctor", "--quick").code == 0


# --- a slow first import


def test_a_slow_engine_is_told_with_the_quick_one() -> None:
    """How fast it embeds and how long what waits will take; the package that makes it faster."""
    (check,) = models.embedder(E5Embedder(engine="c"), pending=100_000)

    assert check.state == "hint"
    assert "texts a second" in check.what
    assert "100,000 that wait take" in check.what
    assert "siltstone[onnx]" in check.fix


def test_texts_that_wait_to_be_embedded(sh: Shell) -> None:
    """They are told with the command that embeds them, and gone after it."""
    down = FailingEmbedder(E5Embedder())
    down.failing = False
    with TieredMemory.open(sh.store, embedder=down, settings=Settings(embed_wait=5.0, close_wait=0.1)) as memory:
        memory.remember("Likes tea.")
        memory.flush()
        down.failing = True
        memory.remember("Likes coffee.")

    check = seen(sh, name="pending vectors")

    assert check["what"].startswith("1 texts")
    fix(sh, check["fix"])
    assert seen(sh, name="queue")["state"] == "ok"


# --- out of memory on the GPU


class SmallGpu:
    """A model of sentence-transformers on a GPU that has room for four texts."""

    def __init__(self, *_: object, **__: object) -> None:
        self.prompts: dict[str, str] = {}

    def get_sentence_embedding_dimension(self) -> int:
        """Width of a vector."""
        return 64

    def parameters(self) -> list[Any]:
        """The weights."""
        return []

    def encode(self, texts: list[str], **options: Any) -> Floats:
        """Return one row per text, or fail as PyTorch does."""
        if len(texts) > 4:
            raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 MiB")
        return HashEmbedder(64).embed_documents(texts)


@pytest.fixture
def small_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose sentence-transformers runs on a small GPU."""
    library = ModuleType("sentence_transformers")
    library.SentenceTransformer = SmallGpu  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)


@pytest.mark.usefixtures("small_gpu")
def test_out_of_memory_on_the_gpu(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write is refused whole, the sentence and the doctor say what helps, and it does."""
    model = SentenceTransformersEmbedder("tiny")
    talk = [("user", f"Message {number}.") for number in range(16)]
    with TieredMemory.open(sh.store, embedder=model) as memory:
        with pytest.raises(ModelError, match=r"out of memory.*embed_batch"):
            memory.add(talk, session_id="s")
        assert memory.stats().messages == 0

    check = seen(sh, "doctor", "--json", "--embedder", "sentence-transformers:tiny", name="embedder")

    assert check["state"] == "wrong"
    assert "SILTSTONE_EMBED_BATCH=4" in check["fix"]
    with TieredMemory.open(sh.store, embedder=model, settings=Settings(embed_batch=4, embed_wait=60.0)) as memory:
        memory.add(talk, session_id="s")
        memory.flush()
        assert memory.stats().pending_vectors == 0


def test_a_gpu_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ``nvidia-smi`` says is told; nothing where there is none, and a hint where it does not answer."""
    tool = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert list(machine.gpu()) == []
    for printed, state in (("Some GPU, 100, 24000", "ok"), ("Some GPU, 23900, 24000", "hint")):
        tool.write_text(f"#!/bin/sh\necho '{printed}'\n")
        tool.chmod(0o755)
        (check,) = machine.gpu()
        assert (check.state, "Some GPU" in check.what) == (state, True)
    tool.write_text("#!/bin/sh\nexit 9\n")
    (check,) = machine.gpu()
    assert check.state == "hint"


# --- time-outs


def test_a_lock_that_somebody_holds(sh: Shell) -> None:
    """A write is refused in time; who holds the lock is named, and once they are done all is well."""
    sh("add", "I live in Lisbon.")
    (lock,) = sh.store.glob("users/*/*/LOCK")
    with FileLock(str(lock)).held(1.0):
        refused = sh("--set", "lock_timeout=0.1", "add", "I moved.")
        assert refused.code == 1
        assert "has been held" in refused.err
        check = seen(sh, name="locks")
    assert check["state"] == "hint"
    assert "is held by process" in check["what"]
    assert "SILTSTONE_LOCK_TIMEOUT" in check["fix"]
    assert seen(sh, name="locks")["state"] == "ok"
    assert issubclass(StoreLockedError, TimeoutError)


def digest(asked: Asked) -> Answer:
    """Answer as a language model that makes a digest."""
    made = {"topic": "Alice", "summary": "Alice lives in Lisbon.", "facts": [], "preferences": [], "events": []}
    return Answer({"choices": [{"message": {"content": json.dumps(made)}}]}, delay=0.5)


def test_a_model_that_takes_longer_than_it_may(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time that it is given is what to change, and with more it answers."""
    sh("add", "I live in Lisbon.")
    with ScriptedServer(digest) as server:
        command = ("doctor", "--json", "--summarizer", f"openai:slow@{server.url}")
        monkeypatch.setenv("SILTSTONE_MODEL_TIMEOUT", "0.1")
        check = seen(sh, *command, name="summarizer")
        assert check["state"] == "wrong"
        assert "SILTSTONE_MODEL_TIMEOUT=300" in check["fix"]
        monkeypatch.setenv("SILTSTONE_MODEL_TIMEOUT", "300")
        assert seen(sh, *command, name="summarizer")["state"] == "ok"


def test_a_model_that_nobody_serves_is_asked_once(sh: Shell) -> None:
    """Somebody waits for the doctor: where nobody answers it says so after the first attempt."""
    sh("add", "I live in Lisbon.")
    for spec in ("openai:tiny@http://127.0.0.1:9", "ollama:tiny@http://127.0.0.1:9"):
        check = seen(sh, "doctor", "--json", "--summarizer", spec, name="summarizer")
        assert check["state"] == "wrong"
        assert "(attempt 1," in check["what"]


@pytest.mark.parametrize("location", ["https://user@127.0.0.1:9", "nosuch://here", "sqlite://", "file"])
def test_a_store_that_does_not_open_has_a_command_to_go_on_with(sh: Shell, location: str, tmp_path: Path) -> None:
    """Whatever keeps a store from opening, the fix names a command or what to do, not the sentence above it."""
    (tmp_path / "file").write_text("no store")
    place = str(tmp_path / "file") if location == "file" else location
    check = seen(sh, "doctor", "--quick", "--json", "--store", place, name="store")

    assert check["state"] == "wrong"
    assert "siltstone" in check["fix"]


def test_an_embedder_that_does_not_answer(sh: Shell) -> None:
    """A server that is down is told as such."""
    with ScriptedServer([Answer("", status=503)]) as server:
        url = server.url
    check = seen(sh, "doctor", "--json", "--embedder", f"openai:hash@{url}", name="embedder")

    assert check["state"] == "wrong"
    assert "start the server" in check["fix"]


# --- duplicates


def test_a_transcript_that_was_added_twice(sh: Shell) -> None:
    """The session that repeats another one is named, with the command that takes it out."""
    with TieredMemory.open(sh.store) as memory:
        memory.add(TRANSCRIPT, session_id="monday")
        memory.add(TRANSCRIPT, session_id="monday again")

    check = seen(sh, name="duplicates")

    assert check["state"] == "hint"
    assert "1 sessions" in check["what"]
    command = shlex.split(check["fix"].partition(";")[0])
    assert command[-1] == "--dry-run"
    assert sh(*command[1:-1], "--yes").code == 0
    assert seen(sh, name="duplicates")["state"] == "ok"
    assert [info["session_id"] for info in sh("sessions", "--json").json["sessions"]] == ["monday"]


def test_messages_that_were_sent_again_without_ids(sh: Shell) -> None:
    """The same message after itself, many times, is told with what prevents it; with ids it is no second one."""
    with TieredMemory.open(sh.store) as memory:
        for _ in range(10):
            memory.add([("user", "I live in Lisbon.")], session_id="s")

    check = seen(sh, name="duplicates")

    assert check["state"] == "hint"
    assert "9 of 10" in check["what"]
    assert "id" in check["fix"]


# --- a store that grows


def test_a_store_that_grows_by_versions(sh: Shell) -> None:
    """A text that is changed again and again fills a store with its versions, until fewer are kept."""
    with TieredMemory.open(sh.store) as memory:
        id = memory.remember("0 " * 5_000)
        for number in range(1, 16):
            memory.update(id, text=f"{number} " * 5_000)
        memory.add([("user", "Hello.")], session_id="s")
        memory.flush()

    check = seen(sh, name="growth")

    assert check["state"] == "hint"
    before = sh("stats", "--json").json["bytes"]["documents"]
    told = check["fix"].partition(";")[0]
    freed = sh("--set", "history=1", *shlex.split(told)[1:], "--json").json["bytes"]
    assert freed > before / 2
    assert seen(sh, name="growth")["state"] == "ok"


def test_what_was_left_behind_is_told(sh: Shell) -> None:
    """Pieces that a repair took out stand on the disk until somebody decides."""
    sh("add", "I live in Lisbon.")
    (sh.store / "quarantine").mkdir()
    (sh.store / "quarantine" / "piece").write_bytes(b"x")

    assert "quarantine" in seen(sh, name="growth")["what"]


# --- stores that do not open


def test_each_refusal_has_its_fix(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing key, a newer format, damage: the sentence of the error, and the command."""
    pytest.importorskip("cryptography")
    monkeypatch.setenv("SILTSTONE_KEY", "open sesame")
    sh("add", "I live in Lisbon.")
    monkeypatch.delenv("SILTSTONE_KEY")
    assert "--key-file" in seen(sh, name="store")["fix"]
    shutil.rmtree(sh.store)
    sh("add", "I live in Lisbon.")
    (sh.store / "STORE").write_bytes(b"nonsense" * 2_000)
    check = seen(sh, name="store")
    assert check["state"] == "wrong"
    assert "siltstone verify" in check["fix"]


# --- the machine, without the machine


@pytest.mark.parametrize(("free", "state"), [(10**12, "ok"), (2 * 10**8, "hint"), (10**6, "wrong")])
def test_a_disk_that_is_nearly_full(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int, state: str) -> None:
    """A forget writes files anew: as much as the store has should be free, and never less than 100 MB."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))

    (check,) = machine.disk(str(tmp_path), {"documents": 10**9})

    assert check.state == state


NOW = datetime(2026, 5, 8, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("now", "newest", "state"),
    [
        (NOW, None, "ok"),
        (NOW, NOW - timedelta(days=1), "ok"),
        (NOW, NOW + timedelta(days=1), "wrong"),
        (datetime(1970, 1, 1, tzinfo=timezone.utc), None, "wrong"),
    ],
)
def test_a_clock_that_cannot_be_right(
    monkeypatch: pytest.MonkeyPatch, now: datetime, newest: datetime | None, state: str
) -> None:
    """Before siltstone was written, or before its newest memory."""
    monkeypatch.setattr(machine, "_skew", lambda: 0.0)

    (check,) = machine.clock(newest, now)

    assert check.state == state


def test_packages_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is needed is wrong to miss, an extra is not; each with its command."""
    needed = ["numpy>=1.26", "no-such-package>=1", "tomli>=2; python_version < '3.11'"]
    extras = ["nor-this-one>=2; extra == 'dreams'", "orjson; extra == 'quick'", "siltstone[dreams]; extra == 'all'"]
    monkeypatch.setattr(installation.metadata, "requires", lambda _: [*needed, *extras])

    told = names(list(installation.installation()))

    assert (told["packages"].state, told["packages"].fix) == ("wrong", "pip install no-such-package")
    assert "installed: quick;" in told["extras"].what
    assert told["extras"].what.endswith("adds dreams")


def test_an_embedder_that_is_none_is_told(sh: Shell) -> None:
    """A name that means nothing, and one whose package is not there, are told as the other things are."""
    sh("add", "I live in Lisbon.")

    check = seen(sh, "doctor", "--json", "--embedder", "nonsense", name="embedder")

    assert check["state"] == "wrong"
    assert "'nonsense'" in check["what"]


def test_a_role_that_passes_the_wall_between_users(sh: Shell, postgres: str) -> None:
    """Of a superuser it is said that row-level security does not hold, and of a role of its own that it does."""
    import psycopg

    emptied(postgres)
    sh("add", "I live in Lisbon.", "--store", postgres)
    command = ("doctor", "--quick", "--json", "--store")
    told = seen(sh, *command, postgres, name="walls")
    assert told["state"] == "hint"
    assert "CREATE ROLE app LOGIN" in told["fix"]
    assert "whole store" in seen(sh, *command, postgres, name="growth")["what"]
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS walled")
        connection.execute("CREATE ROLE walled LOGIN")
        connection.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO walled")
        try:
            assert seen(sh, *command, postgres.replace("postgres:@", "walled@"), name="walls")["state"] == "ok"
        finally:
            connection.execute("DROP OWNED BY walled")
            connection.execute("DROP ROLE walled")
