"""Growable parallel columns: one writer appends, many readers look at the part that has been published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

_SMALLEST: Final = 64


class Columns:
    """Numpy arrays of one length under their names.

    Appending writes behind the published length and replaces an array that is full by a longer copy, so that
    slices taken earlier stay what they were, except for cells that the writer changes in place.
    """

    def __init__(self, spec: Mapping[str, str], arrays: Mapping[str, npt.NDArray[Any]] | None = None) -> None:
        """Start empty with ``spec`` (name to dtype), or over ``arrays`` of one length, not copied before growth."""
        self._data = dict(arrays) if arrays is not None else {k: np.empty(0, np.dtype(d)) for k, d in spec.items()}
        self.count = len(next(iter(self._data.values())))

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self._data[name]

    def append(self, values: Mapping[str, Sequence[Any]], count: int) -> None:
        """Append ``count`` cells to every column."""
        end = self.count + count
        if end > len(next(iter(self._data.values()))):
            capacity = max(_SMALLEST, end + (end >> 2))
            for name, old in self._data.items():
                new = np.empty(capacity, old.dtype)
                new[: self.count] = old[: self.count]
                self._data[name] = new
        for name, cells in values.items():
            self._data[name][self.count : end] = cells
        self.count = end

    def view(self) -> dict[str, npt.NDArray[Any]]:
        """Return the filled part of every column, without copying."""
        return {name: array[: self.count] for name, array in self._data.items()}
