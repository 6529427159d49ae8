"""Where the baselines keep what they know: a file of JSON lines per user, synced before a write returns."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ...protocols import Floats


class Shelf:
    """JSON values of each user, in order. Read when the user is first asked for, then held in memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[str, list[Any]] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def values(self, user_id: str) -> list[Any]:
        """Return what is kept of a user."""
        if user_id not in self._held:
            path = self._path(user_id)
            lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
            self._held[user_id] = [json.loads(line) for line in lines]
        return self._held[user_id]

    def append(self, user_id: str, values: Iterable[Any]) -> None:
        """Keep further values; on disk when it returns."""
        fresh = list(values)
        self.values(user_id).extend(fresh)
        with self._path(user_id).open("a", encoding="utf-8") as file:
            _write(file, fresh)

    def replace(self, user_id: str, values: Iterable[Any]) -> None:
        """Keep these values instead of those before; on disk when it returns."""
        self._held[user_id] = list(values)
        path = self._path(user_id)
        with path.with_suffix(".new").open("w", encoding="utf-8") as file:
            _write(file, self._held[user_id])
        os.replace(path.with_suffix(".new"), path)

    def _path(self, user_id: str) -> Path:
        return self._folder / f"{hashlib.sha256(user_id.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}.jsonl"


def _write(file: Any, values: Iterable[Any]) -> None:
    for value in values:
        file.write(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n")
    file.flush()
    os.fsync(file.fileno())


def to_text(vector: Floats) -> str:
    """Return a vector as text, in half precision as our own store keeps them."""
    return base64.b64encode(vector.astype(np.float16).tobytes()).decode()


def to_matrix(texts: Iterable[str]) -> Floats:
    """Return the vectors of texts as rows, ``(n, dim)``."""
    return np.stack([np.frombuffer(base64.b64decode(text), np.float16) for text in texts]).astype(np.float32)
