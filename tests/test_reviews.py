"""The queue of digests that a person is to look at: who is in it, that it lasts, and that what is forgotten leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from siltstone import Settings, TieredMemory
from siltstone.errors import ConfigurationError
from siltstone.lifecycle.reviews import chosen, reviews
from siltstone.opening import open_store
from siltstone.protocols import Store
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter

Open = Callable[[float], AbstractContextManager[TieredMemory]]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    """Open the same folder, with some share of the digests queued, an hour after what is told in it."""

    def memory(share: float) -> TieredMemory:
        return TieredMemory.open(
            tmp_path / "m",
            embedder=HashEmbedder(),
            token_counter=WordCounter(),
            clock=FrozenClock("2024-05-08T13:00:00+00:00"),
            settings=Settings(embed_wait=5.0, review_share=share),
        )

    return memory


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """The store in that folder."""
    handle = open_store(tmp_path / "m", durability="os", read_only=False, create=True, lock_timeout=10, history=20)
    yield handle.store
    handle.close()


def tell(memory: TieredMemory, sessions: int) -> None:
    """Tell something in each of some sessions, in English and Chinese, under ids that are always the same."""
    for n in range(sessions):
        text = f"I live in Lisbon and I have {n} cats." if n % 2 else f"我住在杭州，养了{n}只猫。"
        said = {"role": "user", "content": text, "id": f"m{n}", "created_at": "2024-05-08T12:00:00+00:00"}
        memory.add([said], session_id=f"s{n}")
    memory.consolidate()


def test_a_share_is_chosen_by_the_id_alone() -> None:
    """The same ids are chosen every time, about as many as asked for, and a larger share holds the smaller one."""
    ids = [f"digest {n}" for n in range(4000)]
    few, many = ({id for id in ids if chosen(id, share)} for share in (0.05, 0.25))
    assert few < many
    assert 150 < len(few) < 250
    assert not any(chosen(id, 0.0) for id in ids)
    assert all(chosen(id, 1.0) for id in ids)
    assert few == {id for id in reversed(ids) if chosen(id, 0.05)}


def test_a_share_of_the_digests_waits_for_a_person(opened: Open) -> None:
    """``consolidate`` queues the share, ``stats`` counts it after reopening, and a second run queues nothing more."""
    with opened(0.5) as memory:
        tell(memory, 12)
        waiting = memory.stats().reviews
    assert 0 < waiting < 12
    with opened(0.5) as memory:
        assert memory.stats().reviews == waiting
        assert memory.consolidate().rows == ()
        assert memory.stats().reviews == waiting


def test_nothing_waits_where_nothing_was_made(opened: Open) -> None:
    """A span that leaves neither summary nor statement is not queued, and a share of nothing queues nothing."""
    with opened(1.0) as memory:
        said = {"role": "user", "content": "Hello there!", "created_at": "2024-05-08T12:00:00+00:00"}
        memory.add([said], session_id="greeting")
        memory.consolidate()
        assert memory.stats().reviews == 0
    with opened(0.0) as memory:
        tell(memory, 4)
        assert memory.stats().reviews == 0


def test_forgetting_a_source_takes_its_review(opened: Open, store: Store) -> None:
    """The review of a digest goes with any of its messages, and no memory shows that there was one."""
    with opened(1.0) as memory:
        tell(memory, 2)
        assert [review.source_ids for review in reviews(store, "default")] == [("m0",), ("m1",)]
        assert not any(record.kind == "review" for record in memory.records())
        memory.forget(ids=["m0"])
        assert [review.source_ids for review in reviews(store, "default")] == [("m1",)]
        assert memory.stats().reviews == 1


@pytest.mark.parametrize("share", [-0.1, 1.1, 5, float("nan")])
def test_a_share_lies_between_nothing_and_all(share: float) -> None:
    """What is no share is refused when it is set, not taken for none or all."""
    with pytest.raises(ConfigurationError, match="between 0 and 1"):
        Settings(review_share=share)
