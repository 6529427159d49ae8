"""Who may do what: every route, with every kind of token, and not a byte of another user's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi")

from siltstone import TieredMemory
from siltstone.access import Tokens, make_token, revoke

CANARY = "canary"
"""What only Alice has, in every text, id and session of hers."""
BODIES: dict[str, dict[str, Any]] = {
    "/memory/write": {"dialogue_id": "canary-session", "dialogue_text": "overwritten"},
    "/memory/messages": {"session_id": "canary-session", "messages": [{"role": "user", "content": "x"}]},
    "/memory/remember": {"text": "x", "source_ids": ["canary-fact"]},
    "/memory/query": {"question": "What about the canary?"},
    "/memory/search": {"query": "canary"},
    "/memory/context": {"query": "canary", "session_id": "canary-session"},
    "/memory/window": {"session_id": "canary-session", "max_tokens": 100},
    "/memory/records": {},
    "/memory/forget": {"everything": True},
    "/memory/consolidate": {},
    "/memory/flush": {},
    "/memory/records/{id}": {"text": "overwritten"},
}
IDS = {"records": "canary-fact", "sessions": "canary-session", "users": "alice"}


@pytest.fixture
def alice(memory: TieredMemory) -> TieredMemory:
    """Alice's memory, full of canaries."""
    alice = memory.for_user("alice")
    said = {"role": "user", "content": "The canary sings in Lisbon.", "id": "canary-message"}
    alice.add([said], session_id="canary-session")
    alice.remember("Alice has a canary.", id="canary-fact", metadata={"owner": "canary"})
    return alice


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file for tokens."""
    return tmp_path / "tokens.jsonl"


@pytest.fixture
def tokens(file: Path) -> dict[str, str]:
    """Tokens of all kinds, by what they are good for."""
    past, future = (datetime.now(timezone.utc) + timedelta(days=days) for days in (-1, 1))
    return {
        "alice": make_token(file, name="alice", user_id="alice", expires_at=future),
        "bob": make_token(file, name="bob", user_id="bob"),
        "admin": make_token(file, name="admin", admin=True),
        "expired": make_token(file, name="old", user_id="alice", expires_at=past),
        "expired admin": make_token(file, name="old admin", admin=True, expires_at=past),
        "wrong": "sst_" + "x" * 43,
    }


@pytest.fixture
def client(serve: Callable[..., httpx.Client], alice: TieredMemory, tokens: dict[str, str], file: Path) -> httpx.Client:
    """A client, without a token, of a service that asks for one."""
    return serve(alice.for_user("default"), tokens=Tokens(file))


def bearer(token: str) -> dict[str, str]:
    """Return the header that holds a token."""
    return {"authorization": f"Bearer {token}"}


def operations(client: httpx.Client) -> Iterator[tuple[str, str]]:
    """Yield method and path of every route that the service describes, but for those that are everybody's."""
    for path, found in client.get("/openapi.json").json()["paths"].items():
        if path not in ("/healthz", "/readyz"):
            yield from ((method.upper(), path) for method in found)


def ask(client: httpx.Client, method: str, path: str, headers: dict[str, str], **query: str) -> httpx.Response:
    """Ask a route for what is Alice's."""
    filled = path.replace("{id}", IDS.get(path.split("/")[2], "")) if "{id}" in path else path
    if path == "/memory/import":
        return client.post(filled, params=query, content=b"{}", headers=headers)
    body = BODIES.get(path) if method in ("POST", "PATCH") else None
    if body is not None and query:
        body = {**body, **query}
    return client.request(method, filled, params=query if body is None else {}, json=body, headers=headers)


@pytest.mark.parametrize("kind", ["none", "empty", "basic", "wrong", "expired", "expired admin"])
def test_without_a_good_token_nothing_is_told(
    kind: str, client: httpx.Client, tokens: dict[str, str], alice: TieredMemory
) -> None:
    """Every route, with no token or one that is not good: 401 that says how, and nothing is read or changed."""
    before = alice.revision
    headers = {
        "none": {},
        "empty": {"authorization": "Bearer"},
        "basic": {"authorization": "Basic " + tokens["admin"]},
    }.get(kind) or (bearer(tokens[kind]) if kind in tokens else {})

    for method, path in operations(client):
        answer = ask(client, method, path, headers)

        assert answer.status_code == 401, (method, path)
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.headers["content-type"] == "application/problem+json"
        assert CANARY not in answer.text
    assert alice.revision == before


