"""Working memory: the window of a running session."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siltstone import Message
from siltstone.testing import WordCounter
from siltstone.tiers.working import calls_tools, cost, fit

COUNTER = WordCounter()
CALL = {"tool_calls": [{"id": "c1", "name": "look_up", "args": {}}]}


def spent(window: list[Message]) -> int:
    """Return the cost of a window."""
    return sum(cost(message, COUNTER) for message in window)


def test_everything_that_fits_is_there_in_order() -> None:
    """A session within the budget is returned whole."""
    session = [Message("system", "Be kind."), Message("user", "Hello"), Message("assistant", "你好")]
    assert fit(session, 1_000, COUNTER) == session


def test_the_newest_exchanges_win() -> None:
    """Over the budget, whole old exchanges go and the newest stay."""
    session = [Message(role, f"{role} number {n}") for n in range(20) for role in ("user", "assistant")]
    window = fit(session, 40, COUNTER)
    assert window == session[-len(window) :]
    assert window[0].role == "user"
    assert spent(window) <= 40


def test_tool_calls_and_results_stay_together() -> None:
    """No window has a tool result without its call, or a call without its result."""
    session = [
        Message("user", "one " * 5),
        Message("assistant", "", metadata=CALL),
        Message("tool", "result " * 5),
        Message("assistant", "done"),
        Message("user", "two"),
        Message("assistant", "fine"),
    ]
    for budget in range(1, spent(session) + 2):
        window = fit(session, budget, COUNTER)
        assert spent(window) <= budget
        for n, message in enumerate(window):
            if message.role == "tool":
                assert window[n - 1].role in ("tool", "assistant")
                assert calls_tools(window[n - 1]) or window[n - 1].role == "tool"
            if calls_tools(message) and n + 1 < len(window):
                assert window[n + 1].role == "tool"


def call(*ids: str, text: str = "") -> Message:
    """Return a message that calls one tool for each id."""
    return Message("assistant", text, metadata={"tool_calls": [{"id": id, "name": "look_up"} for id in ids]})


def result(id: str) -> Message:
    """Return the result of one call."""
    return Message("tool", f"result of {id}", metadata={"tool_call_id": id})


@pytest.mark.parametrize(
    ("rounds", "kept"),
    [
        ([call("a", "b"), result("b"), result("a")], 3),
        ([call("a", "b"), result("a")], 0),
        ([call("a"), result("z")], 0),
        ([call("a"), result("a"), result("a")], 2),
        ([call("a"), Message("user", "hold on"), result("a")], 1),
        ([call("a", text="Let me see."), Message("user", "next")], 1),
        ([call("a", "b"), Message("tool", "no id"), result("b")], 3),
        ([call("a"), Message("tool", "no id")], 2),
        ([result("a")], 0),
    ],
)
def test_every_call_has_its_results_and_every_result_its_call(rounds: list[Message], kept: int) -> None:
    """Calls are whole or absent, results without a call are dropped, whatever is missing in between."""
    window = fit([Message("user", "q"), *rounds, Message("assistant", "done")], 1_000, COUNTER)
    assert len(window) == kept + 2
    called = {id for message in window if message.metadata for id in _called(message)}
    assert {(m.metadata or {}).get("tool_call_id", id) for m in window if m.role == "tool" for id in called} <= called


def _called(message: Message) -> list[str]:
    return [call["id"] for call in (message.metadata or {}).get("tool_calls", ())]


@pytest.mark.parametrize(("given", "kept"), [((), True), (("a",), False)])
def test_only_a_call_that_waits_for_all_of_its_results_may_be_last(given: tuple[str, ...], kept: bool) -> None:
    """A call that was just made is there for its results to follow; half an answer is not."""
    asked = call("a", "b")
    window = fit([Message("user", "q"), asked, *map(result, given)], 1_000, COUNTER)
    assert window == [Message("user", "q"), *([asked] if kept else [])]


def test_tool_calls_cost_tokens() -> None:
    """A call without text is not free."""
    assert cost(Message("assistant", "", metadata=CALL), COUNTER) > cost(Message("assistant", ""), COUNTER)


def test_a_first_message_too_long_is_cut_at_a_sentence_and_marked() -> None:
    """When nothing fits whole, the newest question is cut at a sentence end rather than lost."""
    text = "I moved to Lisbon. " * 30
    (window,) = fit([Message("user", text)], 30, COUNTER)
    assert window.metadata == {"cut": True}
    assert 0 < len(window.content) < len(text)
    assert cost(window, COUNTER) <= 30


def test_an_old_tool_result_does_not_open_the_window() -> None:
    """Messages before the first question cannot stand alone and are left out."""
    session = [Message("tool", "orphan"), Message("assistant", "hm"), Message("user", "hi")]
    assert fit(session, 100, COUNTER) == [Message("user", "hi")]


roles = st.sampled_from(["system", "user", "assistant", "tool"])
texts = st.text(alphabet="ab 。.你", min_size=1, max_size=40)
messages = st.builds(
    lambda role, text, call: Message(role, text, metadata=CALL if call and role == "assistant" else None),
    roles,
    texts,
    st.booleans(),
)


@given(st.lists(messages, max_size=12), st.integers(1, 120))
def test_any_window_is_valid_and_within_budget(session: list[Message], budget: int) -> None:
    """Whatever the session, the window opens with system or user, keeps tool pairs, and holds the budget."""
    window = fit(session, budget, COUNTER)
    assert spent(window) <= budget
    if window:
        assert window[0].role in ("system", "user")
    for before, message in zip([None, *window[:-1]], window, strict=bool(window)):
        if message.role == "tool":
            assert before is not None
            assert before.role == "tool" or calls_tools(before)
    for message, after in pairwise(window):
        if calls_tools(message):
            assert after.role == "tool"
