"""The different values of an array."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

_T = TypeVar("_T", bound=np.generic)


def distinct(values: npt.NDArray[_T]) -> npt.NDArray[_T]:
    """Return the different values, ascending, ``(n,)``.

    As ``np.unique`` does, which imports ``numpy.ma`` for it: the first search of a process would wait for that.
    """
    ordered = np.sort(values, axis=None)
    first = np.ones(len(ordered), np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]
