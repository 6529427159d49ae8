"""Whom somebody shares their life with: one state at a time, however it is told, in English and Chinese. Pure.

A statement allows some states and rules out the others: "divorced" leaves open whether there is somebody new, "single"
whether there was somebody once. Two statements exclude each other where nothing is left that both allow.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from .english.predicate import expand
from .lexicon import pattern

Bond: TypeAlias = frozenset[str]
"""The states that a statement allows."""

_ALL: Final = frozenset({
    "married", *(f"{now} {past}" for now in ("alone", "dating", "engaged") for past in ("never", "divorced", "widowed"))
})  # fmt: skip


def _any(word: str) -> Bond:
    return frozenset(one for one in _ALL if word in one)


_ORDER: Final = tuple(map(_any, ("alone", "dating", "engaged", "married", "divorced", "widowed")))
SINGLE, DATING, ENGAGED, MARRIED, DIVORCED, WIDOWED = _ORDER

_LOVE: Final = r"(?:girl ?friend|boy ?friend|partner)"
_MATE: Final = rf"(?:{_LOVE}|wife|husband|spouse|fianc[eé]e?)"
_MATE_ZH: Final = "(?:老公|丈夫|老婆|妻子|太太|先生|爱人|媳妇)"
_LOVE_ZH: Final = "(?:男朋友|女朋友|男友|女友|对象)"
_READINGS: Final = tuple(
    (allowed, pattern(english, "|", chinese))
    for allowed, english, chinese in (
        (
            WIDOWED,
            r"\bwidow(?:ed|er)?\b|\blost my (?:wife|husband)\b"
            r"|\bmy (?:late )?(?:wife|husband) (?:has )?(?:died|passed)\b",
            rf"丧偶|{_MATE_ZH}[^，。]{{0,8}}(?:去世|过世|死了|病逝)",
        ),
        (
            DIVORCED,
            r"\bdivorced\b|\b(?:my|our|the) divorce (?:\w+ )?(?:final|finali[sz]ed|came through|went through)\b",
            rf"离异|离了?婚了?|[跟和与]{_MATE_ZH}离了",
        ),
        (
            MARRIED,
            r"\b(?:re)?married\b(?! (?:people|couples?|man|woman|life|name))|\b(?:tied the knot|got hitched|eloped)\b"
            r"|\b(?:have|has) an? (?:\w+ )?(?:wife|husband)\b",
            r"已婚|[再结]了?婚|成家了|领了?证了|领了?结婚证|嫁人了",
        ),
        (
            ENGAGED,
            rf"\bengaged\b(?! (?:in|with|by|at|on)\b)|\b(?:he|she|my {_LOVE}) proposed(?: to me)?(?:$|\W)",
            r"订了?婚|求婚成功",
        ),
        (
            DATING,
            r"\b(?:in a (?:\w+ )?relationship|dating\b(?! (?:apps?|sites?|profiles?)\b)|seeing (?:someone|somebody))\b"
            rf"|\b(?:have|has|found|got|met) an? (?:\w+ )?{_LOVE}\b",
            rf"[有交找谈]了?(?:一?个)?新?{_LOVE_ZH}|脱单|谈(?:着|了)?恋爱|恋爱了|(?:[跟和与]|我们)[^，。]{{0,6}}在一起了",
        ),
        (
            SINGLE,
            r"\bsingle\b(?![- ](?:time|day|one|thing|bed|room|malt|parent|mum|mom|dad|mother|father|word|minded))"
            r"|\b(?:broke|broken|split) up\b(?! (?:the|this|that|it|into|an?|my|our|laughing)\b)"
            r"|\bnot together\b"
            rf"|\bgot dumped\b"
            rf"|\bmy {_MATE} (?:has )?(?:dumped|left|divorced) me(?:$|[,.!]| (?:for|last|yesterday|in)\b)"
            r"|\b(?:called|broke) off (?:the|our|my) (?:engagement|wedding)\b"
            r"|\b(?:am|are|have|got) separated\b(?! (?:by|from)\b)",
            r"单身|分手|分居|未婚(?![夫妻])|[跟和与][^，。]{1,6}(?:分了|掰了)"
            r"|被[^，。]{0,6}甩了|退婚",
        ),
    )
)
_DENIED: Final = pattern(
    r"\b(?:not|never|no longer) (?:\w+ ){0,2}?(?:married|engaged|single|dating|divorced|widowed|seeing|(?:been )?in a"
    r"(?: \w+)? relationship|have an? (?:\w+ )?\w+)\b"
    r"|(?:不是|没(?:有)?|不再是?)(?:再|已经)?(?:单身|结婚|已婚|订婚|离婚|离异|谈恋爱|男朋友|女朋友|对象)"
)
_UNREAL: Final = pattern(
    r"\b(?:want|hope|wish|plan|going|about|thinking|afraid|scared|anniversary|congrat\w*"
    r"|wedding (?:dress|photo|cake)s?)\b"
    r"|[不才没还]想|想要?|希望|打算|准备|计划|考虑|差点|差一点|几乎|纪念|婚礼|婚纱|证书|恭喜|祝|参加|劝"
)


def bond(text: str) -> Bond | None:
    """Return the states that a statement of somebody about themselves allows, ``None`` where it is about none.

    "We broke up" and 我们分手了 allow to be alone, whatever was before; "I'm not married" all but that.
    """
    full = expand(text)
    if _UNREAL.search(full):
        return None
    allowed = next((allowed for allowed, reading in _READINGS if reading.search(full)), None)
    if allowed is None or not _DENIED.search(full):
        return allowed
    return SINGLE if allowed == DATING else _ALL - allowed


def own_bond(clause: str) -> bool:
    """Return whether a clause tells with whom its speaker shares their life: "my girlfriend dumped me"."""
    return _OWN.search(expand(clause)) is not None and bond(clause) is not None


_OWN: Final = pattern(
    rf"^(?:i|we)\b|^(?:my|our|the) (?:divorce|engagement)\b|^(?:my |our )?[\w'’-]+ and i\b"
    rf"|^(?:my|our) {_MATE}\b.*\bme\b"
    r"|^(?:我|咱)(?!们?家?的?(?:[爸妈哥姐弟妹叔姨爷奶]|朋友|同事|同学|室友|闺蜜|邻居|老板|领导|孩子|儿子|女儿))"
)


def comes_after(new: Bond, old: Bond) -> bool:
    """Return whether a state follows another one in a life, as the wedding follows the engagement."""
    return _stage(new) > _stage(old)


def _stage(one: Bond) -> int:
    return max((number for number, state in enumerate(_ORDER) if one <= state), default=len(_ORDER))
