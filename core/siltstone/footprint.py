"""How much memory this process takes, of the machine and of a GPU; nothing is imported for it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Final

_STATM: Final = "/proc/self/statm"


def resident() -> int:
    """Return the bytes of this process that are in memory; where nobody tells, the most that there ever were."""
    try:
        with open(_STATM, encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # not Linux
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def gpu() -> Mapping[str, int]:
    """Return the bytes that this process has taken of its GPU, and those of the GPU in all; nothing without one.

    Only PyTorch is asked, and only where it is loaded already: no other library of siltstone's uses a GPU.
    """
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return {}
    _, total = torch.cuda.mem_get_info()
    return {"gpu": int(torch.cuda.memory_reserved()), "gpu_total": int(total)}
