"""SiltstoneRetriever by LangChain's own standard suite, and in a chain."""

from __future__ import annotations

import logging
from typing import Any

import pytest

pytest.importorskip("langchain_tests")
pytest.importorskip("langchain.agents")

from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_core.tools import create_retriever_tool
from langchain_script import ScriptedModel, calling, standard, text
from langchain_tests.integration_tests import RetrieversIntegrationTests

from langchain_siltstone import SiltstoneMemoryMiddleware, SiltstoneRetriever
from siltstone import InvalidInputError, TieredMemory
from siltstone.testing import HashEmbedder, WordCounter


@standard
class TestStandardRetriever(RetrieversIntegrationTests):
    """langchain-tests, unmodified."""

    @property
    def retriever_constructor(self) -> type[SiltstoneRetriever]:
        """The class under test."""
        return SiltstoneRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        """A memory with something in it."""
        memory = TieredMemory.open(":memory:", embedder=HashEmbedder(), token_counter=WordCounter())
        memory.add([("user", f"Remark number {n} on tea") for n in range(8)], session_id="monday")
        return {"memory": memory}

    @property
    def retriever_query_example(self) -> str:
        """What to look for."""
        return "tea"


def test_documents_say_what_they_are(tiered: TieredMemory) -> None:
    """Text, id, kind, time, session, speaker and score; the memory's own metadata beside them."""
    tiered.remember("Alice prefers green tea.", kind="profile", metadata={"source": "survey"})
    (best,) = SiltstoneRetriever(tiered, k=1).invoke("green tea")
    assert isinstance(best, Document)
    assert best.page_content == "Alice prefers green tea."
    assert (best.metadata["kind"], best.metadata["source"]) == ("profile", "survey")
    assert tiered.get(best.id or "")
    assert best.metadata["score"] > 0


def test_conditions_narrow_the_search(tiered: TieredMemory) -> None:
    """What ``TieredMemory.search`` can filter by, the retriever can, when made and when called."""
    tiered.remember("Alice prefers green tea.", kind="profile")
    tiered.remember("Green tea was drunk.", kind="event")
    retriever = SiltstoneRetriever(tiered, search={"kinds": "profile"})
    assert [d.metadata["kind"] for d in retriever.invoke("green tea")] == ["profile"]
    assert [d.metadata["kind"] for d in retriever.invoke("green tea", kinds="event")] == ["event"]


def test_chain_answers_from_memory(tiered: TieredMemory) -> None:
    """In an LCEL chain the model is sent what was said on another day."""
    model = ScriptedModel("In Shenzhen.")
    prompt = ChatPromptTemplate.from_messages([("system", "{notes}"), ("user", "{question}")])
    retriever = SiltstoneRetriever(tiered, k=2) | (lambda documents: "\n".join(d.page_content for d in documents))
    chain = {"notes": retriever, "question": RunnablePassthrough()} | prompt | model | StrOutputParser()
    assert chain.invoke("Where does the engineer work?") == "In Shenzhen."
    assert "a front-end engineer in Shenzhen" in text(model.sent[0])


def test_retriever_becomes_a_tool(tiered: TieredMemory) -> None:
    """LangChain's ``create_retriever_tool`` takes it."""
    tool = create_retriever_tool(SiltstoneRetriever(tiered), "notes", "Notes of earlier days.")
    assert "Shenzhen" in tool.invoke({"query": "engineer"})


def test_empty_query_finds_nothing(tiered: TieredMemory) -> None:
    """The turn of a picture has no text to search by."""
    assert SiltstoneRetriever(tiered).invoke(" ") == []


@pytest.mark.parametrize("template", ["{page_content}", "{time}: {page_content}"])
def test_what_a_retriever_tool_recalled_is_not_stored_back(tiered: TieredMemory, template: str) -> None:
    """LangChain's tool shows the model the text, fenced as data; the transcript keeps no copy that outlives it."""
    prompt = PromptTemplate.from_template(template)
    recall = create_retriever_tool(SiltstoneRetriever(tiered), "recall", "Recalls.", document_prompt=prompt)
    model = ScriptedModel(calling("recall", query="engineer"), "In Shenzhen.")
    memory = SiltstoneMemoryMiddleware(tiered, session_id="tuesday", tools=False)
    create_agent(model, tools=[recall], middleware=[memory]).invoke({"messages": [("user", "Where do I work?")]})
    assert "engineer in Shenzhen.\n</siltstone_memory>" in model.sent[1][-1].text
    tiered.forget(session_id="monday")
    assert [m.role for m in tiered.messages("tuesday")] == ["user", "assistant", "tool", "assistant"]
    assert not any("engineer" in m.content for m in tiered.messages("tuesday"))


async def test_failing_memory_does_not_end_the_chat(tiered: Any, caplog: pytest.LogCaptureFixture) -> None:
    """A retriever whose store is away finds nothing, in a chain and async, and is logged once until it works again."""
    retriever = SiltstoneRetriever(tiered)
    tiered.failing = True
    with caplog.at_level(logging.WARNING, "siltstone"):
        assert retriever.invoke("engineer") == []
        assert await retriever.ainvoke("engineer") == []
    assert len(caplog.records) == 1
    tiered.failing = False
    assert "Shenzhen" in retriever.invoke("engineer")[0].page_content
    tiered.failing = True
    with caplog.at_level(logging.WARNING, "siltstone"):
        retriever.invoke("engineer")
    assert len(caplog.records) == 2


def test_wrong_arguments_are_errors(tiered: TieredMemory) -> None:
    """Only a failing memory is passed over: what the application got wrong, it is told."""
    with pytest.raises(InvalidInputError):
        SiltstoneRetriever(tiered).invoke("engineer", since="yesterday-ish")
    with pytest.raises(TypeError):
        SiltstoneRetriever(tiered).invoke("engineer", colour="red")
