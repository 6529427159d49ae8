"""What two statements about one thing have in common: whether they say the same, another thing, or the reverse. Pure.

Rules compare what is left of a statement when its grammar is taken away: "We've just moved to Lisbon" and "I live in
Lisbon" both leave Lisbon.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from ..compress.lexicon import words_of
from ..compress.modality import negated
from ..text.language import script
from ..text.numbers import numbers
from ..text.tokenize import terms
from .bilingual import things

_REMEMBERED: Final = 8192  # statements: each is compared with every other of its topic
SAME: Final = 0.6
"""The share of the shorter statement's words that two statements of the same thing have in common."""

_NAME: Final = re.compile(r"[A-ZÀ-Þ][\w'’.-]+|[\w.+-]+@[\w.-]+|\+?\d[\d\s./:-]*\d|\d+")
_NO_NAME: Final = words_of(
    "you your always never please stop keep do don't not no forget use answer reply switch",
    "i i'm i've i'd i'll we we're we've my our the a an it it's yes no so and but well now actually sorry wait also",
    "just today yesterday he she they his her their this that there in on at since after before from monday tuesday",
    "wednesday thursday friday saturday sunday may",
)
_GRAMMAR_EN: Final = frozenset(
    term
    for word in words_of(
        "live lives living lived move moved moving settle settled based located stay staying reside home house flat",
        "apartment place city town work works working worked job position role company employer employed start started",
        "starting begin began begun join joined switch switched quit leave left new old now currently nowadays today",
        "retire retired resign resigned",
        "yesterday last next month week year ago since day days these recently finally still back longer anymore more",
        "no never not stop stopped give gave given up used actually sorry wait meant mean correct correction really",
        "very much love like likes loved enjoy enjoys hate dislike dislikes prefer fan favorite favourite can stand",
        "name called call birthday born turn turned email mail address phone number eat eats eating ate drink drinks",
        "drinking go going went have has had use using always usually often again please plan planning trip visit is",
        "are was were something absolutely truly simply totally",
    )
    for term in terms(word)
)
_GRAMMAR_ZH: Final = re.compile(
    r"我们|我们|咱们|我|我的|现在|目前|最近|刚刚|刚|已经|其实|不对|记错了|说错了|应该|从|上个?(?:月|周|星期)|去年|今年|昨天|今天|"
    r"前天|不再|再也不|再|不|没|没有|别|了|的|在|住在|住|搬到|搬去|搬家|搬|定居|家|工作|上班|入职|就职|跳槽|换到|换了|换成|换|改成|"
    r"受不了|离不[开了]|少不了|不能没有|情有独钟|着迷|(?:没|感|没有)?兴趣|反胃|恶心|上瘾|迷(?!你)|爱好者|戒掉?|每天|顿顿|一闻|超(?=爱|喜欢)|"
    r"会(?=过敏)|对(?=[^，]{1,8}(?:过敏|情有独钟|着迷|没|感|无感|上瘾))|如今|录用|聘用|招进|进去|被(?=[^，]{1,12}(?:录用|聘用|挖|招))|把我|又|抽(?=烟)|改到|改|去|来|到|公司|当|做|是|一名|一个|一位|个|名|新|喜欢|爱|讨厌|很|特别|非常|最|更|可|吃|喝|看|听|叫|名字|生日|邮箱|"
    r"电话|手机号?|地址|岁|今年|开始|已|也|还|都|就|行|吧|啊|呢|哦|，|。|！|,|!|\s"
)
_DAY_ZH: Final = re.compile(
    r"(?:[\d一二三四五六七八九十]+[年月号日])+|[上下这本]?个?(?:周|星期|礼拜)[一二三四五六日天末]?|[今明后昨前]天|[今明后去前]年|[早晚]上|下午"
)
_ROLE: Final = re.compile(
    r"\bas an? \w+|\b(?:i'?m|i am|he'?s|she'?s|is|am|became|become) (?:now )?(?:an?|the) (?!company|firm|place"
    r"|one\b|people)\w+|"
    r"(?:是|做|当)(?:一?[名个位])?(?!在)\w*(?:师|员(?!工)|生|家|经理|总监|医生|护士|老师|程序|设计|工)|(?:师|员|经理|总监|医生|护士|老师)$",
    re.IGNORECASE,
)
_EMPLOYER: Final = re.compile(
    r"(?i:\b(?:at|for|with|joined|join|by)) (?:the )?[A-Z]|(?i:\bmy own (?:business|company|studio|shop))|"
    r"在[^，。]{1,12}(?:上班|工作|做|当|就职|任职)|(?:入职|加入|跳槽|去了|换到)|被[^，]{1,12}(?:录用|聘用|挖|招)|把我(?:招|挖|聘)|的(?:一?[名个位])?(?:员工|职员|雇员|职工)|(?:是|做|当)(?!公司|单位|医院|学校|我们)[^，。]{2,8}的一?[名个位]?[^，。]{0,6}(?:师|员|经理|总监|主管)$|东家|雇主|单位"
)
_ASIDE: Final = re.compile(
    r"\b(?:don'?t forget|(?:please |do )?remember|never mind|no problem|not to mention|why not)\b"
    r"|别忘了?|不要忘了?|不用说",
    re.IGNORECASE,
)
_ALLERGIC: Final = re.compile(r"\ballergic\b", re.IGNORECASE)
_TWICE: Final = re.compile(
    r"\b(?:can['’]?t|can(?: ?not| never| hardly)|couldn['’]?t|could not|never|don['’]?t)\b[^,.]{0,30}\bwithout\b"
    r"|\b(?:never|can['’]?t|cannot|can not|could never|won['’]?t) (?:\w+ )?(?:say no|resist|refuse|turn down|pass"
    r" up|get enough)\b|少了[^，]{1,6}就[^，]{0,6}"
    r"|\bwithout\b[^,.]{0,30}\b(?:isn['’]t|is not|is no)\b|无[^，]{1,3}不欢|离不[开了]|少不了|不能没有"
    r"|[不没][^，]{1,5}(?:就(?:难受|不舒服|不行|浑身|睡不着|没劲)|吃不下|不香|不行)",
    re.IGNORECASE,
)
"""Denied twice: "I can't live without meat", 无肉不欢."""
_ABSTAINS: Final = re.compile(
    r"\b(?:swor[en]|swear|laid|laying|stay(?:ed|ing)?|steer(?:ed|ing)?|keep(?:ing)?|kept) (?:well )?(?:off|away"
    r" from|clear of)\b"
    r"|\b(?:cut|cutting)\b.{1,20}\bout\b|\b(?:cut|cutting) out\b|\b(?:ditch|kick|banish|renounc|abandon)(?:ed"
    r"|ing)\b|\bdropp(?:ed|ing) (?!off)\w+ from\b|\b(?:done|finished|through) with\b|\bgone off\b"
    r"|\bparted (?:ways|company)\b|\b(?:said|saying|waved) goodbye\b|\boff (?:the|my) (?:menu|table|list)\b"
    r"|\boff[- ]limits\b"
    r"|\bthing of the past\b|\bdays are (?:\w+ )?(?:over|behind)\b|\bbehind me\b|告别|拜拜|再见|绝缘|无缘"
    r"|喝?吃?[腻伤够]了|敬而远之",
    re.IGNORECASE,
)
"""What denies without a word of denial: "I've sworn off meat"."""
_EXACT: Final = {
    "age": re.compile(r"\d+|[零一二三四五六七八九十百两]+(?=岁)"),
    "email": re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    "phone": re.compile(r"\d"),
}
"""What two values of an attribute must agree in, to the letter."""
_CALLED: Final = re.compile(r"\bcall me\b|\bgo by\b|叫我|喊我|称呼我", re.IGNORECASE)


