"""The language model's summarizer: what it asks, what it believes, and what happens when the model fails."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

import pytest

from siltstone.compress.digest import SCHEMA, SUMMARY_SCHEMA, DigestError
from siltstone.compress.extractive import ExtractiveSummarizer
from siltstone.compress.llm import LLMSummarizer
from siltstone.errors import BackendUnavailableError, InvalidInputError, ModelError
from siltstone.protocols import Summarizer
from siltstone.records import Message
from siltstone.testing import ScriptedChatModel

AT = datetime(2024, 5, 3, 18, tzinfo=timezone(timedelta(hours=8)))
TALK = [
    Message("user", "I'm Alice, a front-end engineer in Shenzhen.", id="a", created_at=AT),
    Message("assistant", "Nice to meet you, Alice!", id="b", created_at=AT),
    Message("user", "I no longer eat meat. If I lived in Paris I'd eat cheese.", id="c", created_at=AT),
]
CHINESE_TALK = [Message("user", "我叫张三，是深圳的前端工程师。我不再吃肉了。", id="甲", created_at=AT)]
GOOD = {
    "topic": "Alice",
    "summary": "Alice is a front-end engineer in Shenzhen and no longer eats meat.",
    "facts": [{"text": "Alice is a front-end engineer in Shenzhen", "sources": ["m1"]}],
    "preferences": [{"text": "Alice no longer eats meat", "sources": ["m3"]}],
    "events": [],
}
ANSWER = json.dumps(GOOD)


def test_it_is_a_summarizer_under_the_name_of_its_model() -> None:
    """The digest says which model made it, and which messages it covers."""
    summarizer = LLMSummarizer(ScriptedChatModel([ANSWER], name="small"))
    digest = summarizer.summarize(TALK)
    assert isinstance(summarizer, Summarizer)
    assert (summarizer.name, digest.made_by, digest.source_ids) == ("small", "small", ("a", "b", "c"))
    assert digest.facts[0].source_ids == ("a",)
    assert digest.preferences[0].source_ids == ("c",)
    assert digest.dropped == 0


def test_items_know_whom_and_what_they_are_about() -> None:
    """Where the rules find the same statement, a model's item takes its subject and attribute."""
    digest = LLMSummarizer(ScriptedChatModel([ANSWER])).summarize(TALK)
    assert (digest.facts[0].subject, digest.facts[0].attribute) == ("user", "work")
    assert (digest.preferences[0].subject, digest.preferences[0].attribute) == ("user", "diet")


def test_the_model_gets_labels_days_and_the_schema_and_no_example() -> None:
    """It sees who said what and when under short labels, never the stored ids, and is bound to the schema."""
    model = ScriptedChatModel([ANSWER])
    LLMSummarizer(model).summarize(TALK)
    (call,) = model.calls
    transcript = call.messages[-1].content
    assert "[m1] (2024-05-03 Friday) user: I'm Alice" in transcript
    assert "[m3]" in transcript
    assert call.schema == SCHEMA
    assert "Alice" not in call.messages[0].content


def test_a_chinese_conversation_is_asked_about_in_chinese() -> None:
    """Prompt and digest keep the language of the people who talk."""
    answer = {
        "topic": "工作",
        "summary": "张三是深圳的前端工程师。",
        "facts": [{"text": "张三是前端工程师", "sources": ["m1"]}],
        "preferences": [{"text": "张三不再吃肉", "sources": ["m1"]}],
        "events": [],
    }
    model = ScriptedChatModel([json.dumps(answer, ensure_ascii=False)])
    digest = LLMSummarizer(model).summarize(CHINESE_TALK)
    assert "不要翻译" in model.calls[0].messages[0].content
    assert [item.text for item in digest.facts + digest.preferences] == ["张三是前端工程师", "张三不再吃肉"]


def test_the_wrong_language_is_asked_for_again() -> None:
    """A digest in English of a Chinese conversation is refused, and the model told why."""
    right = '{"topic": "工作", "summary": "张三是深圳的前端工程师。", "facts": [], "preferences": [], "events": []}'
    model = ScriptedChatModel([ANSWER, right])
    assert LLMSummarizer(model).summarize(CHINESE_TALK).topic == "工作"
    assert "not in Chinese" in model.calls[1].messages[-1].content


def test_an_unusable_answer_is_shown_to_the_model_with_its_error() -> None:
    """The second try carries the first answer and what was wrong with it."""
    model = ScriptedChatModel(["I would rather not.", ANSWER])
    assert LLMSummarizer(model).summarize(TALK).topic == "Alice"
    again = model.calls[1].messages
    assert (again[-2].role, again[-2].content) == ("assistant", "I would rather not.")
    assert "no JSON object" in again[-1].content


