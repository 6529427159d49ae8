"""Each public name of the adapters has an example in its docstring, and it runs as it stands."""

from __future__ import annotations

import ast
import asyncio
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest

import langchain_siltstone
import llama_index_siltstone
from siltstone import TieredMemory

sys.path.extend(str(Path(__file__).parent / name) for name in ("langchain", "llama_index"))

NEEDS = {"langchain_siltstone": ["langchain.agents", "langgraph"], "llama_index_siltstone": ["llama_index.core"]}
NAMES = [(module.__name__, name) for module in (langchain_siltstone, llama_index_siltstone) for name in module.__all__]
GIVEN = {
    "langchain_siltstone": """
        from langchain.agents import create_agent
        from langchain_script import ScriptedModel
        from langgraph.checkpoint.memory import InMemorySaver
        from siltstone import TieredMemory

        model, tools = ScriptedModel("Noted."), []
        """,
    "llama_index_siltstone": """
        from llama_index.core import MockEmbedding, Settings, StorageContext, load_index_from_storage
        from llama_index.core.agent.workflow import FunctionAgent
        from llama_index.core.memory import Memory
        from llama_index.core.query_engine import RetrieverQueryEngine
        from llama_index.vector_stores.faiss import FaissVectorStore
        from llama_script import Script
        from siltstone import TieredMemory

        llm, tools, Settings.embed_model = Script("Noted.").model, [], MockEmbedding(4)
        memory = TieredMemory.open("./memory", user_id="alice")
        """,
}
"""What an application has before the lines of an example."""

pytestmark = [
    pytest.mark.slow,
    # LangChain deprecates histories and their runnable for its 2.0; their example is for who uses them.
    pytest.mark.filterwarnings("ignore:.*BaseChatMessageHistory"),
    pytest.mark.filterwarnings("ignore:.*RunnableWithMessageHistory"),
    # LlamaIndex looks for its steps with inspect.getmembers, which touches pydantic's deprecated attributes.
    pytest.mark.filterwarnings("ignore:.*deprecated:pydantic.warnings.PydanticDeprecatedSince20"),
    pytest.mark.filterwarnings("ignore:.*deprecated:pydantic.warnings.PydanticDeprecatedSince211"),
]


@pytest.mark.parametrize(("module", "name"), NAMES, ids=[name if "llama" in m else f"lc-{name}" for m, name in NAMES])
def test_example_runs(module: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder, with a model and tools that the application has, its lines run without a warning."""
    for needed in NEEDS[module]:
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    with TieredMemory.open("./memory", user_id="alice") as memory:
        memory.add([("user", "I'm Alice, a front-end engineer in Shenzhen.")], session_id="sunday")
    thing = getattr(importlib.import_module(module), name)
    found = re.search(r"^Example::\n\n(.*)\Z", inspect.getdoc(thing) or "", re.DOTALL | re.MULTILINE)
    assert found, f"{name} has no example"
    lines = f"from {module} import {name}\n{textwrap.dedent(GIVEN[module])}\n{textwrap.dedent(found.group(1))}"
    code = compile(lines, f"<example of {name}>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    space: dict[str, Any] = {"__name__": "__main__"}
    try:
        if isinstance(waits := eval(code, space), Awaitable):
            asyncio.run(_finished(waits))
    finally:
        for value in space.values():
            if isinstance(held := getattr(value, "memory", value), TieredMemory):
                held.close()
        if "Settings" in space:
            space["Settings"]._embed_model = None


async def _finished(waits: Awaitable[Any]) -> None:
    await waits
