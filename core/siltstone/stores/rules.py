"""How a store writes, told to each of its users."""

from __future__ import annotations

from dataclasses import dataclass, field

from .decoded import Decoded
from .encryption.cipher import Keys


@dataclass(frozen=True)
class Rules:
    """How a store writes.

    ``root`` is where, ``durable`` whether synced, ``writable`` whether at all; ``lock_timeout`` in seconds;
    ``segment_size`` in bytes; ``history`` is how many earlier versions of an item are kept;
    ``keys`` are the store's; ``decoded`` keeps what its users read lately.
    """

    root: str
    durable: bool
    writable: bool
    lock_timeout: float
    segment_size: int
    history: int
    keys: Keys
    decoded: Decoded = field(default_factory=Decoded)
