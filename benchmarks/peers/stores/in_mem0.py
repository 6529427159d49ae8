from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from work import Turn

from .contract import Found, Store
from .in_langchain import Adapted


class Mem0(Store):
    """``add(infer=False)``, which saves by itself; users by ``filters``.

    Embedder and language model are given through the documented provider ``langchain``; the latter is never called.
    That provider embeds what is stored as a question; here it is told apart, which is kinder.
    """

    provider = ""

    def __init__(self, folder: Path, embedder: Any) -> None:
        os.environ["MEM0_DIR"] = str(folder / "mem0")
        from langchain_core.language_models import FakeListChatModel
        from mem0 import Memory

        logging.getLogger("mem0").setLevel(logging.ERROR)
        self._adapted = Adapted(embedder)
        self._memory = Memory.from_config(
            {
                "vector_store": {"provider": self.provider, "config": self._config(folder, embedder.dim)},
                "embedder": {
                    "provider": "langchain",
                    "config": {"model": self._adapted, "embedding_dims": embedder.dim},
                },
                "llm": {"provider": "langchain", "config": {"model": FakeListChatModel(responses=["-"])}},
                "history_db_path": str(folder / "history.db"),
            }
        )
        self._ids: dict[str, str] = {}
        self._embedder = embedder

    def _config(self, folder: Path, dim: int) -> dict[str, Any]:
        raise NotImplementedError

    def add(self, turn: Turn) -> None:
        with self._adapted.always("document"):
            told = self._memory.add(turn.line, user_id=turn.user, infer=False, metadata=_about(turn))
        self._ids[turn.row] = told["results"][0]["id"]

    def fill(self, turns: Sequence[Turn]) -> None:
        """Insert into mem0's vector store, what ``add`` would have."""
        for n in range(0, len(turns), 1_000):
            some = turns[n : n + 1_000]
            payloads = [{"data": turn.line, "user_id": turn.user, **_about(turn)} for turn in some]
            vectors = [row.tolist() for row in self._embedder.embed_documents([turn.line for turn in some])]
            self._memory.vector_store.insert(vectors, payloads, [str(uuid.uuid4()) for _ in some])

    def prepare(self, turns: Sequence[Turn]) -> None:
        for user in {turn.user for turn in turns}:
            for one in self._memory.get_all(filters={"user_id": user}, top_k=1_000_000)["results"]:
                self._ids[one["metadata"]["row"]] = one["id"]

    def search(self, user: str, question: str, k: int) -> Found:
        found = self._memory.search(question, filters={"user_id": user}, top_k=k)["results"]
        return [([one["metadata"]["row"]], one["memory"]) for one in found]

    def update(self, turn: Turn) -> None:
        with self._adapted.always("document"):
            self._memory.update(self._ids[turn.row], turn.line)

    def delete(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            self._memory.delete(self._ids[turn.row])

    def rows(self) -> list[str]:
        return [one["metadata"]["row"] for one in self._all()]

    def texts(self) -> dict[str, str]:
        return {one["metadata"]["row"]: one["memory"] for one in self._all()}

    def _all(self) -> Iterator[Any]:
        for number in range(100):
            yield from self._memory.get_all(filters={"user_id": f"user-{number:03}"}, top_k=1_000_000)["results"]


class Mem0Faiss(Mem0):
    __doc__ = Mem0.__doc__
    documentation = "https://docs.mem0.ai/components/vectordbs/dbs/faiss"
    provider = "faiss"

    def _config(self, folder: Path, dim: int) -> dict[str, Any]:
        path = str(folder / "faiss")
        return {"collection_name": "t", "path": path, "embedding_model_dims": dim, "distance_strategy": "cosine"}


class Mem0Chroma(Mem0):
    __doc__ = Mem0.__doc__
    documentation = "https://docs.mem0.ai/components/vectordbs/dbs/chroma"
    provider = "chroma"

    def _config(self, folder: Path, dim: int) -> dict[str, Any]:
        return {"collection_name": "turns", "path": str(folder / "chroma")}


def _about(turn: Turn) -> dict[str, str]:
    return {"row": turn.row, "session": turn.session, "time": turn.time}
