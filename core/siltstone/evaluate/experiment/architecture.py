"""The contract of the architectures that are compared, and what each is given to work with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ...protocols import TokenCounter
from ...records import Message
from .compressor import Compressor
from .effort import CountedEmbedder, Effort


@dataclass(frozen=True)
class Tools:
    """What an architecture works with: the same for all of them, and counted for each alone.

    ``embedder`` makes vectors, ``compressor`` summaries, ``counter`` counts tokens; ``effort`` is what was spent.
    """

    embedder: CountedEmbedder
    compressor: Compressor
    counter: TokenCounter
    effort: Effort


class Architecture(ABC):
    """A memory of many users in one folder, opened anew by making another one over the same folder.

    The folder need not be there yet. What ``add`` has returned from is on disk. Nothing of one user is in another one's
    context. ``docs/experiment`` has an example.
    """

    def __init__(self, folder: Path, tools: Tools) -> None:
        self.folder = folder
        self.tools = tools

    @abstractmethod
    def add(self, user_id: str, messages: Sequence[Message], *, session_id: str) -> None:
        """Store one conversation. Every message has a time; none has an id."""

    def note(self, user_id: str, text: str, *, kind: str, time: datetime, number: int) -> None:
        """Store a note, the ``number``-th of this user: as a conversation of one message, unless there is a better way.

        ``kind`` is one of ``records.KINDS``.
        """
        self.add(user_id, [Message("user", text, created_at=time)], session_id=f"note {number}")

    @abstractmethod
    def context(self, user_id: str, question: str, *, max_tokens: int, now: datetime) -> str:
        """Return what goes into the prompt beside the question, of at most ``max_tokens`` tokens by the counter."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the folder."""


@dataclass(frozen=True)
class Design:
    """An architecture with its parameters chosen: one of a family, of which the best is shown.

    ``growing`` says that it has no budget but the window: it injects as much as there is.
    """

    family: str
    variant: str
    open: Callable[[Path, Tools], Architecture]
    growing: bool = False

    @property
    def name(self) -> str:
        """Family and variant."""
        return f"{self.family}, {self.variant}" if self.variant else self.family
