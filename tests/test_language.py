"""Scripts and sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siltstone.testing import WordCounter
from siltstone.text.language import is_chinese, script
from siltstone.text.sentences import MARK, cut, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello there", "latin"),
        ("我爱iPhone", "han"),
        ("我在用 LangChain 和 LlamaIndex 开发 agent", "han"),
        ("I love 北京 very much", "latin"),
        ("日本語です", "kana"),
        ("안녕하세요", "hangul"),
        ("Привет", "cyrillic"),
        ("123 👍", "none"),
        ("", "none"),
    ],
)
def test_the_script_is_that_of_most_words(text: str, expected: str) -> None:
    """Some foreign words do not change the language of a text."""
    assert script(text) == expected
    assert is_chinese(text) == (expected == "han")


def test_sentences_end_where_a_reader_stops() -> None:
    """Full stops of both languages end sentences; abbreviations, decimals and dots in words do not."""
    assert sentences("Mr. Smith paid 3.50. Really?! Yes… it's at example.com.\nNext") == [
        "Mr. Smith paid 3.50.",
        "Really?!",
        "Yes… it's at example.com.",
        "Next",
    ]
    assert sentences("我住在上海。你呢？他说：“好！”然后走了。") == [
        "我住在上海。",
        "你呢？",
        "他说：“好！”",
        "然后走了。",
    ]


def test_a_cut_ends_with_a_sentence_and_a_mark() -> None:
    """Only whole sentences are kept, in either language, and the cut is seen."""
    counter = WordCounter()
    assert (
        cut("One two three. Four five six. Seven eight nine ten.", 11, counter)
        == "One two three. Four five six." + MARK
    )
    assert cut("我住在上海。我养了一只猫。它叫小白。", 10, counter) == "我住在上海。" + MARK


def test_a_text_that_fits_is_left_alone() -> None:
    """Nothing is cut and nothing is marked where there is room."""
    assert cut("Short text.", 100, WordCounter()) == "Short text."


def test_words_are_cut_where_no_sentence_fits() -> None:
    """A sentence longer than all the room is cut between words, a Chinese one between characters."""
    counter = WordCounter()
    assert cut("one two three four five six seven", 6, counter) == "one two three" + MARK
    assert cut("我" * 100, 10, counter).startswith("我")


@given(st.text(max_size=300), st.integers(0, 60))
def test_a_cut_never_exceeds_its_room(text: str, room: int) -> None:
    """Whatever the text, what is kept fits, and is a beginning of it."""
    counter = WordCounter()
    kept = cut(text, room, counter)
    assert counter.count(kept) <= room or not kept
    assert text.startswith(kept.removesuffix(MARK)) or not kept
