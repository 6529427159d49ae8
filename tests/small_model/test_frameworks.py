"""The frameworks with the real small model: what its server is sent, and takes, is checked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

pytest.importorskip("llama_index.llms.openai_like")
pytest.importorskip("langchain_openai")

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnablePassthrough
from langchain_core.runnables.history import RunnableWithMessageHistory
from langchain_openai import ChatOpenAI
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.llms.openai_like import OpenAILike
from llama_server import NAME, WINDOW, LlamaServer

from langchain_siltstone import SiltstoneChatMessageHistory, SiltstoneMemoryMiddleware
from llama_index_siltstone import SiltstoneMemory
from scripted_server import ScriptedServer
from siltstone import TieredMemory

FACT = "I'm Alice, a front-end engineer in Shenzhen."
LIMIT = 300
ANSWER = 16


@pytest.fixture(autouse=True)
def event_loop_of_this_test() -> Iterator[None]:
    """LlamaIndex asks for the thread's event loop outside of coroutines, and would leave a new one unclosed."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture
def tiered(llama: LlamaServer, opened: Callable[..., TieredMemory]) -> TieredMemory:
    """Alice's memory: she introduced herself on Monday; on Tuesday a tool was called, in a long talk.

    Its tokens are counted by the model's own tokenizer, over HTTP.
    """

    def tokens(text: str) -> int:
        counted = httpx.post(f"{llama.url}/extras/tokenize/count", json={"input": text}, trust_env=False, timeout=900)
        return int(counted.raise_for_status().json()["count"])

    memory = opened(token_counter=tokens)
    memory.add([("user", FACT), ("assistant", "Nice to meet you, Alice!")], session_id="monday")
    call = {"name": "weather", "args": {"city": "Shenzhen"}, "id": "call-1", "type": "tool_call"}
    history = SiltstoneChatMessageHistory("tuesday", memory=memory)
    for n in range(4):
        history.add_messages([HumanMessage(f"Tell me something long, number {n}. " * 6), AIMessage("Well. " * 20)])
    history.add_messages(
        [
            HumanMessage("What is the weather?"),
            AIMessage("I will look.", tool_calls=[call]),  # with nothing said, this server refuses the message
            ToolMessage("It is sunny in Shenzhen.", tool_call_id="call-1"),
            AIMessage("Sunny."),
        ]
    )
    return memory


def sent(server: ScriptedServer) -> list[dict[str, Any]]:
    """Return the messages of the last request."""
    messages: list[dict[str, Any]] = server.asked[-1].body["messages"]
    return messages


def text(messages: list[dict[str, Any]]) -> str:
    """Return all that a request says."""
    return "\n".join(str(message["content"]) for message in messages)


def assert_pairs_are_whole(messages: list[dict[str, Any]]) -> None:
    """Check that the tool's result is there, right after its call."""
    calls = [n for n, message in enumerate(messages) if message.get("tool_calls")]
    results = [n for n, message in enumerate(messages) if message["role"] == "tool"]
    assert results
    assert results == [n + 1 for n in calls]
    assert [messages[n]["tool_calls"][0]["id"] for n in calls] == [messages[n]["tool_call_id"] for n in results]


def prompt_tokens(llama: LlamaServer, server: ScriptedServer) -> int:
    """Return how many tokens the last request's prompt has by the server's own account."""
    body = {**server.asked[-1].body, "stream": False, "max_tokens": 1}
    body.pop("stream_options", None)
    answer = httpx.post(f"{llama.url}/v1/chat/completions", json=body, trust_env=False, timeout=1800)
    return int(answer.raise_for_status().json()["usage"]["prompt_tokens"])


def llama_index_model(server: ScriptedServer) -> OpenAILike:
    """Return LlamaIndex's client of an OpenAI-compatible server."""
    return OpenAILike(
        model=NAME,
        api_base=f"{server.url}/v1",
        api_key="none",
        is_chat_model=True,
        context_window=WINDOW,
        max_tokens=ANSWER,
        temperature=0.0,
        timeout=1800.0,
        max_retries=0,
    )


def langchain_model(server: ScriptedServer) -> ChatOpenAI:
    """Return LangChain's client of an OpenAI-compatible server."""
    return ChatOpenAI(
        model=NAME,
        base_url=f"{server.url}/v1",
        api_key="none",  # type: ignore[arg-type]  # a string is taken
        max_tokens=ANSWER,  # type: ignore[call-arg]  # an alias
        temperature=0.0,
        timeout=1800.0,
        max_retries=0,
    )


def test_llama_index_chat_engine(llama: LlamaServer, relayed: ScriptedServer, tiered: TieredMemory) -> None:
    """Monday's fact reaches the model; the tool's pair is whole, and the limit holds as the server counts."""
    memory = SiltstoneMemory.from_defaults(tiered, session_id="tuesday", token_limit=LIMIT)
    engine = SimpleChatEngine.from_defaults(llm=llama_index_model(relayed), memory=memory)
    answer = str(engine.chat("Where do I work?"))
    assert answer
    assert "front-end engineer in Shenzhen" in text(sent(relayed))
    assert_pairs_are_whole(sent(relayed))
    assert prompt_tokens(llama, relayed) <= LIMIT
    assert [m.content for m in tiered.messages("tuesday")][-2:] == ["Where do I work?", answer]


# LangChain deprecates histories and their runnable for its 2.0; this is the test of the adapter for who uses them.
@pytest.mark.filterwarnings("ignore::langchain_core._api.deprecation.LangChainDeprecationWarning")
def test_langchain_runnable_with_message_history(
    llama: LlamaServer, relayed: ScriptedServer, tiered: TieredMemory
) -> None:
    """Monday's fact comes in through the prompt, beside the whole conversation of Tuesday, its tool's pair included."""
    prompt = ChatPromptTemplate.from_messages(
        [("system", "Be brief.\n{recalled}"), MessagesPlaceholder("history"), ("user", "{question}")]
    )
    recall = RunnablePassthrough.assign(recalled=lambda x: tiered.context(x["question"], max_tokens=LIMIT).text)
    chat = RunnableWithMessageHistory(
        recall | prompt | langchain_model(relayed),
        lambda session_id: SiltstoneChatMessageHistory(session_id, memory=tiered),
        input_messages_key="question",
        history_messages_key="history",
    )
    answer = chat.invoke({"question": "Where do I work?"}, {"configurable": {"session_id": "tuesday"}})
    assert answer.text
    assert "front-end engineer in Shenzhen" in str(sent(relayed)[0]["content"])
    assert_pairs_are_whole(sent(relayed))
    assert prompt_tokens(llama, relayed) <= WINDOW - ANSWER
    assert [m.content for m in tiered.messages("tuesday")][-2:] == ["Where do I work?", answer.text]


def test_langchain_agent(relayed: ScriptedServer, tiered: TieredMemory) -> None:
    """The middleware puts Monday's fact into the system message, and the answer into the memory."""
    agent: Any = create_agent(
        langchain_model(relayed),
        middleware=[SiltstoneMemoryMiddleware(tiered, session_id="wednesday", tools=False, max_tokens=LIMIT)],
    )
    answer = agent.invoke({"messages": [("user", "Where do I work?")]})["messages"][-1]
    (system, question) = sent(relayed)
    assert system["role"] == "system"
    assert "front-end engineer in Shenzhen" in str(system["content"])
    assert question["content"] == "Where do I work?"
    assert tiered.token_counter.count(str(system["content"])) <= LIMIT
    assert [m.content for m in tiered.messages("wednesday")] == ["Where do I work?", answer.text]
