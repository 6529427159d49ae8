"""A LangChain ``FileChatMessageHistory`` becomes a session; a pickle is refused.

``files/langchain_history.json`` was written by langchain-community 0.4.2 (``FileChatMessageHistory.add_messages``).
"""

from __future__ import annotations

import dataclasses
import json
import os
import pickle
import shutil
from datetime import datetime, timezone
from pathlib import Path

import pytest

from siltstone import InvalidInputError, TieredMemory
from siltstone.importers.langchain import to_message
from siltstone.testing import HashEmbedder, WordCounter
from siltstone.text.guard import PREAMBLES, fence

FILE = Path(__file__).parent / "files" / "langchain_history.json"


@pytest.fixture
def memory() -> TieredMemory:
    """An empty memory."""
    return TieredMemory.open(":memory:", embedder=HashEmbedder(), token_counter=WordCounter())


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """The stored file, as a program's own under its session's name."""
    return Path(shutil.copy(FILE, tmp_path / "星期一.json"))


def test_a_history_file_becomes_a_session(memory: TieredMemory, history: Path) -> None:
    """Roles, names, ids, calls, parts that are no text and metadata are kept; it was said when the file was written."""
    os.utime(history, (1_700_000_000, 1_700_000_000))
    report = memory.import_from(history)
    assert (report.format, report.read, report.added, report.failed) == ("langchain", 6, 6, 0)
    messages = memory.messages("星期一")
    assert [message.role for message in messages] == ["user", "assistant", "tool", "user", "system", "assistant"]
    first, call, result, picture, *_ = messages
    assert (first.id, first.name, first.content) == ("h1", "小林", "我叫小林，住在杭州 🌊")
    assert first.created_at == datetime.fromtimestamp(1_700_000_000, timezone.utc)
    assert call.id == "星期一#2"
    assert call.metadata is not None
    assert call.metadata["tool_calls"] == [
        {"name": "save", "args": {"city": "杭州"}, "id": "call_1", "type": "tool_call"}
    ]
    assert call.metadata["langchain"]["usage_metadata"]["total_tokens"] == 3
    assert (result.metadata or {})["tool_call_id"] == "call_1"
    assert picture.content == "what is in this picture?"
    assert (picture.metadata or {})["langchain"]["content"][1]["type"] == "image_url"
    assert memory.search("小林住在哪里？")[0].record.id == "turn:h1"


def test_a_history_that_has_grown_or_changed_is_imported_again(memory: TieredMemory, history: Path) -> None:
    """What is new is added, what is another text now is updated, and the rest stays."""
    memory.import_from(history)
    assert memory.import_from(history).unchanged == 6
    values = json.loads(history.read_text(encoding="utf-8"))
    values[0]["data"]["content"] = "我住在上海"
    values.append({"type": "human", "data": {"content": "And now?"}})
    history.write_text(json.dumps(values))
    report = memory.import_from(history)
    assert (report.added, report.updated, report.unchanged) == (1, 1, 5)
    assert memory.messages("星期一")[0].content == "我住在上海"
    assert len(memory.history("turn:h1")) == 1


def test_what_was_forgotten_of_a_history_stays_forgotten(memory: TieredMemory, history: Path) -> None:
    """A session that is forgotten is skipped when its file is imported again."""
    memory.import_from(history)
    memory.forget(session_id="星期一")
    report = memory.import_from(history)
    assert (report.skipped, report.added) == (6, 0)
    assert memory.sessions() == []


def test_messages_that_cannot_be_read_are_named(memory: TieredMemory, tmp_path: Path) -> None:
    """Each is a failure with its place; NaN and lone surrogates, which Python's JSON knows, are no reason to fail."""
    bad = [
        '{"type": "human", "data": {"content": "fine \\ud83d", "additional_kwargs": {"n": NaN}}}',
        '{"type": "remove", "data": {"content": "", "id": "x"}}',
        '{"type": "human", "data": {"content": 5}}',
        "7",
    ]
    file = tmp_path / "s.json"
    file.write_text(f"[{', '.join(bad)}]")
    report = memory.import_from(file)
    assert (report.added, report.failed) == (1, 3)
    assert [problem.where for problem in report.problems] == ["message 2", "message 3", "message 4"]
    assert memory.messages("s")[0].content == "fine \ufffd"
    file.write_text('[{"type": "human", "data": {"content": "cut o')
    (problem,) = memory.import_from(file).problems
    assert "cut off" in problem.reason


def test_what_siltstone_injected_is_not_taken_for_somebodys_words(memory: TieredMemory, tmp_path: Path) -> None:
    """A history in which recalled memories stand keeps the words around them."""
    fenced = fence(f"{PREAMBLES[0]}\nx")
    (tmp_path / "s.json").write_text(json.dumps([{"type": "human", "data": {"content": f"{fenced}\n\nMy question"}}]))
    memory.import_from(tmp_path / "s.json")
    assert memory.messages("s")[0].content == "My question"


def test_pickles_are_never_opened(memory: TieredMemory, tmp_path: Path) -> None:
    """A FAISS folder of LangChain and a bare pickle are refused with the way to go; their code does not run."""

    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return (os.mkdir, (str(tmp_path / "run"),))

    folder = tmp_path / "faiss"
    folder.mkdir()
    (folder / "index.faiss").write_bytes(b"IxFI")
    (folder / "index.pkl").write_bytes(pickle.dumps(Trap()))
    for source in (folder, folder / "index.pkl"):
        with pytest.raises(InvalidInputError, match=r"never does.*load_local"):
            memory.import_from(source)
    assert not (tmp_path / "run").exists()


def test_the_reader_and_the_adapter_agree() -> None:
    """A message read from a file is what ``langchain_siltstone`` stores of the same message."""
    pytest.importorskip("langchain_core")
    from langchain_core.messages import (
        AIMessage,
        AIMessageChunk,
        BaseMessage,
        ChatMessage,
        FunctionMessage,
        HumanMessage,
        SystemMessage,
        ToolMessage,
        messages_from_dict,
        messages_to_dict,
    )

    from langchain_siltstone.messages import to_message as adapted

    messages: list[BaseMessage] = [
        *messages_from_dict(json.loads(FILE.read_text(encoding="utf-8"))),
        HumanMessage("你好", name="李雷", additional_kwargs={"ts": 1}),
        AIMessage("", tool_calls=[{"name": "f", "args": {"a": [1]}, "id": "c"}], id="ai"),
        AIMessage(["part one", {"type": "text", "text": "part two"}, {"type": "reasoning", "reasoning": "hm"}]),
        AIMessageChunk("streamed"),
        ToolMessage("failed", tool_call_id="c", status="error", artifact={"rows": 3}),
        SystemMessage("Be kind."),
        FunctionMessage("42", name="f"),
        ChatMessage("as the user", role="user"),
        ChatMessage("as somebody", role="critic"),
    ]
    for message, value in zip(messages, json.loads(json.dumps(messages_to_dict(messages))), strict=True):
        expected = adapted(message)
        found = to_message(value, "s", expected.id or "")
        assert dataclasses.replace(found, session_id=None) == expected
