"""What must hold of a store whatever was killed: all that was acknowledged, once, and nothing that was forgotten."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import numpy as np

from items import asked, known, said, vector
from siltstone.protocols import Where
from siltstone.stores.files import auditfile, storefile
from siltstone.stores.files.hashedids import hashed_id
from siltstone.stores.folder import FolderStore
from siltstone.stores.table.table import HISTORY
from siltstone.upkeep import restore, verify

from .journal import State, Version, read

_Users: TypeAlias = dict[str, dict[str, tuple[Version, ...]]]
_TOKEN = re.compile(rb"qx\w+?xq")
_REPAIRS = ("of an unfinished write",)
"""What a store may say of itself after a kill."""


class Broken(AssertionError):
    """A promise of the store that does not hold."""


def check(folder: Path, journals: Sequence[Path], key: bytes | None = None) -> None:
    """Open the store twice, and raise ``Broken`` where it is not what its writers were promised."""
    states = {path.name: read(path) for path in journals if path.exists()}
    users = {user for _, state in states.values() for user in state.users}
    seen = []
    for opened in range(2):
        store = FolderStore(folder, key=key)
        _require(set(store.users()) - {"check"} <= users, "a user from nowhere")
        held = {user: _held(store, user) for user in users}
        seen.append(held)
        if not opened:
            _check_promises(store, folder, states, held, key)
        store.commit("check", [known("check", f"opened {opened}", user="check", version=opened + 1)])
        store.close()
    _require(seen[0] == seen[1], "opened again, it is another one")
    if key is None:
        for name, (acknowledged, perhaps) in states.items():
            if acknowledged.kept:
                _check_backup(folder, name, acknowledged, perhaps)


def _check_promises(
    store: FolderStore, folder: Path, states: Mapping[str, tuple[State, State]], held: _Users, key: bytes | None
) -> None:
    gone: set[Version] = set()
    keys = storefile.unlock(str(folder), key)
    settings = storefile.read(str(folder), keys)
    deeds = list(auditfile.read(str(folder), keys))
    audited = {(deed.user_id, id) for deed in deeds for id in (*deed.ids, *(deed.hashed or ()))}
    for name, (acknowledged, perhaps) in states.items():
        mine = {user: _of(name, items) for user, items in held.items()}
        now = next((state for state in (perhaps, acknowledged) if _texts(state.users) == _texts(mine)), None)
        if now is None:
            raise Broken(f"{name}: neither the old nor the new state: {_differences(acknowledged, mine)}")
        _check_vectors(mine, acknowledged, perhaps)
        _check_refused(store, now)
        hashed = {(user, id): (user, hashed_id(settings.user_key(user), id)) for user, id in now.removed}
        lacking = sorted(item for item in now.removed if not audited & {item, hashed[item]})
        _require(not lacking, f"{name}: the audit lacks {lacking[:3]}")
        gone |= now.gone
    _check_gone(folder, gone)
    _require(key is None or not _shown(folder), f"words can be seen without the key: {_shown(folder)[:3]}")


def _check_backup(folder: Path, name: str, acknowledged: State, perhaps: State) -> None:
    """Check that the backup beside the store is the old one or the new, by restoring it elsewhere."""
    place = folder.with_name("elsewhere")
    restore(folder.with_name("backup"), place)
    _require(verify(place).is_sound, "what was backed up is not sound")
    with closing(FolderStore(place, read_only=True)) as store:
        held = {user: _of(name, _held(store, user)) for user in store.users()}
    found = {key: texts for key, texts in _texts(held).items() if texts}
    _require(found in [_texts(state.kept) for state in (acknowledged, perhaps)], "neither the old nor the new backup")


def _held(store: FolderStore, user: str) -> dict[str, tuple[Version, ...]]:
    """Return what a user has, read in every way there is, which must agree. A seed stands for "has a vector"."""
    messages = [m for session in store.sessions(user) for m in store.messages(user, session.session_id)]
    records = list(store.scan(user, Where()))
    texts = {m.id or "": m.content for m in messages}
    texts |= {record.id: record.text for record in records if record.kind != "turn"}
    doubled = [id for id, n in Counter([m.id for m in messages] + [r.id for r in records]).items() if n > 1]
    _require(not doubled, f"{user}: doubled: {doubled}")
    _require({f"turn:{m.id}" for m in messages} == {r.id for r in records if r.kind == "turn"}, f"{user}: other turns")
    _require(all(r.text == texts[r.id.removeprefix("turn:")] for r in records), f"{user}: other texts")
    stats = store.stats(user)
    _require(stats.records == len(records) and stats.messages == len(messages), f"{user}: counts: {stats}")
    odd = [note for note in stats.health if not note.endswith(_REPAIRS)]
    _require(not odd, f"{user}: health: {odd}")
    candidates = store.candidates(user, asked("深圳", seed=0))
    _require(candidates.document_frequency.tolist() == [len(records)], f"{user}: found by words: other records")
    keys = candidates.keys[candidates.eligible].tolist()
    resolved = store.resolve(user, keys)
    _require({r.id for r in resolved if r} == {r.id for r in records}, f"{user}: the indexes: other records")
    found: dict[str, tuple[Version, ...]] = {}
    for record, stored in zip(resolved, store.vectors(user, keys), strict=True):
        assert record is not None
        id = record.id.removeprefix("turn:")
        older = [(text, None) for text in texts_of_versions(store, user, id)]
        found[id] = (*older, (texts[id], None if np.isnan(stored).all() else _print(stored)))
    return found


def texts_of_versions(store: FolderStore, user: str, id: str) -> list[str]:
    """Return the texts of an item's earlier versions, the oldest first."""
    return [stored.record.text for stored in reversed(store.versions(user, id)) if stored.record is not None]


