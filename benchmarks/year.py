"""A year of simulated life: does the profile stay right while 20,000 turns go by, and does anything grow with them?

    python benchmarks/year.py [--turns 20000] [--phrasing near|apart|both] [--seed 1] [--json] [--plot FILE]

The user moves house twice, changes job, gives up meat and coffee, gets a dog, makes plans that pass, and repeats all of
it now and then, in English and Chinese, among small talk. Each day is a session; the memory is consolidated every
night. At each month's end the profile section is compared with the truth: what holds must be in it, what holds no
longer must not.

Half of the phrasings (``near``) are of the kind that the rules were written for; the other half (``apart``) were
written to differ from them, by someone who knew the rules. They are run and reported apart. Vectors are those of
``HashEmbedder``: words decide here, and the time is that of the memory, not of a model.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from statistics import median

from siltstone import Settings, TieredMemory
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter

START = datetime(2024, 1, 1, 8, tzinfo=timezone.utc)
DAYS = 366


@dataclass(frozen=True)
class Value:
    """One value of an attribute: from which day on it holds, how it is told, and the words that show it."""

    attribute: str
    day: int
    until: int
    words: tuple[str, ...]
    near: tuple[str, ...]
    apart: tuple[str, ...]


LIFE = (
    Value(
        "home", 2, 120, ("Berlin", "柏林"),
        ("I live in Berlin.", "我住在柏林。"),
        ("Berlin's been home for me for ages.", "My place is a small flat in Berlin.", "我家在柏林。"),
    ),
    Value(
        "home", 120, 270, ("Lisbon", "里斯本"),
        ("I've moved to Lisbon.", "I live in Lisbon now.", "我搬到了里斯本。"),
        (
            "We finally made the big move, Lisbon is home now.",
            "Settling into my new flat in Lisbon.",
            "我们搬家了，现在家在里斯本。",
        ),
    ),
    Value(
        "home", 270, DAYS, ("Porto", "波尔图"),
        ("I moved to Porto last week.", "I live in Porto.", "我现在住在波尔图。"),
        (
            "The boxes are unpacked and I'm officially a Porto resident.",
            "Porto is where I live these days.",
            "上周刚搬来波尔图安顿下来。",
        ),
    ),
    Value(
        "work", 3, 180, ("Siemens", "西门子"),
        ("I work at Siemens.", "我在西门子上班。"),
        ("My employer is Siemens.", "I've been with Siemens for three years.", "我是西门子的员工。"),
    ),
    Value(
        "work", 180, DAYS, ("Bosch", "博世"),
        ("I got a job at Bosch.", "I work at Bosch now.", "我跳槽去了博世。"),
        (
            "Started at Bosch on Monday, left my old company behind.",
            "Bosch hired me, so that's my new employer.",
            "我换工作了，现在是博世的人。",
        ),
    ),
    Value(
        "diet", 5, 150, ("meat", "steak", "肉"),
        ("I eat meat at every meal.", "我每顿都吃肉。"),
        ("I'm a real meat eater, steak is my thing.", "我是无肉不欢的人。"),
    ),
    Value(
        "diet", 150, DAYS, ("vegetarian", "吃素", "no longer eat meat", "不再吃肉"),
        ("I no longer eat meat.", "I'm vegetarian now.", "我改成吃素了。"),
        ("I've gone vegetarian.", "I went vegetarian this spring.", "我开始吃素了。"),
    ),
    Value(
        "coffee", 6, 200, ("love coffee", "我喜欢喝咖啡", "coffee is", "离不开咖啡"),
        ("I love coffee.", "我喜欢喝咖啡。"),
        ("Coffee is what gets me out of bed, I adore it.", "我每天离不开咖啡，特别爱。"),
    ),
    Value(
        "coffee", 200, DAYS, ("don't like coffee", "can't stand coffee", "不再喜欢喝咖啡", "受不了咖啡"),
        ("I don't like coffee anymore.", "我不再喜欢喝咖啡了。"),
        ("I can't stand coffee these days.", "我现在受不了咖啡了。"),
    ),
    Value(
        "pet", 90, DAYS, ("Rex",),
        ("I have a dog named Rex.", "我养了一只狗，叫Rex。"),
        ("We adopted a puppy and named him Rex.", "家里来了只小狗，名字是Rex。"),
    ),
    Value(
        "allergy", 8, DAYS, ("peanut", "花生"),
        ("I'm allergic to peanuts.", "我对花生过敏。"),
        ("Peanuts could kill me, I have a bad allergy to them.", "我一吃花生就过敏。"),
    ),
    Value(
        "sister", 10, DAYS, ("Ana", "安娜"),
        ("My sister Ana lives in Rome.", "我妹妹安娜住在罗马。"),
        ("Ana, my younger sister, has a flat in Rome.", "我有个妹妹叫安娜，在罗马生活。"),
    ),
)  # fmt: skip
PLANS = ("Kyoto", "Oslo", "Prague", "Nairobi", "Lima", "Dublin", "Warsaw", "Hanoi", "Quito", "Tunis", "Seoul", "Riga")
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
QUESTIONS = ("Where do I live?", "What am I allergic to?", "我现在在哪里工作？", "What is my dog called?", "Any plans?")


@dataclass
class Month:
    """What was measured at a month's end."""

    month: int
    turns: int
    right: int
    asked: int
    wrong: list[str] = field(default_factory=list)
    distinct: int = 0
    derived: int = 0
    megabytes: float = 0.0
    context_ms: float = 0.0
    consolidate_s: float = 0.0


