"""What a process that may be killed was promised: a line before each operation, and one after it.

The file lies outside of the store, and keeps what a killed process wrote to it: so the state that the store must
have is known, but for the one operation under way.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

Version: TypeAlias = tuple[str, int | None]
"""The text of an item and the seed of its vector, or ``None`` while it has none."""


@dataclass
class State:
    """Items by user and id, each as all versions that it has had, the one that is valid last; and what is forgotten.

    ``gone`` holds versions that must be nowhere; ``removed`` users and ids that the audit names; ``refused`` users,
    sessions and texts that are not stored again; ``kept`` what the backup holds.
    """

    users: dict[str, dict[str, tuple[Version, ...]]] = field(default_factory=dict)
    gone: set[Version] = field(default_factory=set)
    removed: set[tuple[str, str]] = field(default_factory=set)
    refused: set[tuple[str, str, str]] = field(default_factory=set)
    kept: dict[str, dict[str, tuple[Version, ...]]] = field(default_factory=dict)

    def after(self, step: Mapping[str, Any]) -> State:
        """Return the state that an operation leads to."""
        users = {user: dict(items) for user, items in self.users.items()}
        if "drop" in step:
            for items in users.values():
                items.update({id: (*older, (text, None)) for id, (*older, (text, _)) in items.items()})
            return replace(self, users=users)
        if "backup" in step:
            return replace(self, kept=users)
        if "restore" in step:
            back = {
                user: {id: held for id, held in items.items() if (user, id) not in self.removed}
                for user, items in self.kept.items()
            }
            return replace(self, users=back)
        items = users.setdefault(step["user"], {})
        if "lose" in step:
            users[step["user"]] = {id: held for id, held in items.items() if id not in step["lose"]}
            return replace(self, users=users)
        removed = list(items) if step.get("everything") else step.get("remove", ())
        gone = {version for id in removed if id in items for version in items.pop(id)}
        items.update({id: tuple((text, seed) for text, seed in held) for id, held in step.get("put", {}).items()})
        refused = {(step["user"], session, text) for session, text in step.get("refuse", ())}
        named = {(step["user"], id) for id in step.get("remove", ())}
        return State(users, self.gone | gone, self.removed | named, self.refused | refused, self.kept)


class Journal:
    """Notes the operations of one process; ``state`` is what it was promised so far."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.state, _ = read(path)
        self._doing: Mapping[str, Any] | None = None

    @contextmanager
    def doing(self, **step: Any) -> Iterator[None]:
        """Note an operation before and after it.

        ``user``, and by id the versions that are ``put``, the ids to ``remove``, or ``everything``, the sessions and
        texts to ``refuse``, the ids to ``lose``, whose documents are damaged; or ``drop=True``, where all vectors go;
        ``backup=True`` and ``restore=True``.
        """
        os.write(self._fd, json.dumps(step).encode() + b"\n")
        self._doing = step
        yield
        self._note("done")

    @property
    def perhaps(self) -> State:
        """The state after an operation that raised, if it was done all the same."""
        return _settled(self.state, self._doing, "done")

    def settle(self, *, done: bool) -> None:
        """Note whether the operation that raised was done. It was not acknowledged, so that the audit may lack it."""
        if self._doing is not None:
            self._note("done unasked" if done else "undone")

    def _note(self, outcome: str) -> None:
        os.write(self._fd, outcome.encode() + b"\n")
        self.state, self._doing = _settled(self.state, self._doing, outcome), None


def read(path: Path) -> tuple[State, State]:
    """Return the state that was acknowledged, and the one that the operation under way would lead to."""
    state, doing = State(), None
    for line in path.read_text().split("\n")[:-1]:
        if line.startswith("{"):
            doing = json.loads(line)
        else:
            state, doing = _settled(state, doing, line), None
    return state, _settled(state, doing, "done")


def _settled(state: State, step: Mapping[str, Any] | None, outcome: str) -> State:
    if step is None or outcome == "undone":
        return state
    after = state.after(step)
    return after if outcome == "done" else replace(after, removed=state.removed)
