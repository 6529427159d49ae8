"""Sensitive text and real servers: whatever a memory does, no byte of it arrives; what is stored stays as written."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scripted_server import Answer, Asked, ScriptedServer
from siltstone import Message, Settings, TieredMemory, upkeep
from siltstone.compress.llm import LLMSummarizer
from siltstone.models.openai import OpenAIChatModel, OpenAIEmbedder
from siltstone.protocols import Floats
from siltstone.quality.run import audit
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter
from siltstone.text.sensitive import MARK

SECRETS = (
    "alice.b@example.com",
    "415-555-0132",
    "4111 1111 1111 1111",
    "sk-proj-abcdefghij0123456789",
    "heliotrope",
    "13800138000",
    "11010519491231002X",
    "小明",
    "虎纹88",
)
ENGLISH = [
    ("user", "I'm Alice, I live in Lisbon. Write to alice.b@example.com or call 415-555-0132."),
    ("assistant", "Noted. Your card 4111 1111 1111 1111 is on file."),
    ("user", "I'm allergic to peanuts, and my key is sk-proj-abcdefghij0123456789."),
    (
        "assistant",
        "I will remember the heliotrope plan. " + " ".join(f"Its step {n} is to water bed {n}." for n in range(9)),
    ),
]
CHINESE = [
    ("user", "我叫小明，住在杭州，手机号13800138000。"),
    ("assistant", "好的，已记下身份证11010519491231002X。"),
    ("user", "我对花生过敏，家里的密码是虎纹88，别忘了。"),
    ("assistant", "记住了。" + "".join(f"第{n}步是给{n}号花坛浇水。" for n in range(9))),
]
PLAIN = [
    ("user", "I work as a nurse in Lisbon."),
    ("assistant", "Good to know."),
    ("user", "I have a dog named Rex."),
    ("assistant", "A fine name."),
]
RULES = ["email", "phone", "card", "chinese_id", "secret", re.compile("heliotrope|小明")]
EMBEDDER = HashEmbedder()


def digest_of(prompt: str) -> str:
    """Return a digest that repeats all that the model was shown, as a model may."""
    lines = re.findall(r"^\[?(m\d+)\]?(.*)$", prompt, re.MULTILINE)
    items = [{"text": text.split(": ")[-1].strip(), "sources": [label]} for label, text in lines]
    return json.dumps(
        {"topic": "talk", "summary": prompt[-300:], "facts": items, "preferences": [], "events": []}, ensure_ascii=False
    )


def answer(asked: Asked) -> Answer:
    """Answer as an embeddings, rerank, chat or Ollama server would."""
    if asked.path.endswith("/embeddings"):
        rows = EMBEDDER.embed_documents(asked.body["input"])
        return Answer({"data": [{"index": i, "embedding": row.tolist()} for i, row in enumerate(rows)]})
    if asked.path.endswith("/rerank"):
        count = len(asked.body["documents"])
        return Answer({"results": [{"index": i, "relevance_score": 1.0 / (i + 1)} for i in range(count)]})
    prompt = asked.body["messages"][-1]["content"]
    text = digest_of(prompt)
    if "insights" in json.dumps(asked.body):
        text = json.dumps({"insights": [{"text": "Seen: " + prompt[:200], "sources": ["f1", "f2"]}], "stale": []})
    if asked.path.endswith("/api/chat"):
        return Answer({"message": {"content": text}})
    return Answer({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A server that plays every model, and keeps what arrived."""
    with ScriptedServer(answer) as server:
        yield server


def leaks(server: ScriptedServer) -> list[tuple[str, str]]:
    """Return which secrets arrived in any form, and where: as text, escaped in JSON, in base64."""
    found = []
    for asked in server.asked:
        for secret in SECRETS:
            plain = secret.encode()
            coded = [base64.b64encode(b"x" * shift + plain)[4:-4] for shift in range(3)]
            forms = [plain, json.dumps(secret)[1:-1].encode(), *(code for code in coded if len(code) > 7)]
            if any(form in asked.raw for form in forms) or secret in json.dumps(asked.body, ensure_ascii=False):
                found.append((secret, asked.path))
    return found


