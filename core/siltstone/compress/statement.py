"""What the rules find: one statement about one person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

FACTS, PREFERENCES, EVENTS = "facts", "preferences", "events"

SINGLE_VALUED: Final = frozenset(
    {"name", "home", "work", "age", "birthday", "email", "phone", "address", "family", "education", "diet", "pronouns"}
)
"""Attributes of which a person has one at a time: a newer statement replaces the older one."""


UNDATED: Final = frozenset(
    {"name", "birthday", "origin", "relation", "email", "phone", "address", "family", "like", "dislike", "age"}
)
"""Attributes whose clause may name a day without having happened on it."""


@dataclass(frozen=True)
class Statement:
    """One finding in one clause.

    ``field`` is ``facts``, ``preferences`` or ``events``; ``text`` the words of the clause that say it;
    ``subject`` whom it is about (``user``, a name, ``user's sister``); ``attribute`` what about them, the same word
    in every language (``home``, ``work``, ``like``, ``instruction`` …); ``when`` the day, where it has one.
    """

    field: str
    text: str
    subject: str
    attribute: str
    when: datetime | None = None
