"""The memory as LangChain tools."""

from __future__ import annotations

import re
from typing import Final

from langchain_core.tools import BaseTool, StructuredTool

from siltstone import ConfigurationError, TieredMemory
from siltstone.adapters import check_memory
from siltstone.tool import MemoryTools

_CALLABLE: Final = re.compile(r"[A-Za-z0-9_-]{1,40}")


def create_memory_tools(
    memory: TieredMemory, *, top_k: int = 5, session_id: str | None = None, name: str | None = None
) -> list[BaseTool]:
    """Return the tools ``search_memory``, ``remember`` and ``forget``, bound to one user's memory.

    The user is bound here and is no argument that a model could set; for another user, make them from
    ``memory.for_user(…)``. ``top_k`` is how many memories a search shows, ``session_id`` is noted on what is
    remembered. ``name`` tells the memories of one agent apart: the tools are ``search_memory_NAME`` and so on, in
    letters, digits, ``_`` and ``-``. The tools answer with text, also when the memory fails.

    Raises ``ConfigurationError`` for what is no memory, and for a name that a model cannot call a tool by.

    Example::

        agent = create_agent(model, tools=create_memory_tools(TieredMemory.open("./memory", user_id="alice")))
    """
    check_memory(memory, "create_memory_tools")
    if name is not None and not _CALLABLE.fullmatch(name):
        raise ConfigurationError(
            f"the memory's name {name!r} is to be part of its tools' names: use at most 40 of A-Z, a-z, 0-9, _ and -"
        )
    tools = MemoryTools(memory, top_k=top_k, session_id=session_id)
    return [
        StructuredTool.from_function(
            func=function,
            coroutine=coroutine,
            name=wording.name if name is None else f"{wording.name}_{name}",
            description=wording.description if name is None else f"{wording.description} This memory is {name!r}.",
        )
        for wording, function, coroutine in tools.functions()
    ]
