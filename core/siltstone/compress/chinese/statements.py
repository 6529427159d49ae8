"""Statements about people in Chinese sentences."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from ..bonds import own_bond
from ..fragments import bare
from ..modality import asks, asserted, tentative
from ..people import People
from ..relations import CHINESE, CHINESE_PATTERN
from ..statement import EVENTS, FACTS, NOBODY, OTHER, SELF, THING, Finding, Statement, state
from ..when import dated, resolve
from . import cues, events, facts, tastes
from .characters import as_written, simplified
from .clauses import ANYWHERE, Clause, clauses
from .clauses import note_mentions as clauses_note

_QUOTED: Final = re.compile(r"[“\"「『][^”\"」』]{6,}[”\"」』]")
"""Somebody else's words; a quoted word or two is the speaker's own."""

_REPORTED: Final = re.compile(
    r"(?:(?<![小传学解演胡再直明会能爱少])说(?!再见|拜拜|好|起来|实话|到|不定|好了|一口|日语|英语|中文|话)|讲(?!究|课|台)|觉得"
    r"|认为|以为|念叨|骂我?|劝|建议|嫌我?|吐槽|抱怨|问我|告诉我|声称|号称|传言|听说|据说"
    r"|梦(?:见|到|里)|装作|装成|假装|假扮|扮演|幻想|歌词|台词|(?:戏|剧|书|小说|故事|游戏|电影|歌)里(?:的?我|[，,]?我(?:是|叫|住|有)))"
)
_DIAGNOSED: Final = re.compile(
    r"^(?:医生|大夫|体检报告|检查结果|B超|化验单?|牙医|医院)(?:也|都|今天|昨天)?(?:说|讲|显示|告诉我"
    r"|查出来?|让|叫|建议|叮嘱)(?:是|我)?"
)
_ME_SAYS: Final = re.compile(r"^(?:我)(?:也|就|是|一直|还是|个人)?(?:觉得|认为|说|以为)")
_SARCASM: Final = re.compile(r"呵呵|我可真是|可真行|真是谢谢了|我谢谢你|巴不得")


_IT_IS_ON: Final = re.compile(
    r"^(?:时间|日期|日子)?(?:就)?(?:是|在|定在)[^，]{0,4}(?:[\d一二三四五六七八九十]+[月号日]"
    r"|[下这]个?[周月]|[明后]天|周[一二三四五六日天])"
)
"""The day of what was told just before: 我报了马拉松，在十一月三号。"""
_MARKED: Final = re.compile(r"[?？]")


def find(sentence: str, people: People, said_at: datetime | None, *, to_machine: bool) -> Iterator[Statement]:
    """Yield the statements of one sentence; ``people`` learns whom it mentions, whatever it states.

    Traditional characters are read as simplified ones; texts come back as written, subjects simplified.
    """
    plain = simplified(sentence)
    for statement in _find(plain, people, said_at, to_machine):
        yield dataclasses.replace(statement, text=as_written(statement.text, plain, sentence))


def note_mentions(sentence: str, people: People) -> None:
    """Let ``people`` know whom a sentence mentions."""
    clauses_note(simplified(sentence), people)


def _find(sentence: str, people: People, said_at: datetime | None, to_machine: bool) -> Iterator[Statement]:
    claimed = asserted(sentence) if _MARKED.search(sentence) else _supposed_apart(sentence)
    if not claimed or _SARCASM.search(sentence):
        clauses_note(sentence, people)
        return
    claimed = _QUOTED.sub("", claimed)
    reported, told = False, list[Statement]()
    before = ""
    for clause in clauses(claimed, people):
        if told and told[-1].field == EVENTS and told[-1].when is None and _IT_IS_ON.match(clause.text):
            told[-1] = dataclasses.replace(told[-1], when=resolve(clause.text, said_at, future=True))
        if told_name := _pet_named(claimed, before, clause.text):
            told = [one for one in told if one.attribute not in ("pet", "event")]
            told.append(Statement(FACTS, told_name, people.speaker, "pet"))
            before = clause.text
            continue
        before = clause.text
        # What somebody is reported to say is their opinion, up to where the speaker speaks for themselves again.
        if diagnosed := _DIAGNOSED.match(clause.text):
            rest = clause.text[diagnosed.end() :]
            clause = type(clause)(clause.text, SELF, people.speaker, rest)
            reported = False
        elif _REPORTED.search(clause.rest) and not (clause.kind == SELF and _ME_SAYS.match(clause.text)):
            reported = True
        elif clause.kind in (SELF, OTHER):
            reported = False
        told += _introductions(clause.text, people)
        if reported or tentative(clause.text):
            continue
        if clause.kind == SELF and _ME_SAYS.match(clause.text):
            continue
        if asks(clause.text) or clause.text.endswith(_LEFT_OPEN):
            continue
        proposed = clause.text.endswith("吧")
        for found in _findings(clause, to_machine):
            if proposed and found.attribute not in ("name", "instruction", "reminder"):
                continue
            stated = state(found, clause.text, clause.subject or people.speaker, said_at)
            told.append(dataclasses.replace(stated, whom=clause.whom))
    if not reported and all(one.field == EVENTS for one in told) and (cue := cues.find(claimed)):
        told = [state(cue, bare(claimed), people.speaker, said_at)]
    yield from (_whole(one, claimed) for one in told)
    if len(claimed) < len(sentence):
        clauses_note(sentence[len(claimed) :], people)


_GOT_A_PET: Final = re.compile(
    r"(?:来|添|多|买|捡|养|抱|接|有)(?:回家?|到)?了?(?:一|两|三|\d)?(?:只|条|个|匹|头)[^，]{0,6}(?:猫|狗|犬|兔|鹦鹉|仓鼠|龟|柯基|金毛|布偶|泰迪"
    r"|拉布拉多|哈士奇|边牧|宠物)"
)
_NAMES_IT: Final = re.compile(
    r"^(?:我们?|它|她|他)?(?:给它|管它)?的?(?:名字|小名|大名)?(?:就?叫|是|名叫|叫做|叫它|[起取]了?个?名字?(?:叫|为|是)?)[\u4e00-\u9fffA-Za-z]{1,10}$"
)


def _pet_named(sentence: str, before: str, text: str) -> str | None:
    """Return the clauses that get a pet and name it, as one: 我养了只猫，名字叫Luna."""
    if not _GOT_A_PET.search(before) or not _NAMES_IT.match(text):
        return None
    start = sentence.find(before)
    end = sentence.find(text, start) + len(text)
    return sentence[start:end] if 0 <= start < end else None


_LEANS: Final = re.compile(r"^我?(?:会|就会|也|真的|严重)*过敏了?$")


def _whole(told: Statement, sentence: str) -> Statement:
    """Return a statement with the words that it leans on: 花生我碰都不能碰，过敏."""
    return dataclasses.replace(told, text=bare(sentence)) if _LEANS.match(told.text) else told


def _supposed_apart(sentence: str) -> str:
    """Return the claimed part of a sentence without a question mark: its questions are judged clause by clause."""
    return asserted(sentence) if not asks(sentence) else asserted(sentence.rstrip("。！!~～") + "。") or sentence


_LEFT_OPEN: Final = ("时", "的时候", "之后", "以后", "的话")
"""Ends of clauses that only lead up to another."""
_NO_EVENT: Final = frozenset({"diet", "health", "age", "family", "birthday", "phone", "name", "trait", "skill"})
"""Facts whose clause may look like news or a plan, and is not."""
_WITH_TASTE: Final = frozenset({"name", "age"})
_WITH_EVENT: Final = frozenset({"home", "work", "origin", "pet"})


def _findings(clause: Clause, to_machine: bool) -> list[Finding]:
    """Return what a clause tells. Taste outweighs facts, and what is about to be so is no fact yet."""
    if to_machine and clause.kind != OTHER and (found := tastes.instruction(clause)):
        return [found]
    if clause.kind == THING:
        event = events.find_in_thing(clause)
        return [event] if event else []
    taste = tastes.find(clause) or (cues.taste(clause.rest) if clause.kind in (SELF, NOBODY) else None)
    event, told = events.find(clause), list(facts.find(clause))
    if taste is not None:
        return [taste, *(fact for fact in told if fact.attribute in _WITH_TASTE)]
    if event is None and not told and clause.kind in (SELF, NOBODY) and own_bond(clause.text):
        return [Finding(FACTS, "family")]
    if event is None or any(fact.attribute in _NO_EVENT for fact in told):
        return told
    told = [
        fact for fact in told if fact.attribute == "learning" or (not event.future and fact.attribute in _WITH_EVENT)
    ]
    settled = any(fact.attribute == "home" for fact in told) and event_is_undated(clause)
    return told if settled else [event, *told]


def event_is_undated(clause: Clause) -> bool:
    """Return whether a clause names no day: a move without one is told by the new home."""
    return not dated(clause.text)


_PRESENTED: Final = re.compile(
    rf"^(?P<name>(?!我|你|他|她|这|那|谁)[\u4e00-\u9fffA-Za-z]{{2,6}}?)(?:就)?是我们?家?的?(?:亲|唯一的?|[大小二])?(?P<relation>{CHINESE_PATTERN})$"
)
"""Whom a clause presents by name first: 米娅是我妹妹."""


def _introductions(text: str, people: People) -> Iterator[Statement]:
    """Yield 我同事小李: a name told in passing."""
    if presented := _PRESENTED.match(text):
        yield Statement(FACTS, text, people.related(CHINESE[presented["relation"]], presented["name"]), "relation")
    for match in ANYWHERE.finditer(text):
        if match["name"] and match["whose"].startswith("我") and not match["second"]:
            yield Statement(FACTS, match.group(), match["name"], "relation")


__all__ = ["find", "note_mentions"]
