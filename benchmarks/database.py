"""A PostgreSQL server to measure on, what its processes take, and where the figures go."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg
from machine import machine


def parser(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser of what every measurement of a server is told."""
    found = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--url", help="an empty database, as a superuser; its tables are filled")
    found.add_argument("--json", type=Path, metavar="FILE", help="where the figures go, too")
    return found


@contextmanager
def recording(path: Path | None) -> Iterator[dict[str, Any]]:
    """Give figures that begin with what they are measured on, and write them after the block, where a file is named."""
    figures: dict[str, Any] = {"machine": machine() | {"psycopg": psycopg.__version__}}
    yield figures
    figures["machine"]["load_after"] = os.getloadavg()[0]
    if path is not None:
        path.write_text(json.dumps(figures, indent=1) + "\n")


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


def server_seconds(url: str) -> float:
    """Return the CPU seconds of the server's processes, autovacuum's too; nan for one on another machine."""
    with psycopg.connect(url) as connection:
        ((backend,),) = connection.execute("SELECT pg_backend_pid()").fetchall()
        try:
            first = psutil.Process(backend).parent()
        except psutil.NoSuchProcess:
            return float("nan")
        assert first is not None
        times = []
        for child in first.children():
            with suppress(psutil.NoSuchProcess):  # autovacuum's come and go
                times.append(child.cpu_times())
        ended = first.cpu_times()
    return ended.children_user + ended.children_system + sum(spent.user + spent.system for spent in times)
