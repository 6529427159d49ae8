"""What a sentence tells by the words in it, where no rule of grammar reads it: a place and a key, a name and a payslip.

People put a new home or job in endless ways ("the van dropped our things off in Ghent"), with few words that all of
them share. A sentence of the speaker's own, of now, that has such a word and a name where one belongs tells it.
"""

from __future__ import annotations

import re
from typing import Final

from ..lexicon import pattern
from ..relations import ENGLISH_PATTERN
from ..statement import FACTS, Finding
from .predicate import expand

_PROPER: Final = (
    r"(?-i:(?!(?:I|It|The|My|Our|We|This|That|There|Here|What|He|She|They|You|So|And|But|Now|Home|Work|Life)\b|January|February|March|April|May|June|July|August|September|October|November"
    r"|December|\w+day\b|English|Chinese|Christmas|Easter)[A-ZÀ-Ý])[\w'’-]+"
)
_OWN: Final = pattern(r"\b(?:i|we|me|us|my|our|mine|ours)\b")
_ELSEWHERE: Final = pattern(
    r"\b(?:would|could|should|might|(?-i:may)|will|wish|hope|hoping|want|wanted|dream\w*|if|unless|maybe|perhaps|almost"
    r"|nearly|considering|thinking|planning|plan|looking (?:for|at|to)|searching|appl(?:y|ied|ying)|interview\w*"
    r"|used to|grew|born|childhood|once|previous\w*|former\w*|years? ago|back when|before|until|till|when i was"
    r"|visit\w*|trip|holidays?|vacation|hotel|hostel|airbnb|weekend|conference|concert|tour\w*|book(?:ed|ing)?"
    r"|flight|fly|flying|reviews?|movie|film|novel|story|game|show|offer(?:ed|s)?|he|she|they|his|her|their|you"
    r"|your|not|never|no longer|miss(?:ed|ing)?|turn(?:ed|ing)? down|declin\w+|reject\w+|refus\w+|pretend\w*"
    r"|any ?more|left (?-i:[A-Z])\w+)\b"
)
"""What makes a sentence one of another time, another person, or a wish."""
_OF_OTHERS: Final = pattern(
    rf"\b(?:my|our) (?:[\w-]+ ){{0,2}}?(?:{ENGLISH_PATTERN})(?:['’]s?)?\b(?!(?: here| over here)? (?:in|at)"
    rf" (?-i:[A-Z]))"
)
_BESIDE: Final = pattern(
    r"\b(?:with|and) (?:my|our|an?|two|three|four|some)(?: [\w-]+)? "
    rf"(?:{ENGLISH_PATTERN}|flatmates|roommates|housemates)\b"
)
"""Who is at one's side takes no part: "I share a place in Ghent with my brother"."""

