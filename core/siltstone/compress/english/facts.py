"""Lasting facts in an English clause: name, work, home, family, health, habits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ..statement import EVENTS, FACTS, OTHER, PREFERENCES, SELF, Finding
from ..when import dated
from . import vocabulary as words
from .clauses import NO_NAMES, Clause
from .predicate import Predicate, is_past

ANY = re.compile("")


def pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern that ignores case, except where it asks for a capital by ``(?-i:[A-Z])``."""
    return re.compile(text, re.IGNORECASE)


@dataclass(frozen=True)
class Rule:
    """What a verb tells: an attribute, if what follows the verb fits.

    ``tenses`` are those that count (``used`` is "used to"); ``negated`` and ``progressive`` demand or forbid, unless
    ``None``; ``former`` marks the attribute when the clause denies it; ``undated`` forbids a date in the clause.
    """

    attribute: str
    verbs: frozenset[str]
    after: re.Pattern[str] = ANY
    tenses: str = "present perfect used"
    negated: bool | None = None
    progressive: bool | None = None
    kinds: tuple[str, ...] = (SELF, OTHER)
    modals: tuple[str, ...] = ("", "can", "used", "must")
    field: str = FACTS
    former: bool = False
    undated: bool = False

    def fits(self, clause: Clause, predicate: Predicate) -> bool:
        """Return whether a clause with this predicate tells what the rule is about."""
        tense = "used" if predicate.modal == "used" else predicate.tense
        return (
            predicate.verb in self.verbs
            and clause.kind in self.kinds
            and tense in self.tenses.split()
            and predicate.modal in self.modals
            and self.negated in (None, predicate.negated)
            and self.progressive in (None, predicate.progressive)
            and self.after.match(predicate.after) is not None
            and not (self.undated and dated(clause.text))
        )


PLACE: Final = r"(?:in|near|outside|around|at|by|just outside)\s+(?:the\s+)?(?-i:[A-ZÀ-Ý])[\w'’-]+"
_IN_PLACE: Final = pattern(rf"\b{PLACE}(?:,?\s+(?-i:[A-ZÀ-Ý])[\w'’-]+)*")
_NO_PLACE: Final = re.compile(
    r"\b(?:in|at|near|by|on)\s+(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun|Christmas|Easter"
    r"|English|Chinese|French|German|Spanish|Japanese|Italian|Portuguese|Korean|Excel|Python|Java|Word|React)\w*"
)
_AGE: Final = pattern(
    r"(?:only |almost |nearly |about |just )?(?:\d{1,3}|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ]\w+)?"
    r"|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen)"
    r"(?:$|\s+(?:years?|months?|weeks?)(?:[ -]old)?\b|(?=\s+(?:now|today|this|next|last|in|on|and|already|years)\b)|(?=,))"
)
_MEASURE: Final = pattern(r"\d+\s*(?:%|percent|am|pm|minutes?|hours?|days?|km|miles|kilos?|kg|dollars|euros|pounds)")
_NAMED: Final = pattern(r"(?:called|named|known as) (?-i:[A-ZÀ-Ý]\w+)")
_OF_ORIGIN: Final = pattern(r"(?:originally |actually )?from (?:an? \w+|the \w+|(?-i:[A-ZÀ-Ý]))")
_RESIDENT: Final = pattern(
    r"(?:based|located|stationed|settled) (?:in|near|at|out of|outside)\b|(?:\w+ ){1,4}away(?: \w+)? in (?-i:[A-Z])"
)
_BODY: Final = (
    r"(?:back|knees?|hips?|shoulders?|ankles?|wrists?|neck|feet|legs?|stomach|eyes?|ears?|teeth|joints?|hands?)"
)

