"""SiltstoneChatMessageHistory over a store whose recent turns are in Redis."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("redis", reason="needs the extra redis")

from langchain_siltstone import SiltstoneChatMessageHistory
from siltstone import TieredMemory
from siltstone.stores.redis.turns import RedisShortTerm
from siltstone.testing import HashEmbedder, WordCounter


@pytest.mark.filterwarnings("ignore::langchain_core._api.deprecation.LangChainDeprecationWarning")
def test_a_langchain_history_keeps_its_turns_there(redis_url: str, tmp_path: Path) -> None:
    """What LangChain's history is told is in Redis once it was asked for, cleared with it, and gone when forgotten."""
    with TieredMemory.open(
        tmp_path / "m", embedder=HashEmbedder(), token_counter=WordCounter(), short_term=redis_url
    ) as memory:
        history = SiltstoneChatMessageHistory("s", memory=memory)
        history.add_user_message("My cat is called Miez.")
        assert [message.content for message in memory.window("s", max_tokens=100)] == ["My cat is called Miez."]
        tier = RedisShortTerm(redis_url)
        assert [message.content for message in tier.recent("default", "s")] == ["My cat is called Miez."]
        history.clear()
        assert memory.window("s", max_tokens=100) == []
        memory.forget(session_id="s")
        assert tier.recent("default", "s") == []
