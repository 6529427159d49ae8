"""The memory as LlamaIndex tools."""

from __future__ import annotations

from typing import ClassVar

from llama_index.core.tools.tool_spec.base import SPEC_FUNCTION_TYPE, BaseToolSpec
from llama_index.core.tools.types import ToolMetadata
from llama_index.core.tools.utils import create_schema_from_function

from siltstone import TieredMemory
from siltstone.adapters import check_memory
from siltstone.tool import MemoryTools


class SiltstoneToolSpec(MemoryTools, BaseToolSpec):
    """The tools ``search_memory``, ``remember`` and ``forget``, bound to one user's memory.

    The user is bound here and is no argument that a model could set. ``top_k`` is how many memories a search shows,
    ``session_id`` is noted on what is remembered. The tools answer with text, also when the memory fails.

    Example::

        tools = SiltstoneToolSpec(TieredMemory.open("./memory", user_id="alice")).to_tool_list()
        agent = FunctionAgent(llm=llm, tools=tools)
    """

    spec_functions: ClassVar[list[SPEC_FUNCTION_TYPE]] = [  # type: ignore[misc]  # the base says instance
        ("search_memory", "asearch_memory"),
        ("remember", "aremember"),
        ("forget", "aforget"),
    ]

    def __init__(self, memory: TieredMemory, *, top_k: int = 5, session_id: str | None = None) -> None:
        super().__init__(check_memory(memory, "SiltstoneToolSpec"), top_k=top_k, session_id=session_id)

    def get_metadata_from_fn_name(
        self, fn_name: str, spec_functions: list[SPEC_FUNCTION_TYPE] | None = None
    ) -> ToolMetadata | None:
        """Return a tool's name, its description and the schema of its arguments."""
        for wording, function, twin in self.functions():
            if fn_name in (wording.name, twin.__name__):
                schema = create_schema_from_function(wording.name, function)
                return ToolMetadata(wording.description, wording.name, schema)
        return None
