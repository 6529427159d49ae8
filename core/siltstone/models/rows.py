"""Vectors as they come from elsewhere, brought to the form of the ``Embedder`` contract."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..protocols import Floats


def unit_rows(values: Any) -> Floats:
    """Return float32 rows scaled to unit length, ``(n, dim)``; rows of zeros stay, for the checks to find.

    Raises ``ValueError`` or ``TypeError`` for what is no table of numbers.
    """
    rows = np.asarray(values, np.float32)
    if rows.ndim != 2:
        raise ValueError(f"an array of shape {rows.shape} is no list of vectors")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Floats = rows / np.where(lengths > 0, lengths, np.float32(1))
    return unit
