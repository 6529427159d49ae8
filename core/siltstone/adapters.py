"""What an adapter of a framework checks when it is made, so that a wrong argument is no surprise in the first chat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import ConfigurationError
from .memory import TieredMemory


def check_memory(memory: Any, adapter: str) -> TieredMemory:
    """Return the memory that an adapter was given; raises ``ConfigurationError`` for anything else, and says how."""
    if isinstance(memory, TieredMemory):
        return memory
    place = memory if isinstance(memory, str) and memory else "./memory"
    raise ConfigurationError(
        f"{adapter} needs an open memory, not {type(memory).__name__}: nothing was changed; pass "
        f"TieredMemory.open({place!r}, user_id=…)"
    )


def check_storing(opened_with: Mapping[str, Any], adapter: str, instead: str) -> None:
    """Raise ``ConfigurationError`` where an adapter that stores what is said gets a memory opened with ``read_only``.

    ``opened_with`` are the arguments of the memory's opening, ``instead`` is what to do.
    """
    if opened_with.get("read_only"):
        raise ConfigurationError(
            f"{adapter} stores what is said, and its memory is opened with read_only=True: nothing was changed; "
            f"{instead}"
        )