@lru_cache(_REMEMBERED)
def content(text: str) -> frozenset[str]:
    """Return the terms of a statement that tell what it is about: its names and numbers, else its other words."""
    if script(text) == "han":
        bare = _GRAMMAR_ZH.sub(" ", text)
        return frozenset(term for part in bare.split() for term in _pairs(part))
    return names(text) or words(text)


@lru_cache(_REMEMBERED)
def names(text: str) -> frozenset[str]:
    """Return the terms of the names and numbers in a statement, as far as capitals and digits show them."""
    found = [name for name in _NAME.findall(text) if name.casefold().rstrip(".'’") not in _NO_NAME]
    return frozenset(term for name in found for term in terms(name))


@lru_cache(_REMEMBERED)
def denies(text: str) -> bool:
    """Return whether a statement denies something; "don't forget" at its side does not, nor what is denied twice."""
    return negated(_TWICE.sub("", _ASIDE.sub("", text)))


@lru_cache(_REMEMBERED)
def abstains(text: str) -> bool:
    """Return whether a statement of taste or diet denies something, or says that somebody is done with it."""
    return denies(text) or _ABSTAINS.search(_TWICE.sub("", text)) is not None


@lru_cache(_REMEMBERED)
def words(text: str) -> frozenset[str]:
    """Return the terms of a statement without its grammar, names and all."""
    if script(text) == "han":
        return content(_DAY_ZH.sub(" ", text))
    return frozenset(terms(_ALLERGIC.sub("allergy", _ASIDE.sub("", text)))) - _GRAMMAR_EN


