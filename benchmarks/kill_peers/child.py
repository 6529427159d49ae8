"""One process of the kill test: ``fill``, ``write`` until it is killed, or ``read`` what is there."""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

from stores import PEERS, say, versions


def main(command: str, name: str, folder: str, first: int, count: int) -> None:
    peer = PEERS[name]
    if command == "versions":
        say(versions(peer))
        return
    store = peer(Path(folder))
    if command == "fill":
        store.fill([str(n) for n in range(count)])
    elif command == "read":
        say(store.ids())
    else:
        for n in range(first, first + count):
            say({"saving": n})
            began = time.perf_counter()
            store.add(str(n))
            say({"stored": n, "seconds": time.perf_counter() - began})


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
