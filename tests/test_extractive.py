"""The summarizer without a model: small, faithful, deterministic, in the language of the conversation."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siltstone.compress.budget import RoughCounter
from siltstone.compress.extractive import ExtractiveSummarizer
from siltstone.protocols import Summarizer
from siltstone.records import Digest, Message
from siltstone.testing import FailingEmbedder, HashEmbedder, WordCounter
from siltstone.text.guard import fence
from siltstone.text.language import script
from siltstone.text.tokenize import terms

AT = datetime(2024, 5, 3, 18, tzinfo=timezone.utc)
ENGLISH = [
    ("user", "Hi! I'm Priya, a nurse at the children's hospital in Sheffield. How are you?"),
    ("assistant", "Hello Priya! I'm fine, thank you. What can I do for you?"),
    ("user", "I can't sleep after night shifts. The tram passes my window at 7 and I wake up every single time."),
    ("assistant", "Earplugs, blackout curtains and a fixed bedtime help most people. Do you drink coffee at night?"),
    ("user", "No, I can't stand coffee. Tea until four in the morning, though. Haha."),
    ("assistant", "Then try to stop the tea at two, and keep the bedroom cool. That is great progress already!"),
    ("user", "Thanks! I go back to day shifts on 18 June, and in July we fly to Kerala to see my grandmother."),
]
CHINESE = [
    ("user", "你好！我叫林晓雯，在杭州一家跨境电商公司做前端。"),
    ("assistant", "你好晓雯！有什么可以帮你的？"),
    ("user", "我想换工作了，天天加班到十点，身体吃不消，医生说我血压有点高。"),
    ("assistant", "先注意休息，少吃盐，每天量一次血压。工作方面可以先更新简历，投几家不加班的公司。"),
    ("user", "简历已经改好了，下周三有个面试，是做医疗软件的，在滨江。哈哈有点紧张。"),
    ("assistant", "加油！可以准备一下项目亮点，提前了解这家公司的产品和团队。"),
    ("user", "好的谢谢。面试完我就请年假，六月带我妈去青岛看海，她还没看过海呢。"),
]

NAMES = [
    "Ada",
    "Bea",
    "Cleo",
    "Dora",
    "Elsa",
    "Fay",
    "Gwen",
    "Hope",
    "Ines",
    "Jane",
    "Kira",
    "Lena",
    "Mona",
    "Nora",
    "Olga",
    "Pia",
    "Rita",
    "Sara",
    "Tina",
    "Uma",
]


def talk(lines: list[tuple[str, str]]) -> list[Message]:
    """Return the lines as messages with the ids m0, m1 …"""
    return [Message(role, text, id=f"m{n}", created_at=AT) for n, (role, text) in enumerate(lines)]


def digest(lines: list[tuple[str, str]], **options: object) -> Digest:
    """Return the digest of some lines by the summarizer without an embedder."""
    return ExtractiveSummarizer().summarize(talk(lines), **options)  # type: ignore[arg-type]


def test_what_is_beside_the_point_goes_first_where_much_is_stated() -> None:
    """Of a long conversation of statements alone, each is kept, without what hangs on its end."""
    lines = [("user", f"My friend {name} is {age} and deeply fond of opera.") for age, name in enumerate(NAMES, 31)]
    lines += [("assistant", "Thank you for telling me about your friends and their taste in music. " * 2)] * 20
    found = digest(lines)
    texts = [item.text for item in found.facts if item.attribute == "age"]
    assert len(texts) == len(NAMES)
    assert all("opera" not in text for text in texts)
    assert found.summary
    few = [item.text for item in digest(lines[:3]).facts if item.attribute == "age"]
    assert all("opera" in text for text in few)


def test_it_is_a_summarizer() -> None:
    """It fulfils the contract, under the name that records will show."""
    assert isinstance(ExtractiveSummarizer(), Summarizer)
    assert digest(ENGLISH).made_by == ExtractiveSummarizer().name == "extractive"


@pytest.mark.parametrize("lines", [ENGLISH, CHINESE], ids=["english", "chinese"])
def test_the_summary_is_a_fifth_of_its_source_at_most(lines: list[tuple[str, str]]) -> None:
    """By default a span shrinks five times or more; a smaller budget is kept as well."""
    counter = RoughCounter()
    source = sum(counter.count(text) for _, text in lines)
    assert 0 < counter.count(digest(lines).summary) <= source / 5
    assert 0 < counter.count(digest(lines, max_tokens=20).summary) <= 20


@pytest.mark.parametrize(("lines", "chinese"), [(ENGLISH, False), (CHINESE, True)], ids=["english", "chinese"])
def test_the_language_stays_as_written(lines: list[tuple[str, str]], chinese: bool) -> None:
    """Topic, summary and items are in the words of the conversation."""
    found = digest(lines)
    for text in [found.topic, found.summary, *(item.text for item in found.facts)]:
        assert (script(text) == "han") == chinese
    assert set(terms(found.summary)) <= set(terms(" ".join(f"user assistant {text}" for _, text in lines)))


def test_the_topic_names_what_it_is_about() -> None:
    """A few words, from the conversation itself."""
    assert any(word in digest(ENGLISH).topic.lower() for word in ("shift", "tea", "night", "hospital", "coffee"))
    assert any(word in digest(CHINESE).topic for word in ("面试", "公司", "简历", "医疗", "血压"))
    assert len(digest(ENGLISH).topic.split(", ")) <= 3


def test_items_rest_on_their_messages() -> None:
    """Facts, preferences and events carry the ids of what they were read from, and their days."""
    found = digest(ENGLISH)
    facts = {item.attribute: item for item in found.facts}
    assert facts["name"].source_ids == ("m0",)
    assert facts["work"].subject == "user"
    assert [item.attribute for item in found.preferences] == ["dislike"]
    assert {item.occurred_at.date().isoformat() for item in found.events if item.occurred_at} == {
        "2024-06-18",
        "2024-07-01",
    }
    assert found.source_ids == tuple(f"m{n}" for n in range(7))


def test_chinese_items_are_found_as_well() -> None:
    """The same fields, in Chinese."""
    found = digest(CHINESE)
    assert {"name", "work", "health"} <= {item.attribute for item in found.facts}
    assert {item.occurred_at.date().isoformat() for item in found.events if item.occurred_at} >= {
        "2024-05-08",
        "2024-06-01",
    }


def test_messages_without_ids_give_items_without_sources() -> None:
    """Nothing is invented where a message has no id."""
    found = ExtractiveSummarizer().summarize([Message("user", "I live in Leeds.")])
    assert [(item.text, item.source_ids) for item in found.facts] == [("I live in Leeds", ())]


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [Message("system", "Be kind.")],
        [Message("tool", "42")],
        [Message("assistant", "", metadata={"tool_calls": []})],
    ],
)
def test_a_span_in_which_nobody_speaks_has_an_empty_digest(messages: list[Message]) -> None:
    """No messages, system prompts and tool results alone: empty, not an error."""
    found = ExtractiveSummarizer().summarize(messages)
    assert (found.topic, found.summary, found.facts) == ("", "", ())


def test_small_talk_alone_makes_no_items() -> None:
    """Greetings and thanks leave nothing behind but a line of summary."""
    found = digest(
        [("user", "Hi there!"), ("assistant", "Hello! How can I help?"), ("user", "Just saying hi, thanks, bye!")]
    )
    assert (found.facts, found.preferences, found.events) == ((), (), ())


def test_injected_memories_do_not_come_back() -> None:
    """What siltstone put into the prompt is neither summarised nor made an item."""
    found = digest(
        [("user", fence("I live in Oslo and love herring.") + "\nWhat should I cook tonight, I live in Leeds?")]
    )
    assert "herring" not in found.summary
    assert "Oslo" not in str(found)


def test_novelty_counts() -> None:
    """A thing said twenty times takes one place in the summary, and the other things theirs."""
    lines = [("user", "The boiler in the cellar is broken again.")] * 20 + [
        ("user", "Grandma's piano arrives from Vienna.")
    ]
    summary = digest(lines).summary
    assert summary.count("boiler") == 1
    assert "piano" in summary


def test_an_embedder_is_optional_and_changes_no_promise() -> None:
    """With vectors the choice may differ; budget, words and determinism stay."""
    summarizer = ExtractiveSummarizer(HashEmbedder())
    first, second = (summarizer.summarize(talk(ENGLISH)) for _ in range(2))
    assert first == second
    assert RoughCounter().count(first.summary) <= sum(RoughCounter().count(text) for _, text in ENGLISH) / 5
    with pytest.raises(Exception, match="down"):
        ExtractiveSummarizer(FailingEmbedder()).summarize(talk(ENGLISH))


def test_the_callers_counter_decides() -> None:
    """The budget is counted as the application's model counts."""
    counter = WordCounter()
    found = ExtractiveSummarizer(counter=counter).summarize(talk(ENGLISH), max_tokens=9)
    assert 0 < counter.count(found.summary) <= 9


