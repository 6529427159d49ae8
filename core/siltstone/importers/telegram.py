"""Reads Telegram's ``result.json``: one chat, or a whole account.

A chat is the session ``telegram:<its id>``, and a message in it ``telegram:<chat>/<its id>``: Telegram numbers them
chat by chat. The owner of the account is the user, as far as the file tells who that is: in a chat of two it is
whoever the chat is not named after, elsewhere the one of ``personal_information``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..errors import InvalidInputError
from ..records import Message
from .json_peek import first
from .json_stream import Path
from .parts import JsonReader
from .reader import Found, Items, Part, PassedOver, Said
from .source import Source
from .values import EMPTY, NO_WORDS, NOTICE, a_dict, a_list, an_id, said, time_of

_ACCOUNT: Final = ("chats", "left_chats")
_OF_TWO: Final = ("personal_chat", "bot_chat")
_OF_ALL: Final = ("session_id", "me")
_KEPT: Final = ("edited_unixtime", "forwarded_from", "reply_to_message_id", "media_type", "file_name")


class Telegram(JsonReader):
    """The reader of Telegram's exports."""

    format = "telegram"
    part_is = "message"

    def recognises(self, source: Source) -> bool:
        """Return whether it is a chat of messages with ``type`` and ``date``, or has lists of chats."""
        sample = a_dict(source.sample)
        if "list" in a_dict(sample.get("chats")) or "personal_information" in sample:
            return True
        message = a_dict(first(sample.get("messages")))
        return isinstance(sample.get("messages"), list) and "id" in sample and (not message or "date" in message)

    def opens(self, path: Path, bracket: bytes, about: Mapping[str, Any]) -> bool:
        """Open lists of chats, chats, and their lists of messages."""
        if path[:1] and path[0] in _ACCOUNT:
            return len(path) < 4 or (len(path) == 4 and path[3] == "messages")
        return not path or path == ("messages",)

    def look(self, path: Path, value: Any, about: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Take note of who a chat is with, and whose account it is."""
        if path == ("personal_information",):
            return {**about, "me": an_id(a_dict(value).get("user_id"))}
        inside = path[3:] if path[:1] and path[0] in _ACCOUNT else path
        if inside[:1] == ("messages",) and len(inside) == 2:
            return None
        if len(inside) == 1 and inside[0] in ("id", "name", "type"):
            chat = list(path[:-1])
            kept = about if about.get("chat") == chat else {key: about[key] for key in _OF_ALL if key in about}
            return {**kept, "chat": chat, str(inside[0]): value}
        return about

    def items(self, part: Part) -> Items:
        """Yield a message."""
        message, about = a_dict(part.value), part.about
        id = an_id(message.get("id"))
        if id is None:
            raise InvalidInputError("it is no message of Telegram: it has no id")
        chat = an_id(about.get("id")) or str(about.get("session_id"))
        where = f"{about.get('name') or chat}, message {id}"
        if message.get("type") == "service":
            yield Found(where, PassedOver(NOTICE))
            return
        text = _text(message.get("text"))
        if not text.strip():
            media = any(key in message for key in ("photo", "file", "media_type", "location_information", "poll"))
            yield Found(where, PassedOver(NO_WORDS if media else EMPTY))
            return
        known = Message(
            _role(message, about, chat),
            text,
            name=an_id(message.get("from"), message.get("from_id")),
            created_at=time_of(message.get("date_unixtime")) or time_of(message.get("date")),
            id=f"telegram:{chat}/{id}",
            metadata=said(title=about.get("name"), telegram=said(**{key: message.get(key) for key in _KEPT})),
            session_id=f"telegram:{chat}",
        )
        yield Found(where, Said(known))


def _text(value: Any) -> str:
    """Return a text, which is one or a list of texts and of entities that have one."""
    if isinstance(value, str):
        return value
    pieces = (piece if isinstance(piece, str) else a_dict(piece).get("text") for piece in a_list(value))
    return "".join(piece for piece in pieces if isinstance(piece, str))


def _role(message: Mapping[str, Any], about: Mapping[str, Any], chat: str) -> str:
    sender = str(message.get("from_id", "")).removeprefix("user").removeprefix("channel")
    if about.get("type") in _OF_TWO:
        return "assistant" if sender == chat else "user"
    me = about.get("me")
    return "user" if me is None or sender == me else "assistant"
