"""An item is kept only where its sources say it: in English and Chinese, with the same yes or no."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from siltstone.compress.speech import Utterance, utterances
from siltstone.compress.support import check, supported
from siltstone.records import Digest, DigestItem, Message


def said(*lines: str) -> list[Utterance]:
    """Return the utterances of a user's messages, with the ids id1, id2 …"""
    return utterances([Message("user", line, id=f"id{number}") for number, line in enumerate(lines, 1)])


@pytest.mark.parametrize(
    ("source", "item"),
    [
        ("I'm Alice, a front-end engineer in Shenzhen.", "Alice is a front-end engineer in Shenzhen"),
        ("I'm Alice, a front-end engineer in Shenzhen.", "The user works as a front-end engineer"),
        ("We moved to Berlin last month because of my wife's job.", "User moved to Berlin last month"),
        ("I no longer eat meat, only fish now and then.", "The user no longer eats meat"),
        ("I can't stand loud restaurants.", "User can't stand loud restaurants"),
        ("My sister Noor studies sea otters in Monterey.", "Noor studies sea otters"),
        ("I paid 71k for it, four days a week.", "The user works four days a week"),
        ("我叫张三，是深圳的前端工程师。", "张三是深圳的前端工程师"),
        ("我叫张三，是深圳的前端工程师。", "用户是前端工程师"),
        ("我不再吃肉了，偶尔吃点鱼。", "用户不再吃肉"),
        ("下周三有个面试，是做医疗软件的。", "用户下周三有面试"),
        ("这家店不错，我每周都去。", "用户每周都去这家店"),
        ("我买了一台 iPhone 15，拍照很好。", "用户买了 iPhone 15"),
    ],
)
def test_what_was_said_is_supported(source: str, item: str) -> None:
    """A paraphrase in the words of its source holds."""
    assert supported(DigestItem(item), said(source))


@pytest.mark.parametrize(
    ("source", "item"),
    [
        pytest.param("I'm Alice, a front-end engineer in Shenzhen.", "Alice is a doctor in Boston", id="made-up"),
        pytest.param(
            "I'm Alice, a front-end engineer in Shenzhen.", "Alice is a front-end engineer in Beijing", id="other-place"
        ),
        pytest.param("I no longer eat meat.", "The user eats meat", id="negation-lost"),
        pytest.param("I eat meat every day.", "The user does not eat meat", id="negation-added"),
        pytest.param("If I lived in Paris I would eat cheese.", "The user lived in Paris", id="hypothetical"),
        pytest.param("Do you live in Paris with your dog?", "The user lives in Paris with a dog", id="question"),
        pytest.param("I have 2 cats and a garden.", "The user has 5 cats and a garden", id="other-number"),
        pytest.param("I like hiking with Tom.", "The user likes hiking with Bob", id="other-name"),
        pytest.param("hello there", "", id="empty"),
        pytest.param("我不再吃肉了。", "用户吃肉", id="否定丢失"),
        pytest.param("我每天吃肉。", "用户不吃肉", id="否定多出"),
        pytest.param("要是我住在成都就好了。", "用户住在成都", id="假设"),
        pytest.param("你住在成都吗？", "用户住在成都", id="提问"),
        pytest.param("我有2只猫。", "用户有5只猫", id="数字不同"),
        pytest.param("我叫张三，是深圳的前端工程师。", "用户是北京的医生", id="编造"),
        pytest.param("我叫张三，是深圳的前端工程师。", "Zhang San is a front-end engineer", id="语言变了"),
        pytest.param("I'm a front-end engineer in Shenzhen.", "用户是深圳的前端工程师", id="language-changed"),
    ],
)
def test_what_was_not_said_is_not(source: str, item: str) -> None:
    """Inventions, lost negations, suppositions, questions, other numbers and names, other languages fall."""
    assert not supported(DigestItem(item), said(source))


def test_known_words_need_no_source() -> None:
    """The speaker's name and a resolved date may stand in an item although no message says them."""
    item = DigestItem("Maria went to the dentist on 3 May 2024")
    assert not supported(item, said("I went to the dentist yesterday."))
    assert supported(item, said("I went to the dentist yesterday."), known=["Maria", "3 May 2024"])


def test_items_get_the_ids_of_their_messages_and_the_others_are_counted() -> None:
    """Labels become message ids, a wrong label is mended, and what nothing supports is dropped and counted."""
    digest = Digest(
        "t",
        "s",
        facts=(
            DigestItem("The user lives in Rome", source_ids=("m1",)),
            DigestItem("The user has a dog called Rex", source_ids=("m1", "m9")),
            DigestItem("The user owns a yacht", source_ids=("m2",)),
        ),
        preferences=(DigestItem("The user lives in Rome", source_ids=("m1",)),),
    )
    checked = check(digest, said("I live in Rome.", "My dog is called Rex."))
    assert [(item.text, item.source_ids) for item in checked.facts] == [
        ("The user lives in Rome", ("id1",)),
        ("The user has a dog called Rex", ("id2",)),
    ]
    assert (checked.preferences, checked.dropped) == ((), 1)


@pytest.mark.parametrize(
    ("source", "text", "written", "day"),
    [
        ("I fly to Rome next Friday.", "The user flies to Rome", "2024-05-10", "2024-05-10"),
        ("I fly to Rome next Friday.", "The user flies to Rome", "2024-12-24", "2024-05-10"),
        ("I flew to Rome yesterday.", "The user flew to Rome", None, "2024-05-01"),
        ("I fly to Rome soon.", "The user flies to Rome", "2024-12-24", None),
        ("下周五我飞罗马。", "用户下周五飞罗马", "2024-01-01", "2024-05-10"),
        ("六月三号我入职新公司。", "用户六月三号入职新公司", "2024-06-03", "2024-06-03"),
        ("六月三号我入职新公司。", "用户六月三号入职新公司", "2023-06-03", "2023-06-03"),
    ],
)
def test_the_day_of_an_event_is_read_from_its_source(
    source: str, text: str, written: str | None, day: str | None
) -> None:
    """A model's date counts only where the words allow it: an invented one is replaced or left out."""
    spoken = utterances([Message("user", source, id="a", created_at=datetime(2024, 5, 2, 9, tzinfo=timezone.utc))])
    occurred = datetime.fromisoformat(written).replace(tzinfo=timezone.utc) if written else None
    item = DigestItem(text, source_ids=("m1",), occurred_at=occurred)
    (event,) = check(Digest("t", "s", events=(item,)), spoken).events
    assert (event.occurred_at.date().isoformat() if event.occurred_at else None) == day


def test_of_an_item_with_several_sentences_the_supported_ones_stay() -> None:
    """Small models put true and invented sentences into one item: each is judged by itself."""
    text = "The user lives in Rome. The user has three yachts. The user loves tea."
    digest = Digest("t", "s", facts=(DigestItem(text, source_ids=("m1",)),))
    checked = check(digest, said("I live in Rome.", "I love tea."))
    assert [(item.text, item.source_ids) for item in checked.facts] == [
        ("The user lives in Rome.", ("id1",)),
        ("The user loves tea.", ("id2",)),
    ]
    assert checked.dropped == 1
