"""Long-term memory inside LlamaIndex's own ``Memory``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory.memory import BaseMemoryBlock
from pydantic import Field, PrivateAttr

from siltstone import Message, TieredMemory
from siltstone.adapters import check_memory, check_storing
from siltstone.outbox import Outbox, shared_outbox
from siltstone.recall.packing import SECTIONS, check_budget, check_sections
from siltstone.text.guard import CLOSE, OPEN
from siltstone.twins import Steps, arun, call

from .messages import content_key, to_message
from .placeholders import neutralised
from .transcript import unseen, without_echo

_SESSION = "session_id"
"""Argument and ``additional_kwargs`` key by which LlamaIndex's ``Memory`` names its conversation."""

_PAGE = 64
"""How many messages beside the queue's own are looked through for what is stored already."""


class SiltstoneMemoryBlock(BaseMemoryBlock[str]):
    """Stores what passes through a LlamaIndex ``Memory``, and recalls from it what the queue has dropped.

    ``Memory`` hands messages to its blocks only when its queue overflows, so the block also stores, once each, those
    that it sees when it is asked. ``session_id`` names the conversation where ``Memory`` does not, ``max_tokens`` is
    the budget of what is recalled, ``sections`` are those of ``TieredMemory.context``. A memory that fails recalls
    nothing and keeps the turns that it could not store; the chat goes on.

    Raises ``InvalidInputError`` for a budget or sections that are none, ``ConfigurationError`` for what is no memory,
    or one that is opened with ``read_only``.

    Example::

        block = SiltstoneMemoryBlock(TieredMemory.open("./memory", user_id="alice"))
        memory = Memory.from_defaults(session_id="monday", memory_blocks=[block])
    """

    name: str = "siltstone"
    description: str | None = "What is remembered of earlier conversations with this user."
    priority: int = 1
    session_id: str = "default"
    max_tokens: int = Field(default=1000, gt=0)
    sections: tuple[str, ...] = ("profile", "summary", "recalled")
    memory: TieredMemory = Field(exclude=True, repr=False)

    _outbox: Outbox = PrivateAttr()

    def __init__(self, memory: TieredMemory, **fields: Any) -> None:
        check_memory(memory, "SiltstoneMemoryBlock")
        check_storing(memory.opened_with, "SiltstoneMemoryBlock", "open it for writing, or use SiltstoneRetriever")
        check_sections(fields.get("sections", SECTIONS))
        check_budget(fields.get("max_tokens", 1))
        super().__init__(**{"memory": memory, **fields})  # pydantic takes fields by keyword only
        self._outbox = shared_outbox(memory)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        """Store what is new among ``messages`` and return what is recalled for the last user turn."""
        session_id = str(block_kwargs.get(_SESSION) or self.session_id)
        return await arun(self.memory, self._recall(without_echo(_plain(messages or ())), session_id))

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Store what is new among messages that leave the queue."""
        named = (message.additional_kwargs.get(_SESSION) for message in messages)
        session_id = str(next(filter(None, named), self.session_id))
        await arun(self.memory, self._store(_plain(messages), session_id))

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return the content without as many of its last lines as hold that many tokens; ``None`` when none is left."""
        lines = content.removesuffix(CLOSE).rstrip().split("\n")
        dropped = 0
        while lines and dropped < tokens_to_truncate:
            dropped += self.memory.token_counter.count(lines.pop()) + 1
        kept = "\n".join(lines).rstrip()
        return f"{kept}\n{CLOSE}" if kept and kept != OPEN else None

    def _recall(self, messages: Sequence[Message], session_id: str) -> Steps[str]:
        shown = yield from self._store(messages, session_id)
        query = next((m.content for m in reversed(messages) if m.role == "user" and m.content.strip()), None)
        request = call(
            "context",
            query,
            session_id=session_id,
            max_tokens=self.max_tokens,
            sections=self.sections,
            exclude_ids=shown,
        )
        context = yield from self._outbox.read(request, None)
        return "" if context is None else neutralised(context.text)

    def _store(self, messages: Sequence[Message], session_id: str) -> Steps[list[str]]:
        """Store what is new; return the ids of all that says the same as one of the messages, which are sent anyway."""
        limit = 2 * len(messages) + _PAGE
        stored = yield from self._outbox.read(call("messages", session_id, limit=limit), None)
        if stored is None:
            return []
        ids = yield from self._outbox.save(session_id, unseen(stored, messages))
        said = {content_key(message) for message in messages}
        return [m.id for m in stored if m.id and content_key(m) in said] + ids


def _plain(messages: Sequence[ChatMessage]) -> list[Message]:
    """Return the messages without the name of the session that ``Memory`` writes into them."""
    plain = []
    for message in messages:
        kwargs = {key: value for key, value in message.additional_kwargs.items() if key != _SESSION}
        plain.append(to_message(message.model_copy(update={"additional_kwargs": kwargs})))
    return plain
