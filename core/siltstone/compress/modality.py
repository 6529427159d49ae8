"""Whether a clause asserts, denies, supposes or asks: what keeps "if I lived in Paris" from becoming an address."""

from __future__ import annotations

import re
from typing import Final

_NEGATION_EN: Final = re.compile(
    r"\b(?:not|never|no longer|no more|none|nobody|nothing|neither|nor|cannot|without|hardly|barely|stopped|quit|"
    r"gave up|given up|give up|giving up|used to|\w+n['’]t|isnt|arent|wasnt|wont|dont|doesnt|didnt|cant|couldnt)\b"
    r"|\bno\b(?! (?:problem|worries|doubt|way|wonder)\b)(?!,)|\b(?:any ?more)\b",
    re.IGNORECASE,
)
_CONTRACTED: Final = re.compile(r"\b\w+n['’]t\b|\b(?:dont|cant|wont|didnt|doesnt|isnt|wasnt|couldnt|wouldnt)\b", re.I)
_NEGATION_ZH: Final = re.compile(
    r"不|没|沒|别(?!人|的|墅|处|名)|別(?!人|的)|未(?!来|來|婚)|无(?!锡|所谓|线|数)|戒|非(?!常|洲|得)|再也"
)
_IDIOMS_ZH: Final = re.compile(
    r"不错|不錯|不[过過](?!敏)|不但|不仅|不僅|不管|不论|不好意思|对不起|對不起|差不多|不得不|不用说|忍不住"
    r"|没问题|沒問題|没事|没错|不客气"
    r"|要不|不如|不禁|巴不得|恨不得|是不是|有没有|好不好|能不能|会不会|要不要|想不想|不一会|不久|不断|不少"
    r"|不然|说不定|特别|別提|分别"
    r"|不敢相信|不得了|了不起|只不过|无论|什么都不缺|无所谓"
)

_SUPPOSED_EN: Final = re.compile(
    r"\b(?:if|unless|whether|what if|imagine|suppos(?:e|ing)|assuming|pretend|as though|in case)\b", re.IGNORECASE
)
_CONDITIONAL_EN: Final = re.compile(
    r"\b(?:would(?:n['’]t)? (?:have|be|never)|(?:i|we|he|she|they|you|it)['’]d (?:be|have been|never)"
    r"|could have|might have|should have|wish(?:es|ed)? (?:i|we|he|she|they|it|you|that)"
    r"|if only)\b|^(?:maybe|perhaps|possibly|i might|we might|probably should)\b",
    re.IGNORECASE,
)
_SUPPOSED_ZH: Final = re.compile(
    r"如果|要是|假如|假设|假設|假使|倘若|若是|万一|萬一|要不是|除非|就算|即使|哪怕|是否|要么|设想|想象一下"
    r"|[换換](?:成|作|做)(?:是)?(?=[我你您他她谁誰别別]|一般人|任何)"
)
_WISHED_ZH: Final = re.compile(
    r"就好了|该多好|該多好|(?<![刚才说])的[话話](?!别|不|当|是)|但愿|但願|恨不得|巴不得|说不定|也许|或许|可能会|本来(?:打算|要|想"
    r"|准备)|本来[^，]{0,4}要|本想|差点|差一点"
)

_FRAMED_EN: Final = re.compile(
    r"\bin (?:my|the|this|that|an?|one) (?:\w+ )?(?:dreams?|nightmare|game|story|novel|book|film|movie|play|show|song"
    r"|role|scenario|simulation|exercise)\b,? (?:i|my|we|our)\b"
    r"|\b(?:i|my|we|our)\b[^,.;]*\bin (?:my|a|the|this) (?:dream|nightmare|game|story|novel|play|role-?play)s?$",
    re.IGNORECASE,
)
"""Worlds in which what is so is not so: "in my dream I was a doctor"."""

