"""Likes, dislikes, wishes and standing instructions in an English clause."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..statement import EVENTS, FACTS, OTHER, PREFERENCES, SELF, Finding
from ..when import dated
from . import vocabulary as words
from .clauses import Clause
from .predicate import Predicate, verb_stem

POINTING: Final = re.compile(
    r"^(?:it(?! (?:when|if)\b)|that|this|these|those|them|him|her|you|your|how|what|when|where|the (?:idea"
    r"|sound|way|look"
    r"|result|photo|picture|draft|plan)"
    r"|(?:both|all) (?:of )?(?:it|them|these)|to (?:see|hear|know|say|think|ask|thank|be|have you))\b|^$",
    re.IGNORECASE,
)
"""Objects that point at something in the conversation: liking them is no lasting preference."""

_OF_LISTENER: Final = re.compile(r"^(?:\w+ ){0,3}(?:your?|yours|yourself)\b", re.IGNORECASE)
"""What is liked is the listener's: a compliment."""

_INSTRUCTION: Final = re.compile(
    r"^(?:(?:please|pls|and|also|so|ok|okay|just|yes|in (?:the )?future|from now on|going forward|for the "
    r"future|next time"
    r"|whenever you \w+|when you (?:reply|answer|respond|write|talk)[^,]*)[\s,]+)*"
    r"(?:always|never|do not|stop|avoid|no need to|try not to|refrain from|quit|skip|keep|make sure|be|use"
    r"|stick to|remember to|answer"
    r"|reply|respond|write|speak|talk|address|call|refer|explain|give|format|translate|include|add|leave "
    r"out|remind|prefer|limit|no more|switch|(?:go|change) back|change to|return to)\b",
    re.IGNORECASE,
)
_MANNER: Final = re.compile(
    r"\b(?:answers?|answering|repl(?:y|ies)|respon[ds]e?s?|responding|messages?|explanations?|emojis?"
    r"|language|english|chinese|french"
    r"|german|spanish|japanese|portuguese|italian|korean|format|bullet|markdown|short|shorter|brief"
    r"|concise|long|detailed|simple|plain"
    r"|formal|informal|polite|tone|jargon|abbreviations?|acronyms?|celsius|fahrenheit|metric|imperial"
    r"|kilomet\w+|kilos?|pounds|inches"
    r"|units?|sources?|links?|citations?|code|comments?|call me|address me|refer to me|lecture"
    r"|apologi[sz]\w*|sugar-?coat\w*|sentences?"
    r"|the word|words|paragraphs?|lists?|tables?|examples?|disclaimers?|exclamation|jokes?|numbers|dates?"
    r"|24-hour|honest|direct|blunt"
    r"|gentle|strict|frank|spell\w*|rewrite|metaphors?)\b",
    re.IGNORECASE,
)
STANDING: Final = re.compile(
    r"\b(?:from now on|always|never|in (?:the )?future|going forward|whenever|every time|each time|any "
    r"?more|on \w+days)\b",
    re.IGNORECASE,
)
_ONE_OFF: Final = re.compile(
    r"^(?:please )?(?:give|add|write|explain|translate|include)\b(?!.*\b(?:in (?:kilos?|metric|celsius"
    r"|english)|not)\b)",
    re.I,
)
_CALL_ME: Final = re.compile(
    r"\bcall me (?!(?:if|when|back|later|tomorrow|at|on|crazy|old|after|before|until|by|about|during"
    r"|unless|again|for|while|today|any)\b)\w+",
    re.IGNORECASE,
)


_YOU_CALL_ME: Final = re.compile(r"you (?:can|may|should|could) (?:just |also )?call me\b", re.IGNORECASE)


_ADDRESS: Final = re.compile(r"\S+@\S+")
_RELEASE: Final = re.compile(
    r"^(?:(?:ok|okay|and|so|also)[\s,]+)*(?:you (?:can|may|could) (?:now )?(?:stop|quit|leave off)\b"
    r"|you (?:do not|don['’]?t|no longer|need not)(?: (?:have|need) to)?\b.*\b(?:any ?more|any longer|no longer)\b"
    r"|you no longer (?:have|need) to\b|no need to\b.*\b(?:any ?more|any longer)\b"
    r"|you (?:can|may|could) (?:\w+ ){1,4}again\b"
    r"|(?:please,? )?(?:not in|no more|forget(?: about)?(?: the)?|enough(?: of the)?)"
    r" (?-i:[A-Z])\w+(?=\W*$|[,.;]| (?:any ?more|any longer|please|from now on)\b))",
    re.IGNORECASE,
)
"""What takes an instruction back, and gives none."""


