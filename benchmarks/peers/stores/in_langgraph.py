from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langmem import create_manage_memory_tool, create_search_memory_tool
from work import Turn

from .contract import CannotError, Found, Store
from .in_langchain import Adapted

NAMESPACE = ("memories", "{langgraph_user_id}")


class WithTools(Store):
    """langmem's two tools, as an agent calls them; users by the namespace.

    A memory is named by the tool, so that its row goes into its text, and is not embedded. ``SqliteStore`` embeds
    questions as documents; here they are told apart, which is kinder.
    """

    documentation = "https://langchain-ai.github.io/langmem/guides/memory_tools/"
    _store: BaseStore
    _adapted: Adapted

    def _tools(self) -> None:
        self._manage = create_manage_memory_tool(NAMESPACE, store=self._store)
        self._search = create_search_memory_tool(NAMESPACE, store=self._store)
        self._ids: dict[str, str] = {}

    def add(self, turn: Turn) -> None:
        told = self._manage.invoke({"action": "create", "content": _content(turn)}, _config(turn.user))
        self._ids[turn.row] = str(told).rsplit(" ", 1)[1]

    def prepare(self, turns: Sequence[Turn]) -> None:
        for user in {turn.user for turn in turns}:
            for item in self._store.search(("memories", user), limit=1_000_000):
                self._ids[_row(item.value["content"])] = item.key

    def search(self, user: str, question: str, k: int) -> Found:
        with self._adapted.always("question"):
            found = json.loads(self._search.invoke({"query": question, "limit": k}, _config(user)))
        contents = [one["value"]["content"] for one in found]
        return [([_row(content)], content.partition("\n")[0]) for content in contents]

    def update(self, turn: Turn) -> None:
        asked = {"action": "update", "id": self._ids[turn.row], "content": _content(turn)}
        self._manage.invoke(asked, _config(turn.user))

    def delete(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            self._manage.invoke({"action": "delete", "id": self._ids[turn.row]}, _config(turn.user))

    def rows(self) -> list[str]:
        return [_row(item.value["content"]) for item in self._all()]

    def texts(self) -> dict[str, str]:
        contents = [item.value["content"] for item in self._all()]
        return {_row(content): content.partition("\n")[0] for content in contents}

    def _all(self) -> list[Any]:
        return list(self._store.search(("memories",), limit=1_000_000))


class InMemory(WithTools):
    __doc__ = WithTools.__doc__
    persistent = False

    def __init__(self, folder: Path, embedder: Any) -> None:
        self._adapted = WithoutRow(embedder)
        self._store = InMemoryStore(index={"dims": embedder.dim, "embed": self._adapted})
        self._tools()


class Sqlite(WithTools):
    __doc__ = WithTools.__doc__
    documentation = "https://reference.langchain.com/python/langgraph.store.sqlite/SqliteStore"

    def __init__(self, folder: Path, embedder: Any) -> None:
        try:
            from langgraph.store.sqlite import SqliteStore
        except ImportError as exc:
            raise CannotError(f"is not to be had here: {exc}") from exc
        self._adapted = WithoutRow(embedder)
        index: Any = {"dims": embedder.dim, "embed": self._adapted}
        self._context = SqliteStore.from_conn_string(str(folder / "store.sqlite"), index=index)
        self._store = self._context.__enter__()
        self._store.setup()
        self._tools()

    def close(self) -> None:
        self._context.__exit__(None, None, None)


class WithoutRow(Adapted):
    """Embeds what was said, not the row that stands below it."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return super().embed_documents([_said(text) for text in texts])


def _said(text: str) -> str:
    """Return the turn's text from what the store embeds: the value as JSON, or its content."""
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if isinstance(value, dict):
        value = value["content"]
    return str(value).partition("\n")[0]


def _content(turn: Turn) -> str:
    return f"{' '.join(turn.line.split())}\n{turn.row}"


def _row(content: str) -> str:
    return content.partition("\n")[2]


def _config(user: str) -> Any:
    return {"configurable": {"langgraph_user_id": user}}
