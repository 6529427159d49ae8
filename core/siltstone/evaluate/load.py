"""Which data set a path holds, told by looking inside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import NotFoundError
from . import custom, locomo, madial, memorybank
from .cases import Benchmark


def load(path: str | Path) -> Benchmark:
    """Read LoCoMo (a JSON list), MADial (a JSON object with ``memories``), MemoryBank (its folder), or JSON Lines.

    Raises ``NotFoundError`` and ``InvalidInputError``, as the readers of each do.
    """
    path = Path(path)
    if path.is_dir():
        return memorybank.load(path)
    value = _whole(path)
    if isinstance(value, list):
        return locomo.load(path)
    if isinstance(value, dict) and "memories" in value:
        return madial.load(path)
    return custom.load(path)


def _whole(path: Path) -> Any:
    """Return the file's JSON, or ``None`` where it is not one document."""
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as exc:
        raise NotFoundError(f"{path} cannot be read: {exc.strerror}") from exc
    except ValueError:
        return None
