"""Products of many rows with one vector, without the threads of others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import faiss
import numpy as np

from ..forks import unforked
from ..protocols import Floats


def products(rows: Floats, vector: Floats) -> Floats:
    """Return the product of each row with a vector, ``(n,)``. O(n · dim).

    ``rows @ vector`` wakes a BLAS thread per core, which costs several times what the product does, and tens of
    milliseconds beside a busy neighbour.
    """
    found: Floats = np.einsum("ij,j->i", rows, vector)
    return found


def gram(rows: Floats) -> Floats:
    """Return the products of all rows with each other, ``(n, n)``. O(n² · dim)."""
    with unforked:
        found: Floats = rows @ rows.T
    return found


@contextmanager
def one_thread() -> Iterator[None]:
    """Let FAISS use this thread alone: with two and a busy neighbour, a search takes 30 times as long.

    OpenMP keeps the number by thread, and the caller may have uses of its own for it.
    """
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
