"""Auditing digests: which are drawn, what a person says of them, and that the report holds texts as texts."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from siltstone import (
    BackendUnavailableError,
    ConfigurationError,
    InvalidInputError,
    ModelError,
    NotFoundError,
    ReadOnlyError,
    Record,
    Settings,
    TieredMemory,
)
from siltstone.cli import main
from siltstone.protocols import Put, Summarizer
from siltstone.quality import Judgement, audit, take_verdicts, write_report
from siltstone.quality.drawing import draw
from siltstone.quality.judge import read
from siltstone.quality.page.assets import SCRIPT, STYLE, policy
from siltstone.quality.page.document import render
from siltstone.quality.page.marking import shared, unsaid
from siltstone.quality.values import text_mark
from siltstone.records import Digest, DigestItem
from siltstone.testing import FrozenClock, HashEmbedder, ScriptedChatModel, WordCounter

SCRIPTED = "<script>alert('我')</script><img src=x onerror=alert(1)>"
ENGLISH = ["I live in Lisbon and I work as a nurse at the Santa Maria hospital.", "Nice! Anything else?"]
CHINESE = ["我叫小林，住在杭州，对花生过敏，今年三十二岁。", "好的，记住了。"]


class Inventing:
    """A summarizer that tells what was said, and something that was not."""

    name = "inventing"

    def summarize(self, messages: Any, *, max_tokens: int | None = None) -> Digest:
        """Return a true fact and an invented one for the first message."""
        first = messages[0]
        true = DigestItem(first.content, (first.id,), None, "user", "home")
        chinese = not first.content.isascii()
        false = "用户收集古董钟表，今年九十九岁。" if chinese else "The user collects 99 antique clocks in Vienna."
        return Digest("home", first.content, (true,), (DigestItem(false, (first.id,), None, "user", "hobby"),))


Open = Callable[..., TieredMemory]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Open a memory of one folder, an hour after what is told in it; closed in the end."""
    made: list[TieredMemory] = []
    hashing = HashEmbedder()

    def memory(
        *, summarizer: Summarizer | None = None, share: float = 1.0, embedder: Any = hashing, **options: Any
    ) -> TieredMemory:
        made.append(
            TieredMemory.open(
                tmp_path / "m",
                embedder=embedder,
                token_counter=WordCounter(),
                summarizer=summarizer,
                clock=FrozenClock("2024-05-08T13:00:00+00:00"),
                settings=Settings(embed_wait=5.0, review_share=share),
                **options,
            )
        )
        return made[-1]

    yield memory
    for one in made:
        one.close()


def tell(memory: TieredMemory, lines: list[str], session: str = "s") -> None:
    """Add a user's line and an answer, and digest them."""
    memory.add(
        [
            {"role": role, "content": line, "id": f"{session}-{n}", "created_at": "2024-05-08T12:00:00+00:00"}
            for n, (role, line) in enumerate(zip(("user", "assistant"), lines, strict=True))
        ],
        session_id=session,
    )
    memory.consolidate()


def save(path: Path, memory: TieredMemory, verdict: Callable[[str], str]) -> Path:
    """Write the report of an audit of everything, tick each item by its text, and save what the button saves."""
    drawn = audit(memory, sample=1.0)
    page = Page(render(drawn))
    texts = {entry.record.id: entry.record.text for entry in drawn.entries}
    rows = [
        {
            **{name: one[f"data-{name}"] for name in ("digest", "item", "mark")},
            "verdict": verdict(texts[one["data-item"]]),
        }
        for one in page.attributes("fieldset")
        if verdict(texts[one["data-item"]])
    ]
    (body,) = page.attributes("main")
    saved = {"format": body["data-format"], "version": int(body["data-version"]), "user_id": body["data-user"]}
    path.write_text(json.dumps({**saved, "verdicts": rows}), encoding="utf-8")
    return path


