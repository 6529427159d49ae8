"""Items of digests against their sources: what is true passes, what was made up, denied or moved does not."""

from __future__ import annotations

from datetime import datetime, timezone

import numpy as np
import pytest

from siltstone.compress.speech import Utterance, utterances
from siltstone.protocols import Floats
from siltstone.quality.checks import SUPPORTED, Item, check
from siltstone.quality.nearness import BACKGROUND, nearness
from siltstone.records import Message
from siltstone.testing import HashEmbedder

WEDNESDAY = datetime(2024, 5, 8, 12, tzinfo=timezone.utc)


def said(*lines: str) -> tuple[Utterance, ...]:
    """Return what a user said on a Wednesday in May."""
    return tuple(utterances([Message("user", line, id=f"m{n}", created_at=WEDNESDAY) for n, line in enumerate(lines)]))


def day(text: str | None) -> datetime | None:
    """Return a day at midnight UTC, as a model writes it."""
    return None if text is None else datetime.fromisoformat(f"{text}T00:00:00+00:00")


@pytest.mark.parametrize(
    ("source", "item", "when"),
    [
        ("I'm a nurse at the Santa Maria hospital.", "The user works as a nurse at the Santa Maria hospital.", None),
        ("I no longer eat meat, doctor's orders.", "The user no longer eats meat.", None),
        ("My mother is seventy-three now.", "The user's mother is 73.", None),
        ("I'm flying to Kyoto next Friday.", "The user flies to Kyoto on 17 May 2024.", "2024-05-17"),
        ("By the way I've quit the bank, did I tell you?", "I've quit the bank", None),
        ("Hi there!", "Hi there!", None),
        ("我叫林晓雯，在杭州做前端。", "林晓雯在杭州做前端。", None),
        ("下周五我飞京都。", "用户2024年5月17日飞京都。", "2024-05-17"),
        ("我三十二了，住杭州", "用户32岁，住杭州。", None),
        ("我从银行辞职了，跟你说过没？", "我从银行辞职了", None),
        ("我用 iPhone 拍照，没别的相机", "iPhone", None),
    ],
)
def test_what_was_said_has_no_flag(source: str, item: str, when: str | None) -> None:
    """Quotations and paraphrases pass, resolved days and other ways of writing a number included."""
    checked = check(Item(item, said(source), day(when)))
    assert checked.flags == ()
    assert checked.missing == ()
    assert checked.score >= SUPPORTED


@pytest.mark.parametrize(
    ("source", "item", "when", "flag"),
    [
        ("I'm a nurse at the hospital.", "Priya collects antique clocks in Vienna.", None, "unsupported"),
        ("I'm flying to Kyoto next Friday.", "The user flies to Kyoto next Friday.", "2024-06-17", "date"),
        ("I'm flying to Kyoto next Friday.", "The user flies to Kyoto on 3 June.", None, "date"),
        ("My mother is seventy-three now.", "The user's mother is 63.", None, "number"),
        ("I live in Lisbon with my sister.", "The user lives in Lisbon with Ana.", None, "name"),
        ("I'm allergic to peanuts and shellfish.", "用户对花生和贝类过敏。", None, "language"),
        ("I eat meat every day.", "The user does not eat meat every day.", None, "negation"),
        ("Do you live in Paris with your dog?", "The user lives in Paris with a dog.", None, "asked"),
        ("If I lived in Paris I would eat cheese.", "The user lived in Paris.", None, "supposed"),
        ("我在杭州做前端。", "用户收集古董钟表。", None, "unsupported"),
        ("下周五我飞京都。", "用户下周五飞京都。", "2024-06-17", "date"),
        ("我三十二了，住杭州", "用户42岁，住杭州。", None, "number"),
        ("我对花生过敏。", "The user is allergic to peanuts.", None, "language"),
        ("我每天吃肉。", "用户每天不吃肉。", None, "negation"),
        ("你住在成都吗？", "用户住在成都。", None, "asked"),
        ("要是我住在成都就好了。", "用户住在成都。", None, "supposed"),
    ],
)
def test_what_was_not_said_has_its_flag(source: str, item: str, when: str | None, flag: str) -> None:
    """Each way of being wrong has a flag of its own, in English and Chinese."""
    assert flag in check(Item(item, said(source), day(when))).flags


def test_a_name_may_come_from_near_by() -> None:
    """What "she" is called may have been said in another message of the digest."""
    item = "The user has a sister Ana and lives with Ana."
    sources = said("I live with my sister.")
    assert "name" in check(Item(item, sources)).flags
    assert "name" not in check(Item(item, sources, around=said("Ana is my sister."))).flags


def test_what_is_left_of_its_sources_is_said() -> None:
    """An item whose sources have gone is for a person to decide."""
    assert check(Item("Something.", ())).flags == ("no source",)


def test_meaning_stands_in_for_words() -> None:
    """An item in other words is supported where its meaning is near, and unsupported where it is not."""
    item = Item("Physician.", said("I'm a doctor."))
    assert check(item).flags == ("unsupported",)
    assert check(item, 0.9).flags == ()
    assert check(item, 0.2).flags == ("unsupported",)


class Narrow:
    """An embedder whose cosines begin high, as those of many models do: all its vectors share a direction."""

    name, dim = "narrow", 257

    def embed_documents(self, texts: list[str]) -> Floats:
        """Return the rows of a fake, bent towards one direction."""
        rows = np.hstack([HashEmbedder().embed_documents(texts), np.full((len(texts), 1), 2.0, np.float32)])
        scaled: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return scaled

    def embed_query(self, text: str) -> Floats:
        """Return the row of a question."""
        row: Floats = self.embed_documents([text])[0]
        return row


def test_nearness_is_on_one_scale_for_all_models() -> None:
    """A quotation is 1, what has nothing to do with it about 0, whether cosines begin at 0 or at 0.8."""
    sources = ["I live in Lisbon. I have a dog named Rex.", "Tea, please."]
    items = [("I live in Lisbon.", sources), ("Quantum chromodynamics.", sources), ("Anything", [])]
    for model in (HashEmbedder(), Narrow()):
        same, other, none = nearness(items, model)
        assert same == pytest.approx(1.0, abs=1e-4)
        assert other is not None
        assert other < 0.2
        assert none is None


def test_each_text_is_embedded_once_and_in_batches() -> None:
    """Sentences that several items rest on are not embedded again, and no call gets more than a batch."""
    calls: list[int] = []

    class Counting(HashEmbedder):
        def embed_documents(self, texts: list[str]) -> Floats:
            calls.append(len(texts))
            return super().embed_documents(texts)

    nearness([(f"Item {n}", ["One sentence. Another one."]) for n in range(5)], Counting(), batch=8)
    assert sum(calls) == len(BACKGROUND) + 5 + 3
    assert max(calls) == 8
