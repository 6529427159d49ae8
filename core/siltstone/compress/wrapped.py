"""What summarizers have in common that are another one, and something beside it."""

from __future__ import annotations

from ..protocols import ModelFreeSummarizer, Summarizer


class WrappedSummarizer:
    """Has the name of another summarizer, and asks a model where that does; what it digests is for subclasses."""

    def __init__(self, inner: Summarizer) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        """The name of the other one."""
        return self._inner.name

    @property
    def model_free(self) -> bool:
        """Whether it asks no model."""
        return isinstance(self._inner, ModelFreeSummarizer) and self._inner.model_free

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inner!r})"
