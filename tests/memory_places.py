"""Where the memories of tests lie; those of the adapters in a folder, or where ``SILTSTONE_PLACE`` says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from postgres_cluster import Standby, streaming, synchronous, told
from postgres_server import Server, emptied, started
from siltstone import BackendUnavailableError, Settings, TieredMemory
from siltstone.testing import HashEmbedder
from vector_stores import ENGINES

FACT: Final = "I'm Alice, a front-end engineer in Shenzhen."
PLACE: Final = os.environ.get("SILTSTONE_PLACE", "folder")
"""``folder``, ``memory``, ``sqlite``, ``postgres``, ``replica``, ``redis``, or a vector store of ``vector_stores``."""


def empty_location(kind: str, request: pytest.FixtureRequest, folder: Path) -> str:
    """Return where an empty store of a kind, ``folder``, ``sqlite`` or ``postgres``, may be made."""
    if kind == "postgres":
        url: str = request.getfixturevalue("postgres")
        emptied(url)
        return url
    return f"sqlite:///{folder / 'memory.db'}" if kind == "sqlite" else str(folder / "memory")


class FlakyMemory(TieredMemory):
    """A memory whose store does not answer while ``failing``, as one whose disk or server is gone."""

    failing = False

    def _open_engine(self) -> Any:
        if self.failing:
            raise BackendUnavailableError("the store does not answer, as this test asked for")
        return super()._open_engine()


@pytest.fixture(scope="session")
def replicated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Standby]]:
    """A primary whose commits wait until its standby shows them."""
    with started(tmp_path_factory.mktemp("runtime")) as primary, streaming(primary) as standby:
        told(primary, "ALTER SYSTEM SET synchronous_commit = 'remote_apply'")
        synchronous(primary)
        yield primary, standby


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """What ``TieredMemory.open`` is to be given, by name, for an empty store there."""
    folder = {"location": tmp_path / "memory"}
    if PLACE == "memory":
        return {"location": ":memory:"}
    if PLACE in ("sqlite", "postgres"):
        return {"location": empty_location(PLACE, request, tmp_path)}
    if PLACE == "replica":
        primary, standby = request.getfixturevalue("replicated")
        emptied(primary.url)
        return {"location": primary.url, "settings": Settings(replica=standby.url)}
    if PLACE == "redis":
        return {**folder, "short_term": request.getfixturevalue("redis_url")}
    if PLACE in ENGINES:
        texts = {"location": ":memory:"} if PLACE == "simple" else folder  # its vectors end with the process
        return {**texts, "vector_store": ENGINES[PLACE](tmp_path / "vectors", HashEmbedder().dim)}
    assert PLACE == "folder", f"SILTSTONE_PLACE={PLACE} is no place"
    return dict(folder)
