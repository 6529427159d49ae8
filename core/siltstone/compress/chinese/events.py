"""Plans and happenings in a Chinese clause."""

from __future__ import annotations

import re
from typing import Final

from ..modality import negated
from ..statement import EVENTS, Finding
from ..when import dated
from . import vocabulary as words
from .clauses import Clause

_RECURRING: Final = re.compile(r"每(?:天|周|年|个?月|逢)|经常|总是|平时|一般|天天|老是|常常|周末(?:会|都|常)")
_VAGUE_TIME: Final = re.compile(r"最近|这阵子|近来")
_PAST: Final = re.compile(
    r"(?:了|(?<![难不通超经])过(?!生日|节|敏|于|程|去|分|度|[^，]{0,3}大寿|周末|冬|夜))(?!年|头|来|几)|的$"
    r"|总算|终于|(?:[号日天月年晚]"
    r"|周[一二三四五六日天])[^，]{1,4}的(?!话)"
)
_PAST_TIME: Final = re.compile(r"昨|前天|上(?:个?月|周|星期|礼拜)|去年|前年|刚|到现在|至今")
_AHEAD: Final = re.compile(r"明[天年早晚日]|后天|下(?:个?月|周|星期|礼拜)|打算|准备|计划|马上|快要|即将|要(?!是|不)")
_INTENDED: Final = re.compile(r"^[^，]{0,4}(?:打算|准备|计划|决定|正?在申请)(?!好|得|充分)")
_DUE: Final = re.compile(r"^(?:还|也)?(?:得|要|需要|必须)(?:去|看|交|办|买|换|还|写|给)")
_DEPARTURE: Final = re.compile(r"的(?:飞机|高铁|火车|机票|车票|票|航班|船|车)(?:[去到飞回往][^，]{2,8})?$")
_RESCHEDULED: Final = re.compile(r"(?:改|推迟|延期|延|调|提前|推|换)到")
_THERE: Final = re.compile(r"^(?:都|会|就|还)?在[\u4e00-\u9fff]{2,5}$")
_BOOKED: Final = re.compile(r"(?:报|订|约|定|预约|预订|买)(?:的是|了|好了|到了?|在|于|的)|报名|预约|预定|预订")
"""What is booked lies ahead, though the booking is done: 我报了十一月三号的马拉松."""
_TIME_WORDS: Final = re.compile(
    r"[上下这]+个?(?:月|周|星期|礼拜)[一二三四五六日天末]?|(?:周|星期|礼拜)[一二三四五六日天末](?:到(?:周"
    r"|星期|礼拜)?[一二三四五六日天末])?|[今明后昨前大]+[天年晚]"
    r"|[\d一二三四五六七八九十]{1,4}(?:年|月份?|[号日]|点半?)(?:到)?|早上|晚上|上午|中午|下午|[年月]底"
)
_UNDENIED: Final = re.compile(r"不干了|不做了|没(?:想到|过)")
_OF_THIS_TALK: Final = re.compile(r"(?:和|跟|找|向|请教|问|告诉)(?:你|您)|聊天|对话|这次交流")
_OF_LISTENER: Final = re.compile(r"^(?:你|您|大家|别人|谁|网上|新闻)")


def find(clause: Clause) -> Finding | None:
    """Return the plan or happening in a clause about a person: what has a day, and what changes a life."""
    rest, when = clause.rest, dated(clause.text)
    milestone = re.search(words.MILESTONE, rest)
    if _RECURRING.search(clause.text) or (words.TRIFLES.search(rest) and not when):
        return None
    if (_VAGUE_TIME.search(clause.text) and not milestone) or (negated(rest) and not _UNDENIED.search(rest)):
        return None
    if _OF_THIS_TALK.search(rest):
        return None
    if when and (_RESCHEDULED.search(rest) or _THERE.match(rest)):
        return Finding(EVENTS, "plan", future=True)
    past = _PAST.search(clause.text) is not None or _PAST_TIME.search(clause.text) is not None
    ahead = _AHEAD.search(clause.text) is not None
    plan = Finding(EVENTS, "plan", future=True)
    if when and (_DEPARTURE.search(rest) or _BOOKED.search(rest)):
        return plan
    if when:
        planned = re.search(words.PLANNED, _TIME_WORDS.sub("", clause.text))
        if planned or milestone or past:
            return plan if ahead or not past else Finding(EVENTS, "event")
    elif milestone and (past or milestone.group() in ("大寿", "满月", "周岁")) and not ahead:
        return Finding(EVENTS, "event")
    if (milestone and ahead) or (_INTENDED.match(rest) and len(rest) > 4) or (_DUE.match(rest) and len(rest) > 4):
        return plan
    return None


def find_in_thing(clause: Clause) -> Finding | None:
    """Return the event of a thing that has a day, unless it is the listener's."""
    if (
        not dated(clause.text)
        or negated(clause.text)
        or _OF_LISTENER.match(clause.text)
        or _OF_THIS_TALK.search(clause.text)
    ):
        return None
    planned = re.search(words.PLANNED, _TIME_WORDS.sub("", clause.text))
    return Finding(EVENTS, "plan", future=True) if planned else None
