"""The log of the service: a JSON object a line. It tells what was raised and where, never in which words."""

from __future__ import annotations

import logging
import sys
import traceback
from datetime import datetime, timezone
from types import TracebackType
from typing import Any, Final

import orjson

_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}


class JsonLines(logging.Formatter):
    """Formats each record as a JSON object: time, level, logger, message, and what was noted beside it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in _OWN}
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            line["where"] = where(record.exc_info[2])
        return orjson.dumps(line, default=str).decode()


def where(raised: TracebackType | None) -> list[str]:
    """Return the places that an error came through, the innermost last."""
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(raised)]


def log_to_stderr(level: str) -> None:
    """Have the process log to stderr, as ``JsonLines``."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for noisy in ("httpx", "httpcore"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
