"""What a message hands over to be worked on, quotes, plays or takes back as a joke: not what its sender tells. Pure.

"Translate: I live in Madrid" tells nobody's home, and neither does a pasted chat, a story's first line, a role.
"""

from __future__ import annotations

import re
from typing import Final

_QUOTED_LINES: Final = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_INLINE_CODE: Final = re.compile(r"`[^`\n]{1,500}`")
_TURN: Final = re.compile(
    r"^[ \t]*[\[(*]*(?:user|human|customer|client|assistant|ai|bot|chatbot|agent|system"
    r"|用户|客户|助手|助理|客服|机器人)"
    r"[\])*]*[ \t]*[:：].*$",
    re.IGNORECASE | re.MULTILINE,
)
"""A line of a chat that somebody pasted."""

_BEGIN_EN: Final = (
    r"(?:^|(?<=[.!?\n。！？]))[^\w.!?\n]{0,8}(?:(?:hi|hey|hello|ok|okay|so|now|and|also|then|next|first)\b[\s,]*)*"
    r"(?:(?:can|could|would|will) you\s+|please\s+|help me(?: to)?\s+|i(?:['’]d like| want| need)(?: you)? to\s+"
    r"|let['’]?s\s+)*"
)
_TEXT_EN: Final = (
    r"(?:text|sentences?|paragraphs?|passage|excerpt|quote|lines?|story|tale|poem|song|lyrics|novel|script|dialogue"
    r"|scene|play|screenplay|essay|character|prompt|joke|riddle|limerick|caption|grammar|spelling|punctuation|wording"
    r"|translation|example)"
)
_WORKED_ON_EN: Final = (
    r"(?:translat|proofread|rewrit|rephras|reword|paraphras|summari[sz]|transcrib|spell-?check)\w*"
    rf"|(?:fix|correct|edit|polish|improve|shorten|check|continue|complete|finish|convert|analy[sz]e|read|say|repeat)"
    rf"\s+(?:this|these|that|the following|(?:\w+\s+){{0,3}}?{_TEXT_EN})"
    rf"|(?:write|tell|give|make|compose|draft|begin|start)\b[^:：.\n]{{0,60}}?\b{_TEXT_EN}"
    rf"|(?:here['’]?s|here (?:is|are)|this is)\s+[^:：.\n]{{0,40}}?\b{_TEXT_EN}"
    r"|(?:how|what)\b[^:：.\n]{0,40}?\b(?:say|mean|translate)\w*"
)
_WORKED_ON_ZH: Final = (
    r"(?:翻译|翻成|译成|译为|润色|改写|校对|总结|概括|续写|扩写|缩写|仿写|造句|朗读|复述|纠错|病句|语法|原文|译文"
    r"|例句|例子|句子|这句|段落|这段|文章|作文|故事|小说|诗|歌词|剧本|台词|对白|文案|笑话|设定|人设)"
)
_HANDED_OVER: Final = re.compile(
    rf"(?:{_BEGIN_EN}(?:{_WORKED_ON_EN})\b[^:：.\n]{{0,60}}|{_WORKED_ON_ZH}[^:：。！？\n]{{0,30}})[:：]"
    r"(?:[ \t]*\n[\s\S]*|[^\n]*(?:\n(?!\s*\n)[^\n]*)*)",
    re.IGNORECASE,
)
"""A request for work on a text, with the text: the rest of the paragraph, or all below a line that ends in a colon."""
_PLAYED: Final = re.compile(
    rf"(?:{_BEGIN_EN}(?:do |have |start )?(?:a |some |an? \w+ )?role-?\s?play\b|角色扮演|扮演游戏)"
    r"[^\n]*(?:\n(?!\s*\n)[^\n]*)*",
    re.IGNORECASE,
)
_JOKE: Final = re.compile(
    r"\b(?:just|only|i['’]?m|i was|totally) (?:kidding|joking)\b(?! about)|\bj/?k\b"
    r"|(?<!不是)(?<!没)(?<!没有)(?<!不)(?:开玩笑的|逗你(?:玩)?的|骗你的|说着玩的)",
    re.IGNORECASE,
)
_ENDS: Final = ".!?。！？\n"


def without_material(text: str) -> str:
    """Return what of a message its sender tells, in place of all else a space."""
    if len(_TURN.findall(text)) > 1:
        text = _TURN.sub(" ", text)
    for pattern in (_QUOTED_LINES, _HANDED_OVER, _PLAYED):
        text = pattern.sub(" ", text)
    return _INLINE_CODE.sub(_own, _without_jokes(text))


def _own(code: re.Match[str]) -> str:
    """Return a word or two in backquotes, which are the speaker's own, as in quotation marks."""
    return code.group() if len(code.group().split()) < _QUOTATION else " "


_QUOTATION: Final = 3
"""Words from which on it is somebody else's."""


def _without_jokes(text: str) -> str:
    """Return a text without what "just kidding" takes back: the sentence just before; what follows it is meant."""
    meant, at = "", 0
    for joke in _JOKE.finditer(text):
        before = text[at : joke.start()].rstrip(_ENDS + ",，;；:：…(（ ")
        meant += before[: max(before.rfind(end) for end in _ENDS) + 1] + " "
        at = joke.end()
    return meant + text[at:]
