"""What is told of many times."""

from __future__ import annotations

import numpy as np


def spread(ms: list[float]) -> dict[str, float]:
    """Return how many there are, their median and their 99th percentile."""
    if not ms:
        return {}
    return {"count": len(ms), "p50_ms": float(np.percentile(ms, 50)), "p99_ms": float(np.percentile(ms, 99))}
