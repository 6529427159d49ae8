"""Kills writers of a store at every named step and at random moments, and checks each time that nothing is lost.

Each round begins with a fresh store, lets three writers work on one user and one on another, kills one of them at
its moment and then the others, and checks the store.
"""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from writers import PROCESSES

from .check import Broken, check
from .scenes import SCENES, USER, Scene, begin, die, trace
from .steps import NAMED
from .writer import wander

_BESIDE = {"a": USER, "b": USER, "c": "other"}
"""Writers beside the one that dies at its step, and the users that they write to."""
_KILLED = -9
_LONG_ENOUGH = 60.0
"""Seconds in which any life is over; what takes longer hangs."""


Moment = tuple[str, str]
"""``before`` or ``after``, and a named step."""


@dataclass
class Tally:
    """What a run did, and what did not hold."""

    named: Counter[tuple[Scene, Moment]] = field(default_factory=Counter)
    at_random: Counter[Scene] = field(default_factory=Counter)
    beside: int = 0
    broken: list[str] = field(default_factory=list)

    @property
    def kills(self) -> int:
        """Writers killed in the middle of a scene, those beside them not counted."""
        return self.named.total() + self.at_random.total()


class Harness:
    """Runs scenes in folders below ``folder``, which is empty; in a share of the rounds others are at work, too."""

    def __init__(self, folder: Path, *, seed: int = 0, crowded: float = 1.0) -> None:
        self._folder, self._rng, self._rounds, self._crowded = folder, random.Random(seed), 0, crowded
        self.tally = Tally()
        self._steps = {scene: self._trace(scene) for scene in SCENES}

    def run(self, kills: int) -> Tally:
        """Kill ``kills`` times or more: before and after every named step, in every scene where that suffices.

        A fifth of the kills are at random moments. Raises ``Broken`` for a named step that does not exist, and for
        one that has no name.
        """
        seen = {step for steps in self._steps.values() for step in steps}
        if seen != NAMED:
            raise Broken(f"steps without a name: {sorted(seen - NAMED)}; never hit: {sorted(NAMED - seen)}")
        for scene, moment in self._moments(kills):
            self._round(scene, moment)
        most = max(kills, self.tally.kills + kills // 5)
        while self.tally.kills < most and not self.tally.broken:
            self._round(self._rng.choice(SCENES), None)
        for when, step in self._missed():  # another writer, or the cache's thread, took the step just then
            self._round(next(scene for scene in SCENES if self._steps[scene][step]), (when, step), first=True)
        if self._missed():
            self.tally.broken.append(f"never killed {self._missed()}")
        return self.tally

    def _missed(self) -> list[Moment]:
        """Return the moments at which no writer has been killed."""
        hit = {moment for _, moment in self.tally.named}
        return sorted({(when, step) for when in ("before", "after") for step in NAMED} - hit)

    def _moments(self, kills: int) -> list[tuple[Scene, Moment]]:
        every = [(s, (when, step)) for s in SCENES for step in self._steps[s] for when in ("before", "after")]
        self._rng.shuffle(every)
        return every if len(every) <= kills else list({moment: (scene, moment) for scene, moment in every}.values())

    def _trace(self, scene: Scene) -> Counter[str]:
        """Live through a scene undisturbed, and return how often each step came."""
        folder, journal = self._begun(scene)
        seen = folder.parent / "steps"
        process = PROCESSES.Process(target=trace, args=(folder, journal, scene.name, seen))
        process.start()
        process.join()
        if process.exitcode:
            raise Broken(f"{scene.name}: undisturbed, it failed")
        self._check(scene, folder, [journal])
        return Counter(seen.read_text().splitlines())

    def _round(self, scene: Scene, moment: Moment | None, *, first: bool = False) -> None:
        """Kill once, and check; a step that did not come because another writer took it is tried for again."""
        crowded = not scene.alone and (moment is None or self._rng.random() < self._crowded)
        for beside in (_BESIDE if crowded else {}, {}):
            folder, journal = self._begun(scene)
            others = [self._start(folder, name, user, scene.key) for name, user in beside.items()]
            times = 1 if moment is None or first else self._rng.randint(1, self._steps[scene][moment[1]])
            victim = PROCESSES.Process(target=die, args=(folder, journal, scene.name, moment, times))
            victim.start()
            if moment is None:
                victim.join(self._rng.random() * 0.15)
                victim.kill()
            victim.join(_LONG_ENOUGH)
            killed = victim.exitcode == _KILLED
            for other in self._rng.sample(others, len(others)):
                time.sleep(self._rng.random() * 0.01)
                other.kill()
                other.join()
                self.tally.beside += 1
            what = f"{scene.name}, killed {' '.join(moment) if moment else 'at random'} ({times}), round {self._rounds}"
            if any(process.exitcode != _KILLED for process in others) or victim.exitcode not in (0, _KILLED):
                self.tally.broken.append(f"{what}: a writer failed, or hung")
                victim.kill()
            try:
                self._check(scene, folder, [journal, *(folder.parent / name for name in beside)])
            except Exception as exc:
                self.tally.broken.append(f"{what}: {type(exc).__name__}: {exc}; see {folder}")
            else:
                shutil.rmtree(folder.parent)
            if killed and moment is None:
                self.tally.at_random[scene] += 1
            elif killed and moment is not None:
                self.tally.named[scene, moment] += 1
            if killed:
                return

    @staticmethod
    def _check(scene: Scene, folder: Path, journals: list[Path]) -> None:
        if scene.settle is not None:
            scene.settle(folder)
        check(folder, journals, scene.key_now(folder))

    def _begun(self, scene: Scene) -> tuple[Path, Path]:
        """Return the store that a scene begins with, in a folder of its own, and its journal."""
        self._rounds += 1
        place, template = self._folder / str(self._rounds), self._folder / f"begin {scene.name}"
        if not template.exists():
            template.mkdir()
            (template / "v").touch()
            if scene.begin is not None:
                process = PROCESSES.Process(target=begin, args=(template / "store", template / "v", scene.name))
                process.start()
                process.join()
                if process.exitcode != (_KILLED if scene.dies else 0):
                    raise Broken(f"{scene.name}: its beginning ended with {process.exitcode}")
            if scene.dies:
                with (template / "v").open("a") as journal:
                    journal.write("done\n")  # it had gone so far that there is no way back
        shutil.copytree(template, place)
        return place / "store", place / "v"

    def _start(self, folder: Path, name: str, user: str, key: bytes | None) -> ForkServerProcess:
        """Set another writer to work."""
        args = (folder, folder.parent / name, name, user, self._rng.randrange(1 << 30), key)
        process = PROCESSES.Process(target=wander, args=args, daemon=True)
        process.start()
        return process
