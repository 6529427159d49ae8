"""A model's answer is read whatever its form, and believed only as far as it goes."""

from __future__ import annotations

import contextlib
import json
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siltstone.compress.digest import LISTS, SCHEMA, DigestError, parse_digest, parse_summary
from siltstone.compress.lenient import UnreadableError, find_values, read_value

WHOLE = {
    "topic": "Alice's work",
    "summary": "Alice is a front-end engineer in Shenzhen.",
    "facts": [{"text": "Alice is a front-end engineer", "sources": ["m1"]}],
    "preferences": [{"text": "Alice likes tea", "sources": ["m2", "m3"]}],
    "events": [{"text": "Alice flies to Rome", "sources": ["m4"], "date": "2024-05-03"}],
}
ANSWER = json.dumps(WHOLE)
CHINESE = (
    '{"topic": "工作", "summary": "张三是前端工程师。", "facts": [{"text": "张三在深圳", "sources": ["m1"]}],'
    ' "preferences": [], "events": []}'
)


def test_a_whole_answer_becomes_a_digest() -> None:
    """Every field arrives, labels and dates included, with nothing amiss."""
    digest = parse_digest(ANSWER, made_by="model")
    assert (digest.topic, digest.summary, digest.made_by, digest.flags) == (
        WHOLE["topic"],
        WHOLE["summary"],
        "model",
        (),
    )
    assert digest.facts[0].source_ids == ("m1",)
    assert digest.preferences[0].source_ids == ("m2", "m3")
    assert digest.events[0].occurred_at == datetime(2024, 5, 3, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(f"```json\n{ANSWER}\n```", id="fence"),
        pytest.param(f"```\n{ANSWER}", id="open-fence"),
        pytest.param(
            f"Here is the digest you asked for:\n\n{ANSWER}\n\nLet me know if you need more!", id="prose-around"
        ),
        pytest.param(f"I use {{curly}} braces and [lists] like {{this: that}}.\n{ANSWER}", id="braces-in-prose"),
        pytest.param(ANSWER.replace("}]", "},]").replace('"]', '",]'), id="trailing-commas"),
        pytest.param(f'<think>The user is {{Alice}}. {{"topic": "wrong"}}</think>{ANSWER}', id="think"),
        pytest.param(f"so the topic is …</think>\n{ANSWER}", id="think-without-its-beginning"),
        pytest.param(f"{ANSWER}\n{ANSWER}", id="twice"),
        pytest.param(json.dumps({"digest": WHOLE}), id="wrapped"),
        pytest.param(json.dumps([WHOLE]), id="in-a-list"),
        pytest.param(ANSWER.replace("{", "{ // the digest\n", 1), id="comment"),
        pytest.param(ANSWER.replace('"', "'").replace("Alice's", "Alice\\'s"), id="single-quotes"),
        pytest.param(ANSWER.replace('", "', '"\n, "'), id="new-lines"),
        pytest.param(ANSWER.replace('"topic"', "topic").replace('"facts"', "facts"), id="bare-names"),
        pytest.param("\ufeff" + ANSWER, id="byte-order-mark"),
        pytest.param(ANSWER[:-1], id="last-brace-missing"),
    ],
)
def test_the_form_of_an_answer_does_not_matter(answer: str) -> None:
    """Fences, prose, braces in it, trailing commas, thoughts, wrappers and quotes of any kind: the same digest."""
    digest = parse_digest(answer)
    whole = parse_digest(ANSWER)
    assert (digest.summary, digest.topic) == (whole.summary, whole.topic)
    assert [getattr(digest, name) for name in LISTS] == [getattr(whole, name) for name in LISTS]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r"C:\users\alice", r"C:\users\alice"),
        (r"caf\u00e9", "café"),
        (r"it\'s a 5\_star place", "it's a 5_star place"),
        (r"broken \u12 escape", r"broken \u12 escape"),
        (r"\ud83d\ude00", "😀"),
        (r"alone \ud83d here", "alone \ufffd here"),
        ('She said "hi" to me', 'She said "hi" to me'),
        ("two\nlines", "two\nlines"),
        (r"tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_bad_escapes_keep_what_was_meant(written: str, meant: str) -> None:
    r"""Invalid ``\u`` escapes, lone surrogates, inner quotes and raw new lines lose nothing of the text."""
    digest = parse_digest('{"topic": "t", "summary": "' + written + '", "facts": []}')
    assert digest.summary == meant


def test_full_width_punctuation_between_values_is_read() -> None:
    """A Chinese model's full-width commas, colons and quotes do."""
    digest = parse_digest("{“topic”：“工作”，“summary”：“张三是前端工程师。”，“facts”：[“张三在深圳，做前端”]}")
    assert (digest.topic, digest.facts[0].text) == ("工作", "张三在深圳，做前端")


def test_chinese_field_names_are_understood() -> None:
    """A model that translated the field names is read all the same."""
    digest = parse_digest(
        '{"主题": "工作", "摘要": "张三是前端工程师。", "事实": [{"内容": "张三在深圳", "来源": ["m1"]}]}'
    )
    assert (digest.topic, digest.facts[0].text, digest.facts[0].source_ids) == ("工作", "张三在深圳", ("m1",))


@pytest.mark.parametrize("end", range(40, len(ANSWER)))
def test_a_truncated_answer_keeps_what_is_complete(end: int) -> None:
    """Wherever the token limit cuts an answer, every kept text is whole, and the digest says that it was cut."""
    if end < ANSWER.index('", "facts"') + 1:  # nothing but a topic is complete
        with pytest.raises(DigestError) as caught:
            parse_digest(ANSWER[:end])
        assert caught.value.raw == ANSWER[:end]
        return
    digest = parse_digest(ANSWER[:end])
    assert "truncated" in digest.flags
    texts = {item.text for name in LISTS for item in getattr(digest, name)} | ({digest.summary} - {""})
    assert texts <= {"Alice is a front-end engineer", "Alice likes tea", "Alice flies to Rome", WHOLE["summary"]}


def test_missing_fields_are_flagged_and_the_rest_is_kept() -> None:
    """An answer without topic and events still gives its facts."""
    digest = parse_digest('{"summary": "Alice likes tea.", "facts": ["Alice likes tea"]}')
    assert (digest.facts[0].text, digest.flags) == ("Alice likes tea", ("incomplete",))


def test_a_bare_list_is_taken_for_facts() -> None:
    """A list of items without the object around it is not thrown away."""
    digest = parse_digest('[{"text": "Alice likes tea", "sources": "m2"}, "Alice lives in Rome"]')
    assert [item.text for item in digest.facts] == ["Alice likes tea", "Alice lives in Rome"]
    assert digest.facts[0].source_ids == ("m2",)
    assert "incomplete" in digest.flags


@pytest.mark.parametrize(
    "answer", ["", "I cannot help with that.", "{}", "[]", "null", '{"a": 1}', "{" * 300, '{"topic": "only"}']
)
def test_nothing_usable_is_an_error_that_keeps_the_answer(answer: str) -> None:
    """Empty, refused or empty-handed answers raise, with the raw answer for the dead-letter list."""
    with pytest.raises(DigestError) as caught:
        parse_digest(answer)
    assert caught.value.raw == answer


@pytest.mark.parametrize(
    ("sources", "labels"),
    [
        (["m1"], ("m1",)),
        ("m1, m2", ("m1", "m2")),
        ("[m3]", ("m3",)),
        (4, ("m4",)),
        ([5, "m5"], ("m5",)),
        (None, ()),
        ("all", ()),
    ],
)
def test_labels_are_read_in_any_notation(sources: object, labels: tuple[str, ...]) -> None:
    """Lists, strings, numbers and brackets all name the same messages."""
    digest = parse_digest(json.dumps({"summary": "s", "facts": [{"text": "t", "sources": sources}]}))
    assert digest.facts[0].source_ids == labels


@pytest.mark.parametrize("date", ["", "unknown", "2024-13-45", "next Friday", None, 7])
def test_a_date_that_is_none_is_left_out(date: object) -> None:
    """What is no calendar day becomes no date, not an error."""
    digest = parse_digest(json.dumps({"summary": "s", "events": [{"text": "t", "sources": [], "date": date}]}))
    assert digest.events[0].occurred_at is None


def test_a_summary_of_summaries_is_found() -> None:
    """The answer to a merge is read with the same tolerance."""
    assert parse_summary('```json\n{"topic": "t", "summary": "All of it.",}\n```') == "All of it."
    with pytest.raises(DigestError):
        parse_summary("no")


def test_the_schema_names_every_field() -> None:
    """What is asked for is what is read."""
    assert set(SCHEMA["required"]) == {"topic", "summary", *LISTS}
    assert parse_digest(CHINESE).facts[0].text == "张三在深圳"


TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False, width=32)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(TREES.filter(lambda tree: isinstance(tree, (dict, list))))
def test_valid_json_is_read_as_the_strict_reader_reads_it(tree: object) -> None:
    """The tolerant reader differs from ``json`` only where ``json`` gives up."""
    text = json.dumps(tree)
    found, end = read_value(text)
    assert (found.value, found.cut, end) == (json.loads(text), False, len(text))


@given(st.text(alphabet="{}[]\":,\\u'“”，： \nab1-./*`", max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    """Any soup of brackets and quotes gives values or none, in bounded time, and no other error."""
    assert len(list(find_values(text))) <= 1000
    with contextlib.suppress(UnreadableError):
        read_value(text)


def test_a_long_answer_full_of_brackets_is_read_in_little_time() -> None:
    """Prose with thousands of brackets does not make reading quadratic."""
    assert parse_digest("[x " * 5000 + "```json\n" + ANSWER + "\n```").topic == WHOLE["topic"]
