"""Spans and metrics of OpenTelemetry for every call of a stage, in applications that use it.

Nothing is to be turned on: an application that has loaded ``opentelemetry`` gets a span ``siltstone.STAGE`` for each
call, with its items and tokens, and the metrics ``siltstone.stage.duration`` (seconds), ``siltstone.stage.items`` and
``siltstone.stage.tokens``; where it exports them to is its own affair. In others it costs one look. What a stage is,
and what is counted, is in ``siltstone.meter``. No texts, no names of users; of an error its class alone.
"""

from __future__ import annotations

import functools
import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from .meter import Call

NAME: Final = "siltstone"


def watch(call: Call) -> AbstractContextManager[object]:
    """Return the block around a call that has it traced, if anybody traces."""
    return _Traced(call) if "opentelemetry.trace" in sys.modules else nullcontext()


class _Traced:
    """A span around a call, and its figures at the end."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def __enter__(self) -> None:
        tracer, _ = _instruments()
        self._spanned = tracer.start_as_current_span(
            f"{NAME}.{self._call.stage}", record_exception=False, set_status_on_exception=False
        )
        self._span = self._spanned.__enter__()

    def __exit__(self, *_: object) -> None:
        call, (_, (duration, items, tokens)) = self._call, _instruments()
        told: dict[str, Any] = {f"{NAME}.stage": call.stage}
        if call.error is not None:
            from opentelemetry.trace import StatusCode

            told["error.type"] = call.error.__name__
            self._span.set_status(StatusCode.ERROR)
        self._span.set_attributes({**told, f"{NAME}.items": call.items, f"{NAME}.tokens": call.tokens})
        self._spanned.__exit__(None, None, None)
        duration.record(call.seconds, told)
        items.add(call.items, told)
        tokens.add(call.tokens, told)


@functools.cache
def _instruments() -> tuple[Any, tuple[Any, Any, Any]]:
    """Return the tracer, and what durations, items and tokens are told to."""
    from opentelemetry import metrics, trace

    meter = metrics.get_meter(NAME)
    return trace.get_tracer(NAME), (
        meter.create_histogram(f"{NAME}.stage.duration", "s", "Time of a call of a stage."),
        meter.create_counter(f"{NAME}.stage.items", "{item}", "What came of a stage: messages, hits, texts."),
        meter.create_counter(f"{NAME}.stage.tokens", "{token}", "Tokens of what a stage handled."),
    )
