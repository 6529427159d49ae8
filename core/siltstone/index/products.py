"""Products of many rows with a vector or with each other, without the threads of others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import faiss
import numpy as np

from ..forks import unforked
from ..protocols import Floats

_IN_ONE_THREAD: Final = 1 << 18
"""Multiplications in a product of matrices up to which OpenBLAS, which NumPy's wheels have, wakes no other thread."""


def products(rows: Floats, vector: Floats) -> Floats:
    """Return the product of each row with a vector, ``(n,)``. O(n · dim).

    ``rows @ vector`` wakes a BLAS thread per core, which costs several times what the product does, and tens of
    milliseconds beside a busy neighbour.
    """
    found: Floats = np.einsum("ij,j->i", rows, vector)
    return found


def product(left: Floats, right: Floats) -> Floats:
    """Return the product of two matrices, ``(n, m)``, in this thread alone. O(n · dim · m)."""
    found = np.zeros((len(left), right.shape[1]), np.float32)
    _add_product(found, left, right)
    return found


def _add_product(found: Floats, left: Floats, right: Floats) -> None:
    n, dim, m = *left.shape, right.shape[1]
    if n * dim * m <= _IN_ONE_THREAD:
        found += left @ right
    elif dim >= max(n, m):
        _add_product(found, left[:, : dim // 2], right[: dim // 2])
        _add_product(found, left[:, dim // 2 :], right[dim // 2 :])
    elif n >= m:
        _add_product(found[: n // 2], left[: n // 2], right)
        _add_product(found[n // 2 :], left[n // 2 :], right)
    else:
        _add_product(found[:, : m // 2], left, right[:, : m // 2])
        _add_product(found[:, m // 2 :], left, right[:, m // 2 :])


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
