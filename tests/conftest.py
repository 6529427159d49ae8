"""What all tests share: no network, no skip where none is allowed, no deadline on a busy machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from memory_places import PLACE, place, replicated
from postgres_cluster import pair
from postgres_server import own_server, postgres
from redis_server import own_redis, redis_url, shared_redis
from shell import Shell
from vector_stores import ENGINES

__all__ = ["own_redis", "own_server", "pair", "place", "postgres", "redis_url", "replicated", "shared_redis"]

for _name, _examples in (("siltstone", 100), ("ci", 100), ("nightly", 1_000)):
    hypothesis.settings.register_profile(
        _name, deadline=None, max_examples=_examples, stateful_step_count=50, print_blob=True
    )
hypothesis.settings.load_profile(os.environ.get("SILTSTONE_PROFILE", "siltstone"))

NO_SKIP = os.environ.get("SILTSTONE_NO_SKIP") == "1"
LOOPBACK = ("127.0.0.1", "localhost", "::1", "0.0.0.0", "::", "", None)


class NetworkUsedError(BaseException):
    """A test reached for another machine. Not an ``Exception``, so that nothing mistakes it for a server's failure."""


def _refuse_network(event: str, args: tuple[Any, ...]) -> None:
    if event == "socket.connect" and isinstance(args[1], tuple):
        host = args[1][0]
    elif event == "socket.getaddrinfo":
        host = args[0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    if host not in LOOPBACK and not str(host).startswith("127."):
        raise NetworkUsedError(f"tests use no network, and this one asked for {host!r}")


sys.addaudithook(_refuse_network)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skipped test into a failed one where ``SILTSTONE_NO_SKIP=1``: CI has everything installed."""
    report = yield
    if NO_SKIP and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, and SILTSTONE_NO_SKIP=1 allows none: {_reason(report)}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a whole file that skips itself."""
    report = yield
    if NO_SKIP and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} was skipped, and SILTSTONE_NO_SKIP=1 allows none: {_reason(report)}"
    return report


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    return report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where ``SILTSTONE_PLACE`` is set, leave out what is the same wherever memories lie, and what cannot lie there."""
    if PLACE != "folder":
        left_out = {item for item in items if not _goes_to(PLACE, item)}
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]


def _goes_to(place: str, item: pytest.Item) -> bool:
    kinds = {place, "vectors"} if place in ENGINES else {place}
    barred = any(kinds & set(mark.args) for mark in item.iter_markers("elsewhere_than"))
    return "place" in getattr(item, "fixturenames", ()) and not barred


@pytest.fixture
def sh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """A shell whose store does not exist yet; 100 columns wide, without colours."""
    store = tmp_path / "memory"
    for name in [name for name in os.environ if name.startswith("SILTSTONE_")]:  # each setting has one
        monkeypatch.delenv(name)
    monkeypatch.setenv("SILTSTONE_STORE", str(store))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    return Shell(store, capsys)
