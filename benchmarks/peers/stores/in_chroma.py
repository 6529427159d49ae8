from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chromadb
from chromadb.config import Settings
from work import Turn

from .contract import Found, Store


class Chroma(Store):
    """``PersistentClient``: "it will be persisted to disk automatically"; users by a ``where`` on metadata."""

    documentation = "https://docs.trychroma.com/docs/run-chroma/clients#persistent-client"

    def __init__(self, folder: Path, embedder: Any) -> None:
        client = chromadb.PersistentClient(str(folder / "chroma"), settings=Settings(anonymized_telemetry=False))
        self._embedder = embedder
        self._collection = client.get_or_create_collection("turns", embedding_function=None)

    def add(self, turn: Turn) -> None:
        self.fill([turn])

    def fill(self, turns: Sequence[Turn]) -> None:
        for n in range(0, len(turns), 1_000):
            some = turns[n : n + 1_000]
            self._collection.add(
                ids=[turn.row for turn in some],
                documents=[turn.line for turn in some],
                embeddings=self._embedder.embed_documents([turn.line for turn in some]),
                metadatas=[
                    {"user": turn.user, "session": turn.session, "role": turn.role, "time": turn.time} for turn in some
                ],
            )

    def search(self, user: str, question: str, k: int) -> Found:
        found = self._collection.query(
            query_embeddings=[self._embedder.embed_query(question)], n_results=k, where={"user": user}
        )
        return [([id], text) for id, text in zip(found["ids"][0], (found["documents"] or [[]])[0], strict=True)]

    def update(self, turn: Turn) -> None:
        vectors = self._embedder.embed_documents([turn.line])
        self._collection.update(ids=[turn.row], documents=[turn.line], embeddings=vectors)

    def delete(self, turns: Sequence[Turn]) -> None:
        self._collection.delete(ids=[turn.row for turn in turns])

    def rows(self) -> list[str]:
        return list(self._collection.get(include=[])["ids"])

    def texts(self) -> dict[str, str]:
        found = self._collection.get(include=["documents"])
        return dict(zip(found["ids"], found["documents"] or [], strict=True))
