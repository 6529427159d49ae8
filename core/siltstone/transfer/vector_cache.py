"""A file of vectors by the hash of their text, so that a text is embedded once, on whatever machine.

::

    {"format": "siltstone-vectors", "version": 1, "name": …, "dim": …, "engine": …, "probe": […]}
    blake2b of the text (32 bytes), vector (float32, little-endian), CRC-32 of both; and so on

It holds no words. But whoever has it can tell whether a guessed text is in it, and vectors give away much of what
their texts are about: it is a copy derived of them. So it lies where the user says, never in the store, of which
``forget`` must be able to vouch; ``forget`` does not reach it.
"""

from __future__ import annotations

import fcntl
import os
import zlib
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import orjson

from ..errors import ConfigurationError, EmbedderMismatchError
from ..models.fingerprint import fingerprint_of
from ..protocols import Embedder, Fingerprint, Floats
from .written import check_outside, write_all

FORMAT: Final = "siltstone-vectors"
VERSION: Final = 1
ENDING: Final = ".vectors"

_HASH: Final = 32
_LONGEST_HEADER: Final = 1 << 20
_MERGE: Final = 65_536


class VectorCache:
    """The vectors of one embedding space in one file, which is made where there is none.

    A torn end is cut off, a row that does not check is no row. One process has it at a time. 24 bytes of memory a row.
    Raises ``EmbedderMismatchError`` where it is of another space than the embedder's, and ``ConfigurationError`` for a
    file that is something else, or lies in the folder ``inside``.
    """

    def __init__(self, path: str | os.PathLike[str], embedder: Embedder, *, inside: str | None = None) -> None:
        self.path = os.fspath(path)
        if inside is not None:
            check_outside(self.path, inside)
        self._embedder = embedder
        self._fd = _opened(self.path)
        try:
            space = fingerprint_of(embedder)
            self._start = self._begin(space)
            self._row = np.dtype([("hash", np.uint8, _HASH), ("vector", "<f4", space.dim), ("crc", "<u4")])
            self._count = (os.fstat(self._fd).st_size - self._start) // self._row.itemsize
            os.ftruncate(self._fd, self._start + self._count * self._row.itemsize)
        except BaseException:
            os.close(self._fd)
            raise
        self._new: dict[int, int] = {}
        self._index()

    def __len__(self) -> int:
        return self._count

    def close(self) -> None:
        """Close the file, all of it on disk."""
        os.fsync(self._fd)
        os.close(self._fd)

    def rows(self, texts: Sequence[str], *, batch: int) -> tuple[Floats, int]:
        """Return the vectors of texts, ``(n, dim)``, and how many of them had to be embedded; these are kept.

        Raises what the embedder raises; what was embedded before is kept then.
        """
        made = np.empty((len(texts), self._embedder.dim), np.float32)
        missing: dict[str, list[int]] = {}
        for at, text in enumerate(texts):
            vector = self.get(text)
            if vector is None:
                missing.setdefault(text, []).append(at)
            else:
                made[at] = vector
        wanted = list(missing)
        for start in range(0, len(wanted), batch):
            several = wanted[start : start + batch]
            vectors = self._embedder.embed_documents(several)
            self.put(several, vectors)
            for text, vector in zip(several, vectors, strict=True):
                made[missing[text]] = vector
        return made, len(wanted)

    def get(self, text: str) -> Floats | None:
        """Return the vector of a text, if it is there."""
        digest = _digest(text)
        for row in self._rows_of(int.from_bytes(digest[:8], "little")):
            data = os.pread(self._fd, self._row.itemsize, self._start + row * self._row.itemsize)
            if data[:_HASH] == digest and zlib.crc32(data[:-4]) == int.from_bytes(data[-4:], "little"):
                return np.frombuffer(data, "<f4", self._embedder.dim, _HASH).astype(np.float32)
        return None

    def put(self, texts: Sequence[str], vectors: Floats) -> None:
        """Add texts with their vectors."""
        data = bytearray()
        for text, vector in zip(texts, vectors, strict=True):
            digest = _digest(text)
            row = digest + np.asarray(vector, "<f4").tobytes()
            data += row + zlib.crc32(row).to_bytes(4, "little")
            self._new[int.from_bytes(digest[:8], "little")] = self._count
            self._count += 1
        write_all(self._fd, data)
        if len(self._new) >= _MERGE:
            self._index()

    def _begin(self, space: Fingerprint) -> int:
        """Read the header, or write one; return where the rows begin."""
        head = os.pread(self._fd, _LONGEST_HEADER, 0)
        line, end, _ = head.partition(b"\n")
        if not end:
            if head and not head.startswith(b'{"format":"siltstone-vectors"'):
                raise ConfigurationError(f"{self.path} is no file of vectors: nothing was done")
            told = {"name": space.name, "dim": space.dim, "engine": space.engine, "probe": space.probe}
            made = orjson.dumps({"format": FORMAT, "version": VERSION, **told}) + b"\n"
            os.ftruncate(self._fd, 0)
            write_all(self._fd, made)
            return len(made)
        known = _space(line, self.path)
        if not known.same_space(space):
            raise EmbedderMismatchError(
                f"{self.path} holds vectors of {known.name!r} ({known.dim}-d), and the embedder is {space.name!r} "
                f"({space.dim}-d): nothing was done; name another file (--vectors), or use the same embedder"
            )
        return len(line) + 1

    def _index(self) -> None:
        """Sort the rows by the beginnings of their hashes."""
        self._new.clear()
        if not self._count:
            self._keys: npt.NDArray[np.uint64] = np.empty(0, np.uint64)
            self._order: npt.NDArray[np.int64] = np.empty(0, np.int64)
            return
        file: Any = np.memmap(self.path, self._row, "r", self._start, (self._count,))
        keys = np.ascontiguousarray(file["hash"][:, :8]).view("<u8").ravel()
        del file
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]

    def _rows_of(self, key: int) -> list[int]:
        found = [self._new[key]] if key in self._new else []
        at = int(np.searchsorted(self._keys, np.uint64(key)))
        while at < len(self._keys) and int(self._keys[at]) == key:
            found.append(int(self._order[at]))
            at += 1
        return found


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH).digest()


def _opened(path: str) -> int:
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as exc:
        raise ConfigurationError(
            f"the file of vectors {path} cannot be opened ({exc.strerror}): nothing was done"
        ) from exc
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as exc:
        os.close(fd)
        raise ConfigurationError(f"{path} is in use by another process: nothing was done; try again later") from exc
    return fd


def _space(line: bytes, path: str) -> Fingerprint:
    try:
        value = orjson.loads(line)
        if value["format"] != FORMAT or value["version"] != VERSION:
            raise ValueError
        return Fingerprint(str(value["name"]), int(value["dim"]), str(value["engine"]), tuple(value["probe"]))
    except (ValueError, KeyError, TypeError) as exc:
        raise ConfigurationError(f"{path} is no file of vectors of version {VERSION}: nothing was done") from exc
