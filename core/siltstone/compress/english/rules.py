"""English verbs and what they tell about a person, as a table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ..lexicon import pattern
from ..statement import FACTS, OTHER, SELF
from ..when import dated
from . import vocabulary as words
from .clauses import Clause
from .predicate import Predicate

ANY: Final = re.compile("")


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
AGE: Final = pattern(
    r"(?:only |almost |nearly |about |just )?(?:\d{1,3}|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty"
    r"|ninety)(?:[- ]\w+)?"
    r"|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen)"
    r"(?:$|\s+(?:years?|months?|weeks?)(?:[ -]old)?\b|(?=\s+(?:now|today|this|next|last|in|on|and|already"
    r"|years)\b)|(?=,))"
)
BODY: Final = (
    r"(?:back|knees?|hips?|shoulders?|ankles?|wrists?|neck|feet|legs?|stomach|eyes?|ears?|teeth|joints?|hands?)"
)

_PROPER: Final = r"(?-i:[A-ZÀ-Ý])[\w'’-]+"
NUMBER: Final = r"(?:\d+|an?|any|one|two|three|four|five|six|seven|eight|nine|ten|several|some|no)"
ANIMAL: Final = (
    r"(?:(?:dog|cat|pet|hamster|rabbit|parrot|horse|tortoise|pup|beagle|greyhound|labrador|poodle|corgi|kitten)s?"
    r"|pupp(?:y|ies)|fish)"
)
_CIRCLE: Final = (
    r"\b(?:groups?|clubs?|teams?|class|gym|choir|community|church|programme?|course|league|band|society|party|facebook"
    r"|instagram|discord|reddit)\b"
)
"""What one joins beside one's work."""

_SKILL: Final = (
    r"(?:drive|swim|ride|cook|bake|read|write|ski|skate|surf|dive|sail|sing|dance|draw|paint|knit|sew|whistle|juggle"
    r"|type|code|program|climb|cycle|snowboard|play|speak|fly|garden)\b"
)
_MASTERED: Final = pattern(
    rf"(?:(?:at all|very|so|really|well|properly|any ?more|any longer|again|now|already|too|either|fluently|an?"
    r"|anything|bikes?|bicycles?|horses?|motorbikes?|motorcycles?|cars?|trucks?|manual|stick|music|maps?|chinese|english"
    rf"|and|or|but not|{_SKILL}|like \w+|lot|bit|little|food|since \w+ \w+|for \w+ years)\b[\s,.!]*)*$"
)
"""What may follow a skill: with other objects, "can" tells of the moment: "I can't drive you to the airport"."""
_INSTRUMENT: Final = pattern(
    r"(?:the |an? )?(?:\w+ )?(?:guitar|piano|violin|cello|viola|flute|drums?|bass|trumpet|sax\w*|clarinet|harp|ukulele"
    r"|banjo|organ|keyboards?|accordion|harmonica|recorder|chess|go|tennis|football|poker|bridge|instruments?)\b"
)

