"""Transcripts that are sent again: what is new in them is stored, once."""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("llama_index.core")

from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock

from llama_index_siltstone import SiltstoneMemory
from llama_index_siltstone.messages import to_message
from llama_index_siltstone.transcript import plan_set, unseen
from siltstone import Message, TieredMemory
from siltstone.testing import HashEmbedder, WordCounter


def on_tuesday(tiered: TieredMemory) -> SiltstoneMemory:
    """Return the memory of Tuesday's conversation."""
    return SiltstoneMemory.from_defaults(tiered, session_id="tuesday")


def chat(*said: str) -> list[ChatMessage]:
    """Return user and assistant turns in alternation."""
    return [ChatMessage(content, role=("user", "assistant")[n % 2]) for n, content in enumerate(said)]


def contents(memory: SiltstoneMemory) -> list[str | None]:
    """Return what the conversation says."""
    return [message.content for message in memory.get_all()]


def stored(tiered: TieredMemory) -> list[str]:
    """Return all texts that Tuesday's session has stored, shown or not."""
    return [message.content for message in tiered.messages("tuesday") if message.content]


def test_growing_transcript_stores_only_its_end(tiered: TieredMemory) -> None:
    """Sent whole after every turn, a conversation is stored once."""
    memory = on_tuesday(tiered)
    for length in (2, 4, 4, 6):
        memory.set(chat("a", "b", "c", "d", "e", "f")[:length])
    assert contents(memory) == stored(tiered) == ["a", "b", "c", "d", "e", "f"]


def test_same_words_said_twice_are_two_turns(tiered: TieredMemory) -> None:
    """``ok`` said again is another turn, in a transcript and by ``put``."""
    memory = on_tuesday(tiered)
    memory.set(chat("ok", "ok", "ok"))
    memory.put(ChatMessage("ok", role="assistant"))
    memory.set(chat("ok", "ok", "ok", "ok", "ok"))
    assert contents(memory) == stored(tiered) == ["ok"] * 5


def test_answer_taken_back_is_no_longer_shown(tiered: TieredMemory) -> None:
    """A transcript without its last answer, and another one in its place, is shown as sent; nothing is deleted."""
    memory = on_tuesday(tiered)
    memory.set(chat("a", "b", "c", "d"))
    memory.set(chat("a", "b", "c"))
    assert contents(memory) == ["a", "b", "c"]
    memory.put(ChatMessage("e", role="assistant"))
    assert contents(memory) == contents(on_tuesday(tiered)) == ["a", "b", "c", "e"]
    assert stored(tiered) == ["a", "b", "c", "d", "e"]


def test_shortened_transcript_is_shown_as_sent(tiered: TieredMemory) -> None:
    """A front end that sends its last two turns sees these, and the earlier ones are recalled, not doubled."""
    memory = on_tuesday(tiered)
    memory.set(chat("a", "b", "c", "d"))
    memory.set(chat("c", "d", "e", "f"))
    assert contents(memory) == ["c", "d", "e", "f"]
    assert sorted(stored(tiered)) == ["a", "b", "c", "d", "e", "f"]


def test_front_end_that_knows_no_tool_talk_leaves_it_in_place(tiered: TieredMemory) -> None:
    """A transcript of what was spoken alone does not take the tool rounds out of the conversation."""
    memory = on_tuesday(tiered)
    call = ToolCallBlock(tool_call_id="1", tool_name="f", tool_kwargs={"q": "x"})
    result = ChatMessage("found", role="tool", additional_kwargs={"tool_call_id": "1"})
    spoken = chat("a", "b")
    memory.put_messages([spoken[0], ChatMessage(role="assistant", blocks=[call]), result, spoken[1]])
    memory.set(chat("a", "b", "c"))
    assert [m.role.value for m in memory.get_all()] == ["user", "assistant", "tool", "assistant", "user"]
    memory.set(memory.get_all())
    assert len(tiered.messages("tuesday")) == 5


def test_what_was_recalled_is_not_stored_with_a_transcript(tiered: TieredMemory) -> None:
    """An application that passes back what it was given does not make the user say what was recalled."""
    memory = on_tuesday(tiered)
    memory.put(ChatMessage("Where do I work? {query_str}"))
    memory.set([*memory.get(), ChatMessage("In Shenzhen.", role="assistant")])
    assert stored(tiered) == ["Where do I work? {query_str}", "In Shenzhen."]