def opened(server: ScriptedServer, where: str | Path, clock: FrozenClock, **changes: Any) -> TieredMemory:
    """Open a memory all of whose models are behind the server."""
    settings = changes.pop("settings", None) or Settings(
        embed_wait=5.0,
        span_turns=4,
        reflect=True,
        judge=changes.get("llm", "") is not None,
        sensitive=RULES,
        on_sensitive=changes.pop("on_sensitive", "redact"),
    )
    models = {
        "embedder": f"openai:hash@{server.url}",
        "summarizer": f"openai:small@{server.url}",
        "reranker": f"openai:best@{server.url}",
        "llm": f"openai:large@{server.url}",
    }
    return TieredMemory.open(
        where, token_counter=WordCounter(), clock=clock, settings=settings, **{**models, **changes}
    )


@pytest.fixture
def clock() -> FrozenClock:
    """A clock that moves when it is told to."""
    return FrozenClock("2024-05-08T12:00:00+00:00")


def live(memory: TieredMemory, clock: FrozenClock, server: ScriptedServer) -> None:
    """Do everything that asks a model: add, search, digest, judge, roll up, reflect, audit, in two languages."""
    for number, talk in enumerate([ENGLISH, CHINESE, PLAIN] * 4):
        memory.add(talk, session_id=f"s{number % 3}", created_at=clock.now())
        memory.consolidate()
        clock.advance(days=2)
    for car in ("I drive a Volvo estate.", "I drive a Skoda estate."):  # of these two no rule can tell
        memory.add([("user", car), ("assistant", "A fine car.")], session_id=car)
        clock.advance(days=2)
        memory.consolidate()
    memory.add([Message("user", "Hello again.", name="小明")], session_id="named")
    id = memory.remember("The heliotrope plan is due.", kind="event")
    memory.update(id, text="The heliotrope plan was due, says alice.b@example.com.")
    for query in ("Who is alice.b@example.com?", "heliotrope 13800138000 是谁的号码？", "密码是虎纹88吗"):
        memory.search(query)
        memory.context(query, session_id="s1")
    memory.summarizer.summarize(memory.messages("s1"))
    clock.advance(days=60)
    memory.consolidate()
    memory.flush(10)
    audit(memory, sample=1.0, judge=f"openai:auditor@{server.url}")


@pytest.mark.parametrize("on_sensitive", ["redact", "local"])
def test_no_byte_of_it_arrives(server: ScriptedServer, tmp_path: Path, clock: FrozenClock, on_sensitive: str) -> None:
    """Summaries, statements, roll-ups, reflection, vectors, questions, reranking: nothing sensitive leaves."""
    with opened(server, tmp_path / "m", clock, on_sensitive=on_sensitive) as memory:
        live(memory, clock, server)
        assert leaks(server) == []
        assert {asked.path for asked in server.asked} == {"/v1/embeddings", "/v1/rerank", "/v1/chat/completions"}
        asked = json.dumps([one.body for one in server.asked], ensure_ascii=False)
        assert MARK in asked
        assert [task for task in ("insights", "supersedes", "auditor") if task not in asked] == []
        assert [message.content for message in memory.messages("s0")][:4] == [text for _, text in ENGLISH]
        assert any("alice.b@example.com" in hit.record.text for hit in memory.search("alice.b@example.com"))
        counts = memory.stats().sensitive
        assert counts["redacted"] > 0
        assert (counts.get("local", 0) > 0) == (on_sensitive == "local")
        kind = "redacted" if on_sensitive == "redact" else "local"
        assert counts[f"{kind}_summaries"] > 0


