"""The memory as LangChain tools."""

from __future__ import annotations

from langchain_core.tools import BaseTool, StructuredTool

from siltstone import TieredMemory
from siltstone.tool import MemoryTools


def create_memory_tools(memory: TieredMemory, *, top_k: int = 5, session_id: str | None = None) -> list[BaseTool]:
    """Return the tools ``search_memory``, ``remember`` and ``forget``, bound to one user's memory.

    The user is bound here and is no argument that a model could set; for another user, make them from
    ``memory.for_user(…)``. ``top_k`` is how many memories a search shows, ``session_id`` is noted on what is
    remembered. The tools answer with text, also when the memory fails.

    Example::

        agent = create_agent(model, tools=create_memory_tools(TieredMemory.open("./memory", user_id="alice")))
    """
    tools = MemoryTools(memory, top_k=top_k, session_id=session_id)
    return [
        StructuredTool.from_function(
            func=function, coroutine=coroutine, name=wording.name, description=wording.description
        )
        for wording, function, coroutine in tools.functions()
    ]
