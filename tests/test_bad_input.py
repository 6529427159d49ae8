"""Bad input and bad places: a clear error, and nothing changed."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siltstone import (
    ConfigurationError,
    InvalidInputError,
    Message,
    ModelError,
    SiltstoneError,
    TieredMemory,
)
from siltstone.cli import main
from siltstone.protocols import Floats
from siltstone.testing import HashEmbedder, WordCounter

NAIVE = datetime(2024, 5, 6, 9, 30)
SURROGATE = "half an emoji: \ud83d"
TEN_MEGABYTES = "x" * 10_485_760


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[TieredMemory]:
    """A folder store with one message and one fact."""
    with TieredMemory.open(tmp_path / "store", embedder=HashEmbedder(), token_counter=WordCounter()) as opened:
        opened.add([Message("user", "I moved to Lisbon.", id="m1")], session_id="may")
        opened.remember("Alice plays the cello.")
        yield opened


def _say(*messages: Any, **options: Any) -> Callable[[TieredMemory], object]:
    return lambda memory: memory.add(list(messages), session_id="may", **options)


BAD_CALLS: dict[str, tuple[Callable[[TieredMemory], object], str]] = {
    "empty text": (_say(("user", "Fine."), ("user", "")), "empty"),
    "blank text": (_say(("user", " \n\u3000")), "empty"),
    "empty fact": (lambda memory: memory.remember(""), "empty"),
    "text that is no text": (_say(("user", b"bytes")), "bytes"),
    "unknown role": (_say(("user", "Fine."), ("robot", "Beep.")), "robot"),
    "unknown kind": (lambda memory: memory.remember("Fine.", kind="thought"), "thought"),
    "unknown field": (_say({"role": "user", "content": "Fine.", "colour": "red"}), "colour"),
    "no role": (_say({"content": "Fine."}), "role"),
    "one message, no list": (lambda memory: memory.add(("user", "Fine."), session_id="may"), "message"),
    "session to leave out that is none": (lambda m: m.search("Lisbon", exclude_session_id=7), "exclude_session_id"),  # type: ignore[arg-type]
    "empty session": (lambda memory: memory.add([("user", "Fine.")], session_id=""), "session_id"),
    "naive time of a message": (_say(Message("user", "Fine.", created_at=NAIVE)), "time zone"),
    "naive time of an add": (_say(("user", "Fine."), created_at=NAIVE), "time zone"),
    "naive time as a string": (_say(("user", "Fine."), created_at="2024-05-06T09:30"), "time zone"),
    "naive time of a fact": (lambda memory: memory.remember("Fine.", occurred_at=NAIVE), "time zone"),
    "naive time of a search": (lambda memory: memory.search("Lisbon", since=NAIVE), "time zone"),
    "naive time of a context": (lambda memory: memory.context("Lisbon", now=NAIVE), "time zone"),
    "no time at all": (_say(("user", "Fine."), created_at="soon"), "soon"),
    "budget of 0": (lambda memory: memory.context("Lisbon", max_tokens=0), "max_tokens"),
    "negative budget": (lambda memory: memory.context("Lisbon", max_tokens=-1), "max_tokens"),
    "window of 0": (lambda memory: memory.window("may", max_tokens=0), "max_tokens"),
    "section that is none": (lambda memory: memory.context("Lisbon", sections=["recall"]), "'recall'"),
    "section, no list": (lambda memory: memory.context("Lisbon", sections="recalled"), "a list"),
    "no sections": (lambda memory: memory.context("Lisbon", sections=None), "a list"),  # type: ignore[arg-type]
    "no results wanted": (lambda memory: memory.search("Lisbon", top_k=0), "top_k"),
    "lone surrogate": (_say(("user", SURROGATE)), "surrogate"),
    "lone surrogate in a name": (_say(Message("user", "Fine.", name=SURROGATE)), "surrogate"),
    "lone surrogate in an id": (_say(Message("user", "Fine.", id=SURROGATE)), "surrogate"),
    "lone surrogate in metadata": (_say(Message("user", "Fine.", metadata={"note": SURROGATE})), "surrogate"),
    "lone surrogate in a fact": (lambda memory: memory.remember(SURROGATE), "surrogate"),
    "ten megabytes": (_say(("user", "Fine."), ("user", TEN_MEGABYTES)), "10,485,760 characters"),
    "a fact of ten megabytes": (lambda memory: memory.remember(TEN_MEGABYTES), "10,485,760 characters"),
    "metadata that is no JSON": (_say(Message("user", "Fine.", metadata={"when": object()})), "metadata"),
    "nan in metadata": (_say(Message("user", "Fine.", metadata={"score": float("nan")})), "nan"),
    "infinity deep in metadata": (_say(Message("user", "Fine.", metadata={"a": [{"b": (1, -math.inf)}]})), "infinity"),
    "nan in a fact's metadata": (lambda memory: memory.remember("Fine.", metadata={"score": math.nan}), "nan"),
    "nan in a condition": (lambda memory: memory.forget(metadata={"score": math.nan}), "nan"),
    "importance over 1": (lambda memory: memory.remember("Fine.", importance=2), "importance"),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_arguments_are_refused_and_change_nothing(memory: TieredMemory, name: str) -> None:
    """Each bad argument is an ``InvalidInputError`` that names it; no part of the call is stored."""
    call, named = BAD_CALLS[name]
    before = memory.revision, memory.stats()

    with pytest.raises(InvalidInputError, match=named):
        call(memory)

    assert (memory.revision, memory.stats()) == before


class BrokenEmbedder(HashEmbedder):
    """An embedder that breaks its contract on demand."""

    spoil: Callable[[Floats], Floats] = staticmethod(lambda rows: rows)

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return rows that ``spoil`` has spoilt."""
        return type(self).spoil(super().embed_documents(texts))


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda rows: np.full_like(rows, np.nan), id="nan"),
        pytest.param(lambda rows: np.full_like(rows, np.inf), id="infinite"),
        pytest.param(lambda rows: rows[:, :-1], id="too narrow"),
        pytest.param(lambda rows: rows[:-1], id="too few"),
    ],
)
def test_an_embedder_that_breaks_its_contract_stores_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Floats], Floats]
) -> None:
    """NaN, a wrong dimension or missing rows are a ``ModelError``; the store is as it was, and goes on."""
    with TieredMemory.open(tmp_path / "store", embedder=BrokenEmbedder(), token_counter=WordCounter()) as memory:
        memory.add([("user", "I moved to Lisbon.")], session_id="may")
        before = memory.revision
        monkeypatch.setattr(BrokenEmbedder, "spoil", staticmethod(spoil))
        with pytest.raises(ModelError):
            memory.add([("user", "One."), ("user", "Two.")], session_id="may")
        assert memory.revision == before
        monkeypatch.undo()
        memory.add([("user", "Three.")], session_id="may")
        assert [message.content for message in memory.messages("may")] == ["I moved to Lisbon.", "Three."]


