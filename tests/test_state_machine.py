"""A memory lives as a dictionary would: whatever is added, changed and forgotten, by whom, and however it is closed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from items import NOON
from siltstone import NotFoundError, Settings, TieredMemory
from siltstone.testing import FailingEmbedder, FrozenClock, HashEmbedder, WordCounter
from writers import PROCESSES, serve

SESSIONS = ("monday", "周二")
KINDS = ("fact", "event", "profile")
WORD = "深圳"
"""A word of every text, by which a search finds all of them."""
LIVES = {"siltstone": 20, "ci": 280, "nightly": 5_000}[os.environ.get("SILTSTONE_PROFILE", "siltstone")]
"""Lives of 50 steps at most, of 39 on average."""
CAN_ENCRYPT = importlib.util.find_spec("cryptography") is not None
WHICH = st.integers(0, 1 << 16)
"""Chooses among what there is."""


@dataclass
class Item:
    """What the model knows of a message or record: its texts, the newest first, and where it belongs."""

    texts: list[str]
    kind: str
    session: str | None
    sources: tuple[str, ...] = ()


@dataclass
class Model:
    """A memory as a dictionary."""

    items: dict[str, Item] = field(default_factory=dict)
    refused: set[tuple[str, str]] = field(default_factory=set)
    gone: list[str] = field(default_factory=list)

    def forget(self, ids: set[str]) -> None:
        """Remove items, and what rests on them, through any number of steps."""
        while True:
            more = {id for id, item in self.items.items() if id not in ids and not ids.isdisjoint(item.sources)}
            if not more:
                break
            ids |= more
        for id in ids:
            item = self.items.pop(id)
            self.gone.append(id)
            if item.kind == "turn":
                self.refused |= {(str(item.session), text) for text in item.texts}

    def messages(self, session: str) -> list[tuple[str, str]]:
        """Return ids and texts of a session's messages."""
        return [(id, i.texts[0]) for id, i in self.items.items() if i.kind == "turn" and i.session == session]

    def records(self) -> dict[str, tuple[str, str]]:
        """Return kinds and texts by record id."""
        return {_record_id(id, i): (i.kind, i.texts[0]) for id, i in self.items.items()}


def _record_id(id: str, item: Item) -> str:
    return f"turn:{id}" if item.kind == "turn" else id


class Second:
    """Another process that has the same store open."""

    def __init__(self) -> None:
        self._pipe, theirs = PROCESSES.Pipe()
        self._process = PROCESSES.Process(target=serve, args=(theirs,), daemon=True)
        self._process.start()

    def __call__(self, verb: str, *args: Any, **options: Any) -> Any:
        """Have a verb called there, and return what it returns."""
        self._pipe.send((verb, args, options))
        failed, answer = self._pipe.recv()
        assert not failed, answer
        return answer

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()


@pytest.fixture(scope="module")
def second() -> Iterator[Second]:
    """One other process for all lives."""
    process = Second()
    yield process
    process.end()


