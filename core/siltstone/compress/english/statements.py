"""Statements about people in English sentences."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from ..bonds import own_bond
from ..fragments import bare
from ..lexicon import pattern
from ..modality import asserted, negated, tentative
from ..people import People
from ..statement import EVENTS, FACTS, NOBODY, THING, Finding, Statement, state
from ..when import resolve
from . import cues, events, facts, idioms, roundabout, tastes
from .clauses import ANYWHERE, NO_NAMES, Clause, clauses, note_mentions
from .predicate import averted, read_predicate

_QUOTED: Final = re.compile(r"[\"“](?:[^\"”\s]+\s+){3,}[^\"”]*[\"”]|[\"“][^\"”]*[.!?,][\"”]")
"""Somebody else's words; a quoted word or two is the speaker's own."""

_REPORTED: Final = re.compile(
    r"\b(?:he|she|they|people|everyone|everybody|someone|my \w+|the \w+|[A-Z][a-z]+)\s+(?:always |used to "
    r"|often |keeps? )?"
    r"(?:say|says|said|saying|tells?|told|thinks?|thought|claims?|claimed|swears?|insists?|reckons?"
    r"|suggests?|asks?|asked|believes?)\b",
)
_OPINION: Final = re.compile(
    r"^(?:i (?:think|guess|believe|suppose|feel like|heard|hear|read|bet|doubt|assume|wonder)|(?:people"
    r"|everyone|they) says?|apparently|rumou?r has it)\b",
    re.IGNORECASE,
)
_REQUEST: Final = re.compile(
    r"^\W*(?:(?:and|also|so|hey|ok)[ ,]+)*(?:can|could|would|will) you (?:please )?\w+", re.IGNORECASE
)
_SARCASM: Final = re.compile(
    r"^\W*(?:oh,? (?:sure|yeah|great|right|joy)|yeah,? right|sure,? because|as if\b|great,? another"
    r"|because (?:of course )?i just love)",
    re.IGNORECASE,
)
_DIAGNOSED: Final = re.compile(
    r"^(?:my|the|our)\s+(?:\w+\s+)?(?:doctor|gp|vet|dentist|midwife|specialist|nurse|optician|therapist"
    r"|tests?|results?)\s+"
    r"(?:says|said|told me|tells me|thinks|found|confirmed|show|showed|shows)\s+(?:that\s+)?(?=i\b|my\b|we\b)",
    re.IGNORECASE,
)
_IT_IS_ON: Final = pattern(
    r"^(?:it|which|that)(?:['’]s| is| will be| takes place| starts| begins)\s+(?:on\s|in\s|at\s|the\s"
    r"|from\s|next\s|this\s|tomorrow|tonight)"
)
"""The day of what was told just before: "I signed up for the marathon, it's on October 20th"."""


def find(sentence: str, people: People, said_at: datetime | None, *, to_machine: bool) -> Iterator[Statement]:
    """Yield the statements of one sentence; ``people`` learns whom it mentions, whatever it states."""
    claimed = sentence if cues.reacts(sentence) else asserted(sentence)  # "I swell up if I eat nuts" supposes nothing
    if to_machine and _REQUEST.match(sentence) and (found := tastes.request(sentence)):
        when = resolve(sentence, said_at, future=True) if found.field == EVENTS else None
        yield Statement(found.field, bare(sentence), people.speaker, found.attribute, when)
        return
    if not claimed or _SARCASM.match(sentence):
        note_mentions(sentence, people)
        return
    claimed = _DIAGNOSED.sub("", _QUOTED.sub(" ", claimed))
    reported = unsaid = False
    told = list[Statement]()
    for clause in clauses(claimed, people):
        if told and told[-1].field == EVENTS and told[-1].when is None and _IT_IS_ON.match(clause.text):
            told[-1] = dataclasses.replace(told[-1], when=resolve(clause.text, said_at, future=True))
        # What somebody is reported to say is their opinion, up to where the speaker speaks for themselves again.
        reported = _REPORTED.search(clause.text) is not None or (reported and clause.kind == THING)
        unsaid |= reported or averted(clause.text)
        told += _introductions(clause, people)
        if reported or (tentative(clause.text) and not re.search(r"\brather\b|\bprefer\b", clause.text)):
            continue
        told += _of_clause(clause, people.speaker, said_at, to_machine)
    told += roundabout.introductions(claimed, people)
    if not unsaid and all(one.field == EVENTS for one in told):
        found = roundabout.find(bare(claimed)) or idioms.taste(bare(claimed)) or cues.find(bare(claimed))
        told = [state(found, bare(claimed), people.speaker, said_at)] if found else told
    told = [one for one in told if one.attribute != "skill" or not _for_now(claimed)]
    if cues.at_work(claimed):
        told = [_of_work(one, claimed) for one in told]
    yield from (_whole(one, claimed) for one in told)
    if len(claimed) < len(sentence):
        note_mentions(sentence[len(claimed) :], people)


_REASON: Final = pattern(
    r"\b(?:because|since|as|so|until|while|when|with (?:this|my|an?)|closed|broken|tired|drunk|beers?|tonight|right now"
    r"|at the moment)\b"
)
_LASTING: Final = pattern(r"\b(?:any ?more|any longer|no longer|at all|never|know how|learn(?:ed|t)?)\b")


def _for_now(sentence: str) -> bool:
    """Return whether what somebody cannot do has a reason of the moment: the pool is closed."""
    return negated(sentence) and _REASON.search(sentence) is not None and _LASTING.search(sentence) is None


def _of_clause(clause: Clause, speaker: str, said_at: datetime | None, to_machine: bool) -> Iterator[Statement]:
    if _OPINION.match(clause.text):
        return
    if found := roundabout.find(clause.text) or idioms.taste(clause.text):
        yield state(found, clause.text, speaker, said_at)
        return
    findings = _findings(clause, to_machine)
    if averted(clause.text):  # what nearly happened is a story, and changes nothing
        findings = [dataclasses.replace(found, attribute="event") for found in findings if found.field == EVENTS]
    for found in findings:
        mine = found.attribute == "family" and own_bond(clause.text)  # "my girlfriend dumped me" is told of the speaker
        told = state(found, clause.text, speaker if mine else clause.subject or speaker, said_at)
        yield dataclasses.replace(told, whom=clause.whom)


_LEANS: Final = re.compile(
    r"(?:\ballergic|\b(?:live|work) (?:here|there)(?: now)?$|\b(?:land|arrive|be|stay|leave) there\b.*)$", re.IGNORECASE
)


def _whole(told: Statement, sentence: str) -> Statement:
    """Return a statement with the words that it leans on: "Peanuts bring me out in hives, I'm allergic"."""
    return dataclasses.replace(told, text=bare(sentence)) if _LEANS.search(told.text) else told


_TO_A_NAME: Final = re.compile(
    r"\b(?:(?:moved|relocated) (?:\w+ )?to|(?:am|[’']m|are|[’']re|been) (?:\w+ )?at) [A-ZÀ-Ý]"
)


def _of_work(told: Statement, sentence: str) -> Statement:
    """Return where somebody moved as where they work, in a sentence about work: "I moved over to Bosch, new desk"."""
    if told.attribute != "home" or not _TO_A_NAME.search(told.text):
        return told
    return dataclasses.replace(told, attribute="work", text=bare(sentence))


def _findings(clause: Clause, to_machine: bool) -> list[Finding]:
    """Return what a clause tells; a fact about a person outweighs the event that its words may look like."""
    if to_machine and (found := tastes.instruction(clause)):
        return [found]
    predicate = read_predicate(clause.rest)
    passing = list(facts.find_in_passing(clause))
    if clause.kind == THING:
        told = list(facts.find_in_thing(clause, predicate))
        return told or passing or (list(events.find_in_thing(clause, predicate)) if predicate else [])
    if clause.kind == NOBODY:
        told = list(facts.find_in_thing(clause, predicate))
        if predicate and not told:
            told = list(facts.find_elided(clause, predicate)) or list(events.find_elided(clause, predicate))
        return told or passing
    if predicate is None:
        return passing
    told = [*tastes.find(clause, predicate), *(facts.find(clause, predicate) if predicate.tense != "unreal" else ())]
    if not told and predicate.tense != "unreal":
        told = list(events.find(clause, predicate))
    if not told and predicate.tense in ("present", "past", "perfect") and own_bond(clause.text):
        told = [Finding(FACTS, "family", text=clause.text)]
    return told or passing


def _introductions(clause: Clause, people: People) -> Iterator[Statement]:
    """Yield "my little sister Noor": a name told in passing, wherever in a clause it stands."""
    for match in ANYWHERE.finditer(clause.text):
        name = match["name"]
        if name and name.split()[0] not in NO_NAMES and match["whose"].lower() in ("my", "our") and not match["chain"]:
            text = f"{match['whose']} {match['which']}{match['relation']} {name}"
            yield Statement(FACTS, text if text in clause.text else match.group().strip(" ,"), name, "relation")


__all__ = ["find", "note_mentions"]
