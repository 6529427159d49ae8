"""The transcript of one session as a LangChain chat message history."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from siltstone import TieredMemory
from siltstone.outbox import Outbox
from siltstone.tiers.restart import current, restart
from siltstone.twins import Steps, arun, call, run

from .messages import to_langchain, to_message

_outboxes: WeakKeyDictionary[object, dict[str, Outbox]] = WeakKeyDictionary()
"""What waits to be stored, by open store and user: it outlives histories and views, which are made anew per call."""


class SiltstoneChatMessageHistory(BaseChatMessageHistory):
    """The raw transcript of a session, in full: ids, tool calls, artifacts, usage and multimodal content.

    ``session_id`` names the conversation, ``memory`` is whose it is; making one costs nothing. Recalled memories
    never enter ``messages``: put them into the prompt, as the example does, or use ``SiltstoneMemoryMiddleware``.
    A memory that fails does not end the chat: its turns are kept, as long as the store is open, and stored again at
    the next call, also by another history or another ``for_user`` view.

    Deprecated by LangChain, with ``RunnableWithMessageHistory``, for removal in langchain-core 2.0;
    ``SiltstoneMemoryMiddleware`` with ``create_agent`` is the way that stays.

    Example::

        from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
        from langchain_core.runnables import RunnablePassthrough
        from langchain_core.runnables.history import RunnableWithMessageHistory
        from siltstone import TieredMemory

        memory = TieredMemory.open("./memory", user_id="alice")
        prompt = ChatPromptTemplate.from_messages(
            [("system", "You are helpful.\\n{recalled}"), MessagesPlaceholder("history"), ("user", "{question}")]
        )
        recall = RunnablePassthrough.assign(recalled=lambda x: memory.context(x["question"], max_tokens=800).text)
        chat = RunnableWithMessageHistory(
            recall | prompt | model,
            lambda session_id: SiltstoneChatMessageHistory(session_id, memory=memory),
            input_messages_key="question",
            history_messages_key="history",
        )
        chat.invoke({"question": "Where do I work?"}, {"configurable": {"session_id": "monday"}})
    """

    def __init__(self, session_id: str, *, memory: TieredMemory) -> None:
        super().__init__()
        self.session_id = session_id
        self._memory = memory
        self._outbox = _outboxes.setdefault(memory.handle, {}).setdefault(memory.user_id, Outbox())

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]  # the base declares an attribute
        """The session's messages in order, since the last ``clear``."""
        return run(self._memory, self._read())

    async def aget_messages(self) -> list[BaseMessage]:
        """Return ``messages``, without blocking the event loop."""
        return await arun(self._memory, self._read())

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages, all or none. One whose id the session has already is left, or replaced if it differs."""
        run(self._memory, self._add(messages))

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Do what ``add_messages`` does, without blocking the event loop."""
        await arun(self._memory, self._add(messages))

    def clear(self) -> None:
        """Begin the transcript anew. What was said stays in long-term memory: to delete it, ``memory.forget``."""
        run(self._memory, self._clear())

    async def aclear(self) -> None:
        """Do what ``clear`` does, without blocking the event loop."""
        await arun(self._memory, self._clear())

    def _read(self) -> Steps[list[BaseMessage]]:
        yield from self._outbox.save(self.session_id)
        stored = yield from self._outbox.read(call("messages", self.session_id), [])
        said = current(self._outbox.shown(self.session_id, stored))
        return [to_langchain(message) for message in (*said, *self._outbox.held(self.session_id))]

    def _add(self, messages: Sequence[BaseMessage]) -> Steps[None]:
        yield from self._outbox.say(self.session_id, [to_message(message) for message in messages])

    def _clear(self) -> Steps[None]:
        yield from self._outbox.save(self.session_id, [restart()])
