"""What moves between the tiers, and when: decided from values only, without a store, a model or a clock."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ..records import Message, Record
from ..settings import HALF_LIFE_DAYS, Settings

_WHO: Final = ("name", "pronouns", "age", "birth", "birthday", "origin", "language", "email", "phone", "address")
_KIN: Final = ("family", "relation", "name")  # that the user's sister is Ana is told of Ana, and belongs to the user
_LIFE: Final = ("home", "work", "education", "pet", "possession", "health", "diet")
_WAYS: Final = ("trait", "habit", "hobby", "skill", "like", "dislike", "instruction")
_PROFILE: Final = frozenset((*_WHO, *_LIFE, *_WAYS))
"""What belongs to a person's profile; whatever else is told of them is a fact."""


_PHATIC: Final = re.compile(
    r"(?<![\w'])(?:hi|hiya|hello|hey|yo|good (?:morning|afternoon|evening|night)|morning|thx|ty|"
    r"thanks?(?: you)?(?: so much| a lot)?|ok(?:ay)?|k|"
    r"sure|great|nice|cool|perfect|awesome|lol|haha+|bye|goodbye|see you|yes|yep|yeah|no|nope|got it|"
    r"sounds good|you'?re welcome|no problem|there|all|again|everyone|that helps|for (?:that|your help))(?![\w'])|"
    r"(?:你好|您好|嗨|哈喽|早上好|早安|晚安|下午好|晚上好|谢谢(?:你|您)?|多谢|感谢|好的?|行|可以|嗯+|哦+|哈+|没问题|没事|不客气|再见|"
    r"拜拜|知道了|明白了?|了解|收到|对的?|是的?|啊|呀|吧|啦|了)",
    re.IGNORECASE,
)


def worth_recalling(text: str) -> bool:
    """Return whether a turn can need anything from memory: a greeting, thanks, "ok", an emoji cannot.

    When in doubt it can. In English and Chinese.
    """
    return any(character.isalnum() for character in _PHATIC.sub("", text)) if len(text) <= _SHORT else True


def _silence(last_said: datetime, now: datetime) -> float:
    """Return for how many seconds nothing was said. A clock so far ahead was wrong: nobody waits until it is right."""
    return abs((now - last_said).total_seconds())


_SHORT: Final = 60  # characters: nothing longer is only a greeting


@dataclass(frozen=True)
class Policy:
    """Decides by ``Settings``: when a span is due, and what becomes of what it tells."""

    settings: Settings

    def due(self, turns: int, tokens: int, last_said: datetime, now: datetime) -> str | None:
        """Return why the open end of a session is due for compression, in a few words, or ``None``: not yet."""
        settings = self.settings
        if turns >= settings.span_turns:
            return f"{turns} turns"
        if tokens >= settings.span_tokens:
            return f"{tokens} tokens"
        if _silence(last_said, now) >= settings.span_idle:
            return "the session is silent"
        return None

    def over(self, last_said: datetime, now: datetime) -> bool:
        """Return whether a session has ended, as far as its silence tells."""
        return _silence(last_said, now) >= self.settings.session_idle

    def deserves_summary(self, messages: Sequence[Message], tokens: int) -> bool:
        """Return whether a span is long enough for a summary; a few short turns are as short as theirs would be."""
        return tokens >= SUMMARISED and len(messages) > 1

    def kind_of(self, field: str, subject: str | None, attribute: str | None, speakers: Sequence[str]) -> str:
        """Return the kind of record that an item of a digest becomes.

        ``field`` is the list of the digest that holds it; ``speakers`` are the people who take part, ``user`` among
        them where nobody is named: what they tell of themselves is profile, what they tell of others is a fact.
        """
        if field == "events":
            return "event"
        if attribute in _KIN:
            return "profile"
        if field == "preferences" or attribute in _PROFILE:
            return "profile" if subject is None or subject in speakers else "fact"
        return "fact"

    @property
    def bounded(self) -> bool:
        """Whether a user may have only so much, so that records are evicted."""
        return self.settings.capacity_records is not None or self.settings.capacity_bytes is not None

    def value(self, record: Record, now: datetime, *, like: str | None = None) -> float:
        """Return what a record is worth keeping for: the least valuable are evicted first.

        ``WORTH`` of its kind, halved with every half-life of its kind that has passed since it was said or updated,
        a quarter of its importance (half where unknown), a tenth for each doubling of its support; half of it all for
        what has been replaced. ``like``: the kind that it counts as, if not its own.
        """
        kind = record.kind if like is None else like
        half_life = HALF_LIFE_DAYS.get(kind)
        age = max((now - (record.updated_at or record.created_at)).total_seconds() / 86_400, 0.0)
        fresh = 1.0 if half_life is None else 0.5 ** (age / half_life)
        importance = 0.5 if record.importance is None else record.importance
        worth = WORTH.get(kind, 1.0) * fresh + 0.25 * importance + 0.1 * math.log2(max(record.support, 1))
        return worth / 2 if record.superseded_by is not None else worth

    def merit(self, record: Record, now: datetime) -> tuple[bool, float, datetime]:
        """Return by what records of the profile are ordered, the best greatest: pinned, valuable, new."""
        return record.pinned, self.value(record, now), record.updated_at or record.created_at


WORTH: Final = {"profile": 1.0, "fact": 0.8, "insight": 0.8, "event": 0.7, "summary": 0.6, "turn": 0.3}
"""What a fresh record of a kind is worth; other kinds, which only people write, 1."""
SUMMARISED: Final = 120
"""Tokens from which a span gets a summary of its own."""
