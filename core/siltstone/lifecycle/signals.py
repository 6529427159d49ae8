"""Words by which somebody says that something has changed, has ended, or was told wrongly. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ..compress.bonds import bond
from ..compress.english.predicate import averted
from .deaths import DEATH, dies

_CORRECTS: Final = re.compile(
    r"\b(?:i meant|i mean\b(?! it)|correction|scratch that|let me correct|i misspoke|i was wrong|my (?:mistake|bad)|"
    r"oops|typo|mistyped|misspelled|(?:got|had) (?:it|that) wrong|"
    r"(?:oh |no,? )?wait\b,?|actually)|,\s*not\b|\bsorry,? (?:it'?s|it is|it was|that'?s|i meant)|"
    r"^\W*(?:oh |so )?sorry\b[,.:;—-]|,\s*sorry\b|"
    r"不对|记错|说错|搞错|写错|打错|弄错|口误|更正|纠正|应该是|其实是|^其实|不好意思|抱歉|不叫|不是[^，。]{1,12}[，,]?\s*(?:而)?是|是[^，。]{1,12}[，,]?不是",
    re.IGNORECASE,
)
_CHANGES: Final = re.compile(
    r"\b(?:now|nowadays|these days|currently|any ?more|no longer|moved|relocated|switched|changed|new|just|recently|"
    r"got (?:engaged|married|divorced|dumped)|broke up|split up|"
    r"from now on|instead|back (?:to|in)|finally|turned|left|quit|started|became|joined)\b|"
    r"现在|如今|目前|最近|不再|改成|改为|改用|改叫|换成|换到|换了|换工作|搬到|搬去|搬家|跳槽|刚|新|以后|从此|已经|分手|离婚|[不没][^，。]{1,8}了[。！!]*$",
    re.IGNORECASE,
)
_CANCELS: Final = re.compile(
    r"\b(?:cancel(?:l?ed|ling)?|call(?:ed|ing) off|fell through|scrapped|won'?t be (?:going|able)|"
    r"not (?:going|flying|travelling|traveling|doing|moving|coming)\b.{0,40}(?:after all|any ?more)|"
    r"(?:is|are|'s) off\b|changed my mind|decided (?:against|not to)|no longer (?:going|flying|moving|planning))|"
    r"取消|不去了|不飞了|不搬了|去不成|泡汤|黄了|改主意|还是算了|不打算.{0,8}了",
    re.IGNORECASE,
)
_WORK_ENDS: Final = re.compile(
    r"\b(?:quit|left|resigned from|lost|been laid off|was laid off|got laid off|got fired|handed in my notice)\b"
    r".{0,30}\b(?:job|work|position|company|at|from)\b|\b(?:laid off|retired|resigned)\b|辞职|离职|辞了|被裁|失业|退休",
    re.IGNORECASE,
)
_WORK_BEGINS: Final = re.compile(
    r"\b(?:got|landed|took|accepted|started|starting|found)\b.{0,25}\b(?:job|position|role|work|working)\b|"
    r"\b(?:job|position|role) (?:at|with)\b|\bjoined\b.{1,40}\bas an?\b|\bswitched (?:jobs|companies)\b|"
    r"\b(?:got|was|been|were|am) (?:just |finally )?(?:hired|recruited|headhunted|taken on|poached) by\b|"
    r"\b(?:made|promoted|appointed|named) me\b|"
    r"被[^，]{1,12}(?:录用|聘用|挖走|挖去|招)|把我(?:招|挖|聘)|升任|升职[当为到做]|"
    r"跳槽|入职|(?:辞职|离职)[后了就]*(?:去|到|进|加入)了?(?![旅玩休外医])[^，。]{2,8}|换了?(?:份|个)?(?:新)?工作|新工作|去了?[^，。]{1,12}(?:上班|工作)",
    re.IGNORECASE,
)
_WORK_SOUGHT: Final = re.compile(
    r"\b(?:appl(?:y|ied|ying)|interview\w*|turn(?:ed|ing)? down|declin\w+|reject\w+|refus\w+|offer(?:ed|s|ing)?"
    r"|passed (?:up|on)|look(?:ed|ing) for|considered|shortlisted|missed out|wanted?|hop(?:e[ds]?|ing)"
    r"|up for)\b|应聘|面试|申请|投了|拒绝|拒了|婉拒|推掉|放弃|没(?:有)?(?:去|要|接)",
    re.IGNORECASE,
)
_WORK_TAKEN: Final = re.compile(
    r"\b(?:accept(?:ed|ing)?|took|taken|taking|start(?:ed|ing)?|got (?:it|the|hired)|landed|said yes|joined|signed)\b"
    r"|接受|接了|答应|入职|签了",
    re.IGNORECASE,
)
"""Of a job that was applied for, or offered, the word that it is one's own now."""
_SOLD: Final = re.compile(
    r"\b(?:sold|traded|gave away|given away|got rid of|scrapped|parted with)\b"
    r"(?! \w+ to me\b).{0,20}\b(?:my|our|the|it)\b"
    r"|(?:卖|送人|转让|报废|处理)(?:掉|出去)?了",
    re.IGNORECASE,
)
_RESUMES: Final = re.compile(r"\bagain\b|\bback (?:to|on)\b|\brelapsed\b|又|重新|再次|恢复", re.IGNORECASE)
_HOME_ENDS: Final = re.compile(
    r"\bmoved (?:out of|away from)\b|\bleft (?:(?-i:[A-Z])\w+)(?: (?:for good|behind|last|in|\w+ ago)\b|$)|"
    r"搬离|离开了?(?!公司|家)[\u4e00-\u9fff]{2,4}$",
    re.IGNORECASE,
)
_NAME: Final = r"(?P<{0}>(?:(?:an?|the|on) )?[\w'’-]+(?: (?-i:[A-Z])[\w'’-]+)*)"
_SAYS: Final = r"(?:i )?(?:meant|mean|it'?s(?: spelled)?|it is(?: spelled)?|it was|that'?s|that is|make that)"
_OOPS: Final = r"(?:\bwait\b|\bno\b|\bsorry\b|\bactually\b|\bcorrection\b|\boops\b)[ ,:;.—-]*"
_REPAIRS: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\bnot {_NAME.format('wrong')}[,;]? (?:but|it'?s|it is|it was) {_NAME.format('right')}",
        rf"\b{_SAYS} {_NAME.format('right')}[,;]? (?:and )?not {_NAME.format('wrong')}",
        rf"{_OOPS}{_SAYS} {_NAME.format('right')}\W*$",
        rf"\bi meant {_NAME.format('right')}\W*$",
        r"不是(?P<wrong>[^，。,是]{1,12})[，,]?\s*(?:而)?是(?P<right>[^，。,！!]{1,12})",
        r"是(?P<right>[^，。,是]{1,12})[，,]?\s*不是(?P<wrong>[^，。,！!]{1,12})",
        r"(?:不对|记错了|说错了|搞错了|写错了)[，,。]*\s*(?:应该)?是(?P<right>[^，。,！!]{1,12})[。！!]*$",
    )
)