def test_forgotten_turn_does_not_come_back_with_the_transcript(tiered: TieredMemory) -> None:
    """What the user had deleted stays deleted, though the application sends the whole conversation again."""
    memory = on_tuesday(tiered)
    transcript = chat("My PIN is 1234.", "Noted.", "Forget it.", "Done.")
    for message in transcript:
        memory.put(message)
    tiered.forget(ids=[tiered.messages("tuesday")[0].id or ""])
    memory.set(transcript)
    assert "1234" not in " ".join(stored(tiered))
    assert not any("1234" in record.text for record in tiered.records())


def test_forgotten_words_said_again_are_shown_and_not_remembered(tiered: TieredMemory) -> None:
    """The user may say again what was forgotten: the model sees the turn, in its place, and no memory is made of it."""
    memory = on_tuesday(tiered)
    memory.put_messages(chat("My PIN is 1234.", "Noted."))
    tiered.forget(ids=[tiered.messages("tuesday")[0].id or ""])
    memory.put_messages(chat("My PIN is 1234.", "I see."))
    assert contents(memory) == ["Noted.", "My PIN is 1234.", "I see."]
    assert memory.get()[-2].blocks[-1] == TextBlock(text="My PIN is 1234.")
    assert not any("1234" in record.text for record in tiered.records())


def test_a_forgotten_transcript_sent_again_is_in_no_file(tmp_path: Path) -> None:
    """It is shown where it was put, also when the conversation is set to what it shows; nothing of it is stored."""
    with TieredMemory.open(tmp_path, embedder=HashEmbedder(), token_counter=WordCounter()) as tiered:
        memory = on_tuesday(tiered)
        told = chat("My PIN is heliotrope.", "Noted: heliotrope.")
        memory.put_messages(told)
        tiered.forget(session_id="tuesday")
        memory.put_messages(told)
        memory.put(ChatMessage("Something new."))
        assert contents(memory) == ["My PIN is heliotrope.", "Noted: heliotrope.", "Something new."]
        memory.set([*memory.get_all(), ChatMessage("More.")])
        assert contents(memory) == ["My PIN is heliotrope.", "Noted: heliotrope.", "Something new.", "More."]
        assert stored(tiered) == ["Something new.", "More."]
        assert "heliotrope" not in str(memory.to_dict())
        memory.reset()
        assert contents(memory) == []
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"heliotrope" in path.read_bytes()]


def test_turns_put_by_several_threads_are_all_kept(tiered: TieredMemory) -> None:
    """Streaming engines store from threads of their own: nothing is lost."""
    memory = on_tuesday(tiered)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: memory.put(ChatMessage(f"turn {n}")), range(40)))
    assert sorted(stored(tiered)) == sorted(f"turn {n}" for n in range(40))


def test_async_methods_do_what_the_others_do(tiered: TieredMemory) -> None:
    """Each method of ``BaseMemory`` and its async twin leave and return the same."""
    sync = SiltstoneMemory.from_defaults(tiered, session_id="sync")
    twin = SiltstoneMemory.from_defaults(tiered, session_id="async")
    transcript = chat("a", "b", "Where do I work?")

    async def later() -> list[list[ChatMessage]]:
        await twin.aput(ChatMessage("before"))
        await twin.areset()
        assert await twin.aget_all() == []
        await twin.aput(transcript[0])
        await twin.aput_messages(transcript[1:])
        await twin.aset([*transcript, ChatMessage("In Shenzhen.", role="assistant")])
        return [await twin.aget_all(), await twin.aget()]

    sync.put(ChatMessage("before"))
    sync.reset()
    assert sync.get_all() == []
    sync.put(transcript[0])
    sync.put_messages(transcript[1:])
    sync.set([*transcript, ChatMessage("In Shenzhen.", role="assistant")])
    whole, window = asyncio.run(later())
    assert whole == sync.get_all() == [*transcript, ChatMessage("In Shenzhen.", role="assistant")]
    assert [(m.role, m.blocks[-1]) for m in window] == [(m.role, m.blocks[-1]) for m in sync.get()]
    assert "a front-end engineer in Shenzhen" in (window[-2].content or "")


