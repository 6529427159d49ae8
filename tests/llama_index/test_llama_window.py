"""What ``SiltstoneMemory.get`` returns: valid for any chat API, and never more than the token limit."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("llama_index.core")

from llama_index.core.base.llms.types import (
    ChatMessage,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
)
from llama_script import Script, assert_valid, text

from llama_index_siltstone import SiltstoneMemory
from llama_index_siltstone.messages import to_message
from llama_index_siltstone.window import cost, fit_window
from siltstone import TieredMemory
from siltstone.testing import HashEmbedder, WordCounter

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def tool_round(name: str, argument: str, result: str) -> list[ChatMessage]:
    """Return a call and its result."""
    call = ToolCallBlock(tool_call_id=name, tool_name=name, tool_kwargs={"q": argument})
    return [
        ChatMessage(role="assistant", blocks=[call]),
        ChatMessage(role="tool", content=result, additional_kwargs={"tool_call_id": name}),
    ]


words = st.text("ab ", min_size=1, max_size=60).filter(str.strip)
turns = st.lists(
    st.one_of(
        st.builds(lambda t: [ChatMessage(t)], words),
        st.builds(lambda t: [ChatMessage(t, role="assistant")], words),
        st.builds(tool_round, st.sampled_from(["f", "g"]), words, words),
        st.builds(
            lambda t: [ChatMessage(role="assistant", blocks=[ThinkingBlock(content=t), TextBlock(text="So.")])], words
        ),
        st.builds(lambda t: [ChatMessage(role="user", blocks=[TextBlock(text=t), ImageBlock(image=PIXEL)])], words),
    ),
    max_size=12,
)


@given(turns, st.integers(0, 400))
def test_window_is_valid_and_within_its_room(conversation: list[list[ChatMessage]], room: int) -> None:
    """Whatever was said, and however little room there is: whole tool pairs, a user first, and no token too many."""
    said = [to_message(message) for turn in conversation for message in turn]
    window = fit_window(said, room, WordCounter())
    assert_valid(window.messages)
    assert window.tokens == cost(window.messages, WordCounter()) <= room


@given(st.lists(words, min_size=1, max_size=30), st.integers(40, 400), st.sampled_from(["user", "system"]))
def test_limit_holds_with_what_is_recalled(said: list[str], limit: int, insert: str) -> None:
    """The window and the recalled text together stay within ``token_limit``, in either place."""
    with TieredMemory.open(":memory:", embedder=HashEmbedder(), token_counter=WordCounter()) as tiered:
        tiered.add([("user", f"{n} {content}") for n, content in enumerate(said)], session_id="old")
        tiered.add([("user", content) for content in said], session_id="new")
        memory = SiltstoneMemory.from_defaults(tiered, session_id="new", token_limit=limit, insert=insert)  # type: ignore[arg-type]
        messages = memory.get()
        assert_valid(messages)
        assert cost(messages, tiered.token_counter) <= limit


def test_tool_calls_and_thinking_count(tiered: TieredMemory) -> None:
    """A long call and long thoughts cost what they hold: the window leaves them out rather than overflow."""
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday", token_limit=300, recall_share=0)
    thought = ThinkingBlock(content="hm " * 400)
    memory.put_messages(
        [ChatMessage("First?"), ChatMessage(role="assistant", blocks=[thought, TextBlock(text="Yes.")])]
    )
    memory.put_messages([ChatMessage("Second?"), *tool_round("f", "word " * 400, "found")])
    memory.put(ChatMessage("Third?"))
    assert [m.content for m in memory.get()] == ["Third?"]


def test_recalled_text_goes_before_the_last_user_turn(tiered: TieredMemory) -> None:
    """By default the last user message begins with what is recalled and ends with the user's own words."""
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    memory.put(ChatMessage("Where do I work?"))
    (message,) = memory.get()
    assert message.role == MessageRole.USER
    assert message.blocks[-1] == TextBlock(text="Where do I work?")
    assert "Shenzhen" in message.blocks[0].text  # type: ignore[union-attr]