_NUMBER: Final = r"(?:\d+|an?|any|one|two|three|four|five|six|seven|eight|nine|ten|several|some|no)"
_KIN_HELD: Final = pattern(
    rf"(?P<n>{_NUMBER})\s+(?:[a-z-]+\s+){{0,2}}?(?:(?P<pet>(?:dog|cat|pet|hamster|rabbit|parrot|horse|tortoise|pup|beagle|greyhound|labrador"
    r"|poodle|corgi|kitten)s?|pupp(?:y|ies)|fish)|kids?|children|sons?|daughters?|brothers?|sisters?|siblings?|cousins?|nieces?|nephews?"
    r"|twins|grandchildren|grandkids|husband|wife|partner|girlfriend|boyfriend|toddlers?|bab(?:y|ies)|step(?:son|daughter)s?|roommates?"
    r"|flatmates?)\b"
)
_ILL: Final = pattern(
    r"(?:an?\s+|some\s+|severe\s+|mild\s+|chronic\s+|terrible\s+|bad\s+|really\s+|type (?:1|2|one|two)\s+)*(?:\w+\s+)?(?:allerg(?:y|ies)"
    r"|asthma|diabetes|arthritis|migraines?|anxiety|depression|insomnia|adhd|autism|eczema|psoriasis|epilepsy|ibs|celiac|coeliac"
    rf"|high blood pressure|hypertension|cholesterol|cancer|condition|disease|syndrome|disorder|intolerance|back pain|(?:bad |weak ){_BODY}"
    r"|tinnitus|hay fever|pacemaker|scoliosis)\b"
)
_TONGUE: Final = re.compile(
    r"(?:an?|the)?\s*(?:\w+\s+)?(?:[ABC][12]|fluent|native|basic|some|good)?\s*[A-Z]\w+(?:ish|ese|ian|man|ench|tch|eek|bic|ndi)\b"
)
_TRADE: Final = pattern(
    r".*\b(?:practice|shop|store|company|business|studio|restaurant|farm|firm|caf[eé]|stall|salon|bakery)\b"
)