_PLACE: Final = r"(?:[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\+?\d(?:[ /-]?\d){5,})"
_REACHED: Final = re.compile(
    rf"\b(?:use|call|text|ring|mail|email|e-mail|write to|reach|contact|try)\b"
    rf"(?: me)?(?: (?:at|on|under|to|via))? {_PLACE}"
    rf"|(?:用|打|发到?|联系|拨|改成|换成|改为)\s*{_PLACE}",
    re.IGNORECASE,
)
_FROM_NOW: Final = re.compile(
    r"\b(?:instead|from now on|now|in future|going forward|rather|not)\b|改|换|以后|今后|从现在|别再|不要",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Repair:
    """What a correction puts in the place of what: ``wrong`` is ``None`` where it does not say."""

    right: str
    wrong: str | None


def corrects(text: str) -> bool:
    """Return whether a statement says that an earlier one was wrong."""
    return _CORRECTS.search(text) is not None


def changes(text: str) -> bool:
    """Return whether a statement says that something is no longer as it was."""
    return _CHANGES.search(text) is not None


def resumes(text: str) -> bool:
    """Return whether a statement says that something is again as it was."""
    return _RESUMES.search(text) is not None


def cancels(text: str) -> bool:
    """Return whether a sentence takes a plan back."""
    return _CANCELS.search(text) is not None


def repair(sentence: str) -> Repair | None:
    """Return what a sentence such as "sorry, I meant Bern, not Berlin" or 不对，是上海 corrects."""
    for pattern in _REPAIRS:
        if found := pattern.search(sentence):
            parts = found.groupdict()
            return Repair(_bare(parts["right"]), _bare(parts["wrong"]) if parts.get("wrong") else None)
    return None


def contact(sentence: str) -> str | None:
    """Return ``"email"`` or ``"phone"`` for a sentence that says where somebody is to be reached from now on."""
    if _REACHED.search(sentence) is None or _FROM_NOW.search(sentence) is None:
        return None
    return "email" if "@" in sentence else "phone"


def implied(text: str) -> str | None:
    """Return the attribute that a happening changes for good: a new job is where somebody works from then on."""
    if averted(text):
        return None
    if dies(text):
        return DEATH
    if _WORK_BEGINS.search(text) and not (_WORK_SOUGHT.search(text) and not _WORK_TAKEN.search(text)):
        return "work"
    if _WORK_ENDS.search(text):
        return "former work"
    if _SOLD.search(text):
        return "former possession"
    if _HOME_ENDS.search(text):
        return "former home"
    return "family" if bond(text) is not None else None


def _bare(text: str) -> str:
    return re.sub(r"^(?:an?|the|on) ", "", text.strip(), flags=re.IGNORECASE)
