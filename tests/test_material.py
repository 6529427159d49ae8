"""What a message hands over to be worked on, quotes or plays is no memory of its sender, in English and Chinese."""

from __future__ import annotations

import pytest

from siltstone.compress.digest import LISTS
from siltstone.compress.speech import utterances
from siltstone.compress.statements import items_of
from siltstone.compress.support import check
from siltstone.records import Digest, DigestItem, Message


def found(text: str) -> set[str]:
    """Return the texts of what a user's message is found to tell."""
    return {item.text for items in items_of(utterances([Message("user", text, id="m")])).values() for item in items}


@pytest.mark.parametrize(
    "text",
    [
        "Translate into German: I live in Madrid and I work as a nurse.",
        "Could you please proofread this? Rewrite it politely:\n\nI hate mushrooms.\nI live in Oslo.",
        "Please fix the grammar of the following: I live in Oslo since 1999. I love jazz.",
        "Write a story that begins with this: My name is Zed and I live on Mars.",
        "How would one say in Spanish: my sister lives in Bonn?",
        "> I live in Tokyo and I love sushi.\nWhat do you make of that quote?",
        "`I live in Paris` is the string that fails",
        "User: I live in Bonn.\nAssistant: Nice!\nUser: I'm a vet.",
        "Let's role-play! I am a knight. I live in a castle near York.",
        "I live on the moon. Just kidding!",
        "I live in Atlantis, jk",
        "把下面这句翻译成英文：我住在马德里，我是护士。",
        "帮我润色这段：\n我叫王五。\n我住在上海。",
        "写个故事，开头是：我叫小明，我住在火星。",
        "小说主角的设定：我叫林夕，今年三十岁，住在大理。",
        "> 我住在东京，我喜欢寿司。\n这段话是什么意思？",
        "用户：我住在波恩。\n助手：好的。",
        "我们来玩角色扮演，我是一条龙，我喜欢吃骑士。",
        "我住在月球上，开玩笑的。",
    ],
)
def test_what_is_handed_over_quoted_or_played_is_nobodys_memory(text: str) -> None:
    """The sentences of a text to be translated, a pasted chat, a role, a joke tell nothing of their sender."""
    assert found(text) == set()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Remember this: I live in Lyon.", "I live in Lyon"),
        ("Help me plan dinner: I'm vegan.", "I'm vegan"),
        ("Write a cover letter for me: I'm a nurse at IBM.", "I'm a nurse at IBM"),
        ("Correct: I live in Lyon.", "I live in Lyon"),
        ("Translate this: good morning\n\nBy the way, I live in Lyon.", "I live in Lyon"),
        ("Nice quote:\n> To be or not to be\nI live in Lyon.", "I live in Lyon"),
        ("I live on Mars. Just kidding, I live in Lyon.", "I live in Lyon"),
        ("I'm not joking: I live in Lyon.", "I live in Lyon"),
        ("My name is `Bob`.", "My name is `Bob`"),
        ("记住：我住在里昂。", "我住在里昂"),
        ("帮我写个自我介绍：我叫李雷。", "我叫李雷"),
        ("我没开玩笑，我住在里昂。", "我住在里昂"),
    ],
)
def test_what_is_told_beside_it_stays(text: str, told: str) -> None:
    """What somebody says of themselves, beside a text, in a paragraph of its own, or for another work, is kept."""
    assert found(text) == {told}


def test_a_model_cannot_make_a_memory_of_it_either() -> None:
    """An item that rests on a text to be translated alone is dropped, and counted."""
    said = utterances([Message("user", "Translate: I live in Madrid. I love jazz.", id="m")])
    item = DigestItem("The user lives in Madrid", ("m1",))
    checked = check(Digest(topic="", summary="", facts=(item,), preferences=(), events=()), said)
    assert [getattr(checked, name) for name in LISTS] == [(), (), ()]
    assert checked.dropped == 1
