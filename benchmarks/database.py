"""A PostgreSQL server to measure on."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def server(url: str | None) -> Iterator[str]:
    """Give the URL of a server: the one named, or one that runs as long as the block."""
    if url is not None:
        yield url
        return
    with tempfile.TemporaryDirectory(prefix="siltstone-") as folder:
        os.environ.setdefault("XDG_RUNTIME_DIR", folder)
        import pgserver

        running = pgserver.get_server(Path(folder, "data"), cleanup_mode="stop")
        try:
            yield str(running.get_uri())
        finally:
            running.cleanup()