@pytest.mark.parametrize("on_sensitive", ["redact", "local"])
def test_summaries_made_here_hold_nothing_sensitive(tmp_path: Path, clock: FrozenClock, on_sensitive: str) -> None:
    """Without any model, too: what is made of messages is redacted, unless the whole text is to stay here."""
    settings = Settings(embed_wait=5.0, sensitive=["email", "card"], on_sensitive=on_sensitive)  # type: ignore[arg-type]
    said = f"I'm Alice, write to alice.b@example.com. My card is 4111 1111 1111 1111. {'We sailed on. ' * 60}"
    with TieredMemory.open(
        tmp_path / "m", embedder=HashEmbedder(), token_counter=WordCounter(), clock=clock, settings=settings
    ) as memory:
        memory.add([("user", said), ("assistant", "Noted.")], session_id="s", created_at="2024-05-01T12:00:00Z")
        plan = [
            ("user", "I'm flying to Kyoto on June 3."),
            ("user", "The Kyoto trip is off, says alice.b@example.com."),
        ]
        memory.add(plan, session_id="t", created_at="2024-05-02T12:00:00Z")
        assert memory.consolidate().count("end") == 1
        made = [record for record in memory.records() if record.kind != "turn"]
        found = any(secret in record.text for record in made for secret in ("alice.b@example.com", "4111"))
        assert made
        assert found == (on_sensitive == "local")
        assert memory.messages("s")[0].content == said
        assert ("redacted_summaries" in memory.stats().sensitive) == (on_sensitive == "redact")


def test_the_test_would_see_it(server: ScriptedServer, tmp_path: Path, clock: FrozenClock) -> None:
    """Without rules every secret does arrive: the life above sends them all."""
    settings = Settings(embed_wait=5.0, span_turns=4, reflect=True, judge=True)
    with opened(server, tmp_path / "m", clock, settings=settings) as memory:
        live(memory, clock, server)
        assert {secret for secret, _ in leaks(server)} == set(SECRETS)
        assert {path for _, path in leaks(server)} == {"/v1/embeddings", "/v1/rerank", "/v1/chat/completions"}
        assert memory.stats().sensitive == {}


def test_a_message_that_is_to_stay_is_sent_in_no_part(server: ScriptedServer, clock: FrozenClock) -> None:
    """Under ``local`` the span's digest is extractive and final, and the rest of the message does not leave either."""
    with opened(server, ":memory:", clock, on_sensitive="local", reranker=None) as memory:
        memory.add(ENGLISH, session_id="s")
        report = memory.consolidate()
        assert report.count("digest") == 1
        (summary,) = memory.records(kinds="summary")
        assert (summary.made_by, summary.flags) == ("extractive", ("local",))
        assert not [asked for asked in server.asked if "chat" in asked.path]
        assert b"Write to" not in b"".join(asked.raw for asked in server.asked)
        assert memory.stats().jobs == {}
        assert memory.consolidate().rows == ()
        memory.add(PLAIN, session_id="t")
        memory.consolidate()
        assert [asked for asked in server.asked if "chat" in asked.path]


def test_what_is_kept_is_found_by_its_words(server: ScriptedServer, clock: FrozenClock) -> None:
    """A text that no embedder has seen has its place in the search by words, and is near to nothing by meaning."""
    with opened(server, ":memory:", clock, on_sensitive="local", reranker=None) as memory:
        memory.add([("user", f"note {n}: the weather in Lisbon was fine") for n in range(30)], session_id="s")
        memory.add([("user", "the cobalt folder is at alice.b@example.com")], session_id="s")
        memory.flush(10)
        assert memory.stats().pending_vectors == 0
        best = memory.search("where is the cobalt folder?")[0]
        assert "cobalt" in best.record.text
        assert "cobalt" not in "".join(str(asked.body) for asked in server.asked if "note" in str(asked.body))


def test_a_store_is_moved_to_a_server_without_it(server: ScriptedServer, tmp_path: Path, clock: FrozenClock) -> None:
    """``reembed`` sends texts that were written before, under the rules that it is given."""
    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(name="other")) as memory:
        memory.add(ENGLISH + CHINESE, session_id="s")
        memory.flush(10)
    upkeep.reembed(tmp_path / "m", embedder=f"openai:hash@{server.url}", settings=Settings(sensitive=RULES))
    assert len(server.asked) > 1
    assert leaks(server) == []


