"""Lasting facts in an English clause: name, work, home, family, health, habits."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Final

from ..lexicon import pattern, words_of
from ..statement import FACTS, OTHER, PREFERENCES, SELF, Finding
from ..when import dated
from . import vocabulary as words
from .clauses import NO_NAMES, Clause
from .predicate import Predicate, is_past
from .rules import AGE, ANIMAL, ANY, BODY, NUMBER, PLACE, RULES

_IN_PLACE: Final = pattern(rf"\b{PLACE}(?:,?\s+(?-i:[A-ZÀ-Ý])[\w'’-]+)*")
_NO_PLACE: Final = re.compile(
    r"\b(?:in|at|near|by|on)\s+(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat"
    r"|Sun|Christmas|Easter"
    r"|English|Chinese|French|German|Spanish|Japanese|Italian|Portuguese|Korean|Excel|Python|Java|Word|React)\w*"
)
_MEASURE: Final = pattern(r"\d+\s*(?:%|percent|am|pm|minutes?|hours?|days?|km|miles|kilos?|kg|dollars|euros|pounds)")
_NAMED: Final = pattern(r"(?:called|named|known as) (?-i:[A-ZÀ-Ý]\w+)")
_OF_ORIGIN: Final = pattern(r"(?:originally |actually )?from (?:an? \w+|the \w+|(?-i:[A-ZÀ-Ý]))")
_RESIDENT: Final = pattern(
    r"(?:based|located|stationed|settled) (?:in|near|at|out of|outside)\b|(?:\w+ ){1,4}away(?: \w+)? in (?-i:[A-Z])"
)
_HIRED: Final = pattern(r"(?:employed|hired|recruited|taken on) (?:by|at|with) (?:the )?(?-i:[A-ZÀ-Ý])")
_HELD: Final = pattern(rf"(?:{NUMBER}|my own)\s")
_KIN_HELD: Final = pattern(
    rf"(?P<n>{NUMBER})\s+(?:[a-z-]+\s+){{0,2}}?(?:(?P<pet>{ANIMAL})|kids?|children|sons?|daughters?|brothers?|sisters?"
    r"|siblings?|cousins?|nieces?|nephews?"
    r"|twins|grandchildren|grandkids|husband|wife|partner|girlfriend|boyfriend|toddlers?|bab(?:y|ies)"
    r"|step(?:son|daughter)s?|roommates?"
    r"|flatmates?)\b"
)
_ILL: Final = pattern(
    r"(?:an?\s+|some\s+|severe\s+|mild\s+|chronic\s+|terrible\s+|bad\s+|really\s+|type (?:1|2|one"
    r"|two)\s+)*(?:\w+\s+)?(?:allerg(?:y|ies)"
    r"|asthma|diabetes|arthritis|migraines?|anxiety|depression|insomnia|adhd|autism|eczema|psoriasis"
    r"|epilepsy|ibs|celiac|coeliac"
    rf"|high blood pressure|hypertension|cholesterol|cancer|condition|disease|syndrome|disorder|intolerance"
    rf"|back pain|(?:bad |weak ){BODY}"
    r"|tinnitus|hay fever|pacemaker|scoliosis)\b"
)
_TONGUE: Final = re.compile(
    r"(?:an?|the)?\s*(?:\w+\s+)?(?:[ABC][12]|fluent|native|basic|some|good)?\s*[A-Z]\w+(?:ish|ese|ian|man"
    r"|ench|tch|eek|bic|ndi)\b"
)
_TRADE: Final = pattern(
    r".*\b(?:practice|shop|store|company|business|studio|restaurant|farm|firm|caf[eé]|stall|salon|bakery)\b"
    r"|(?:an? |the )?(?:[\w-]+ ){0,2}(?:job|position|post|role) (?:at|with|for|in|as)\b"
)


_WHERE: Final = pattern(r"(?:at|for|as|in|with|there|here|near|on)\b")


_STAYS: Final = words_of("become became becoming stay stayed staying remain remained remaining")
_OVER: Final = pattern(r"\b(?:no longer|any ?more|any longer)\b")
_NO_LONGER_THERE: Final = pattern(
    r"(?:(?P<in>in|living in)|at|with|working (?:at|for)) (?:the )?(?-i:[A-Z])\w+.*\b(?:any ?more|any longer)\b"
)


def find(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    """Yield the facts that a clause tells about a person."""
    if predicate.verb == "be":
        yield from _being(clause, predicate)
    elif (
        predicate.word in _STAYS
        and not predicate.negated
        and (predicate.word.startswith("bec") or words.STATE.match(predicate.after))
    ):
        yield from _being(clause, dataclasses.replace(predicate, verb="be", tense="present"))
    elif predicate.verb == "have":
        yield from _having(clause, predicate)
    if predicate.verb != "be":
        rule = next((rule for rule in RULES if rule.fits(clause, predicate)), None)
        if rule is not None:
            former = (rule.former and predicate.negated and _WHERE.match(predicate.after) is not None) or (
                predicate.modal == "used" and not rule.attribute.startswith("former")
            )
            future = predicate.tense in ("future", "present")
            yield Finding(rule.field, f"former {rule.attribute}" if former else rule.attribute, future=future)


def find_elided(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    """Yield the facts of a past clause without a subject; in chat it is the speaker's: "Started at Bosch"."""
    if is_past(predicate.word):
        yield from find(dataclasses.replace(clause, kind=SELF), predicate)


