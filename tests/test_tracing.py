"""Who collects OpenTelemetry's spans and metrics gets those of the memory; who does not pays nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from shell import STRICT

TRACED = """
import asyncio, json, sys
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from siltstone import BackendUnavailableError, InvalidInputError, Settings, TieredMemory
from siltstone.testing import HashEmbedder

spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
metrics.set_meter_provider(MeterProvider([reader]))

async def ask(memory):
    with trace.get_tracer("application").start_as_current_span("request"):
        await memory.asearch("canary")

settings = Settings(span_turns=2)
with TieredMemory.open(sys.argv[1], user_id="canary", embedder=HashEmbedder(), settings=settings) as memory:
    memory.add([("user", "I have a canary."), ("user", "It sings.")], session_id="canary")
    memory.context("canary")
    memory.consolidate()
    asyncio.run(ask(memory))
    try:
        memory.search("canary", kinds="canary")
    except InvalidInputError:
        pass
provider.force_flush()
by_id = {span.context.span_id: span.name for span in spans.get_finished_spans()}
print(json.dumps({
    "spans": [
        [span.name, by_id.get(span.parent.span_id) if span.parent else None, dict(span.attributes),
         span.status.status_code.name]
        for span in spans.get_finished_spans()
    ],
    "metrics": sorted({metric.name for r in reader.get_metrics_data().resource_metrics for s in r.scope_metrics
                       for metric in s.metrics if s.scope.name == "siltstone"}),
    "all": "".join(span.to_json() for span in spans.get_finished_spans()),
}))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What an application that collects spans and metrics was told of a day's work."""
    pytest.importorskip("opentelemetry.sdk")
    store = tmp_path_factory.mktemp("traced") / "memory"
    command = [sys.executable, *STRICT, "-c", TRACED, str(store)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_every_stage_is_a_span_with_its_counts(told: dict[str, Any]) -> None:
    """Add, embed, search, context, summarize and consolidate; what is done for another is inside it."""
    spans = told["spans"]
    names = {name for name, *_ in spans}

    assert names >= {
        f"siltstone.{stage}" for stage in ("add", "embed", "search", "context", "summarize", "consolidate")
    }
    assert ("siltstone.search", "siltstone.context") in {(name, parent) for name, parent, *_ in spans}
    (added,) = (attributes for name, _, attributes, _ in spans if name == "siltstone.add")
    assert added["siltstone.items"] == 2
    assert all(one["siltstone.tokens"] > 0 for name, _, one, _ in spans if name == "siltstone.embed")


def test_an_async_call_is_part_of_its_callers_trace(told: dict[str, Any]) -> None:
    """The verb runs in another thread, and its span is still the request's."""
    assert ("siltstone.search", "request") in {(name, parent) for name, parent, *_ in told["spans"]}


def test_a_failure_is_told_by_its_class_alone(told: dict[str, Any]) -> None:
    """The span of a refused search has an error, and no words of it; no text or name is anywhere."""
    failed = [(attributes, status) for _, _, attributes, status in told["spans"] if "error.type" in attributes]

    assert [(one["error.type"], status) for one, status in failed] == [("InvalidInputError", "ERROR")]
    assert "canary" not in told["all"]


def test_durations_items_and_tokens_are_measured(told: dict[str, Any]) -> None:
    """Three instruments, for every stage."""
    assert told["metrics"] == ["siltstone.stage.duration", "siltstone.stage.items", "siltstone.stage.tokens"]


UNTRACED = """
import sys
from siltstone import TieredMemory
from siltstone.testing import HashEmbedder
with TieredMemory.open(":memory:", embedder=HashEmbedder()) as memory:
    memory.add([("user", "hi")], session_id="s")
    memory.search("hi")
assert not [name for name in sys.modules if name.startswith("opentelemetry")]
"""


def test_an_application_that_traces_nothing_loads_nothing() -> None:
    """Without OpenTelemetry in the process, none of it is imported."""
    subprocess.run([sys.executable, "-c", UNTRACED], check=True)