def same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two contents are the same, or one adds nothing to the other."""
    if not one or not other:
        return True
    return len(one & other) >= SAME * min(len(one), len(other))


def same_things(one: str, other: str) -> bool:
    """Return whether two statements are about the same; of two languages, as far as a table knows."""
    if script(one) == script(other):
        return same(content(one), content(other))
    mine, its = things(one), things(other)
    return bool(mine) and bool(its) and same(mine, its)


def same_value(attribute: str, one: str, other: str) -> bool:
    """Return whether two statements give an attribute the same value."""
    exact = _EXACT.get(attribute)
    if exact is not None:
        return exact.findall(one) == exact.findall(other)
    return same_things(one, other)


def says_the_same(one: str, other: str) -> bool:
    """Return whether two statements of one topic say the same, in other words perhaps; a denial says the reverse."""
    if abstains(one) != abstains(other):
        return False
    if script(one) != script(other):
        return bool(things(one)) and things(one) == things(other) and numbers(one) == numbers(other)
    if not (names(one) <= names(other) or names(other) <= names(one)):
        return False
    mine, its = numbers(one), numbers(other)
    if mine and its and mine.isdisjoint(its):
        return False
    return _alike(one, other)


def says_the_reverse(one: str, other: str) -> bool:
    """Return whether of two statements of one topic, in one language, one denies what the other says."""
    return denies(one) != denies(other) and script(one) == script(other) and _alike(one, other)


def _alike(one: str, other: str) -> bool:
    a, b = words(one), words(other)
    return bool(a) and bool(b) and len(a & b) >= _ALIKE * max(len(a), len(b))


_ALIKE: Final = 0.6
"""The same share of the longer statement's words: what says more is another statement."""


def aspects(attribute: str, text: str) -> frozenset[str]:
    """Return which sides of an attribute a statement is about: the role or the employer, the name or what to call."""
    if attribute == "work":
        found = {name for name, pattern in (("role", _ROLE), ("employer", _EMPLOYER)) if pattern.search(text)}
        return frozenset(found or {"role", "employer"})
    if attribute == "name":
        return frozenset({"called" if _CALLED.search(text) else "name"})
    return frozenset({attribute})


def _pairs(run: str) -> list[str]:
    """Return the pairs of characters of a run, or the run itself where it is shorter."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]
