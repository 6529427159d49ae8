"""What a record is indexed under, and when two texts are one."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from siltstone.records import Record
from siltstone.text.keys import date_words, dense_key, lexical_key, text_hash
from siltstone.text.tokenize import terms

MAY = datetime(2023, 5, 8, 13, 56, tzinfo=timezone.utc)
JUNE = datetime(2023, 6, 1, tzinfo=timezone.utc)


def record(text: str, **fields: object) -> Record:
    """Return a record said on 8 May 2023."""
    return Record(**{"id": "r", "text": text, "created_at": MAY, "stored_at": JUNE, **fields})  # type: ignore[arg-type]


def test_date_and_speaker_are_in_the_keys_only() -> None:
    """A turn is found by who said it and when, its vector knows who; its text is untouched."""
    turn = record("I adopted a cat.", kind="turn", role="user", speaker="Caroline")
    assert dense_key(turn) == "Caroline: I adopted a cat."
    assert {"carolin", "may", "2023", "8", "adopt", "cat"} <= set(terms(lexical_key(turn)))
    assert turn.text == "I adopted a cat."


def test_chinese_texts_get_chinese_dates() -> None:
    """The date in a key is in the language of the text, and its terms are the same in both."""
    turn = record("我养了一只猫。", kind="turn", role="user", speaker="李雷")
    assert lexical_key(turn) == "2023年5月8日 李雷 我养了一只猫。"
    assert {"may", "2023", "8"} <= set(terms(lexical_key(turn)))
    assert date_words(MAY, chinese=True) == "2023年5月8日"


def test_when_it_happened_and_when_it_was_said_are_both_found() -> None:
    """An event that was told later has both months in its key."""
    event = record("The marathon in Lisbon", kind="event", occurred_at=JUNE)
    assert {"may", "june"} <= set(terms(lexical_key(event)))


def test_imports_and_values_are_not_dated() -> None:
    """When a document was stored says nothing about what it tells."""
    assert lexical_key(record("A chapter.", kind="document")) == "A chapter."


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I live in Paris.", " i live  in PARIS"),
        ("我住在上海。", "我住在上海"),
        ("“Yes”, he said…", '"Yes" — he said.'),
        ("ＡＢＣ", "abc"),
    ],
)
def test_texts_that_differ_in_looks_only_hash_alike(one: str, other: str) -> None:
    """Case, spacing, width and punctuation do not make another text."""
    assert text_hash(one) == text_hash(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("没有得奖", "取得了好名次"),
        ("You won", "You won?"),
        ("1.5 kg", "15 kg"),
        ("👍", "👎"),
        ("!!!", "..."),
        ("C++", "C"),
        ("-5 degrees", "+5 degrees"),
    ],
)
def test_texts_that_say_something_else_hash_apart(one: str, other: str) -> None:
    """Words, question marks, digits, signs and emoji count."""
    assert text_hash(one) != text_hash(other)


def test_hashes_fit_a_signed_column() -> None:
    """A hash is a signed 64-bit integer, for any text."""
    assert all(-(2**63) <= text_hash(text) < 2**63 for text in ("", "a", "猫", "\ud800", "x" * 10_000))
