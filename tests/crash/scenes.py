"""What stores live through while they are killed: how each life begins, and what happens in it.

A new way to change what is on disk gets a scene here.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from items import space
from siltstone.errors import DecryptionError
from siltstone.protocols import Where
from siltstone.stores.encryption.cipher import Keys
from siltstone.stores.files import disk, storefile
from siltstone.stores.folder import FolderStore
from siltstone.stores.migrations.run import migrate
from siltstone.stores.migrations.step import Step
from siltstone.stores.table.table import HISTORY
from siltstone.stores.user import UserStore
from siltstone.upkeep import rekey, verify

from .steps import die_at, watch
from .writer import Writer, token

USER = "u"
_KEY, _NEW_KEY = bytes(range(32)), bytes(range(32, 64))
_MANY = 260
"""Items enough for a cache."""
_FIRST_DERIVED = 49
"""What is numbered higher, in scenes of what rests on something, does so."""


@dataclass(frozen=True)
class Scene:
    """``begin`` makes the store and ``act`` is what is killed, each in a process of its own with one journal.

    ``alone``: no other writer can be at work meanwhile. ``options`` are how the store is opened.
    """

    name: str
    begin: Callable[[Writer], None] | None
    act: Callable[[Writer], None]
    alone: bool = False
    options: tuple[tuple[str, Any], ...] = ()
    dies: tuple[str, str] | None = None
    """Where ``begin`` is killed, so that the life begins with what it left; ``_ITSELF`` where it does it itself."""
    opening: Callable[[Path], None] | None = None
    """What happens before the store is opened."""
    settle: Callable[[Path], None] | None = None
    """What is done before it is looked at what the store holds."""
    new_key: bytes | None = None
    """The key that the store may have afterwards."""

    @property
    def key(self) -> bytes | None:
        """The key of an encrypted store, as it begins."""
        return dict(self.options).get("key")

    def key_now(self, folder: Path) -> bytes | None:
        """Return the key that opens the store now."""
        if self.new_key is None:
            return self.key
        try:
            storefile.unlock(str(folder), self.new_key)
        except DecryptionError:
            return self.key
        return self.new_key


def _a_life(writer: Writer) -> None:
    writer.store.set_fingerprint(space())
    for _ in range(3):
        writer.add(USER, 3)
    writer.attach(USER, writer.add(USER, 2, late=True))
    writer.update(USER, writer.add(USER, 2))
    writer.add(USER, _MANY)


def _filled(writer: Writer) -> None:
    writer.store.set_fingerprint(space())
    for _ in range(4):
        writer.add(USER, 10)
    writer.update(USER, [f"v-{n}" for n in range(1, 20)])
    writer.add(writer.private, 9)
    writer.close()


def _cached(writer: Writer) -> None:
    _filled(writer)
    writer.add(USER, _MANY)
    writer.close()


def _torn(writer: Writer) -> None:
    _filled(writer)
    writer.forget(USER, ["v-40"])
    for path in (*writer.folder.rglob("docs.*.jsonl"), writer.folder / "AUDIT"):
        with path.open("ab") as file:
            file.write(b"000000ff 1234")


def _write(writer: Writer) -> None:
    writer.add(USER, 3)
    writer.update(USER, ["v-5", "v-6", "v-7"])
    writer.add(USER, 2)


def _forget(writer: Writer) -> None:
    writer.forget(USER, ["v-3", "v-4", "v-20", "v-21", "v-22"])
    writer.add(USER, 2)
    writer.forget(USER, ["v-30"])


def _replace(writer: Writer) -> None:
    first = writer.replace(USER, ["v-3", "v-4", "v-20"], 3)
    writer.add(USER, 2)
    writer.replace(USER, [*first[:2], "v-30"], 1)
    writer.replace(USER, ["v-31"], 0)


def _derived(writer: Writer) -> None:
    _filled(writer)
    rest = writer.derive(USER, ["v-4", "v-5"])
    writer.derive(USER, [rest, "v-7"])
    writer.derive(USER, ["v-8"])


def _forget_with_what_rests_on_it(writer: Writer) -> None:
    resting = [id for id in writer.state[USER] if int(id.split("-")[1]) > _FIRST_DERIVED]
    writer.forget(USER, ["v-4", "v-20"], along=resting[:2])
    writer.add(USER, 2)
    writer.remove(USER, ["v-8"])


def _hidden_alone(writer: Writer) -> None:
    _derived(writer)
    with patch.object(UserStore, "_carry_out", lambda *_: os.kill(os.getpid(), signal.SIGKILL)):
        _forget_with_what_rests_on_it(writer)


def _forget_everything(writer: Writer) -> None:
    writer.forget(writer.private, ["v-41"])
    writer.add(writer.private, _MANY)
    writer.reopen()  # with a cache
    writer.forget_everything(writer.private)
    writer.add(writer.private, 3)


def _reembed(writer: Writer) -> None:
    writer.change_space()
    items = list(writer.state[USER])
    for first in range(0, 30, 10):
        writer.attach(USER, items[first : first + 10])


def _with_dead_weight(writer: Writer) -> None:
    _filled(writer)
    for _ in range(HISTORY + 2):
        writer.update(USER, [f"v-{n}" for n in range(1, 9)])
    writer.forget(USER, ["v-10", "v-11"])


def _compact(writer: Writer) -> None:
    writer.store.compact(USER)
    writer.update(USER, ["v-1"])
    writer.store.compact(USER)


def _of_format_1(writer: Writer) -> None:
    _filled(writer)
    root = str(writer.folder)
    storefile.replace(root, {**storefile.document(root), "format": 1})


def _touched(root: str) -> list[str]:
    return [os.path.relpath(path, root) for path in Path(root).rglob("docs.*")]


def _rewrite(root: str, keys: Keys) -> None:
    for path in _touched(root):
        disk.replace(os.path.join(root, path), Path(root, path).read_bytes())


def _migrate(folder: Path) -> None:
    """Take a step that rewrites the documents, as a later format may."""
    step = Step(storefile.FORMAT, "a rehearsal", touches=_touched, apply=_rewrite)
    migrate(str(folder), writable=True, lock_timeout=10, steps=[step])


def _other_data_keys(writer: Writer) -> None:
    writer.forget(USER, ["v-40"])
    rekey(writer.folder, key=_KEY, data_keys=True)
    writer.add(USER, 2)


def _other_master_key(writer: Writer) -> None:
    writer.add(USER, 1)
    rekey(writer.folder, key=_KEY, new_key=_NEW_KEY)


def _backed_up(writer: Writer) -> None:
    _filled(writer)
    writer.back_up()
    writer.add(USER, 3)
    writer.forget(USER, ["v-3", "v-4"])
    writer.replace(USER, ["v-6", "v-7"], 2)
    writer.close()


def _back_up(writer: Writer) -> None:
    writer.update(USER, ["v-5"])
    writer.back_up()
    writer.add(USER, 2)


def _restore(writer: Writer) -> None:
    writer.restore()
    writer.add(USER, 2)


def _damaged(writer: Writer) -> None:
    _filled(writer)
    with writer.journal.doing(user=USER, lose=["v-25"]):
        (path,) = (path for path in writer.folder.rglob("docs.*") if token("v-25", 1).encode() in path.read_bytes())
        path.write_bytes(path.read_bytes().replace(b'"v-25 version', b'"v-25_version'))
    (writer.folder / "AUDIT").chmod(0o640)
    settings = writer.folder / "STORE"
    settings.write_bytes(settings.read_bytes()[:-9] + b"x" * 8 + b"\n")


def _repair(folder: Path) -> None:
    """Mend the store; what can be read of it is the same before and after."""
    before = _read(folder)
    assert verify(folder, repair=True).is_sound
    assert _read(folder) == before


def _read(folder: Path) -> dict[str, str]:
    with closing(FolderStore(folder, read_only=True)) as store:
        return {record.id: record.text for user in store.users() for record in store.scan(user, Where())}


def _only_open(writer: Writer) -> None:
    writer.add(USER, 1)


def _then(*acts: Callable[[Writer], None]) -> Callable[[Writer], None]:
    def all_of_them(writer: Writer) -> None:
        for each in acts:
            each(writer)

    return all_of_them


_MANY_FILES = (("segment_size", 2_000),)
_ENCRYPTED = (("key", _KEY),)
_ITSELF = ("", "")
_LEFT_MARKED, _LEFT_IN_TRASH = ("after", "unlink cache"), ("after", "rename removed-user")

SCENES = (
    Scene("a first life", None, _a_life),
    Scene("writing", _filled, _write),
    Scene("writing behind torn ends", _torn, _write),
    Scene("forgetting behind torn ends", _torn, _forget),
    Scene("writing in many files", _filled, _write, options=_MANY_FILES),
    Scene("forgetting", _cached, _forget),
    Scene("forgetting in many files", _filled, _forget, options=_MANY_FILES),
    Scene("replacing", _cached, _replace),
    Scene("replacing in many files", _filled, _replace, options=_MANY_FILES),
    Scene("forgetting what something rests on", _derived, _forget_with_what_rests_on_it),
    Scene("making up for what is hidden alone", _hidden_alone, _only_open, dies=_ITSELF),
    Scene("forgetting a user", _filled, _forget_everything),
    Scene("making up for forgetting", _then(_filled, _forget), _only_open, dies=_LEFT_MARKED),
    Scene("making up for forgetting a user", _then(_filled, _forget_everything), _only_open, dies=_LEFT_IN_TRASH),
    Scene("changing the embedder", _cached, _reembed, alone=True),
    Scene("compacting", _with_dead_weight, _compact),
    Scene("compacting many files", _with_dead_weight, _compact, options=_MANY_FILES),
    Scene("migrating", _of_format_1, _only_open, alone=True, opening=_migrate),
    Scene("a first life, encrypted", None, _a_life, options=_ENCRYPTED),
    Scene("forgetting, encrypted", _cached, _forget, options=_ENCRYPTED),
    Scene("forgetting what something rests on, encrypted", _derived, _forget_with_what_rests_on_it, options=_ENCRYPTED),
    Scene("making up for what is hidden alone, encrypted", _hidden_alone, _only_open, False, _ENCRYPTED, _ITSELF),
    Scene("forgetting a user, encrypted", _filled, _forget_everything, options=_ENCRYPTED),
    Scene("changing the keys of users", _cached, _other_data_keys, options=_ENCRYPTED),
    Scene("changing the keys of many files", _filled, _other_data_keys, options=_MANY_FILES + _ENCRYPTED),
    Scene("changing the master key", _filled, _other_master_key, True, _ENCRYPTED, new_key=_NEW_KEY),
    Scene("backing up", _backed_up, _back_up),
    Scene("restoring", _backed_up, _restore, alone=True),
    Scene("restoring, encrypted", _backed_up, _restore, True, _ENCRYPTED),
    Scene("repairing", _damaged, _only_open, alone=True, opening=_repair, settle=_repair),
    Scene("compacting, encrypted", _with_dead_weight, _compact, options=_ENCRYPTED),
)


def begin(folder: Path, journal: Path, name: str) -> None:
    """Make the store that a scene begins with."""
    scene = _named(name)
    assert scene.begin is not None
    if scene.dies is not None:
        die_at(str(folder), *scene.dies, 1)
    scene.begin(Writer(folder, journal, "v", **dict(scene.options)))


def act(folder: Path, journal: Path, name: str) -> None:
    """Live through a scene."""
    scene = _named(name)
    if scene.opening is not None:
        scene.opening(folder)
    writer = Writer(folder, journal, "v", **dict(scene.options))
    scene.act(writer)
    writer.close()


def trace(folder: Path, journal: Path, name: str, seen: Path) -> None:
    """Live through a scene, and note each step as it comes."""
    with seen.open("w") as file:
        watch(str(folder), lambda moment, step: print(step, file=file, flush=True) if moment == "before" else None)
        act(folder, journal, name)


def die(folder: Path, journal: Path, name: str, moment: tuple[str, str] | None, times: int) -> None:
    """Live through a scene until a moment comes for the ``times``-th time."""
    if moment is not None:
        die_at(str(folder), *moment, times)
    act(folder, journal, name)


def _named(name: str) -> Scene:
    return next(scene for scene in SCENES if scene.name == name)