def test_a_file_comes_in_without_it(server: ScriptedServer, tmp_path: Path, clock: FrozenClock) -> None:
    """What ``import_from`` embeds is redacted as what ``add`` does."""
    with TieredMemory.open(":memory:", embedder=HashEmbedder()) as memory:
        memory.add(ENGLISH + CHINESE, session_id="s")
        memory.export_to(tmp_path / "out.jsonl")
    with opened(server, tmp_path / "m", clock) as memory:
        assert memory.import_from(tmp_path / "out.jsonl").added == 8
        memory.flush(10)
    assert leaks(server) == []


@pytest.mark.parametrize("kind", ["ollama", "langchain", "own summarizer", "own model"])
def test_every_kind_of_model_is_taken_for_a_remote_one(server: ScriptedServer, clock: FrozenClock, kind: str) -> None:
    """Ollama, a framework's object and objects of the user's own see no more than an OpenAI-compatible server."""
    own = OpenAIChatModel("small", server.url)

    class LangChainLike:
        def invoke(self, turns: Sequence[tuple[str, str]]) -> str:
            return own.complete([Message(role, content) for role, content in turns])

    kinds: dict[str, Callable[[], Any]] = {
        "ollama": lambda: f"ollama:small@{server.url}",
        "langchain": LangChainLike,
        "own summarizer": lambda: LLMSummarizer(own),
        "own model": lambda: own,
    }
    with opened(server, ":memory:", clock, summarizer=kinds[kind](), llm=None) as memory:
        memory.add(ENGLISH, session_id="s")
        memory.add(CHINESE, session_id="t")
        assert memory.consolidate().count("digest") == 2
    assert leaks(server) == []
    assert [asked for asked in server.asked if "chat" in asked.path]


def test_metadata_is_seen_no_more_than_text(server: ScriptedServer, clock: FrozenClock) -> None:
    """A summarizer of one's own is given messages whose metadata is redacted as well: numbers, names of fields."""
    given: list[Message] = []

    class Own(LLMSummarizer):
        def summarize(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Any:
            given.extend(messages)
            return super().summarize(messages, max_tokens=max_tokens)

    summarizer = Own(OpenAIChatModel("small", server.url))
    with opened(server, ":memory:", clock, summarizer=summarizer, llm=None) as memory:
        details = {"to": ["alice.b@example.com"], "phone": 13800138000, "heliotrope": True, "n": 3}
        talk = [Message("user", f"I like tea {n}.", metadata=details) for n in range(4)]
        memory.add(talk, session_id="s")
        memory.consolidate()
    assert given[0].metadata == {"to": [MARK], "phone": MARK, MARK: True, "n": 3}
    assert leaks(server) == []


def test_a_model_that_is_local_sees_everything(server: ScriptedServer, clock: FrozenClock) -> None:
    """The user may say that a model of theirs keeps all to itself; the embedded ones say so themselves."""

    class Mine(OpenAIEmbedder):
        local = True

        def embed_documents(self, texts: Sequence[str]) -> Floats:
            seen.extend(texts)
            return super().embed_documents(texts)

    seen: list[str] = []
    with opened(
        server, ":memory:", clock, embedder=Mine("hash", server.url), summarizer=None, llm="ollama:x"
    ) as memory:
        memory.add(ENGLISH, session_id="s")
        memory.flush(10)
    assert ENGLISH[0][1] in seen


def test_the_space_of_a_store_does_not_hang_on_rules(
    server: ScriptedServer, tmp_path: Path, clock: FrozenClock
) -> None:
    """A rule that matches the text by which siltstone knows a model makes no other model of it."""
    with opened(server, tmp_path / "m", clock, settings=Settings()) as memory:
        memory.add(PLAIN, session_id="s")
    with opened(server, tmp_path / "m", clock, settings=Settings(sensitive=[re.compile("Alice|moved|李雷")])) as memory:
        memory.add([("user", "I moved.")], session_id="s")
        memory.flush(10)
        assert np.isfinite([hit.score for hit in memory.search("Rex")]).all()
