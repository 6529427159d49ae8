"""One round of the work, all stores in turns: each step goes block by block from store to store."""

from __future__ import annotations

import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from process import GoneError, Process
from work import Work

LATE, LIVE = 40, 20
"""Turns added to the full store, and those among them for which the model runs."""
BUDGETS = (300, 600)
"""Words of results that a prompt has room for."""


class Contender:
    """A store, its folder, its process and what it has shown in this round."""

    def __init__(self, name: str, python: str, place: Path) -> None:
        self.name, self.python, self.place = name, python, place
        self.folder = place
        self.found: dict[str, Any] = {}
        self.persistent = True
        self._process: Process | None = None
        self._last: tuple[str, float] | None = None

    def begin(self, number: int) -> None:
        """Begin a round, in an empty folder; the process goes on, so that its library is not imported again."""
        self.folder = self.place / f"round-{number}" / "".join(c if c.isalnum() else "-" for c in self.name)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.found, self._last = {}, None
        self.start()

    def start(self) -> None:
        """Start a process that imports the store's library, where there is none."""
        if self._process is None:
            self._process, self._last = Process(self.python, self.name, self.place), None

    def open(self) -> dict[str, Any] | None:
        """Open the store in a process of its own, where none has it open; ``None`` where it cannot be."""
        self.start()
        if (answer := self.ask("open", "open", folder=str(self.folder))) is None and self._process is not None:
            self._process.kill()
            self._process = None
        return answer

    def ask(self, step: str, do: str, *, timeout: float = 600, **arguments: Any) -> dict[str, Any] | None:
        """Return the answer, or ``None`` once the store has failed at this step, which is then on record."""
        if self._process is None or self.failed(step):
            return None
        try:
            answer = self._process.ask(do, timeout=timeout, **arguments)
        except GoneError as exc:
            self._process = None
            answer = {"error": str(exc)}
        self._after(step, answer.get("clock"))
        if "cannot" in answer or "error" in answer:
            self.found[step] = self.found.get(step, {}) | {k: v for k, v in answer.items() if k != "clock"}
            return None
        return answer

    def _after(self, step: str, clock: list[float] | None) -> None:
        """Note what the process has done since its last answer, which that answer's step is to blame for."""
        if clock and self._last:
            after = self.found.setdefault("after the answers", {})
            after[self._last[0]] = round(after.get(self._last[0], 0.0) + clock[0] - self._last[1], 6)
        self._last = (step, clock[1]) if clock else None

    def failed(self, step: str) -> bool:
        return bool({"cannot", "error"} & self.found.get(step, {}).keys())

    def count(self, step: str, answer: dict[str, Any]) -> None:
        """Add an answer's seconds to the step's."""
        into = self.found.setdefault(step, {"done": 0, "blocks": []})
        into["done"] += answer["done"]
        keys = ("done", "wall", "cpu", "model_wall", "model_cpu")
        into["blocks"].append([round(answer[key], 6) for key in keys])

    def spent(self, step: str) -> float:
        """Return the CPU seconds that the step has taken, without the model's."""
        return sum(block[2] - block[4] for block in self.found.get(step, {}).get("blocks", ()))

    def close(self, *, stay: bool = False) -> None:
        """Close the store, and end its process unless it is to ``stay``."""
        if told := self.ask("close", "close", timeout=120):
            self.found["texts of its own"] = self.found.get("texts of its own", 0) + told["misses"]
        if self._process is not None and not stay:
            self._process.kill()
            self._process = None


