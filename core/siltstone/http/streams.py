"""Bytes that come and go as a stream, in little memory, between the event loop and the threads that work."""

from __future__ import annotations

import asyncio
import io
import queue
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import closing, suppress
from typing import Any, Final

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from starlette.concurrency import iterate_in_threadpool, run_in_threadpool

from ..wire import NDJSON

_CHUNK: Final = 65_536
_LOOK: Final = 0.5
"""Seconds between two looks whether anybody still waits."""
_AHEAD: Final = 8
"""Chunks that are made before they are sent."""


async def streamed(
    lines: Generator[bytes, None, None], media_type: str = NDJSON, headers: dict[str, str] | None = None
) -> Response:
    """Return an answer that is made while it is sent. What is raised before its first bytes is raised here."""
    chunks = _chunks(lines)
    first = await run_in_threadpool(next, chunks, b"")

    async def sent() -> AsyncIterator[bytes]:
        try:
            yield first
            async for chunk in iterate_in_threadpool(chunks):
                yield chunk
        finally:
            await run_in_threadpool(chunks.close)

    return StreamingResponse(sent(), media_type=media_type, headers=headers)


def _chunks(lines: Generator[bytes, None, None]) -> Generator[bytes, None, None]:
    """Yield what ``lines`` does in pieces that are worth sending."""
    waiting, size = [], 0
    with closing(lines):
        for line in lines:
            waiting.append(line)
            size += len(line)
            if size >= _CHUNK:
                yield b"".join(waiting)
                waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)


def written_by(write_all: Callable[[Any], object]) -> Generator[bytes, None, None]:
    """Yield what ``write_all`` writes into the file that it is given, in a thread of its own.

    A reader that stops has the writer stop, with a ``BrokenPipeError``; what the writer raises is raised here.
    """
    pipe = _Pipe()

    def work() -> None:
        try:
            write_all(pipe)
            pipe.end(None)
        except BaseException as exc:
            pipe.end(exc)

    threading.Thread(target=work, name="siltstone-stream", daemon=True).start()
    try:
        yield from pipe.chunks()
    finally:
        pipe.stop()


class _Pipe:
    """A file that one thread writes and another reads."""

    def __init__(self) -> None:
        self._queue: queue.Queue[bytes | BaseException | None] = queue.Queue(_AHEAD)
        self._stopped = threading.Event()

    def write(self, data: bytes) -> int:
        """Wait until there is room; ``BrokenPipeError`` once nobody reads any more."""
        self._put(data)
        return len(data)

    def end(self, error: BaseException | None) -> None:
        """Say that nothing more comes, and why."""
        with suppress(BrokenPipeError):
            self._put(error)

    def stop(self) -> None:
        """Say that nobody reads any more."""
        self._stopped.set()

    def chunks(self) -> Iterator[bytes]:
        """Yield what is written until its end."""
        while not (isinstance(found := self._queue.get(), BaseException) or found is None):
            yield found
        if found is not None:
            raise found

    def _put(self, item: bytes | BaseException | None) -> None:
        while not self._stopped.is_set():
            try:
                self._queue.put(item, timeout=0.5)
                return
            except queue.Full:
                continue
        raise BrokenPipeError("nobody reads any more")


class Incoming(io.RawIOBase):
    """The body of a request as a file, to be read once, in another thread than the event loop's."""

    def __init__(self, request: Request, name: str | None = None) -> None:
        self._chunks: AsyncIterator[bytes] = request.stream()
        self._loop = asyncio.get_running_loop()
        self._ready = b""
        self._given_up = False
        self.name = name or "<the body>"

    def readable(self) -> bool:
        """It can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what has come, or wait for it; 0 at the end."""
        while not self._ready:
            chunk = self._awaited(asyncio.run_coroutine_threadsafe(_next(self._chunks), self._loop))
            if chunk is None:
                return 0
            self._ready = chunk
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def give_up(self) -> None:
        """Have whoever reads stop with a ``BrokenPipeError``: nobody waits for what comes of it."""
        self._given_up = True

    def _awaited(self, coming: Future[bytes | None]) -> bytes | None:
        while not self._given_up:
            try:
                return coming.result(timeout=_LOOK)
            except FutureTimeout:
                if coming.done():
                    raise
        coming.cancel()
        raise BrokenPipeError("the request was given up")


async def _next(chunks: AsyncIterator[bytes]) -> bytes | None:
    async for chunk in chunks:
        return chunk
    return None
