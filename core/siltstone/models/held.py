"""Language models held to what a memory was opened with: measured, rested, within limits, shown nothing sensitive."""

from __future__ import annotations

from ..meter import Meter
from ..protocols import ChatModel, TokenCounter
from .guarded import Guard
from .limits import LimitedChatModel, Limiter
from .metered import MeteredChatModel
from .resting import RestingChatModel


class Holder:
    """Wraps language models in their meter, their limits and their guard; ``counter`` counts for the meter."""

    def __init__(self, guard: Guard, limiter: Limiter, meter: Meter, counter: TokenCounter) -> None:
        self.guard = guard
        self.limiter = limiter
        self.meter = meter
        self.counter = counter

    def chat_model(self, model: ChatModel) -> ChatModel:
        """Return a model that is held to all three."""
        measured = self.measured(model)
        return self.guard.chat_model(
            LimitedChatModel(measured, self.limiter) if self.limiter.limits_anything else measured
        )

    def measured(self, model: ChatModel) -> ChatModel:
        """Return a model whose requests are measured, and that is left alone while it does not answer; no more."""
        return RestingChatModel(MeteredChatModel(model, self.meter, self.counter), of=model)