def _tree(folder: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in sorted(folder.rglob("*"))}


def test_a_folder_that_is_no_store_is_left_alone(tmp_path: Path) -> None:
    """A folder with other files in it is refused, and not written to."""
    (tmp_path / "thesis.txt").write_text("Chapter one", encoding="utf-8")
    before = _tree(tmp_path)

    with pytest.raises(SiltstoneError, match="store"):
        TieredMemory.open(tmp_path, embedder=HashEmbedder())

    assert _tree(tmp_path) == before


def test_a_file_where_a_folder_should_be_is_left_alone(tmp_path: Path) -> None:
    """A location that is a file, or lies below one, is refused, and the file kept."""
    file = tmp_path / "notes.txt"
    file.write_text("mine", encoding="utf-8")

    for location in (file, file / "store"):
        with pytest.raises(SiltstoneError, match=r"notes\.txt"):
            TieredMemory.open(location, embedder=HashEmbedder())

    assert file.read_text(encoding="utf-8") == "mine"


def test_a_place_that_takes_no_folders_is_refused() -> None:
    """Where the system makes no folder, as below ``/proc``, the error says that another place is needed."""
    if not Path("/proc/self").is_dir():
        pytest.skip("this system has no /proc")
    for location in ("/proc/siltstone", "/proc/siltstone/below", "sqlite:////proc/siltstone/file.db"):
        with pytest.raises(ConfigurationError, match=r"/proc takes no folders.*choose a place on a disk"):
            TieredMemory.open(location, embedder=HashEmbedder())


@pytest.mark.parametrize("scheme", ["", "sqlite:///"])
def test_a_name_that_no_disk_can_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    """Unknown homes, NUL, lone surrogates and a deleted working folder are a ``ConfigurationError`` each."""
    for name, told in (("~nobody-at-all/store", "home"), ("a\0b", "NUL"), (SURROGATE, "surrogate")):
        with pytest.raises(ConfigurationError, match=f"{told}.*nothing was opened"):
            TieredMemory.open(scheme + name, embedder=HashEmbedder())

    monkeypatch.chdir(tmp_path)
    deleted = tmp_path / "deleted"
    deleted.mkdir()
    os.chdir(deleted)
    deleted.rmdir()
    with pytest.raises(ConfigurationError, match=r"deleted.*nothing was opened"):
        TieredMemory.open(scheme + "store", embedder=HashEmbedder())


