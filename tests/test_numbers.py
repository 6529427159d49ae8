"""Numbers in digits, English words and Chinese meet in one form."""

from __future__ import annotations

import pytest

from siltstone.text.numbers import numbers


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("112,000 words in 2024", {"112000", "2024"}),
        ("She is seventy-three, he is Eleven.", {"73", "11"}),
        ("at 7:30, 71k", {"7", "30", "71"}),
        ("我三十二了，她十九岁", {"32", "19"}),
        ("二〇二四年，二十一万字，两千三", {"2024", "210000", "2003"}),
        ("one of a kind, 一家公司", set()),
        ("0007 and 9999999999999999999999", {"7", "9999999999999999999999"}),
        ("no number", set()),
    ],
)
def test_numbers_are_read_however_they_are_written(text: str, found: set[str]) -> None:
    """Each whole number is its decimal digits; a lone "one" is an article."""
    assert numbers(text) == found
