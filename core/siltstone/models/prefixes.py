"""What known embedding models want in front of questions and documents."""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class Prefixes(NamedTuple):
    """Text put before a question, and before a document."""

    query: str = ""
    document: str = ""


_BGE_EN: Final = "Represent this sentence for searching relevant passages: "
_BGE_ZH: Final = "为这个句子生成表示以用于检索相关文章："
_INSTRUCT: Final = "Instruct: Given a question, retrieve passages that answer it\nQuery: "

_KNOWN: Final = (  # from the models' own cards; the first that matches counts
    (r"e5-.*instruct|e5-mistral", Prefixes(_INSTRUCT)),
    (r"\be5-(small|base|large)", Prefixes("query: ", "passage: ")),
    (r"bge-.*-en", Prefixes(_BGE_EN)),
    (r"bge-.*-zh", Prefixes(_BGE_ZH)),
    (r"nomic-embed-text", Prefixes("search_query: ", "search_document: ")),
    (r"mxbai-embed|arctic-embed-[a-z]+(-v1\.5)?$", Prefixes(_BGE_EN)),
    (r"arctic-embed-.*-v2", Prefixes("query: ")),
    (r"embeddinggemma", Prefixes("task: search result | query: ", "title: none | text: ")),
    (r"qwen3-embedding", Prefixes(_INSTRUCT.replace("Query: ", "Query:"))),
    (r"gte-qwen", Prefixes(_INSTRUCT)),
)


def prefixes_of(model: str) -> Prefixes:
    """Return the prefixes of a model by its name or folder; none for those that want none (gte, MiniLM, bge-m3)."""
    name = re.split(r"[/\\]", model.rstrip("/\\").casefold())[-1].replace("_", "-")
    return next((prefixes for pattern, prefixes in _KNOWN if re.search(pattern, name)), Prefixes())
