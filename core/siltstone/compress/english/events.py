"""Plans and happenings in an English clause."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..statement import EVENTS, FACTS, OTHER, SELF, Finding
from ..when import dated
from . import vocabulary as words
from .clauses import Clause
from .predicate import Predicate, is_past, verb_stem
from .tastes import desire, taste

_GET: Final = re.compile(
    r"(?:finally |a |an |my |our |the |back |into |accepted |new )*(?:engaged|married|divorced|promoted"
    r"|hired|fired|laid off|accepted|pregnant|job"
    r"|offer|degree|licen[cs]e|promotion|raise|visa|tickets?|puppy|dog|cat|kitten|scholarship|diagnosed"
    r"|tattoo|keys|results?|surgery"
    r"|citizenship|place)\b",
    re.IGNORECASE,
)
_HAD: Final = re.compile(
    r"(?:a |an |the |my |our )?(?:\w+ )?(?:baby|surgery|operation|accident|stroke|heart attack|miscarriage"
    r"|fight|interview)\b",
    re.IGNORECASE,
)
_RECURRING: Final = re.compile(
    r"\b(?:every|each|usually|always|most|recently|lately|these days|often|sometimes)\b|\b\w+days\b", re.IGNORECASE
)
_VAGUE_TIME: Final = re.compile(r"\b(?:recently|lately|these days)\b", re.IGNORECASE)
_POINTING: Final = re.compile(
    r"(?:it|that|this|them|everything|anything|nothing|to (?:be|have)|in (?:touch|love)|up on|me|for it)\b",
    re.IGNORECASE,
)
_ANNOUNCED: Final = re.compile(r"\bgoing to\b|\bgonna\b|\babout to\b", re.IGNORECASE)
_ERRAND: Final = re.compile(r"(?:it|that|this|you|them|bed|the (?:shop|store|toilet|bathroom))\b", re.IGNORECASE)
_AWAY: Final = re.compile(
    r"(?:off|away|back|out|deployed|abroad|travell?ing|on (?:holiday|vacation|leave)|visiting|heading|in "
    r"town|at sea|due|scheduled|booked"
    r"|supposed|coming|here|over)\b",
    re.IGNORECASE,
)
_BECAME: Final = re.compile(
    r"(?:in|at|on) [A-Z]|(?:diagnosed|hired|fired|promoted|laid off|accepted|admitted|approved|signed"
    r"|cancell?ed|rejected|delayed)\b"
)
_NO_EVENT_NOUN: Final = re.compile(
    r"(?:weather|news|here|there|something|anything|nothing|everything|what|same|thing|problem|point|whole"
    r"|other|rest|\w+days?)\b",
    re.IGNORECASE,
)


def find(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    """Yield the plans and happenings of a clause about a person: what has a day, and what changes a life."""
    if predicate.negated or clause.kind not in (SELF, OTHER):
        return
    if predicate.verb not in words.MOVE and _RESCHEDULED.search(clause.text) and dated(clause.text):
        yield Finding(EVENTS, "plan", future=True)
        return
    if predicate.verb in words.MOVE:
        yield from moved(clause, predicate)
    elif predicate.verb in words.WISH and clause.kind == SELF and predicate.tense in ("present", "perfect", "past"):
        yield from desire(clause, predicate)
    elif predicate.verb in words.PLAN and predicate.tense in ("present", "past", "perfect"):
        if (predicate.after or dated(clause.text)) and not _POINTING.match(predicate.after):
            past = re.search(r"\blast\b|\bago\b|\byesterday\b", clause.text, re.IGNORECASE)
            yield Finding(EVENTS, "plan", future=not past)
    elif predicate.tense in ("past", "perfect"):
        yield from _past(clause, predicate)
    else:
        yield from _ahead(clause, predicate)


def _ahead(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    verb, after, when = predicate.verb, predicate.after, dated(clause.text)
    plan = Finding(EVENTS, "plan", future=True)
    trifling = verb in words.EMPTY
    if predicate.tense == "future":
        announced = _ANNOUNCED.search(clause.text) and after and not _ERRAND.match(after) and not trifling
        if not re.match(r"you\b", after, re.IGNORECASE) and ((when and verb != "let") or announced):
            yield plan
    elif verb == "be":
        if when and _AWAY.match(after):
            yield plan
    elif predicate.progressive:
        if (
            (verb == "get" and _GET.match(after))
            or ((when or verb in words.MILESTONE) and not trifling)
            or (verb == "look" and when and after.startswith("forward"))
        ):
            yield plan
    elif verb == "have":
        if (when and words.EVENT_NOUN.search(after)) or (predicate.modal == "must" and when):
            yield plan
    elif predicate.modal == "must":
        if when:
            yield plan
    elif dated(clause.text, days=100) and not trifling and not predicate.modal and not _RECURRING.search(clause.text):
        yield plan


def _past(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    verb, after, when = predicate.verb, predicate.after, dated(clause.text)
    if predicate.modal:
        return
    if verb == "be":
        if (when and _BECAME.match(after)) or _TURNED_INTO.match(after):
            yield Finding(EVENTS, "event")
    elif (
        (when and verb not in words.EMPTY | words.LIKE and not _VAGUE_TIME.search(clause.text))
        or (verb in words.MILESTONE and after and not _POINTING.match(after))
        or (verb == "have" and _HAD.match(after))
        or (verb == "get" and _GET.match(after))
        or (verb in words.TAKE_PART and words.EVENT_NOUN.search(after))
        or (verb == "hand" and "notice" in after)
        or (verb == "pass" and after.startswith("away"))
        or (verb == "go" and re.match(r"(?:back |over )?to [A-Z]\w+", after))
    ):
        yield Finding(EVENTS, "event")


_RESCHEDULED: Final = re.compile(
    r"\b(?:moved|postponed|rescheduled|pushed|brought forward|delayed|put off|changed) (?:back |forward "
    r")?(?:to|until|till)\b",
    re.IGNORECASE,
)
_PLACE_AND_DAY: Final = re.compile(
    r"[A-ZÀ-Ý][\w'’-]+(?: [A-Z]\w+)?,? (?:on|in|from|next|this) (?:the )?(?:\w+ ){0,2}(?:\d|week|weekend|month"
    r"|January|February|March|April"
    r"|May|June|July|August|September|October|November|December|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)"
)
"""A plan without a verb: "Kyoto on February 3!"."""
_TURNED_INTO: Final = re.compile(
    r"(?:offered|hired|recruited|headhunted|poached|taken on|fired|promoted"
    r"|accepted|diagnosed|laid off|admitted|elected)\b"
    r"|to (?-i:[A-Z])\w+",
    re.IGNORECASE,
)
_MOVED: Final = re.compile(
    r"(?:back |over |up |down |out |in |away |house|all the way |across \w+ )*(?:to|from|in|into|house|out|here"
    r"|home|with)\b|$",
    re.IGNORECASE,
)
_THERE: Final = re.compile(
    r"\b(?:to|into|in)\s+(?!(?:yesterday|today|last|this|just|on|at|now|together|already|recently|finally|and|over"
    r"|a (?:few"
    r"|couple|week|month|year)|\d)\b)(?:a |an |the |our |my )?(?:new )?\w+",
    re.IGNORECASE,
)
"""Where to; "we moved in yesterday" says when."""


def moved(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    """Yield the new home, if one has moved already, and the move, if it has a day or lies ahead."""
    if predicate.negated or not _MOVED.match(predicate.after):
        return
    ahead = predicate.tense == "future" or (predicate.progressive and predicate.tense == "present")
    there = _THERE.search(predicate.after)
    if not ahead and there and predicate.tense in ("past", "perfect"):
        yield Finding(FACTS, "home")
    if ahead or dated(clause.text) or not there:
        yield Finding(EVENTS, "move", future=ahead)


def find_in_thing(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    """Yield events of things that have a day: "the exam is on the 30th", "my pension came through last Monday"."""
    if (
        not clause.noun
        or clause.noun == "it"
        or predicate.negated
        or predicate.modal
        or _NO_EVENT_NOUN.match(clause.noun)
    ):
        return
    future = predicate.tense in ("present", "future") or _RESCHEDULED.search(clause.text) is not None
    if dated(clause.text, days=100 if future else 40) and not _RECURRING.search(clause.text):
        yield Finding(EVENTS, "plan" if future else "event", future=future)


def find_elided(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    """Yield what a clause without a subject tells; in chat it is the speaker's: "Went to Lisbon last week"."""
    first = clause.rest.split(" ")[0].strip(",").lower()
    if re.match(r"name is [A-ZÀ-Ý]", clause.rest, re.IGNORECASE):
        yield Finding(FACTS, "name")
    elif re.match(r"(?:no|zero) (?:more )?\w+ for me\b", clause.rest, re.IGNORECASE):
        yield Finding(FACTS, "diet")
    elif re.match(
        r"(?:never|not|really|absolutely|also|still)?\s*(?:love|hate|can not stand|prefer|like|adore)\b",
        clause.rest,
        re.IGNORECASE,
    ):
        if predicate.tense == "present":
            yield from taste(clause, predicate)
    elif is_past(first) or re.match(r"(?:finally|just|already|recently)\s+\w+", clause.rest, re.IGNORECASE):
        if predicate.tense in ("past", "perfect") and not predicate.negated:
            yield from moved(clause, predicate) if predicate.verb in words.MOVE else _past(clause, predicate)
    elif dated(clause.text, days=100) and not _RECURRING.search(clause.text):
        gerund = re.match(r"\w+ing\b", clause.rest) and verb_stem(first) not in words.EMPTY
        if (
            gerund
            or _PLACE_AND_DAY.match(clause.rest)
            or (words.EVENT_NOUN.search(clause.rest) and len(clause.rest.split()) <= 12)
        ):
            yield Finding(EVENTS, "plan", future=True)
