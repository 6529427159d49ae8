"""siltstone for LangChain and LangGraph: histories, middleware, store, retriever and tools over one memory.

=================================  ==========================================================================
``SiltstoneMemoryMiddleware``      recalls before and stores after each turn of ``create_agent``; the way that stays
``SiltstoneStore``                 LangGraph ``BaseStore``: namespaced values, searched by meaning
``create_memory_tools``            search, remember and forget as tools of an agent
``SiltstoneRetriever``             the memory as a ``BaseRetriever``
``SiltstoneChatMessageHistory``    for ``RunnableWithMessageHistory``; LangChain deprecates both for its 2.0
=================================  ==========================================================================
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from siltstone.errors import MissingDependencyError

if TYPE_CHECKING:
    from .history import SiltstoneChatMessageHistory as SiltstoneChatMessageHistory
    from .middleware import SiltstoneMemoryMiddleware as SiltstoneMemoryMiddleware
    from .retriever import SiltstoneRetriever as SiltstoneRetriever
    from .store import SiltstoneStore as SiltstoneStore
    from .tools import create_memory_tools as create_memory_tools

__all__ = [
    "SiltstoneChatMessageHistory",
    "SiltstoneMemoryMiddleware",
    "SiltstoneRetriever",
    "SiltstoneStore",
    "create_memory_tools",
]

_HOME = {
    "SiltstoneChatMessageHistory": "history",
    "SiltstoneMemoryMiddleware": "middleware",
    "SiltstoneRetriever": "retriever",
    "SiltstoneStore": "store",
    "create_memory_tools": "tools",
}
_PACKAGES = ("langchain", "langchain_core", "langgraph")


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f".{_HOME[name]}", __name__)
    except ModuleNotFoundError as exc:
        package = (exc.name or "").partition(".")[0]
        if package not in _PACKAGES:
            raise
        raise MissingDependencyError.extra(package.replace("_", "-"), name, "langchain") from exc
    return getattr(module, name)
