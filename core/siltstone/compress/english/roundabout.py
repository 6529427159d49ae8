"""What is told the other way round: with the value for the subject, or the person for the object.

"Lisbon is home now", "Bosch hired me", "Coffee disgusts me": no verb of the speaker's says it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..lexicon import pattern
from ..people import People
from ..relations import ENGLISH, ENGLISH_PATTERN
from ..statement import FACTS, PREFERENCES, Finding, Statement
from .clauses import NAME, NO_NAMES
from .predicate import expand

_PROPER: Final = r"(?-i:[A-ZÀ-Ý])[\w'’-]*(?: (?-i:[A-ZÀ-Ý])[\w'’-]+)*"
_WHILE: Final = r"(?:(?:really|now|just|still|also|always|officially|absolutely|finally|recently|simply|truly) )*"
_THING: Final = (
    r"^(?!(?:it|that|this|what|there|he|she|they|you|who|which|i|we|nothing|nobody|no one|everything|everyone"
    r"|something|someone|people)\b)[\w'’ -]{2,40}?"
)
_POINTING: Final = r"(?!(?:it|that|this|them|these|those|him|her|you|your|my|the)\b)"

_PATTERNS: Final = tuple(
    (field, attribute, pattern(text))
    for field, attribute, text in (
        (
            FACTS,
            "home",
            rf"^{_PROPER} (?:is|has been|has become|became) {_WHILE}(?:been )?(?:my |our )?(?:new |adopted |second )?"
            r"(?:home|hometown|home town|home base)\b(?! (?:to|of|office|game|page|team)\b)",
        ),
        (
            FACTS,
            "home",
            rf"^{_PROPER} is {_WHILE}where (?:i|we) {_WHILE}(?:live|am|are|reside|stay|settled|have settled"
            r"|have lived|have been living|ended up)\b",
        ),
        (
            FACTS,
            "home",
            rf"\b(?:i|we) {_WHILE}(?:have )?{_WHILE}(?:called|calling|call|made|make|consider) {_PROPER} (?:(?:my"
            rf"|our) )?home\b",
        ),
        (
            FACTS,
            "home",
            rf"^{_PROPER} is {_WHILE}where (?:i|we) {_WHILE}(?:hang (?:my|our) hats?|sleep|wake up|pay (?:my |our"
            rf" )?rent|raise|belong)\b"
            rf"|^{_PROPER} is {_WHILE}where (?:my|our) (?:home|house|flat|apartment|bed|family|heart|life|things"
            rf"|stuff) (?:is|are|lives?)\b",
        ),
        (
            FACTS,
            "home",
            rf"^(?:my |our )?(?:new )?home (?:for (?:me|us) |base )?(?:is|has been|has become|became)"
            rf" {_WHILE}(?:in )?{_PROPER}",
        ),
        (
            FACTS,
            "work",
            rf"^{_PROPER} is {_WHILE}where (?:i|we) {_WHILE}(?:earn|make) (?:my|our|a) (?:money|living|bread)\b",
        ),
        (
            FACTS,
            "home",
            r"\b(?:i|we) (?:am|are|have been|have become|became) (?:an? )?"
            rf"{_WHILE}(?:resident|inhabitant|citizen) of {_PROPER}",
        ),
        (
            FACTS,
            "home",
            rf"\b(?:i|we) (?:am|are|became|have become) {_WHILE}an? (?:[a-z-]+ )?{_PROPER} (?:resident|local|girl"
            rf"|boy|gal|lad|dweller|inhabitant)\b",
        ),
        (
            FACTS,
            "home",
            rf"\b(?:i|we) {_WHILE}(?:have|rent|rented|found|took|bought|got) {_WHILE}an? "
            rf"(?:[\w-]+ ){{0,2}}?(?:flat|apartment|room|studio|place|condo) in {_PROPER}",
        ),
        (
            FACTS,
            "home",
            rf"\b(?:flat|apartment|house|place)\b.*\b(?:took|found|bought|rented|got) (?:one|another) in {_PROPER}",
        ),
        (
            FACTS,
            "home",
            rf"^(?:i|we) (?:have )?{_WHILE}(?:packed up and )?(?:came|left for|headed|went) (?:over |out )?(?:to"
            rf" )?{_PROPER}\b.*"
            r"\b(?:never left|for good|to stay|stayed|settled)\b",
        ),
        (FACTS, "home", rf"\b(?:in {_PROPER},? where (?:i|we) {_WHILE}(?:live|stay|are based|am based)\b)"),
        (
            FACTS,
            "work",
            rf"^{_PROPER} (?:has |have )?{_WHILE}(?:hired|hires|employed|employs|pays|recruited|headhunted"
            r"|took|taken|promoted) (?:me|us|my (?:bills|salary|wages|rent))\b(?! (?:to|out|for a)\b)",
        ),
        (
            FACTS,
            "work",
            rf"^(?:they|{_PROPER}|my (?:boss|company|employer)|the (?:company|board)) (?:has |have )?{_WHILE}"
            r"(?:made|named|appointed|promoted) me (?:to |as )?(?:the |an? )?(?:\w+ ){0,2}"
            r"(?:head|lead|chief|vice|captain|\w+(?:er|or|ist|ian))\b",
        ),
        (
            FACTS,
            "work",
            rf"^{_PROPER} is {_WHILE}(?:my |our )(?:new |current )?(?:employer|company|workplace|place of work)\b"
            rf"|^{_PROPER} is {_WHILE}(?:the )?(?:company|firm|place|one|people)(?: (?:that|who))? (?:i"
            rf" {_WHILE}work (?:for|at|with)"
            r"|(?:employs?|pays?) me)\b",
        ),
        (FACTS, "work", rf"^{_PROPER} is {_WHILE}where (?:i|we) {_WHILE}work\b"),
        (FACTS, "work", rf"\b(?:at|for) {_PROPER},? where (?:i|we) {_WHILE}work\b"),
        (
            FACTS,
            "work",
            r"\b(?:i|we) spend (?:my|our) (?:working |work)?(?:days|weekdays|hours|weeks) (?:at|with) "
            rf"(?:the )?{_PROPER}",
        ),
        (
            PREFERENCES,
            "like",
            rf"^(?:i|we) {_WHILE}(?:can|could) not {_WHILE}(?:live|do|survive|function|exist|be) without {_POINTING}\w",
        ),
        (
            PREFERENCES,
            "like",
            r"^(?:i|we) (?:can not|can hardly|could not|never|do not|can never) (?:go|last|get through|make it"
            r" through|start|finish|begin) "
            r"(?:an?|one|my|the|more than)(?: \w+){1,2} without (?:an? |my |some )?"
            r"(?!(?:it|that|this|them|these|those|him|her|you|your|the)\b)\w",
        ),
        (
            PREFERENCES,
            "like",
            r"^(?:an? )?(?:single )?(?:day|morning|evening|meal|dinner|week|weekend|life) without [\w -]{2,20}"
            r" (?:is|feels|would be) "
            r"(?:not |no |wasted|incomplete|lost|pointless|unthinkable|unimaginable)",
        ),
        (PREFERENCES, "like", rf"^(?:i|we) (?:am|would be|are) (?:nothing|lost|nobody) without {_POINTING}\w"),
        (
            PREFERENCES,
            "like",
            rf"{_THING} (?:is|are|has been|have been) {_WHILE}(?:one of )?my {_WHILE}(?:\w+ )?(?:favou?rites?(?: \w+)*"
            r"|passions?|weakness|guilty pleasure|comfort food|loves?|pleasures?|joys?|obsessions?|addictions?"
            r"|cup of tea|jam)\b(?!\w* (?:is|are))",
        ),
        (
            PREFERENCES,
            "like",
            rf"{_THING} {_WHILE}(?:(?:delights?|thrills?|fascinates?|relaxes|cheers) me|gets? me out of bed"
            r"|makes? me (?:so |very |really )?(?:happy|smile|feel alive))\b",
        ),
        (PREFERENCES, "like", rf"{_THING} is what (?:gets me|keeps me|makes my day|i live for|i love)\b"),
        (
            PREFERENCES,
            "like",
            rf"{_THING} (?:is|are) (?:something|one thing|a thing|things) (?:that )?i {_WHILE}"
            r"(?:love|enjoy|adore|like)\b",
        ),
        (PREFERENCES, "like", rf"{_THING} (?:has |have |had )?{_WHILE}(?:grown|growing|grew) on (?:me|us)\b"),
        (
            PREFERENCES,
            "dislike",
            rf"{_THING} (?:is|are) (?:something|one thing|a thing|things) (?:that )?i {_WHILE}"
            r"(?:hate|can not stand|detest|loathe)\b",
        ),
        (PREFERENCES, "dislike", rf"{_THING} and i are {_WHILE}(?:done|through|over|finished)\b"),
        (
            PREFERENCES,
            "dislike",
            rf"{_THING} {_WHILE}(?:(?:disgusts?|bores?|annoys?|scares?|terrif(?:y|ies)|repels?|revolts?|irritates?"
            r"|sickens?|nauseates?) me|gets? on my nerves|puts? me off|turns? (?:me off|my stomach)|leaves? me cold"
            r"|makes? me (?:feel )?(?:so |very |really )?(?:sick|ill|queasy|nauseous|angry|anxious|miserable|gag))\b",
        ),
        (
            PREFERENCES,
            "dislike",
            rf"{_THING} (?:(?:no longer|never|does not|do not|did not) (?:really )?(?:does|do|did) (?:anything|much)"
            r"|does nothing|do nothing) for me\b",
        ),
        (
            PREFERENCES,
            "dislike",
            rf"{_THING} (?:is|are) (?:not (?:really )?(?:for me|my (?:thing|cup of tea|jam))"
            r"|off (?:the|my) (?:table|menu|list))\b",
        ),
        (
            PREFERENCES,
            "dislike",
            rf"^(?:i|we) (?:am|are|have (?:\w+ )?gone|went|have grown) {_WHILE}(?:totally |completely |so |right "
            rf"|clean |entirely )?(?:over"
            rf"|done with|through with|off|tired of) {_POINTING}"
            r"(?!\d|here|there|at\b|in\b|on\b|to\b|work\b|school\b|sick\b|\w+ty\b)\w",
        ),
        (
            PREFERENCES,
            "dislike",
            rf"^(?:i|we) (?:have )?{_WHILE}(?:stopped|ceased|quit) (?:liking|loving|enjoying) {_POINTING}\w",
        ),
        (
            PREFERENCES,
            "dislike",
            rf"^(?:i|we) (?:have |am )?{_WHILE}(?:lost|losing) (?:(?:my|our|all|any) )?(?:taste|appetite|love|interest"
            rf"|enthusiasm|liking) (?:for|in|of) {_POINTING}\w",
        ),
        (
            FACTS,
            "health",
            r"\bmy (?:body|stomach|gut|skin|system) (?:can not|does not|can hardly) (?:handle|tolerate|take|digest"
            rf"|cope with|process|stand) {_POINTING}\w",
        ),
        (
            FACTS,
            "health",
            rf"\b(?:i|we) {_WHILE}(?:react|respond) (?:really |very |quite )?(?:badly|terribly|violently)"
            rf" to {_POINTING}\w",
        ),
        (
            FACTS,
            "health",
            rf"{_THING} {_WHILE}(?:gives? me (?:an? |the )?(?:rash|hives|migraines?|heartburn|asthma attacks?)"
            r"|brings? me out in|breaks? me out in|makes? my (?:throat|face|lips|tongue|skin) \w+)\b",
        ),
        (FACTS, "health", r"\b(?:i|we) (?:always )?carry (?:an? |my )?(?:epi-?pen|inhaler|insulin|antihistamines?)\b"),
    )
)


def find(text: str) -> Finding | None:
    """Return what a clause, or a whole sentence, tells of the speaker without a verb of theirs."""
    full = _SETTING.sub("", _CONTRACTED.sub(_written_out, expand(text)))
    return next((Finding(field, kind) for field, kind, one in _PATTERNS if one.search(full)), None)


_CONTRACTED: Final = pattern(rf"^({_PROPER})['’]s (?=(been|become)\b|(?:my|our|where|home|still|now)\b)")


def _written_out(match: re.Match[str]) -> str:
    return f"{match[1]} {'has' if match[2] else 'is'} "


_SETTING: Final = pattern(r"^(?:these days|nowadays|lately|now|by now|in the end|you should know(?: that)?),? ")
_APPOSED: Final = re.compile(
    rf"(?<![\w'’])(?P<name>{NAME}), (?P<whose>my|our) (?P<which>(?:[a-z-]+ ){{0,2}}?)(?P<relation>{ENGLISH_PATTERN})\b"
    r"(?=,|\.|$| (?:and|is|has)\b)"
)
_PRESENTED: Final = re.compile(
    rf"\b(?:an?|one|another|only) (?P<which>(?:[a-z-]+ ){{0,2}}?)(?P<relation>{ENGLISH_PATTERN})"
    r"(?:,| named| called| by the name of| whose name is|,? (?:he|she|it|who)(?:['’]s| is) (?:called|named)"
    rf"|,? and (?:(?:we|i)(?:['’]ve| have)? )?(?:named?|call(?:ed)?) (?:him|her|it|them)|(?:,? (?:that|which"
    rf"|who(?:m)?))? (?:we|i) (?:named?"
    rf"|call(?:ed)?)|,? (?:who|which|that) (?:answers to|goes by)|,? (?:her|his|its) name is| [\w ]{{2,30}}:|:)+"
    rf" (?P<name>{NAME})"
    r"(?=\W*$|,|\.| (?:and|who|in|over|from)\b)"
)
_NAMED: Final = re.compile(
    rf"\b(?:[Mm]y|[Oo]ur) (?P<which>(?:[a-z-]+ ){{0,2}}?)(?P<relation>{ENGLISH_PATTERN})['’]s name is"
    rf" (?P<name>{NAME})"
)
_NAME_OF: Final = re.compile(
    rf"(?P<name>{NAME}) is the name of (?:my|our) (?P<which>(?:[a-z-]+ ){{0,2}}?)(?P<relation>{ENGLISH_PATTERN})\b"
)
_NAMED_LATER: Final = re.compile(
    rf"\b(?:an?|another|my|our|the) (?P<which>(?:[a-z-]+ ){{0,2}}?)(?P<relation>{ENGLISH_PATTERN})\b(?:,? [a-z'"
    rf" ]{{2,40}}?)?,? and (?:we |i )?"
    rf"(?:have )?(?:named?|call(?:ed)?) (?:him|her|it|them) (?P<name>{NAME})(?=\W*$|,|\.)"
)
_IS: Final = re.compile(
    rf"(?:^|[,;:.] |\b(?:and|but|because) )(?P<name>{NAME})(?: is|['’]s| was) (?:[Mm]y|[Oo]ur)"
    rf" (?P<which>(?:[a-z-]+ ){{0,2}}?)"
    rf"(?P<relation>{ENGLISH_PATTERN})(?!['’]s)\b"
)
_OWN: Final = re.compile(r"\b(?:i|we|our|my)\b|^\W*there(?:['’]s| is| are)\b", re.IGNORECASE)


def introductions(sentence: str, people: People) -> Iterator[Statement]:
    """Yield whom a sentence presents with the name set apart: "Ana, my younger sister", "a dog by the name of Rex"."""
    for form in (_APPOSED, _PRESENTED, _NAMED, _IS, _NAME_OF, _NAMED_LATER):
        for match in form.finditer(sentence):
            name = match["name"]
            if name.split()[0] in NO_NAMES or (form is _PRESENTED and not _OWN.search(sentence[: match.start()])):
                continue
            people.related(ENGLISH[match["relation"].lower()], name)
            yield Statement(FACTS, match.group(), name, "relation")
