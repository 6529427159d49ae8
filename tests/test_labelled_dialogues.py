"""The fifty dialogues of ``benchmarks/compression``, labelled by hand, at default settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from siltstone import Message, Record, TieredMemory
from siltstone.cli import app
from siltstone.compress.budget import RoughCounter
from siltstone.records import is_derived, to_datetime
from siltstone.testing import FrozenClock, HashEmbedder

FILE = Path(__file__).parents[1] / "benchmarks" / "compression" / "dialogues.jsonl"
DIALOGUES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
LONG = [one for one in DIALOGUES if sum(len(message["content"]) for message in one["messages"]) > 2000]
COUNTER = RoughCounter()


def consolidated(dialogue: dict[str, Any], store: str | Path = ":memory:") -> TieredMemory:
    """Return the memory of one who had this conversation, half a day later."""
    messages = [Message(**{**one, "created_at": to_datetime(one["created_at"])}) for one in dialogue["messages"]]
    clock = FrozenClock(messages[-1].created_at or to_datetime("2024-01-01T00:00:00Z"))
    memory = TieredMemory.open(store, embedder=HashEmbedder(64), token_counter=COUNTER, clock=clock)
    memory.add(messages, session_id="one")
    clock.advance(hours=12)
    memory.consolidate()
    return memory


def digested(memory: TieredMemory) -> tuple[list[Record], list[Record]]:
    """Return the summaries of spans, and the statements."""
    derived = [record for record in memory.records() if is_derived(record) and record.kind != "turn"]
    statements = [record for record in derived if record.kind != "summary"]
    return [record for record in derived if record.kind == "summary" and record.level == 0], statements


def test_the_set_is_what_it_says() -> None:
    """Fifty dialogues, half of them Chinese, several of each language over 2,000 characters."""
    assert [sum(one["language"] == language for one in DIALOGUES) for language in ("en", "zh")] == [25, 25]
    assert all(sum(one["language"] == language for one in LONG) >= 3 for language in ("en", "zh"))


@pytest.mark.parametrize("dialogue", LONG, ids=[one["id"] for one in LONG])
def test_a_long_dialogue_shrinks_at_least_five_times(dialogue: dict[str, Any]) -> None:
    """Its summaries and statements together have at most a fifth of its tokens, and of its characters."""
    source = [message["content"] for message in dialogue["messages"]]
    memory = consolidated(dialogue)
    summaries, statements = digested(memory)
    memory.close()
    assert summaries
    assert statements
    for size in (COUNTER.count, len):
        made = sum(size(one.text) for one in (*summaries, *statements))
        assert made <= sum(map(size, source)) / 5


def test_stats_prints_how_many_times_smaller_it_is(tmp_path: Path) -> None:
    """``siltstone stats`` shows tokens of messages per token of what was made of them."""
    dialogue = next(one for one in LONG if one["language"] == "zh")
    memory = consolidated(dialogue)
    summaries, statements = digested(memory)
    source = sum(COUNTER.count(message["content"]) for message in dialogue["messages"])
    made = sum(COUNTER.count(one.text) for one in (*summaries, *statements))
    assert memory.stats().compression == round(source / made, 1) >= 5
    memory.close()
    with TieredMemory.open(tmp_path / "store") as small:
        said = [("user", "The boiler in the cellar is broken again, and the plumber comes on Friday.")] * 24
        small.add(said, session_id="one", created_at=to_datetime("2024-01-01T00:00:00Z"))
        small.consolidate()
        ratio = small.stats().compression
    printed = CliRunner().invoke(app, ["stats", "--store", str(tmp_path / "store")]).stdout
    assert ratio is not None
    assert any(line.split() == ["compression", str(ratio)] for line in printed.splitlines())
