"""English sentences cut into clauses, each with its subject."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ..fragments import bare
from ..lexicon import pattern, words_of
from ..people import People
from ..relations import ENGLISH, ENGLISH_PATTERN
from ..statement import NOBODY, OTHER, SELF, THING
from .coordination import coordinated
from .predicate import expand, is_past

NAME: Final = r"[A-ZÀ-Ý][a-zà-ÿ]+(?:['’][A-Z][a-z]+|-[A-Z]?[a-z]+)?(?: [A-ZÀ-Ý][a-zà-ÿ]+)?"
_VERB_AHEAD: Final = (
    r"(?=\s+(?:(?:also|just|still|now|never|really|always|only|actually|recently|already)\s+)*(?:is|was"
    r"|has|had|are|were|will|would|can|does|did|doesn|isn|wasn|used|[a-z]+(?:ed|s)|went|got|said|told|took"
    r"|came|left|made|gave|lost|found|bought|began|became|grew|thinks|met)\b|['’]s\s)"
)
_KIN: Final = rf"(?:my|our|his|her|their)\s+(?:[a-z-]+\s+){{0,2}}?(?:{ENGLISH_PATTERN})(?:,?\s+{NAME})?,?"
_PRONOUN: Final = (
    r"(?:i|we|he|she|they|it|that|this|there|you|who|everyone|everybody|nobody|nothing|someone|people)(?:['’](?:m"
    r"|re|ve|s|d|ll))?\b"
)
_START: Final = (
    rf"(?:{_PRONOUN}|(?:in|on|from|next|last|at|since|after|before)\s+[\w ]{{1,16}}?,?\s(?:i|we|he|she"
    rf"|they)\b|{_KIN}{_VERB_AHEAD}|(?-i:{NAME}){_VERB_AHEAD}|(?:my|our"
    rf"|the)\s+[\w-]+(?:\s+[\w-]+)?{_VERB_AHEAD}|(?:name['’]?s)\b)"
)
_BREAK: Final = re.compile(
    rf"\s*[;()\[\]]\s*|\s*(?<!\d):(?!\d)\s*|\s+[-–—]+\s+|[—]|\.\.+\s*|…\s*"
    rf"|,?\s+(?:and|but|so|because|since|though|although|while|whereas|then|plus|cause|cos|as)\s+(?:then\s+"
    rf"|also\s+|now\s+)?(?={_START})"
    rf"|,\s+(?={_START})|,\s+so\s+(?!far\b|much\b|many\b)"
    r"|,?\s+but\s+(?=(?:now|can|do|did|have|had|am|was|still|love|hate|never|not)\b)"
    r"|,\s+(?=(?:he|she|they|who)\b)|\s+(?=who\b)|,\s+(?=(?:maybe|perhaps|probably)\b)",
    re.IGNORECASE,
)
_RELATION: Final = re.compile(
    rf"^(?P<whose>my|our|his|her|their|your|the(?=\s+(?:kids?|children|boys|girls|twins|baby|dog|cat|wife"
    rf"|husband|missus"
    rf"|in-laws)\b))\s+(?P<which>(?:[a-z-]+\s+){{0,2}}?)(?P<relation>{ENGLISH_PATTERN})(?!-)\b"
    rf"(?P<chain>['’]s\s+(?P<second>{ENGLISH_PATTERN})\b)?(?:,?\s+(?P<name>(?-i:{NAME})),?(?!['’]s\s+(?!a\b"
    rf"|an\b|the\b|in\b|been\b|from\b)))?",
    re.IGNORECASE,
)
_BARE_RELATION: Final = re.compile(
    rf"^(?P<relation>mum|mom|mummy|dad|daddy|grandma|granny|gran|nana|grandpa|grandad)\b(?:(?=['’]s\s)|{_VERB_AHEAD})",
    re.IGNORECASE,
)
_NAMED: Final = re.compile(rf"^(?P<name>{NAME})\b(?:,\s+(?:my|our)\s+[^,]{{2,40}},)?")
_SELF: Final = re.compile(
    r"^(?:i|we|me and [\w ]{1,20}?|(?:my |our )?[\w'’ -]{2,24}? and i|(?:both of us|all of us))\b(?=\s|['’]|$)",
    re.IGNORECASE,
)
_PERSON: Final = re.compile(r"^(?P<pronoun>he|she|they|who)\b", re.IGNORECASE)
_THING: Final = re.compile(
    r"^(?:it|that|this|there|these|those|you|everyone|everybody|nobody|nothing|someone|people|your)\b", re.IGNORECASE
)
_DETERMINED: Final = re.compile(
    r"^(?P<article>the|my|our|his|her|their|a|an)\s+(?P<noun>[\w'’-]+(?:\s+[\w'’-]+){0,3}?)\s+(?=(?:is|are"
    r"|was|were|will|has|have|starts?|begins?|ends?|got|came|comes|arrives?|opens?|finally|just|went|goes"
    r"|takes?|took|leaves?|departs?|lands?|sets off|boards)\b)",
    re.IGNORECASE,
)
_BARE_NOUN: Final = re.compile(
    r"^(?P<noun>[A-Z]?[a-z]+(?:\s+[a-z]+)?)\s+(?=(?:is|are|was|were|will|starts?|begins?|ends?|opens?)\b)"
)
NO_NAMES: Final = words_of(
    "I The A An My Our Your His Her Their It He She They We You This That These Those There Here What Who "
    "Where When Why How ",
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July "
    "August September ",
    "October November December Yes No Not Ok Okay Oh Well So And But Or If Then Now Today Tomorrow "
    "Yesterday Please Thanks ",
    "Thank Sorry Hi Hey Hello Just Also Maybe Still Even Both All Some Any One Two Three First Last Next "
    "Every Everything ",
    "Nothing Something Nobody Everyone God Jesus English Chinese French German Spanish Japanese Christmas "
    "Easter People Life ",
    "Work Time Things Got Been Went Did Do Does Is Was Were Are Am Had Has Have Can Could Would Should "
    "Will Let Good Great ",
    "Nice Morning Honestly Actually Anyway Besides Plus Since Because Although Though While After Before "
    "Until Once Never ",
    "Always Usually Sometimes Lately Recently Finally Perhaps Apparently Luckily Sadly Google Python Java "
    "Netflix Amazon Lol ",
    "Haha Exactly True Right Sure Fine Cool Wow Yeah Yep Yup Nope School Flights Tickets Dinner Lunch Mr Mrs Ms Dr",
)


@dataclass(frozen=True)
class Clause:
    """A clause as written, who or what it is about, and what it says of them with contractions written out.

    ``kind`` is ``self``, ``other``, ``thing`` or ``nobody`` (no subject of its own); ``noun`` names the thing;
    ``whom`` are the words of the same message for the one that a pronoun stands for.
    """

    text: str
    kind: str
    subject: str
    rest: str
    noun: str = ""
    elided: bool = False
    whom: str = ""


_PERSON_AT_END: Final = re.compile(rf"(?:\b(?i:{ENGLISH_PATTERN})|\b{NAME})$")


def clauses(sentence: str, people: People) -> Iterator[Clause]:
    """Yield the clauses of a sentence. Pronouns are resolved by ``people``, which learns whom the sentence mentions."""
    before = ""
    for text in (text for piece in _joined(_pieces(sentence), sentence) for text in coordinated(bare(piece))):
        if text:
            clause = _read(text, people)
            if before and re.match(r"who\b", text, re.IGNORECASE):
                if not _PERSON_AT_END.search(before):
                    clause = dataclasses.replace(clause, kind=THING, subject="")
                comma = ", " if f"{before}, {text}" in sentence else " "
                clause = dataclasses.replace(clause, text=f"{before}{comma}{text}")
            before = text
            note_mentions(text, people)
            yield clause


_TURNED: Final = re.compile(r"\bused to\b[^.;]*\b(?:but|and) (?:now|these days|nowadays|today|then)\b", re.IGNORECASE)


_COMPANION: Final = re.compile(rf"(?:{NAME}|(?:[Mm]y|[Oo]ur) (?:[a-z-]+ ){{0,2}}[a-z]+)$")


def _joins(companion: str, piece: str, sentence: str) -> bool:
    return _COMPANION.match(companion) is not None and f"{companion} and {piece}" in sentence


def _joined(pieces: list[str], sentence: str) -> list[str]:
    """Return pieces with "my husband" and "I split up" as one: two who are the subject together."""
    found: list[str] = []
    for piece in pieces:
        if found and re.match(r"I\b(?!['’])", piece) and _joins(found[-1].strip(), piece, sentence):
            found[-1] = f"{found[-1].strip()} and {piece}"
        else:
            found.append(piece)
    return found


def _pieces(sentence: str) -> list[str]:
    """Return the pieces of a sentence; "I used to hate it but now I enjoy it" is one, as its halves mislead."""
    if turned := _TURNED.search(sentence):
        start = max(sentence.rfind(mark, 0, turned.start()) for mark in ".;:—") + 1
        return [*_BREAK.split(sentence[:start]), sentence[start:]]
    return _BREAK.split(sentence)


_SETTING: Final = re.compile(
    r"^(?:(?:from|on|in|at|since|during|after|before|for|until|by|as of|next|last|this|every|these|most"
    r"|one of the)\s[^,]{1,30}?,?\s+"
    r"|(?:tomorrow|yesterday|today|tonight|nowadays|currently|right now|now|once|recently|soon|lately"
    r"|\w+days?(?: \w+)?),?\s+)(?=(?:i|we|he|she|my|our)\b)",
    re.IGNORECASE,
)
"""When or where, before the subject: "From October I'm teaching"."""


def _read(text: str, people: People) -> Clause:
    full = _SETTING.sub("", expand(text))
    if match := _SELF.match(full):
        return Clause(text, SELF, people.speaker, full[match.end() :].strip())
    if (match := _RELATION.match(full)) and (match["name"] or not _OWNS.match(full[match.end() :])):
        return Clause(text, OTHER, relative(match, people), _possessive_is(full[match.end() :]))
    if match := _BARE_RELATION.match(full):
        subject = people.related(ENGLISH[match["relation"].lower()])
        return Clause(text, OTHER, subject, _possessive_is(full[match.end() :]))
    if match := _PERSON.match(full):
        pronoun = match["pronoun"].lower()
        gender = {"he": "m", "she": "f"}.get(pronoun, "p")
        whom = people.words_for(gender) if pronoun != "who" else ""
        meant = people.pronoun(gender)
        if pronoun == "who" and people.mentioned:
            meant = people.mentioned[-1]
        return Clause(text, OTHER if meant else THING, meant or "", full[match.end() :].strip(), whom=whom)
    if _THING.match(full):
        return Clause(text, THING, "", full, noun="it")
    if match := _DETERMINED.match(full):
        whose = match["article"].lower()
        subject = people.speaker if whose in ("my", "our") else ""
        if whose in ("his", "her", "their"):
            subject = people.pronoun({"his": "m", "her": "f"}.get(whose, "p")) or ""
        return Clause(text, THING, subject, full[match.end() :].strip(), noun=match["noun"])
    if (match := _NAMED.match(full)) and match["name"].split()[0] not in NO_NAMES:
        rest = full[match.end() :]
        first = rest.strip().split(" ")[0]
        if people.known(match["name"]) or re.match(_VERB_AHEAD[3:-1], rest) or is_past(first):
            return Clause(text, OTHER, people.named(match["name"]), _possessive_is(rest))
    if match := _BARE_NOUN.match(full):
        return Clause(text, THING, people.speaker, full[match.end() :].strip(), noun=match["noun"])
    return Clause(text, NOBODY, people.asked or people.speaker, full, elided=True)


def relative(match: re.Match[str], people: People) -> str:
    """Return the subject that "my little sister Noor" or "my sister's husband" names."""
    which = (match["which"] or "").lower().split()
    relation = ENGLISH[match["relation"].lower()]
    qualified = " ".join([*which[-1:], match["relation"].lower()])
    relation = ENGLISH.get(qualified, relation)
    of = people.listener if match["whose"].lower() == "your" else None
    if match["whose"].lower() == "your" and of is None:
        of = "user"
    if match["whose"].lower() in ("his", "her", "their"):
        of = people.pronoun({"his": "m", "her": "f"}.get(match["whose"].lower(), "p"))
    name = match["name"] if match["name"] and match["name"].split()[0] not in NO_NAMES else None
    written = None if name or of else _called(match)
    if match["chain"]:
        owner = people.related(relation, None, of)
        return people.related(ENGLISH[match["second"].lower()], name, owner)
    return people.related(relation, name, of, written=written)


def _called(match: re.Match[str]) -> str:
    return f"{match['whose']} {match['which'] or ''}{match['relation']}"


ANYWHERE: Final = re.compile(r"(?<![\w'’])" + _RELATION.pattern[1:], re.IGNORECASE)
_ASKED: Final = re.compile(
    rf"(?:^(?:is|did|does|has|how is|how's|was|and|poor|say hi to)\s|\b(?:about|poor|saw|met|meet|told"
    rf"|asked|how is|how's)\s)\s*(?P<name>(?-i:{NAME}))",
    re.IGNORECASE,
)
_CALLED: Final = re.compile(
    rf"\b(?P<article>an?|one|this is my|called"
    rf"|named)\b(?:\s+[a-z-]+){{0,2}}?\s+(?P<relation>{ENGLISH_PATTERN})\b,?\s+(?:called"
    rf"|named)?\s*(?P<name>(?-i:{NAME}))",
    re.IGNORECASE,
)


def note_mentions(text: str, people: People) -> None:
    """Let ``people`` know whom a text mentions, questions included, in order."""
    found: list[tuple[int, re.Match[str]]] = []
    for kind in (ANYWHERE, _CALLED, _ASKED):
        found += [(match.start(), match) for match in kind.finditer(text)]
    for _, match in sorted(found, key=lambda pair: pair[0]):
        name = match["name"]
        if match.re is ANYWHERE:
            relative(match, people)
        elif name and name.split()[0] not in NO_NAMES:
            if match.re is _CALLED:
                people.related(ENGLISH[match["relation"].lower()], name)
            else:
                people.named(name)


def _possessive_is(rest: str) -> str:
    return re.sub(r"^['’]s\s+", "is ", rest.strip()).strip(", ")


_OWNS: Final = pattern(
    r"['’]s\s+(?!(?:an?|the|in|on|at|not|\w+ing|been|from|always|also|still|very|so|really|due|coming|\d+)\b)\w+"
)
"""The "'s" of "my sister's laptop", not that of "my sister's a vet"."""
