"""The stores under test, one family per module, each in the persistent setting that its documentation gives."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from .contract import Store

STORES: dict[str, tuple[str, list[str]]] = {
    "siltstone": ("ours:Siltstone", ["siltstone", "faiss-cpu", "numpy"]),
    "limit: append + bare FAISS": ("limits:Bare", ["faiss-cpu", "numpy"]),
    "Chroma": ("chroma:Chroma", ["chromadb"]),
    "LangChain FAISS": ("langchain:LangChainFaiss", ["langchain-community", "faiss-cpu"]),
    "LangChain InMemoryVectorStore": ("langchain:LangChainInMemory", ["langchain-core"]),
    "LangGraph InMemoryStore + langmem": ("langgraph:InMemory", ["langmem", "langgraph"]),
    "LangGraph SqliteStore + langmem": (
        "langgraph:Sqlite",
        ["langmem", "langgraph", "langgraph-checkpoint-sqlite", "sqlite-vec"],
    ),
    "LlamaIndex Memory + VectorMemoryBlock": (
        "llama_index:MemoryWithBlock",
        ["llama-index-core", "llama-index-vector-stores-chroma", "chromadb"],
    ),
    "LlamaIndex VectorMemory": (
        "llama_index:OldVectorMemory",
        ["llama-index-core", "llama-index-vector-stores-chroma", "chromadb"],
    ),
    "LlamaIndex FaissVectorStore + docstore": (
        "llama_index:FaissAndDocstore",
        ["llama-index-core", "llama-index-vector-stores-faiss", "faiss-cpu"],
    ),
    "LlamaIndex SimpleDocumentStore": ("llama_index:Docstore", ["llama-index-core"]),
    "mem0 FAISS": ("mem0:Mem0Faiss", ["mem0ai", "faiss-cpu"]),
    "mem0 Chroma": ("mem0:Mem0Chroma", ["mem0ai", "chromadb"]),
    "txtai": ("txtai:Txtai", ["txtai", "torch", "faiss-cpu"]),
}
"""By name: the class, and the packages that it is made of."""


def load(name: str) -> type[Store]:
    module, _, cls = STORES[name][0].partition(":")
    found: type[Store] = getattr(import_module(f"stores.in_{module}"), cls)
    return found


def versions(packages: list[str]) -> dict[str, str]:
    found: dict[str, Any] = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # a checkout
            found[package] = __import__(package).__version__
    return found
