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
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.config import get_config
from langgraph.runtime import Runtime
from typing_extensions import NotRequired

from siltstone import TieredMemory
from siltstone.outbox import Outbox
from siltstone.twins import Steps, arun, call, run

from .messages import to_message
from .tools import create_memory_tools

logger = logging.getLogger("siltstone")

_PAGE = 64
"""How many of a session's newest messages are looked through for what is stored already."""


class MemoryState(AgentState[Any]):
    """An agent's state, and what the memory middlewares recalled for this run; that is never checkpointed."""

    siltstone_recalled: NotRequired[Annotated[dict[str, str], UntrackedValue, PrivateStateAttr]]


class SiltstoneMemoryMiddleware(AgentMiddleware[MemoryState, Any, Any]):
    """Gives an agent the long-term memory of one user.

    Before a run it recalls once for the user's question; each model call sees that in its system message; after the
    run its new messages are stored. Nothing recalled enters the messages or the checkpoints, so what is forgotten
    does not live on there. A memory that fails does not end the run: it is logged, and the turn is kept.

    ``session_id``   the conversation; ``None``: the run's ``thread_id``. Runs without either all share the session
                     ``"default"``; a warning says so once
    ``max_tokens``   budget of what is recalled
    ``sections``     which parts of ``TieredMemory.context`` go into it
    ``store``        whether runs are stored
    ``tools``        whether the agent gets ``search_memory``, ``remember`` and ``forget``. A model that cannot call
                     tools (it has no ``bind_tools``) needs ``tools=False``, or the run ends in ``NotImplementedError``
    ``name``         tells two of these in one agent apart

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
        name: str = "SiltstoneMemoryMiddleware",
    ) -> None:
        super().__init__()
        self._memory = memory
        self._session_id = session_id
        self._max_tokens = max_tokens
        self._sections = tuple(sections)
        self._store = store
        self._name = name
        self._outbox = Outbox()
        self._warned = False
        self.tools = create_memory_tools(memory) if tools else []

    @property
    def name(self) -> str:
        """The name of this middleware within its agent."""
        return self._name

    def before_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Recall for the user's question."""
        return self._update(state, run(self._memory, self._recall(state, self._session(runtime))))

    async def abefore_agent(self, state: MemoryState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Recall for the user's question, without blocking the event loop."""
        return self._update(state, await arun(self._memory, self._recall(state, self._session(runtime))))

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Put what was recalled at the end of the system message."""
        return handler(_extended(request, run(self._memory, self._recalled(request))))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Put what was recalled at the end of the system message."""
        return await handler(_extended(request, await arun(self._memory, self._recalled(request))))

    def after_agent(self, state: MemoryState, runtime: Runtime[Any]) -> None:
        """Store what the run has said."""
        run(self._memory, self._save(state, self._session(runtime)))

    async def aafter_agent(self, state: MemoryState, runtime: Runtime[Any]) -> None:
        """Store what the run has said, without blocking the event loop."""
        await arun(self._memory, self._save(state, self._session(runtime)))

    def _recall(self, state: MemoryState, session_id: str) -> Steps[str]:
        query = next((str(m.text) for m in reversed(state["messages"]) if isinstance(m, HumanMessage)), "").strip()
        request = call(
            "context",
            query or None,
            session_id=session_id,
            max_tokens=self._max_tokens,
            sections=self._sections,
            exclude_ids=[m.id for m in state["messages"] if m.id],
        )
        context = yield from self._outbox.read(request, None)
        return context.text if context is not None else ""

    def _update(self, state: MemoryState, text: str) -> dict[str, Any]:
        return {"siltstone_recalled": {**state.get("siltstone_recalled", {}), self._name: text}}

    def _recalled(self, request: ModelRequest[Any]) -> Steps[str]:
        state = cast(MemoryState, request.state)
        text = state.get("siltstone_recalled", {}).get(self._name)
        if text is None:  # a run that goes on after an interrupt does not pass before_agent
            text = yield from self._recall(state, self._session(request.runtime))
        return text

    def _save(self, state: MemoryState, session_id: str) -> Steps[None]:
        if not self._store:
            return
        newest = yield from self._outbox.read(call("messages", session_id, limit=_PAGE), [])
        stored = {message.id for message in newest}
        messages = state["messages"]
        # After the last one that is stored, so that a run that failed half-way is made up for; ids settle the rest.
        start = next((n for n in range(len(messages), 0, -1) if messages[n - 1].id in stored), 0)
        said = [to_message(message) for message in messages[start:] if not _is_summary(message)]
        yield from self._outbox.save(session_id, said)

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


def _is_summary(message: BaseMessage) -> bool:
    """Return whether the message was put in by ``SummarizationMiddleware``; nobody said it."""
    return message.additional_kwargs.get("lc_source") == "summarization"
