"""What language models have in common that are another one, and something beside it."""

from __future__ import annotations

from ..protocols import ChatModel
from .guarded import is_local


class WrappedChatModel:
    """Has the name of another language model, and is where that is; what it does with requests is for subclasses."""

    def __init__(self, inner: ChatModel) -> None:
        self._inner = inner

    @property
    def name(self) -> str:
        """Identity of the model."""
        return self._inner.name

    @property
    def local(self) -> bool:
        """Whether what it is given stays in this process."""
        return is_local(self._inner)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._inner!r})"
