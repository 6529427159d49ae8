"""What the inspector's pages say of the worker and of digests, and what a person says there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from forms import submit, words_of

pytest.importorskip("fastapi")

from siltstone import Digest, DigestItem, Message, ModelError, Settings, TieredMemory
from siltstone.http.inspector.words import ENGLISH
from siltstone.http.inspector.work import size
from siltstone.testing import FrozenClock, HashEmbedder

SAID = [
    ("user", "I live in Lisbon and I work as a nurse."),
    ("assistant", "Noted."),
    ("user", "I'm allergic to peanuts."),
    ("assistant", "I'll keep that in mind."),
]
TRUE, FALSE = "I live in Lisbon and I work as a nurse.", "The user collects 99 antique clocks in Vienna."


class Inventing:
    """A summarizer that tells what was said and something that was not, or fails."""

    name = "inventing"
    works = True

    def summarize(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Digest:
        """Return a digest with one true fact and one invented."""
        if not self.works:
            raise ModelError("the model refuses <b>this</b>")
        id = messages[0].id or ""
        facts = DigestItem(TRUE, (id,), None, "user", "home"), DigestItem(FALSE, (id,), None, "user", "hobby")
        return Digest("home", TRUE, facts)


@pytest.fixture
def summarizer() -> Inventing:
    """What digests come from."""
    return Inventing()


@pytest.fixture
def told(tmp_path: Path, summarizer: Inventing) -> Iterator[TieredMemory]:
    """A memory of one conversation, an hour ago, of which every digest is to be reviewed."""
    with TieredMemory.open(
        tmp_path / "told",
        embedder=HashEmbedder(),
        summarizer=summarizer,
        clock=FrozenClock("2024-05-08T13:00:00+00:00"),
        settings=Settings(review_share=1.0, retries=0),
    ) as memory:
        memory.add(SAID, session_id="monday", created_at="2024-05-08T12:00:00Z")
        yield memory


@pytest.fixture
def browser(told: TieredMemory, serve: Callable[..., httpx.Client]) -> httpx.Client:
    """A client that keeps cookies and goes where it is led."""
    client = serve(told)
    client.follow_redirects = True
    return client


def verdicts(page: httpx.Response, **wanted: str) -> dict[str, Any]:
    """Return the fields that tick items, by whether they are ``true`` or ``false``."""
    words = {"true": "nurse", "false": "antique"}
    ticked = {}
    for article in page.text.split("<article>")[1:]:
        item = article.partition(">Sources<")[0]
        (field,) = set(re.findall(r'name="(verdict-[\d.]+)"', article))
        for name, verdict in wanted.items():
            if words[name] in item:
                ticked[field] = verdict
    return ticked


def test_a_digest_stands_beside_its_sources_with_what_is_odd_about_it(
    browser: httpx.Client, told: TieredMemory
) -> None:
    """What waits for a person is shown, and what was not said is flagged, as in the report of an audit."""
    told.consolidate()

    page = browser.get("/inspector/digests")
    shown = words_of(page)

    assert ENGLISH.waiting.format(n=1, all=1) in shown
    assert "number was not said" in shown
    assert "<u>" in page.text
    assert "<mark>Lisbon</mark>" in page.text


def test_verdicts_are_noted(browser: httpx.Client, told: TieredMemory) -> None:
    """What is wrong gets its flag and stays; a digest that is judged whole waits no more, and shows it."""
    told.consolidate()
    page = browser.get("/inspector/digests")

    after = submit(browser, page, "/inspector/digests", **verdicts(page, true="right", false="wrong"))

    assert ENGLISH.noted.format(right=1, wrong=1, unsure=0) in words_of(after)
    assert {record.text: record.flags for record in told.records(kinds=("fact", "profile"))} == {
        TRUE: (),
        FALSE: ("wrong",),
    }
    assert told.stats().reviews == 0
    assert after.text.count(" checked") == 2


def test_what_is_wrong_is_forgotten_where_that_is_ticked(browser: httpx.Client, told: TieredMemory) -> None:
    """The invented item goes at once; the true one stays."""
    told.consolidate()
    page = browser.get("/inspector/digests")

    submit(browser, page, "/inspector/digests", retract="yes", **verdicts(page, false="wrong"))

    assert [record.text for record in told.records(kinds=("fact", "profile"))] == [TRUE]


def test_a_verdict_on_another_text_is_not_noted(browser: httpx.Client, told: TieredMemory) -> None:
    """An item that changed while the page was open is left as it is."""
    told.consolidate()
    page = browser.get("/inspector/digests")
    (false,) = (record.id for record in told.records(kinds=("fact", "profile")) if record.text == FALSE)
    told.update(false, text="The user collects clocks.")

    answer = submit(browser, page, "/inspector/digests", **verdicts(page, false="wrong"))

    assert ENGLISH.noted.format(right=0, wrong=0, unsure=0) in words_of(answer)
    assert told.get(false).flags == ()  # type: ignore[union-attr]


def test_dead_letters_are_shown_and_tried_again(
    browser: httpx.Client, told: TieredMemory, summarizer: Inventing
) -> None:
    """What failed for good says why, leads to its conversation, and is done once the model works."""
    summarizer.works = False
    told.consolidate()
    page = browser.get("/inspector/work")
    assert "the model refuses <b>this</b>" in words_of(page)
    assert "/inspector/session?id=monday" in page.text

    summarizer.works = True
    submit(browser, page, "/inspector/work", retry="yes")

    assert told.stats().dead_letters == ()
    assert {record.text for record in told.records(kinds=("fact", "profile"))} == {TRUE, FALSE}


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0 B"), (1_023, "1023 B"), (1_024, "1.0 KiB"), (5 << 20, "5.0 MiB"), (3 << 40, "3.0 TiB")],
)
def test_bytes_are_written_for_people(number: int, shown: str) -> None:
    """With the unit that keeps the number short."""
    assert size(number) == shown
