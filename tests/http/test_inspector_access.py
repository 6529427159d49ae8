"""Who may see which page, and whose forms are taken: every page, every kind of token, not a byte of others'."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi")

from siltstone import TieredMemory
from siltstone.access import Tokens, make_token, revoke
from siltstone.http import inspector

CANARY = "canary"
"""What only Alice has, in every text, id and session of hers."""
OPEN = ("/inspector/login", "/inspector/logout", "/inspector/page.css", "/inspector/page.js", "/inspector/icon.svg")
QUERIES = {
    "/inspector/search": {"q": "Who sings?"},
    "/inspector/session": {"id": "canary-session"},
    "/inspector/record": {"id": "canary-fact"},
    "/inspector/pin": {"id": "canary-fact"},
    "/inspector/forget": {"id": "canary-fact"},
}
FORMS = {
    "/inspector/record": {"text": "overwritten", "version": "1"},
    "/inspector/pin": {"pinned": "yes"},
    "/inspector/forget": {"shown": "x"},
    "/inspector/work": {},
    "/inspector/digests": {},
}


@pytest.fixture
def alice(memory: TieredMemory) -> TieredMemory:
    """Alice's memory, full of canaries."""
    alice = memory.for_user("alice")
    said = {"role": "user", "content": "The canary sings in Lisbon.", "id": "canary-message"}
    alice.add([said], session_id="canary-session")
    alice.remember("Alice has a canary.", id="canary-fact", metadata={"owner": "canary"})
    alice.remember("Alice keeps a canary.", kind="profile")
    return alice


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file for tokens."""
    return tmp_path / "tokens.jsonl"


@pytest.fixture
def tokens(file: Path) -> dict[str, str]:
    """Tokens of all kinds, by what they are good for."""
    past = datetime.now(timezone.utc) - timedelta(days=1)
    return {
        "alice": make_token(file, name="alice", user_id="alice"),
        "bob": make_token(file, name="bob", user_id="bob"),
        "admin": make_token(file, name="admin", admin=True),
        "expired": make_token(file, name="old", user_id="alice", expires_at=past),
        "expired admin": make_token(file, name="old admin", admin=True, expires_at=past),
        "wrong": "sst_" + "x" * 43,
        "none": "",
    }


@pytest.fixture
def client(serve: Callable[..., httpx.Client], alice: TieredMemory, file: Path, tokens: dict[str, str]) -> httpx.Client:
    """A client, not logged in, of a service that asks for tokens."""
    return serve(alice.for_user("default"), tokens=Tokens(file))


def routes() -> Iterator[tuple[str, str]]:
    """Yield method and path of every page and every form that shows or changes a memory."""
    for router in inspector.routers:
        for route in router.routes:
            path: str = route.path  # type: ignore[attr-defined]
            for method in route.methods:  # type: ignore[attr-defined]
                if path not in OPEN:
                    yield method, path


def origin(client: httpx.Client) -> dict[str, str]:
    """Return the header by which a browser says that a form is the service's own."""
    return {"origin": str(client.base_url).rstrip("/")}


def seal(client: httpx.Client) -> str:
    """Return what the forms of this client's pages carry now."""
    return re.findall(r'name="seal" value="(\w+)"', client.get("/inspector/work").text)[0]


def log_in(client: httpx.Client, token: str) -> httpx.Response:
    """Send the form that takes a token."""
    form = {"seal": seal(client), "token": token, "next": "/"}
    return client.post("/inspector/login", data=form, headers=origin(client))


def ask(client: httpx.Client, method: str, path: str, seal: str, **query: str) -> httpx.Response:
    """Ask a page for what is Alice's, or send it a form about that."""
    given = {**QUERIES.get(path, {}), **query}
    if method == "GET":
        return client.get(path, params=given)
    return client.post(path, params=given, data={**FORMS[path], "seal": seal}, headers=origin(client))


def told(answer: httpx.Response) -> str:
    """Return what an answer tells that was not asked: ids that were sent stand in links."""
    return answer.text.replace("canary-session", "").replace("canary-fact", "")


def test_every_page_is_among_those_that_are_tried() -> None:
    """Each form that changes something has a body here, and pages there are."""
    assert {path for method, path in routes() if method == "POST"} == set(FORMS)
    assert {"/", "/inspector/search", "/inspector/timeline", "/inspector/digests"} <= {path for _, path in routes()}


