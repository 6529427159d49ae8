"""Memories move in and out as streams: whole, in little memory, and safe to try again."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

pytest.importorskip("fastapi")

from siltstone import TieredMemory
from siltstone.http.limits import Limits
from siltstone.http.streams import written_by
from siltstone.records import ImportReport
from siltstone.wire import read

TALK = [("user", "I'm Alice."), ("assistant", "Hello, Alice!"), ("user", "我住在里斯本。")]


def test_an_export_is_imported_elsewhere(client: httpx.Client, memory: TieredMemory) -> None:
    """What ``/export`` streams, ``/import`` takes: ids, times and versions are the same; twice changes nothing."""
    memory.add(TALK, session_id="monday")
    id = memory.remember("Paints.", kind="profile")
    memory.update(id, text="Paints with oil.")

    exported = client.get("/memory/export")
    to = {"user_id": "copy"}
    dry = read(
        ImportReport, client.post("/memory/import", params=to | {"dry_run": "true"}, content=exported.content).json()
    )
    first, second = (
        read(ImportReport, client.post("/memory/import", params=to, content=exported.content).json()) for _ in range(2)
    )

    assert exported.headers["content-type"] == "application/x-ndjson"
    assert exported.headers["content-disposition"].startswith("attachment")
    assert json.loads(exported.text.splitlines()[-1]) == {"end": 4}
    assert (dry.added, dry.dry_run) == (4, True)
    assert (first.added, second.added, second.unchanged) == (4, 0, 4)
    copy = memory.for_user("copy")
    assert [m.content for m in copy.messages("monday")] == [content for _, content in TALK]
    assert [version.text for version in copy.history(id)] == ["Paints."]


def test_an_import_is_read_as_it_comes(client: httpx.Client, memory: TieredMemory) -> None:
    """The body may come in pieces of any size, torn anywhere."""
    memory.add([("user", f"第 {n} 句 said.") for n in range(2_000)], session_id="long")
    data = client.get("/memory/export").content

    def pieces() -> Iterator[bytes]:
        for start in range(0, len(data), 997):
            yield data[start : start + 997]

    report = read(ImportReport, client.post("/memory/import", params={"user_id": "copy"}, content=pieces()).json())

    assert (report.added, report.failed) == (2_000, 0)


def test_an_import_that_was_cut_off_goes_on(client: httpx.Client, memory: TieredMemory) -> None:
    """A client that goes away in the middle: what came whole is there, and sent again, the rest comes."""
    memory.add([("user", f"sentence {n}") for n in range(1_500)], session_id="long")
    data = client.get("/memory/export").content

    def broken() -> Iterator[bytes]:
        yield data[: len(data) * 2 // 3]
        raise ConnectionError("the client's network is gone")

    with pytest.raises(ConnectionError):
        client.post("/memory/import", params={"user_id": "copy"}, content=broken())
    report = read(ImportReport, client.post("/memory/import", params={"user_id": "copy"}, content=data).json())

    assert report.added + report.unchanged == 1_500
    assert len(memory.for_user("copy").messages("long")) == 1_500


@pytest.mark.parametrize(
    "content", [b"", b"\x00\x01", b"{}", b"[" * 100_000, b"\x1f\x8b gzip", "plain".encode("utf-16")]
)
def test_what_is_no_known_format_is_refused(client: httpx.Client, memory: TieredMemory, content: bytes) -> None:
    """Anything else is 422 with the formats that are known, and nothing is stored."""
    before = memory.revision
    answer = client.post("/memory/import", content=content)

    assert answer.status_code == 422, answer.text
    assert answer.json()["detail"]
    assert memory.revision == before


def test_an_import_may_not_read_the_servers_files(client: httpx.Client, tmp_path: Path) -> None:
    """The body is the file: no parameter, and nothing in it, names a path to be read."""
    (tmp_path / "secret.jsonl").write_text("secret")
    for format in ("siltstone", "/etc/passwd", str(tmp_path / "secret.jsonl"), "../secret"):
        answer = client.post("/memory/import", params={"format": format}, content=str(tmp_path / "secret.jsonl"))
        assert answer.status_code == 422
        assert "root:" not in answer.text


def test_a_reader_that_goes_away_ends_the_export(serve: Callable[..., httpx.Client], memory: TieredMemory) -> None:
    """An export that nobody reads any more stops, and gives its place free."""
    memory.add([("user", f"{n} " + "words " * 2_000) for n in range(1_000)], session_id="long")
    client = serve(memory, limits=Limits(concurrency=1))

    for _ in range(3):
        with client.stream("GET", "/memory/export") as answer:
            next(answer.iter_raw())
    while (answer := client.get("/memory/revision")).status_code == 429:
        pass

    assert answer.status_code == 200
    assert len(client.get("/memory/export").text.splitlines()) == 1_002


def test_what_the_writer_raises_reaches_the_reader() -> None:
    """A stream whose writer fails ends with its error, not as if it were whole; one that is closed stops its writer."""

    def fails(file: object) -> None:
        file.write(b"one")  # type: ignore[attr-defined]
        raise ValueError("no more")

    stopped = threading.Event()

    def endless(file: object) -> None:
        try:
            while True:
                file.write(b"more")  # type: ignore[attr-defined]
        except BrokenPipeError:
            stopped.set()

    stream = written_by(fails)
    assert next(stream) == b"one"
    with pytest.raises(ValueError, match="no more"):
        next(stream)
    stream = written_by(endless)
    next(stream)
    stream.close()
    assert stopped.wait(60)
