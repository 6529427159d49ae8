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
        ("The van dropped our furniture off in Ghent, so that's where I am.", "home"),
        ("I've been paying rent in Ghent since May.", "home"),
        ("You'll find me living in Ghent.", "home"),
        ("I wound up moving all the way to Ghent.", "home"),
        ("I'm on the payroll of Lego.", "work"),
        ("Lego is the company I work for.", "work"),
        ("I just had my first day at Lego.", "work"),
        ("I've got a desk job at Lego.", "work"),
        ("My soft drawer is for biscuits: I have a weakness for ginger biscuits.", "like"),
        ("I could listen to jazz all day.", "like"),
        ("I never say no to a waffle.", "like"),
        ("The smell of vinegar turns my stomach.", "dislike"),
        ("I find opera unbearable these days.", "dislike"),
        ("I've sworn off sugar.", "diet"),
        ("There's meat on my plate every day.", "diet"),
        ("I get a rash from walnuts.", "health"),
        ("I swell up if I eat walnuts.", "health"),
        ("Ines is my niece.", "relation"),
        ("My niece goes by Ines.", "name"),
        ("Ghent on June 7, at last!", "plan"),
        ("目前定居奥斯陆。", "home"),
        ("我们举家迁到了根特。", "home"),
        ("我在马德里跟同学合租。", "home"),
        ("马德里成了我的新家。", "home"),
        ("乐高给我发工资。", "work"),
        ("我换了工作，去乐高了。", "work"),
        ("我在乐高的市场部。", "work"),
        ("我天天吃肉。", "diet"),
        ("榴莲我一口都吃不下。", "dislike"),
        ("我就好糖醋这一口。", "like"),
        ("我一碰芒果就起疹子。", "health"),
        ("伊内斯是我侄女。", "relation"),
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
        "My sister's flat is in Ghent.",
        "I'm looking for a flat in Ghent.",
        "I'd love to rent a studio in Ghent.",
        "We stayed in a hotel in Ghent, the landlord was kind.",
        "I lost my job at Lego.",
        "I have an interview for a position at Lego.",
        "I got a discount from Lego on my first day there.",
        "Taking care of yourself is a must.",
        "I couldn't resist it.",
        "我妹妹在根特租了房子。",
        "我想在马德里租个房子。",
        "今天是我的生日，不能和家人一起过。",
        "我找不到一份好工作。",
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
