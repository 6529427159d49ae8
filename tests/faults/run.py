"""Let system calls of a store fail, and damage its files, and check that no answer is ever wrong.

    python tests/faults/run.py            a sample
    python tests/faults/run.py --full     each call in each way; 4,000 flipped bits and 500 zeroed sectors of each size

Needs Linux and a C compiler. Prints a table, and fails if a promise was broken.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path


def main() -> int:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "core")]
    from faults.damage import broken, flips, original, sectors
    from faults.harness import WAYS, Lives, every, sample

    rng = random.Random(options.seed)
    wrong: list[str] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        lives = Lives(Path(name), jobs=options.jobs)
        calls = lives.calls()
        faults = every(calls) if options.full else sample(calls, 200, rng)
        met: Counter[tuple[str, str]] = Counter()
        for fault, outcome in lives.through(faults):
            met[outcome.hit, fault.way] += 1
            if outcome.broken:
                wrong.append(f"{fault} ({outcome.hit}): {outcome.broken}")
        lives.end()
        ways = [fault.way for fault in faults[: len(WAYS)]]
        print(f"{len(calls)} system calls in a life, {len(faults)} faults in {time.monotonic() - began:.0f} s")
        print(f"{'call':10} {'in a life':>9} " + " ".join(f"{way:>19}" for way in sorted(set(ways))))
        for call, count in Counter(calls).most_common():
            print(f"{call:10} {count:9} " + " ".join(f"{met[call, way]:19}" for way in sorted(set(ways))))
        began = time.monotonic()
        made = original(Path(name) / "original")
        bits, zeroed = (4_000, 500) if options.full else (200, 50)
        damages = [*flips(made, bits, rng)]
        damages += [damage for size in (512, 4_096) for damage in sectors(made, size, zeroed, rng)]
        for n, damage in enumerate(damages):
            what = broken(made, damage, Path(name) / "copy", read_only=n % 2 == 1)
            wrong += [what] if what else []
        seconds = time.monotonic() - began
        print(f"{bits} flipped bits, {zeroed} zeroed sectors of 512 and of 4,096 bytes, in {seconds:.0f} s")
    print(f"{len(wrong)} broken")
    for what in wrong:
        print(what)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
