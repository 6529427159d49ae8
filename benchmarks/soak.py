"""Ten hours of use in twenty minutes of load: do memory, descriptors, threads, files or latency grow?

    python benchmarks/soak.py [--minutes 20] [--warm-up 8] [--users 4] [--capacity 800] [--json FILE]
    python benchmarks/soak.py --plot soak.png --json FILE      # a picture of an earlier run

Users talk at once, a thread each, in one process and one folder, by a clock that runs 30 times as fast. Each step adds
a question with its answer and searches; every second asks for a context; now and then a fact is remembered, changed and
forgotten, a session forgotten as a whole, what is due consolidated. Every five seconds this process opens the store
once more and closes it; every twenty another process opens it, writes, reads and closes it; every minute dead weight is
taken out of the files. Texts repeat, and each user may have only ``--capacity`` records: once they are full, what is
remembered grows no more, and whatever else does is a leak. Caches of words, which keep a number of them, are full from
the beginning. Vectors are those of ``HashEmbedder``: no figure holds a
model's time.

Each minute is one sample. After the warm-up a line is fitted through each series (Theil and Sen: the median of all
slopes between two samples, with Kendall's 95% interval). A series *grew* where that interval lies above zero and the
line rises by more than 2% of the median. ``yardstick`` is the CPU time of a fixed piece of Python, which tells what the
machine's other work does to the figures of CPU.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
from machine import machine
from year.life import DAYS, Life, talk

from siltstone import Settings, TieredMemory
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter
from siltstone.text.tokenize import terms
from siltstone.upkeep import compact

START = datetime(2024, 1, 1, 8, tzinfo=timezone.utc)
SPEED = 30
SESSION = 50
"""Steps of a session, of two turns each."""
PACE = 0.5
"""Seconds between two steps of a user."""
QUESTIONS = ("Where do I live?", "What am I allergic to?", "我现在在哪里工作？", "What is my dog called?", "Any plans?")


class FastClock(FrozenClock):
    """A clock that shows ``SPEED`` seconds for each that passes."""

    def __init__(self, now: datetime = START) -> None:
        super().__init__(now)
        self._seen = time.monotonic()
        self._lock = threading.Lock()

    def now(self) -> datetime:
        with self._lock:
            seen, self._seen = self._seen, time.monotonic()
            return self.advance(seconds=SPEED * (self._seen - seen))


@dataclass
class Timed:
    """What each verb took since the last sample, in ms of the clock and of the calling thread's CPU."""

    spent: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def verb(self, name: str) -> Iterator[None]:
        wall, cpu = time.perf_counter(), time.thread_time()
        yield
        took = (1000 * (time.perf_counter() - wall), 1000 * (time.thread_time() - cpu))
        with self.lock:
            self.spent[name].append(took)

    def taken(self) -> dict[str, dict[str, float]]:
        """Return count, medians and 99th percentiles by verb, and begin anew."""
        with self.lock:
            spent, self.spent = self.spent, defaultdict(list)
        found = {}
        for name, took in sorted(spent.items()):
            (wall, cpu), (wall99, cpu99) = np.percentile(np.array(took), [50, 99], axis=0).round(3).tolist()
            found[name] = {"n": len(took), "wall_p50": wall, "wall_p99": wall99, "cpu_p50": cpu, "cpu_p99": cpu99}
        return found


def opened(folder: Path, clock: FrozenClock, capacity: int, user_id: str) -> TieredMemory:
    # silences are short enough that every kind of consolidation takes place within the warm-up
    settings = Settings(capacity_records=capacity, span_idle=600, session_idle=1800)
    return TieredMemory.open(
        folder,
        user_id=user_id,
        embedder=HashEmbedder(64),
        token_counter=WordCounter(),
        clock=clock,
        settings=settings,
    )


class User:
    """One who talks, asks, changes and forgets, a step at a time."""

    def __init__(self, memory: TieredMemory, timed: Timed, seed: int) -> None:
        self.memory, self.timed = memory, timed
        self.life, self.dice = Life.load("near"), random.Random(seed)
        self.turns: deque[tuple[str, str]] = deque()
        self.facts: deque[str] = deque()
        self.steps = 0

    def step(self) -> None:
        memory, verb, number = self.memory, self.timed.verb, self.steps
        session, within = divmod(number, SESSION)
        if not self.turns:
            self.turns.extend(talk(self.life, session % DAYS, 2 * SESSION, self.dice))
        exchange = [self.turns.popleft(), self.turns.popleft()]
        with verb("add"):
            memory.add(exchange, session_id=f"session {session}")
        with verb("search"):
            memory.search(f"{exchange[0][1]} {self.dice.choice(QUESTIONS)}")
        if number % 2:
            with verb("context"):
                memory.context(self.dice.choice(QUESTIONS), session_id=f"session {session}", max_tokens=1000)
        if number % 10 == 3:
            with verb("remember"):
                self.facts.append(memory.remember(f"The code of the locker is {self.dice.randrange(1000)}."))
        if number % 10 == 6:
            with verb("update"):
                memory.update(self.facts[-1], text=f"The code of the locker is now {self.dice.randrange(1000)}.")
        if len(self.facts) > 3:
            with verb("forget"):
                memory.forget(ids=self.facts.popleft())
        if within == 30 and session % 4 == 2:
            with verb("forget a session"):
                memory.forget(session_id=f"session {session - 2}")
        if within % 25 == 20:
            with verb("consolidate"):
                memory.consolidate()
        self.steps += 1

    def live(self, stop: threading.Event) -> None:
        due = time.monotonic()
        while not stop.wait(max(0.0, due - time.monotonic())):
            self.step()
            due = max(due + PACE, time.monotonic())