@pytest.mark.parametrize("one_object", [True, False])
def test_transcript_set_by_several_threads_at_once_is_stored_once(tiered: TieredMemory, one_object: bool) -> None:
    """A request that a client sends twice, or two runs with one history, double nothing: who has more adds the rest."""
    shared = on_tuesday(tiered)
    transcript = chat("a", "b", "c", "d", "e", "f")
    at_once = Barrier(6)

    def set_to(length: int) -> None:
        memory = shared if one_object else on_tuesday(tiered)
        at_once.wait()
        memory.set(transcript[:length])

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(set_to, (4, 4, 4, 6, 6, 6)))
    assert sorted(stored(tiered)) == ["a", "b", "c", "d", "e", "f"]
    shared.set(transcript)
    assert contents(shared) == ["a", "b", "c", "d", "e", "f"]


def test_what_is_new_has_the_same_ids_however_much_is_stored() -> None:
    """Whoever finds nothing stored, and whoever finds the beginning, give the rest of a transcript the same ids."""
    transcript = [to_message(message) for message in chat("a", "b", "b", "b", "c")]
    whole = plan_set([], transcript).additions
    assert len({message.id for message in whole}) == len(transcript)
    for known in range(len(transcript)):
        assert plan_set(whole[:known], transcript).additions == whole[known:]


@pytest.mark.parametrize("at", range(4))
def test_cancelled_set_doubles_nothing(tiered: TieredMemory, at: int) -> None:
    """A request that is cut off in the middle, and sent again, is stored once, at whatever call it was cut off."""
    memory = on_tuesday(tiered)
    transcript = chat("a", "b", "c")

    async def twice() -> None:
        running = asyncio.ensure_future(memory.aset(transcript))
        for _ in range(at):
            await asyncio.sleep(0.002)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await memory.aset(transcript)

    asyncio.run(twice())
    assert contents(memory) == stored(tiered) == ["a", "b", "c"]


def test_reads_for_other_limits_do_not_disturb_each_other(tiered: TieredMemory) -> None:
    """While some threads ask for a short window and turns come in, the whole conversation is returned whole."""
    tiered.add([("user", f"turn {n}") for n in range(200)], session_id="tuesday")
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday", token_limit=200)
    done, interval = Event(), sys.getswitchinterval()

    def read_windows() -> None:
        while not done.is_set():
            assert memory.get()

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(3) as pool:
            readers = [pool.submit(read_windows) for _ in range(3)]
            try:
                for n in range(60):
                    tiered.remember(f"Something else, {n}.")
                    assert len(memory.get_all()) == 200
            finally:
                done.set()
            for reader in readers:
                reader.result()
    finally:
        sys.setswitchinterval(interval)


said = st.lists(st.sampled_from("abc"), max_size=8)


@given(said, said, said)
def test_set_shows_exactly_the_transcript(first: list[str], put: list[str], second: list[str]) -> None:
    """Whatever was there, the conversation says what was set, and no stored turn is stored again."""
    with TieredMemory.open(":memory:", embedder=HashEmbedder(), token_counter=WordCounter()) as tiered:
        memory = on_tuesday(tiered)
        memory.set([ChatMessage(content) for content in first])
        memory.put_messages([ChatMessage(content) for content in put])
        memory.set([ChatMessage(content) for content in second])
        assert contents(memory) == second
        most = {c: max([*first, *put].count(c), second.count(c)) for c in "abc"}
        assert {c: stored(tiered).count(c) for c in "abc"} == most


@given(said, said, st.integers(0, 8))
def test_unseen_is_what_continues_the_stored_messages(known: list[str], new: list[str], shown: int) -> None:
    """Of the newest messages of a conversation, those are unseen that follow what is stored."""
    old = [Message("user", content) for content in known]
    fresh = [Message("user", content + "!") for content in new]
    recent = [*old[max(len(old) - shown, 0) :], *fresh]
    assert [m.content for m in unseen(old, recent)] == [m.content for m in fresh]
    assert len({m.id for m in unseen(old, recent)}) == len(fresh)


def test_ids_do_not_grow_with_the_conversation() -> None:
    """Each turn's id comes from the one before it, and is no longer for that: a thousandth turn can be stored."""
    old: list[Message] = []
    for n in range(50):
        old += unseen(old, [*old, Message("user", str(n))])
        old += plan_set(old, [*old, Message("assistant", str(n))]).additions
    assert {len(m.id or "") for m in old} == {20}
    assert len({m.id for m in old}) == 100
