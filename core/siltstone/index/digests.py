"""A set of hexadecimal digests that only grows, at 12 bytes each: a set of strings takes ten times as much."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

DIGEST_SIZE: Final = 12
"""Bytes of a digest."""
Packed: TypeAlias = npt.NDArray[np.bytes_]
"""Digests, ascending, ``(n,)``; may be mapped from a file."""
_WHOLE: Final = re.compile(rf"[0-9a-f]{{{2 * DIGEST_SIZE}}}")
_LEAST_RECENT: Final = 256
"""Digests that are kept as they came before they are packed; an eighth of the packed ones, where these are many."""


class Digests(Collection[str]):
    """Strings, of which those that are digests are packed. One writer; readers need no lock."""

    def __init__(self, digests: Iterable[str] = (), packed: Packed | None = None) -> None:
        self._packed = np.empty(0, f"S{DIGEST_SIZE}") if packed is None else packed
        self._recent: set[str] = set()
        self.update(digests)

    def __contains__(self, digest: object) -> bool:
        if digest in self._recent:
            return True
        return isinstance(digest, str) and _WHOLE.fullmatch(digest) is not None and self._holds(digest)

    def __iter__(self) -> Iterator[str]:
        recent, packed = list(self._recent), self._packed
        yield from recent
        yield from (packed[at : at + 1].tobytes().hex() for at in range(len(packed)))

    def __len__(self) -> int:
        return len(self._packed) + len(self._recent)

    def update(self, digests: Iterable[str]) -> None:
        """Add digests. O(new ones), amortised."""
        self._recent.update(digest for digest in digests if digest not in self)
        if len(self._recent) > max(_LEAST_RECENT, len(self._packed) // 8):
            self._pack()

    def parts(self) -> tuple[Packed, tuple[str, ...]]:
        """Return all of them: the digests, packed, and strings that are none, in order."""
        self._pack()
        return self._packed, tuple(sorted(self._recent))

    def _holds(self, digest: str) -> bool:
        packed = self._packed
        wanted = np.frombuffer(bytes.fromhex(digest), packed.dtype)
        at = int(np.searchsorted(packed, wanted)[0])
        return at < len(packed) and bool(packed[at] == wanted[0])

    def _pack(self) -> None:
        new = [digest for digest in self._recent if _WHOLE.fullmatch(digest)]
        if new:
            packed = np.frombuffer(bytes.fromhex("".join(new)), self._packed.dtype)
            self._packed = np.sort(np.concatenate([self._packed, packed]))
            self._recent = self._recent.difference(new)  # a reader sees each in the one or the other, or in both