@pytest.mark.parametrize("kind", ["none", "wrong", "expired", "expired admin", "header"])
def test_without_a_good_token_there_is_only_the_way_in(
    kind: str, client: httpx.Client, tokens: dict[str, str], alice: TieredMemory
) -> None:
    """Every page and form, with no token or one that is not good: 401, the form to log in, and nothing else."""
    before = alice.revision
    if kind == "header":  # pages take the cookie only
        client.headers["authorization"] = f"Bearer {tokens['alice']}"
    elif tokens[kind]:
        client.cookies.set("siltstone_token", tokens[kind])
    sealed = seal(client)

    for method, path in routes():
        answer = ask(client, method, path, sealed, user="alice")

        assert answer.status_code == 401, (method, path)
        assert 'name="token"' in answer.text
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert "Lisbon" not in answer.text
        assert "canary." not in answer.text
    assert alice.revision == before


def test_another_users_token_opens_nothing_of_hers(
    client: httpx.Client, tokens: dict[str, str], alice: TieredMemory
) -> None:
    """Bob: of Alice's memory by name 403; by her ids in his own nothing, and nothing of hers changes."""
    log_in(client, tokens["bob"])
    before, sealed = alice.revision, seal(client)

    for method, path in routes():
        named = ask(client, method, path, sealed, user="alice")
        assert named.status_code == 403, (method, path)
        assert CANARY not in told(named)
        mine = ask(client, method, path, sealed)
        assert mine.status_code in (200, 303, 404), (method, path)
        assert CANARY not in told(mine), (method, path)
        if "id" in QUERIES.get(path, {}):
            assert mine.status_code == 404, (method, path)
    assert alice.revision == before


@pytest.mark.parametrize("kind", ["alice", "admin"])
def test_a_good_token_opens_every_page(kind: str, client: httpx.Client, tokens: dict[str, str]) -> None:
    """Alice's own shows her memory at once; an admin's, once she is chosen."""
    assert log_in(client, tokens[kind]).status_code == 303
    user = {"user": "alice"} if kind == "admin" else {}

    for method, path in routes():
        if method == "GET":
            assert ask(client, method, path, "", **user).status_code == 200, path
    shown = client.get("/", params=user).text
    assert "Alice keeps a canary." in shown
    assert ("user=alice" in shown) is (kind == "admin")


def test_an_admin_chooses_whose_memory_is_shown(client: httpx.Client, tokens: dict[str, str]) -> None:
    """Without a choice it is the service's own user; a user may choose nobody else."""
    log_in(client, tokens["admin"])

    assert CANARY not in client.get("/").text
    assert '<option value="alice">' in client.get("/").text
    assert "Alice keeps a canary." in client.get("/", params={"user": "alice"}).text
    client.cookies.delete("siltstone_token")
    log_in(client, tokens["bob"])
    assert "alice" not in client.get("/").text


def test_the_cookie_is_for_pages_of_this_site_only(client: httpx.Client, tokens: dict[str, str]) -> None:
    """Scripts cannot read it, other sites do not have it sent, the API passes it over; over TLS it stays there."""
    plain = log_in(client, tokens["alice"]).headers["set-cookie"]
    assert client.get("/inspector/work").status_code == 200
    form = {"seal": seal(client), "token": tokens["alice"]}
    safe = {"origin": f"https://{client.base_url.netloc.decode()}"}
    over_tls = client.post("/inspector/login", data=form, headers=safe).headers["set-cookie"]

    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(plain.split("; "))
    assert "Secure" in over_tls.split("; ")
    client.cookies.set("siltstone_token", tokens["alice"])
    for method, path in (("GET", "/memory/stats"), ("GET", "/memory/sessions"), ("GET", "/metrics")):
        assert client.request(method, path).status_code == 401, path
    assert client.post("/memory/remember", json={"text": "x"}, headers=origin(client)).status_code == 401


