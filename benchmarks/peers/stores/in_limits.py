from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from work import Turn

from .contract import Found, Store


class Bare(Store):
    """What the work takes by itself: JSON and float16 vectors appended and synced, and a flat index for each user.

    It checks nothing, survives no half-written line, and keeps deleted texts in its file.
    """

    documentation = "os.fdatasync, faiss.IndexFlatIP"

    def __init__(self, folder: Path, embedder: Any) -> None:
        self._embedder = embedder
        self._texts: dict[str, str] = {}
        self._index: dict[str, Any] = {}
        self._names: dict[str, list[str]] = {}
        path = folder / "lines.jsonl"
        if path.exists():
            lines = [json.loads(line) for line in path.read_bytes().splitlines()]
            halves = np.fromfile(folder / "vectors.f16", np.float16).reshape(-1, embedder.dim).astype(np.float32)
            for line in lines:
                self._apply(line, halves[line["at"]] if line["at"] >= 0 else None)
            self._vectors = len(halves)
        else:
            self._vectors = 0
        self._lines = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        self._halves = os.open(folder / "vectors.f16", os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def add(self, turn: Turn) -> None:
        vector = self._embedder.embed_documents([turn.line])[0]
        os.write(self._halves, vector.astype(np.float16).tobytes())
        self._write([{"row": turn.row, "user": turn.user, "text": turn.line, "at": self._vectors}], vector)
        self._vectors += 1

    def update(self, turn: Turn) -> None:
        self.add(turn)

    def delete(self, turns: Sequence[Turn]) -> None:
        self._write([{"row": turn.row, "user": turn.user, "text": None, "at": -1} for turn in turns], None)

    def _write(self, lines: list[dict[str, Any]], vector: Any) -> None:
        os.write(self._lines, "".join(json.dumps(line) + "\n" for line in lines).encode())
        os.fdatasync(self._lines)
        for line in lines:
            self._apply(line, vector)

    def _apply(self, line: dict[str, Any], vector: Any) -> None:
        user, row = line["user"], line["row"]
        if vector is None:
            self._texts.pop(row, None)
            return
        if user not in self._index:
            self._index[user], self._names[user] = faiss.IndexFlatIP(self._embedder.dim), []
        self._index[user].add(vector[None].astype(np.float32))
        self._names[user].append(row)
        self._texts[row] = line["text"]

    def search(self, user: str, question: str, k: int) -> Found:
        best = self._index[user].search(self._embedder.embed_query(question)[None], k)[1][0]
        rows = [self._names[user][n] for n in best if n >= 0]
        return [([row], self._texts[row]) for row in rows if row in self._texts]

    def rows(self) -> list[str]:
        return list(self._texts)

    def texts(self) -> dict[str, str]:
        return self._texts

    def close(self) -> None:
        os.close(self._lines)
        os.close(self._halves)
