"""Reads ChatLab's exchange format, in which chats of several programs come; nobody in it need be the owner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ..errors import InvalidInputError
from ..records import Message
from .json_stream import Path
from .parts import JsonReader
from .reader import Found, Items, Part
from .source import Source
from .values import a_dict, an_id, said, time_of
from .wechat import NOTICES, TEXT, found

_KINDS: Final = {**dict.fromkeys(("0", "7", "24", "25", "26"), TEXT), "80": NOTICES, "81": NOTICES}
"""Of ChatLab's numbers: text, link, shared, answer and forwarded are words; system and recall are notices."""


class ChatLab(JsonReader):
    """The reader of ChatLab's exchange format, for chats of several programs; nobody in it is the owner."""

    format = "chatlab"
    part_is = "message"

    def recognises(self, source: Source) -> bool:
        """Return whether it names the format."""
        return "chatlab" in a_dict(source.sample)

    def opens(self, path: Path, bracket: bytes, about: Mapping[str, Any]) -> bool:
        """Open the chat and its list of messages."""
        return not path or path == ("messages",)

    def look(self, path: Path, value: Any, about: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Take note of the chat's name, and whose it is where that is told."""
        if path == ("meta",):
            meta = a_dict(value)
            chat = an_id(meta.get("groupId"), meta.get("name"), about["session_id"])
            told = {key: meta.get(key) for key in ("name", "platform", "ownerId")}
            return {**about, "chat": chat, **told}
        return about if path[:1] != ("messages",) else None

    def parts(self, source: Source, notes: list[str]) -> Iterator[Part | Found]:
        """Number the messages of the same second: they have no ids."""
        last, number = None, 0
        for part in super().parts(source, notes):
            if isinstance(part, Part):
                now = a_dict(part.value).get("timestamp")
                last, number = now, number + 1 if now == last else 1
                part = replace(part, about={**part.about, "number": number})
            yield part

    def items(self, part: Part) -> Items:
        """Yield a message."""
        row, about = a_dict(part.value), part.about
        if "timestamp" not in row:
            raise InvalidInputError("it is no message of ChatLab: it has no timestamp")
        chat = f"{an_id(about.get('platform')) or 'chat'}:{an_id(about.get('chat')) or about['session_id']}"
        sender = an_id(row.get("sender"))
        me = an_id(about.get("ownerId"))
        message = Message(
            "user" if me is None or sender == me else "assistant",
            str(row.get("content") or ""),
            name=an_id(row.get("groupNickname"), row.get("accountName"), sender),
            created_at=time_of(row["timestamp"]),
            id=an_id(row.get("platformMessageId")) or f"{chat}/{row['timestamp']}#{about['number']}",
            metadata=said(title=about.get("name"), chatlab=said(sender=sender)),
            session_id=chat,
        )
        yield found(part.where, _KINDS.get(str(row.get("type")), ""), message)