def talk(day: int, turns: int, phrasing: str, dice: random.Random) -> Iterator[tuple[str, str]]:
    """Yield the turns of a day."""
    said: list[tuple[str, str]] = []
    for value in LIFE:
        if value.day <= day < value.until and (day == value.day or dice.random() < 0.03):
            text = dice.choice(value.near if phrasing == "near" else value.apart)
            said.append((text, "好的，记住了。" if not text.isascii() else "Thanks for telling me."))
    if day % 30 == 12:
        place = PLANS[day // 30 % len(PLANS)]
        on = START + timedelta(days=day + 9)
        near, apart = f"I'm flying to {place} on {on:%B} {on.day}.", f"Tickets are booked: {place}, {on:%B} {on.day}!"
        said.append((near if phrasing == "near" else apart, "Have a good trip."))
    while len(said) * 2 < turns:
        pair = dice.choice(CHAT) if dice.random() < 0.2 else dice.choice(ASKED)
        thing = f"{dice.choice(THINGS)} {dice.randrange(1000)}"
        said.append((pair[0].format(thing), pair[1].format(thing)))
    dice.shuffle(said)
    for asked, answered in said:
        yield "user", asked
        yield "assistant", answered


def check(text: str, day: int) -> tuple[int, int, list[str]]:
    """Compare a profile with the truth: how many values are right, of how many, and what is wrong."""
    text = text.casefold()
    right, asked = 0, 0
    wrong = []
    for value in LIFE:
        if value.day > day:
            continue
        holds = value.day <= day < value.until
        successors = [other for other in LIFE if other.attribute == value.attribute and other.day == value.until]
        ambiguous = "|".join(word for other in successors for word in other.words).casefold()
        words = [word.casefold() for word in value.words if holds or word.casefold() not in ambiguous]
        shown = any(word in text for word in words)
        asked += 1
        if shown == holds:
            right += 1
        else:
            wrong.append(f"{value.attribute} {value.words[0]} {'is missing' if holds else 'is still there'}")
    for number, place in enumerate(PLANS):
        on = number * 30 + 12 + 9
        if on < day - 1:
            asked += 1
            if place.casefold() in text:
                wrong.append(f"{place} has passed")
            else:
                right += 1
    return right, asked, wrong


def live(turns: int, phrasing: str, seed: int, folder: Path) -> list[Month]:
    """Live the year; return what was measured at each month's end."""
    dice = random.Random(seed)
    clock = FrozenClock(START)
    months = []
    spent = 0.0
    told = 0
    with TieredMemory.open(
        folder,
        embedder=HashEmbedder(64),
        token_counter=WordCounter(),
        clock=clock,
        durability="os",
        settings=Settings(),
    ) as memory:
        for day in range(DAYS):
            per_day = turns * (day + 1) // DAYS - turns * day // DAYS
            messages = list(talk(day, per_day - per_day % 2, phrasing, dice))
            told += len(messages)
            memory.add(messages, session_id=f"day {day}")
            clock.advance(hours=12)
            began = time.process_time()
            memory.consolidate()
            spent += time.process_time() - began
            clock.advance(hours=12)
            if (day + 1) % 30 == 0 or day == DAYS - 1:
                months.append(_measure(memory, clock, day, told, spent))
                spent = 0.0
    return months


def _measure(memory: TieredMemory, clock: FrozenClock, day: int, told: int, spent: float) -> Month:
    memory.flush()
    right, asked, wrong = check(memory.context(sections=("profile",), max_tokens=2000).text, day)
    times = []
    for question in QUESTIONS * 3:
        began = time.perf_counter()
        memory.context(question, session_id=f"day {day}", max_tokens=1000)
        times.append((time.perf_counter() - began) * 1000)
    stats = memory.stats()
    return Month(
        month=len(range(30, day + 2, 30)) or 1,
        turns=told,
        right=right,
        asked=asked,
        wrong=wrong,
        distinct=sum(value.day <= day for value in LIFE) + sum(n * 30 + 12 <= day for n in range(len(PLANS))),
        derived=sum(stats.kinds.get(kind, 0) for kind in ("profile", "fact", "event")),
        megabytes=sum(stats.bytes.values()) / 1e6,
        context_ms=median(times),
        consolidate_s=spent,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=20_000)
    parser.add_argument("--phrasing", choices=("near", "apart", "both"), default="both")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    found = {}
    for phrasing in ("near", "apart") if chosen.phrasing == "both" else (chosen.phrasing,):
        with tempfile.TemporaryDirectory() as folder:
            found[phrasing] = live(chosen.turns, phrasing, chosen.seed, Path(folder) / "memory")
    if chosen.json:
        values = {name: [vars(month) for month in months] for name, months in found.items()}
        print(json.dumps(values, ensure_ascii=False))
        return
    for phrasing, months in found.items():
        print(f"\n{phrasing}: month, turns, right, facts told, records derived, MB, context ms, consolidation CPU s")
        for m in months:
            row = f"{m.month:3} {m.turns:6} {m.right:3}/{m.asked:<3} {m.distinct:4} {m.derived:5} {m.megabytes:6.1f}"
            print(f"{row} {m.context_ms:6.1f} {m.consolidate_s:6.1f}  {'; '.join(m.wrong)}")


if __name__ == "__main__":
    main()