def _being(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    after = predicate.after
    current = predicate.tense in ("present", "perfect")
    if match := _NAMED.match(after) or _given_name(clause, after):
        yield Finding(FACTS, "name", text=_upto(clause, match.group()))
        after = after[match.end() :].lstrip(", ")
    if not after:
        return
    if _OF_ORIGIN.match(after):
        yield Finding(FACTS, "origin")
    elif re.match(r"born\b", after, re.IGNORECASE):
        yield Finding(FACTS, "birth")
    elif current and AGE.match(after) and not _MEASURE.match(after):
        yield Finding(FACTS, "age")
    elif match := words.DISPOSITION.match(after):
        if current:
            yield Finding(PREFERENCES, "like" if match["like"] and not predicate.negated else "dislike")
    elif match := words.STATE.match(after):
        if current or match["family"]:
            yield Finding(FACTS, next(name for name, value in match.groupdict().items() if value))
    elif current and _HIRED.match(after):
        yield Finding(FACTS, "work")
    elif current and predicate.negated and (left := _NO_LONGER_THERE.match(after)):
        yield Finding(FACTS, "former home" if left["in"] else "former work")
    elif current and (_RESIDENT.match(after) or (match := _at_place(clause, predicate, after))):
        yield Finding(FACTS, "home")
    elif current and words.SECTOR.match(after):
        yield Finding(FACTS, "work")
    elif words.DEMONYM.match(after):
        if current:
            yield Finding(FACTS, "origin")
    else:
        yield from _identity(clause, predicate, after)


_BOUNDED: Final = pattern(
    r"\b(?:for|during) (?:the|an?|one|two|three|four|\d+|this|that|a few|a couple of|some|my|our)(?: [\w-]+){0,2}? "
    r"(?:days?|nights?|weekends?|weeks?|months?|fortnight|conference|wedding|funeral|holidays?|vacation|honeymoon"
    r"|meetings?|interview|match|concert|festival|visit|trip|tour|break|while|stopover|layover|bit)\b"
    r"|\b(?:on (?:holiday|vacation|business|leave|tour|a \w+)|visiting|passing through|until|till|for work\b(?! since))"
)
"""What makes a place one of a stay: "we're in Bergen for the weekend"."""


def _at_place(clause: Clause, predicate: Predicate, after: str) -> re.Match[str] | None:
    """Match "I'm in Chicago now": a place, and no date, which would make it a trip."""
    match = pattern(PLACE).match(after)
    if match is None or predicate.negated or _NO_PLACE.match(match.group()) or dated(clause.text):
        return None
    return None if _BOUNDED.search(after) else match


def _given_name(clause: Clause, after: str) -> re.Match[str] | None:
    """Match the name in "I'm Alice": a capital, and nothing that makes it an adjective."""
    if clause.kind != SELF:
        return None
    match = re.match(
        r"([A-ZÀ-Ý][a-zà-ÿ]+(?: [A-ZÀ-Ý][a-zà-ÿ]+)?)(?=$|,|\.|\s+(?:and|from|by the way|btw|here)\b)", after
    )
    if match is None or match[1].split()[0] in NO_NAMES or words.DEMONYM.match(after) or words.STATE.match(after):
        return None
    return match


_HEAD_STOP: Final = pattern(
    r"\s+(?:in|at|for|with|from|and|who|that|but|on|of|by|working|based|here|there|now|to|because|since"
    r"|specialising|specializing)\b|[,.;(]|$"
)
_ARTICLE: Final = pattern(r"(?:an?|the|our|my)\s")
_SENIORITY: Final = ("head", "lead", "senior", "junior", "ceo", "cto", "chief", "vice")


def _identity(clause: Clause, predicate: Predicate, after: str) -> Iterator[Finding]:
    """Yield what "a front-end engineer in Shenzhen" tells; its head noun decides."""
    stop = _HEAD_STOP.search(after)
    phrase = after[: stop.start()].strip() if stop else after
    parts = phrase.split()
    if not parts:
        return
    head = parts[-1].lower().strip("'’\"")
    article = _ARTICLE.match(phrase)
    occupation = words.OCCUPATION.fullmatch(head) and head not in words.NO_OCCUPATION and not is_past(head)
    if occupation and (article or after.lower().startswith(_SENIORITY)):
        place = _IN_PLACE.search(after)
        if (
            place
            and clause.kind == SELF
            and predicate.tense == "present"
            and not predicate.negated
            and place.group()[:3].lower() == "in "
            and not _NO_PLACE.match(place.group())
        ):
            # One clause, two facts: each is to be replaced without the other.
            yield Finding(FACTS, "work", text=_joined(clause, after.replace(place.group(), "").strip(" ,")))
            yield Finding(FACTS, "home", text=_joined(clause, place.group()))
        else:
            past = predicate.modal == "used" or predicate.tense == "past" or predicate.negated
            yield Finding(FACTS, "former work" if past else "work", future=predicate.tense == "future")
    elif (
        article
        and clause.kind == SELF
        and predicate.tense == "present"
        and not article.group().lower().startswith("the")
    ):
        vague = len(parts) > 1 and parts[1].lower() in words.VAGUE
        if head not in words.VAGUE and len(head) > 2 and not vague:
            yield Finding(FACTS, "trait")


def _having(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    after = predicate.after
    if predicate.tense not in ("present", "perfect") or predicate.progressive or clause.kind not in (SELF, OTHER):
        return
    if _ILL.match(after):
        yield Finding(FACTS, "health")
    elif match := _KIN_HELD.match(after):
        yield Finding(FACTS, "pet" if match["pet"] else "family")
    elif _TONGUE.match(after) and len(after.split()) < 4:
        yield Finding(FACTS, "language")
    elif predicate.negated and _OVER.search(clause.text) and _HELD.match(after) and not words.NOT_HELD.match(after):
        yield Finding(FACTS, "former possession")
    elif predicate.negated or predicate.tense != "present" or dated(clause.text, days=40):
        return
    elif _HELD.match(after) and not words.NOT_HELD.match(after) and not words.EVENT_NOUN.search(after):
        yield Finding(FACTS, "work" if _TRADE.match(after) else "possession")


_ATTRIBUTES: Final = words.ATTRIBUTES
_PRESENT: Final = pattern(r"^(?:(?:new|current|present|latest|updated|actual|main|primary|own)\s+)+")
"""What makes of an attribute the one that holds: "my new email is …"."""
_AILS: Final = pattern(
    rf"\b{BODY} (?:really |still |always |often )?(?:hurts?|aches?|is (?:sore|killing|bad|bothering"
    rf"|clicking|still|weak|stiff)|clicks?|kills me|gives me trouble)\b"
)
_HERE: Final = pattern(
    rf"\b(?:here in|back home in)\s+(?-i:[A-Z])\w+|\b(?:my|our|a|the|new)\s+(?:[\w-]+\s+){{0,4}}?(?:room"
    rf"|flat|apartment|studio|house|cottage|kitchen|garden|houseshare)\s+{PLACE}"
)


def find_in_thing(clause: Clause, predicate: Predicate | None) -> Iterator[Finding]:
    """Yield what a clause about a thing tells of a person: "my birthday is …", "my left knee hurts"."""
    if _AILS.search(clause.text) and not re.search(r"\byour?\b", clause.text, re.IGNORECASE):
        yield Finding(FACTS, "health")
        return
    if predicate is None or not re.match(r"(?:my|our|his|her|their|name)\b", clause.text, re.IGNORECASE):
        return
    match = _ATTRIBUTES.fullmatch(_PRESENT.sub("", clause.noun))
    if match is None or predicate.tense not in ("present", "perfect"):
        return
    kind = next(name for name, value in match.groupdict().items() if value)
    if kind == "home" or (kind == "address" and re.search(PLACE, clause.text) and not re.search(r"\d", clause.text)):
        if re.search(PLACE, clause.text):
            yield Finding(FACTS, "home")
    elif predicate.verb == "be" and predicate.after and _VALUES.get(kind, ANY).search(predicate.after):
        taste = {"favourite": "like", "goal": "wish"}.get(kind)
        yield Finding(PREFERENCES, taste) if taste else Finding(FACTS, kind)


_VALUES: Final = {
    "name": pattern(r"(?-i:[A-ZÀ-Ý])|[\u4e00-\u9fff]"),
    "birthday": pattern(
        r"\d|\b(?:today|tomorrow|yesterday|(?:next|this|last) \w+|first|second|third|in (?-i:[A-Z]))\b"
    ),
    "email": pattern(r"\w@\w"),
    "phone": pattern(r"\d[\d ()/-]{3,}"),
}
"""What a value of an attribute must hold: "my phone is broken" gives no number."""
_SOUGHT: Final = pattern(
    r"\b(?:look(?:ing|ed)? (?:for|at)|search\w*|hunt\w*|view(?:ing|ed)|want|need|dream\w*|visit\w*|considering)\b"
)


def find_in_passing(clause: Clause) -> Iterator[Finding]:
    """Yield where somebody lives from "our flat here in Sheffield", whatever the clause is about."""
    match = _HERE.search(clause.text)
    if match and not _NO_PLACE.search(match.group()) and not dated(clause.text) and not _SOUGHT.search(clause.text):
        yield Finding(FACTS, "home")


def _upto(clause: Clause, end: str) -> str:
    """Return the beginning of the clause as written, up to the words that end a finding."""
    place = clause.text.find(end)
    return clause.text[: place + len(end)] if place >= 0 else clause.text


def _joined(clause: Clause, part: str) -> str:
    """Return subject and verb of the clause with only a part of what follows: "I'm" … "in Shenzhen"."""
    match = re.match(r"(?:i['’]?m|i am|we['’]?re|we are)\b", clause.text, re.IGNORECASE)
    return f"{match.group()} {part}" if match else clause.text
