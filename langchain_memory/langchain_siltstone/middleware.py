"""Memory for agents made by ``create_agent``: recalled before a run, in every model call, stored after it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, cast

from langchain.agents.middleware.types import (
    AgentMiddleware,
    AgentState,
    ModelRequest,
    ModelResponse,
    PrivateStateAttr,
)
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import BaseTool
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.config import get_config
from langgraph.runtime import Runtime
from typing_extensions import NotRequired

from siltstone import ConfigurationError, Message, TieredMemory
from siltstone.adapters import check_memory, check_storing
from siltstone.outbox import shared_outbox
from siltstone.recall.packing import check_budget, check_sections
from siltstone.twins import Steps, arun, call, run

from .tools import create_memory_tools
from .transcript import Turn, made_since, newest, sent_again

logger = logging.getLogger("siltstone")

_PAGE = 64
"""How many of a session's newest messages are looked through for what is stored already."""


class MemoryState(AgentState[Any]):
    """An agent's state, and what the memory middlewares recalled for this run; that is never checkpointed."""

    siltstone_recalled: NotRequired[Annotated[dict[str, str], UntrackedValue, PrivateStateAttr]]


class SiltstoneMemoryMiddleware(AgentMiddleware[MemoryState, Any, Any]):
    """Gives an agent the long-term memory of one user.

    Before a run it recalls once for the user's question; each model call sees that in its system message. What is said
    is stored before each model call and after the run, whatever becomes of it in the agent's state. Nothing recalled
    enters the messages or the checkpoints. What was said itself is in them, also after ``memory.forget``: they are
    LangGraph's own, and ``checkpointer.delete_thread(thread_id)`` deletes it there. Without a checkpointer the
    transcript may be sent with each run: what is stored of it is not stored again, nor recalled beside itself. A
    memory that fails does not end the run: it is logged, and the turn is kept, and stored with the user's next turn of
    whichever thread, or at ``memory.flush()`` or ``memory.close()``, which logs as an error what is lost then.

    ``session_id``   the conversation; ``None``: the run's ``thread_id``. Runs without either all share the session
                     ``"default"``; a warning says so once
    ``max_tokens``   budget of what is recalled
    ``sections``     which parts of ``TieredMemory.context`` go into it
    ``store``        whether runs are stored; a memory that is opened with ``read_only`` needs ``store=False``
    ``tools``        whether the agent gets ``search_memory``, ``remember`` and ``forget``. A model that cannot call
                     tools (it has no ``bind_tools``) needs ``tools=False``, or the run ends in ``NotImplementedError``
    ``name``         tells two of these in one agent apart, and their tools: ``search_memory_NAME``

    Raises ``InvalidInputError`` for a budget or sections that are none; ``ConfigurationError`` for what is no memory,
    for one that could not store, for a name that no tool can have, and at the first model call where the agent has
    another tool of the same name, which hides this memory's.

    Example::

        memory = TieredMemory.open("./memory", user_id="alice")
        agent = create_agent(model, middleware=[SiltstoneMemoryMiddleware(memory)], checkpointer=InMemorySaver())
        agent.invoke({"messages": [("user", "Where do I work?")]}, {"configurable": {"thread_id": "monday"}})
    """

    state_schema = MemoryState

    def __init__(
        self,
        memory: TieredMemory,
        *,
        session_id: str | None = None,
        max_tokens: int = 1000,
        sections: Sequence[str] = ("profile", "summary", "recalled"),
        store: bool = True,
        tools: bool = True,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._memory = check_memory(memory, "SiltstoneMemoryMiddleware")
        if store:
            check_storing(memory.opened_with, "SiltstoneMemoryMiddleware", "pass store=False to recall only")
        check_budget(max_tokens)
        self._session_id = None if session_id is None else str(session_id)
        self._max_tokens = max_tokens
        self._sections = check_sections(sections)
        self._store = store
        self._name = name or type(self).__name__
        self._outbox = shared_outbox(memory)
        self._warned = False
        self.tools = create_memory_tools(memory, name=name) if tools else []

    @property
    def name(self) -> str:
        """The name of this middleware within its agent."""
        return self._name

    def before_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Recall for the user's question, and store it."""
        return self._update(state, run(self._memory, self._begin(state, self._session(runtime))))

    async def abefore_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Recall for the user's question, and store it, without blocking the event loop."""
        return self._update(state, await arun(self._memory, self._begin(state, self._session(runtime))))

    def before_model(self, state: MemoryState, runtime: Runtime[Any]) -> None:
        """Store what the run has said so far: another middleware may take it out of the state."""
        run(self._memory, self._save(state, self._session(runtime)))

    async def abefore_model(self, state: MemoryState, runtime: Runtime[Any]) -> None:
        """Store what the run has said so far, without blocking the event loop."""
        await arun(self._memory, self._save(state, self._session(runtime)))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Put what was recalled at the end of the system message."""
        self._check_tools(request)
        return handler(_extended(request, run(self._memory, self._recalled(request))))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Put what was recalled at the end of the system message."""
        self._check_tools(request)
        return await handler(_extended(request, await arun(self._memory, self._recalled(request))))

    def after_agent(self, state: MemoryState, runtime: Runtime[Any]) -> None:
        """Store what the run has said."""
        run(self._memory, self._save(state, self._session(runtime)))

    async def aafter_agent(self, state: MemoryState, runtime: Runtime[Any]) -> None:
        """Store what the run has said, without blocking the event loop."""
        await arun(self._memory, self._save(state, self._session(runtime)))

    def _begin(self, state: MemoryState, session_id: str) -> Steps[str]:
        turn = yield from self._sent(state, session_id)
        text = yield from self._recall(state, session_id, turn)
        if self._store:
            yield from self._outbox.save(session_id, turn.new)
        return text

    def _recall(self, state: MemoryState, session_id: str, turn: Turn) -> Steps[str]:
        query = next((str(m.text) for m in reversed(state["messages"]) if isinstance(m, HumanMessage)), "").strip()
        request = call(
            "context",
            query or None,
            session_id=session_id,
            max_tokens=self._max_tokens,
            sections=self._sections,
            exclude_ids=[*(m.id for m in state["messages"] if m.id), *turn.known],
        )
        context = yield from self._outbox.read(request, None)
        return context.text if context is not None else ""

    def _update(self, state: MemoryState, text: str) -> dict[str, Any]:
        return {"siltstone_recalled": {**state.get("siltstone_recalled", {}), self._name: text}}

    def _recalled(self, request: ModelRequest[Any]) -> Steps[str]:
        state = cast(MemoryState, request.state)
        text = state.get("siltstone_recalled", {}).get(self._name)
        if text is None:  # a run that goes on after an interrupt does not pass before_agent
            session_id = self._session(request.runtime)
            text = yield from self._recall(state, session_id, (yield from self._sent(state, session_id)))
        return text

    def _save(self, state: MemoryState, session_id: str) -> Steps[None]:
        """Store what the run has made since the last message that is stored."""
        if not self._store:
            return
        stored = yield from self._stored(session_id, _PAGE)
        turn = made_since(_said(state), stored) if stored is not None else None
        if turn is None:
            turn = yield from self._sent(state, session_id)
        yield from self._outbox.save(session_id, turn.new)

    def _sent(self, state: MemoryState, session_id: str) -> Steps[Turn]:
        """Return what of the whole transcript is new, and what of it is stored."""
        said = _said(state)
        limit = 2 * len(said) + _PAGE
        stored = yield from self._stored(session_id, limit)
        if stored is None:
            held = self._outbox.held(session_id)
            return made_since(said, held) or newest(said)
        return sent_again(said, stored, reaches_back=len(stored) < limit)

    def _stored(self, session_id: str, limit: int) -> Steps[list[Message] | None]:
        """Return the newest messages of the session, those that wait to be stored too; ``None`` if the memory fails."""
        page = yield from self._outbox.read(call("messages", session_id, limit=limit), None)
        return None if page is None else [*page, *self._outbox.held(session_id, page)]

    def _check_tools(self, request: ModelRequest[Any]) -> None:
        given = {tool.name: tool for tool in request.tools if isinstance(tool, BaseTool)}
        for own in self.tools:
            other = given.get(own.name, own)
            if getattr(other, "func", None) != getattr(own, "func", None):
                raise ConfigurationError(
                    f"another tool of the agent is named {own.name!r} and hides that of the memory of "
                    f"{self._memory.user_id!r}: give the middleware a name=, or pass tools=False and those of "
                    "create_memory_tools that you choose"
                )

    def _session(self, runtime: Runtime[Any]) -> str:
        session_id = self._session_id or _thread_id(runtime)
        if session_id is None and self._store and not self._warned:
            self._warned = True
            logger.warning(
                "a run without a thread_id is stored in the session 'default', together with every other such run: "
                "pass {'configurable': {'thread_id': ...}} to invoke, or session_id= to SiltstoneMemoryMiddleware"
            )
        return session_id or "default"


def _thread_id(runtime: Runtime[Any]) -> str | None:
    """Return the run's thread, if it has one."""
    info = getattr(runtime, "execution_info", None)
    if info is not None and info.thread_id:
        return str(info.thread_id)
    try:
        thread = get_config().get("configurable", {}).get("thread_id")
    except RuntimeError:  # Python 3.10 does not hand the configuration to async nodes
        return None
    return str(thread) if thread else None


def _extended(request: ModelRequest[Any], text: str) -> ModelRequest[Any]:
    """Return the request with the text at the end of its system message, where a provider's prompt cache ends."""
    system = request.system_message
    if not text:
        return request
    if system is None:
        system = SystemMessage(text)
    elif isinstance(system.content, str):
        system = system.model_copy(update={"content": f"{system.content}\n\n{text}"})
    else:
        system = system.model_copy(update={"content": [*system.content, {"type": "text", "text": text}]})
    return request.override(system_message=system)


def _said(state: MemoryState) -> list[BaseMessage]:
    """Return the messages without what ``SummarizationMiddleware`` put in, which nobody said."""
    return [m for m in state["messages"] if m.additional_kwargs.get("lc_source") != "summarization"]
