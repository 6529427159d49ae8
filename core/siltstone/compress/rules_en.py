"""What an English clause tells about a person: name, work, home, family, likes, plans, instructions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from . import vocabulary_en as words
from .clauses_en import NO_NAMES, OTHER, SELF, THING, Clause
from .predicate import Predicate, is_past, verb_stem
from .statement import EVENTS, FACTS, PREFERENCES
from .when import dated


@dataclass(frozen=True)
class Finding:
    """A field and attribute that a clause is found to fill; ``future`` says which way its date points.

    ``text`` replaces the clause's own words where the finding rests on a part of them.
    """

    field: str
    attribute: str
    future: bool = False
    text: str = ""


_PLACE: Final = r"(?:in|near|outside|around|at|by|just outside)\s+(?:the\s+)?(?-i:[A-ZÀ-Ý])[\w'’-]+"
_IN_PLACE: Final = re.compile(rf"\b{_PLACE}(?:,?\s+(?-i:[A-ZÀ-Ý])[\w'’-]+)*", re.IGNORECASE)
_MONTHS: Final = re.compile(
    r"\b(?:in|at|near|by|on)\s+(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun|Christmas|Easter|English|"
    r"Chinese|French|German|Spanish|Japanese|Italian|Portuguese|Korean|Excel|Python|Java|Word|React)\w*"
)
_AGE: Final = re.compile(
    r"^(?:only |almost |nearly |about )?(?:\d{1,3}|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ]\w+)?|eighteen|nineteen"
    r"|(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen))"
    r"(?:$|\s+(?:years?|months?|weeks?)(?: old)?\b|(?=\s+(?:now|today|this|next|last|in|on|and|already|years)\b)|(?=,))",
    re.IGNORECASE,
)
_NUMBER_WORD: Final = r"(?:\d+|an?|any|one|two|three|four|five|six|seven|eight|nine|ten|several|some|no)"
_HEAD_STOP: Final = re.compile(
    r"\s+(?:in|at|for|with|from|and|who|that|but|on|of|by|working|based|here|there|now|to|because|since|specialising|specializing)\b|[,.;(]|$"
)
_CONSUMED: Final = re.compile(r"^(?:any |much |too much |red |raw )?[a-z]", re.IGNORECASE)
_PRONOUN_OBJECT: Final = re.compile(
    r"^(?:it|that|this|these|those|them|him|her|you|your|how|what|when|where|the (?:idea|sound|way|look|result|photo|picture|draft|plan)|"
    r"(?:both|all) (?:of )?(?:it|them|these)|to (?:see|hear|know|say|think|ask|thank|be|have you))\b|^$",
    re.IGNORECASE,
)
_INSTRUCTION: Final = re.compile(
    r"^(?:(?:please|pls|and|also|so|ok|okay|just|in (?:the )?future|from now on|going forward|for the future|next time|whenever you \w+|when you (?:reply|answer|respond|write|talk)[^,]*)[\s,]+)*"
    r"(?:(?:can|could|would|will) you (?:please )?)?"
    r"(?:(?P<always>always|never|do not|stop|avoid|no need to|try not to|refrain from|quit|skip|keep|make sure|be|use|stick to|remember to|"
    r"answer|reply|respond|write|speak|talk|address|call|refer|explain|give|format|translate|include|add|leave out|remind|prefer|limit|no more))\b",
    re.IGNORECASE,
)
_MANNER: Final = re.compile(
    r"\b(?:answers?|answering|repl(?:y|ies)|respon[ds]e?s?|responding|messages?|explanations?|emojis?|language|english|chinese|french|german|spanish|japanese|portuguese|italian|korean|format|bullet|markdown|short|shorter|brief|concise|long|"
    r"detailed|simple|plain|formal|informal|polite|tone|jargon|abbreviations?|acronyms?|celsius|fahrenheit|metric|imperial|kilomet\w+|units?|sources?|links?|citations?|code|comments?|"
    r"call me|address me|refer to me|lecture|apologi[sz]\w*|sugar-?coat\w*|sentences?|words|paragraphs?|lists?|tables?|examples?|disclaimers?|exclamation|jokes?|numbers|dates?|24-hour|honest|direct|spell\w*)\b",
    re.IGNORECASE,
)
STANDING: Final = re.compile(
    r"\b(?:from now on|always|never|in (?:the )?future|going forward|whenever|every time|each time|any ?more)\b",
    re.IGNORECASE,
)
_GO_TO: Final = re.compile(
    r"^(?:back |over |down |up |out |along )?to\s+(?:the\s+|a\s+|an\s+|my\s+|our\s+)?\w+", re.IGNORECASE
)
_GET: Final = re.compile(
    r"^(?:finally |a |an |my |our |the |back |into |accepted|new )*(?:engaged|married|divorced|promoted|hired|fired|laid off|accepted|pregnant|job|offer|degree|licen[cs]e|promotion|raise|visa|tickets?"
    r"|puppy|dog|cat|kitten|scholarship|diagnosed|tattoo|keys|results?|surgery|citizenship|place)\b",
    re.IGNORECASE,
)


def find(clause: Clause, predicate: Predicate | None, *, to_machine: bool) -> Iterator[Finding]:
    """Yield what one clause tells. ``to_machine``: the listener is an assistant, who can be instructed."""
    if clause.elided and to_machine and (found := _instruction(clause)):
        yield found
        return
    if predicate is None or predicate.tense == "unreal":
        yield from _wish(clause, predicate)
        return
    if clause.kind == THING:
        yield from _of_thing(clause, predicate)
        return
    if clause.elided:
        yield from _elided(clause, predicate)
        return
    found = [*_be(clause, predicate), *_verbs(clause, predicate)]
    yield from found or _event(clause, predicate)


def _instruction(clause: Clause) -> Finding | None:
    text = clause.rest
    match = _INSTRUCTION.match(text)
    if match is None:
        return None
    if re.match(r"(?:please |and |also )*remind me\b", text, re.IGNORECASE):
        return Finding(EVENTS, "reminder", future=True)
    if re.search(
        r"\bcall me (?!(?:if|when|back|later|tomorrow|at|on|crazy|old|after|before|until|by|about|during|unless|again|for|while|today|any)\b)\w+",
        text,
        re.IGNORECASE,
    ):
        return Finding(PREFERENCES, "name")
    if _MANNER.search(text) and (
        STANDING.search(text) or not re.match(r"(?:give|add|write|explain|translate|include)\b", text, re.I)
    ):
        return Finding(PREFERENCES, "instruction")
    return None


def _wish(clause: Clause, predicate: Predicate | None) -> Iterator[Finding]:
    """Of what is unreal, a preference is real: "I'd rather have ramen", "I would prefer a window seat"."""
    if predicate is None or clause.kind not in (SELF, OTHER) or predicate.modal != "would":
        return
    if predicate.verb in words.WISH | words.LIKE and re.match(r"to \w+ \w+", predicate.after):
        yield from _desire(clause, predicate)
    if re.match(r"(?:rather|prefer|sooner)\b", f"{predicate.word} {predicate.after}", re.IGNORECASE):
        yield Finding(PREFERENCES, "like")


def _be(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    if predicate.verb != "be":
        return
    after = predicate.after
    current = predicate.tense in ("present", "perfect")
    if (match := re.match(r"(?:called|named|known as) (?-i:[A-ZÀ-Ý]\w+)", after, re.I)) or (
        match := _given_name(clause, after)
    ):
        yield Finding(FACTS, "name", text=_upto(clause, match.group()))
        after = after[match.end() :].lstrip(", ")
    if match := re.match(r"(?:originally |actually )?from (?:an? \w+|the \w+|(?-i:[A-ZÀ-Ý]))", after, re.I):
        yield Finding(FACTS, "origin")
    elif match := re.match(r"born (?:in|on|and)\b", after, re.I):
        yield Finding(FACTS, "birthday" if dated(after) else "origin")
    elif (
        current
        and _AGE.match(after)
        and not re.match(r"\d+\s*(?:%|percent|am|pm|minutes?|hours?|days?|km|miles|kilos?|kg)", after)
    ):
        yield Finding(FACTS, "age")
    elif match := words.DISPOSITION.match(after):
        if current:
            yield Finding(PREFERENCES, "like" if match["like"] and not predicate.negated else "dislike")
    elif match := words.STATE.match(after):
        if current or match["family"]:
            yield Finding(FACTS, next(name for name, value in match.groupdict().items() if value))
    elif match := re.match(
        r"(?:based|located|staying|living|stationed|settled) (?:in|near|at|out of|outside)\b", after, re.I
    ):
        yield Finding(FACTS, "home")
    elif re.match(r"(?:due|scheduled|booked|supposed)\b", after, re.I) and dated(after):
        yield Finding(EVENTS, "plan", future=True)
    elif match := words.DEMONYM.match(after):
        if current:
            yield Finding(FACTS, "origin")
    elif re.match(r"(?:(?:an?|the|our|my|your)\s+|\w+ly\s+|)?(?:\w+[\s-]+){0,4}", after) and (head := _head(after)):
        yield from _identity(clause, predicate, after, head)
    elif (
        current
        and not predicate.negated
        and (match := re.match(_PLACE, after, re.I))
        and not _MONTHS.match(match.group())
    ):
        yield Finding(EVENTS, "trip", future=False) if dated(after) else Finding(FACTS, "home")


def _given_name(clause: Clause, after: str) -> re.Match[str] | None:
    """Match the name in "I'm Alice", "Alice here" apart: a capital, and nothing that makes it an adjective."""
    if clause.kind != SELF:
        return None
    match = re.match(
        r"([A-ZÀ-Ý][a-zà-ÿ]+(?: [A-ZÀ-Ý][a-zà-ÿ]+)?)(?=$|,|\.|\s+(?:and|from|by the way|btw|here)\b)", after
    )
    if match is None or match[1].split()[0] in NO_NAMES or words.DEMONYM.match(after) or words.STATE.match(after):
        return None
    return match


def _head(after: str) -> str:
    """Return the head noun of "a front-end engineer in Shenzhen", empty without an article or a known occupation."""
    phrase = after[: _HEAD_STOP.search(after).start()].strip()  # type: ignore[union-attr]
    if not phrase:
        return ""
    parts = phrase.split()
    article = parts[0].lower() in ("a", "an", "the", "our", "my")
    head = parts[-1].lower().strip("'’\"")
    if head.endswith("s") and not head.endswith("ss") and not article:
        head = head[:-1]
    return head if article or (len(parts) <= 3 and words.OCCUPATION.fullmatch(head) and not is_past(head)) else ""


def _identity(clause: Clause, predicate: Predicate, after: str, head: str) -> Iterator[Finding]:
    occupation = words.OCCUPATION.fullmatch(head) and head not in words.NO_OCCUPATION
    article = re.match(r"(?:an?|the|our|my)\s", after, re.IGNORECASE)
    if occupation and (
        article or after.lower().startswith(("head", "lead", "senior", "junior", "ceo", "cto", "chief"))
    ):
        place = _IN_PLACE.search(after)
        if (
            place
            and clause.kind == SELF
            and predicate.tense == "present"
            and not predicate.negated
            and place.group().lower().startswith("in ")
            and not _MONTHS.match(place.group())
        ):
            # One clause, two facts: each is to be replaced without the other.
            yield Finding(FACTS, "work", text=_joined(clause, after.replace(place.group(), "").strip(" ,")))
            yield Finding(FACTS, "home", text=_joined(clause, place.group()))
        else:
            yield Finding(FACTS, "work", future=predicate.tense == "future")
    elif article and clause.kind == SELF and predicate.tense == "present" and head not in words.VAGUE and len(head) > 2:
        first = after.split()[1].lower() if len(after.split()) > 1 else ""
        if first not in words.VAGUE and not re.match(r"the\b", after, re.I):
            yield Finding(FACTS, "trait")


def _verbs(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    verb, after, tense = predicate.verb, predicate.after, predicate.tense
    habitual = tense in ("present", "perfect") or predicate.modal == "used"
    person = clause.kind in (SELF, OTHER)
    if not person:
        return
    if (
        verb in words.LIVE
        and habitual
        and re.match(
            r"(?:here |over |out |up |down |back )*(?:in|at|near|on|with|outside|alone|by|next|around|between|abroad|together|there|just|across|close)\b",
            after,
            re.I,
        )
    ):
        yield Finding(FACTS, _former("home", predicate))
    elif verb in words.LIVE and tense == "past" and re.match(_PLACE, after, re.I):
        yield Finding(FACTS, "former home")
    elif (verb == "come" or verb == "hail") and tense == "present" and re.match(r"from (?-i:[A-ZÀ-Ý])", after, re.I):
        yield Finding(FACTS, "origin")
    elif verb == "grow" and re.match(r"up (?:in|on|near|with|speaking)\b", after, re.I):
        yield Finding(FACTS, "origin")
    elif verb in words.MOVE and re.match(
        r"(?:back |over |up |down |out |in |away |house)*(?:to|from|in|into|house|out|here|home|with)\b|$", after, re.I
    ):
        yield from _moved(clause, predicate)
    elif verb in words.WORK and habitual and _is_work(verb, after, predicate):
        yield Finding(FACTS, _former("work", predicate))
    elif (
        verb == verb_stem("work")
        and tense == "past"
        and re.match(r"(?:as|at|for|in)\s+\w+", after, re.I)
        and not dated(after, days=40)
    ):
        yield Finding(FACTS, "former work")
    elif (
        verb == "do"
        and tense == "present"
        and not predicate.negated
        and re.match(
            r"(?!(?:not|it|that|this|so|you|what|some|the|a|my|well|fine|good|great|ok|okay|nothing|all)\b)(?:\w+[ -]){1,4}(?:for|at)\b",
            after,
            re.I,
        )
    ):
        yield Finding(FACTS, "work")
    elif (
        verb in words.STUDY
        and habitual
        and after
        and not re.match(r"(?:for|it|this|that|the|hard|more|all|every)\b", after, re.I)
    ):
        yield Finding(FACTS, "education")
    elif verb in words.LEARN and predicate.progressive and tense in ("present", "perfect") and not dated(after):
        yield Finding(FACTS, "learning")
    elif (
        verb == "try"
        and predicate.progressive
        and tense == "present"
        and re.match(r"to (?:learn|quit|lose|save|cut|stop|get pregnant|build|write|give up)\b", after, re.I)
    ):
        yield Finding(FACTS, "goal")
    elif (
        verb == "speak"
        and habitual
        and re.match(r"(?:\w+ )?(?:fluent |some |a (?:little|bit of) |basic |native )*(?-i:[A-Z])", after, re.I)
    ):
        yield Finding(FACTS, "language")
    elif verb in words.LIKE | words.DISLIKE or (verb == "rather"):
        yield from _taste(clause, predicate)
    elif verb in ("stand", "bear", "stomach", "toler", "handl") and predicate.negated and predicate.modal == "can":
        if not _PRONOUN_OBJECT.match(after):
            yield Finding(PREFERENCES, "dislike")
    elif (
        verb in words.CONSUME
        and habitual
        and (predicate.negated or tense == "present")
        and not dated(after)
        and (_CONSUMED.match(after) or predicate.negated)
    ):
        yield Finding(PREFERENCES if not predicate.negated else FACTS, "diet")
    elif (
        verb == "give"
        and re.match(r"(?:it |them |that |\w+ )?up\b|up \w+", after, re.I)
        and tense in ("past", "perfect")
    ):
        yield Finding(FACTS, "habit")
    elif (
        verb in words.QUIT
        and tense in ("past", "perfect", "present")
        and re.match(
            r"(?:out |down on )?\w+ing\b|(?:smoking|drinking|sugar|alcohol|meat|dairy|caffeine|coffee|gluten)\b",
            after,
            re.I,
        )
    ):
        yield Finding(FACTS, "habit")
    elif verb == "have" and tense in ("present", "perfect") and not predicate.progressive:
        yield from _have(clause, predicate)
    elif verb == "own" or (
        verb == "drive"
        and tense == "present"
        and (predicate.negated or re.match(r"(?:an?|the|my|buses|trucks|taxis|for)\b", after, re.I))
    ):
        yield Finding(
            FACTS,
            "work"
            if re.match(r"(?:buses|trucks|taxis|for)\b|.*for a living", after, re.I) and not predicate.negated
            else "possession"
            if not predicate.negated
            else "skill",
        )
    elif (
        verb in words.LEARN
        and predicate.negated
        and re.match(r"(?:how )?to (?:drive|swim|ride|cook|read)", after, re.I)
    ):
        yield Finding(FACTS, "skill")
    elif verb == "take" and tense == "present" and re.match(r"my (?:coffee|tea)\b", after, re.I):
        yield Finding(PREFERENCES, "like")
    elif verb == "stick" and tense == "present" and re.match(r"(?:to|with) (?!it|that|this)\w+", after, re.I):
        yield Finding(PREFERENCES, "like")
    elif verb == "weigh" and tense == "present":
        yield Finding(FACTS, "trait")
    elif verb in ("drive", "swim", "cook", "ride", "read") and predicate.negated and tense == "present":
        yield Finding(FACTS, "skill")
    elif (
        verb in words.HOBBY
        and tense == "present"
        and not predicate.progressive
        and predicate.modal in ("", "can")
        and clause.kind == SELF
        and after
        and not dated(after)
    ):
        if not _PRONOUN_OBJECT.match(after) and not re.match(r"(?:in the|out of|late|into|it|about)\b", after, re.I):
            yield Finding(FACTS, "hobby")
    elif (
        verb in words.HOBBY
        and tense == "present"
        and clause.kind == OTHER
        and not predicate.progressive
        and verb in ("play", "sing", "danc", "paint", "collect")
    ):
        yield Finding(FACTS, "hobby")
    elif verb == "suffer" and habitual:
        yield Finding(FACTS, "health")
    elif (
        verb == "wear"
        and tense == "present"
        and re.match(r"(?:glasses|contacts|contact lenses|a hearing aid|hearing aids|braces|size)\b", after, re.I)
    ):
        yield Finding(FACTS, "health")
    elif verb == "go" and tense == "present" and re.match(r"by (?-i:[A-Z])\w+", after, re.I):
        yield Finding(FACTS, "name")
    elif verb == "support" and tense == "present" and re.match(r"(?-i:[A-Z])", after):
        yield Finding(PREFERENCES, "like")
    elif verb == "turn" and (_AGE.match(after) or re.match(r"\d{1,3}\b(?! (?:off|on|down))", after)):
        yield Finding(FACTS, "age", future=tense in ("future", "present"))
    elif verb == "name" and tense == "present" and clause.kind == SELF:
        yield Finding(FACTS, "name")


def _former(attribute: str, predicate: Predicate) -> str:
    """Return the attribute, marked where the clause says that it holds no longer: it ends, and replaces nothing."""
    return f"former {attribute}" if predicate.negated else attribute


def _is_work(verb: str, after: str, predicate: Predicate) -> bool:
    if verb in (verb_stem("work"), verb_stem("freelance")):
        return re.match(
            r"(?:as|at|for|in|with|from|on the|part|full|night|night shifts|remotely|freelance|nights|days|shifts|mostly|there|here|there)\b",
            after,
            re.I,
        ) is not None and not (predicate.progressive and re.match(r"on (?:it|this|that)\b", after, re.I))
    if verb == verb_stem("teach"):
        return bool(after) and not re.match(r"(?:me|you|him|her|us|them|myself)\b", after, re.I)
    if verb in (verb_stem("run"), verb_stem("manage"), verb_stem("lead"), verb_stem("coach")):
        return (
            re.match(
                r"(?:an?|the|my own|my|our|our own|two|three)\s+(?!(?:mile|marathon|few|lap|bath|fever|risk|errand|\d))[\w-]+",
                after,
                re.I,
            )
            is not None
            and predicate.modal != "can"
        )
    return re.match(r"(?:as|at|for|in|with)\b", after, re.I) is not None


def _moved(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    ahead = predicate.tense == "future" or (predicate.progressive and predicate.tense == "present")
    there = re.search(r"\b(?:to|into|in)\s+(?:a |an |the |our |my )?(?:new )?\w+", predicate.after, re.I)
    if predicate.negated:
        return
    if not ahead and there and predicate.tense in ("past", "perfect"):
        yield Finding(FACTS, "home")
    if ahead or dated(clause.text) or not there:
        yield Finding(EVENTS, "move", future=ahead)


def _taste(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    if _PRONOUN_OBJECT.match(predicate.after) or predicate.tense == "future":
        return
    if predicate.tense == "past" and predicate.modal != "used":
        if clause.kind == SELF or not re.search(r"\balways\b", clause.rest, re.I):
            return
    disliked = (predicate.verb in words.DISLIKE) != predicate.negated
    if predicate.modal == "used":
        disliked = predicate.verb not in words.DISLIKE
    yield Finding(PREFERENCES, "dislike" if disliked else "like")


_KIN_HELD: Final = re.compile(
    rf"^{_NUMBER_WORD}\s+(?:[a-z-]+\s+){{0,2}}?(?:kids?|children|sons?|daughters?|brothers?|sisters?|siblings?|cousins?|nieces?|nephews?|twins|grandchildren|grandkids"
    r"|husband|wife|partner|girlfriend|boyfriend|dogs?|cats?|pets?|puppy|puppies|kittens?|hamsters?|rabbits?|parrots?|horses?|fish|toddlers?|bab(?:y|ies)|stepson|stepdaughter|roommates?|flatmates?|pup|tortoise|beagle|greyhound|labrador|poodle|corgi)\b",
    re.IGNORECASE,
)
_ILL: Final = re.compile(
    r"^(?:an?\s+|some\s+|severe\s+|mild\s+|chronic\s+|terrible\s+|bad\s+|really\s+|type (?:1|2|one|two)\s+|a\s+)*(?:\w+\s+)?(?:allerg(?:y|ies)|asthma|diabetes|arthritis|migraines?|anxiety|depression|insomnia"
    r"|adhd|autism|eczema|psoriasis|epilepsy|ibs|coeliac|celiac|high blood pressure|hypertension|cholesterol|cancer|condition|disease|syndrome|disorder|intolerance|back pain|(?:bad |weak )?(?:back|knees?|hip|shoulder)|tinnitus|hay fever|pacemaker|scoliosis)\b",
    re.IGNORECASE,
)


def _have(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    after = predicate.after
    if _ILL.match(after):
        yield Finding(FACTS, "health")
    elif match := _KIN_HELD.match(after):
        yield Finding(
            FACTS,
            "pet"
            if re.search(
                r"dog|cat|pet|pupp|kitten|hamster|rabbit|parrot|horse|fish|beagle|greyhound|labrador|poodle|corgi|tortoise",
                match.group(),
                re.I,
            )
            else "family",
        )
    elif words.EVENT_NOUN.search(after) and dated(clause.text):
        return
    elif (
        re.match(
            r"(?:an?|the)?\s*(?:\w+\s+)?(?:[ABC][12]|fluent|native|basic|some|good)?\s*(?-i:[A-Z])\w+(?:ish|ese|ian|man|ench|tch)\b",
            after,
        )
        and len(after.split()) < 4
    ):
        yield Finding(FACTS, "language")
    elif (
        re.match(rf"(?:{_NUMBER_WORD}|my own)\s", after, re.I)
        and not words.NOT_HELD.match(after)
        and clause.kind in (SELF, OTHER)
        and not words.EVENT_NOUN.search(after)
    ):
        if not predicate.negated and predicate.tense == "present" and not dated(clause.text, days=40):
            yield Finding(
                FACTS,
                "work"
                if re.search(
                    r"\b(?:practice|shop|store|company|business|studio|restaurant|farm|firm|caf[eé])\b", after, re.I
                )
                else "possession",
            )


_HAPPENED: Final = re.compile(
    r"(?:a |an |the |my |our )?(?:\w+ )?(?:baby|surgery|operation|accident|stroke|heart attack|miscarriage|fight|interview)\b",
    re.I,
)


def _event(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    verb, after, tense = predicate.verb, predicate.after, predicate.tense
    when = dated(clause.text)
    if predicate.negated or verb in words.MOVE:
        return
    if (
        verb in words.PLAN
        and tense in ("present", "past", "perfect")
        and (after or when)
        and not re.match(r"(?:it|that|for it)\b", after, re.I)
        and (verb != verb_stem("apply") or tense != "present")
    ):
        yield Finding(
            EVENTS, "plan", future=tense != "past" or not re.search(r"\blast\b|\bago\b|yesterday", clause.text, re.I)
        )
    elif verb in ("look",) and predicate.progressive and re.match(r"forward to\b", after, re.I) and when:
        yield Finding(EVENTS, "plan", future=True)
    elif tense == "future":
        if re.match(r"you\b", after, re.I):
            return
        if (when and verb not in ("be", "let")) or (verb not in words.EMPTY and _resolved(clause, after)):
            yield Finding(EVENTS, "plan", future=True)
        elif verb == "be" and when:
            yield Finding(EVENTS, "plan", future=True)
    elif verb in words.WISH and tense in ("present", "perfect", "past") and clause.kind == SELF:
        yield from _desire(clause, predicate)
    elif predicate.progressive and tense == "present" and verb == "get" and _GET.match(after):
        yield Finding(EVENTS, "plan", future=True)
    elif predicate.progressive and tense == "present" and (when or verb in words.MILESTONE) and verb not in words.EMPTY:
        yield Finding(EVENTS, "plan", future=True)
    elif verb == "have" and tense in ("past", "perfect") and _HAPPENED.match(after):
        yield Finding(EVENTS, "event")
    elif (
        verb == "have" and when and tense in ("present", "past") and (words.EVENT_NOUN.search(after) or tense == "past")
    ):
        yield Finding(EVENTS, "plan" if tense == "present" else "event", future=tense == "present")
    elif predicate.modal == "must" and tense == "present" and when and verb != "be":
        yield Finding(EVENTS, "plan", future=True)
    elif (
        tense == "present"
        and dated(clause.text, days=100)
        and verb not in words.EMPTY
        and verb != "be"
        and verb != "have"
        and not re.search(
            r"\b(?:every|each|usually|always|most|on \w+days|recently|lately|these days)\b", clause.text, re.I
        )
        and not predicate.modal
    ):
        yield Finding(EVENTS, "plan", future=True)
    elif tense in ("past", "perfect") and verb != "be" and not predicate.modal:
        if (
            when
            and verb not in words.EMPTY | {"like", "love"}
            and not re.search(r"\b(?:recently|lately|these days)\b", clause.text, re.I)
        ):
            yield Finding(EVENTS, "event")
        elif (
            verb in words.MILESTONE
            and after
            and not re.match(r"(?:it|that|this|to (?:be|have)|in (?:touch|love)|up on)\b|me\b", after, re.I)
        ):
            yield Finding(EVENTS, "event")
        elif (
            (verb == "get" and _GET.match(after))
            or (verb == "hand" and "notice" in after)
            or (verb == "pass" and after.startswith("away"))
        ):
            yield Finding(EVENTS, "event")
        elif verb == "go" and re.match(r"(?:back |over )?to (?-i:[A-Z])\w+", after, re.I):
            yield Finding(EVENTS, "trip")
    elif (
        verb == "be"
        and tense == "past"
        and when
        and re.match(
            r"(?:in|at|on) (?-i:[A-Z])|(?:born|diagnosed|hired|fired|promoted|laid off|accepted|admitted)\b",
            after,
            re.I,
        )
    ):
        yield Finding(EVENTS, "event")


def _resolved(clause: Clause, after: str) -> bool:
    """Return whether "going to" announces something worth remembering: it names what, and is not "I'll" in passing."""
    return (
        bool(after)
        and re.search(r"\bgoing to\b|\bgonna\b|\babout to\b", clause.text, re.I) is not None
        and not re.match(r"(?:it|that|this|you|them|bed|the (?:shop|store|toilet|bathroom))\b", after, re.I)
    )


def _desire(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    after = predicate.after
    match = re.match(r"(?:to|of|about)\s+(?P<verb>\w+)\s*(?P<object>.*)", after, re.I)
    if match is None:
        return
    if (
        (verb_stem(match["verb"]) in words.EMPTY and not re.search("[A-Z]", match["object"]))
        or not match["object"]
        or _PRONOUN_OBJECT.match(match["object"])
    ):
        return
    yield Finding(EVENTS if dated(clause.text) else PREFERENCES, "plan" if dated(clause.text) else "wish", future=True)


def _of_thing(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    """Things tell about people by whose they are ("my birthday is …") or by when they are ("the exam is on …")."""
    if not clause.noun or clause.noun == "it" or not clause.subject and not dated(clause.text):
        return
    match = words.ATTRIBUTES.search(clause.noun) if re.match(r"(?:my|our|his|her|their)\b", clause.text, re.I) else None
    if match and predicate.verb == "be" and predicate.tense == "present" and predicate.after:
        kind = next(name for name, value in match.groupdict().items() if value)
        if kind == "favourite":
            yield Finding(PREFERENCES, "like")
        elif kind != "home" or re.match(_PLACE, predicate.after, re.I):
            yield Finding(FACTS, kind)
    elif match and match["home"] and re.search(_PLACE, clause.text):
        yield Finding(FACTS, "home")
    elif match and match["health"] and not predicate.negated:
        yield Finding(FACTS, "health")
    elif (
        dated(clause.text)
        and not predicate.negated
        and not re.match(r"(?:weather|news|same|thing|problem|point|whole|other)\b", clause.noun, re.I)
    ):
        future = predicate.tense in ("present", "future")
        if future or re.match(r"(?:my|our)\b", clause.text, re.I):
            yield Finding(EVENTS, "plan" if future else "event", future=future)


def _elided(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    """A clause without a subject is the speaker's in chat: "Went to Lisbon last week", "Moved to Leeds"."""
    first = clause.rest.split(" ")[0].strip(",").lower()
    if re.match(r"name is (?-i:[A-ZÀ-Ý])", clause.rest, re.I):
        yield Finding(FACTS, "name")
    elif (
        re.match(r"(?:no|zero) (?:more )?(?:\w+ )(?:for me|thanks)", clause.rest, re.I)
        and "for me" in clause.rest.lower()
    ):
        yield Finding(PREFERENCES, "diet")
    elif (
        re.match(
            r"(?:never|not|really|absolutely|also|still)?\s*(?:love|hate|can not stand|enjoy|prefer|like|adore)\b",
            clause.rest,
            re.I,
        )
        and predicate.tense == "present"
    ):
        yield from _taste(clause, predicate)
    elif is_past(first) or re.match(r"(?:finally|just|already|recently)\s+\w+", clause.rest, re.I):
        if predicate.tense in ("past", "perfect"):
            yield from _event(clause, predicate)
            if predicate.verb in words.MOVE:
                yield from _moved(clause, predicate)
    elif re.match(r"\w+ing\b", clause.rest) and dated(clause.text) and verb_stem(first) not in words.EMPTY:
        yield Finding(EVENTS, "plan", future=True)
    elif words.EVENT_NOUN.search(clause.rest) and dated(clause.text) and len(clause.rest.split()) <= 12:
        yield Finding(EVENTS, "plan", future=True)


def _upto(clause: Clause, end: str) -> str:
    """Return the beginning of the clause as written, up to the words that end a finding."""
    place = clause.text.find(end)
    return clause.text[: place + len(end)] if place >= 0 else clause.text


def _joined(clause: Clause, part: str) -> str:
    """Return subject and verb of the clause with only a part of what follows: "I'm" … "in Shenzhen"."""
    match = re.match(r"(?:i['’]?m|i am|we['’]?re|we are)\b", clause.text, re.IGNORECASE)
    return f"{match.group()} {part}" if match else clause.text


__all__ = ["OTHER", "SELF", "Finding", "find"]
