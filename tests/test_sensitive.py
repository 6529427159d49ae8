"""Rules of what must not be seen: what they find in English and Chinese, and what they leave of a text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siltstone import ConfigurationError, InvalidInputError, Settings, TieredMemory
from siltstone.testing import HashEmbedder
from siltstone.text.personal import READY
from siltstone.text.sensitive import MARK, Rules

FOUND = [
    ("email", "Write to alice.b+x@mail.example.com, please.", f"Write to {MARK}, please."),
    ("email", "我的邮箱是alice@example.com，请发给我", f"我的邮箱是{MARK}，请发给我"),
    ("email", "全角ａｌｉｃｅ＠ｅｘａｍｐｌｅ．ｃｏｍ也是", f"全角{MARK}也是"),
    ("email", "写信到 张三@例子.公司 吧", f"写信到 {MARK} 吧"),
    ("phone", "我的手机号是13800138000，微信同号", f"我的手机号是{MARK}，微信同号"),
    ("phone", "打+86 138-0013-8000找我", f"打{MARK}找我"),
    ("phone", "手机１３８００１３８０００", f"手机{MARK}"),
    ("phone", "座机0755-12345678转1", f"座机{MARK}转1"),
    ("phone", "Call me at (415) 555-0132 or +44 20 7946 0958.", f"Call me at {MARK} or {MARK}."),
    ("phone", "It's 415-555-0132, or 4155550132.", f"It's {MARK}, or {MARK}."),
    ("card", "Card 4111 1111 1111 1111, exp 12/29", f"Card {MARK}, exp 12/29"),
    ("card", "since 2024 4111-1111-1111-1111", f"since 2024 {MARK}"),
    ("card", "卡号是4111111111111111。", f"卡号是{MARK}。"),
    ("chinese_id", "身份证11010519491231002X的", f"身份证{MARK}的"),
    ("chinese_id", "身份证号 110105 19491231 002x", f"身份证号 {MARK}"),
    ("secret", "use sk-proj-abcdefghij0123456789 today", f"use {MARK} today"),
    ("secret", "AKIAABCDEFGHIJKLMNOP and ghp_abcdefghij0123456789", f"{MARK} and {MARK}"),
    ("secret", "My password is hunter2.", f"My password is {MARK}"),
    ("secret", "api_key = 'x9y8z7'", f"api_key = '{MARK}'"),
    ("secret", "Wi-Fi密码是：tiger88，记一下", f"Wi-Fi密码是：{MARK}，记一下"),
    ("secret", "a -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- b", f"a {MARK} b"),
]


@pytest.mark.parametrize(("rule", "text", "seen"), FOUND)
def test_a_ready_made_rule_hides_its_kind(rule: str, text: str, seen: str) -> None:
    """What it is for goes, the words around stay, whichever script they are in."""
    assert Rules([rule]).redact(text) == seen
    assert Rules([rule]).matches(text)
    assert not Rules([rule]).matches(seen)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("email", "meet @alice at 5@night"),
        ("phone", "from 2024-05-08 to 2024-05-10 at 09:30, 1,200,000 people, 3.14159265"),
        ("phone", "2024年5月8日，订单号 98765432101234567"),
        ("card", "4111 1111 1111 1112 does not check, nor does 1234 5678"),
        ("chinese_id", "123456789012345678 holds no day of birth"),
        ("secret", "She keeps a secret, and the task is done."),
    ],
)
def test_a_ready_made_rule_leaves_what_is_of_another_kind(rule: str, text: str) -> None:
    """Dates, amounts and words are no numbers of a person."""
    assert Rules([rule]).redact(text) == text


@given(st.text(), st.text())
def test_rules_leave_nothing_that_they_find(before: str, after: str) -> None:
    """Wherever a number stands, between whatever, none of it is left as soon as it is told from its neighbours."""
    seen = Rules(list(READY)).redact(f"{before} alice@example.com {after}")
    assert "alice@example.com" not in seen


def test_patterns_and_callables_are_rules() -> None:
    """A pattern hides its match or the group that it names; a callable returns what may be seen, or a verdict."""
    rules = Rules([r"project \w+", re.compile(r"badge (?P<sensitive>\d+)"), lambda text: text.replace("Bob", "B.")])
    assert rules.redact("project Apollo, badge 12, Bob") == f"{MARK}, badge {MARK}, B."
    assert Rules([lambda text: "salary" in text]).redact("my salary is 5") == MARK
    assert Rules([lambda text: "salary" in text]).redact("my car is red") == "my car is red"


def test_overlapping_finds_are_one() -> None:
    """Two rules that find parts of one thing leave one mark, and nothing of it."""
    assert Rules(["abc\\d", "\\dxyz"]).redact("-abc1xyz-") == f"-{MARK}-"


def test_what_is_withheld_goes_with_its_line() -> None:
    """A line with something sensitive goes whole, also where that goes over several lines."""
    text = "one\nmail a@b.example now\n-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\nsix"
    assert Rules(["email", "secret"]).withhold(text) == f"one\n{MARK}\n{MARK}\nsix"


@pytest.mark.parametrize(
    "wrong", ["email", ["emial"], ["(unclosed"], ["a*"], [b"bytes"], [re.compile(b"x")], [3], [""], 7, re.compile("x")]
)
def test_a_rule_that_is_none_is_refused_at_opening(wrong: object) -> None:
    """A mistyped name, a broken or empty pattern: nothing is opened, rather than something sent."""
    with pytest.raises(InvalidInputError, match="nothing was opened"):
        TieredMemory.open(":memory:", embedder=HashEmbedder(), settings=Settings(sensitive=wrong))  # type: ignore[arg-type]


def test_an_action_that_is_none_is_refused() -> None:
    """What to do with sensitive text is one of two things."""
    with pytest.raises(InvalidInputError, match="on_sensitive"):
        TieredMemory.open(":memory:", embedder=HashEmbedder(), settings=Settings(on_sensitive="hide"))  # type: ignore[arg-type]


def test_a_callable_that_fails_lets_nothing_through() -> None:
    """Whatever it raises or returns instead, the error says that nothing was sent, and not what the text was."""

    def failing(text: str) -> bool:
        raise KeyError(text)

    for rule in (failing, lambda text: None):
        with pytest.raises(ConfigurationError, match="nothing was sent") as caught:
            Rules([rule]).redact("canary")  # type: ignore[list-item]
        assert "canary" not in str(caught.value)