class Round:
    def __init__(self, contenders: list[Contender], work: Work, cap: float, chance: random.Random) -> None:
        self._all, self._work, self._cap, self._chance = contenders, work, cap, chance

    def run(self, kills: int) -> None:
        self._began = time.monotonic()
        for one in self._all:
            if opened := one.open():
                one.persistent = opened["persistent"]
                one.found["about"] = {key: opened[key] for key in ("documentation", "setting", "versions")}
        each = len(self._work.turns) // self._work.users
        self._say("adding")
        self._blocks("add", "add", len(self._work.turns), each)
        for one in self._all:
            had = one.found.get("add", {}).get("done", 0)
            if had < len(self._work.turns) and not one.failed("add"):
                one.ask("fill", "fill", first=had, timeout=1_200)
        self._say("adding to a full store")
        self._blocks("add to a full store", "add", LATE - LIVE, 5, later=True)
        self._blocks("add, embedding included", "add", LIVE, 5, later=True, live=True, start=LATE - LIVE)
        self._say("reopening")
        self._reopen()
        self._say("searching")
        self._blocks("search", "search", len(self._work.questions), 50, keep=self._recall)
        for one in self._all:
            one.ask("prepare", "prepare")
        if kills:
            self._say("killing")
            self._kill(kills)
        self._say("changing and deleting")
        self._blocks("update", "update", len(self._work.changed), 10)
        self._blocks("delete", "delete", self._work.users, 10)
        self._say("reading what is left")
        for one in self._all:
            self._check(one)
            one.close(stay=True)

    def _blocks(
        self,
        step: str,
        do: str,
        count: int,
        size: int,
        *,
        start: int = 0,
        keep: Callable[[Contender, list[Any]], None] | None = None,
        **arguments: Any,
    ) -> None:
        """Let each store do ``count`` of a step in blocks, in turns, until its time is up."""
        found: dict[str, list[Any]] = {}
        for first in range(start, start + count, size):
            for one in self._mixed():
                left = self._cap - one.spent(step)
                if left <= 0:
                    continue
                last = min(first + size, start + count)
                timeout = 300 + 30 * self._cap
                if answer := one.ask(step, do, first=first, last=last, left=left, timeout=timeout, **arguments):
                    one.count(step, answer)
                    found.setdefault(one.name, []).extend(answer.get("found", ()))
        if keep:
            for one in self._all:
                if one.name in found:
                    keep(one, found[one.name])

    def _say(self, step: str) -> None:
        print(f"{time.monotonic() - self._began:6.0f} s: {step}", file=sys.stderr, flush=True)

    def _mixed(self) -> list[Contender]:
        return self._chance.sample(self._all, len(self._all))

    def _reopen(self) -> None:
        """Close, count bytes, and open in a new process, to the first search's answer."""
        for one in self._mixed():
            if not one.persistent:
                one.found["reopen"] = {"cannot": "nothing of it is on disk"}
                continue
            one.close()
            files = [path for path in one.folder.rglob("*") if path.is_file()]
            one.found["bytes"] = sum(path.stat().st_size for path in files)
            if opened := one.open():
                asked = one.ask("first search", "search", first=0, last=1, left=60) or {}
                one.found["reopen"] = {
                    **{key: opened[key] for key in ("import_wall", "import_cpu")},
                    **{key: opened[key] - opened[f"model_{key}"] for key in ("wall", "cpu")},
                    **{f"search_{key}": asked[key] - asked[f"model_{key}"] for key in ("wall", "cpu") if asked},
                }
                seen = one.ask("rows", "rows")
                expected = [turn.row for turn in self._work.turns] + self._late(one)
                if seen:
                    one.found["reopen"] |= _compare(expected, seen["rows"])
            else:
                one.found["reopen"] = one.found.pop("open")

    def _late(self, one: Contender) -> list[str]:
        """Return the later turns that this store has said it has stored."""
        first = one.found.get("add to a full store", {}).get("done", 0)
        live = one.found.get("add, embedding included", {}).get("done", 0)
        later = [turn.row for turn in self._work.later]
        return [*later[:first], *later[LATE - LIVE : LATE - LIVE + live]]

    def _recall(self, one: Contender, found: list[Any]) -> None:
        """Count the share of the evidence within each budget, once for each question; what does not fit is left out."""
        shares: dict[int, dict[tuple[str, str], float]] = {budget: {} for budget in BUDGETS}
        foreign = 0
        for question, hits in zip(self._work.questions, found, strict=False):
            foreign += sum(row.partition(":")[0] != question.user for rows, _ in hits for row in rows)
            for budget in BUDGETS:
                room, seen = budget, set()
                for rows, words in hits:
                    if words <= room:
                        room -= words
                        seen |= set(rows)
                shares[budget][question.user, question.text] = len(seen & set(question.gold)) / len(question.gold)
        one.found["recall"] = {
            "questions": len(shares[BUDGETS[0]]),
            "evidence": {str(budget): sum(some.values()) / len(some) for budget, some in shares.items()},
            "results": sum(map(len, found)) / len(found),
            "results of other users": foreign,
        }

    def _kill(self, rounds: int) -> None:
        """Kill a writer on a copy of the store at a random moment of its third save, and read what is left."""
        for one in self._mixed():
            if not one.persistent:
                one.found["kill"] = [{"outcome": "all rows lost", "why": "nothing of it is on disk"}]
                continue
            if one.failed("add") or one.failed("reopen"):
                continue
            one.found["kill"] = [self._killed(one, number) for number in range(rounds)]

    def _killed(self, one: Contender, number: int) -> dict[str, Any]:
        copy = one.folder.with_name(f"{one.folder.name}-killed")
        shutil.copytree(one.folder, copy)
        stored: list[str] = []
        try:
            writer, reader = (Process(one.python, one.name, one.place) for _ in range(2))  # opened one by one
            try:
                if "error" in (told := writer.ask("open", folder=str(copy), timeout=300)):
                    return {"outcome": "unopenable before the kill", "error": told["error"]}
                writer.send("write", first=LATE)
                usual = 0.0
                while True:
                    event = writer.hear(300)
                    if "stored" in event:
                        stored.append(event["stored"])
                        usual = event["seconds"]
                    elif "saving" in event and len(stored) == 2:
                        time.sleep(self._chance.uniform(0, usual))
                        break
                    elif "error" in event or "clock" in event:
                        return {"outcome": "did not write", **event}
                writer.child.kill()
                stored += [event["stored"] for event in _rest(writer) if "stored" in event]
                told = reader.ask("open", folder=str(copy), timeout=300)
                if "error" not in told:
                    told = reader.ask("rows", timeout=300)
                if "error" in told:
                    return {"outcome": "unopenable", "error": told["error"]}
                asked = reader.ask("search", first=0, last=1, left=60, timeout=300)
                if "error" in asked:
                    return {"outcome": "opens, cannot be searched", "error": asked["error"]}
            finally:
                writer.kill()
                reader.kill()
        except GoneError as exc:
            return {"outcome": "unopenable", "error": str(exc)}
        finally:
            shutil.rmtree(copy)
        told = _compare([turn.row for turn in self._work.turns] + self._late(one) + stored, told["rows"])
        what = "rows lost" if told["lost"] else "rows doubled" if told["doubled"] else "fine"
        return {"outcome": what, **told}

    def _check(self, one: Contender) -> None:
        """See, in another process where anything is on disk, that what was deleted is gone, and changes are there."""
        if one.failed("delete") and one.failed("update"):
            return
        if one.persistent:
            one.close()
            if not one.open():
                one.found["check"] = one.found.pop("open")
                return
        if not (seen := one.ask("check", "rows")):
            return
        rows, gone = set(seen["rows"]), self._work.deleted[: one.found.get("delete", {}).get("done", 0)]
        one.found["check"] = {
            "deleted and still there": sum(row in rows for row in gone),
            "not deleted and gone": len({turn.row for turn in self._work.turns} - set(gone) - rows),
        }
        if read := one.ask("check of texts", "texts"):
            said = {row: text.split() for row, text in read["texts"].items()}
            changed = self._work.changed[: one.found.get("update", {}).get("done", 0)]
            stale = sum(turn.line.split() != said.get(turn.row) for turn in changed)
            one.found["check"]["changed and as before"] = stale


def _rest(process: Process) -> Iterable[dict[str, Any]]:
    while True:
        try:
            yield process.hear(5)
        except GoneError:
            return


def _compare(expected: list[str], rows: list[str]) -> dict[str, Any]:
    found = Counter(rows)
    return {
        "acknowledged": len(expected),
        "lost": sum(row not in found for row in expected),
        "doubled": sum(count > 1 for count in found.values()),
    }
