"""What a figure was measured on and with, to stand beside it in the results."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from siltstone import __version__


def machine() -> dict[str, Any]:
    """Return the day, the processor, its load of the last minute, and versions."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    model = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())
    return {
        "date": time.strftime("%Y-%m-%d"),
        "cpu": model,
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "faiss-cpu": version("faiss-cpu"),
        "siltstone": __version__,
    }
