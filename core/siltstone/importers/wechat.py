"""Reads WeChat's chats as its exporters write them: CSV (MemoTrace) and JSON (WeFlow).

A chat is the session ``wechat:<id of who it is with>``, and a message ``wechat:<that>/<its local id>``. What the
owner sent is the user's; everyone else is the assistant, by the name that the owner gave them. Text, quotations, links
and files have words; the rest is passed over.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from ..errors import InvalidInputError
from ..records import Message
from .csv_rows import fields, rows
from .json_stream import Path
from .parts import JsonReader
from .reader import Found, Items, Part, PassedOver, Said, Unreadable
from .source import Source
from .text_file import lines, text_of
from .values import EMPTY, NO_WORDS, NOTICE, a_dict, an_id, said, time_of

TEXT, APP, NOTICES = "1", "49", "10000"
"""WeChat's kinds of messages: words; quotations, links and files, in XML or by their title; notices."""
_GROUP: Final = "@chatroom"
_TITLE: Final = re.compile(r"<title>(?:<!\[CDATA\[)?(.*?)(?:\]\]>)?</title>", re.S)
_SENDER: Final = re.compile(r"([A-Za-z][\w@.-]{4,}):\n")
_NEEDED: Final = {"localId", "TalkerId", "Type", "IsSender", "CreateTime", "StrContent"}


class WeChat(JsonReader):
    """The reader of WeChat's messages, a table or one chat."""

    format = "wechat"
    part_is = "message"

    def recognises(self, source: Source) -> bool:
        """Return whether the first line names the columns, or it is one chat with its messages."""
        sample = a_dict(source.sample)
        return _is_table(source) or "weflow" in sample or {"wxid", "displayName"} <= set(a_dict(sample.get("session")))

    def parts(self, source: Source, notes: list[str]) -> Iterator[Part | Found]:
        """Yield each row of a table as an object, or each message of a chat."""
        if source.head.lstrip()[:1] in (b"{", b"["):
            yield from super().parts(source, notes)
            return
        columns: list[str] = []
        for number, row in rows(lines(source, notes)):
            where = f"line {number}"
            if row is None:
                yield Found(where, Unreadable("a quotation in it has no end"))
            elif not columns:
                columns = [name.strip() for name in row]
                if not set(columns) >= _NEEDED:
                    raise InvalidInputError(f"{source.name} is no table of WeChat: nothing was imported")
            else:
                yield Part(self.format, where, {}, dict(zip(columns, row, strict=False)))

    def opens(self, path: Path, bracket: bytes, about: Mapping[str, Any]) -> bool:
        """Open the chat and its list of messages."""
        return not path or path == ("messages",)

    def look(self, path: Path, value: Any, about: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Take note of who the chat is with."""
        if path == ("session",):
            return {**about, **{key: a_dict(value).get(key) for key in ("wxid", "displayName", "remark", "nickname")}}
        return about if path[:1] != ("messages",) else None

    def items(self, part: Part) -> Items:
        """Yield a message."""
        row = a_dict(part.value)
        if an_id(row.get("localId")) is None:
            raise InvalidInputError("it is no message of WeChat: it has no localId")
        if "StrContent" in row:
            yield found(part.where, str(row.get("Type")), _of_table(row))
        else:
            yield found(part.where, str(row.get("localType")), _of_chat(row, part.about))


def found(where: str, kind: str, message: Message) -> Found:
    """Return what a message of WeChat's kind is: words, something without words, a notice."""
    text = message.content
    if kind == NOTICES:
        return Found(where, PassedOver(NOTICE))
    if kind == APP and text.lstrip().startswith("<"):
        match = _TITLE.search(text)
        text = html.unescape(match[1]) if match else ""
    elif kind not in (TEXT, APP):
        return Found(where, PassedOver(NO_WORDS))
    if not text.strip():
        return Found(where, PassedOver(EMPTY if kind == TEXT else NO_WORDS))
    return Found(where, Said(replace(message, content=text)))


def _is_table(source: Source) -> bool:
    return set(fields(text_of(source).partition("\n")[0].strip())) >= _NEEDED


def _of_table(row: Mapping[str, Any]) -> Message:
    talker = an_id(row.get("TalkerId"), row.get("Sender")) or "unknown"
    sender = an_id(row.get("Sender"))
    contact = an_id(row.get("Remark"), row.get("NickName"))
    mine, in_group = str(row.get("IsSender")) == "1", talker.endswith(_GROUP)
    text, name = str(row.get("StrContent") or ""), contact or sender
    if in_group and not mine and (match := _SENDER.match(text)):
        text, name = text[match.end() :], contact or match[1]
    return Message(
        "user" if mine else "assistant",
        text,
        name=None if mine else name,
        created_at=time_of(row.get("CreateTime")) or time_of(row.get("StrTime")),
        id=f"wechat:{talker}/{row['localId']}",
        metadata=said(title=None if in_group else contact, wechat=said(sender=sender)),
        session_id=f"wechat:{talker}",
    )


def _of_chat(row: Mapping[str, Any], about: Mapping[str, Any]) -> Message:
    chat = an_id(about.get("wxid")) or about["session_id"]
    mine = str(row.get("isSend")) == "1"
    sender = an_id(row.get("senderUsername"))
    return Message(
        "user" if mine else "assistant",
        str(row.get("content") or ""),
        name=None if mine else an_id(row.get("senderDisplayName"), about.get("displayName"), sender),
        created_at=time_of(row.get("createTime")) or time_of(row.get("formattedTime")),
        id=f"wechat:{chat}/{row['localId']}",
        metadata=said(title=an_id(about.get("displayName"), about.get("remark")), wechat=said(sender=sender)),
        session_id=f"wechat:{chat}",
    )
