"""One conversation, message by message."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request, Response

from ...errors import NotFoundError
from ...quality.page.html import tag
from . import parts
from .route import PageRoute
from .view import View

router = APIRouter(prefix="/inspector", include_in_schema=False, route_class=PageRoute)

_PAGE: Final = 100


@router.get("/session")
def session(request: Request, id: str, before: str | None = None) -> Response:
    """Show the messages of a conversation in order: the newest, or those before one of them."""
    view = View.of(request)
    words = view.words
    said = view.memory.messages(id, limit=_PAGE, before=before)
    if not said and before is None:
        raise NotFoundError(f"this user has no conversation {id!r}")
    earlier = ""
    if len(said) == _PAGE:
        url = view.url("/inspector/session", id=id, before=said[0].id)
        earlier = tag("p", parts.link(words.earlier, url))
    return parts.page(
        view.look,
        words.conversation.format(id=id),
        earlier,
        tag("ol", *(parts.message_line(view, message) for message in said), class_="talk"),
        tag("p", parts.link(words.forget_conversation, view.url("/inspector/forget", session=id), class_="danger")),
    )
