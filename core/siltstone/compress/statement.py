"""What the rules find: one statement about one person."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from .when import named

FACTS, PREFERENCES, EVENTS = "facts", "preferences", "events"

SELF, OTHER, THING, NOBODY = "self", "other", "thing", "nobody"
"""What a clause is about: the speaker, another person (or pet), a thing, or nobody named in it."""

SINGLE_VALUED: Final = frozenset(
    {"name", "home", "work", "age", "birthday", "email", "phone", "address", "education", "diet", "pronouns"}
)
"""Attributes of which a person has one at a time: a newer statement replaces the older one.

``former home`` and ``former work`` say that such a value holds no longer; they end it and put nothing in its place.
"""

UNDATED: Final = frozenset(
    {
        "name",
        "birthday",
        "origin",
        "relation",
        "email",
        "phone",
        "address",
        "family",
        "like",
        "dislike",
        "possession",
    }
)
"""Attributes whose clause may name a day without having happened on it."""


@dataclass(frozen=True)
class Finding:
    """What one clause is found to tell: a field and an attribute.

    ``future`` says which way a date in it points. ``text`` replaces the clause's own words where the finding rests
    on a part of them.
    """

    field: str
    attribute: str
    future: bool = False
    text: str = ""


@dataclass(frozen=True)
class Statement:
    """One finding about one person.

    ``field`` is ``facts``, ``preferences`` or ``events``; ``text`` the words of the clause that say it;
    ``subject`` whom it is about (``user``, a name, ``user's sister``); ``attribute`` what about them, the same word
    in every language (``home``, ``work``, ``like``, ``instruction`` …); ``when`` the day, where it has one. ``whom``
    are the words of the same message for the one that its pronoun stands for, where it can be nobody else.
    """

    field: str
    text: str
    subject: str
    attribute: str
    when: datetime | None = None
    whom: str = ""


def state(found: Finding, clause: str, subject: str, said_at: datetime | None) -> Statement:
    """Return a finding as a statement, with the day that its clause names, if it is one on which something happens.

    A plan whose time has passed is an event: "here's what I did last week". One for this month has begun on its first
    day, and is a plan to its end.
    """
    meant = None
    if found.attribute not in UNDATED:
        meant = named(clause, said_at, future=found.future, days=31 if found.attribute == "age" else 370)
    attribute = found.attribute
    if attribute == "plan" and meant and said_at and meant.end.date() <= said_at.date() - _WEEK:
        attribute = "event"
    return Statement(found.field, found.text or clause, subject, attribute, meant.start if meant else None)


_WEEK: Final = timedelta(days=7)
"""For so long after its last day, what is spoken of as a plan is one: its end may not be named."""
