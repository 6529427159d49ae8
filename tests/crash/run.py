"""Kill writers of a store at every named step and at random moments, and check each time that nothing is lost.

    python tests/crash/run.py --kills 500

Prints a table, and fails if a promise was broken or a named step was not hit.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path


def main() -> int:
    """Run the harness from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "core")]
    from crash.harness import Harness
    from crash.scenes import SCENES
    from crash.steps import NAMED

    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        tally = Harness(Path(folder), seed=options.seed).run(options.kills)
    print(f"{'scene':42} {'steps':>6} {'kills at steps':>15} {'at random':>10}")
    for scene in SCENES:
        named = Counter({moment: n for (of, moment), n in tally.named.items() if of is scene})
        print(f"{scene.name:42} {len(named):6} {named.total():15} {tally.at_random[scene]:10}")
    steps = {step for _, (_, step) in tally.named}
    print(
        f"{tally.kills} kills in {time.monotonic() - began:.0f} s, and {tally.beside} of writers beside; "
        f"{len(steps)} of {len(NAMED)} named steps, before and after; {len(tally.broken)} broken"
    )
    for what in tally.broken:
        print(what)
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main())
