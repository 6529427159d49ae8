"""The life that is told: what holds when, how it is said, what else is talked about, and what a profile should show."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path

START = datetime(2024, 1, 1, 8, tzinfo=timezone.utc)
DAYS = 366
PHRASINGS = ("near", "seen", "wide", "wider", "apart", "fresh")

PLACES = (
    ("Kyoto", "京都"), ("Oslo", "奥斯陆"), ("Prague", "布拉格"), ("Nairobi", "内罗毕"), ("Lima", "利马"),
    ("Dublin", "都柏林"), ("Warsaw", "华沙"), ("Hanoi", "河内"), ("Quito", "基多"), ("Tunis", "突尼斯"),
    ("Seoul", "首尔"), ("Riga", "里加"),
)  # fmt: skip
TOLD_AFTER, GONE_AFTER = 20, 33  # a plan is ahead at the end of the month that it is told in, and past at the next

ASKED = (
    ("How do I get a red wine stain out of a {}?", "Blot it, then use cold water and a little salt on the {}."),
    ("What is a good name for a {} in a story?", "Something short; a {} needs a name that is easy to say."),
    ("Can you check the grammar of my note about the {}?", "It reads well. I would only shorten the line on the {}."),
    ("Why does a {} make that noise?", "Mostly because something in the {} has come loose."),
    ("How many words rhyme with {}?", "Not many; {} is a hard one."),
    ("帮我写一句关于{}的话好吗？", "好的：这个{}让人想起夏天。"),
    ("{}坏了一般怎么修？", "先看看{}的接口有没有松动。"),
)
THINGS = ("carpet", "kettle", "lamp", "ladder", "violin", "toaster", "boiler", "curtain", "shelf", "printer", "drill")
CHAT = (
    ("Hello!", "Hello! How can I help?"),
    ("Thanks, that helps.", "You are welcome."),
    ("谢谢！", "不客气。"),
    ("Ok.", "Good."),
)


def holds(profile: str, words: str) -> bool:
    """Whether a profile holds words, from the beginning of one: a canal does not show Ana, nor 都柏林 (Dublin) 柏林."""
    return re.search(rf"(?<![a-z])(?<!都(?=柏林)){re.escape(words)}", profile, re.IGNORECASE) is not None


@dataclass(frozen=True)
class Phrase:
    """One way to say something, and the words of it that show that it was understood."""

    text: str
    language: str
    shown: tuple[str, ...]


@dataclass(frozen=True)
class Value:
    """One value of an attribute, and from which day until before which it holds."""

    attribute: str
    day: int
    until: int
    phrases: tuple[Phrase, ...]

    @property
    def name(self) -> str:
        return f"{self.attribute} ({self.phrases[0].shown[0]})"

    def shown(self, profile: str) -> bool:
        return any(holds(profile, words) for phrase in self.phrases for words in phrase.shown)


@dataclass(frozen=True)
class Life:
    """Everything that is told in one set of phrasings."""

    values: tuple[Value, ...]
    plan: tuple[Phrase, ...]

    @classmethod
    def load(cls, phrasing: str) -> Life:
        values = []
        for row in json.loads(Path(__file__).with_name(f"{phrasing}.json").read_text(encoding="utf-8")):
            phrases = tuple(Phrase(text, lang, tuple(shown)) for lang in ("en", "zh") for text, *shown in row[lang])
            values.append(Value(row["attribute"], row["day"], row["until"], phrases))
        *values, plan = values
        return cls(tuple(values), plan.phrases)

    def told(self, day: int) -> int:
        """How many distinct things have been told until the end of a day."""
        return sum(value.day <= day for value in self.values) + sum(told <= day for told, _, _ in plans())


def plans() -> Iterator[tuple[int, int, tuple[str, str]]]:
    """The plans of the year: on which day each is told, on which it takes place, and where."""
    for month, place in enumerate(PLACES):
        yield month * 30 + TOLD_AFTER, month * 30 + GONE_AFTER, place


def tell_plan(phrase: Phrase, day: int, place: tuple[str, str]) -> str:
    on = START + timedelta(days=day)
    if phrase.language == "zh":
        return phrase.text.format(place=place[1], date=f"{on.month}月{on.day}日")
    return phrase.text.format(place=place[0], date=f"{on:%B} {on.day}")


def answer(phrase: Phrase) -> str:
    return "好的，记住了。" if phrase.language == "zh" else "Thanks for telling me."


def talk(life: Life, day: int, turns: int, dice: random.Random) -> Iterator[tuple[str, str]]:
    """Yield the turns of a day: what is new, what is said again, and small talk around them."""
    said: list[tuple[str, str]] = []
    for value in life.values:
        if value.day <= day < value.until and (day == value.day or dice.random() < 0.03):
            phrase = dice.choice(value.phrases)
            said.append((phrase.text, answer(phrase)))
    for told, on, place in plans():
        if told == day:
            phrase = dice.choice(life.plan)
            said.append((tell_plan(phrase, on, place), "Have a good trip."))
    while len(said) * 2 < turns:
        pair = dice.choice(CHAT) if dice.random() < 0.2 else dice.choice(ASKED)
        thing = f"{dice.choice(THINGS)} {dice.randrange(1000)}"
        said.append((pair[0].format(thing), pair[1].format(thing)))
    dice.shuffle(said)
    for asked, answered in said:
        yield "user", asked
        yield "assistant", answered


@dataclass
class Judgement:
    """A profile against the truth: what holds and is not shown is lost, what is shown and no longer holds is stale."""

    asked: int = 0
    lost: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)

    @property
    def right(self) -> int:
        return self.asked - len(self.lost) - len(self.stale)

    def add(self, name: str, current: bool, shown: bool) -> None:
        self.asked += 1
        if current != shown:
            (self.lost if current else self.stale).append(name)


def judge(life: Life, profile: str, day: int) -> Judgement:
    """Compare a profile with what holds at the end of a day."""
    found = Judgement()
    for value in life.values:
        if value.day <= day:
            found.add(value.name, day < value.until, value.shown(profile))
    for told, on, place in plans():
        if told <= day:
            found.add(f"plan ({place[0]})", day < on, any(holds(profile, word) for word in place))
    return found
