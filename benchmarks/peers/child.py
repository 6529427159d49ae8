"""One process with one store: reads commands as lines of JSON, answers each with a line.

Each answer has the seconds of wall and CPU that the calls took, and how many of them the embedder took; ``clock`` is
the CPU of the process when the command came and when its answer was ready, from which the asker sees what a store's
threads do after the answer.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from embedder import SharedEmbedder
from stores import STORES, load, versions
from work import Turn, Work

K = 20
"""Results asked for."""


class Server:
    def __init__(self, name: str, place: Path, say: Callable[[Any], None]) -> None:
        self._name, self._say = name, say
        self._work = Work.load(place / "work.json")
        self._by_row = {turn.row: turn for turn in [*self._work.turns, *self._work.later]}
        own = "".join(c if c.isalnum() else "-" for c in name)
        self._embedder = SharedEmbedder(place, own=place / f"own-{own}")
        wall, cpu = time.perf_counter(), time.process_time()
        self._kind = load(name)
        self._imported = {"import_wall": time.perf_counter() - wall, "import_cpu": time.process_time() - cpu}

    def open(self, folder: str) -> dict[str, Any]:
        """Open the store, whose library has been imported at the start of the process."""
        kind = self._kind
        with self._watch() as watched:
            self._store = kind(Path(folder), self._embedder)
        about = {"documentation": kind.documentation, "setting": kind.__doc__, "persistent": kind.persistent}
        has = {"python": platform.python_version(), **versions(STORES[self._name][1])}
        return self._imported | watched | about | {"versions": has}

    def add(self, first: int, last: int, left: float, *, later: bool = False, live: bool = False) -> dict[str, Any]:
        turns = (self._work.later if later else self._work.turns)[first:last]
        self._embedder.live = live
        if live:
            self._embedder.warm()
        try:
            return self._each(turns, self._store.add, left)
        finally:
            self._embedder.live = False

    def fill(self, first: int) -> dict[str, Any]:
        self._store.fill(self._work.turns[first:])
        return {}

    def search(self, first: int, last: int, left: float) -> dict[str, Any]:
        found: list[Any] = []

        def ask(question: Any) -> None:
            found.append(self._store.search(question.user, question.text, K))

        return self._each(self._work.questions[first:last], ask, left) | {
            "found": [[(rows, len(text.split())) for rows, text in one] for one in found]
        }

    def prepare(self) -> dict[str, Any]:
        self._store.prepare([*self._work.changed, *(self._by_row[row] for row in self._work.deleted)])
        return {}

    def update(self, first: int, last: int, left: float) -> dict[str, Any]:
        return self._each(self._work.changed[first:last], self._store.update, left)

    def delete(self, first: int, last: int, left: float) -> dict[str, Any]:
        """Delete the rows of the users ``first`` to ``last``, a call for each user; counts the rows."""
        of: dict[str, list[Turn]] = {}
        for row in self._work.deleted:
            turn = self._by_row[row]
            of.setdefault(turn.user, []).append(turn)
        some = list(of.values())[first:last]
        told = self._each(some, self._store.delete, left)
        return told | {"done": sum(map(len, some[: told["done"]]))}

    def rows(self) -> dict[str, Any]:
        return {"rows": self._store.rows()}

    def texts(self) -> dict[str, Any]:
        return {"texts": self._store.texts()}

    def write(self, first: int) -> dict[str, Any]:
        """Add turns until killed, saying before and after each."""
        for turn in self._work.later[first:]:
            self._say({"saving": turn.row})
            began = time.perf_counter()
            self._store.add(turn)
            self._say({"stored": turn.row, "seconds": time.perf_counter() - began})
        return {}

    def close(self) -> dict[str, Any]:
        self._store.close()
        self._embedder.keep()
        return {"misses": self._embedder.misses}

    def _each(self, things: Iterable[Any], do: Callable[[Any], object], left: float) -> dict[str, Any]:
        """Do it until ``left`` seconds of the store's own CPU time are gone; the model's do not count."""
        done, embedder = 0, self._embedder
        end = time.process_time() - embedder.cpu + left
        with self._watch() as watched:
            for thing in things:
                do(thing)
                done += 1
                if time.process_time() - embedder.cpu > end:
                    break
        return {"done": done, **watched}

    @contextmanager
    def _watch(self) -> Iterator[dict[str, Any]]:
        embedder, found = self._embedder, {}
        model = embedder.wall, embedder.cpu
        wall, cpu = time.perf_counter(), time.process_time()
        yield found
        found |= {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        found |= {"model_wall": embedder.wall - model[0], "model_cpu": embedder.cpu - model[1]}


def main(name: str, place: str) -> None:
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print is not an answer
    server = Server(name, Path(place), lambda value: print(json.dumps(value), file=out, flush=True))
    for line in sys.stdin:
        began = time.process_time()
        command = json.loads(line)
        try:
            answer = getattr(server, command.pop("do"))(**command)
        except Exception as exc:  # whatever a store raises is what its user would see
            kind = "cannot" if type(exc).__name__ == "CannotError" else "error"
            text = str(exc) if kind == "cannot" else f"{type(exc).__name__}: {exc}"
            answer = {kind: text[:300]}
        text = json.dumps(answer)
        print(f'{{"answer": {text}, "clock": [{began}, {time.process_time()}]}}', file=out, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.modules["child"] = sys.modules["__main__"]
    main(*sys.argv[1:])
