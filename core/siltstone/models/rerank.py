"""Rerankers behind ``/v1/rerank``, as vLLM, llama.cpp, TEI, Jina and Cohere serve them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import ModelError
from ..protocols import Floats
from .http import Endpoint


class HttpReranker:
    """Any ``/v1/rerank`` endpoint. ``max_chars`` characters of each text are sent, ``batch`` texts at once.

    Keys, ``timeout`` and ``deadline``: see ``Endpoint``. Raises ``BackendUnavailableError`` and ``ModelError``.
    """

    def __init__(
        self,
        model: str,
        url: str,
        *,
        api_key: str | None = None,
        batch: int = 64,
        max_chars: int = 4_000,
        timeout: float = 30.0,
        deadline: float = 60.0,
        backoff: float = 0.5,
    ) -> None:
        self.name = model
        self._endpoint = Endpoint(url, api_key=api_key, timeout=timeout, deadline=deadline, backoff=backoff)
        self._batch = batch
        self._max_chars = max_chars

    def rerank(self, query: str, texts: Sequence[str]) -> Floats:
        """Return one score per text, ``(n,)``, as the model gives them; higher is better."""
        cut = [text[: self._max_chars] for text in texts]
        scores: list[float] = []
        for start in range(0, len(cut), self._batch):
            scores += self._request(query, cut[start : start + self._batch])
        return np.array(scores, np.float32)

    def _request(self, query: str, texts: list[str]) -> list[float]:
        # TEI calls the documents texts; the others ignore the second name
        body = {"model": self.name, "query": query, "documents": texts, "texts": texts, "top_n": len(texts)}
        answer = self._endpoint.post("/rerank", body)
        try:
            rows = answer["results"] if isinstance(answer, dict) else answer
            found = {int(row["index"]): float(row.get("relevance_score", row.get("score"))) for row in rows}
            return [found[i] for i in range(len(texts))]
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            told = str(answer)[:200]
            raise ModelError(f"{self._endpoint.shown} answered with no score for each text: {told}").quoting(
                told
            ) from exc

    def __repr__(self) -> str:
        return f"HttpReranker({self.name!r}, {self._endpoint.shown!r})"
