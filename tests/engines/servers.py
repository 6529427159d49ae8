"""Servers of vector stores, of a test's own, and a command that is run beside them.

python servers.py FOLDER COMMAND...      # with Milvus at SILTSTONE_MILVUS and Chroma at SILTSTONE_CHROMA
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path


class EngineServer:
    """A process of ``program`` on a port of its own, with its files in a folder; started when made."""

    program: str
    options: tuple[str, ...]

    def __init__(self, folder: Path) -> None:
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self._folder = folder
        self.start()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        command = [Path(sys.executable).with_name(self.program), *self.options, self._folder]
        address = ["--host", "127.0.0.1", "--port", str(self._port)]
        self._process = subprocess.Popen([*command, *address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            with closing(socket.socket()) as line:
                if line.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.1)
        raise AssertionError(f"{self.program} did not start")

    def kill(self) -> None:
        """End it as a power cut would."""
        self._process.kill()
        self._process.wait()


class MilvusServer(EngineServer):
    """What speaks Milvus's protocol."""

    program = "milvus-lite"
    options = ("server", "--data-dir")


class ChromaServer(EngineServer):
    """Chroma's own server."""

    program = "chroma"
    options = ("run", "--path")


def main(folder: Path, command: list[str]) -> int:
    """Run a command beside the servers; return its exit status."""
    milvus = MilvusServer(folder / "milvus")
    try:
        chroma = ChromaServer(folder / "chroma")
        try:
            there = {"SILTSTONE_MILVUS": milvus.url, "SILTSTONE_CHROMA": chroma.url}
            return subprocess.run(command, env={**os.environ, **there}, check=False).returncode
        finally:
            chroma.kill()
    finally:
        milvus.kill()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
