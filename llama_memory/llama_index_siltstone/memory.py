"""The chat memory that LlamaIndex's engines and agents take."""

from __future__ import annotations

import functools
import logging
import os
import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms.llm import LLM
from llama_index.core.memory import BaseMemory
from pydantic import ConfigDict, Field, PrivateAttr

from siltstone import ConfigurationError, Message, TieredMemory
from siltstone.adapters import check_memory, check_storing
from siltstone.outbox import Outbox, own_outbox
from siltstone.recall.packing import check_budget, check_sections
from siltstone.tiers.restart import RESTART, current, is_restart, restart
from siltstone.tiers.working import OVERHEAD
from siltstone.twins import Steps, arun, call, run

from .messages import text_of, to_chat_message, to_message, words
from .saving import opened_options, saved_location, saved_options
from .transcript import plan_set
from .window import Insert, fit_window, with_recalled

logger = logging.getLogger("siltstone")

DEFAULT_TOKEN_LIMIT = 3000
_LEAST_RECALL = 32
"""Below this many tokens nothing worth reading fits, and nothing is recalled."""

_PAGES = (64, 256)
"""How many of the newest messages are read at first: a window seldom holds more."""
_CHARACTERS_PER_TOKEN = 5
"""About what English spends; where a model's tokens are longer, the window may be a little shorter than it could."""

_ReadAt: TypeAlias = tuple[str | None, int | None]
"""Revision of the user, and the room for which a conversation's end was read, ``None``: all of it."""


def _new_session() -> str:
    return secrets.token_hex(8)


@functools.cache
def _warn_of_no_location() -> None:
    logger.warning(
        "SiltstoneMemory without a location= is kept in ':memory:', and what it remembers ends with this process: pass "
        "location='./memory' to keep it"
    )


