"""Which architectures are compared, and with which parameters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from .architecture import Design
from .full import FullConcatenation
from .hierarchy import HierarchicalSummary
from .rag import VectorRAG
from .rolling import RollingSummary
from .tiered import Tiered

FULL: Final = "full concatenation"
RAG: Final = "vector RAG"
ROLLING: Final = "rolling summary"
HIERARCHY: Final = "hierarchical summary"
TIERED: Final = "tiered (siltstone)"
SHORT: Final = {FULL: "full", RAG: "RAG", ROLLING: "rolling", HIERARCHY: "hierarchical", TIERED: "tiered"}

CHUNKS: Final = (0, 64, 128, 256, 512)
"""Tokens of a chunk; 0 is a turn each."""
RATIOS: Final = (3, 5, 10)
"""How many times shorter than its conversation a summary is."""


def designs(budgets: Sequence[int]) -> list[Design]:
    """Return all designs; a rolling summary has the size of one of the budgets."""
    return [
        Design(FULL, "", FullConcatenation, growing=True),
        *(Design(RAG, f"chunks of {n}" if n else "a turn each", partial(VectorRAG, size=n)) for n in CHUNKS),
        *(Design(ROLLING, f"{n} tokens", partial(RollingSummary, size=n)) for n in budgets),
        *(Design(HIERARCHY, f"1:{n}", partial(HierarchicalSummary, ratio=n)) for n in RATIOS),
        Design(TIERED, "as added", partial(Tiered, consolidated=False)),
        Design(TIERED, "consolidated", partial(Tiered, consolidated=True)),
    ]
