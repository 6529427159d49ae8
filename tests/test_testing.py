from __future__ import annotations

from datetime import datetime, timedelta, timezone

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siltstone.errors import BackendUnavailableError, InvalidInputError, ModelError
from siltstone.protocols import ChatModel, Clock, Embedder, Reranker, TokenCounter
from siltstone.records import Message
from siltstone.testing import (
    FailingEmbedder,
    FrozenClock,
    HashEmbedder,
    OverlapReranker,
    ScriptedChatModel,
    WordCounter,
)


def test_fakes_implement_the_contracts() -> None:
    """Every fake is what its contract asks for."""
    assert isinstance(HashEmbedder(), Embedder)
    assert isinstance(FailingEmbedder(), Embedder)
    assert isinstance(ScriptedChatModel(), ChatModel)
    assert isinstance(OverlapReranker(), Reranker)
    assert isinstance(WordCounter(), TokenCounter)
    assert isinstance(FrozenClock(), Clock)


@given(st.lists(st.text(), max_size=4), st.integers(1, 70))
def test_hash_embeddings_have_unit_length(texts: list[str], dim: int) -> None:
    """Any text, empty or strange, gets a finite float32 row of unit length."""
    rows = HashEmbedder(dim).embed_documents(texts)
    assert rows.shape == (len(texts), dim)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("query", "near", "far"),
    [
        ("Where does Alice work?", "Alice works in Shenzhen.", "We had noodles for dinner yesterday."),
        ("我是做什么工作的？", "我的工作是前端工程师。", "昨天晚上我们去吃了火锅。"),
        ("ｉＰｈｏｎｅ手机", "I bought an iPhone", "He plays the violin"),
    ],
)
def test_near_text_is_near(query: str, near: str, far: str) -> None:
    """Texts that share words or characters are nearer than texts that do not."""
    embedder = HashEmbedder()
    cosines = embedder.embed_documents([near, far]) @ embedder.embed_query(query)
    assert cosines[0] > cosines[1] + 0.1


def test_hash_embeddings_are_the_same_everywhere() -> None:
    """The vectors depend on nothing but text, name and width, so that a test's figures can be written down."""
    assert HashEmbedder(8).embed_query("Lisbon 里斯本").round(3).tolist() == HASHED
    assert not np.allclose(HashEmbedder(8, name="other").embed_query("Lisbon 里斯本"), HASHED, atol=0.01)


HASHED = [
    0.6600000262260437,
    0.10599999874830246,
    0.14900000393390656,
    -0.23399999737739563,
    -0.10599999874830246,
    -0.3190000057220459,
    -0.40400001406669617,
    0.44699999690055847,
]


def test_failing_embedder_recovers() -> None:
    """A failing embedder raises until it is told not to, and counts what arrived."""
    embedder = FailingEmbedder(HashEmbedder(16))
    with pytest.raises(BackendUnavailableError, match="down"):
        embedder.embed_documents(["a"])
    embedder.failing = False
    assert embedder.embed_query("a").shape == (16,)
    assert (embedder.calls, embedder.dim, embedder.name) == (2, 16, "hash")


def test_scripted_model_follows_its_script() -> None:
    """Texts are returned, exceptions raised, functions asked; then the script is at its end."""
    model = ScriptedChatModel(["yes", ValueError("no"), lambda messages: messages[-1].content.upper()])
    question = [Message("user", "why")]
    assert model.complete(question, max_tokens=5) == "yes"
    with pytest.raises(ValueError, match="no"):
        model.complete(question)
    assert model.complete(question, schema={"type": "object"}) == "WHY"
    with pytest.raises(ModelError, match="no reply left"):
        model.complete(question)
    assert [call.max_tokens for call in model.calls] == [5, None, None, None]
    assert model.calls[2].schema == {"type": "object"}


def test_overlap_reranker_prefers_shared_words() -> None:
    """The text that holds more of the query's words scores higher, in both languages."""
    assert OverlapReranker().rerank("red car", ["a red car", "a blue car", "nothing"]).argsort().tolist() == [2, 1, 0]
    assert OverlapReranker().rerank("红色汽车", ["蓝色汽车", "红色汽车"]).argmax() == 1


def test_words_and_characters_count_one_each() -> None:
    """English words, Chinese characters and marks are one token each."""
    assert WordCounter().count("Hello, world") == 3
    assert WordCounter().count("你好，世界 ok") == 6
    assert WordCounter().count(" \n") == 0


def test_frozen_clock_moves_when_told() -> None:
    """Time passes by ``advance`` only."""
    clock = FrozenClock("2024-05-01T08:00:00Z")
    assert clock.now() == clock.now() == datetime(2024, 5, 1, 8, tzinfo=timezone.utc)
    assert clock.advance(days=1, hours=2) == datetime(2024, 5, 2, 10, tzinfo=timezone.utc)
    assert clock.advance(timedelta(minutes=-5)) == clock.now() == datetime(2024, 5, 2, 9, 55, tzinfo=timezone.utc)
    with pytest.raises(InvalidInputError, match="time zone"):
        FrozenClock(datetime(2024, 5, 1))
