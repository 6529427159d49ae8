"""A language model whose server does not answer is left alone for the rest of a run, whose end is then in sight."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from ..errors import BackendUnavailableError
from ..protocols import ChatModel
from ..records import Message
from .http import UnreachableError
from .limits import PostponedError
from .wrapped import WrappedChatModel

SILENCES: Final = 3
"""After so many requests in a row without an answer a model is left alone; one that is slow for one text may go on."""


@dataclass
class _Silence:
    """How many requests in a row had no answer, and how the last one failed."""

    requests: int
    error: BackendUnavailableError

    @property
    def is_enough(self) -> bool:
        """Whether another request is likely to fail as well."""
        asked_to_wait = self.error.retry_after > 0
        return asked_to_wait or isinstance(self.error, UnreachableError) or self.requests >= SILENCES


_run: ContextVar[dict[int, _Silence] | None] = ContextVar("run", default=None)


@contextmanager
def one_run() -> Iterator[None]:
    """Let the block be one run: what does not answer in it is not asked again before its end."""
    token = _run.set({})
    try:
        yield
    finally:
        _run.reset(token)


class RestingChatModel(WrappedChatModel):
    """Another language model, which in ``one_run`` is not asked again once its server has not answered.

    That is at once where the server takes no connection, or has asked to be left alone, and else after ``SILENCES``
    requests in a row: then ``complete`` raises what the last one did, at once. Outside of a run it changes nothing.
    ``of`` is the model itself, where ``inner`` wraps it: what one wrapper has met, the others of that model know.
    """

    def __init__(self, inner: ChatModel, *, of: ChatModel) -> None:
        super().__init__(inner)
        self._model = of

    def complete(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, max_tokens: int | None = None
    ) -> str:
        """Return the answer's text."""
        run = _run.get()
        if run is None:
            return self._inner.complete(messages, schema=schema, max_tokens=max_tokens)
        before = run.get(id(self._model))
        if before is not None and before.is_enough:
            again = BackendUnavailableError(f"not asked again in this run, as {before.error}")
            again.retry_after = before.error.retry_after
            raise again.quoting(before.error.quoted) from before.error
        try:
            answer = self._inner.complete(messages, schema=schema, max_tokens=max_tokens)
        except PostponedError:
            raise
        except BackendUnavailableError as exc:
            run[id(self._model)] = _Silence(1 if before is None else before.requests + 1, exc)
            raise
        run.pop(id(self._model), None)
        return answer
