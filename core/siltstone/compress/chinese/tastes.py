"""Likes, dislikes, wishes and standing instructions in a Chinese clause."""

from __future__ import annotations

import re
from typing import Final

from ..statement import EVENTS, FACTS, PREFERENCES, SELF, Finding
from ..when import dated
from . import vocabulary as words
from .clauses import Clause
from .facts import NOW, USED

_LIKE: Final = re.compile(words.PREDICATES_LIKE)
_DISLIKE: Final = re.compile(words.PREDICATES_DISLIKE)
_NOT_LIKE: Final = re.compile(
    r"(?:不|不太|不怎么|不大|没那么|并不|从来不|一点都?不|不是很|不是特别|不再|已经不|没(?:什么)?)(?:很|太"
    r"|怎么)?(?:喜欢|爱|感兴趣|兴趣|习惯|乐意)"
)
_POINTING: Final = re.compile(
    r"(?:喜欢|(?<!最)爱|讨厌|怕|烦|恨|嫌|受不了|害怕)(?:你|您|它|这个|那个|这样|那样|了|的|吗|死|我|人)?$|爱(?:好"
    r"|人|情|上你|心|护|丽丝|尔兰|马仕)"
    r"|怕(?:是|你)|可爱|恋爱|亲爱|相爱|麻烦|烦你|恨不得|不嫌"
)
_PREFERRED: Final = re.compile(r"宁愿|宁可|更倾向|首选")
_FONDNESS: Final = re.compile(
    r"是(?:个|一个|名|位)?(?:资深|超级|铁杆|忠实|重度)?[\u4e00-\u9fff]{1,5}(?:迷|发烧友|爱好者|粉丝)$"
    r"|对[^，]+(?:情有独钟|着迷|入迷|没有?抵抗力)|(?:吃饭|每顿|顿顿)[^，]{0,2}(?:必须|得|要)有|上瘾|是我的最爱|无[^，]{1,3}不欢|没有[^，]{1,4}(?:吃不下|不行)|只要有?[^，]+就行|还是[^，]{1,8}(?:适合|好)$"
    r"|(?:更)?适合我$"
)
_DISGUST: Final = re.compile(
    r"一[闻看见听喝吃碰想提][到起]?[^，]{1,6}就(?:反胃|恶心|想吐|头疼|难受|烦)|对[^，]+(?:没了?(?:什么)?(?:感觉|胃口)|无感|提不起)"
)
_WISH: Final = re.compile(
    r"^(?:一直|很|特别|真|好|也|都|还|最|更|其实)*想(?:去|学|买|养|当|成为|开|看|考|做个?|换|减|瘦|练"
    r"|试试)(?!看|想|到)[\u4e00-\u9fff]{2,}"
)
_FAR: Final = 8
"""Characters before a verb of liking: further on it is somebody else's, or part of a name."""