def visit(folder: Path, now: str, capacity: int) -> None:
    """Be the other process: open, read, write, and tell what that took."""
    timed = Timed()
    with timed.verb("open elsewhere"):
        memory = opened(folder, FrozenClock(now), capacity, "user 0")
        memory.sessions()
    with timed.verb("context elsewhere"):
        memory.context(QUESTIONS[0], max_tokens=1000)
    with timed.verb("remember elsewhere"):
        id = memory.remember("The locker is open.", ttl=3600)
    memory.forget(ids=id)
    memory.close()
    print(json.dumps(timed.spent))


def rollup() -> dict[str, float]:
    """Return what the kernel says of this process's memory, in MB."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
    held = {name: int(rest.split()[0]) / 1024 for name, rest in (line.split(":", 1) for line in lines)}
    return {
        "rss_mb": round(held["Rss"], 2),
        "pss_mb": round(held["Pss"], 2),
        "private_mb": round(held["Private_Dirty"] + held["Private_Clean"], 2),
        "anonymous_mb": round(held["Anonymous"], 2),
    }


def fill_caches() -> None:
    """Meet more words than the caches of words keep: that they fill up is no growth."""
    words = [f"word{number}" for number in range(70_000)]
    terms(" ".join(words))
    HashEmbedder(64).embed_documents(words[:20_000])


def yardstick() -> float:
    began = time.thread_time()
    sum(int(str(number)[::-1]) for number in range(10_000))
    return 1000 * (time.thread_time() - began)


def disk_mb(folder: Path) -> float:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size
            except FileNotFoundError:  # rewritten meanwhile
                continue
    return round(total / 1e6, 3)


def soak(folder: Path, minutes: float, users: int, capacity: int) -> list[dict[str, Any]]:
    """Keep the load up; return one sample a minute."""
    clock, timed, stop, samples = FastClock(), Timed(), threading.Event(), []
    failed: list[BaseException] = []
    fill_caches()
    with opened(folder, clock, capacity, "user 0") as memory:
        people = [User(memory.for_user(f"user {n}"), timed, n) for n in range(users)]

        def live(user: User) -> None:
            try:
                user.live(stop)
            except BaseException as exc:
                failed.append(exc)
                stop.set()

        threads = [threading.Thread(target=live, args=(user,), name=f"soak {n}") for n, user in enumerate(people)]
        for thread in threads:
            thread.start()
        began, sticks, cpu, steps = time.monotonic(), [], time.process_time(), 0
        beat = 0
        try:
            while time.monotonic() - began < 60 * minutes and not failed:
                beat += 1
                stop.wait(max(0.0, began + 5 * beat - time.monotonic()))
                sticks.append(yardstick())
                with timed.verb("open again and close"):
                    opened(folder, clock, capacity, "user 1").close()
                if beat % 4 == 0:
                    other = [sys.executable, __file__, "--visit", str(folder), clock.now().isoformat(), str(capacity)]
                    told = json.loads(subprocess.run(other, check=True, stdout=subprocess.PIPE, text=True).stdout)
                    with timed.lock:
                        for name, took in told.items():
                            timed.spent[name] += map(tuple, took)
                if beat % 12 == 0:
                    done, used = sum(user.steps for user in people), time.process_time()
                    with timed.verb("compact all users"):
                        compact(folder)
                    gc.collect()  # what waits for the collector is no leak
                    stats = [user.memory.stats() for user in people]
                    samples.append(
                        {
                            "minute": beat // 12,
                            "load": round(os.getloadavg()[0], 1),
                            "steps": done - steps,
                            "cpu_ms_a_step": round(1000 * (used - cpu) / max(done - steps, 1), 2),
                            **rollup(),
                            "descriptors": len(os.listdir("/proc/self/fd")),
                            "threads": len(os.listdir("/proc/self/task")),
                            "objects": len(gc.get_objects()),
                            "disk_mb": disk_mb(folder),
                            "records": sum(one.records for one in stats),
                            "messages": sum(one.messages for one in stats),
                            "yardstick_ms": round(float(np.median(sticks)), 3),
                            "verbs": timed.taken(),
                        }
                    )
                    print(json.dumps(samples[-1]), flush=True)
                    sticks, cpu, steps = [], used, done
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    if failed:
        raise failed[0]
    return samples


@dataclass(frozen=True)
class Trend:
    """A line through a series: its middle, and its slope an hour of load with a 95% interval."""

    median: float
    an_hour: float
    low: float
    high: float
    grew: bool


def trend(minutes: list[int], values: list[float]) -> Trend:
    """Fit a line by Theil and Sen; the interval's ends are slopes, too, chosen by Kendall's statistic (Sen 1968)."""
    x, y = np.array(minutes, float), np.array(values, float)
    first, second = np.triu_indices(len(x), 1)
    slopes = np.sort((y[second] - y[first]) / (x[second] - x[first]))
    n = len(x)
    reach = 1.96 * np.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    low = slopes[max(0, int((len(slopes) - reach) / 2))]
    high = slopes[min(len(slopes) - 1, int(np.ceil((len(slopes) + reach) / 2)))]
    slope, middle = float(np.median(slopes)), float(np.median(y))
    grew = bool(low > 0 and slope * (x[-1] - x[0]) > 0.02 * abs(middle))
    return Trend(round(middle, 3), *(round(60 * float(one), 4) for one in (slope, low, high)), grew)


def trends(samples: list[dict[str, Any]], warm_up: int) -> dict[str, Trend]:
    """Return the trend of each series after the warm-up."""
    kept = [sample for sample in samples if sample["minute"] > warm_up]
    series = {
        name: [sample[name] for sample in kept] for name in kept[0] if name not in ("minute", "load", "verbs", "steps")
    }
    for verb in sorted({verb for sample in kept for verb in sample["verbs"]}):
        for part in ("cpu_p50", "cpu_p99", "wall_p50", "wall_p99"):
            series[f"{verb}, {part}"] = [sample["verbs"].get(verb, {}).get(part, np.nan) for sample in kept]
    found = {}
    for name, values in series.items():
        there = [(sample["minute"], value) for sample, value in zip(kept, values, strict=True) if value == value]
        if len(there) > 3:
            found[name] = trend([minute for minute, _ in there], [value for _, value in there])
    return found


def show(found: dict[str, Trend]) -> None:
    print("series: median, slope an hour of load (95%)")
    for name, one in found.items():
        print(f"{name:32} {one.median:12.3f} {one.an_hour:+12.3f} ({one.low:+.3f} to {one.high:+.3f})", end="")
        print("  GREW" if one.grew else "")
    grew = [name for name, one in found.items() if one.grew]
    print("\nGrew after the warm-up:", "; ".join(grew) or "nothing")


def draw(samples: list[dict[str, Any]], path: Path) -> None:
    """Write memory, descriptors and threads, what is stored, and CPU by verb as one picture."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 2.6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 4)
    place = [sample["minute"] for sample in samples]
    lines = {
        "memory, MB": {name: [s[f"{name}_mb"] for s in samples] for name in ("rss", "pss", "private")},
        "descriptors, threads": {name: [s[name] for s in samples] for name in ("descriptors", "threads")},
        "stored, MB": {"files": [s["disk_mb"] for s in samples]},
        "CPU, ms (median)": {
            verb: [s["verbs"].get(verb, {}).get("cpu_p50", np.nan) for s in samples]
            for verb in ("add", "search", "context", "update", "forget", "remember")
        },
    }
    for axes, (title, drawn) in zip(panels, lines.items(), strict=True):
        for name, values in drawn.items():
            axes.plot(place, values, label=name)
        axes.set_title(title, fontsize="small")
        axes.set_xlabel("minute")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize="x-small")
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--warm-up", type=int, default=8, help="minutes that no line is fitted through")
    parser.add_argument("--users", type=int, default=4)
    parser.add_argument("--capacity", type=int, default=800, help="how many records a user may have")
    parser.add_argument("--work", type=Path, help="where the store's temporary folder is made")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, or read them for --plot")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the figures of an earlier run")
    parser.add_argument("--visit", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.visit:
        folder, now, capacity = chosen.visit
        visit(Path(folder), now, int(capacity))
        return
    if chosen.plot:
        draw(json.loads(chosen.json.read_text(encoding="utf-8"))["samples"], chosen.plot)
        return
    with tempfile.TemporaryDirectory(dir=chosen.work) as folder:
        samples = soak(Path(folder, "memory"), chosen.minutes, chosen.users, chosen.capacity)
    found = trends(samples, chosen.warm_up)
    show(found)
    if chosen.json:
        result = {
            "minutes": chosen.minutes,
            "warm_up": chosen.warm_up,
            "users": chosen.users,
            "capacity": chosen.capacity,
            "speed": SPEED,
            "machine": machine(),
            "trends": {name: vars(one) for name, one in found.items()},
            "samples": samples,
        }
        chosen.json.write_text(json.dumps(result, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
