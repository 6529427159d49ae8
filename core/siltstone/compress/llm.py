"""The summarizer that asks a language model."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence

from ..errors import BackendUnavailableError, InvalidInputError, ModelError
from ..models.limits import PostponedError
from ..protocols import ChatModel, Summarizer, TokenCounter
from ..records import Digest, Message
from .annotate import annotated
from .budget import RoughCounter, summary_budget
from .conversation import Conversation, Terms, digesting
from .digest import DigestError
from .speech import source_ids, utterances


class LLMSummarizer:
    """Makes digests with a language model, and believes only what the messages support.

    ``chat_model`` is any ``ChatModel``; ``name`` becomes its name. ``counter`` counts tokens (default: a rough
    estimate on the high side), ``window`` is the model's context length in tokens, ``retries`` how many more
    times it is asked when its answer cannot be used, each time with the reason.

    When all tries have failed: with a ``fallback`` its digest is returned, with ``fallback`` among the ``flags``;
    without one ``DigestError`` (a ``ModelError``) is raised, whose ``raw`` holds the last answer. A model that cannot
    be reached is not asked again here: ``BackendUnavailableError`` is passed on, unless there is a fallback.
    What is not to be asked now (``PostponedError``) has no fallback: it is passed on.
    """

    def __init__(
        self,
        chat_model: ChatModel,
        *,
        fallback: Summarizer | None = None,
        counter: TokenCounter | None = None,
        window: int = 4096,
        retries: int = 2,
    ) -> None:
        if retries < 0:
            raise InvalidInputError(f"retries must be 0 or more, not {retries}; nothing was changed")
        self.chat_model = chat_model
        self.fallback = fallback
        self._counter = counter or RoughCounter()
        self._window = window
        self._retries = retries

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.chat_model.name

    def asking(self, chat_model: ChatModel) -> LLMSummarizer:
        """Return the same summarizer with another model."""
        other = copy.copy(self)
        other.chat_model = chat_model
        return other

    def summarize(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Digest:
        """Return the digest of the messages; its summary has at most a fifth of their tokens, and ``max_tokens``.

        A span in which nobody says anything has an empty digest, and the model is not asked.
        """
        said = utterances(messages)
        ids = source_ids(one.message for one in said)
        if not said:
            return Digest("", "", source_ids=source_ids(messages), made_by=self.name)
        budget = summary_budget(sum(self._counter.count(one.text) for one in said), max_tokens)
        agreed = Terms(self.name, self._counter, self._window, self._retries)
        try:
            digest = self._drive(digesting(said, budget, agreed))
        except (ModelError, BackendUnavailableError) as exc:
            if self.fallback is None or isinstance(exc, PostponedError):
                raise
            digest = self.fallback.summarize(messages, max_tokens=max_tokens)
            raw = exc.raw if isinstance(exc, DigestError) else ""
            wait = exc.retry_after if isinstance(exc, BackendUnavailableError) else 0.0
            return dataclasses.replace(
                digest, flags=(*digest.flags, "fallback"), error=str(exc), raw=raw, retry_after=wait
            )
        return dataclasses.replace(annotated(digest, said), source_ids=ids)

    def _drive(self, conversation: Conversation[Digest]) -> Digest:
        try:
            ask = next(conversation)
            while True:
                try:
                    answer = self.chat_model.complete(ask.messages, schema=ask.schema, max_tokens=ask.max_tokens)
                except ModelError as exc:
                    ask = conversation.throw(exc)
                else:
                    ask = conversation.send(answer)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]


__all__ = ["DigestError", "LLMSummarizer"]