def test_a_token_that_was_revoked_shows_nothing_from_then_on(
    client: httpx.Client, tokens: dict[str, str], file: Path
) -> None:
    """The file counts from the next page on; where it cannot be read, nobody sees anything."""
    log_in(client, tokens["alice"])
    assert "canary" in client.get("/").text

    revoke(file, "alice")
    assert client.get("/").status_code == 401
    file.unlink()
    assert client.get("/").status_code == 503


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "https://evil.example.com"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "own", "sec-fetch-site": "cross-site"},
        {"origin": "own", "sec-fetch-site": "same-site"},
    ],
)
def test_a_form_from_elsewhere_is_refused(
    client: httpx.Client, tokens: dict[str, str], alice: TieredMemory, headers: dict[str, str]
) -> None:
    """Every form, with cookie and seal in order, but from another origin, or from nobody knows where: 403."""
    log_in(client, tokens["alice"])
    before, sealed = alice.revision, seal(client)
    if headers.get("origin") == "own":
        headers = {**headers, **origin(client)}

    for path, form in {**FORMS, "/inspector/login": {"token": tokens["bob"]}, "/inspector/logout": {}}.items():
        answer = client.post(path, params=QUERIES.get(path, {}), data={**form, "seal": sealed}, headers=headers)
        assert answer.status_code == 403, path
        assert not any(one.startswith("siltstone_token") for one in answer.headers.get_list("set-cookie")), path
    assert alice.revision == before


@pytest.mark.parametrize("kind", ["none", "empty", "guessed", "another browser's", "another token's"])
def test_a_form_that_this_page_has_not_made_is_refused(
    kind: str, client: httpx.Client, serve: Callable[..., httpx.Client], tokens: dict[str, str], alice: TieredMemory
) -> None:
    """Every form, with the cookie, from our own origin, but without the seal of this very session: 403."""
    log_in(client, tokens["alice"])
    other = httpx.Client(base_url=client.base_url, timeout=60)
    with other:
        log_in(other, tokens["alice"])
        strange = seal(other)
    if kind == "another token's":
        strange = seal(client)
        client.cookies.set("siltstone_token", tokens["bob"], domain="127.0.0.1")
    before = alice.revision
    carried: dict[str, Any] = {"none": {}, "empty": {"seal": ""}, "guessed": {"seal": "0" * 64}}.get(
        kind, {"seal": strange}
    )

    for path, form in FORMS.items():
        answer = client.post(
            path, params=QUERIES.get(path, {}), data={"pad": "x", **form, **carried}, headers=origin(client)
        )
        assert answer.status_code == 403, path
    assert alice.revision == before


def test_without_tokens_forms_are_sealed_too(serve: Callable[..., httpx.Client], memory: TieredMemory) -> None:
    """On this machine nobody logs in, and still no other page's form is taken."""
    client, id = serve(memory), memory.remember("The cat is called Tofu.")
    form = {"text": "overwritten", "version": "1"}

    assert client.get("/inspector/login").headers["location"] == "/"
    for carried, status in (({}, 403), ({"seal": "0" * 64}, 403), ({"seal": seal(client)}, 303)):
        answer = client.post("/inspector/record", params={"id": id}, data={**form, **carried}, headers=origin(client))
        assert answer.status_code == status


@pytest.mark.parametrize(
    "wanted",
    ["https://evil.example.com/", "//evil.example.com", "/\\evil.example.com", "/docs", "javascript:alert(1)",
     "/%0d%0aX:1", "/inspector/\r\nX: 1", ""],
)  # fmt: skip
def test_logging_in_leads_to_our_own_pages_only(client: httpx.Client, tokens: dict[str, str], wanted: str) -> None:
    """Whatever the form says where to go on."""
    form = {"seal": seal(client), "token": tokens["alice"], "next": wanted}

    answer = client.post("/inspector/login", data=form, headers=origin(client))

    assert answer.status_code == 303
    assert answer.headers["location"] == "/"


@pytest.mark.parametrize(
    ("content", "media", "status"),
    [
        (b'{"text": "x"}', "application/json", 415),
        (b"--b\r\n\r\n--b--", "multipart/form-data; boundary=b", 415),
        (b"text=%ff", "application/x-www-form-urlencoded", 422),
        ("text=猫".encode(), "application/x-www-form-urlencoded", 422),
        (b"&".join(b"a=1" for _ in range(5_000)), "application/x-www-form-urlencoded", 422),
        (b"x" * (9 << 20), "application/x-www-form-urlencoded", 413),
    ],
)
def test_what_is_no_form_is_refused(
    serve: Callable[..., httpx.Client], memory: TieredMemory, content: bytes, media: str, status: int
) -> None:
    """Other kinds, bytes that are no text, too many fields, too large a body: each is refused in its own way."""
    client = serve(memory)
    headers = {"content-type": media, **origin(client)}

    assert client.post("/inspector/work", content=content, headers=headers).status_code == status
