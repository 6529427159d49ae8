"""The transcript of one session as a LangChain chat message history."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from siltstone import Message, TieredMemory
from siltstone.adapters import check_memory, check_storing
from siltstone.outbox import shared_outbox
from siltstone.tiers.incoming import check_id
from siltstone.tiers.restart import current, restart
from siltstone.twins import Steps, arun, call, run

from .messages import to_langchain, to_message


class SiltstoneChatMessageHistory(BaseChatMessageHistory):
    """The raw transcript of a session, in full: ids, tool calls, artifacts, usage and multimodal content.

    ``session_id`` names the conversation, as text or as what has one (a UUID, a number); ``memory`` is whose it is;
    making one costs nothing. Recalled memories never enter ``messages``: put them into the prompt, as the example
    does, or use ``SiltstoneMemoryMiddleware``; ``exclude_ids`` leaves out of them what ``history`` says already. A
    memory that fails does not end the chat: its turns are kept, and stored with the user's next turn of whichever
    session, or at ``memory.flush()`` or ``memory.close()``, which logs as an error what is lost then.

    Raises ``InvalidInputError`` for a session without a name, ``ConfigurationError`` for what is no memory, or one that
    is opened with ``read_only``.

    Deprecated by LangChain, with ``RunnableWithMessageHistory``, for removal in langchain-core 2.0;
    ``SiltstoneMemoryMiddleware`` with ``create_agent`` is the way that stays.

    Example::

        from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
        from langchain_core.runnables import RunnableLambda, RunnablePassthrough
        from langchain_core.runnables.history import RunnableWithMessageHistory
        from siltstone import Message, TieredMemory

        memory = TieredMemory.open("./memory", user_id="alice")
        prompt = ChatPromptTemplate.from_messages(
            [("system", "You are helpful.\\n{recalled}"), MessagesPlaceholder("history"), ("user", "{question}")]
        )

        def recall_for(x, config):
            said = [message.id for message in memory.messages(config["configurable"]["session_id"])]
            return memory.context(x["question"], exclude_ids=said, max_tokens=800).text

        recalled = RunnableLambda(recall_for)
        recall = RunnablePassthrough.assign(recalled=recalled.with_fallbacks([RunnableLambda(lambda x: "")]))
        chat = RunnableWithMessageHistory(
            recall | prompt | model,
            lambda session_id: SiltstoneChatMessageHistory(session_id, memory=memory),
            input_messages_key="question",
            history_messages_key="history",
        )
        chat.invoke({"question": "Where do I work?"}, {"configurable": {"session_id": "monday"}})
    """

    def __init__(self, session_id: object, *, memory: TieredMemory) -> None:
        super().__init__()
        self.session_id = check_id("" if session_id is None else str(session_id), "session_id")
        self._memory = check_memory(memory, "SiltstoneChatMessageHistory")
        check_storing(
            memory.opened_with,
            "SiltstoneChatMessageHistory",
            "read the transcript with memory.messages(session_id), or open the memory for writing",
        )
        self._fallen_back: list[Message] | None = None
        self._outbox = shared_outbox(memory)

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
        stored = yield from self._outbox.read(call("messages", self.session_id), None)
        held = self._outbox.held(self.session_id, stored or ())
        if self._fallen_back is not None:
            # A run that began without the transcript cuts off as many messages at its end as it was given: the read
            # after a failed one answers as that did, or the turn would be cut off.
            said = self._fallen_back
            self._fallen_back = said if stored is None else None
        elif stored is None:
            said = self._fallen_back = held
        else:
            said = [*current(self._outbox.shown(self.session_id, stored)), *held]
        return [to_langchain(message) for message in said]

    def _add(self, messages: Sequence[BaseMessage]) -> Steps[None]:
        self._fallen_back = None
        yield from self._outbox.say(self.session_id, [to_message(message) for message in messages])

    def _clear(self) -> Steps[None]:
        self._fallen_back = None
        yield from self._outbox.save(self.session_id, [restart()])
