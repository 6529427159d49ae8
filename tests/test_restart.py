"""A session's working memory that is begun afresh."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from siltstone import Message, TieredMemory
from siltstone.testing import HashEmbedder, WordCounter
from siltstone.tiers.restart import current, is_restart, restart


@given(st.lists(st.booleans(), max_size=12))
def test_only_what_follows_the_last_restart_is_current(restarts: list[bool]) -> None:
    """However often it was restarted, what is shown is what was said since."""
    messages = [restart() if begun else Message("user", str(n), id=str(n)) for n, begun in enumerate(restarts)]
    since = len(restarts) - next((n for n, begun in enumerate(reversed(restarts)) if begun), len(restarts))
    assert [m.id for m in current(messages)] == [str(n) for n in range(since, len(restarts))]


def test_kept_messages_stay_in_the_order_given() -> None:
    """A restart names what stays; ids that are gone are passed over."""
    messages = [Message("user", text, id=text) for text in "abc"]
    shown = current([*messages, restart(["c", "gone", "a"]), Message("user", "d", id="d")])
    assert [m.id for m in shown] == ["c", "a", "d"]


def test_restart_is_durable_and_nothing_is_forgotten(tmp_path: Path) -> None:
    """The window and the recent turns begin anew, in the next process too; search still finds what was said."""
    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        memory.add([("user", "My cat is called Miez."), ("assistant", "Lovely.")], session_id="s")
        memory.add([restart()], session_id="s")
        memory.add([("user", "Hello again")], session_id="s")
    with TieredMemory.open(tmp_path / "m", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        assert [m.content for m in memory.window("s", max_tokens=100)] == ["Hello again"]
        assert [m.content for m in memory.context(session_id="s").recent] == ["Hello again"]
        assert "Miez" in memory.search("cat")[0].record.text
        assert [is_restart(m) for m in memory.messages("s")] == [False, False, True, False]
