"""siltstone for LlamaIndex: chat memory, memory block, retriever and tools over one memory.

=========================  ============================================================================
``SiltstoneMemory``        a ``BaseMemory`` for chat engines and agents; survives a saved ``Context``
``SiltstoneMemoryBlock``   long-term memory inside LlamaIndex's own ``Memory``
``SiltstoneRetriever``     the memory as a ``BaseRetriever``
``SiltstoneToolSpec``      search, remember and forget as tools of an agent
``export_faiss``           a user's memory as a persisted ``FaissVectorStore`` with its docstore
=========================  ============================================================================
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from siltstone.errors import MissingDependencyError

if TYPE_CHECKING:
    from .block import SiltstoneMemoryBlock as SiltstoneMemoryBlock
    from .faiss_export import export_faiss as export_faiss
    from .memory import SiltstoneMemory as SiltstoneMemory
    from .retriever import SiltstoneRetriever as SiltstoneRetriever
    from .tools import SiltstoneToolSpec as SiltstoneToolSpec

__all__ = [
    "SiltstoneMemory",
    "SiltstoneMemoryBlock",
    "SiltstoneRetriever",
    "SiltstoneToolSpec",
    "export_faiss",
]

_HOME = {
    "SiltstoneMemory": "memory",
    "SiltstoneMemoryBlock": "block",
    "SiltstoneRetriever": "retriever",
    "SiltstoneToolSpec": "tools",
    "export_faiss": "faiss_export",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f".{_HOME[name]}", __name__)
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] != "llama_index":
            raise
        package = "llama-index-vector-stores-faiss" if "faiss" in str(exc.name) else "llama-index-core"
        raise MissingDependencyError.extra(package, name, "llama-index") from exc
    return getattr(module, name)