RULES: Final = (
    Rule("home", words.LIVE, pattern(r"(?:here |over |out |up |down |back )*(?:in|at|near|on|with|outside|alone|by|next|around|between"
                                     r"|abroad|together|there|just|across|close)\b"), former=True),
    Rule("former home", words.LIVE, pattern(PLACE), tenses="past"),
    Rule("origin", words.stems("come hail"), pattern(r"(?:originally )?from (?:an? |the )?(?-i:[A-Z])"), tenses="present"),
    Rule("origin", words.stems("grow"), pattern(r"up (?:in|on|near|with|speaking)\b"), tenses="past perfect"),
    Rule("work", words.stems("work freelance intern volunteer consult serve"),
         pattern(r"(?:as|at|for|in|with|from|on (?:the|a) (?!way)|part|full|night|remotely|freelance|nights|days|shifts|mostly|there|here)\b"
                 r"(?! (?:it|this|that)\b)"), former=True),
    Rule("former work", words.stems("work"), pattern(r"(?:as|at|for|in)\s+\w+"), tenses="past", undated=True),
    Rule("work", words.stems("teach"), pattern(r"(?!(?:me|you|him|her|us|them|myself)\b)\w"), former=True),
    Rule("work", words.stems("run manage lead coach"),
         pattern(r"(?:an?|the|my own|my|our|our own|two|three)\s+(?!(?:mile|marathon|few|lap|bath|fever|risk|errand|\d))[\w-]+"),
         modals=("", "used"), former=True),
    Rule("work", words.stems("do"), tenses="present", negated=False,
         after=pattern(r"(?!(?:not|it|that|this|so|you|what|some|the|my|well|fine|good|great|ok|okay|nothing|all|a lot)\b)(?:[\w'-]+ ){1,4}(?:for|at)\b"
                       r"(?! (?:me|you|now|once|least|all|home)\b)")),
    Rule("work", words.stems("drive repair fix sell make design build clean cook write paint translate edit cut fly bake"),
         pattern(r".*\bfor a living\b|(?:buses|trucks|taxis|lorries|trams|trains|an? (?:bus|truck|taxi|lorry|tram|train|school bus|cab|ambulance))\b"),
         tenses="present"),
    Rule("education", words.STUDY, pattern(r"(?!(?:for|it|this|that|the|hard|more|all|every)\b)\w"), former=True),
    Rule("learning", words.LEARN, tenses="present perfect", progressive=True, undated=True),
    Rule("skill", words.LEARN, pattern(r"(?:how )?to (?:drive|swim|ride|cook|read)"), tenses="past perfect present", negated=True),
    Rule("goal", words.stems("try"), pattern(r"to (?:learn|quit|lose|save|cut|stop|get pregnant|build|write|give up)\b"),
         tenses="present perfect", progressive=True),
    Rule("language", words.stems("speak"), pattern(r"(?:\w+ )?(?:fluent |some |a (?:little|bit of) |basic |native )*(?-i:[A-Z])")),
    Rule("diet", words.CONSUME, pattern(r"[a-z]|$"), negated=True, undated=True),
    Rule("diet", words.stems("have touch do"), pattern(r"(?:any )?(?:meat|dairy|gluten|sugar|alcohol|caffeine|coffee|pork|beef|lamb|nuts|seafood)\b"),
         negated=True),
    Rule("diet", words.stems("go"), pattern(r"(?:vegan|vegetarian|gluten[- ]free|sober|teetotal|plant[- ]based|keto)\b"), tenses="past perfect"),
    Rule("habit", words.stems("give"), pattern(r"(?:it |them |that |\w+ )?up\b"), tenses="past perfect"),
    Rule("habit", words.QUIT, pattern(r"(?:out |down on )?\w+ing\b|(?:smoking|drinking|sugar|alcohol|meat|dairy|caffeine|coffee|gluten)\b"),
         tenses="past perfect present"),
    Rule("skill", words.stems("drive swim cook ride read"), tenses="present", negated=True, undated=True),
    Rule("skill", words.stems("play"), tenses="past present perfect", negated=True, undated=True),
    Rule("possession", words.stems("own drive"), pattern(r"(?:an?|the|my)\s\w"), tenses="present", negated=False),
    Rule("hobby", words.stems("take"), pattern(r"up (?!(?:space|time|room|on|the offer)\b)\w"), tenses="past perfect"),
    Rule("hobby", words.HOBBY, pattern(r"(?!(?:in the|out of|late|into|it|about|that|this|you|them|your|the (?:news|article|email|text))\b)(?:\w|$)"),
         tenses="present", negated=False, progressive=False, kinds=(SELF,), undated=True),
    Rule("hobby", words.stems("play sing dance paint collect"), tenses="present", negated=False, progressive=False, kinds=(OTHER,), undated=True),
    Rule("health", words.stems("suffer"), ANY),
    Rule("health", words.stems("tear hurt injure sprain pull fracture break damage"), pattern(rf"(?:my |his |her )?(?:\w+ )?(?:{_BODY}|acl|hamstring|ligament|arm|leg|hand|rib|nose|toe|finger|meniscus)\b"), tenses="past perfect"),
    Rule("health", words.stems("wear"), pattern(r"(?:glasses|contacts|contact lenses|a hearing aid|hearing aids|braces)\b"), tenses="present"),
    Rule("trait", words.stems("weigh"), pattern(r"\w"), tenses="present"),
    Rule("name", words.stems("go"), pattern(r"by (?-i:[A-Z])\w+"), tenses="present"),
    Rule("age", words.stems("turn"), pattern(rf"{_AGE.pattern}|\d{{1,3}}\b(?! (?:off|on|down))|\w+ty\b"), tenses="past perfect present future",
         modals=("", "used", "can")),
)  # fmt: skip
"""Verbs and what they tell, tried in order; the first that fits speaks for the clause."""