def test_recalled_text_goes_into_the_system_message_on_request(tiered: TieredMemory) -> None:
    """With ``insert="system"`` it follows the conversation's own system message, or makes one."""
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday", insert="system")
    memory.put(ChatMessage("Where do I work?"))
    system, user = memory.get()
    assert (system.role, user.role, user.content) == (MessageRole.SYSTEM, MessageRole.USER, "Where do I work?")
    assert "Shenzhen" in (system.content or "")
    memory.set([ChatMessage("Be brief.", role="system"), *memory.get_all()])
    system, user = memory.get()
    assert (system.content or "").startswith("Be brief.\n<siltstone_memory>")


def test_question_that_is_not_stored_yet_gets_the_recalled_text_alone(tiered: TieredMemory) -> None:
    """At the start of a session there is no user turn to carry it: the recalled text is a message of its own."""
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    (message,) = memory.get(input="Where do I work?")
    assert message.role == MessageRole.USER
    assert "Shenzhen" in text([message])


def test_recall_skips_what_the_window_shows(tiered: TieredMemory) -> None:
    """The question and the turns of the window are not said twice."""
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    memory.put_messages([ChatMessage("I drink oolong at work."), ChatMessage("Good.", role="assistant")])
    memory.put(ChatMessage("What do I drink at work?"))
    request = text(memory.get())
    assert request.count("I drink oolong at work.") == 1
    assert request.count("What do I drink at work?") == 1


def test_recall_skips_the_users_own_question(tiered: TieredMemory) -> None:
    """Asked before, further back than the window reaches, the question itself is no answer and is not recalled."""
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday", token_limit=400)
    memory.put_messages([ChatMessage("Where do I work?"), ChatMessage("You did not say.", role="assistant")])
    for n in range(40):
        memory.put_messages([ChatMessage(f"Question {n} about nothing?"), ChatMessage("Yes.", role="assistant")])
    memory.put(ChatMessage("Where do I work?"))
    request = text(memory.get())
    assert "a front-end engineer in Shenzhen" in request
    assert request.count("Where do I work?") == 1


def test_what_the_window_dropped_is_recalled(tiered: TieredMemory) -> None:
    """A turn of this session that no longer fits comes back when it is asked for."""
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday", token_limit=400)
    memory.put(ChatMessage("My cat is called Miez."))
    for n in range(40):
        memory.put_messages([ChatMessage(f"Question {n} about nothing?"), ChatMessage("Yes.", role="assistant")])
    memory.put(ChatMessage("What is my cat called?"))
    messages = memory.get()
    assert "Miez" in text(messages)
    assert all(message.content != "My cat is called Miez." for message in messages)


def test_messages_are_copies(tiered: TieredMemory) -> None:
    """An engine may write into what it gets: neither the store nor the next ``get`` changes."""
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday")
    memory.put(ChatMessage("Hello there", additional_kwargs={"tags": ["a"]}))
    for message in (memory.get()[0], memory.get_all()[0]):
        message.blocks[-1].text = "overwritten"  # type: ignore[union-attr]
        message.additional_kwargs["tags"].append("b")
    assert memory.get_all() == [ChatMessage("Hello there", additional_kwargs={"tags": ["a"]})]


def test_empty_answers_are_kept_and_not_sent(tiered: TieredMemory) -> None:
    """A model that answers nothing leaves a turn that chat APIs would refuse; it stays in the transcript only."""
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday", recall_share=0)
    memory.put_messages([ChatMessage("Hello?"), ChatMessage("", role="assistant"), ChatMessage("Anyone?")])
    assert [m.content for m in memory.get()] == ["Hello?", "Anyone?"]
    assert [m.content or "" for m in memory.get_all()] == ["Hello?", "", "Anyone?"]


def test_limit_is_that_of_the_model_where_one_is_given(tiered: TieredMemory) -> None:
    """``from_defaults(llm=…)`` takes three quarters of the model's window."""
    model = Script().model
    memory = SiltstoneMemory.from_defaults(tiered, llm=model)
    assert memory.token_limit == model.metadata.context_window * 3 // 4
