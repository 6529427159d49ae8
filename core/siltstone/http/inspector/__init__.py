"""The inspector, served at ``/``: what the memory knows, for people who would rather look.

One file per page, each with its routes, what it asks of the memory, and how that is drawn:

``known``      who the user is, what is coming up, facts by topic
``searching``  a search, with the parts of each score as bars
``timeline``   records and conversations by day; ``conversation`` is one of the latter
``record``     one memory beside its sources: its history, and forms to edit (``editing``) and pin it
``forgetting`` what would go along, and then the going
``work``       the worker's queue and dead letters, size and growth
``digests``    digests that a person is to look at
``entrance``   logging in and out; ``failure`` is what a page says that cannot be shown, ``refused`` shows it for what
               went wrong before any page was reached

``route`` stands before them, ``session`` knows the browser, ``view`` is what a page is given, ``parts`` draws what they
have in common, ``words`` has their texts in English and Chinese. There is no step of building, and nothing comes from
elsewhere.
"""

from __future__ import annotations

from fastapi import APIRouter

from . import assets, conversation, digests, entrance, forgetting, known, record, searching, timeline, work
from .refused import Refused
from .session import FORM, is_page, token_of

__all__ = ["FORM", "Refused", "is_page", "routers", "token_of"]

routers: tuple[APIRouter, ...] = tuple(
    room.router
    for room in (known, searching, timeline, conversation, record, forgetting, work, digests, entrance, assets)
)