def test_a_bad_location_is_one_sentence_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same errors reach the command line as one line and exit code 1."""
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")

    for location in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(SystemExit) as ended:
            main(["add", "Hello.", "--store", str(location)])
        error = capsys.readouterr().err
        assert ended.value.code == 1
        assert str(location) in error
        assert error.count("\n") == 1


def test_a_read_only_folder_is_read_and_refuses_writes(tmp_path: Path) -> None:
    """Without permission to write, a store can be searched, an add is a ``ReadOnlyError``, and no byte changes."""
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        pytest.skip("root ignores permissions, and there is no setpriv to take that away")
    store = tmp_path / "store"
    with TieredMemory.open(store, embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        memory.add([("user", "I moved to Lisbon.")], session_id="may")
    before = _tree(store)
    folders = [store, *(path for path in store.rglob("*") if path.is_dir())]
    for path in store.rglob("*"):
        path.chmod(0o500 if path.is_dir() else 0o400)
    store.chmod(0o500)

    code = """
    with TieredMemory.open(folder, read_only=True, **models) as memory:
        print(memory.search("Lisbon")[0].record.text)
    try:
        with TieredMemory.open(folder, **models) as memory:
            memory.add([("user", "Two.")], session_id="may")
    except ReadOnlyError as exc:
        print("refused:", exc)
    """
    try:
        lines = _elsewhere(code, store, prefix=_as_ordinary_user()).splitlines()
    finally:
        for path in folders:
            path.chmod(0o700)

    assert lines[0] == "I moved to Lisbon."
    assert lines[1].startswith("refused: ")
    assert str(store) in lines[1]
    assert _tree(store) == before


FULL_DISK = """
    with TieredMemory.open(folder, **models) as memory:
        memory.add([("user", "I moved to Lisbon.")], session_id="may")
        fill()
        try:
            memory.add([("user", "x" * 300_000)], session_id="may")
        except BackendUnavailableError as exc:
            print("refused:", exc)
        print([m.content for m in memory.messages("may")])
        free()
        memory.add([("user", "Two.")], session_id="may")
    with TieredMemory.open(folder, **models) as memory:
        print([m.content for m in memory.messages("may")])
"""


@pytest.mark.parametrize("disk", ["limit", "tmpfs"])
def test_a_full_disk_refuses_the_add_and_keeps_the_rest(tmp_path: Path, disk: str) -> None:
    """A write that finds no room is not acknowledged, leaves nothing behind, and works again once there is room."""
    if disk == "limit":  # files may not grow: a write stops in the middle
        prefix: list[str] = []
        folder = tmp_path / "store"
        ways = """
    def fill(): resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, -1))
    def free(): resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
    """
    else:
        prefix = _on_small_disk(tmp_path)
        folder = tmp_path / "disk" / "store"
        ways = """
    ballast = folder.parent / "ballast"
    def fill():
        with open(ballast, "wb", buffering=0) as file:
            try:
                while True: file.write(bytes(4096))
            except OSError: pass
    def free(): ballast.unlink()
    """

    lines = _elsewhere(ways + FULL_DISK, folder, prefix=prefix).splitlines()

    assert lines[0].startswith("refused: ")
    assert lines[1] == "['I moved to Lisbon.']"
    assert lines[2] == "['I moved to Lisbon.', 'Two.']"


def _elsewhere(code: str, folder: Path, *, prefix: Sequence[str]) -> str:
    """Run code in a process of its own, started by ``prefix``; return what it printed."""
    head = (
        "import resource, pathlib\n"
        "from siltstone import BackendUnavailableError, ReadOnlyError, TieredMemory\n"
        "from siltstone.testing import HashEmbedder, WordCounter\n"
        f"folder = pathlib.Path({json.dumps(str(folder))})\n"
        "models = {'embedder': HashEmbedder(), 'token_counter': WordCounter()}\n"
    )
    script = head + textwrap.dedent(code)
    ran = subprocess.run([*prefix, sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def _as_ordinary_user() -> list[str]:
    """Return what to put before a command so that permissions hold for it, even when root runs the tests."""
    return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []


def _on_small_disk(tmp_path: Path) -> list[str]:
    """Return what to put before a command so that ``tmp_path/disk`` is a disk of one megabyte for it."""
    mounted = tmp_path / "disk"
    mounted.mkdir()
    script = f'mount -t tmpfs -o size=1m none "{mounted}" && exec "$@"'
    prefix = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "sh", "-c", script, "sh"]
    if not shutil.which("unshare") or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine does not let a test mount a small disk")
    return prefix