LINES = st.lists(
    st.tuples(
        st.sampled_from(["user", "assistant"]),
        st.text(
            alphabet=st.sampled_from("I live in Rome. 我住在北京，喜欢猫！ My dog is 3?\n5月 \"'“”()*#\t"), max_size=120
        )
        | st.sampled_from([text for _, text in ENGLISH + CHINESE]),
    ),
    max_size=12,
)


@given(LINES, st.integers(0, 60))
def test_any_conversation_has_a_digest_within_its_budget(lines: list[tuple[str, str]], budget: int) -> None:
    """Whatever is said: no error, twice the same, within the budget, every source a message of the span."""
    found = digest(lines, max_tokens=budget)
    assert found == digest(lines, max_tokens=budget)
    assert RoughCounter().count(found.summary) <= budget
    ids = {f"m{n}" for n in range(len(lines))}
    assert {
        id for items in (found.facts, found.preferences, found.events) for item in items for id in item.source_ids
    } <= ids


def test_a_very_long_conversation_is_digested_in_reasonable_time() -> None:
    """Thousands of messages are one call, not a quadratic one."""
    lines = [
        ("user", f"Number {n}: I met person {n} in town {n % 97} and we talked about topic {n % 53}.")
        for n in range(3000)
    ]
    assert digest(lines, max_tokens=500).summary
