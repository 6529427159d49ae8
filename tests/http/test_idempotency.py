"""A request that is sent twice with one key is done once, whatever happened between the two."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi")

from siltstone import TieredMemory
from siltstone.access import Tokens, make_token, revoke
from siltstone.testing import HashEmbedder

KEY = {"idempotency-key": "order-17"}
ADD = {
    "session_id": "s",
    "messages": [{"role": "user", "content": "Same words."}, {"role": "user", "content": "Same words."}],
}


def test_the_second_request_gets_the_first_ones_answer(client: httpx.Client, memory: TieredMemory) -> None:
    """Messages, a memory, a forget: once each, with the same answer, byte by byte."""
    for path, body in (("messages", ADD), ("remember", {"text": "Once."}), ("forget", {"kinds": ["fact"]})):
        first, second = (client.post(f"/memory/{path}", json=body, headers=KEY) for _ in range(2))

        assert first.status_code == second.status_code == 200
        assert first.content == second.content
        assert "idempotency-replayed" not in first.headers
        assert second.headers["idempotency-replayed"] == "true"
    assert [message.content for message in memory.messages("s")] == ["Same words.", "Same words."]


def test_a_key_is_for_one_request(client: httpx.Client, memory: TieredMemory) -> None:
    """The same key with another body is refused; another key, or none, is another request."""
    client.post("/memory/remember", json={"text": "One."}, headers=KEY)

    assert client.post("/memory/remember", json={"text": "Two."}, headers=KEY).status_code == 422
    client.post("/memory/remember", json={"text": "One."}, headers={"idempotency-key": "other"})
    client.post("/memory/remember", json={"text": "One."})
    assert [record.text for record in memory.records()] == ["One."] * 3
    assert (
        client.post("/memory/remember", json={"text": "x"}, headers={"idempotency-key": "k" * 256}).status_code == 422
    )


def test_a_request_that_failed_may_be_tried_again(client: httpx.Client, memory: TieredMemory) -> None:
    """Only what was done is kept: after a refusal the key is free."""
    body = {"text": "Rests on it.", "source_ids": ["m1"]}
    assert client.post("/memory/remember", json=body, headers=KEY).status_code == 404
    memory.add([{"role": "user", "content": "x", "id": "m1"}], session_id="s")

    assert client.post("/memory/remember", json=body, headers=KEY).status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("search", {"query": "canary"}),
        ("query", {"question": "canary"}),
        ("context", {"query": "canary"}),
        ("records", {}),
    ],
)
def test_what_was_read_with_a_key_is_gone_once_it_is_forgotten(
    client: httpx.Client, memory: TieredMemory, path: str, body: dict[str, Any]
) -> None:
    """Only writes are answered as before: a reading again reads what is there by then."""
    memory.remember("Alice keeps a canary.")
    assert "keeps a canary" in client.post(f"/memory/{path}", json=body, headers=KEY).text
    memory.forget(everything=True)

    assert "keeps a canary" not in client.post(f"/memory/{path}", json=body, headers=KEY).text


def test_an_answer_is_not_for_another_user_whose_token_has_the_same_name(
    serve: Callable[..., httpx.Client], memory: TieredMemory, tmp_path: Path
) -> None:
    """A token that was made anew, for somebody else, begins anew."""
    file = tmp_path / "tokens.jsonl"
    make_token(file, name="phone", user_id="nobody")
    client = serve(memory, tokens=Tokens(file))
    for user in ("alice", "bob"):
        revoke(file, "phone")
        token = make_token(file, name="phone", user_id=user)
        headers = {**KEY, "authorization": f"Bearer {token}"}
        assert client.post("/memory/remember", json={"text": "Once."}, headers=headers).status_code == 200
    assert [len(list(memory.for_user(user).records())) for user in ("alice", "bob")] == [1, 1]


@pytest.mark.parametrize(("path", "body"), [("messages", ADD), ("remember", {"text": "Once.", "kind": "profile"})])
def test_a_key_outlives_the_service(
    serve: Callable[..., httpx.Client], tmp_path: Path, path: str, body: dict[str, Any]
) -> None:
    """After a restart the second request writes nothing: what it would write has the ids of what is there."""
    answers = []
    for _ in range(2):
        with TieredMemory.open(tmp_path / "memory", embedder=HashEmbedder()) as memory:
            client = serve(memory)
            answers.append(client.post(f"/memory/{path}", json=body, headers=KEY))
            counted = memory.stats().records

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()
    assert counted == (2 if path == "messages" else 1)


def test_after_a_restart_a_key_is_still_for_one_request(
    serve: Callable[..., httpx.Client], memory: TieredMemory
) -> None:
    """Another text under the key of a memory that is there is a conflict, not a second memory."""
    serve(memory).post("/memory/remember", json={"text": "One."}, headers=KEY)
    answer = serve(memory).post("/memory/remember", json={"text": "Two."}, headers=KEY)

    assert answer.status_code == 409
    assert [record.text for record in memory.records()] == ["One."]


def test_of_many_at_once_one_is_done(client: httpx.Client, memory: TieredMemory) -> None:
    """While the first is worked on the others are told to wait, and are answered with what it did."""
    found: list[httpx.Response] = []

    def send() -> None:
        while True:
            answer = httpx.post(f"{client.base_url}/memory/messages", json=ADD, headers=KEY, timeout=60)
            if answer.status_code != 409:
                found.append(answer)
                return

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {answer.status_code for answer in found} == {200}
    assert len({answer.content for answer in found}) == 1
    assert len(memory.messages("s")) == 2