def test_unsupported_items_are_dropped_and_counted() -> None:
    """What no message says, supposes only, or says the other way round does not become a memory."""
    invented = [("Alice lives in Paris", "m3"), ("Alice eats meat", "m3"), ("Alice has two children", "m2")]
    facts = [{"text": text, "sources": [label]} for text, label in invented]
    answer = json.dumps({**GOOD, "facts": [*GOOD["facts"], *facts]})  # type: ignore[misc]
    digest = LLMSummarizer(ScriptedChatModel([answer])).summarize(TALK)
    assert [item.text for item in digest.facts] == ["Alice is a front-end engineer in Shenzhen"]
    assert digest.dropped == 3


def test_sentences_of_a_summary_that_nobody_said_are_dropped() -> None:
    """A summary is checked sentence by sentence."""
    summary = "Alice is a front-end engineer in Shenzhen. She grew up on a farm with seven horses."
    digest = LLMSummarizer(ScriptedChatModel([json.dumps({**GOOD, "summary": summary})])).summarize(TALK)
    assert digest.summary == "Alice is a front-end engineer in Shenzhen."
    assert digest.dropped == 1


def test_a_summary_about_somebody_else_is_dropped() -> None:
    """The right words about other people and places are no summary of this conversation."""
    answer = json.dumps({**GOOD, "summary": "He is the front-end engineer Bob in Berlin. Alice no longer eats meat."})
    assert LLMSummarizer(ScriptedChatModel([answer])).summarize(TALK).summary == "Alice no longer eats meat."


def test_a_model_that_only_invents_is_asked_again() -> None:
    """Where nothing among its items was said, it is told so; the summary is kept if no later answer is better."""
    invented = json.dumps({**GOOD, "facts": [{"text": "Alice lives in Paris", "sources": ["m1"]}], "preferences": []})
    model = ScriptedChatModel([invented, ANSWER])
    assert [item.source_ids for item in LLMSummarizer(model).summarize(TALK).facts] == [("a",)]
    assert "use its words" in model.calls[1].messages[-1].content
    assert LLMSummarizer(ScriptedChatModel([invented])).summarize(TALK).summary == GOOD["summary"]


def test_a_truncated_answer_is_asked_for_shorter_and_kept_if_it_stays_so() -> None:
    """What was complete in it survives, marked, when no later answer is whole."""
    cut = ANSWER[:180]
    model = ScriptedChatModel([cut, cut, cut])
    digest = LLMSummarizer(model).summarize(TALK)
    assert "truncated" in digest.flags
    assert digest.facts[0].text == "Alice is a front-end engineer in Shenzhen"
    assert "shorter" in model.calls[1].messages[-1].content


def test_what_an_earlier_try_got_right_is_not_lost() -> None:
    """A whole answer that says less is joined with what was supported in a truncated one."""
    digest = LLMSummarizer(ScriptedChatModel([ANSWER[:180], json.dumps({**GOOD, "facts": []})])).summarize(TALK)
    assert [item.source_ids for item in digest.facts + digest.preferences] == [("a",), ("c",)]
    assert digest.flags == ()


def test_a_merge_that_fails_leaves_the_parts() -> None:
    """When the summaries cannot be joined, the digest keeps their beginning and all items, and says so."""
    talk = [Message("user", f"I own house number {n}. " + "Small talk again. " * 60, id=f"id{n}") for n in range(8)]
    asked_to_join = []

    def answer(messages: Sequence[Message]) -> str:
        if "Join" in messages[0].content:
            asked_to_join.append(messages)
            return "no"
        return json.dumps({**json.loads(echo(messages)), "summary": "The user owns a house with a number."})

    digest = LLMSummarizer(ScriptedChatModel([answer] * 30), window=1536).summarize(talk, max_tokens=20)
    assert asked_to_join
    assert digest.summary.startswith("The user owns a house")
    assert digest.facts
    assert "unmerged" in digest.flags


def test_final_failure_raises_and_keeps_the_raw_answer() -> None:
    """After the last try the error carries the answer."""
    summarizer = LLMSummarizer(ScriptedChatModel(["nope", "nope", "still nope"]), retries=2)
    with pytest.raises(DigestError) as caught:
        summarizer.summarize(TALK)
    assert caught.value.raw == "still nope"
    assert isinstance(caught.value, ModelError)


def test_final_failure_falls_back_and_says_so() -> None:
    """With a fallback the extractive digest comes instead, flagged, with the error and the raw answer."""
    summarizer = LLMSummarizer(ScriptedChatModel(["nope"] * 3), fallback=ExtractiveSummarizer())
    digest = summarizer.summarize(TALK)
    assert (digest.made_by, digest.flags) == ("extractive", ("fallback",))
    assert any("Alice" in item.text for item in digest.facts)
    assert digest.error == "the answer holds no JSON object"
    assert digest.raw == "nope"


