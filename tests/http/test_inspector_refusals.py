"""Whatever is asked of a page, and whatever becomes of that, a browser is answered with a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from forms import words_of

pytest.importorskip("fastapi")

from running import Running

from siltstone import TieredMemory
from siltstone.access import Tokens, make_token
from siltstone.http import create_app, inspector
from siltstone.http.limits import Limits

ODD_NAMES = ("path", "self", "query", "request", "look", "lang", "again", "user_id", "class", "\u732b", "")
ODD_DAYS = ("0001-01-01", "9999-12-31", "9999-12-32", "2026-2-3", "yesterday", "0", " ", "\x00")
ODD_NUMBERS = ("-1", "0", "99999999999999999999999999", "1e9", "many", "\u0663")


def pages() -> Iterator[str]:
    """Yield the path of every page."""
    for router in inspector.routers:
        for route in router.routes:
            if "GET" in route.methods and "." not in route.path:  # type: ignore[attr-defined]
                yield route.path  # type: ignore[attr-defined]


def is_page(answer: httpx.Response) -> bool:
    """Return whether an answer is a page of ours, under its policy."""
    return (
        answer.text.startswith("<!doctype html>") and "default-src 'none'" in answer.headers["content-security-policy"]
    )


@pytest.mark.parametrize("path", sorted(pages()))
def test_odd_questions_get_pages(client: httpx.Client, memory: TieredMemory, path: str) -> None:
    """Parameters of any name, days at either end of the calendar, numbers of any size: no page fails on them."""
    memory.add([("user", "I like tea.")], session_id="monday")
    known = {"q": "tea", "id": memory.remember("Alice likes tea.")}
    odd: list[dict[str, str]] = [{name: "x"} for name in ODD_NAMES]
    odd += [{"since": day, "until": day} for day in ODD_DAYS] + [{"until": "9999-12-31"}]
    odd += [dict.fromkeys(("page", "done", "forgotten", "right"), number) for number in ODD_NUMBERS]

    for query in odd:
        answer = client.get(path, params={**known, **query})
        assert answer.status_code < 500, query
        assert answer.status_code == 303 or is_page(answer), query


def test_what_is_not_there_is_said_by_a_page(client: httpx.Client) -> None:
    """Pages that do not exist, and methods that a page does not take; the API answers with problems as ever."""
    for method, path, status in (
        ("GET", "/inspector", 404),
        ("GET", "/inspector/nowhere", 404),
        ("PUT", "/inspector/work", 405),
        ("DELETE", "/", 405),
    ):
        answer = client.request(method, path, headers={"accept-language": "zh"})
        assert (answer.status_code, is_page(answer)) == (status, True), path
        assert "回到已知内容" in words_of(answer)
    assert client.get("/memory/nowhere").headers["content-type"] == "application/problem+json"


def test_what_is_refused_before_it_is_read_is_said_by_a_page(
    serve: Callable[..., httpx.Client], memory: TieredMemory
) -> None:
    """A name that is not the service's, another origin, another kind of body, too much of it, too often."""
    client = serve(memory, limits=Limits(max_body=1_000, rate=0.001, burst=4))
    own = {"origin": str(client.base_url).rstrip("/")}
    form = {"content-type": "application/x-www-form-urlencoded"}
    tries: list[tuple[int, dict[str, Any]]] = [
        (421, {"headers": {"host": "evil.example.com"}}),
        (403, {"headers": {"origin": "https://evil.example.com", **form}, "content": "a=1"}),
        (415, {"json": {"a": 1}, "headers": own}),
        (413, {"content": b"x" * 2_000, "headers": {**own, **form}}),
    ]
    for status, given in tries:
        answer = client.post("/inspector/work", **given)
        assert (answer.status_code, is_page(answer)) == (status, True)
        assert answer.headers["x-request-id"]
        assert 'name="seal"' not in answer.text
    busy = [client.get("/inspector/work") for _ in range(5)][-1]
    assert (busy.status_code, is_page(busy)) == (429, True)
    assert int(busy.headers["retry-after"]) >= 1


def test_a_page_that_fails_says_so_and_no_more(memory: TieredMemory) -> None:
    """What nobody foresaw is a page, in none of the words of what was raised."""

    def broken() -> None:
        raise RuntimeError("Alice likes tea")

    app = create_app(memory)
    app.add_api_route("/inspector/broken", broken)
    with Running(app) as running:
        answer = httpx.get(f"{running.url}/inspector/broken", timeout=60)

    assert (answer.status_code, is_page(answer)) == (500, True)
    assert "Alice" not in answer.text


def test_tokens_that_cannot_be_read_are_said_by_a_page(
    serve: Callable[..., httpx.Client], memory: TieredMemory, tmp_path: Path
) -> None:
    """Nobody is let in, and a person sees why there is nothing to see."""
    file = tmp_path / "tokens.jsonl"
    make_token(file, name="alice", user_id="alice")
    client = serve(memory, tokens=Tokens(file))
    file.unlink()

    answer = client.get("/")

    assert (answer.status_code, is_page(answer)) == (503, True)
