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
from pathlib import Path


def main() -> int:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "core")]
    from faults.damage import original
    from faults.harness import Lives
    from faults.table import damage, let_fail

    rng = random.Random(options.seed)
    wrong: list[str] = []
    for encrypted in (False, True):
        print("encrypted" if encrypted else "plain")
        with tempfile.TemporaryDirectory() as name:
            lives = Lives(Path(name), jobs=options.jobs, encrypted=encrypted)
            wrong += let_fail(lives, rng, full=options.full)
            lives.end()
            made = original(Path(name) / "original", bytes(range(32)) if encrypted else None)
            wrong += damage(made, Path(name) / "copy", rng, full=options.full)
    print(f"{len(wrong)} broken")
    for what in wrong:
        print(what)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