_AT_HOME: Final = pattern(
    r"\b(?:homes?|live|living|resid\w+|settl\w+|resettl\w+|relocat\w+|roots|address|postcode|zip code|flat|apartment"
    r"|studio|condo|cottage|house|loft|flatmates?|roommates?|housemates?|rent(?:ing|ed)?|lease|mortgage|landlord"
    r"|landlady|neighbou?rs?|neighbou?rhood|keys|moving (?:van|truck|boxes|company)|unpack\w*|moved in"
    r"|for good|new life|new chapter|my (?:new )?city|our (?:new )?city|my (?:new )?town|staying|local|(?:swapped"
    r"|changed|switched) cit(?:y|ies)|my bed|my street|my block|boxes|belongings|furniture|doorbell|front door"
    r"|mailbox|letterbox)\b"
)
_PLACED: Final = pattern(
    rf"\b(?:in|to|into|outside|near|around) (?:the )?{_PROPER}|^{_PROPER}(?: (?-i:[A-Z])\w+)? (?:is|has been|has"
    rf" become|became) (?:\w+ ){{0,3}}?(?:home|where|city|town|base)\b"
    rf"|\b(?:home|city|town|address)\b[^.;]{{0,20}} (?:is|became) (?:\w+ )?{_PROPER}"
    rf"|\b(?:my|our) (?:new |little |old )?{_PROPER} (?:flat|apartment|house|home|place|studio|loft|condo"
    rf"|neighbou?rhood)\b"
    rf"|[:,] {_PROPER} it is\b|\bcall(?:ing)? {_PROPER} (?:my |our )?home"
)
_AT_WORK: Final = pattern(
    r"\b(?:employers?|employ(?:s|ed)|payroll|pay(?:s|ing)? (?:my|our)|payslips?|paid by|salary|wages|pay ?che(?:ck"
    r"|que)s?"
    r"|colleagues|co-?workers|onboarding|first (?:day|week|shift)|(?:second|third) (?:day|week|month)|badge|desk"
    r"|shifts?"
    r"|hired|jobs?|position|role|accepted an offer|took an offer|took the offer|signed (?:a|the|my) contract|contract"
    r"|my boss|my manager|company i work|i work|work(?:ing|ed)? for|my office|uniform|staff|workforce|career|probation"
    r"|earn (?:my|a) living|bread and butter|my team|part of the|commute|clock in)\b"
)
_HIRING: Final = pattern(
    rf"\b(?:at|for|with|by|from|of|over to) (?:the )?{_PROPER}|^{_PROPER}(?: (?-i:[A-Z])\w+)? (?:is|has|gave|took|pays"
    rf"|employs|hired|signed) (?:\w+ ){{0,2}}?(?:me|us|my|our)\b|\b(?:employer|company|workplace)\b[^.;]{{0,15}}"
    rf" is (?:\w+ )?{_PROPER}"
)
_NO_JOB: Final = pattern(
    r"\b(?:lost|fired|laid off|quit|resigned|offer|discount|class|course|school|lesson|gym|church|club|choir"
    r"|volunteer\w*|customer|insurance|game|team won"
    r"|season|fan)\b"
)

