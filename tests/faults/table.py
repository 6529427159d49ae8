"""Both kinds of harm, done to one store and printed as tables."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

from .damage import Original, broken, flips, sectors
from .harness import Lives, every, sample


def let_fail(lives: Lives, rng: random.Random, *, full: bool) -> list[str]:
    """Let system calls fail, a sample or with ``full`` each in each way; return what was broken."""
    began = time.monotonic()
    calls = lives.calls()
    faults = every(calls) if full else sample(calls, 200, rng)
    met: Counter[tuple[str, str]] = Counter()
    wrong = []
    for fault, outcome in lives.through(faults):
        met[outcome.hit, fault.way] += 1
        if outcome.broken:
            wrong.append(f"{fault} ({outcome.hit}): {outcome.broken}")
    ways = sorted({fault.way for fault in faults})
    counted = Counter(call for names in calls for call in names)
    print(f"{counted.total()} system calls in a life, {len(faults)} faults in {time.monotonic() - began:.0f} s")
    print(f"{'call':10} {'in a life':>9} " + " ".join(f"{way:>19}" for way in ways))
    for call, count in counted.most_common():
        print(f"{call:10} {count:9} " + " ".join(f"{met[call, way]:19}" for way in ways))
    return wrong


def damage(made: Original, place: Path, rng: random.Random, *, full: bool) -> list[str]:
    """Damage copies of a store at ``place``, and use them; return what was broken."""
    began = time.monotonic()
    bits, zeroed = (4_000, 500) if full else (200, 50)
    damages = [*flips(made, bits, rng)]
    damages += [each for size in (512, 4_096) for each in sectors(made, size, zeroed, rng)]
    found = [broken(made, each, place, read_only=n % 2 == 1) for n, each in enumerate(damages)]
    seconds = time.monotonic() - began
    print(f"{bits} flipped bits, {zeroed} zeroed sectors of 512 and of 4,096 bytes, in {seconds:.0f} s")
    return [what for what in found if what]