def find(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    """Yield the facts that a clause tells about a person."""
    if predicate.verb == "be":
        yield from _being(clause, predicate)
    elif predicate.verb == "have":
        yield from _having(clause, predicate)
    if predicate.verb != "be":
        rule = next((rule for rule in RULES if rule.fits(clause, predicate)), None)
        if rule is not None:
            former = rule.former and predicate.negated
            future = predicate.tense in ("future", "present")
            yield Finding(rule.field, f"former {rule.attribute}" if former else rule.attribute, future=future)


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
    elif current and _AGE.match(after) and not _MEASURE.match(after):
        yield Finding(FACTS, "age")
    elif match := words.DISPOSITION.match(after):
        if current:
            yield Finding(PREFERENCES, "like" if match["like"] and not predicate.negated else "dislike")
    elif match := words.STATE.match(after):
        if current or match["family"]:
            yield Finding(FACTS, next(name for name, value in match.groupdict().items() if value))
    elif current and (_RESIDENT.match(after) or (match := _at_place(clause, predicate, after))):
        yield Finding(FACTS, "home")
    elif current and words.SECTOR.match(after):
        yield Finding(FACTS, "work")
    elif words.DEMONYM.match(after):
        if current:
            yield Finding(FACTS, "origin")
    else:
        yield from _identity(clause, predicate, after)


def _at_place(clause: Clause, predicate: Predicate, after: str) -> re.Match[str] | None:
    """Match "I'm in Chicago now": a place, and no date, which would make it a trip."""
    match = pattern(PLACE).match(after)
    if match is None or predicate.negated or _NO_PLACE.match(match.group()) or dated(clause.text):
        return None
    return match


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
    r"\s+(?:in|at|for|with|from|and|who|that|but|on|of|by|working|based|here|there|now|to|because|since|specialising|specializing)\b|[,.;(]|$"
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
            yield Finding(FACTS, "work", future=predicate.tense == "future")
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
    elif (
        re.match(rf"(?:{_NUMBER}|my own)\s", after, re.IGNORECASE)
        and not words.NOT_HELD.match(after)
        and not words.EVENT_NOUN.search(after)
    ):
        if predicate.negated is False and predicate.tense == "present" and not dated(clause.text, days=40):
            yield Finding(FACTS, "work" if _TRADE.match(after) else "possession")


_ATTRIBUTES: Final = words.ATTRIBUTES
_AILS: Final = pattern(
    rf"\b{_BODY} (?:really |still |always |often )?(?:hurts?|aches?|is (?:sore|killing|bad|bothering|clicking|still|weak|stiff)|clicks?|kills me|gives me trouble)\b"
)
_HERE: Final = pattern(
    rf"\b(?:here in|back home in)\s+(?-i:[A-Z])\w+|\b(?:my|our|a|the|new)\s+(?:[\w-]+\s+){{0,4}}?(?:room|flat|apartment|studio|house|cottage|kitchen|garden|houseshare)\s+{PLACE}"
)


def find_in_thing(clause: Clause, predicate: Predicate | None) -> Iterator[Finding]:
    """Yield what a clause about a thing tells of a person: "my birthday is …", "my left knee hurts"."""
    if _AILS.search(clause.text) and not re.search(r"\byour?\b", clause.text, re.IGNORECASE):
        yield Finding(FACTS, "health")
        return
    if predicate is None or not re.match(r"(?:my|our|his|her|their|name)\b", clause.text, re.IGNORECASE):
        return
    match = _ATTRIBUTES.fullmatch(clause.noun)
    if match is None or predicate.tense not in ("present", "perfect"):
        return
    kind = next(name for name, value in match.groupdict().items() if value)
    if kind == "home":
        if re.search(PLACE, clause.text):
            yield Finding(FACTS, "home")
    elif predicate.verb == "be" and predicate.after:
        yield Finding(PREFERENCES, "like") if kind == "favourite" else Finding(FACTS, kind)


def find_in_passing(clause: Clause) -> Iterator[Finding]:
    """Yield where somebody lives from "our flat here in Sheffield", whatever the clause is about."""
    match = _HERE.search(clause.text)
    if match and not _NO_PLACE.search(match.group()) and not dated(clause.text):
        yield Finding(FACTS, "home")


def _upto(clause: Clause, end: str) -> str:
    """Return the beginning of the clause as written, up to the words that end a finding."""
    place = clause.text.find(end)
    return clause.text[: place + len(end)] if place >= 0 else clause.text


def _joined(clause: Clause, part: str) -> str:
    """Return subject and verb of the clause with only a part of what follows: "I'm" … "in Shenzhen"."""
    match = re.match(r"(?:i['’]?m|i am|we['’]?re|we are)\b", clause.text, re.IGNORECASE)
    return f"{match.group()} {part}" if match else clause.text


__all__ = ["EVENTS", "find", "find_in_passing", "find_in_thing"]
