"""A process that writes over a vector store until it is killed: python writing.py ENGINE FOLDER ACKNOWLEDGED."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from items import said, space
from vector_stores import over_vector_store


def main(engine: str, folder: Path, acknowledged: Path) -> None:
    """Add, and now and then forget, noting each write that was acknowledged."""
    note = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    store = over_vector_store(f"{engine}-over-folder", folder)
    if store.fingerprint() is None:
        store.set_fingerprint(space())
    first = len(store.messages("u", "s"))
    for n in range(first, first + 100_000):
        id = f"{os.getpid()}-{n}"
        store.commit("u", [said(id, f"text {n % 50}", seed=n % 50)])
        os.write(note, b"+%b\n" % id.encode())
        if n % 5 == 4:
            store.forget("u", [id])
            os.write(note, b"-%b\n" % id.encode())


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
