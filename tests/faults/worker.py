"""Lives through a chapter of a store's life per fault, each in a forked process: run beneath the injecting library.

Reads one request per line from its input, ``[chapter, number, error, mode]``, and answers each with what came of it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

from crash.check import Broken, check, texts_of_versions
from crash.journal import State
from crash.writer import Writer, is_message
from faults.inject import Injector, Mode
from items import asked, space
from siltstone.errors import SiltstoneError
from siltstone.protocols import Where
from siltstone.records import Message, Record
from siltstone.upkeep import backup, restore, verify

USER = "u"
_KEY: Final = bytes(range(32))
_READ: Final = 12
"""Items that are read at once."""
LONG_ENOUGH = 60
"""Seconds after which a life hangs."""
UNDISTURBED: Final[tuple[int, int, Mode]] = (1 << 40, 0, "once")
"""A fault that no call meets."""


@dataclass
class Outcome:
    """What came of a fault: the call that it met, the error that was raised, and what did not hold."""

    calls: list[str] = field(default_factory=list)
    hit: str = ""
    raised: str = ""
    broken: str = ""


class Life:
    """A store's life, in chapters of steps that each may fail: what was promised is in the journal.

    Each chapter begins where the one before it ended, with an opening; so that a fault costs a chapter, not a life.
    """

    def __init__(self, place: Path, key: bytes | None) -> None:
        self.key = key
        self.disk, self.journal = place / "disk", place / "v"
        self.folder, self.backup = self.disk / "store", self.disk / "backup"
        self.writer: Writer | None = None

    def chapters(self) -> list[list[Callable[[Writer], object]]]:
        """Return what happens, in order."""
        return [
            [self.back_up],
            [
                lambda w: w.add(USER, 3),
                self.read,
                lambda w: w.update(USER, ["v-5", "v-6"]),
                lambda w: w.attach(USER, w.add(USER, 2, late=True)),
            ],
            [
                lambda w: w.forget(USER, ["v-3", "v-4"]),
                self.read,
                lambda w: w.reopen(),
                self.read,
            ],
            [
                lambda w: w.add(w.private, 2),
                lambda w: w.forget(w.private, ["v-31"]),
                lambda w: w.forget_everything(w.private),
                lambda w: w.derive(USER, ["v-8", "v-10"]),
            ],
            [
                lambda w: w.forget(USER, ["v-8"], along=[list(w.state[USER])[-1]]),
                self.read,
            ],
            [
                lambda w: w.replace(USER, ["v-9", "v-11", "v-12"], 2),
                self.read,
                lambda w: w.reopen(),
                self.read,
            ],
            [
                lambda w: w.add(USER, 80),  # enough for a cache
                lambda w: w.reopen(),
                self.read,
                lambda w: w.store.compact(),
                self.read,
            ],
            [self.verify],
            [self.restore, self.read],
        ]

    def open(self) -> Writer:
        """Open the store."""
        self.writer = self.writer or Writer(self.folder, self.journal, "v", segment_size=40_000, key=self.key)
        return self.writer

    def read(self, writer: Writer) -> None:
        """Read in several ways, and compare: an error is fair, a wrong answer is not."""
        store, live = writer.store, writer.state.get(USER, {})
        texts = {id: held[-1][0] for id, held in live.items()}
        said = [id for id in texts if is_message(id)]
        candidates = store.candidates(USER, asked("深圳", seed=1))
        some = candidates.keys[candidates.eligible][-_READ:].tolist()
        right = {
            "messages": texts_of(store.messages(USER, "v", limit=_READ)) == {id: texts[id] for id in said[-_READ:]},
            "records": texts_of(islice(store.scan(USER, Where()), _READ)) == dict(islice(texts.items(), _READ)),
            "found by words": candidates.document_frequency.tolist() == [len(texts)],
            "found": texts_of(store.resolve(USER, some)).items() <= texts.items(),
            "history": texts_of_versions(store, USER, "v-1") == [text for text, _ in live["v-1"][:-1]],
        }
        wrong = [what for what, is_right in right.items() if not is_right]
        if wrong and not store.stats(USER).health:
            raise Broken(f"wrong answers, and the store does not say so: {wrong}")

    def verify(self, _: Writer) -> None:
        """Check every file: what cannot be looked at is an error, and nothing is called lost for it."""
        lost = [finding for finding in verify(self.folder, key=self.key).findings if finding.severity == "lost"]
        if lost:
            raise Broken(f"verify takes what is there for lost: {lost}")

    def back_up(self, _: Writer) -> None:
        """Copy the store."""
        backup(self.folder, self.backup, key=self.key)

    def restore(self, _: Writer) -> None:
        """Copy the store, and put the copy in its place: nothing changes by it."""
        backup(self.folder, self.backup, key=self.key)
        restore(self.backup, self.folder, key=self.key)


def texts_of(items: Iterable[Message | Record | None]) -> dict[str, str]:
    """Return texts by the id of the message or record."""
    return {
        str(i.id).removeprefix("turn:"): i.content if isinstance(i, Message) else i.text for i in items if i is not None
    }


def settle(writer: Writer) -> None:
    """Find out what became of an operation that raised, as an application would: by reading.

    Vectors that could not be synced may be in the file all the same, and right: who opens the store next sees them.
    """
    before, after = writer.journal.state, writer.journal.perhaps
    other = _texts(before) != _texts(after)
    if not other:
        writer.reopen()
    found = {user: texts_of(writer.store.scan(user, Where())) for user in after.users}
    lacking = {user: set(texts_of(writer.store.pending(user, 999))) for user in after.users}
    writer.journal.settle(done=found == _texts(after) if other else lacking == _lacking(after))


def _texts(state: State) -> dict[str, dict[str, str]]:
    return {user: {id: held[-1][0] for id, held in items.items()} for user, items in state.users.items()}


def _lacking(state: State) -> dict[str, set[str]]:
    return {user: {id for id, held in items.items() if held[-1][1] is None} for user, items in state.users.items()}


def live(
    place: Path, key: bytes | None, injector: Injector, chapter: int, number: int, error: int, mode: Mode
) -> Outcome:
    """Live through a chapter with one fault, check what is left, and go on."""
    outcome, life = Outcome(), Life(place, key)
    injector.arm(life.disk, number, error, mode)
    try:
        for step in [*life.chapters()[chapter], Writer.close]:
            try:
                step(life.open())
            except SiltstoneError as exc:
                outcome.calls = outcome.calls or injector.disarm()
                outcome.raised = outcome.raised or type(exc).__name__
                if life.writer is not None:
                    settle(life.writer)
        outcome.calls = outcome.calls or injector.disarm()
        outcome.hit = injector.hit
        check(life.folder, [life.journal], key)
    except Broken as exc:
        outcome.broken = str(exc)
    except Exception:
        outcome.broken = traceback.format_exc()
    outcome.calls = outcome.calls or injector.disarm()
    outcome.hit = injector.hit
    return outcome


def made(template: Path, key: bytes | None) -> None:
    """Make the store that every life begins with: two hundred records, and another user."""
    template.mkdir()
    writer = Writer(template / "disk" / "store", template / "v", "v", durability="os", segment_size=40_000, key=key)
    writer.store.set_fingerprint(space())
    writer.add(USER, 30)
    writer.add(writer.private, 6)
    writer.update(USER, ["v-1", "v-2"])
    writer.add(USER, 160)
    writer.close()


def beginnings(folder: Path, key: bytes | None, injector: Injector) -> list[Path]:
    """Return the store at the beginning of each chapter, and at the end of the last."""
    found = [folder / f"chapter-{os.getpid()}-0"]
    made(found[0], key)
    for chapter in range(len(Life(found[0], key).chapters())):
        found.append(folder / f"chapter-{os.getpid()}-{chapter + 1}")
        shutil.copytree(found[-2], found[-1])
        outcome = forked(found[-1], key, injector, chapter, *UNDISTURBED)
        assert not outcome.broken, outcome.broken
        (found[-1] / "outcome").unlink()
    return found


def serve(folder: Path, key: bytes | None) -> None:
    """Say how many chapters there are, and answer one request per line of the input."""
    injector = Injector()
    chapters = beginnings(folder, key, injector)
    print(len(chapters) - 1, flush=True)
    for n, line in enumerate(sys.stdin):
        place = folder / f"{os.getpid()}-{n}"
        chapter, *fault = json.loads(line)
        shutil.copytree(chapters[chapter], place)
        outcome = forked(place, key, injector, chapter, *fault)
        if not outcome.broken:
            shutil.rmtree(place)
        print(json.dumps(asdict(outcome)), flush=True)


def forked(
    place: Path, key: bytes | None, injector: Injector, chapter: int, number: int, error: int, mode: Mode
) -> Outcome:
    """Live in a process of its own, so that a crash or a hang is an outcome too."""
    answer = place / "outcome"
    child = os.fork()
    if child == 0:
        signal.alarm(LONG_ENOUGH)
        outcome = live(place, key, injector, chapter, number, error, mode)
        answer.write_text(json.dumps(asdict(outcome)))
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        what = "hung" if status == -signal.SIGALRM else f"ended with {status}"
        return Outcome(broken=f"the process {what}; see {place}")
    values: dict[str, Any] = json.loads(answer.read_text())
    return Outcome(**values)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), _KEY if "encrypted" in sys.argv[2:] else None)