_TO_LISTENER: Final = (
    r"(?:请|麻烦|拜托|以后|今后|往后|从现在开始|从今天起|从今往后|从现在起|下次|记得|记住|务必|尽量|最好"
    r"|还有啊?|另外|对了|那个?|你|您|都|就|能不能|可以|给我"
    r"|跟我|和我|每次|每(?:天|周[一二三四五六日天]?)|周[一二三四五六日天]|平时|还是|也|再|千万|一律|统一"
    r"|全部|先|绝对|一定)"
)
_ORDER: Final = re.compile(
    rf"^(?:{_TO_LISTENER}[,，\s]*)*(?:请|别|不要|不用|不必|不许|少|多|用|叫我|喊我|称呼我|回答|回复|说|讲"
    rf"|尽量|控制|保持|直接|直说|只|先用|给出|给我|写|改用|改回|换回|换成|切换|恢复|按|避免|禁止|跟我说|帮我用)"
    r"|^[^，]{1,6}(?:别|不要|请)(?:做成|写成|用|发|列|写|搞)|^[^，]{1,6}用[^，]{1,6}(?:写|说|表示|回答|标|算|计)$"
)
_MANNER: Final = re.compile(
    r"回答|回复|回我|答复|说话|讲话|聊天|称呼|叫我|喊我|表情|中文|英文|英语|日语|法语|普通话|粤语|繁体"
    r"|简体|语言|简短|简单(?:点|些)|简洁|详细|啰嗦|缩写|术语|格式|列表|列点|分点"
    r"|表格|字以内|个字|句话|客气|语气|废话|代码|公历|农历|单位|摄氏|公斤|磅|公里|厘米|英寸|链接|来源|出处"
    r"|举例|例子|标点|感叹号|敬语|口语|书面|[Mm]arkdown|emoji|道歉|套话|鸡汤|说教"
    r"|哄|直说|直接说|委婉|夸我|改句子|句子|用词|形容词|打比方|比喻|出现"
)
_STANDING: Final = re.compile(
    r"以后|今后|往后|从现在|从今|每|一律|统一|永远|总是|下次|都|别|不要|不用|不许|尽量|就行|就好|叫我|喊我|称呼|用|直说|[改换]回|换成|切换|恢复"
)
_NICKNAME: Final = re.compile(r"(?:叫|喊|称呼)我(?!去|来|做|别|不要|起床|吃|怎么)[\u4e00-\u9fffA-Za-z]{1,8}")
_OF_OTHERS: Final = re.compile(r"^(?:大家|朋友|同事|别人|他们|家里人|只有|我[爸妈哥姐])")


_RELEASE: Final = re.compile(
    r"(?:可以)?(?:不用|不必|不需要|用不着|没必要)再|可以(?:不用|不必|停止)|^[^，]{0,3}可以(?:再|继续)?(?:用|说|写|发)[^，]{1,8}了$"
)
"""What takes an instruction back, and gives none."""


def instruction(clause: Clause) -> Finding | None:
    """Return the finding for words that tell an assistant how to behave from now on, or of what to remind."""
    text = clause.rest if clause.kind != SELF else clause.text
    if "提醒我" in text:
        return Finding(EVENTS, "reminder", future=True)
    if _OF_OTHERS.match(text) or (clause.kind == SELF and re.match(r"^(?:我|咱)", text)):
        return None
    if _NICKNAME.search(text) and not re.search(r"(?:别|不要|不用)(?:再)?(?:叫|喊|称呼)我", text):
        return Finding(PREFERENCES, "name")
    if _RELEASE.search(text) and _MANNER.search(text):
        return Finding(FACTS, "former instruction")
    if _ORDER.match(text) and _MANNER.search(text) and _STANDING.search(clause.text):
        return Finding(PREFERENCES, "instruction")
    return None


def find(clause: Clause) -> Finding | None:
    """Return what a clause tells of a person's taste; 以前 turns it into a former one."""
    rest = clause.rest
    if _POINTING.search(rest):
        return None
    if _PREFERRED.search(rest):
        return Finding(PREFERENCES, "like")
    if _NOT_LIKE.search(rest) or _DISGUST.search(rest):
        return Finding(PREFERENCES, "dislike")
    former = "former " if USED.search(clause.text) and not NOW.search(clause.text) else ""
    if (match := _DISLIKE.search(rest)) and match.start() <= _FAR:
        unafraid = re.search(r"(?:不|没那么|不再|不怎么)$", rest[: match.start()])
        return Finding(PREFERENCES, "like" if unafraid else f"{former}dislike")
    if (match := _LIKE.search(rest)) and match.start() <= _FAR and len(rest) > match.end():
        if re.match(r"的(?![^，]*是)", rest[match.end() :]):  # 自己喜欢的活动 says what, not that
            return None
        return Finding(PREFERENCES, f"{former}like")
    if _FONDNESS.search(rest):
        return Finding(PREFERENCES, "like")
    if _WISH.match(rest) and not dated(clause.text):
        return Finding(PREFERENCES, "wish")
    return None