_FOODS: Final = (
    r"(?:red |all |any )?(?:meat|beef|pork|chicken|fish|dairy|sugar|alcohol|coffee|caffeine|gluten|seafood|eggs"
    r"|booze|wine"
    r"|beer|cigarettes|smoking|drinking)"
)
_EATS: Final = pattern(
    rf"\b(?:i|we) (?:have |am |\w+ )?(?:\w+ )?(?:swear|swore|sworn|lay|laid|keep(?:ing)?|stay(?:ing|ed)?) off"
    rf" {_FOODS}\b"
    rf"|\b(?:i|we) (?:have |am )?(?:\w+ )?(?:cut(?:ting)?|ditch(?:ed|ing)|dropp(?:ed|ing)|kick(?:ed|ing)"
    rf"|eliminat(?:ed|ing)"
    rf"|banned|renounced|abandoned|said (?:no|goodbye) to) (?:out )?{_FOODS}\b"
    r"|\b(?:i|we) (?:am|are|live|eat|stay|have (?:been|stayed|remained)) (?:\w+ )?(?:\w+ )?(?:meat|dairy|gluten|sugar"
    r"|alcohol|caffeine)[- ]free\b"
    r"|\b(?:i|we) (?:am|are|have (?:been|become)) (?:\w+ )?(?:an? )?(?:\w+ ){0,2}?(?:carnivore|omnivore|herbivore"
    r"|meat[- ]eater)\b"
    r"|\b(?:i|we) (?:am|are|live|eat|stay|have (?:been|stayed|remained|gone|switched)) (?:\w+ ){0,3}?(?:vegetarian"
    r"|vegan|plant[- ]based"
    r"|pescatarian)\b(?! (?:restaurant|recipe|friend|option|place|caf|food|dish|menu|cook|group|ice|cake|dessert))"
    rf"|^{_FOODS} (?:is|are) (?:\w+ )?(?:no longer (?:part|on)|not (?:part|on|something i)|out of my|gone from"
    rf"|history)\b"
    rf"|\b(?:my|our) (?:diet|plate|meals?|dinners?|lunch(?:es)?|fridge|kitchen|table)\b.*\b(?:{_FOODS}"
    rf"|plants?|vegetables|veggies)\b"
    rf"|\b(?:i|we) have (?:\w+ )?{_FOODS} (?:with|at|for|on) (?:every|each|most|all|breakfast|lunch|dinner|almost)"
    rf"|^there is (?:\w+ )?{_FOODS} (?:on|in) (?:my|our|every)"
    rf"|\b(?:dinner|lunch|breakfast|a meal|every meal|food)\b (?:\w+ )?(?:means|needs|requires|is not \w+ without)"
    rf" (?:\w+ )?{_FOODS}\b"
)
_REACTS: Final = (
    r"\b(?:allerg\w+|rash(?:es)?|hives|itch\w*|swell(?:s|ing)?|swollen|anaphyla\w+|epi-?pens?|welts|blotch\w*"
    r"|throat (?:\w+ )?(?:clos\w+|tighten\w*|up)|hospital|emergency room|the er|intoleran\w+|(?:stop|can not) breath\w*"
    r"|bad reaction|break out)\b"
)
_ALLERGIC: Final = pattern(_REACTS)
_CAUSED: Final = pattern(
    r"\b(?:from|to|because of|due to|after (?:eating|having)|if|when|whenever|every time|each time) (?!(?:go"
    r"|school|work|bed"
    r"|the (?:hospital|doctor|er)|it|that|this|you)\b)\w+"
    r"|\b(?:puts?|lands?|sends?|gives?|makes?|leaves?|causes?|triggers?) (?:me|my)\b|\bis off[- ]limits\b"
)
_ONCE: Final = pattern(
    r"\b(?:would|could|might|he|she|his|her|you|your|yesterday|last (?:week|night|month)|visit\w*|dog|cat|sister"
    r"|brother|mother|father|son|daughter|wife|husband|mum|mom|dad|not allergic|no allerg\w+|surgery|operation"
    r"|doctor|work(?:s|ed|ing)? (?:at|in))\b"
)
_LEFT_OUT: Final = pattern(r"\b(?:no longer|not|never|any ?more)\b")
_ACCEPTED: Final = pattern(r"\b(?:accepted|took|signed) (?:an|the|their|my) (?:job )?offer (?:from|at|with|of)\b")
_QUESTION: Final = re.compile(r"[?]\W*$")


def find(sentence: str) -> Finding | None:
    """Return what a sentence of the speaker's, which nothing else has read, tells by its words."""
    full = expand(sentence)
    if not _OWN.search(full) or _OF_OTHERS.search(_BESIDE.sub("", full)):
        return None
    if _EATS.search(full) and not _ELSEWHERE.search(_LEFT_OUT.sub("", full)):
        return Finding(FACTS, "diet")
    if reacts(sentence):
        return Finding(FACTS, "health")
    full = _ACCEPTED.sub("work for", full)
    if _ELSEWHERE.search(full):
        return None
    if _AT_WORK.search(full) and _HIRING.search(full) and not _NO_JOB.search(full):
        return Finding(FACTS, "work")
    if _AT_HOME.search(full) and _PLACED.search(full):
        return Finding(FACTS, "home")
    return None


def at_work(sentence: str) -> bool:
    """Return whether the place that a sentence names is one of work: "I've moved over to Bosch, new desk and all"."""
    return _AT_WORK.search(expand(sentence)) is not None and _AT_HOME.search(expand(sentence)) is None


def reacts(sentence: str) -> bool:
    """Return whether a sentence says what the speaker's body does at something: "I swell up if I eat nuts"."""
    full = expand(sentence)
    return (
        _OWN.search(full) is not None
        and _ALLERGIC.search(full) is not None
        and _CAUSED.search(full) is not None
        and _ONCE.search(full) is None
        and _QUESTION.search(full) is None
    )
