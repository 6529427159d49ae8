"""Search terms of English, Chinese and everything between them."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siltstone.text.tokenize import MAX_WORD, is_question, terms


def test_words_meet_in_their_stem() -> None:
    """Forms of a word, regular and irregular, are one term; function words are none."""
    assert terms("She was running to the shops") == terms("he runs, a shop") == ["run", "shop"]
    assert terms("I bought children's books") == ["buy", "child", "book"]
    assert terms("Alice lives here, she lived there, where to live") == ["alic", "live", "live", "live"]
    assert terms("my wife's life") == ["wife", "life"]


def test_chinese_gives_characters_and_pairs() -> None:
    """A one-character question and a two-character word both find their sentence."""
    held = terms("我在深圳养了一只猫")
    assert "猫" in held
    assert {"深", "圳", "深圳"} <= set(held)
    assert "我" not in held
    assert terms("什么") == []


def test_mixed_script_is_cut_where_the_script_changes() -> None:
    """ "iPhone手机" is found by either half, with full-width letters and digits too."""
    assert terms("iPhone手机") == ["iphon", "手", "手机", "机"]
    assert terms("ｉＰｈｏｎｅ１５") == terms("iPhone15") == ["iphone15", "iphon", "15"]
    assert terms("３块钱") == terms("3块钱")


@pytest.mark.parametrize(
    "said",
    ["8 May 2023", "8th May, 2023", "May 8th 2023", "2023-05-08", "2023/5/8", "2023年5月8日", "２０２３年０５月０８号"],
)
def test_a_date_is_the_same_however_it_is_written(said: str) -> None:
    """Day, month and year are three terms that no language and no notation changes."""
    assert set(terms(said)) == {"8", "may", "2023"}


@pytest.mark.parametrize(
    ("said", "month"), [("五月", "may"), ("十一月", "november"), ("Sept.", "september"), ("12月", "december")]
)
def test_months_meet_across_languages(said: str, month: str) -> None:
    """A month in Chinese characters, digits or short form gives the month's one term."""
    assert month in terms(said)


def test_numbers_are_terms() -> None:
    """Decimals stay whole, thousands lose their commas, ordinals their ending."""
    assert terms("3.5 1,000 1st 007 10,5") == ["3.5", "1000", "1", "7", "105"]


def test_emoji_are_terms() -> None:
    """An emoji is found whatever its skin or its variation; a flag is one term."""
    assert terms("👍🏽") == terms("👍") == ["👍"]
    assert terms("❤️") == terms("❤")
    assert terms("🇨🇳🇫🇷") == ["🇨🇳", "🇫🇷"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("café", "cafe"),
        ("naïve", "naive"),
        ("Straße", "strasse"),
        ("книги", "книга"),
        ("Caroline’s", "Caroline"),
        ("ﬁsh", "fish"),
    ],
)
def test_spelling_that_says_the_same_meets(one: str, other: str) -> None:
    """Accents, ligatures, case, possessives and endings do not part words."""
    assert terms(one) == terms(other)


def test_languages_with_signs_keep_their_names() -> None:
    """C, C++ and C# are three things."""
    assert terms("C++ and C#, not C") == ["c++", "c#", "c"]


@pytest.mark.parametrize("text", ["", "   ", "?!…", "。，", "\u200b", "the of and", "\ud800"])
def test_text_without_content_has_no_terms(text: str) -> None:
    """Nothing, marks, stop words and even a lone surrogate give no terms and no error."""
    assert terms(text) == []


@given(st.text(max_size=200))
def test_any_text_gives_terms_that_find_it(text: str) -> None:
    """Terms are never empty, never long, and the same for the same text."""
    held = terms(text)
    assert held == terms(text)
    assert all(0 < len(term) <= 3 * MAX_WORD for term in held)


@pytest.mark.parametrize(
    ("unit", "times"),
    [
        ("word ", 400_000),
        ("苹果", 800_000),
        ("a", 10_000_000),
        ("1", 2_000_000),
        ("1,", 500_000),
        ("'", 1_000_000),
        ("👍", 300_000),
    ],
)
def test_long_texts_do_not_blow_up(unit: str, times: int) -> None:
    """Megabytes of anything are tokenized in time and room that grow with the length only."""
    held = terms(unit * times)
    assert len(held) <= 4 * times
    assert max(map(len, held), default=0) <= MAX_WORD


def test_stemming_is_safe_from_threads() -> None:
    """Many threads stem at once and get what one thread gets."""
    words = [
        f"{stem}{ending}" for stem in ("walk", "jump", "paint", "climb") for ending in ("ing", "ed", "s", "er", "ers")
    ]
    texts = [" ".join(f"{word}{n}x{word}" for word in words) for n in range(200)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(terms, texts))
    assert together == [terms(text) for text in texts]


@pytest.mark.parametrize(
    "text",
    [
        "Where do you live?",
        "where do i live",
        "What's that?! I mean it.",
        "你住在哪里",
        "吃了吗",
        "好吗？",
        "你叫什么名字",
        "how many cats",
    ],
)
def test_questions_are_known_by_marks_and_words(text: str) -> None:
    """English and Chinese questions are recognised, with and without a question mark."""
    assert is_question(text)


@pytest.mark.parametrize(
    "text", ["I live in Paris.", "我住在巴黎。", "没什么大事。", "What a day!", "谁都知道他很好。", ""]
)
def test_statements_are_not_questions(text: str) -> None:
    """Question words inside statements do not make a question."""
    assert not is_question(text)


HOSTILE = """
import sys
from datetime import datetime, timezone
from siltstone.recall.question import read_question
from siltstone.testing import WordCounter
from siltstone.text import guard, sentences, tokenize, traits
from siltstone.text.dates import periods

now = datetime(2024, 6, 12, tzinfo=timezone.utc)
for unit in ("1", " ", "<", "a", "，", "1 ", "de ", ".", "<|", "1,"):
    text = "siltstone_memory <" + unit * (200_000 // len(unit)) + "x"
    tokenize.terms(text), tokenize.is_question(text), traits.traits(text), periods(text, now)
    guard.neutral(text), guard.is_injected(text), guard.without_injected(text), sentences.sentences(text)
    sentences.cut(text, 500, WordCounter()), read_question(text, now)
for tag in ("<siltstone_memory>", "</siltstone_memory>", "<siltstone_memory>\\n", "\\n</siltstone_memory>"):
    guard.without_injected(tag * 10_000), guard.without_injected(tag * 5_000 + "\\n</siltstone_memory>" * 5_000)
"""


def test_no_text_takes_more_than_linear_work() -> None:
    """200,000 characters made to trip a pattern pass every reader of text; quadratic work would take many minutes."""
    subprocess.run([sys.executable, "-c", HOSTILE], check=True, timeout=30)