def test_another_users_token_reaches_nothing(client: httpx.Client, tokens: dict[str, str], alice: TieredMemory) -> None:
    """Bob's token: of Alice's memory, asked for by name, 403; by her ids in his own, nothing, and nothing changes."""
    before, headers = alice.revision, bearer(tokens["bob"])

    for method, path in operations(client):
        named = ask(client, method, path, headers, user_id="alice")
        assert named.status_code == 403, (method, path)
        assert CANARY not in named.text
        if path == "/memory/users/{id}":
            continue
        mine = ask(client, method, path, headers)
        assert mine.status_code in (200, 204, 403, 404, 422), (method, path)
        echoed = ("canary-session",) if path in ("/memory/write", "/memory/sessions/{id}") else ()
        text = mine.text
        for word in (*echoed, "canary-message", "canary-fact"):
            text = text.replace(word, "") if method != "GET" or mine.status_code == 404 else text
        assert CANARY not in text, (method, path, mine.text)

    assert alice.revision == before
    assert [record.text for record in alice.records()] == ["The canary sings in Lisbon.", "Alice has a canary."]


def test_a_good_token_reaches_everything_of_its_user(client: httpx.Client, tokens: dict[str, str]) -> None:
    """Alice's token, and an admin's for her: every route of hers answers."""
    for kind in ("alice", "admin"):
        for method, path in operations(client):
            if method == "DELETE" or path in ("/memory/forget", "/memory/import"):
                continue
            answer = ask(client, method, path, bearer(tokens[kind]), user_id="alice")
            allowed = (200, 204) if path != "/metrics" or kind == "admin" else (403,)
            assert answer.status_code in allowed, (kind, method, path, answer.text)


def test_a_users_token_needs_no_name(client: httpx.Client, tokens: dict[str, str]) -> None:
    """Where a request names nobody, a token's own user is meant."""
    hits = client.post("/memory/search", json={"query": "canary"}, headers=bearer(tokens["alice"])).json()["hits"]

    assert {hit["record"]["user_id"] for hit in hits} == {"alice"}


@pytest.mark.parametrize(
    "name",
    ["alice ", " alice", "ALICE", "alice\u0000", "alice/..", "../alice", "*", "alic?", "%61lice", "аlice", "a" * 1_001],
)
def test_no_name_stands_for_another(client: httpx.Client, tokens: dict[str, str], name: str) -> None:
    """Wildcards, paths, other cases and letters that look alike: none of them reaches Alice."""
    for kind in ("bob", "admin"):
        answer = client.post("/memory/search", json={"query": "canary", "user_id": name}, headers=bearer(tokens[kind]))
        assert CANARY not in answer.text.replace("canary is", "")
        assert answer.status_code in ((403, 422) if kind == "bob" else (200, 422))


@pytest.mark.parametrize(
    "condition",
    [
        {"metadata": {"user_id": "alice"}},
        {"metadata": {"owner": "canary"}},
        {"metadata": {"$or": [{"user_id": "alice"}]}},
        {"session_id": "canary-session"},
        {"exclude_ids": ["' OR 1=1 --"]},
        {"kinds": ["turn", "fact"]},
        {"expand": "source"},
    ],
)
def test_no_condition_leads_to_another_user(
    client: httpx.Client, tokens: dict[str, str], condition: dict[str, Any]
) -> None:
    """Conditions choose among one's own memories; nothing in them is a query language."""
    answer = client.post("/memory/search", json={"query": "canary", **condition}, headers=bearer(tokens["bob"]))

    assert answer.json()["hits"] == []