def _of(writer: str, items: dict[str, tuple[Version, ...]]) -> dict[str, tuple[Version, ...]]:
    return {id: held for id, held in items.items() if id.startswith(f"{writer}-")}


def _print(vector: np.ndarray) -> int:  # type: ignore[type-arg]
    return int.from_bytes(vector.astype(np.float16).tobytes()[:12], "big")


def _texts(users: _Users) -> dict[tuple[str, str], list[str]]:
    """Return the texts of items, as far as the history reaches."""
    kept = 1 + HISTORY
    return {
        (user, id): [text for text, _ in held[-kept:]] for user, items in users.items() for id, held in items.items()
    }


def _check_vectors(mine: _Users, acknowledged: State, perhaps: State) -> None:
    """Check that each vector is the one of the text that it stands beside, and that none is missing."""
    for user, items in mine.items():
        for id, held in items.items():
            states = [state.users.get(user, {}).get(id) for state in (acknowledged, perhaps)]
            seeds = [state[-1][1] for state in states if state is not None and state[-1][0] == held[-1][0]]
            allowed = [None if seed is None else _print(vector(seed)) for seed in seeds]
            _require(held[-1][1] in allowed, f"{user}: {id} has another vector, or none")


def _check_refused(store: FolderStore, state: State) -> None:
    for user, session, text in sorted(state.refused)[:3]:
        done = store.commit(user, [said("again", text, user=user, session=session)])
        _require(done.skipped == ("again",), f"{user}: a forgotten text was taken again: {text}")


def _check_gone(folder: Path, gone: set[Version]) -> None:
    """Check that no file holds a word or a vector that was forgotten."""
    tokens = {text.split()[-1].encode() for text, _ in gone}
    vectors = {vector(seed).astype(np.float16).tobytes() for _, seed in gone if seed is not None}
    for path in folder.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        back = tokens & set(_TOKEN.findall(data))
        _require(not back, f"{path.name} holds forgotten words: {sorted(back)[:3]}")
        _require(not any(half in data for half in vectors), f"{path.name} holds a forgotten vector")


def _shown(folder: Path) -> list[bytes]:
    return [word for path in folder.rglob("*") if path.is_file() for word in _TOKEN.findall(path.read_bytes())]


def _differences(state: State, mine: _Users) -> str:
    wanted, found = _texts(state.users), _texts(mine)
    lost = [key for key in wanted if key not in found]
    other = [(key, wanted[key], found[key]) for key in wanted if key in found and wanted[key] != found[key]]
    return f"lost {lost[:5]}, more {[key for key in found if key not in wanted][:5]}, other {other[:2]}"


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise Broken(what)
