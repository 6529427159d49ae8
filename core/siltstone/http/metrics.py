"""What Prometheus is told: requests, and what the memory's work has cost. No names of users."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from ..meter import Meter

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metrics:
    """The figures of one service, in a registry of its own."""

    def __init__(self, meter: Callable[[], Meter | None]) -> None:
        """``meter`` gives that of the memory, once it is open."""
        self.registry = CollectorRegistry()
        self._seconds = Histogram(
            "siltstone_http_request_seconds",
            "Time from a request to the end of its answer.",
            ("method", "route", "status"),
            registry=self.registry,
            buckets=_BUCKETS,
        )
        self._running = Gauge(
            "siltstone_http_requests_running", "Requests that are worked on now.", registry=self.registry
        )
        self._refused = Counter(
            "siltstone_http_refused_total",
            "Requests that were refused before they were read, by reason.",
            ("reason",),
            registry=self.registry,
        )
        self.registry.register(_Stages(meter))
        ProcessCollector(registry=self.registry)

    def begin(self) -> None:
        """Count a request that has come."""
        self._running.inc()

    def end(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that is done with."""
        self._running.dec()
        self._seconds.labels(method, route, str(status)).observe(seconds)

    def refuse(self, reason: str) -> None:
        """Count a request that was refused."""
        self._refused.labels(reason).inc()

    def text(self) -> bytes:
        """Return all figures as Prometheus reads them."""
        return generate_latest(self.registry)


class _Stages(Collector):
    """What each stage of the memory's work has cost since the store was opened; see ``siltstone.meter``."""

    def __init__(self, meter: Callable[[], Meter | None]) -> None:
        self._meter = meter

    def collect(self) -> Iterator[Metric]:
        """Yield a family for each thing that is counted."""
        meter = self._meter()
        spent = {} if meter is None else meter.spent()
        for name, what in (
            ("calls", "Calls of a stage."),
            ("failures", "Calls of a stage that failed."),
            ("items", "What came of them: messages, hits, texts."),
            ("tokens", "Tokens of what they handled."),
            ("seconds", "Their time; stages nest, so that times do not add up."),
        ):
            family = CounterMetricFamily(f"siltstone_stage_{name}", what, labels=["stage"])
            for stage, one in spent.items():
                family.add_metric([stage], getattr(one, name))
            yield family
