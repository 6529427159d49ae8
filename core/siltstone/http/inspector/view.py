"""What every page is given: whose memory it shows, in which words, and how its links and forms lead on."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response

from ...access import Grant
from ...engine import Engine
from ...errors import ConfigurationError
from ...memory import TieredMemory
from ...quality.page.html import tag
from ..scope import memory_of
from .session import SEAL, Session
from .words import WORDS, Words

USER = "user"
"""The parameter by which an admin chooses whose memory is shown."""


@dataclass(frozen=True)
class Look:
    """What a page needs that shows no memory: words, the session's seal, and where the browser is.

    ``has_tokens`` says whether this service asks for them, ``user`` whom an admin has chosen, if anybody,
    ``is_read`` whether the page can be asked for again, ``default`` whose memory is meant where nobody was chosen.
    """

    words: Words
    seal: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    grant: Grant | None = None
    has_tokens: bool = False
    user: str | None = None
    is_read: bool = True
    default: str = ""

    @classmethod
    def of(cls, request: Request) -> Look:
        """Return that of a request, which may have been refused before anybody looked at who asks."""
        session: Session = getattr(request.state, "session", None) or Session.of(request.headers)
        service = request.app.state.service
        query = dict(request.query_params)
        return cls(
            words=WORDS[session.language],
            seal=session.seal(service.page_key),
            path=request.url.path,
            query=query,
            grant=getattr(request.state, "grant", None),
            has_tokens=service.tokens is not None,
            user=query.get(USER) or None,
            is_read=request.method == "GET",
            default="" if service.opened is None else service.opened.user_id,
        )

    def url(self, path: str, /, **query: str | int | None) -> str:
        """Return a link to a page of the inspector, about the same user; ``query`` may have any name."""
        given = {name: str(value) for name, value in {USER: self.user, **query}.items() if value is not None}
        return f"{path}?{urlencode(given, errors='replace')}" if given else path

    def form(self, path: str, /, *content: str, **query: str | int | None) -> str:
        """Return a form that changes something."""
        hidden = f'<input type="hidden" name="{SEAL}" value="{self.seal}">'
        return tag("form", hidden, *content, method="post", action=self.url(path, **query))


@dataclass(frozen=True)
class View:
    """A look at one user's memory."""

    look: Look
    memory: TieredMemory

    @classmethod
    def of(cls, request: Request) -> View:
        """Return that of a request. Raises ``AccessDeniedError`` where its token is good for somebody else."""
        look = Look.of(request)
        return cls(look, memory_of(request, look.user))

    @property
    def words(self) -> Words:
        """The words of the page."""
        return self.look.words

    @property
    def engine(self) -> Engine:
        """What the memory runs on: for what no verb tells. Raises ``ConfigurationError`` for another service's."""
        engine = self.memory.handle
        if not isinstance(engine, Engine):
            raise ConfigurationError("the memory is another service's: its own inspector shows it; nothing was changed")
        return engine

    @property
    def now(self) -> datetime:
        """The present, by the memory's own clock."""
        return self.engine.clock.now()

    def url(self, path: str, /, **query: str | int | None) -> str:
        """Return a link to a page about the same user."""
        return self.look.url(path, **query)

    def form(self, path: str, /, *content: str, **query: str | int | None) -> str:
        """Return a form that changes something of this user's."""
        return self.look.form(path, *content, **query)

    def go(self, path: str, /, **query: str | int | None) -> Response:
        """Return what leads on after a form was taken, so that reloading does not send it again."""
        return Response(status_code=303, headers={"Location": self.url(path, **query)})


def fields(request: Request) -> dict[str, str]:
    """Return the fields of the form that a request brought."""
    found: Any = request.state.form
    return dict(found)