class SiltstoneMemory(BaseMemory):
    """One conversation of one user: its newest turns, and what is recalled from all earlier ones.

    ``get`` returns whole exchanges and the recalled text, valid for any chat API and never more than ``token_limit``
    tokens by the memory's own counter, calls to tools and thinking included. It may be shared between threads. A
    memory that fails does not end the chat: it is logged once, ``get`` returns what is known, and the turns that
    could not be stored are kept, and stored with the user's next turn of whichever conversation, or at
    ``flush`` or ``close`` of the ``TieredMemory``, which logs as an error what is lost then.

    Made by ``from_defaults``. Without ``location=`` the store is ``":memory:"``, and what it remembers ends with the
    process; a warning says so once. A saved ``Context`` holds where the store is and how it was opened, ``Settings``
    too, and opens it again. It never holds a key, a token or a password.

    ``location``, ``user_id``, ``options``   where the store is, whose memory, and what it was opened with
    ``left_out``       names of the options that cannot be saved: objects and callables, addresses with a secret. A
                       saved memory that lacks one is not opened without it: override ``open_memory`` to give it
    ``session_id``     the conversation
    ``token_limit``    the most that ``get`` returns, tokens
    ``insert``         where recalled text goes: before the last ``"user"`` turn (reaches every engine) or into the
                       ``"system"`` message (a ReActAgent without ``system_prompt`` drops that)
    ``recall_share``   the share of ``token_limit`` that is kept for recalled text, 0 to 1
    ``sections``       which parts of ``TieredMemory.context`` are recalled
    ``unsaved``        turns that wait to be stored

    Example::

        memory = SiltstoneMemory.from_defaults(location="./memory", user_id="alice", session_id="monday")
        agent = FunctionAgent(llm=llm, tools=tools)
        await agent.run("Where do I work?", memory=memory)
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    location: str
    user_id: str = "default"
    session_id: str = Field(default_factory=_new_session)
    token_limit: int = Field(default=DEFAULT_TOKEN_LIMIT, gt=0)
    insert: Insert = "user"
    recall_share: float = Field(default=0.4, ge=0, le=1)
    sections: tuple[str, ...] = ("profile", "summary", "recalled")
    options: dict[str, Any] = Field(default_factory=dict)
    left_out: list[str] = Field(default_factory=list)
    unsaved: list[dict[str, Any]] = Field(default_factory=list)
    memory: TieredMemory = Field(default=None, exclude=True, repr=False)  # type: ignore[assignment]  # opened below

    _outbox: Outbox = PrivateAttr()
    _warned: bool = PrivateAttr(default=False)
    _known: tuple[_ReadAt | None, list[Message]] = PrivateAttr(default=(None, []))
    _recalled: dict[tuple[str, str, int], str] = PrivateAttr(default_factory=dict)

    def model_post_init(self, context: Any, /) -> None:
        """Open the store again where a saved memory is restored."""
        if self.memory is None:
            self.memory = self.open_memory()
        self._outbox = own_outbox(self.memory, self.unsaved)

    def open_memory(self) -> TieredMemory:
        """Open the store of a restored memory. Override it to give what is not saved: a key, an embedder object.

        Raises ``ConfigurationError`` for ``":memory:"`` and where something was left out, ``NotFoundError`` where the
        store is gone, and what else ``TieredMemory.open`` raises.
        """
        if self.location == ":memory:":
            raise ConfigurationError(
                "a memory in ':memory:' ends with the object that holds it and cannot be opened again from a saved "
                "state; use a folder, e.g. SiltstoneMemory.from_defaults(location='./memory')"
            )
        if self.left_out:
            raise ConfigurationError(f"this memory cannot be opened again as it was: {self._lacking()}")
        options = {"create": False, **opened_options(self.options)}
        return TieredMemory.open(self.location, user_id=self.user_id, **options)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex serialises this class."""
        return "SiltstoneMemory"

    @classmethod
    def from_defaults(
        cls,
        memory: TieredMemory | None = None,
        *,
        location: str | os.PathLike[str] | None = None,
        user_id: str = "default",
        session_id: str | None = None,
        token_limit: int | None = None,
        insert: Insert = "user",
        recall_share: float = 0.4,
        sections: tuple[str, ...] = ("profile", "summary", "recalled"),
        chat_history: list[ChatMessage] | None = None,
        llm: LLM | None = None,
        **options: Any,
    ) -> SiltstoneMemory:
        """Return the memory of a conversation, over an open ``TieredMemory`` or over the store at ``location``.

        With neither, as chat engines call it for ``memory_cls=SiltstoneMemory``, the store is ``":memory:"`` and ends
        with the process, which a warning says once. ``session_id`` defaults to a new conversation; ``token_limit`` to
        three quarters of the ``llm``'s window, else 3,000. ``chat_history`` is taken on as by ``set``. ``options`` are
        those of ``TieredMemory.open``.

        Raises ``InvalidInputError`` for ``token_limit`` or ``sections`` that are none, ``ConfigurationError`` for what
        is no memory, or one that is opened with ``read_only``, and what ``TieredMemory.open`` raises.
        """
        if memory is not None:
            check_memory(memory, "SiltstoneMemory")
        check_storing(
            options if memory is None else memory.opened_with,
            "SiltstoneMemory",
            "open it for writing, or recall with SiltstoneRetriever",
        )
        sections = check_sections(sections)
        if token_limit is not None:
            check_budget(token_limit, "token_limit")
        if memory is None:
            if location is None:
                _warn_of_no_location()
            memory = TieredMemory.open(":memory:" if location is None else location, user_id=user_id, **options)
        elif location is not None or options:
            given = "location" if location is not None else next(iter(options))
            raise ConfigurationError(f"pass either an open memory or {given}=: the memory is open already")
        if token_limit is None:
            token_limit = DEFAULT_TOKEN_LIMIT if llm is None else llm.metadata.context_window * 3 // 4
        opened_with = {**memory.opened_with, **options}
        given = opened_with.pop("location", memory.location)
        saved, left_out = saved_options(opened_with)
        if not isinstance(given, str | os.PathLike):  # a store of the application's own
            given, left_out = memory.location, ["location", *left_out]
        made = cls(
            memory=memory,
            location=saved_location(os.fspath(given)),
            user_id=memory.user_id,
            session_id=session_id or _new_session(),
            token_limit=token_limit,
            insert=insert,
            recall_share=recall_share,
            sections=sections,
            options=saved,
            left_out=left_out,
        )
        if chat_history:
            made.set(chat_history)
        return made

    # --- reading

    def get(self, input: str | ChatMessage | None = None, initial_token_count: int = 0, **_: Any) -> list[ChatMessage]:
        """Return the newest turns and what is recalled for ``input``, by default for the last user turn.

        ``initial_token_count`` is what the caller puts before them; a quarter of the limit is kept in any case.
        """
        return run(self.memory, self._get(input, initial_token_count))

    async def aget(
        self, input: str | ChatMessage | None = None, initial_token_count: int = 0, **_: Any
    ) -> list[ChatMessage]:
        """Do what ``get`` does, without blocking the event loop."""
        return await arun(self.memory, self._get(input, initial_token_count))

    def get_all(self) -> list[ChatMessage]:
        """Return the whole conversation, since the last ``reset``, without anything recalled."""
        return run(self.memory, self._get_all())

    async def aget_all(self) -> list[ChatMessage]:
        """Do what ``get_all`` does, without blocking the event loop."""
        return await arun(self.memory, self._get_all())

    def tokenizer_fn(self, text: str) -> range:
        """Return a sequence as long as the text has tokens; SimpleChatEngine counts its prefix with it."""
        return range(self.memory.token_counter.count(text))

    # --- writing

    def put(self, message: ChatMessage) -> None:
        """Store a message at the end of the conversation."""
        self.put_messages([message])

    async def aput(self, message: ChatMessage) -> None:
        """Do what ``put`` does, without blocking the event loop."""
        await self.aput_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Store messages at the end of the conversation, all or none."""
        run(self.memory, self._put(messages))

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Do what ``put_messages`` does, without blocking the event loop."""
        await arun(self.memory, self._put(messages))

    def set(self, messages: list[ChatMessage]) -> None:
        """Make the conversation say what ``messages`` say. What it says already is not stored again.

        What they leave out is no longer shown, and stays in long-term memory.
        """
        run(self.memory, self._set(messages))

    async def aset(self, messages: list[ChatMessage]) -> None:
        """Do what ``set`` does, without blocking the event loop."""
        await arun(self.memory, self._set(messages))

    def reset(self) -> None:
        """Begin the conversation anew. What was said stays in long-term memory: to delete it, ``memory.forget``."""
        run(self.memory, self._reset())

    async def areset(self) -> None:
        """Do what ``reset`` does, without blocking the event loop."""
        await arun(self.memory, self._reset())

    # --- saving and copying

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """Return a JSON-safe description from which ``from_dict`` opens the same store again. It holds no secret.

        Where it cannot hold all that the store was opened with, a warning says so.
        """
        if self.left_out and not self._warned and type(self).open_memory is SiltstoneMemory.open_memory:
            self._warned = True
            logger.warning("a memory is saved that cannot be opened again as it was: %s", self._lacking())
        return self.model_dump(mode="json", **kwargs)

    def _lacking(self) -> str:
        names = ", ".join(f"{name}=" for name in self.left_out)
        return (
            f"a saved state cannot hold {names} (objects and callables, addresses with a password or token). Nothing "
            "is lost; override SiltstoneMemory.open_memory to give what is missing, or pass models by name, and "
            "secrets by the environment"
        )

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> SiltstoneMemory:
        return type(self).from_dict(self.model_dump(mode="json"), memory=self.memory)  # the open store is shared

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_dict, (self.to_dict(),)

    # --- the steps behind the verbs and their async twins

    def _get(self, input: str | ChatMessage | None, initial_token_count: int) -> Steps[list[ChatMessage]]:
        room = max(self.token_limit - initial_token_count, self.token_limit // 4)
        counter = self.memory.token_counter
        said = yield from self._said(room)
        share = int(room * self.recall_share)
        window = fit_window(said, room - share, counter)
        query = text_of(input) or next((words(m).strip() for m in reversed(said) if m.role == "user"), "")
        shown = {*window.ids, *(m.id for m in said if m.id and words(m).strip() == query)}
        text = yield from self._recall(query, min(share, room - window.tokens) - OVERHEAD, sorted(shown))
        if not text:
            window = fit_window(said, room, counter)
        return with_recalled(window.messages, text, self.insert)

    def _get_all(self) -> Steps[list[ChatMessage]]:
        said = yield from self._said()
        return [to_chat_message(message) for message in said]

    def _said(self, room: int | None = None) -> Steps[list[Message]]:
        """Return the conversation as it is shown, with ``room`` only its end, as far as that many tokens can hold."""
        return current((yield from self._stored(room)))

    def _stored(self, room: int | None = None) -> Steps[list[Message]]:
        """Return what is stored of the conversation, or else was last time, and what waits to be stored."""
        yield from self._outbox.save(self.session_id)
        revision = yield from self._outbox.read(call("revision"), None)
        read_at, known = self._known
        if revision is None or (revision, room) != read_at:
            page = yield from self._newest(room)
            if page is not None:
                known = page
                self._known = (revision, room), page  # in one step, and not read back: threads read for other rooms
        return [*self._outbox.shown(self.session_id, known), *self._outbox.held(self.session_id, known)]

    def _newest(self, room: int | None) -> Steps[list[Message] | None]:
        """Return the stored messages that ``room`` tokens can hold, or all; ``None`` where the memory fails."""
        for limit in (None,) if room is None else (*_PAGES, room // OVERHEAD + 1, None):
            request = call("messages", self.session_id, limit=limit)
            page: list[Message] | None = yield from self._outbox.read(request, None)
            if page is None or limit is None or len(page) < limit or _fills(page, room or 0, limit):
                return page
        raise AssertionError("unreachable")

    def _put(self, messages: Sequence[ChatMessage]) -> Steps[None]:
        said = [_said_now(message) for message in messages]
        yield from self._outbox.say(self.session_id, said)
        self._know(said)

    def _recall(self, query: str, room: int, shown: Sequence[str]) -> Steps[str]:
        """Return what is recalled for a query: an agent asks several times in a turn, the store is asked once."""
        if room < _LEAST_RECALL:
            return ""
        revision = yield from self._outbox.read(call("revision"), None)
        key = (revision, query, room)
        if (known := self._recalled.get(key)) is not None:
            return known
        request = call(
            "context",
            query or None,
            session_id=self.session_id,
            max_tokens=room,
            sections=self.sections,
            exclude_ids=shown,
        )
        context = yield from self._outbox.read(request, None)
        if context is None:
            return ""
        self._recalled = {**{k: text for k, text in self._recalled.items() if k[0] == revision}, key: context.text}
        return str(context.text)

    def _set(self, messages: list[ChatMessage]) -> Steps[None]:
        stored = yield from self._stored()
        plan = plan_set(stored, [to_message(message) for message in messages])
        added = yield from self._outbox.save(self.session_id, plan.additions)
        self._know(plan.additions)
        if plan.keep is not None:
            if len(added) < len(plan.additions):  # they wait, and will have the ids that they bring
                added = [message.id or "" for message in plan.additions]
            following = iter(added)
            yield from self._restart([id or next(following) for id in plan.keep])

    def _reset(self) -> Steps[None]:
        yield from self._restart([])

    def _restart(self, keep: Sequence[str]) -> Steps[None]:
        marker = replace(restart(keep), id=secrets.token_hex(10))
        yield from self._outbox.save(self.session_id, [marker])
        self._know([marker])

    def _know(self, said: Sequence[Message]) -> None:
        """Note what was stored just now: what to go on with should the store fail next."""
        held = {message.id for message in self._outbox.held(self.session_id)}
        _, known = self._known
        self._known = None, [*known, *(message for message in said if message.id not in held)]


def _fills(page: Sequence[Message], room: int, limit: int) -> bool:
    """Return whether the end of a conversation is as much of it as ``room`` tokens hold, and all that it keeps."""
    ids = {message.id for message in page}
    if any(id not in ids for message in page if is_restart(message) for id in (message.metadata or {})[RESTART]):
        return False
    return limit * OVERHEAD > room or sum(len(words(m)) for m in page) > _CHARACTERS_PER_TOKEN * room


def _said_now(message: ChatMessage) -> Message:
    """Return the message with an id of its own: it is new, whatever was said or forgotten before."""
    return replace(to_message(message), id=secrets.token_hex(10))
