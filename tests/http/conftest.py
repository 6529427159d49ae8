"""The service for tests: a real Uvicorn on loopback, in this process or in one that can be killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from running import Running

from siltstone import TieredMemory
from siltstone.testing import HashEmbedder


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[TieredMemory]:
    """An open memory in a folder."""
    with TieredMemory.open(tmp_path / "memory", embedder=HashEmbedder()) as opened:
        yield opened


@pytest.fixture
def serve() -> Iterator[Callable[..., httpx.Client]]:
    """Start services: ``serve(memory, ...)`` takes what ``create_app`` takes, and returns a client of it."""
    pytest.importorskip("fastapi")
    from siltstone.http import create_app

    with ExitStack() as stack:

        def start(source: Any, **options: Any) -> httpx.Client:
            running = stack.enter_context(Running(create_app(source, **options)))
            return stack.enter_context(httpx.Client(base_url=running.url, timeout=60))

        yield start


@pytest.fixture
def client(memory: TieredMemory, serve: Callable[..., httpx.Client]) -> httpx.Client:
    """A client of a service over ``memory``."""
    return serve(memory)