@pytest.mark.parametrize("error", [ModelError("refused"), ModelError("empty answer")])
def test_a_failing_model_is_asked_again(error: ModelError) -> None:
    """A refusal counts as a try, not as the end."""
    model = ScriptedChatModel([error, ANSWER])
    assert LLMSummarizer(model).summarize(TALK).topic == "Alice"


def test_an_unreachable_model_is_not_hammered() -> None:
    """A server that is away is the caller's to retry later: one call, its own error; or the fallback."""
    model = ScriptedChatModel([BackendUnavailableError("away")] * 2)
    with pytest.raises(BackendUnavailableError):
        LLMSummarizer(model).summarize(TALK)
    assert len(model.calls) == 1
    assert LLMSummarizer(model, fallback=ExtractiveSummarizer()).summarize(TALK).flags == ("fallback",)


def echo(messages: Sequence[Message]) -> str:
    """Answer with a digest made of the first line of each request."""
    line = messages[-1].content.split("\n")[1]
    label, text = line.split("]", 1)[0].strip("["), line.split(": ", 1)[1]
    facts = [{"text": text, "sources": [label]}]
    return json.dumps({"topic": "t", "summary": text, "facts": facts, "preferences": [], "events": []})


def test_a_long_conversation_is_digested_in_chunks_that_fit_the_window() -> None:
    """Each request fits, items of all chunks arrive with their own sources, and the summaries are joined."""
    talk = [
        Message("user", f"Fact number {n}: I own a house in town {n}. " + "Small talk again. " * 30, id=f"id{n}")
        for n in range(12)
    ]
    merged = json.dumps({"topic": "t", "summary": "I own a house in town 3."})

    class Counter:
        def count(self, text: str) -> int:
            return len(text.split())

    model = ScriptedChatModel([lambda m: merged if "Join" in m[0].content else echo(m)] * 20)
    digest = LLMSummarizer(model, window=1536, counter=Counter()).summarize(talk, max_tokens=12)
    assert len(model.calls) > 2
    assert all(sum(Counter().count(one.content) for one in call.messages) <= 1536 - 384 for call in model.calls)
    assert {id for item in digest.facts for id in item.source_ids} >= {"id0"}
    assert model.calls[-1].schema == SUMMARY_SCHEMA
    assert digest.summary == "I own a house in town 3."


def test_a_message_longer_than_the_window_is_cut_at_sentences_and_keeps_its_label() -> None:
    """A message of any length is digested: no part is skipped."""
    text = " ".join(f"Sentence number {n} says something." for n in range(2000))
    model = ScriptedChatModel([echo] * 100)
    LLMSummarizer(model, window=2048).summarize([Message("user", text, id="long")])
    seen = "".join(call.messages[-1].content for call in model.calls)
    assert all(f"Sentence number {n} says" in seen for n in range(2000))
    assert seen.count("[m1]") >= len(model.calls) - 1


def test_the_summary_keeps_its_budget() -> None:
    """A model that overshoots is cut at the end of a sentence."""
    long = {**GOOD, "summary": "Alice is a front-end engineer in Shenzhen. " * 20}
    digest = LLMSummarizer(ScriptedChatModel([json.dumps(long)])).summarize(TALK * 10, max_tokens=30)
    assert digest.summary.count("Alice") in (1, 2, 3)


def test_a_silent_span_asks_no_model() -> None:
    """Tool calls and system prompts alone give an empty digest."""
    model = ScriptedChatModel([])
    digest = LLMSummarizer(model).summarize([Message("system", "Be kind.", id="s"), Message("tool", "42", id="t")])
    assert (digest.summary, digest.facts, model.calls) == ("", (), [])


def test_impossible_settings_are_refused() -> None:
    """A window too small for the prompt, or negative retries, is a clear error."""
    with pytest.raises(InvalidInputError, match="window"):
        LLMSummarizer(ScriptedChatModel([ANSWER]), window=256).summarize(TALK)
    with pytest.raises(InvalidInputError, match="retries"):
        LLMSummarizer(ScriptedChatModel([]), retries=-1)


def test_injected_memories_are_not_summarised_again() -> None:
    """What siltstone put into a prompt is not shown to the model as something said."""
    from siltstone.text.guard import fence

    model = ScriptedChatModel([ANSWER])
    LLMSummarizer(model).summarize([*TALK, Message("user", fence("Bob lives in Oslo") + "\nWhat is my name?", id="d")])
    assert "Oslo" not in model.calls[0].messages[-1].content
