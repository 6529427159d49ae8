"""Each phrasing by itself, and each change of one value to the next: what a year of chance would not all reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from life import START, Life, Value, answer, holds, plans, tell_plan

from siltstone import TieredMemory
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter


def profile_of(*said: tuple[str, str]) -> str:
    """Return the profile of one who said this, a month apart."""
    clock = FrozenClock(START)
    with TieredMemory.open(":memory:", embedder=HashEmbedder(64), token_counter=WordCounter(), clock=clock) as memory:
        for number, pair in enumerate(said):
            if number:
                clock.advance(hours=24 * 30)
            memory.add([("user", pair[0]), ("assistant", pair[1])], session_id=f"session {number}")
            clock.advance(hours=12)
            memory.consolidate()
        return memory.context(sections=("profile",), max_tokens=2000).text


def understood(life: Life) -> Iterator[tuple[str, bool, str]]:
    """Yield the language of each phrasing, whether the profile shows it, and its text."""
    for value in life.values:
        for phrase in value.phrases:
            yield phrase.language, value.shown(profile_of((phrase.text, answer(phrase)))), phrase.text
    _, day, place = next(plans())
    for phrase in life.plan:
        text = tell_plan(phrase, day, place)
        yield phrase.language, any(holds(profile_of((text, "Good.")), word) for word in place), text


def changed(life: Life) -> Iterator[tuple[str, bool, str]]:
    """Yield for each way to tell a value and then the next: the language, whether only the next is shown, the texts."""
    for old, new in successions(life):
        for before in old.phrases:
            for after in new.phrases:
                profile = profile_of((before.text, answer(before)), (after.text, answer(after)))
                languages = before.language if before.language == after.language else "mixed"
                yield languages, new.shown(profile) and not old.shown(profile), f"{before.text} → {after.text}"


def successions(life: Life) -> Iterator[tuple[Value, Value]]:
    for old in life.values:
        for new in life.values:
            if old.attribute == new.attribute and old.until == new.day:
                yield old, new


def table(rows: Iterator[tuple[str, bool, str]], show: bool) -> dict[str, tuple[int, int]]:
    """Count what was right, of how many, by language; print what was not."""
    right: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for language, fine, text in rows:
        asked[language] += 1
        right[language] += fine
        if show and not fine:
            print(f"  {language}: {text}")
    return {language: (right[language], asked[language]) for language in asked}
