"""Statements that are told the other way round: the value is the subject, or the person the object."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from siltstone.compress.extractive import ExtractiveSummarizer
from siltstone.records import DigestItem, Message

AT = datetime(2024, 5, 3, 18, tzinfo=timezone.utc)


def items(text: str) -> list[DigestItem]:
    """Return what is found in one message of a user."""
    digest = ExtractiveSummarizer().summarize([Message("user", text, id="m", created_at=AT)])
    return [*digest.facts, *digest.preferences, *digest.events]


@pytest.mark.parametrize(
    ("text", "attribute"),
    [
        ("Oslo's been home for two years.", "home"),
        ("Vienna is where we live now.", "home"),
        ("I've become a resident of Ghent.", "home"),
        ("I headed to Dublin, and I'm there for good.", "home"),
        ("Philips hired me last month.", "work"),
        ("At Nokia, where I work, lunch is free.", "work"),
        ("I joined Ericsson after school.", "work"),
        ("Started at Lego in May.", "work"),
        ("I can't live without chocolate.", "like"),
        ("Jazz is one of my favourites.", "like"),
        ("Olives disgust me.", "dislike"),
        ("Golf does nothing for me.", "dislike"),
        ("I've lost my appetite for cheese.", "dislike"),
        ("My stomach can't tolerate milk.", "health"),
        ("Strawberries bring me out in spots, I'm allergic.", "health"),
        ("We've become vegan.", "diet"),
        ("I switched to a plant-based diet.", "diet"),
        ("We rescued a kitten.", "pet"),
        ("Bruno, my brother, paints.", "relation"),
        ("I live with a parrot called Polly.", "relation"),
        ("My niece's name is Ines.", "relation"),
        ("目前定居奥斯陆。", "home"),
        ("我在马德里落户了。", "home"),
        ("我们搬家到罗马了。", "home"),
        ("我是诺基亚的员工。", "work"),
        ("我的工作单位是飞利浦。", "work"),
        ("我离职去了乐高。", "work"),
        ("我少不了巧克力。", "like"),
        ("我对爵士乐情有独钟。", "like"),
        ("我一闻榴莲就恶心。", "dislike"),
        ("我弟弟尼古拉在学画画。", "relation"),
    ],
)
def test_it_is_understood(text: str, attribute: str) -> None:
    """It is told under the attribute that the plain words would have."""
    assert attribute in {item.attribute for item in items(text)}


@pytest.mark.parametrize(
    "text",
    [
        "Oslo is home to many painters.",
        "Is Vienna where you live?",
        "Nothing scares her, apart from moths.",
        "She joined a choir in Ghent.",
        "I joined Facebook years ago.",
        "I'm over 40.",
        "If Philips hired me, I'd move.",
        "They say Oslo is home now.",
        "It makes me happy.",
    ],
)
def test_what_only_looks_like_it_is_left_alone(text: str) -> None:
    """Places at large, other people, questions and suppositions state nothing of the speaker."""
    told = {"home", "work", "like", "dislike", "diet", "pet"}
    assert not [item for item in items(text) if item.subject == "user" and item.attribute in told]


@pytest.mark.parametrize(
    ("text", "word"),
    [("Strawberries bring me out in spots, I'm allergic.", "Strawberries"), ("花生我碰都不能碰，过敏。", "花生")],
)
def test_a_statement_keeps_the_words_that_it_leans_on(text: str, word: str) -> None:
    """Each allergy is told with what it is to."""
    assert all(word in item.text for item in items(text) if item.attribute == "health")