class Life(RuleBasedStateMachine):
    """Does what applications do to a memory, and to a dictionary."""

    steps = 0

    def __init__(self, second: Second) -> None:
        super().__init__()
        self.second = second
        self.folder = tempfile.mkdtemp()
        self.embedder = FailingEmbedder(HashEmbedder(32), failing=False)
        self.model = Model()
        self.count = 0

    @initialize(encrypted=st.booleans() if CAN_ENCRYPT else st.just(False))
    def begin(self, encrypted: bool) -> None:
        """Make a store, and let the other process open it too."""
        self.key = bytes(range(32)) if encrypted else None
        self.memory = self.opened()
        self.second("open", self.folder, key=self.key)
        self.revision = self.memory.revision

    def opened(self) -> TieredMemory:
        """Open the store."""
        return TieredMemory.open(
            self.folder,
            embedder=self.embedder,
            token_counter=WordCounter(),
            clock=FrozenClock(NOON),
            durability="os",
            key=self.key,
            settings=Settings(close_wait=0),
        )

    def teardown(self) -> None:
        """Leave nothing behind."""
        self.memory.close()
        self.second("close")
        shutil.rmtree(self.folder)

    def text(self) -> str:
        """Return a text that was never said before."""
        self.count += 1
        return f"number{self.count} {WORD} bees"

    def chosen(self, which: int) -> str:
        """Return one of the items that live."""
        return list(self.model.items)[which % len(self.model.items)]  # in order: ids are random

    def wrote(self) -> None:
        """See that the revision is another one."""
        assert self.memory.revision != self.revision

    # --- writing

    @rule(session=st.sampled_from(SESSIONS), many=st.integers(1, 3), elsewhere=st.booleans())
    def add(self, session: str, many: int, elsewhere: bool) -> None:
        """Add messages, here or in the other process."""
        texts = [self.text() for _ in range(many)]
        add = self.memory.add if not elsewhere else lambda *a, **k: self.second("add", *a, **k)
        ids = add(
            [("user", text) for text in texts], session_id=session, created_at=NOON + timedelta(minutes=self.count)
        )
        self.model.items |= {id: Item([text], "turn", session) for id, text in zip(ids, texts, strict=True)}
        self.wrote()

    @rule(kind=st.sampled_from(KINDS), session=st.sampled_from((None, *SESSIONS)), which=st.lists(WHICH, max_size=2))
    def remember(self, kind: str, session: str | None, which: list[int]) -> None:
        """Remember something, perhaps of what is known already."""
        sources = tuple(dict.fromkeys(self.chosen(n) for n in which) if self.model.items else ())
        text = self.text()
        id = self.memory.remember(text, kind=kind, session_id=session, source_ids=sources)
        self.model.items[id] = Item([text], kind, session, sources)
        self.wrote()

    @precondition(lambda self: self.model.items)
    @rule(which=WHICH)
    def update(self, which: int) -> None:
        """Give something another text."""
        id, text = self.chosen(which), self.text()
        self.memory.update(id, text=text)
        self.model.items[id].texts.insert(0, text)
        self.wrote()

    @precondition(lambda self: self.model.items)
    @rule(which=st.lists(WHICH, min_size=1, max_size=3), elsewhere=st.booleans())
    def forget_ids(self, which: list[int], elsewhere: bool) -> None:
        """Forget some, here or in the other process."""
        ids = {self.chosen(n) for n in which}
        if elsewhere:
            self.second("forget", ids=sorted(ids))
        else:
            self.memory.forget(ids=sorted(ids))
        self.model.forget(ids)
        self.wrote()

    @rule(session=st.sampled_from(SESSIONS))
    def forget_session(self, session: str) -> None:
        """Forget a session."""
        self.memory.forget(session_id=session)
        self.model.forget({id for id, item in self.model.items.items() if item.session == session})

    @rule(kind=st.sampled_from(("turn", *KINDS)))
    def forget_kind(self, kind: str) -> None:
        """Forget all of a kind."""
        self.memory.forget(kinds=kind)
        self.model.forget({id for id, item in self.model.items.items() if item.kind == kind})

    @precondition(lambda self: len(self.model.items) > 8)
    @rule()
    def forget_everything(self) -> None:
        """Forget everything."""
        self.memory.forget(everything=True)
        self.model.forget(set(self.model.items))
        self.wrote()

    @precondition(lambda self: self.model.refused)
    @rule(which=WHICH, elsewhere=st.booleans())
    def say_again(self, which: int, elsewhere: bool) -> None:
        """Send again what was forgotten: nothing is stored."""
        session, text = sorted(self.model.refused)[which % len(self.model.refused)]
        if elsewhere:
            self.second("add", [("user", text)], session_id=session)
        else:
            self.memory.add([("user", text)], session_id=session)

    # --- living

    @rule()
    def reopen(self) -> None:
        """Close the memory and open it again."""
        self.memory.close()
        self.memory = self.opened()

    @rule()
    def reopen_elsewhere(self) -> None:
        """Let the other process close and open."""
        self.second("close")
        self.second("open", self.folder, key=self.key)

    @rule()
    def compact(self) -> None:
        """Take the dead weight out of the files."""
        store: Any = self.memory.handle
        store.store.compact()

    @rule()
    def embedder_goes_down(self) -> None:
        """From now on vectors are late."""
        self.embedder.failing = True

    @rule()
    def embedder_comes_back(self) -> None:
        """What has no vector gets one."""
        self.embedder.failing = False
        self.memory.flush(60)
        assert self.memory.stats().pending_vectors == 0

    # --- what must hold

    @invariant()
    def all_is_as_in_the_dictionary(self) -> None:
        """Every way of reading gives what lives, and nothing else."""
        type(self).steps += 1
        settled = not self.memory.stats().pending_vectors
        if settled:
            self.memory.flush(60)  # the last vectors are there, and may not have been noted yet
        before = self.memory.revision
        records = self.model.records()
        assert {r.id: (r.kind, r.text) for r in self.memory.records()} == records
        for session in SESSIONS:
            assert [(m.id, m.content) for m in self.memory.messages(session)] == self.model.messages(session)
        hits = self.memory.search(WORD, top_k=len(records) + 1)
        assert sorted(hit.record.id for hit in hits) == sorted(records)
        if self.model.items:
            id = self.chosen(self.count)
            item = self.model.items[id]
            assert [record.text for record in self.memory.history(id)] == item.texts[1:]
            best = self.memory.search(item.texts[0].split()[0], top_k=1)
            assert best[0].record.text == item.texts[0]
        if self.model.gone:
            with pytest.raises(NotFoundError):
                self.memory.get(self.model.gone[self.count % len(self.model.gone)])
        if settled:
            assert self.memory.revision == before
        self.revision = self.memory.revision

    @invariant()
    def the_other_process_sees_the_same(self) -> None:
        """What is read there is what lives."""
        if self.count % 4 == 0:
            assert self.second("read", WORD) == {id: text for id, (_, text) in self.model.records().items()}


@pytest.mark.slow
def test_a_memory_is_a_dictionary_that_lasts(second: Second) -> None:
    """Every life of a store ends as the model says: some 10,000 steps in the profile ``ci``, 200,000 in ``nightly``."""
    Life.steps = 0
    run_state_machine_as_test(lambda: Life(second), settings=hypothesis.settings(max_examples=LIVES))
    assert Life.steps >= LIVES * 25
