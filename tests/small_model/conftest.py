"""A real language model for the tests of this folder, started once; what was counted stands at the end of the run."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator

import pytest
from llama_server import PACKAGES, LlamaServer

from scripted_server import ScriptedServer
from siltstone import TieredMemory
from siltstone.testing import FrozenClock, HashEmbedder

COUNTED = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    """The model's server."""
    for package in PACKAGES:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"the package {package} is not installed")
    server = LlamaServer(tmp_path_factory.mktemp("llama") / "log")
    server.start()
    yield server
    server.kill()


@pytest.fixture
def relayed(llama: LlamaServer) -> Iterator[ScriptedServer]:
    """What stands before the model's server, relays to it, and keeps what was asked."""
    with ScriptedServer(llama.relay) as server:
        yield server


@pytest.fixture
def clock() -> FrozenClock:
    """A clock that stands still."""
    return FrozenClock("2024-05-03T18:00:00+00:00")


@pytest.fixture
def opened(tmp_path_factory: pytest.TempPathFactory, clock: FrozenClock) -> Iterator[Callable[..., TieredMemory]]:
    """Opens a memory with a summarizer."""
    memories = []

    def open_with(summarizer: object = None, **options: object) -> TieredMemory:
        folder = tmp_path_factory.mktemp("store")
        memory = TieredMemory.open(folder, embedder=HashEmbedder(), summarizer=summarizer, clock=clock, **options)
        memories.append(memory)
        return memory

    yield open_with
    for memory in memories:
        memory.close()


@pytest.fixture
def count(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Notes a line for the end of the run."""
    lines = request.config.stash.setdefault(COUNTED, [])
    return lines.append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write what was counted, however the tests ended."""
    for line in config.stash.get(COUNTED, []):
        terminalreporter.write_line(line)
