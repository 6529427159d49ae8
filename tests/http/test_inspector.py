"""The inspector's pages: what they show, what their forms do, and in which language."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from html import unescape
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from forms import submit, words_of

pytest.importorskip("fastapi")

from siltstone import TieredMemory
from siltstone.http.inspector.known import by_topic, holding
from siltstone.http.inspector.session import accepted
from siltstone.http.inspector.words import CHINESE, ENGLISH
from siltstone.recall.weights import BY_HAND, FITTED, PASSAGE
from siltstone.records import KINDS, Record

PAGES = ("../?", "search?q=cat&", "timeline?", "session?id=monday&", "record?", "forget?", "work?", "digests?")
SCRIPT = "<script>alert('stored')</script>"


@pytest.fixture
def browser(client: httpx.Client) -> httpx.Client:
    """A client that keeps cookies and goes where it is led."""
    client.follow_redirects = True
    return client


def test_the_first_page_tells_what_is_known(browser: httpx.Client, memory: TieredMemory) -> None:
    """Profile, what is coming up, and facts, each under its heading; what is over is not coming."""
    now = datetime.now(timezone.utc)
    memory.remember("Alice is a front-end engineer.", kind="profile")
    memory.remember("Alice flies to Oslo.", kind="event", occurred_at=now + timedelta(days=3))
    memory.remember("Alice flew to Rome.", kind="event", occurred_at=now - timedelta(days=3))
    memory.remember("Alice's cat is called Tofu.")

    shown = words_of(browser.get("/"))

    order = [shown.index(one) for one in ("Profile", "front-end engineer", "Coming up", "Oslo", "Facts", "Tofu")]
    assert order == sorted(order)
    assert "Rome" not in shown


def test_facts_stand_under_their_topics() -> None:
    """The topic of the newest first, what has none at the end; what does not hold any more is not there."""
    now = datetime(2024, 5, 8, tzinfo=timezone.utc)

    def fact(id: str, days: int, topic: str | None, **more: Any) -> Record:
        at = now - timedelta(days=days)
        return Record(id=id, text=id, topic=topic, created_at=at, stored_at=at, **more)

    facts = [fact("a", 3, "home"), fact("b", 2, None), fact("c", 1, "work"), fact("d", 0, "home")]
    over = [fact("e", 0, "home", superseded_by="d"), fact("f", 5, "work", valid_until=now - timedelta(days=4))]

    shown = by_topic(holding([*facts, *over], now))

    assert {topic: [one.id for one in records] for topic, records in shown.items()} == {
        "home": ["d", "a"],
        "work": ["c"],
        "": ["b"],
    }
    assert list(shown) == ["home", "work", ""]


def test_an_empty_memory_says_so(browser: httpx.Client) -> None:
    """Every page works where there is nothing yet."""
    assert ENGLISH.empty in words_of(browser.get("/"))
    for path in ("/inspector/search?q=cat", "/inspector/timeline", "/inspector/work", "/inspector/digests"):
        assert browser.get(path).status_code == 200, path


def test_a_search_draws_what_its_scores_are_made_of(browser: httpx.Client, memory: TieredMemory) -> None:
    """Each hit has its score, and a bar for each part of it; the numbers are those of ``search``."""
    memory.remember("Alice's cat is called Tofu.")
    (hit,) = memory.search("What is the cat called?", top_k=1)

    page = browser.get("/inspector/search", params={"q": "What is the cat called?"})

    shown = [float(one) for one in re.findall(r'<td class="number">([+-][\d.]+)</td>', page.text)]
    parts = [round(value, 2) for name, value in hit.why.items() if ":" not in name and value]
    assert sorted(shown) == pytest.approx(sorted(parts), abs=0.011)
    assert page.text.count('class="bar"') == len(parts)


def test_a_record_stands_beside_its_sources(browser: httpx.Client, memory: TieredMemory) -> None:
    """What it rests on is shown whole, the words of both marked, with links to both."""
    (id,) = memory.add([("user", "My cat is called Tofu.")], session_id="monday")
    fact = memory.remember("The cat is called Tofu.", source_ids=[id])

    page = browser.get("/inspector/record", params={"id": fact})
    source = browser.get("/inspector/record", params={"id": id})

    assert "My" in page.text
    assert "<mark>Tofu</mark>" in page.text
    assert "The cat is called Tofu." in words_of(source)
    assert ENGLISH.rests_on_it in words_of(source)


def test_an_edit_is_saved_and_its_history_shown(browser: httpx.Client, memory: TieredMemory) -> None:
    """The form changes the memory, and leads back to it; what it was before is told."""
    id = memory.remember("The cat is called Tofu.")
    page = browser.get("/inspector/record", params={"id": id})

    saved = submit(browser, page, "/inspector/record", text="The cat is called Mochi.\r\nShe is two.", importance="0.5")

    assert memory.get(id).text == "The cat is called Mochi.\nShe is two."  # type: ignore[union-attr]
    assert memory.get(id).importance == 0.5  # type: ignore[union-attr]
    assert ENGLISH.saved in words_of(saved)
    assert "Version 1" in words_of(saved)
    assert "The cat is called Tofu." in words_of(saved)


def test_a_form_sent_as_it_is_changes_nothing(browser: httpx.Client, memory: TieredMemory) -> None:
    """A text with blank lines at its ends, tabs and entities comes back from the form as it was."""
    id = memory.remember("\n\n  a < b &amp; c\t\r\nd \n", importance=0.3)
    before = memory.revision

    page = browser.get("/inspector/record", params={"id": id})
    answer = submit(browser, page, "/inspector/record")

    assert ENGLISH.unchanged in words_of(answer)
    assert memory.revision == before


def test_an_edit_of_an_old_version_is_not_saved(browser: httpx.Client, memory: TieredMemory) -> None:
    """What changed while the form was open is not written over: 409, with the present text."""
    id = memory.remember("The cat is called Tofu.")
    page = browser.get("/inspector/record", params={"id": id})
    memory.update(id, text="The cat is called Mochi.")

    answer = submit(browser, page, "/inspector/record", text="The dog is called Tofu.")

    assert answer.status_code == 409
    assert ENGLISH.changed_meanwhile in words_of(answer)
    assert memory.get(id).text == "The cat is called Mochi."  # type: ignore[union-attr]
    again = submit(browser, answer, "/inspector/record")  # what was typed is there, and may be saved over it
    assert again.status_code == 200
    assert memory.get(id).text == "The dog is called Tofu."  # type: ignore[union-attr]


def test_lists_have_the_beginning_of_long_texts_and_pages_the_whole(
    browser: httpx.Client, memory: TieredMemory
) -> None:
    """A book among the memories makes no page slow but its own, which is one step away."""
    fact = memory.remember(f"The cat {'x' * 50_000} end")
    (message,) = memory.add([("user", f"I said {'y' * 50_000} end")], session_id="monday")

    for path in ("/", "/inspector/search?q=cat", "/inspector/timeline?kind=all", "/inspector/session?id=monday"):
        page = browser.get(path)
        assert "[…]" in page.text
        assert len(page.text) < 40_000, path
    assert ENGLISH.read_all in words_of(browser.get("/inspector/session?id=monday"))
    for id, beginning in ((fact, "The cat x"), (message, "I said y")):
        whole = words_of(browser.get("/inspector/record", params={"id": id}))
        assert beginning in whole
        assert len(whole) > 50_000


def test_an_end_and_metadata_are_set_and_taken_away(browser: httpx.Client, memory: TieredMemory) -> None:
    """Of memories and of turns; ends to the minute, in UTC, of which an unchanged one keeps its seconds."""
    end = datetime(2999, 5, 8, 9, 30, 59, tzinfo=timezone(timedelta(hours=8)))
    fact = memory.remember("The cat is called Tofu.", expires_at=end, metadata={"猫": {"a": [1, "<b>"]}})
    (message,) = memory.add([("user", "She is two.")], session_id="monday")

    page = browser.get("/inspector/record", params={"id": fact})
    submit(browser, page, "/inspector/record", importance="1")
    kept = memory.get(fact)
    assert isinstance(kept, Record)
    assert (kept.expires_at, kept.metadata) == (end, {"猫": {"a": [1, "<b>"]}})
    for id in (fact, message):
        for expires, about in (("2999-12-31T23:59", '{"owner": "爱丽丝"}'), ("", "")):
            page = browser.get("/inspector/record", params={"id": id})
            saved = submit(browser, page, "/inspector/record", expires_at=expires, metadata=about)
            assert ENGLISH.saved in words_of(saved)
            (found,) = [one for one in memory.records() if one.id.endswith(id)]
            assert found.metadata == json.loads(about or "{}")
            assert (found.expires_at is None) == (not expires)


@pytest.mark.parametrize(
    "typed",
    [
        {"importance": "much"}, {"importance": "7"}, {"expires_at": "tomorrow"}, {"expires_at": "0001-01-01T00:00"},
        {"metadata": "{"}, {"metadata": "[1]"}, {"metadata": "[" * 100_000}, {"metadata": '{"a": NaN}'},
        {"metadata": '{"a": "\\ud800"}'}, {"kind": "turn"}, {"text": " "},
    ],
)  # fmt: skip
def test_what_cannot_be_saved_stays_in_the_form(
    browser: httpx.Client, memory: TieredMemory, typed: dict[str, str]
) -> None:
    """Nothing is changed, the page says why, and nobody types the rest again."""
    id = memory.remember("The cat is called Tofu.")
    before = memory.revision
    page = browser.get("/inspector/record", params={"id": id})

    answer = submit(browser, page, "/inspector/record", **{"text": "The dog is called <Rex>.", **typed})

    assert answer.status_code == 422
    assert 'role="status"' in answer.text
    assert ("The dog is called &lt;Rex&gt;." in answer.text) is ("text" not in typed)
    assert memory.revision == before


def test_a_memory_is_pinned_and_unpinned(browser: httpx.Client, memory: TieredMemory) -> None:
    """One button, which does the one or the other."""
    id = memory.remember("The cat is called Tofu.")

    for is_pinned in (True, False):
        page = browser.get("/inspector/record", params={"id": id})
        submit(browser, page, "/inspector/pin")
        assert memory.get(id).pinned is is_pinned  # type: ignore[union-attr]


def test_forgetting_first_shows_what_goes_along(browser: httpx.Client, memory: TieredMemory) -> None:
    """Asking changes nothing and lists what rests on it; the button takes both away."""
    (id,) = memory.add([("user", "My cat is called Tofu.")], session_id="monday")
    memory.remember("Somebody has a cat called Tofu.", source_ids=[id])
    other = memory.remember("Alice plays the cello.")
    before = memory.revision

    asked = browser.get("/inspector/forget", params={"id": id})
    assert memory.revision == before
    assert ENGLISH.goes_along in words_of(asked)
    assert "Somebody has a cat" in words_of(asked)
    assert "cello" not in words_of(asked)

    gone = submit(browser, asked, "/inspector/forget")
    assert ENGLISH.forgotten.format(n=2) in words_of(gone)
    assert [record.id for record in memory.records()] == [other]


def test_what_would_go_otherwise_by_now_is_shown_again(browser: httpx.Client, memory: TieredMemory) -> None:
    """What came to rest on it after it was shown is not forgotten unseen."""
    id = memory.remember("The cat is called Tofu.")
    asked = browser.get("/inspector/forget", params={"id": id})
    memory.remember("Somebody has a cat.", source_ids=[id])

    answer = submit(browser, asked, "/inspector/forget")

    assert answer.status_code == 409
    assert ENGLISH.other_now in words_of(answer)
    assert len(list(memory.records())) == 2


def test_a_conversation_is_read_and_forgotten(browser: httpx.Client, memory: TieredMemory) -> None:
    """Its messages stand in order, a long one in parts; it goes as a whole."""
    memory.add([("user", f"Message number {n}.") for n in range(120)], session_id="a/b?c=1&d")

    listed = browser.get("/inspector/timeline")
    (url,) = {unescape(one) for one in re.findall(r'href="(/inspector/session[^"]*)"', listed.text)}
    newest = browser.get(url)
    (more,) = {unescape(one) for one in re.findall(r'href="(/inspector/session[^"]*before[^"]*)"', newest.text)}

    assert "Message number 119." in words_of(newest)
    assert "Message number 19." not in words_of(newest)
    assert "Message number 19." in words_of(browser.get(more))
    submit(browser, browser.get("/inspector/forget", params={"session": "a/b?c=1&d"}), "/inspector/forget")
    assert memory.sessions() == []


@pytest.mark.parametrize(
    "id", ["..", ".", "a/../b", "?x=1#y", "%2F%25", "a+b c", "'\"<&>", "猫🐈", "x" * 1_000, "turn:"[:-1]]
)
def test_every_id_has_its_pages(browser: httpx.Client, memory: TieredMemory, id: str) -> None:
    """Whatever an application names its records and conversations, links lead to them, and forms change them."""
    memory.add([{"role": "user", "content": "My cat is called Tofu.", "id": id}], session_id=id)
    memory.remember("The cat is called Tofu.", id=f"{id}!"[-1_000:], source_ids=[id])

    listed = browser.get("/inspector/timeline", params={"kind": "all"})
    urls = {unescape(one) for one in re.findall(r'href="(/inspector/(?:record|session)[^"]*)"', listed.text)}
    assert len(urls) == 3
    for url in urls:
        page = browser.get(url)
        assert page.status_code == 200, url
        assert "Tofu" in words_of(page)
    page = browser.get("/inspector/record", params={"id": f"{id}!"[-1_000:]})
    submit(browser, page, "/inspector/record", text="The cat is called Mochi.")
    assert "The cat is called Mochi." in [record.text for record in memory.records()]


@pytest.mark.parametrize("name", ["id", "session", "before", "q", "kind", "since", "page", "user", "lang", "done"])
def test_no_query_is_a_fault_of_the_service(browser: httpx.Client, memory: TieredMemory, name: str) -> None:
    """Odd values are refused, or lead nowhere: no page fails, whatever it is asked."""
    memory.add([("user", "My cat is called Tofu.")], session_id="monday")

    for value in ("", " ", "\0", "-1", "1e9", "9" * 30, "x" * 20_000, "%ff", "\ud800", "[]"):
        given = f"{name}={quote(value, errors='surrogatepass')}"
        for path in (
            "?",
            "search?q=cat&",
            "timeline?",
            "session?id=monday&",
            "record?",
            "forget?",
            "work?",
            "digests?",
        ):
            answer = browser.get(f"{'/' if path == '?' else '/inspector/'}{path}{given}")
            assert answer.status_code in (200, 404, 422), (path, given)
            assert answer.headers["content-type"].startswith("text/html")


def test_the_timeline_is_by_day_and_in_pages(browser: httpx.Client, memory: TieredMemory) -> None:
    """The newest first; a kind and days choose among them."""
    for n in range(60):
        memory.remember(f"Fact number {n:02}.")
    memory.remember("A trip to Rome.", kind="event", occurred_at="2024-05-01T00:00:00Z")

    first, second = (words_of(browser.get("/inspector/timeline", params={"page": n})) for n in (1, 2))
    in_may = words_of(browser.get("/inspector/timeline", params={"since": "2024-05-01", "until": "2024-05-01"}))

    numbers = [int(one) for one in re.findall(r"Fact number (\d\d)", first + second)]
    assert sorted(numbers) == list(range(60))
    assert "Rome" in second
    assert "Rome" in in_may
    assert "Fact number" not in in_may
    assert browser.get("/inspector/timeline", params={"since": "yesterday"}).status_code == 422


def test_work_size_and_growth_are_told(browser: httpx.Client, memory: TieredMemory) -> None:
    """Counts, bytes and months; the button does what is due."""
    memory.add([("user", "My cat is called Tofu."), ("assistant", "Noted.")], session_id="monday")
    page = browser.get("/inspector/work")
    shown = words_of(page)

    for one in (ENGLISH.no_jobs, ENGLISH.no_dead, ENGLISH.growth, "Turn", f"{datetime.now(timezone.utc):%Y-%m}"):
        assert one in shown
    assert submit(browser, page, "/inspector/work").status_code == 200


@pytest.mark.parametrize("path", ["/", "/inspector/search?q=script", "/inspector/timeline?kind=all", "/inspector/work"])
def test_what_was_stored_stays_a_text(browser: httpx.Client, memory: TieredMemory, path: str) -> None:
    """Tags in texts, ids, names, topics and metadata are written out, never obeyed."""
    _store_scripts(memory)

    assert "<script>alert" not in browser.get(path).text


def test_what_was_stored_stays_a_text_on_its_own_pages(browser: httpx.Client, memory: TieredMemory) -> None:
    """The same on the pages of one memory, one conversation, and of forgetting."""
    fact, session = _store_scripts(memory)

    for path, query in (
        ("/inspector/record", {"id": fact}),
        ("/inspector/forget", {"id": fact}),
        ("/inspector/session", {"id": session}),
        ("/inspector/forget", {"session": session}),
        ("/inspector/record", {"id": SCRIPT}),
        ("/inspector/search", {"q": SCRIPT, "kind": SCRIPT}),
        ("/inspector/timeline", {"since": SCRIPT}),
        ("/inspector/session", {"id": "nobody" + SCRIPT}),
        ("/", {"user": SCRIPT, "lang": SCRIPT}),
    ):
        page = browser.get(path, params=query)
        assert page.status_code in (200, 404, 422), path
        assert "<script>alert" not in page.text, path
        assert "alert(&#x27;stored&#x27;)" in page.text or page.status_code == 422 or path == "/", path


def _store_scripts(memory: TieredMemory) -> tuple[str, str]:
    session = f"s {SCRIPT}"
    said = {"role": "user", "content": f"said {SCRIPT}", "name": SCRIPT, "id": f"m {SCRIPT}"}
    (id,) = memory.add([said], session_id=session)
    fact = memory.remember(
        f"fact {SCRIPT}", id=f"f {SCRIPT}", source_ids=[id], session_id=session, metadata={SCRIPT: SCRIPT}
    )
    memory.remember(f"profile {SCRIPT}", kind="profile")
    memory.update(fact, text=f"fact, edited {SCRIPT}")
    return fact, session


def test_a_browser_is_told_to_run_nothing_of_others(browser: httpx.Client) -> None:
    """Every page: a policy without inline scripts or styles, no frames, no other origin; no page holds any of these."""
    for path in ("/", "/inspector/search?q=x", "/inspector/record?id=nobody", "/inspector/timeline", "/inspector/work"):
        page = browser.get(path)
        policy = dict(one.strip().partition(" ")[::2] for one in page.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == "'none'"
        assert policy["frame-ancestors"] == "'none'"
        assert policy["base-uri"] == "'none'"
        assert {policy[one] for one in ("script-src", "style-src", "form-action")} == {"'self'"}
        assert page.headers["cache-control"] == "no-store"
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]* src=\"/inspector/)", page.text)
        assert not re.search(r"(?:src|href|action)=\"(?!/|#)", page.text)


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-GB,zh;q=0.9", "en"),
        ("fr,zh;q=0.3,en;q=0.2", "zh"),
        ("zh;q=0", "en"),
        ("zh;q=much", "en"),
        ("de", "en"),
    ],
)
def test_the_browser_says_which_language(header: str, language: str) -> None:
    """Of the two that there are, the one that it would rather have."""
    assert accepted(header) == language


def test_the_switch_of_language_is_remembered(browser: httpx.Client) -> None:
    """Once chosen, it holds whatever the browser asks for."""
    assert CHINESE.known in words_of(browser.get("/", headers={"accept-language": "zh"}))
    assert ENGLISH.known in words_of(browser.get("/", params={"lang": "en"}, headers={"accept-language": "zh"}))
    assert ENGLISH.known in words_of(browser.get("/", headers={"accept-language": "zh"}))


def test_both_languages_have_words_for_everything() -> None:
    """Every kind, every part of a score; and both tables have the same places to fill in."""
    places: Callable[[Any], list[str]] = lambda value: re.findall(r"\{\w*\}", str(value))  # noqa: E731
    for words in (ENGLISH, CHINESE):
        assert set(words.kinds) == set(KINDS)
        assert set(FITTED | PASSAGE | BY_HAND) <= set(words.score_parts)
    for name, english in vars(ENGLISH).items():
        chinese = vars(CHINESE)[name]
        assert sorted(places(english)) == sorted(places(chinese)), name
        if isinstance(english, dict):
            assert english.keys() == chinese.keys(), name
