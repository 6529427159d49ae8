"""SiltstoneMemory over a store whose recent turns are in Redis."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("llama_index.core")
pytest.importorskip("redis", reason="needs the extra redis")

from llama_index.core.base.llms.types import ChatMessage

from llama_index_siltstone import SiltstoneMemory
from llama_index_siltstone.saving import saved_options
from siltstone.stores.redis.turns import RedisShortTerm
from siltstone.testing import HashEmbedder, WordCounter


def windowed(memory: SiltstoneMemory) -> list[str]:
    """Return the contents of the window of the conversation."""
    return [message.content for message in memory.memory.window("s", max_tokens=100)]


def test_a_llama_index_memory_keeps_its_turns_there(redis_url: str, tmp_path: Path) -> None:
    """What a LlamaIndex conversation puts, resets and sets is in windows and in Redis; its address is saved with it."""
    options = {"embedder": HashEmbedder(), "token_counter": WordCounter(), "session_id": "s"}
    memory = SiltstoneMemory.from_defaults(location=str(tmp_path / "m"), short_term=redis_url, **options)
    tier = RedisShortTerm(redis_url)
    memory.put(ChatMessage("My cat is called Miez."))
    assert windowed(memory) == ["My cat is called Miez."]
    memory.put(ChatMessage("And my dog Rex."))
    assert [message.content for message in tier.recent("default", "s")] == windowed(memory)
    assert windowed(memory) == ["My cat is called Miez.", "And my dog Rex."]
    assert memory.to_dict()["options"] == {"short_term": redis_url}
    memory.reset()
    assert windowed(memory) == memory.get() == []
    memory.put(ChatMessage("Good morning."))
    assert windowed(memory) == ["Good morning."]
    memory.memory.close()


def test_a_password_is_in_no_saved_memory() -> None:
    """An address with a password is left out of what LlamaIndex saves, by its name."""
    address = "rediss://:s3cret@redis.example:6380/0?ssl_ca_certs=/ca.pem"
    assert saved_options({"short_term": address}) == ({}, ["short_term"])
    plain = "rediss://redis.example:6380/0?ssl_ca_certs=/ca.pem"
    assert saved_options({"short_term": plain}) == ({"short_term": plain}, [])