_QUESTION_WORDS: Final = (
    r"what|who|whom|whose|which|when|where|why|how|do|does|did|is|are|was|were|can|could|will|would|should|have|has|am"
)
_ASKS_EN: Final = re.compile(
    rf"^\W*(?:(?:and|so|but|ok|okay|well|hey|hi|also|oh|by the way|then)\b[\s,]*)*"
    rf"(?:{_QUESTION_WORDS})(?:n['’]t)?\s+(?:i|you|we|he|she|it|they|there|the|a|my|your|his|her|our|their|this|that|"
    rf"is|are|was|were|do|does|did|many|much|often|long|to|about|one)\b(?=[^.!]*\?|[^.!,]*$)",
    re.IGNORECASE,
)
_ASKS_ZH: Final = re.compile(
    r"(?:吗|嗎|呢|么)[\s。!！~～…哈]*$|什么(?!的)(?!都)(?!也)|什麼|怎么(?!也|都)|怎麼|为什么|為什麼"
    r"|哪里(?!都)|哪儿|哪个|哪些|哪天|几号|多少(?!有)|多久|多大"
    r"|是不是|有没有|能不能|可不可以|好不好|会不会|要不要|谁(?!都|也)"
)


def negated(clause: str) -> bool:
    """Return whether the clause denies something, in English or Chinese; idioms such as 不错 deny nothing."""
    if _NEGATION_EN.search(clause) or _CONTRACTED.search(clause):
        return True
    return _NEGATION_ZH.search(_IDIOMS_ZH.sub("", clause)) is not None


def asks(sentence: str) -> bool:
    """Return whether a sentence is a question: it states nothing."""
    return (
        _MARKED.search(sentence) is not None
        or _ASKS_EN.search(sentence) is not None
        or _ASKS_ZH.search(sentence) is not None
    )


def asserted(sentence: str) -> str:
    """Return the part of a sentence that claims something to be so; empty where it only asks, supposes or wishes.

    What follows "if" hangs on it up to the end, and so does what stands before it with "would". Of a question, what
    leads up to it is claimed: "I'm off to Kyoto in April, do I need a visa?", 我下周去京都，签证好办吗？
    """
    if asks(sentence):
        sentence = _before_question(sentence)
    if _CONDITIONAL_EN.search(sentence) and _SUPPOSED_EN.search(sentence):
        return ""
    if _WISHED_ZH.search(sentence):
        return ""
    found = [match.start() for match in (_SUPPOSED_EN.search(sentence), _SUPPOSED_ZH.search(sentence)) if match]
    return sentence[: min(found)].rstrip(" ,，、;；") if found else sentence


_MARKED: Final = re.compile(r"[?？][\s\"'”’)）]*$")
_ASKS_AT_LAST_EN: Final = re.compile(
    rf"[,;–—-]\s*(?:(?:so|and|but|or|then)\s+)*(?:(?:{_QUESTION_WORDS}|any|right|remember|you know|yeah|ok"
    rf"|okay|no|correct|eh|huh)\b)[^,;]*[?？]\W*$",
    re.IGNORECASE,
)
_OF_SPEAKER: Final = re.compile(
    r"^\W*(?:(?:so|and|but|well|ok|hi|hey|by the way|btw|also)[\s,]+)*(?:i|we|my|our)\b", re.IGNORECASE
)
_CLAUSE_ZH: Final = re.compile(r"[，,；;]")


_TAG_EN: Final = re.compile(
    r",\s*(?:(?:will|would|can|could|won['’]t) you(?: please)?|please|ok|okay|thanks|right|did i (?:tell"
    r"|mention)[^,]*)\?\W*$",
    re.IGNORECASE,
)
"""What asks for nothing but a nod."""


def _before_question(sentence: str) -> str:
    if tag := _TAG_EN.search(sentence):
        return sentence[: tag.start()]
    if re.search(r"[\u4e00-\u9fff]", sentence):
        *before, _ = _CLAUSE_ZH.split(_MARKED.sub("", sentence))
        kept = [
            clause for clause in before if not _ASKS_ZH.search(clause) and not re.match(r"\s*(?:那)?[你您]", clause)
        ]
        return "，".join(kept)
    match = _ASKS_AT_LAST_EN.search(sentence)
    if match and _OF_SPEAKER.match(sentence) and not _ASKS_EN.search(sentence[: match.start()]):
        return sentence[: match.start()]
    return ""


def tentative(clause: str) -> bool:
    """Return whether a clause is only thought of: "I would have", "I wish I", "maybe", "in my dream I", 也许."""
    return any(form.search(clause) for form in (_CONDITIONAL_EN, _FRAMED_EN, _WISHED_ZH))
