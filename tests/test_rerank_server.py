from __future__ import annotations

from typing import Any

import pytest

from scripted_server import Answer, Asked, ScriptedServer
from siltstone.errors import ModelError
from siltstone.models.rerank import HttpReranker


def scored(asked: Asked) -> Answer:
    """Answer as a reranking server does, the best first: scores are the lengths of the documents."""
    rows = [{"index": i, "relevance_score": len(text)} for i, text in enumerate(asked.body["documents"])]
    return Answer({"results": sorted(rows, key=lambda row: -row["relevance_score"])})


def test_scores_come_back_in_the_order_of_the_texts() -> None:
    """However the server sorts, each text has its own score; texts go in batches."""
    with ScriptedServer(scored) as server:
        reranker = HttpReranker("bge-reranker", server.url, batch=2)
        assert reranker.rerank("哪里", ["a", "ccc", "bb"]).tolist() == [1, 3, 2]
        assert [asked.path for asked in server.asked] == ["/v1/rerank"] * 2
        assert server.asked[0].body["query"] == "哪里"
        assert reranker.rerank("x", []).tolist() == []


def test_bare_lists_are_understood() -> None:
    """Servers that answer with a bare list of ``score`` are understood too."""
    with ScriptedServer([Answer([{"index": 1, "score": 0.5}, {"index": 0, "score": 0.25}])]) as server:
        assert HttpReranker("any", server.url).rerank("x", ["a", "b"]).tolist() == [0.25, 0.5]


@pytest.mark.parametrize("body", [{"results": []}, {"results": [{"index": 0}]}, {}, "no JSON", [3], {"results": None}])
def test_missing_scores_are_model_errors(body: Any) -> None:
    """An answer without a score for each text is a model error."""
    with ScriptedServer([Answer(body)]) as server, pytest.raises(ModelError, match="answered with"):
        HttpReranker("any", server.url).rerank("x", ["a"])
