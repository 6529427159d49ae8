"""Every verb of a memory has a route, and what it answers is what the verb returns."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote

import httpx
import pytest

pytest.importorskip("fastapi")

from siltstone import Message, Record, TieredMemory
from siltstone.records import ConsolidationReport, Context, ForgetReport, Hit, SessionInfo, Stats
from siltstone.wire import read, read_item

TALK = [{"role": "user", "content": "I'm Alice, I live in Lisbon."}, {"role": "assistant", "content": "Hello, Alice!"}]
ODD = "a/b c?d#e%2F/../😀;x=1&y"


def post(client: httpx.Client, path: str, **body: Any) -> Any:
    """Return what a route answers."""
    answer = client.post(f"/memory/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def get(client: httpx.Client, path: str, **query: Any) -> Any:
    """Return what a route answers."""
    answer = client.get(f"/memory/{path}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_messages_are_added_and_read(client: httpx.Client, memory: TieredMemory) -> None:
    """``add``, ``messages``, ``window`` and ``sessions``."""
    ids = post(client, "messages", session_id="monday", messages=TALK, created_at="2026-05-08T09:30:00+08:00")["ids"]
    told = [read(Message, one) for one in get(client, "sessions/monday/messages")["messages"]]

    assert told == memory.messages("monday")
    assert [message.id for message in told] == ids
    assert told[0].created_at == datetime(2026, 5, 8, 1, 30, tzinfo=timezone.utc)
    assert get(client, "sessions/monday/messages", limit=1)["messages"][0]["id"] == ids[1]
    assert get(client, "sessions/monday/messages", before=ids[1])["messages"][0]["id"] == ids[0]
    window = post(client, "window", session_id="monday", max_tokens=100)["messages"]
    assert [read(Message, one) for one in window] == memory.window("monday", max_tokens=100)
    sessions = get(client, "sessions")["sessions"]
    assert [read(SessionInfo, one) for one in sessions] == memory.sessions()


def test_conflicts_are_told_and_settled(client: httpx.Client) -> None:
    """``on_conflict`` decides what becomes of another text under the same id."""
    said = {"role": "user", "content": "I like tea.", "id": "m1"}
    other = {**said, "content": "I like coffee."}
    post(client, "messages", session_id="s", messages=[said])

    refused = client.post("/memory/messages", json={"session_id": "s", "messages": [other]})
    post(client, "messages", session_id="s", messages=[other], on_conflict="update")

    assert refused.status_code == 409
    assert refused.json()["type"] == "urn:siltstone:problem:conflict"
    assert get(client, "records/m1")["content"] == "I like coffee."


def test_a_record_lives_and_goes(client: httpx.Client, memory: TieredMemory) -> None:
    """``remember``, ``get``, ``update``, ``history``, ``records`` and ``forget``."""
    id = post(client, "remember", text="Prefers tea.", kind="profile", importance=0.5, metadata={"a": [1]})["id"]

    assert read_item(get(client, f"records/{id}")) == memory.get(id)
    changed = client.patch(f"/memory/records/{id}", json={"text": "Prefers coffee.", "importance": None})
    assert read(Record, changed.json()).text == "Prefers coffee."
    assert memory.get(id).importance is None
    versions = get(client, f"records/{id}/history")["versions"]
    assert [read(Record, one).text for one in versions] == ["Prefers tea."]
    gone = client.delete(f"/memory/records/{id}")
    assert read(ForgetReport, gone.json()).records == (id,)
    assert client.get(f"/memory/records/{id}").status_code == 404
    assert client.delete(f"/memory/records/{id}").status_code == 404


def test_what_a_client_leaves_out_stays(client: httpx.Client, memory: TieredMemory) -> None:
    """``null`` takes an expiry away; a field that is not sent is left alone; nothing to change is refused."""
    id = post(client, "remember", text="Has a ticket.", expires_at="2999-01-01T00:00:00Z", importance=0.9)["id"]

    client.patch(f"/memory/records/{id}", json={"pinned": True})
    assert memory.get(id).expires_at is not None
    client.patch(f"/memory/records/{id}", json={"expires_at": None})
    record = memory.get(id)
    assert isinstance(record, Record)
    assert (record.expires_at, record.pinned, record.importance) == (None, True, 0.9)
    assert client.patch(f"/memory/records/{id}", json={}).status_code == 422


def test_search_takes_every_condition(client: httpx.Client, memory: TieredMemory) -> None:
    """The route hands on what ``search`` takes, and its hits come back as they were, scores included."""
    post(client, "messages", session_id="monday", messages=TALK)
    keep = post(client, "remember", text="Alice lives near the sea.", kind="profile", metadata={"n": 1})["id"]
    now = "2030-01-01T00:00:00+00:00"

    def texts(**conditions: Any) -> list[str]:
        found = post(client, "search", query="Where does Alice live?", now=now, **conditions)["hits"]
        expected = memory.search("Where does Alice live?", now=now, **conditions)
        assert [read(Hit, one) for one in found] == expected
        return [hit.record.text for hit in expected]

    assert len(texts()) == 3
    assert len(texts(top_k=1)) == 1
    assert texts(kinds=["profile"]) == ["Alice lives near the sea."]
    assert texts(metadata={"n": 1}) == ["Alice lives near the sea."]
    assert "Alice lives near the sea." not in texts(exclude_ids=[keep])
    assert texts(exclude_session_id="monday") == ["Alice lives near the sea."]
    assert "Alice lives near the sea." not in texts(session_id="monday")
    assert texts(since="2999-01-01T00:00:00Z") == []
    assert len(texts(until="2999-01-01T00:00:00Z", expand="source")) == 3


def test_a_context_comes_with_its_prompt(client: httpx.Client, memory: TieredMemory) -> None:
    """``context`` is within its budget; with a question it comes as a prompt and as messages, too."""
    post(client, "messages", session_id="monday", messages=TALK)
    told = post(
        client, "context", query="Where?", session_id="monday", max_tokens=300, question="Where?", system="Be brief."
    )
    context = memory.context("Where?", session_id="monday", max_tokens=300)

    assert read(Context, told) == context
    assert told["prompt"] == context.as_prompt("Where?", system="Be brief.")
    assert [read(Message, one) for one in told["messages"]] == context.as_messages("Where?", system="Be brief.")
    assert "prompt" not in post(client, "context", query="Where?")
    assert post(client, "context", sections=["profile"], max_tokens=1)["tokens"] <= 1


def test_records_come_as_a_stream_that_is_counted(client: httpx.Client, memory: TieredMemory) -> None:
    """One record a line, in the order of writing; the last line counts them."""
    post(client, "messages", session_id="monday", messages=TALK)
    post(client, "remember", text="Alice paints.", kind="fact")

    *lines, end = client.post("/memory/records", json={}).text.splitlines()
    facts = client.post("/memory/records", json={"kinds": ["fact"]}).text.splitlines()

    assert [read(Record, json.loads(line)) for line in lines] == list(memory.records())
    assert json.loads(end) == {"end": 3}
    assert [json.loads(line).get("text") for line in facts] == ["Alice paints.", None]


def test_what_is_to_be_forgotten_is_told_first(client: httpx.Client, memory: TieredMemory) -> None:
    """``dry_run`` says what would go; a session and a user go by their paths; no condition is refused."""
    post(client, "messages", session_id="monday", messages=TALK)
    post(client, "messages", session_id="monday", messages=TALK, user_id="bob")

    dry = read(ForgetReport, post(client, "forget", session_id="monday", dry_run=True))
    assert (len(dry.messages), dry.dry_run) == (2, True)
    assert client.post("/memory/forget", json={}).status_code == 422
    assert len(memory.messages("monday")) == 2
    assert len(client.delete("/memory/sessions/monday").json()["messages"]) == 2
    assert memory.messages("monday") == []
    assert len(client.delete("/memory/users/bob").json()["messages"]) == 2
    assert memory.for_user("bob").messages("monday") == []


def test_the_rest_of_the_verbs(client: httpx.Client, memory: TieredMemory) -> None:
    """``consolidate``, ``flush``, ``revision`` and ``stats``."""
    post(client, "messages", session_id="monday", messages=TALK)

    report = read(ConsolidationReport, post(client, "consolidate", dry_run=True))
    assert report == memory.consolidate(dry_run=True)
    assert client.post("/memory/flush", json={"timeout": 5}).status_code == 204
    before = get(client, "revision")["revision"]
    assert before == memory.revision
    post(client, "remember", text="Alice paints.")
    assert get(client, "revision")["revision"] != before
    stats = read(Stats, get(client, "stats"))
    assert (stats.messages, stats.records, stats.user_id) == (2, 3, "default")


@pytest.mark.parametrize("id", [ODD, "..", ".", "%2e%2e", "history", "m/history", "日本", "a\\b", "+ ", "\u200f"])
def test_an_id_may_be_any_text(client: httpx.Client, id: str) -> None:
    """Slashes, dots, percent signs and emoji: percent-encoded, every id has its path, and no other's."""
    post(client, "messages", session_id=id, messages=[{"role": "user", "content": "hi", "id": id}])
    raw = quote(id, safe="").replace(".", "%2E")

    assert get(client, f"records/{raw}")["id"] == id
    assert get(client, f"records/{raw}/history") == {"versions": []}
    assert [one["id"] for one in get(client, f"sessions/{raw}/messages")["messages"]] == [id]
    assert (
        client.patch(
            f"/memory/records/{quote('turn:' + id, safe='').replace('.', '%2E')}", json={"pinned": True}
        ).status_code
        == 200
    )
    assert client.delete(f"/memory/sessions/{raw}").json()["messages"] == [id]


def test_one_path_may_not_stand_for_another(client: httpx.Client) -> None:
    """A path that goes up and down again, or has two slashes, is no route."""
    post(client, "messages", session_id="s", messages=[{"role": "user", "content": "hi", "id": "m"}])

    for path in ("/memory//records/m", "/memory/records/m/", "/memory/%72ecords/m", "/memory/x/%2E%2E/records/m"):
        assert client.get(path).status_code == 404, path


@pytest.mark.parametrize(
    "path", ["/healthz", "/readyz", "/memory/stats", "/memory/sessions", "/memory/export", "/", "/docs", "/memory/nope"]
)
def test_head_is_get_without_its_body(client: httpx.Client, path: str) -> None:
    """Who only asks whether something is there gets the same status and headers as who reads it."""
    client.post("/memory/remember", json={"text": "Likes tea."}).raise_for_status()
    got, head = client.get(path), client.head(path)

    assert head.status_code == got.status_code
    assert head.headers["content-type"] == got.headers["content-type"]
    assert head.content == b""
    assert client.get("/healthz").status_code == 200


def test_head_is_refused_where_there_is_no_get(client: httpx.Client) -> None:
    """A route that only takes a POST says so."""
    refused = client.head("/memory/write")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
