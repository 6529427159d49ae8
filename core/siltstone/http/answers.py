"""What is answered: values as JSON, and the models that describe them in the OpenAPI document."""

from __future__ import annotations

from typing import Any

import orjson
from fastapi import Response
from pydantic import BaseModel

from ..records import Hit, Message, Record, Section, SessionInfo
from ..wire import plain


def answer(value: Any, status: int = 200) -> Response:
    """Return a value as JSON, as ``siltstone.wire`` has it."""
    return Response(orjson.dumps(plain(value)), status, media_type="application/json")


class Written(BaseModel):
    """A dialogue is stored: ``memory_id`` is its session, ``message_ids`` those of its messages, in order."""

    status: str
    memory_id: str
    message_ids: list[str]


class Ids(BaseModel):
    """Ids of what is stored, in order."""

    ids: list[str]


class Id(BaseModel):
    """The id of what is stored."""

    id: str


class Answer(BaseModel):
    """What is remembered for a question: a text for the prompt, its tokens, and what was found, best first."""

    context: str
    tokens: int
    hits: list[Hit]


class Hits(BaseModel):
    """What was found, best first."""

    hits: list[Hit]


class ContextAnswer(BaseModel):
    """A context; ``prompt`` and ``messages`` where a question came with the request."""

    text: str
    tokens: int
    sections: list[Section]
    hits: list[Hit]
    omitted: dict[str, int]
    recent: list[Message]
    max_tokens: int
    memories: str
    prompt: str | None = None
    messages: list[Message] | None = None


class Messages(BaseModel):
    """Messages in order."""

    messages: list[Message]


class Sessions(BaseModel):
    """Conversations, the one written to last at the end."""

    sessions: list[SessionInfo]


class Versions(BaseModel):
    """What a record was before, newest first."""

    versions: list[Record]


class Revision(BaseModel):
    """A token that changes with every write of the user."""

    revision: str


class Status(BaseModel):
    """Whether the service can do its work."""

    status: str
