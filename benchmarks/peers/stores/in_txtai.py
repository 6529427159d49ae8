from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from txtai import Embeddings
from work import Turn

from .contract import Found, Store

FOUND = "select id, text, score from txtai where similar(:question, :candidates) and user = :user limit :k"


class Txtai(Store):
    """``save`` after each ``upsert`` and ``delete``, ``load`` to open; users by a ``where`` over the content.

    The index proposes candidates of all users before ``where`` is looked at, so they are all rows here.
    """

    documentation = "https://neuml.github.io/txtai/embeddings/indexing/"

    def __init__(self, folder: Path, embedder: Any) -> None:
        def transform(texts: list[str]) -> Any:
            questions = [text.removeprefix("query: ") for text in texts if text.startswith("query: ")]
            if questions:
                return [embedder.embed_query(text) for text in questions]
            return embedder.embed_documents([text.removeprefix("passage: ") for text in texts])

        self._path = str(folder / "index")
        self._config = {
            "method": "external",
            "transform": transform,
            "instructions": {"query": "query: ", "data": "passage: "},
            "content": True,
        }
        self._embeddings = Embeddings(self._config)
        if Path(self._path).exists():
            self._embeddings.load(self._path, config={"transform": transform})

    def add(self, turn: Turn) -> None:
        self.fill([turn])

    def fill(self, turns: Sequence[Turn]) -> None:
        self._embeddings.upsert(
            (turn.row, {"text": turn.line, "user": turn.user, "session": turn.session, "time": turn.time}, None)
            for turn in turns
        )
        self._embeddings.save(self._path)

    def search(self, user: str, question: str, k: int) -> Found:
        asked = {"question": question, "candidates": self._embeddings.count(), "user": user, "k": k}
        return [([one["id"]], one["text"]) for one in self._embeddings.search(FOUND, parameters=asked)]

    def update(self, turn: Turn) -> None:
        self.fill([turn])

    def delete(self, turns: Sequence[Turn]) -> None:
        self._embeddings.delete([turn.row for turn in turns])
        self._embeddings.save(self._path)

    def rows(self) -> list[str]:
        return [one["id"] for one in self._embeddings.search("select id from txtai", limit=10_000_000)]

    def close(self) -> None:
        self._embeddings.close()
