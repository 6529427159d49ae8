"""The two calls that most applications need, and what a dialogue may look like."""

from __future__ import annotations

import json
import shutil
import subprocess

import httpx
import pytest

pytest.importorskip("fastapi")

from siltstone import TieredMemory
from siltstone.errors import InvalidInputError
from siltstone.http.dialogue import parse

WRITE = {"dialogue_id": "session_002", "dialogue_text": "用户：我喜欢用 Python 写自动化脚本。\n助手：已记录。"}
QUESTION = {"question": "用户平时喜欢用什么语言", "top_k": 3}


def test_a_dialogue_is_written_and_answers_a_question(client: httpx.Client) -> None:
    """What was written is in the context and among the hits of the next question."""
    written = client.post("/memory/write", json=WRITE)
    asked = client.post("/memory/query", json=QUESTION)

    assert written.status_code == 200
    assert written.json()["status"] == "ok"
    assert written.json()["memory_id"] == "session_002"
    assert asked.status_code == 200
    assert "Python" in asked.json()["context"]
    assert 0 < asked.json()["tokens"] <= 2_000
    assert asked.json()["hits"][0]["record"]["text"] == "我喜欢用 Python 写自动化脚本。"


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_both_calls_work_from_curl(client: httpx.Client) -> None:
    """The calls of the README, typed into a shell."""
    answers = []
    for path, body in (("write", WRITE), ("query", QUESTION)):
        command = ["curl", "-sS", f"{client.base_url}/memory/{path}", "-H", "content-type: application/json", "-d"]
        done = subprocess.run([*command, json.dumps(body, ensure_ascii=False)], capture_output=True, check=True)
        answers.append(json.loads(done.stdout))

    assert answers[0]["status"] == "ok"
    assert "Python" in answers[1]["context"]


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("用户：你好\n助手：你好！", [("user", "你好"), ("assistant", "你好！")]),
        ("User: hi\nAssistant: hello", [("user", "hi"), ("assistant", "hello")]),
        ("user：hi\r\nASSISTANT : hello", [("user", "hi"), ("assistant", "hello")]),
        ("用户: 第一行\n第二行\n\n第四行\n助手：好", [("user", "第一行\n第二行\n\n第四行"), ("assistant", "好")]),
        ("I like tea.\nEspecially green.", [("user", "I like tea.\nEspecially green.")]),
        ("Earlier.\nAssistant: yes", [("user", "Earlier."), ("assistant", "yes")]),
        ("用户：\n助手：嗯", [("assistant", "嗯")]),
        ("He said user: nobody", [("user", "He said user: nobody")]),
        ("User: a\nUser: b", [("user", "a"), ("user", "b")]),
    ],
)
def test_a_dialogue_is_read_line_by_line(text: str, turns: list[tuple[str, str]]) -> None:
    """A speaker begins a turn, other lines go on with it; what has no speaker is the user's."""
    assert parse(text) == turns


@pytest.mark.parametrize("text", ["", " \n", "用户：\n助手： "])
def test_a_dialogue_without_words_is_refused(text: str) -> None:
    """Nothing said is nothing to store."""
    with pytest.raises(InvalidInputError, match="no words"):
        parse(text)


def test_what_is_written_belongs_to_the_user_who_is_named(client: httpx.Client, memory: TieredMemory) -> None:
    """``user_id`` says whose memory it is; nobody else finds it."""
    client.post("/memory/write", json={**WRITE, "user_id": "alice"})

    assert client.post("/memory/query", json={**QUESTION, "user_id": "bob"}).json()["hits"] == []
    assert len(memory.for_user("alice").messages("session_002")) == 2
    assert memory.messages("session_002") == []