class Page(HTMLParser):
    """What a browser sees of a page: elements with their attributes, and the text outside of scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in ("meta", "input"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Note that an element ends, and that it was the innermost one."""
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note a text, and where it stands."""
        self.texts.append((self._open[-1] if self._open else "", data))

    def attributes(self, tag: str) -> list[dict[str, str]]:
        """Return the attributes of each element of a name."""
        return [found for name, found in self.elements if name == tag]

    def text(self, *tags: str) -> str:
        """Return the text inside elements of these names, or all that is shown."""
        return "".join(text for tag, text in self.texts if (tag in tags if tags else tag not in ("script", "style")))


def wrong_if_invented(text: str) -> str:
    """Judge an item as a person would."""
    return "wrong" if "antique" in text or "古董" in text else "right"


def test_the_queue_comes_first_and_chance_is_seeded() -> None:
    """What waits is drawn first, then what nobody has seen, then the rest, as many as the share says."""
    ids = [f"d{n}" for n in range(20)]
    chosen = draw(ids, ["d7", "d3", "gone"], {"d1", "d2"}, sample=0.25, seed=1)
    assert chosen[:2] == ["d7", "d3"]
    assert len(chosen) == 5
    assert chosen == draw(ids[::-1], ["d7", "d3", "gone"], {"d2", "d1"}, sample=0.25, seed=1)
    assert chosen[2:] != draw(ids, ["d7", "d3"], {"d1", "d2"}, sample=0.25, seed=2)[2:]
    assert set(draw(ids, [], {"d1", "d2"}, sample=1.0, seed=0)[-2:]) == {"d1", "d2"}
    assert len(draw(["one"], [], (), sample=0.01, seed=0)) == 1
    assert draw([], [], (), sample=1.0, seed=0) == []


@pytest.mark.parametrize("lines", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_what_was_made_up_is_flagged_beside_its_source(opened: Open, lines: list[str]) -> None:
    """The invented item has its flags and its source; what was said has none."""
    memory = opened(summarizer=Inventing())
    tell(memory, lines)
    drawn = audit(memory, sample=1.0)
    assert (drawn.total, drawn.waiting, len(drawn.digests)) == (1, 0, 1)
    assert drawn.digests[0].queued
    flags = {wrong_if_invented(entry.record.text): entry.flags for entry in drawn.entries}
    assert "unsupported" in flags["wrong"]
    assert "number" in flags["wrong"]
    assert flags["right"] == ()
    assert all(entry.sources[0].content == lines[0] for entry in drawn.entries)


def test_what_the_rules_find_has_no_flag(opened: Open) -> None:
    """Digests of the extractive summarizer quote: nothing in them is unsupported."""
    memory = opened()
    tell(memory, ENGLISH, "english")
    tell(memory, CHINESE, "中文")
    drawn = audit(memory, sample=1.0)
    assert len(drawn.digests) == 2
    assert [entry.flags for entry in drawn.entries if entry.flags] == []
    assert len(audit(memory, sample=0.5).digests) == 1
    assert audit(memory, sample=0.5).waiting == 1
    with pytest.raises(InvalidInputError):
        audit(memory, sample=0.0)


def test_verdicts_empty_the_queue_and_mark_what_is_wrong(opened: Open, tmp_path: Path) -> None:
    """All ticked, a digest has been reviewed for good; the wrong item has a flag and stays."""
    memory = opened(summarizer=Inventing())
    tell(memory, ENGLISH)
    assert memory.stats().reviews == 1
    file = save(tmp_path / "v.json", memory, wrong_if_invented)
    report = take_verdicts(memory, file)
    assert (len(report.wrong), report.reviewed, report.outdated, report.forgotten) == (1, 1, (), ())
    assert memory.stats().reviews == 0
    (wrong,) = (record for record in memory.records() if "wrong" in record.flags)
    assert "antique" in wrong.text
    revision = memory.revision
    assert take_verdicts(memory, file) == report
    assert memory.revision == revision
    assert {entry.verdict for entry in audit(memory, sample=1.0).entries} == {"right", "wrong"}
    take_verdicts(memory, save(tmp_path / "v.json", memory, lambda text: "right"))
    assert not any("wrong" in record.flags for record in memory.records())
    memory.close()
    assert opened().stats().reviews == 0


@pytest.mark.parametrize("order", [1, -1], ids=["wrong first", "wrong last"])
def test_of_contradicting_verdicts_wrong_counts_and_is_reported(opened: Open, tmp_path: Path, order: int) -> None:
    """What was said twice belongs to two digests: ticked wrong in one of them and right in the other, it is wrong."""
    memory = opened()
    tell(memory, ENGLISH, "a")
    tell(memory, ENGLISH, "b")
    drawn = audit(memory, sample=1.0)
    shown = [(digest.id, entry.record) for digest in drawn.digests for entry in digest.entries]
    twice = next(record for _, record in shown if record.support > 1)
    rows = [
        {"digest": digest, "item": record.id, "mark": text_mark(record.text), "verdict": verdict}
        for (digest, record), verdict in zip(
            [one for one in shown if one[1].id == twice.id], ["wrong", "right"][::order], strict=True
        )
    ]
    file = tmp_path / "v.json"
    saved = {"format": "siltstone-verdicts", "version": 1, "user_id": memory.user_id, "verdicts": rows}
    file.write_text(json.dumps(saved), encoding="utf-8")

    report = take_verdicts(memory, file)

    assert (report.wrong, report.right, report.contradicted) == ((twice.id,), (), (twice.id,))
    assert [record.id for record in memory.records() if "wrong" in record.flags] == [twice.id]
    assert {entry.verdict for entry in audit(memory, sample=1.0).entries if entry.record.id == twice.id} == {"wrong"}
    assert take_verdicts(memory, file) == report


def test_what_is_wrong_is_told_in_no_context(opened: Open, tmp_path: Path) -> None:
    """It is found by a search, flagged, and counted where it is left out; judged right again, it is told again."""
    memory = opened(summarizer=Inventing())
    tell(memory, ENGLISH)
    question = "What does the user collect?"
    assert "antique" in memory.context(question).text
    take_verdicts(memory, save(tmp_path / "v.json", memory, wrong_if_invented))
    told = memory.context(question)
    assert "antique" not in told.text
    assert "Lisbon" in told.text
    assert told.omitted["wrong"] == 1
    assert any("antique" in hit.record.text and "wrong" in hit.record.flags for hit in memory.search(question))
    take_verdicts(memory, save(tmp_path / "v.json", memory, lambda text: "right"))
    assert "antique" in memory.context(question).text


def test_a_summary_that_rests_on_a_wrong_one_gives_way_to_its_other_parts() -> None:
    """What was made of something wrong may tell it as well: in a context stand the parts that are right."""
    day = datetime(2024, 5, 8, tzinfo=timezone.utc)

    def summary(id: str, *sources: str, level: int = 0, flags: tuple[str, ...] = ()) -> Put:
        return Put(
            Record(
                id=id, text=f"what {id} tells", kind="summary", level=level, user_id="default", session_id="s",
                source_ids=sources, created_at=day, stored_at=day, made_by="m", flags=flags,
            )
        )  # fmt: skip

    with TieredMemory.open(":memory:", embedder=HashEmbedder(), clock=FrozenClock(day)) as memory:
        puts = [
            summary("one", "m1", flags=("wrong",)),
            summary("two", "m2"),
            summary("both", "one", "two", level=1),
            summary("week", "both", level=2),
        ]
        memory.handle.store.commit("default", puts)  # type: ignore[attr-defined]
        text = memory.context(sections=["summary"]).text
    assert "what two tells" in text
    assert not any(f"what {id} tells" in text for id in ("one", "both", "week"))


def test_a_digest_that_is_half_read_waits(opened: Open, tmp_path: Path) -> None:
    """While an item has no verdict, its digest waits, also one that was drawn by chance; earlier verdicts are kept."""
    memory = opened(summarizer=Inventing(), share=0.0)
    tell(memory, ENGLISH)
    file = save(tmp_path / "v.json", memory, lambda text: "wrong" if "antique" in text else "")
    assert take_verdicts(memory, file).reviewed == 0
    assert memory.stats().reviews == 1
    file = save(tmp_path / "v.json", memory, lambda text: "" if "antique" in text else "unsure")
    assert take_verdicts(memory, file).reviewed == 1
    assert memory.stats().reviews == 0


def test_summaries_of_summaries_are_no_digests_of_their_own(opened: Open) -> None:
    """Of a long session, whose spans have been rolled up, each span is a digest, and quoting it has no flag."""
    memory = opened()
    lines = [ENGLISH[0], CHINESE[0], "I never drink coffee; my sister Ana does.", "我周六去苏州，但不坐火车。"] * 10
    memory.add(
        [
            {"role": role, "content": line, "created_at": "2024-05-07T12:00:00+00:00"}
            for line in lines
            for role in ("user", "assistant")
        ],
        session_id="long",
    )
    memory.consolidate()
    levels = [record.level for record in memory.records(kinds="summary")]
    assert max(levels) > 0
    drawn = audit(memory, sample=1.0)
    assert drawn.total == levels.count(0)
    summaries = [entry for entry in drawn.entries if entry.record.kind == "summary"]
    assert [entry.record.level for entry in summaries] == [0] * drawn.total
    assert [entry.flags for entry in summaries] == [()] * drawn.total


@pytest.mark.parametrize("lines", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_retracted_items_are_forgotten_and_stay_so(opened: Open, tmp_path: Path, lines: list[str]) -> None:
    """With ``retract`` what is wrong goes, and is not made again; what was right is there after the next run."""
    memory = opened(summarizer=Inventing())
    tell(memory, lines)
    before = {record.text for record in memory.records() if record.kind != "turn"}
    report = take_verdicts(memory, save(tmp_path / "v.json", memory, wrong_if_invented), retract=True)
    assert set(report.wrong) <= set(report.forgotten)
    memory.consolidate()
    after = {record.text for record in memory.records() if record.kind != "turn"}
    assert {text for text in before if wrong_if_invented(text) == "right"} <= after
    assert not any(wrong_if_invented(text) == "wrong" for text in after)


def test_what_has_changed_since_the_report_is_left(opened: Open, tmp_path: Path) -> None:
    """A verdict holds for the text that was read: an item that was updated, or has gone, is reported and not marked."""
    memory = opened(summarizer=Inventing())
    tell(memory, ENGLISH)
    file = save(tmp_path / "v.json", memory, lambda text: "wrong")
    (invented,) = (record for record in memory.records() if "antique" in record.text)
    memory.update(invented.id, text="I live in Lisbon.")
    report = take_verdicts(memory, file)
    assert invented.id in report.outdated
    assert "wrong" not in memory.get(invented.id).flags  # type: ignore[union-attr]
    memory.forget(session_id="s")
    assert take_verdicts(memory, file).wrong == ()


def test_a_forgotten_source_is_nowhere_in_the_next_report(opened: Open) -> None:
    """What was forgotten is in no digest that can be drawn, and in no file of the store."""
    memory = opened()
    tell(memory, ENGLISH)
    assert "Lisbon" in render(audit(memory, sample=1.0))
    memory.forget(ids=["s-0"])
    memory.consolidate()
    assert "Lisbon" not in render(audit(memory, sample=1.0))


@pytest.mark.parametrize(
    "content",
    [
        "not json",
        "[]",
        '{"format": "siltstone-verdicts", "version": 9}',
        '{"format": "siltstone-verdicts", "version": 1}',
    ],
)
def test_a_file_that_holds_no_verdicts_is_refused(opened: Open, tmp_path: Path, content: str) -> None:
    """One sentence says what is wrong with the file, and that nothing was noted."""
    memory = opened()
    (tmp_path / "v.json").write_text(content)
    with pytest.raises(InvalidInputError, match="nothing was noted"):
        take_verdicts(memory, tmp_path / "v.json")
    with pytest.raises(NotFoundError, match="nothing was noted"):
        take_verdicts(memory, tmp_path / "absent.json")


def test_verdicts_on_another_user_are_refused(opened: Open, tmp_path: Path) -> None:
    """A report is about one user; its verdicts touch nobody else, and nothing in a read-only memory."""
    memory = opened(user_id="alice")
    tell(memory, ENGLISH)
    file = save(tmp_path / "v.json", memory, lambda text: "wrong")
    with pytest.raises(InvalidInputError, match="'alice'"):
        take_verdicts(memory.for_user("bob"), file)
    with pytest.raises(ReadOnlyError):
        take_verdicts(opened(user_id="alice", read_only=True), file)


@pytest.mark.parametrize("language", ["en", "zh", None])
def test_texts_stay_texts(opened: Open, language: Any) -> None:
    """A stored script is shown, not run: the page has one script and one style, ours, and nothing from outside."""
    memory = opened(summarizer=Inventing(), user_id='a"b<c>\r\n&amp;')
    tell(memory, [f"I live in Lisbon. {SCRIPTED}\x00\x07", "]]><!-- <b>"], session='"><script>x</script>')
    html = render(audit(memory, sample=1.0), language=language)
    page = Page(html)
    assert page.text("script") == SCRIPT
    assert page.text("style") == STYLE
    assert SCRIPTED in page.text()
    assert "\x00" not in html
    names = {name for name, _ in page.elements}
    assert not names & {"img", "b", "iframe", "link", "form", "object", "base"}
    assert not any(name.startswith("on") or name in ("src", "style") for _, found in page.elements for name in found)
    assert [found["href"] for _, found in page.elements if "href" in found] == ["#digests"]
    assert page.attributes("main")[0]["data-user"] == 'a"b<c>\r\n&amp;'
    (csp,) = (found["content"] for found in page.attributes("meta") if "http-equiv" in found)
    assert csp == policy()
    assert csp.startswith("default-src 'none'")
    assert "unsafe" not in csp


def test_the_page_speaks_the_language_of_its_items(opened: Open) -> None:
    """Chinese items have Chinese headings, English ones English; a setting overrules; each text says its own."""
    memory = opened(summarizer=Inventing())
    tell(memory, CHINESE)
    drawn = audit(memory, sample=1.0)
    page = Page(render(drawn))
    assert page.attributes("html")[0]["lang"] == "zh"
    assert "摘要抽查" in page.text("h1")
    assert "数字没有说过" in page.text("li")
    english = Page(render(drawn, language="en"))
    assert english.text("h1") == "Audit of digests"
    assert {found.get("lang") for found in english.attributes("p") if found.get("class") == "text"} == {"zh"}


def test_the_page_is_for_keyboards_and_readers_aloud(opened: Open) -> None:
    """Each item is a group of three labelled radio buttons with a question; sections and articles have names."""
    memory = opened(summarizer=Inventing())
    tell(memory, ENGLISH)
    page = Page(render(audit(memory, sample=1.0)))
    ids = [found["id"] for _, found in page.elements if "id" in found]
    assert len(ids) == len(set(ids))
    named = [found["aria-labelledby"] for _, found in page.elements if "aria-labelledby" in found]
    assert named
    assert set(named) <= set(ids)
    groups = page.attributes("fieldset")
    assert len(page.attributes("legend")) == len(groups)
    assert len(page.attributes("input")) == len(page.attributes("label")) == 3 * len(groups)
    assert len({found["name"] for found in page.attributes("input")}) == len(groups)
    assert page.attributes("span")[-1]["aria-live"] == "polite"
    assert "prefers-color-scheme: dark" in STYLE


def test_words_that_both_have_are_marked() -> None:
    """Shared words are marked in sources, unsaid ones in items, in both languages; the pieces are the whole text."""
    for text, other, marked in (
        ("I live in Lisbon, near the sea", "They live in Lisbon", ["live", "Lisbon"]),
        ("我住在杭州西湖边", "用户住在杭州", ["住在杭州"]),
    ):
        pieces = list(shared(text, other))
        assert "".join(piece for piece, _ in pieces) == text
        assert [piece for piece, mark in pieces if mark] == marked
    for text, said, new in (
        ("The user lives in Porto", "I live in Lisbon", ["Porto"]),
        ("用户住在成都", "我住在杭州", ["成都"]),
    ):
        pieces = list(unsaid(text, said))
        assert "".join(piece for piece, _ in pieces) == text
        assert [piece for piece, mark in pieces if mark] == new


def test_a_report_is_its_owners_and_outside_the_store(opened: Open, tmp_path: Path) -> None:
    """The file is readable by its owner only, and cannot be where ``forget`` must vouch for every file."""
    memory = opened()
    tell(memory, ENGLISH)
    drawn = audit(memory, sample=1.0)
    write_report(drawn, tmp_path / "a.html")
    assert (tmp_path / "a.html").stat().st_mode & 0o777 == 0o600
    with pytest.raises(ConfigurationError):
        write_report(drawn, tmp_path / "m" / "a.html")


def test_a_judge_is_one_more_column(opened: Open) -> None:
    """The model is asked once for each digest, in its language; what it does not support is flagged."""
    memory = opened(summarizer=Inventing())
    tell(memory, CHINESE)
    model = ScriptedChatModel(['好的：{"verdicts": [{"item": "[i2]", "supported": "false", "why": "没说过"}]}'])
    drawn = audit(memory, sample=1.0, judge=model)
    first, second = drawn.entries
    assert first.judged is None
    assert second.judged == Judgement(False, "没说过")
    assert "judge" in second.flags
    (call,) = model.calls
    assert "检查笔记" in call.messages[0].content
    assert call.messages[1].content.splitlines()[0].startswith("[m1] (2024-05-08) user: 我叫小林")
    assert "没说过" in Page(render(drawn)).text()


def test_a_judge_sees_nothing_sensitive(tmp_path: Path) -> None:
    """What ``Settings.sensitive`` keeps from models outside the process is not in what the judge is asked, either."""
    settings = Settings(embed_wait=5.0, sensitive=["email"])
    clock = FrozenClock("2024-05-08T13:00:00+00:00")
    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), clock=clock, settings=settings) as memory:
        tell(memory, ["I live in Lisbon, write to alice@example.org.", "Noted."])
        model = ScriptedChatModel(['{"verdicts": [{"item": "i1", "supported": true}]}'])
        audit(memory, sample=1.0, judge=model)
    (call,) = model.calls
    assert "Lisbon" in call.messages[1].content
    assert not any("alice@example.org" in message.content for message in call.messages)


def test_a_judge_that_fails_is_said(opened: Open) -> None:
    """A digest that the model did not judge has its checks, and says why."""
    memory = opened(summarizer=Inventing())
    tell(memory, ENGLISH, "a")
    tell(memory, ENGLISH, "b")
    model = ScriptedChatModel(["I cannot answer.", BackendUnavailableError("the server is down")])
    drawn = audit(memory, sample=1.0, judge=model)
    assert [digest.failure for digest in drawn.digests] == ["the answer holds no verdict", "the server is down"]
    assert all(entry.judged is None and entry.checked.score > 0 for entry in drawn.entries if not entry.flags)
    assert "the server is down" in Page(render(drawn)).text()


def test_labels_that_are_none_are_passed_over() -> None:
    """An answer counts for the items that it names, whatever the form of the label; one that names none is an error."""
    answer = '{"verdicts": [{"item": "i9", "supported": true}, {"item": "I2", "supported": true, "why": "said"}]}'
    first, second = read(answer, 2)
    assert first is None
    assert second == Judgement(True, "said")
    with pytest.raises(ModelError):
        read('{"verdicts": [{"item": "i9", "supported": true}]}', 2)


def test_the_command_writes_and_takes_in(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """``--sample`` writes the report and says that it is plain text; ``--verdicts`` notes; without, it is the trail."""
    memory = opened(summarizer=Inventing(), embedder=None)
    tell(memory, ENGLISH)
    file = save(tmp_path / "v.json", memory, wrong_if_invented)
    memory.close()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SILTSTONE_STORE", str(tmp_path / "m"))
    monkeypatch.delenv("SILTSTONE_EMBEDDER", raising=False)

    def run(*args: str) -> tuple[str, str, int]:
        with pytest.raises(SystemExit) as ended:
            main(["audit", *args])
        out, err = capsys.readouterr()
        return out, err, int(ended.value.code or 0)

    out, err, code = run("--sample", "1")
    assert code == 0
    assert "unsupported" in out
    assert "plain text" in err
    assert "antique" in (tmp_path / "audit.html").read_text(encoding="utf-8")
    out, _, _ = run("--sample", "1", "--json", "--out", "b.html")
    assert json.loads(out)["audit"]["total"] == 1
    out, _, _ = run("--verdicts", str(file), "--retract", "--yes")
    assert re.search(r"1 wrong.*1 digests reviewed\nforgotten: \d", out)
    out, _, _ = run()
    assert "forget" in out
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert run("--sample", "1")[2] == 1  # the report is there, and nobody can be asked
    out, err, code = run("--sample", "2")
    assert (code, "a share between 0 and 1" in err, "will be replaced" in err) == (1, True, False)
    assert run("--retract")[2] == 2
    assert run("--sample", "1", "--verdicts", str(file))[2] == 2