RULES: Final = (
    Rule(
        "home",
        words.LIVE,
        pattern(
            r"(?:here |over |out |up |down |back )*(?:in|at|near|on(?= (?:the|an?|my|our|his|her|their|campus|base"
            r"|board|site|\d|(?-i:[A-Z])))|with|w|outside|alone|here|by|next|around|between"
            r"|abroad|together|there|just|across|close)\b"
        ),
        former=True,
    ),
    Rule("home", words.stems("settle resettle"), pattern(rf"(?:down |back |over )*{PLACE}"), tenses="past perfect"),
    Rule("former home", words.LIVE, pattern(PLACE), tenses="past"),
    Rule(
        "origin", words.stems("come hail"), pattern(r"(?:originally )?from (?:an? |the )?(?-i:[A-Z])"), tenses="present"
    ),
    Rule("origin", words.stems("grow"), pattern(r"up (?:in|on|near|with|speaking)\b"), tenses="past perfect"),
    Rule(
        "work",
        words.stems("work freelance intern volunteer consult serve"),
        pattern(
            r"(?:as|at|for|in|with|from|on (?:the|a) (?!way)|part|full|night|remotely|freelance|nights|days"
            r"|mornings|afternoons|evenings|weekends|shifts"
            r"|mostly|there|here)\b"
            r"(?! (?-i:it|this|that)\b)"
        ),
        former=True,
    ),
    Rule("work", words.stems("join"), pattern(rf"(?!.*{_CIRCLE}){_PROPER}"), tenses="past perfect"),
    Rule(
        "work",
        words.stems("start begin sign"),
        pattern(rf"(?:out |work |working |on |a (?:new )?job )?(?:at|with) (?:the )?{_PROPER}(?!.*{_CIRCLE})"),
        tenses="past perfect",
    ),
    Rule(
        "pet",
        words.stems("adopt get buy rescue bring foster take"),
        pattern(
            rf"(?:myself |ourselves |us |home |in |on |over )*(?:{NUMBER}|another|our (?:first|second)) "
            rf"(?:[a-z-]+ ){{0,2}}?{ANIMAL}\b"
            r"(?! (?:walker|bed|food|toys?|sitter|park|house|leash|collar|show|person|treats?)\b)"
        ),
        tenses="past perfect",
    ),
    Rule(
        "pet",
        words.stems("share"),
        pattern(rf".* with (?:{NUMBER}|my|our) (?:[a-z-]+ ){{0,2}}?{ANIMAL}\b"),
        tenses="present",
    ),
    Rule("former work", words.stems("work"), pattern(r"(?:as|at|for|in)\s+\w+"), tenses="past", undated=True),
    Rule("former work", words.stems("retire resign"), pattern(r"(?!to (?:bed|my|the)\b)"), tenses="past perfect"),
    Rule("work", words.stems("teach"), pattern(r"(?!(?:me|you|him|her|us|them|myself)\b)\w"), former=True),
    Rule(
        "work",
        words.stems("run manage lead coach"),
        pattern(
            r"(?:an?|the|my own|my|our|our own|two|three)\s+(?!(?:mile|marathon|few|lap|bath|fever|risk|errand"
            r"|\d))[\w-]+"
        ),
        modals=("", "used"),
        former=True,
    ),
    Rule(
        "work",
        words.stems("do"),
        tenses="present",
        negated=False,
        after=pattern(
            r"(?!(?:not|it|that|this|so|you|what|some|the|my|well|fine|good|great|ok|okay|nothing|all|a "
            r"lot)\b)(?:[\w'-]+ ){1,4}(?:for|at)\b"
            r"(?! (?:me|you|now|once|least|all|home)\b)"
        ),
    ),
    Rule(
        "work",
        words.stems("drive repair fix sell make design build clean cook write paint translate edit cut fly bake"),
        pattern(
            r".*\bfor a living\b|(?:buses|trucks|taxis|lorries|trams|trains|an? (?:bus|truck|taxi|lorry|tram|train"
            r"|school bus|cab|ambulance))\b"
        ),
        tenses="present",
    ),
    Rule("education", words.STUDY, pattern(r"(?!(?:for|it|this|that|the|hard|more|all|every)\b)\w"), former=True),
    Rule("learning", words.LEARN, tenses="present perfect", progressive=True, undated=True),
    Rule("skill", words.LEARN, pattern(rf"(?:how )?to {_SKILL}"), tenses="past perfect present", progressive=False),
    Rule("skill", words.stems("know forget"), pattern(rf"how to {_SKILL}"), tenses="past perfect present"),
    Rule("skill", words.ABLE, _MASTERED, tenses="present", modals=("can",), undated=True),
    Rule("skill", words.stems("play"), _INSTRUMENT, tenses="present", modals=("can",), undated=True),
    Rule(
        "goal",
        words.stems("try"),
        pattern(r"to (?:learn|quit|lose|save|cut|stop|get pregnant|build|write|give up)\b"),
        tenses="present perfect",
        progressive=True,
    ),
    Rule(
        "language",
        words.stems("speak"),
        pattern(r"(?:\w+ )?(?:fluent |some |a (?:little|bit of) |basic |native )*(?-i:[A-Z])"),
    ),
    Rule(
        "diet",
        words.stems("live survive"),
        pattern(
            r"(?:mostly |mainly |entirely )?(?:on|off) (?!the\b|an?\b|my\b|our\b|campus|base|board|site)(?-i:[a-z])"
        ),
        tenses="present",
    ),
    Rule("diet", words.CONSUME, pattern(r"[a-z]|$"), negated=True, undated=True),
    Rule(
        "diet",
        words.stems("start begin resume"),
        pattern(
            r"(?:eating|drinking|smoking|vaping)\b(?! (?:it|that|this)\b).*\bagain\b|back on (?:meat|coffee|sugar)"
        ),
        tenses="past perfect",
        negated=False,
    ),
    Rule(
        "diet", words.stems("resume"), pattern(r"(?:eating|drinking|smoking) \w"), tenses="past perfect", negated=False
    ),
    Rule(
        "diet",
        words.stems("have touch do"),
        pattern(r"(?:any )?(?:meat|dairy|gluten|sugar|alcohol|caffeine|coffee|pork|beef|lamb|nuts|seafood)\b"),
        negated=True,
    ),
    Rule(
        "diet",
        words.stems("go"),
        pattern(r"(?:vegan|vegetarian|gluten[- ]free|sober|teetotal|plant[- ]based|keto)\b"),
        tenses="past perfect",
    ),
    Rule(
        "diet",
        words.stems("turn become switch convert move change"),
        pattern(
            r"(?:over |back )?(?:to )?(?:(?:an? |eating )?(?:\w+ )?)?(?:vegan|vegetarian|pescatarian|gluten[- ]free"
            r"|teetotal|plant[- ]based|keto|halal|kosher)(?:ism)?\b"
        ),
        tenses="past perfect",
    ),
    Rule(
        "habit",
        words.stems("give"),
        pattern(r"(?:it |them |that |\w+ )?up\b(?! (?:my|our|the|an?) (?!habit))"),
        tenses="past perfect",
    ),
    Rule(
        "habit",
        words.QUIT,
        pattern(r"(?:out |down on )?\w+ing\b|(?:smoking|drinking|sugar|alcohol|meat|dairy|caffeine|coffee|gluten)\b"),
        tenses="past perfect present",
    ),
    Rule("skill", words.stems("drive swim cook ride read"), _MASTERED, tenses="present", negated=True, undated=True),
    Rule("skill", words.stems("play"), tenses="past present perfect", negated=True, undated=True),
    Rule(
        "former possession",
        words.stems("own drive keep"),
        pattern(r"(?:an?|the|my|any|that)\s.*\b(?:any ?more|any longer)\b"),
        tenses="present",
        negated=True,
    ),
    Rule("possession", words.stems("own drive"), pattern(r"(?:an?|the|my)\s\w"), tenses="present", negated=False),
    Rule("hobby", words.stems("take"), pattern(r"up (?!(?:space|time|room|on|the offer)\b)\w"), tenses="past perfect"),
    Rule(
        "hobby",
        words.HOBBY,
        pattern(
            r"(?!(?:in the|out of|late|into|it|about|that|this|you|them|your|the (?:news|article|email"
            r"|text))\b)(?:\w|$)"
        ),
        tenses="present",
        negated=False,
        progressive=False,
        kinds=(SELF,),
        undated=True,
    ),
    Rule(
        "hobby",
        words.stems("play sing dance paint collect"),
        tenses="present",
        negated=False,
        progressive=False,
        kinds=(OTHER,),
        undated=True,
    ),
    Rule("health", words.stems("suffer"), ANY),
    Rule(
        "health",
        words.stems("tear hurt injure sprain pull fracture break damage"),
        pattern(
            rf"(?:my |his |her )?(?:\w+ )?(?:{BODY}|acl|hamstring|ligament|arm|leg|hand|rib|nose|toe|finger"
            rf"|meniscus)\b"
        ),
        tenses="past perfect",
    ),
    Rule(
        "health",
        words.stems("wear need use"),
        pattern(
            r"(?:glasses|contacts|contact lenses|a hearing aid|hearing aids|braces|a wheelchair|a cane|an inhaler"
            r"|insulin)\b"
        ),
        tenses="present",
    ),
    Rule(
        "health",
        words.stems("take"),
        pattern(
            r"(?!(?:the|an?|it|that|this|(?:my|the|our) (?:dog|kids?|son|daughter|time|bike|car))\b)[\w' -]{3,30} "
            r"(?:every|each|daily|twice a|once a|for my)\b"
        ),
        tenses="present",
        negated=False,
    ),
    Rule(
        "work",
        words.stems("go commute"),
        pattern(r"to (?:work|my job) (?:at|for|with|in) (?-i:[A-Z])"),
        tenses="present",
    ),
    Rule(
        "hobby",
        words.stems("go"),
        pattern(r"\w+ing\b|to (?:the |an? )?\w+.*\b(?:every|each|times a|on \w+days|once a|twice a)\b"),
        tenses="present",
        negated=False,
        progressive=False,
        undated=True,
    ),
    Rule(
        "education",
        words.stems("go"),
        pattern(r"to .*\b(?:school|college|university|kindergarten|nursery|academy)\b"),
        tenses="present",
        undated=True,
    ),
    Rule(
        "language",
        words.stems("understand know"),
        pattern(r"(?:an? (?:little|bit of) |some )?(?-i:[A-Z])\w+(?:ish|ese|ian|man|ench|tch|eek|bic|ndi)\b"),
        tenses="present",
    ),
    Rule("trait", words.stems("weigh"), pattern(r"\w"), tenses="present"),
    Rule("name", words.stems("go"), pattern(r"by (?-i:[A-Z])\w+"), tenses="present"),
    Rule(
        "age",
        words.stems("turn"),
        pattern(rf"{AGE.pattern}|\d{{1,3}}\b(?! (?:off|on|down))|\w+ty\b"),
        tenses="past perfect present future",
        modals=("", "used", "can"),
    ),
)
"""Verbs and what they tell, tried in order; the first that fits speaks for the clause."""