def test_two_users_of_one_dialogue_id_do_not_meet(
    client: httpx.Client, tokens: dict[str, str], alice: TieredMemory
) -> None:
    """Bob's session of the same name is his; so are his forgetting it, and his idempotency keys."""
    key = {"idempotency-key": "k1"}
    for kind in ("alice", "bob"):
        body = {"dialogue_id": "shared", "dialogue_text": f"I am {kind}."}
        assert client.post("/memory/write", json=body, headers=bearer(tokens[kind]) | key).status_code == 200
    client.delete("/memory/sessions/shared", headers=bearer(tokens["bob"]))

    assert [message.content for message in alice.messages("shared")] == ["I am alice."]
    assert alice.for_user("bob").messages("shared") == []


def test_what_counts_for_everybody_is_not_a_users_to_know(client: httpx.Client, tokens: dict[str, str]) -> None:
    """A user's ``stats`` are their own; where the store lies, and what all have cost, is the admin's."""
    mine = client.get("/memory/stats", headers=bearer(tokens["bob"])).json()
    whole = client.get("/memory/stats", headers=bearer(tokens["admin"])).json()

    assert (mine["location"], mine["stages"], mine["messages"]) == ("", {}, 0)
    assert "process" not in mine["memory"]
    assert whole["location"] != ""
    assert "process" in whole["memory"]


def test_a_token_that_was_revoked_is_refused_at_once(client: httpx.Client, tokens: dict[str, str], file: Path) -> None:
    """The file counts from the next request on; one that cannot be read lets nobody in."""
    assert client.get("/memory/stats", headers=bearer(tokens["alice"])).status_code == 200

    revoke(file, "alice")
    assert client.get("/memory/stats", headers=bearer(tokens["alice"])).status_code == 401
    fresh = make_token(file, name="new", user_id="alice")
    assert client.get("/memory/stats", headers=bearer(fresh)).status_code == 200
    file.write_text('{"name": "broken"}\n')
    assert client.get("/memory/stats", headers=bearer(fresh)).status_code == 503
    file.unlink()
    assert client.get("/memory/stats", headers=bearer(tokens["admin"])).status_code == 503


def test_a_name_that_leads_here_is_no_way_in(serve: Callable[..., httpx.Client], memory: TieredMemory) -> None:
    """Without tokens only this machine's own names are answered to: a page whose name was bound to it is refused."""
    client = serve(memory)

    for host in (
        "evil.example.com",
        "127.0.0.1.evil.example.com",
        "localhost.evil",
        "",
        "evil@127.0.0.1x",
        "[::1",
        "10.0.0.1",
    ):
        answer = client.get("/memory/stats", headers={"host": host})
        assert answer.status_code in (400, 421), host
    for host in ("localhost:8000", "127.0.0.1", "[::1]:8000", "127.8.8.8"):
        assert client.get("/memory/stats", headers={"host": host}).status_code == 200, host
    named = serve(memory, hosts=["memory.example.com"])
    assert named.get("/memory/stats", headers={"host": "memory.example.com"}).status_code == 200
    assert named.get("/memory/stats", headers={"host": "other.example.com"}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example.com"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_page_of_another_origin_writes_nothing(
    serve: Callable[..., httpx.Client], memory: TieredMemory, headers: dict[str, str]
) -> None:
    """What a browser sends for another site is refused, whatever it is; one's own pages may ask."""
    client, before = serve(memory), memory.revision

    for method, path in (
        ("POST", "/memory/remember"),
        ("DELETE", "/memory/users/default"),
        ("PATCH", "/memory/records/m"),
    ):
        answer = client.request(method, path, json={"text": "x"}, headers=headers)
        assert answer.status_code == 403
    assert memory.revision == before
    own = {"origin": str(client.base_url).rstrip("/"), "sec-fetch-site": "same-origin"}
    assert client.post("/memory/remember", json={"text": "x"}, headers=own).status_code == 200


def test_no_page_of_another_origin_may_read(serve: Callable[..., httpx.Client], memory: TieredMemory) -> None:
    """There is no CORS: no answer says that another origin may see it."""
    client = serve(memory)
    answer = client.get("/memory/stats", headers={"origin": "https://evil.example.com"})

    assert not [name for name in answer.headers if name.startswith("access-control")]
    assert client.options("/memory/stats").status_code == 405
