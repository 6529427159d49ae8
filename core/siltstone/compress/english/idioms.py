"""Likes and dislikes put without a verb of liking: "nothing beats a cold beer", "I've gone off beer"."""

from __future__ import annotations

from typing import Final

from ..lexicon import pattern
from ..statement import PREFERENCES, Finding
from ..when import dated
from .predicate import expand

_THING: Final = (
    r"(?!(?:it|that|this|them|these|those|him|her|you|your|us|me|everyone|everything|people)\b)[\w'’ -]{2,30}?"
)
_TASTES: Final = tuple(
    (attribute, pattern(text))
    for attribute, text in (
        ("like", r"^(?:to me )?nothing (?:beats|tops|compares to|comes close to) (?!(?:it|that|this|you\w*)\b)\w"),
        (
            "like",
            r"^(?:i|we) (?:\w+ )?(?:have|had|got|feel|developed) (?:\w+ )*?an? (?:\w+ ){0,2}?(?:soft spot|weakness"
            r"|thing|passion|craving|love) for "
            r"(?!(?:it|that|this|you\w*|him|her|them)\b)\w",
        ),
        (
            "like",
            r"^(?:i|we) (?:\w+ )?(?:can not|can never|could not|could never|never) (?:get enough of|resist|say no"
            r" to|turn down|refuse|pass up|do without) "
            r"(?!(?:it|that|this|them|you\w*|the)\b)\w",
        ),
        ("like", r"^(?:i|we) (?:\w+ )?(?:live for|swear by|crave|savou?r) (?!(?:it|that|this|you\w*)\b)\w"),
        (
            "like",
            r"^(?:i|we) (?:\w+ )?look forward to (?:every|each|(?:my|our) (?:\w+ )?(?:morning|evening|daily|weekly"
            r"|nightly|afternoon)) \w",
        ),
        ("like", r"^there is nothing (?:i|we) (?:like|love|enjoy)(?: \w+)? (?:more|better) than (?!this|that|it)\w"),
        (
            "like",
            rf"^{_THING} (?:always )?(?:hits the spot|makes my (?:day|morning|evening|weekend)|is (?:pure"
            rf" )?(?:heaven|bliss))\b",
        ),
        ("like", r"\bmy (?:go-to|favou?rite|all-time favou?rite|comfort) [\w -]{2,20} is (?!(?:it|that|this)\b)\w"),
        (
            "like",
            r"^(?:i|we) could (?:happily |easily )?(?:eat|drink|listen to|watch|play|read|have|live on|talk about) "
            r"(?!(?:it|that|this|them|you\w*)\b)[\w' -]{2,25} (?:all day|every (?:day|single)|for hours|forever"
            r"|non-?stop|endlessly|around the clock)\b",
        ),
        (
            "like",
            r"^nothing (?:\w+ )?(?:makes me|cheers me|picks me|calms me|relaxes me|gets me|beats"
            r"|tops)\b.{0,20}\b(?:than|like|as) "
            r"(?!(?:it|that|this|when|you\w*)\b)\w",
        ),
        (
            "like",
            rf"^{_THING} (?:is|are) (?:simply |just |totally |really )?(?:my thing|an? (?:absolute )?must\b(?=.*"
            rf" for me\b))",
        ),
        (
            "dislike",
            r"^(?:i|we) (?:now )?find (?!(?:it|that|this|you\w*|him|her|them|myself|out)\b)[\w' -]{2,25}? "
            r"(?:\w+ )?(?:revolting|disgusting|awful|gross|horrible|vile|unbearable|repulsive|nauseating|boring"
            r"|overrated"
            r"|dreadful|terrible|foul|undrinkable|inedible)\b",
        ),
        (
            "dislike",
            rf"^{_THING} and (?:i|me) (?:have |are )?(?:\w+ )?(?:parted (?:ways|company)|broke(?:n)? up|not friends"
            r"|no longer friends|history|fallen out|fell out|had a falling[- ]out)\b",
        ),
        (
            "dislike",
            r"^(?:i|we) have (?:\w+ )?(?:had (?:enough|my fill|it with)|fallen out of love with|gone off|come to "
            r"(?:hate|dislike|detest|loathe)|grown (?:sick|tired|weary) of|turned (?:against|my back on)|cooled on"
            r"|soured on) "
            r"(?!(?:it|that|this|you\w*|him|her|them)\b)\w",
        ),
        (
            "dislike",
            rf"^{_THING} (?:just |simply )?(?:(?:does|do) not|no longer) (?:\w+"
            rf" )?(?:tastes?|appeals?|agrees?|sits?|works?"
            r"|does? it|suits?|excites?|tempts?)\b.*\b(?:me|my)\b",
        ),
        (
            "dislike",
            rf"^(?:even )?the (?:very |mere |sheer )?(?:smell|taste|thought|sight|idea|scent) of {_THING} (?:\w+ )?"
            r"(?:makes?|turns?|gives?|puts?|disgusts?|repels?|sickens?|nauseates?) (?:me|my)\b",
        ),
        ("dislike", rf"^{_THING} has (?:\w+ )?lost (?:its|all its|all) (?:charm|appeal|magic|shine|attraction)\b"),
        (
            "dislike",
            rf"^(?:my|our) (?:love|taste|appetite|craving|passion|fondness|days) (?:for|of) {_THING} (?:is|are|has"
            rf"|have)"
            r" (?:\w+ )?(?:gone|over|dead|faded|died|vanished|cooled|disappeared|behind)\b",
        ),
        ("dislike", rf"^(?:my|our) {_THING} days are (?:\w+ )?(?:over|behind|done)\b"),
        (
            "dislike",
            r"^(?:i|we) (?:\w+ )?(?:steer|stay|keep) (?:well )?(?:clear of|away from) (?!(?:it|that|this|you\w*)\b)\w",
        ),
    )
)


def taste(clause: str) -> Finding | None:
    """Return the like or dislike in a clause that puts it without a verb of liking: "nothing beats a cold beer"."""
    full = expand(clause)
    found = next((attribute for attribute, one in _TASTES if one.search(full)), None)
    return Finding(PREFERENCES, found) if found and not dated(clause) else None
