"""What was said in a span of messages, by whom: the form in which both summarizers read it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from ..records import Message, unique
from ..text.guard import label, without_injected
from ..text.language import script
from .material import without_material

USER: Final = "user"
"""The subject of what an unnamed user says of themselves."""

_MACHINES: Final = frozenset({"assistant", "ai", "bot", "chatbot", "model", "gpt", "chatgpt", "助手", "助理", "机器人"})
_CODE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)


@dataclass(frozen=True)
class Utterance:
    """One message of the span that says something.

    ``position`` is its place in the span, ``text`` what was said, without injected memories and code blocks.
    ``speaker`` is the name, or the role where there is none. ``person`` tells people from assistants: only people's
    statements about themselves are memories.
    """

    position: int
    message: Message
    text: str
    speaker: str
    person: bool

    @property
    def told(self) -> str:
        """What of it the speaker tells: without what they quote, or hand over to be worked on."""
        return without_material(self.text)

    @property
    def source_ids(self) -> tuple[str, ...]:
        """The message's id, if it has one."""
        return (self.message.id,) if self.message.id is not None else ()


def utterances(messages: Sequence[Message]) -> list[Utterance]:
    """Return what users and assistants said, in order; system and tool messages, and empty ones, are left out."""
    found = []
    for position, message in enumerate(messages):
        if message.role not in ("user", "assistant"):
            continue
        text = _CODE.sub(" ", without_injected(message.content)).strip()
        if text:
            found.append(Utterance(position, message, text, called(message) or message.role, _is_person(message)))
    return found


def called(message: Message) -> str | None:
    """Return the name of who said a message, on one line, or ``None`` where nobody is named."""
    return label(message.name or "") or None


def source_ids(messages: Iterable[Message]) -> tuple[str, ...]:
    """Return the ids of the messages that have one."""
    return unique(message.id for message in messages if message.id is not None)


def in_chinese(said: Sequence[Utterance]) -> bool:
    """Return whether the people of a conversation speak mainly Chinese; where they say nothing, the assistant."""
    people = " ".join(one.text for one in said if one.person) or " ".join(one.text for one in said)
    return script(people) == "han"


def _is_person(message: Message) -> bool:
    if message.role == "user":
        return True
    return message.name is not None and message.name.strip().casefold() not in _MACHINES
