"""The service over a memory whose recent turns are in Redis."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from redis_server import Server
from siltstone import Message, TieredMemory
from siltstone.errors import BackendUnavailableError
from siltstone.testing import HashEmbedder, WordCounter

pytest.importorskip("fastapi")
pytest.importorskip("redis", reason="needs the extra redis")


def test_a_service_keeps_turns_there_and_says_when_it_cannot(
    own_redis: Server, tmp_path: Path, serve: Callable[..., httpx.Client]
) -> None:
    """Over HTTP windows come from Redis; while it is away they are 503, and so is a forget that is not finished."""
    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), short_term=own_redis.url) as memory:
        client = serve(memory)
        with TieredMemory.open(str(client.base_url), token_counter=WordCounter()) as remote:
            remote.add([Message("user", "heliotrope", id="a")], session_id="s")
            assert [message.content for message in remote.window("s", max_tokens=100)] == ["heliotrope"]
            assert "heliotrope" in own_redis.words()
            own_redis.client().save()
            own_redis.kill()
            with pytest.raises(BackendUnavailableError, match="safe in the store"):
                remote.window("s", max_tokens=100)
            answer = client.post("/memory/window", json={"session_id": "s", "max_tokens": 100})
            assert answer.status_code == 503
            with pytest.raises(BackendUnavailableError, match="forgotten in the store"):
                remote.forget(ids=["a"])
            own_redis.start()
            while True:
                with suppress(BackendUnavailableError):
                    assert remote.window("s", max_tokens=100) == []
                    break
            assert "heliotrope" not in own_redis.words()
