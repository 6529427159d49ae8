"""Reads the generic form: a list, or lines, of ``{"id", "text"}``, each a dialogue or a single text.

``text`` holds lines of ``User:`` and ``Assistant:``, or ``用户：`` and ``助手：``; without them it is a message of the
user. The id is the session's; messages are known by their place in it (``id.3``), and those behind its end go when
a shorter text comes: the text is all of the dialogue. Other fields are kept as metadata.
"""

from __future__ import annotations

from ..errors import InvalidInputError
from ..records import Message
from ..text.dialogue import turns
from .json_peek import first
from .parts import JsonReader
from .reader import Found, Items, Part, PassedOver, Said, Whole
from .source import Source
from .values import EMPTY, a_dict, an_id, time_of

_TIMES = ("created_at", "timestamp", "time", "date")
_IDS = ("id", "dialogue_id")
_TEXTS = ("text", "dialogue_text")


class Generic(JsonReader):
    """The reader of ``{"id", "text"}``."""

    format = "generic"
    part_is = "dialogue"

    def recognises(self, source: Source) -> bool:
        """Return whether the first element has an id and a text."""
        value = a_dict(first(source.sample))
        return any(key in value for key in _IDS) and (any(key in value for key in _TEXTS) or len(value) == 1)

    def items(self, part: Part) -> Items:
        """Yield the messages of a dialogue."""
        value = a_dict(part.value)
        session_id = an_id(*(value.get(key) for key in _IDS))
        text = next((value[key] for key in _TEXTS if isinstance(value.get(key), str)), None)
        if session_id is None or text is None:
            raise InvalidInputError('it is no dialogue: {"id", "text"} is needed')
        times = {key: time for key in _TIMES if (time := time_of(value.get(key))) is not None}
        rest = {key: kept for key, kept in value.items() if key not in (*_IDS, *_TEXTS, *list(times)[:1])}
        found = turns(text)
        if not found:
            yield Found(part.where, PassedOver(EMPTY))
        for number, (role, content) in enumerate(found, 1):
            known = Message(
                role,
                content,
                created_at=next(iter(times.values()), None),
                id=f"{session_id}.{number}",
                metadata=rest or None,
                session_id=session_id,
            )
            yield Found(f"{part.where}, message {number}", Said(known))
        yield Found(part.where, Whole(f"{session_id}.", len(found)))