def instruction(clause: Clause) -> Finding | None:
    """Return the finding for words that tell an assistant how to behave from now on, or of what to remind."""
    text = _ADDRESS.sub("", clause.rest)
    if _YOU_CALL_ME.match(text) and _CALL_ME.search(text):
        return Finding(PREFERENCES, "name")
    if _RELEASE.match(text) and _MANNER.search(text):
        return Finding(FACTS, "former instruction")
    if not clause.elided or _INSTRUCTION.match(text) is None:
        return None
    if re.search(r"\bremind me\b", text, re.IGNORECASE):
        return Finding(EVENTS, "reminder", future=True)
    if _CALL_ME.search(text):
        return Finding(PREFERENCES, "name")
    if _MANNER.search(text) and (STANDING.search(text) or not _ONE_OFF.match(text)):
        return Finding(PREFERENCES, "instruction")
    return None


def request(sentence: str) -> Finding | None:
    """Return the finding for "can you …?": a standing wish, a name, a reminder; other requests are of the moment."""
    if re.search(r"\bremind me\b", sentence, re.IGNORECASE):
        return Finding(EVENTS, "reminder", future=True)
    if _CALL_ME.search(sentence):
        return Finding(PREFERENCES, "name")
    return Finding(PREFERENCES, "instruction") if STANDING.search(sentence) else None


def find(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    """Yield what a clause tells of a person's taste."""
    verb, after = predicate.verb, predicate.after
    if clause.kind not in (SELF, OTHER):
        return
    if predicate.tense == "unreal":
        yield from _wish(clause, predicate)
    elif verb in words.LIKE | words.DISLIKE:
        yield from taste(clause, predicate)
    elif verb in ("stand", "bear", "stomach", "toler", "handl") and predicate.negated and predicate.modal == "can":
        if not POINTING.match(after):
            yield Finding(PREFERENCES, "dislike")
    elif predicate.tense != "present":
        return
    elif (
        predicate.progressive
        and verb in ("think", "consid", "consider")
        and re.match(r"(?:of |about )?\w+ing \w+", after)
    ):
        if clause.kind == SELF and not predicate.negated and not POINTING.match(after):
            yield Finding(EVENTS, "plan", future=True) if dated(clause.text) else Finding(PREFERENCES, "wish")
    elif verb in words.CONSUME and not predicate.negated and after and not dated(clause.text) and clause.kind == SELF:
        yield Finding(PREFERENCES, "diet")
    elif (
        (verb == "take" and re.match(r"my (?:coffee|tea)\b", after, re.IGNORECASE))
        or (verb == "stick" and re.match(r"(?:to|with) (?!it|that|this)\w+", after, re.IGNORECASE))
        or (verb == "support" and re.match(r"[A-Z]", after))
    ):
        yield Finding(PREFERENCES, "like")


def taste(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    """Yield like or dislike; "used to" turns it round, as do "not" and "never"."""
    if POINTING.match(predicate.after) or predicate.tense == "future" or _OF_LISTENER.search(predicate.after):
        return
    disliked = (predicate.verb in words.DISLIKE) != predicate.negated
    if predicate.modal == "used":
        disliked = predicate.verb not in words.DISLIKE
    elif predicate.tense == "past" and (
        clause.kind == SELF or not re.search(r"\balways\b", clause.text, re.IGNORECASE)
    ):
        return
    yield Finding(PREFERENCES, "dislike" if disliked else "like")


def _wish(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    """Of what is unreal, a preference is real: "I'd rather have ramen", "I'd love to see Japan"."""
    if predicate.modal != "would":
        return
    if predicate.verb in words.WISH | words.LIKE and re.match(r"to \w+ \w+", predicate.after):
        yield from desire(clause, predicate)
    elif re.match(r"(?:rather|prefer|sooner)\b", f"{predicate.word} {predicate.after}", re.IGNORECASE):
        yield Finding(PREFERENCES, "like")


def desire(clause: Clause, predicate: Predicate) -> Iterator[Finding]:
    """Yield what somebody wants to do: with a day a plan, without one a wish."""
    match = re.match(r"(?:to|of|about)\s+(?P<verb>\w+)\s*(?P<object>.*)", predicate.after, re.IGNORECASE)
    if match is None or not match["object"] or POINTING.match(match["object"]):
        return
    weighty = verb_stem(match["verb"]) not in words.EMPTY or re.search(r"[A-Z]", match["object"])
    if weighty or re.match(
        r"an?\s+(?:\w+\s+)?(?:masters?|phd|degree|course|marathon|triathlon|mba|licen[cs]e)\b",
        match["object"],
        re.IGNORECASE,
    ):
        yield Finding(EVENTS, "plan", future=True) if dated(clause.text) else Finding(PREFERENCES, "wish")
