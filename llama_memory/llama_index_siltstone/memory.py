"""The chat memory that LlamaIndex's engines and agents take."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.llms.llm import LLM
from llama_index.core.memory import BaseMemory
from pydantic import ConfigDict, Field, PrivateAttr

from siltstone import ConfigurationError, Message, TieredMemory
from siltstone.outbox import Outbox
from siltstone.tiers.restart import RESTART, current, is_restart, restart
from siltstone.tiers.working import OVERHEAD
from siltstone.twins import Steps, arun, call, run

from .messages import text_of, to_chat_message, to_message, words
from .transcript import plan_set
from .window import Insert, fit_window, with_recalled

DEFAULT_TOKEN_LIMIT = 3000
_LEAST_RECALL = 32
"""Below this many tokens nothing worth reading fits, and nothing is recalled."""

_PAGES = (64, 256)
"""How many of the newest messages are read at first: a window seldom holds more."""
_CHARACTERS_PER_TOKEN = 5
"""About what English spends; where a model's tokens are longer, the window may be a little shorter than it could."""


def _new_session() -> str:
    return secrets.token_hex(8)


class SiltstoneMemory(BaseMemory):
    """One conversation of one user: its newest turns, and what is recalled from all earlier ones.

    ``get`` returns whole exchanges and the recalled text, valid for any chat API and never more than ``token_limit``
    tokens by the memory's own counter, calls to tools and thinking included. It may be shared between threads. A
    memory that fails does not end the chat: it is logged once, ``get`` returns what is known, and the turns that
    could not be stored are kept and stored again at the next call.

    Made by ``from_defaults``. A saved ``Context`` holds where the store is, never a key, and opens it again.

    ``location``, ``user_id``, ``options``   where the store is, whose memory, and what it was opened with
    ``session_id``     the conversation
    ``token_limit``    the most that ``get`` returns, tokens
    ``insert``         where recalled text goes: before the last ``"user"`` turn (reaches every engine) or into the
                       ``"system"`` message (a ReActAgent without ``system_prompt`` drops that)
    ``recall_share``   the share of ``token_limit`` that is kept for recalled text, 0 to 1
    ``sections``       which parts of ``TieredMemory.context`` are recalled
    ``unsaved``        turns that wait to be stored

    Example::

        memory = SiltstoneMemory.from_defaults(location="./memory", user_id="alice", session_id="monday")
        agent = FunctionAgent(llm=llm, tools=[...])
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
    unsaved: list[dict[str, Any]] = Field(default_factory=list)
    memory: TieredMemory = Field(default=None, exclude=True, repr=False)  # type: ignore[assignment]  # opened below

    _outbox: Outbox = PrivateAttr()
    _known: list[Message] = PrivateAttr(default_factory=list)
    _read_at: tuple[str | None, int | None] | None = PrivateAttr(default=None)
    _recalled: dict[tuple[str, str, int], str] = PrivateAttr(default_factory=dict)

    def model_post_init(self, context: Any, /) -> None:
        """Open the store again where a saved memory is restored."""
        if self.memory is None:
            self.memory = self.open_memory()
        self._outbox = Outbox(self.unsaved)

    def open_memory(self) -> TieredMemory:
        """Open the store of a restored memory. Override it to give what is not saved: a key, an embedder object.

        Raises ``ConfigurationError`` for ``":memory:"``, ``NotFoundError`` where the store is gone, and what else
        ``TieredMemory.open`` raises.
        """
        if self.location == ":memory:":
            raise ConfigurationError(
                "a memory in ':memory:' ends with the object that holds it and cannot be opened again from a saved "
                "state; use a folder, e.g. SiltstoneMemory.from_defaults(location='./memory')"
            )
        return TieredMemory.open(self.location, user_id=self.user_id, **{"create": False, **self.options})

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
        with the process. ``session_id`` defaults to a new conversation; ``token_limit`` to three quarters of the
        ``llm``'s window, else 3,000. ``chat_history`` is taken on as by ``set``. ``options`` are those of
        ``TieredMemory.open``; plain values are kept for opening the store again, ``key`` and ``token`` never.
        """
        if memory is None:
            memory = TieredMemory.open(location or ":memory:", user_id=user_id, **options)
        elif location is not None or options:
            given = "location" if location is not None else next(iter(options))
            raise ConfigurationError(f"pass either an open memory or {given}=: the memory is open already")
        if token_limit is None:
            token_limit = DEFAULT_TOKEN_LIMIT if llm is None else llm.metadata.context_window * 3 // 4
        made = cls(
            memory=memory,
            location=_saved_location(memory.location),
            user_id=memory.user_id,
            session_id=session_id or _new_session(),
            token_limit=token_limit,
            insert=insert,
            recall_share=recall_share,
            sections=sections,
            options={name: value for name, value in options.items() if _can_be_saved(name, value)},
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
        run(self.memory, self._outbox.save(self.session_id, [restart()]))

    async def areset(self) -> None:
        """Do what ``reset`` does, without blocking the event loop."""
        await arun(self.memory, self._outbox.save(self.session_id, [restart()]))

    # --- saving and copying

    def to_dict(self, **kwargs: Any) -> dict[str, Any]:
        """Return a JSON-safe description from which ``from_dict`` opens the same store again. It holds no key."""
        return self.model_dump(mode="json", **kwargs)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> SiltstoneMemory:
        return type(self).from_dict(self.to_dict(), memory=self.memory)  # the open store is shared, not copied

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
        """Return the conversation: what is stored, or else was last time, and what waits to be stored.

        With ``room`` only as much of its end is read as that many tokens can hold.
        """
        yield from self._outbox.save(self.session_id)
        revision = yield from self._outbox.read(call("revision"), None)
        if revision is None or (revision, room) != self._read_at:
            for limit in (None,) if room is None else (*_PAGES, room // OVERHEAD + 1, None):
                page = yield from self._outbox.read(call("messages", self.session_id, limit=limit), None)
                if page is None:
                    break
                self._known, self._read_at = page, (revision, room)
                if limit is None or len(page) < limit or _fills(page, room or 0, limit):
                    break
        return current([*self._shown(), *self._outbox.held(self.session_id)])

    def _shown(self) -> list[Message]:
        return self._outbox.shown(self.session_id, self._known)

    def _put(self, messages: Sequence[ChatMessage]) -> Steps[None]:
        said = [_said_now(message) for message in messages]
        yield from self._outbox.say(self.session_id, said)
        if not self._outbox.held(self.session_id):
            self._known = [*self._known, *said]  # what to go on with should the store fail next

    def _recall(self, query: str, room: int, shown: Sequence[str]) -> Steps[str]:
        """Return what is recalled for a query: an agent asks several times in a turn, the store is asked once."""
        if room < _LEAST_RECALL:
            return ""
        revision = yield from self._outbox.read(call("revision"), None)
        key = (revision, query, room)
        if key in self._recalled:
            return self._recalled[key]
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
        yield from self._said()
        plan = plan_set(self._shown(), [to_message(message) for message in messages])
        # Without ids: the store then knows forgotten messages by their text, however often a transcript is sent.
        added = iter((yield from self._outbox.save(self.session_id, plan.additions)))
        if plan.keep is not None:
            keep = [id or next(added, "") for id in plan.keep]
            yield from self._outbox.save(self.session_id, [restart(keep)])


def _fills(page: Sequence[Message], room: int, limit: int) -> bool:
    """Return whether the end of a conversation is as much of it as ``room`` tokens hold, and all that it keeps."""
    ids = {message.id for message in page}
    if any(id not in ids for message in page if is_restart(message) for id in (message.metadata or {})[RESTART]):
        return False
    return limit * OVERHEAD > room or sum(len(words(m)) for m in page) > _CHARACTERS_PER_TOKEN * room


def _said_now(message: ChatMessage) -> Message:
    """Return the message with an id of its own: it is new, whatever was said or forgotten before."""
    return replace(to_message(message), id=secrets.token_hex(10))


def _saved_location(location: str) -> str:
    """Return where a store is for a process that runs in another folder; a password in a URL is left out."""
    if location == ":memory:":
        return location
    if "://" not in location:
        return os.path.abspath(os.path.expanduser(location))
    url = urlsplit(location)
    user, _, host = url.netloc.rpartition("@")
    return url._replace(netloc=f"{user.partition(':')[0]}@{host}" if user else host).geturl()


def _can_be_saved(name: str, value: Any) -> bool:
    return name not in ("key", "token") and isinstance(value, str | int | float | bool)
