"""Statements about people in Chinese sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from . import rules_zh
from .clauses_zh import ANYWHERE, CARRIED, OTHER, SELF, THING, clauses, note_mentions
from .modality import asks, asserted, tentative
from .people import People
from .statement import FACTS, UNDATED, Statement
from .when import resolve

_QUOTED: Final = re.compile(r"[“\"「『][^”\"」』]*[”\"」』]")
_REPORTED: Final = re.compile(
    r"(?:说(?!起来|实话|到|不定|好了|一口|日语|英语|中文|话)|讲(?!究|课|台)|觉得|认为|以为|念叨|骂我?|劝|建议|嫌我?|吐槽|抱怨|问我|告诉我|声称|号称|传言|听说|据说)"
)
_DIAGNOSED: Final = re.compile(
    r"^(?:医生|大夫|体检报告|检查结果|B超|化验单?|牙医|医院)(?:也|都|今天|昨天)?(?:说|讲|显示|告诉我|查出来?)(?:是|我)?"
)
_ME_SAYS: Final = re.compile(r"^(?:我)(?:也|就|是|一直|还是|个人)?(?:觉得|认为|说|以为)")
_SARCASM: Final = re.compile(r"呵呵|我可真是|可真行|真是谢谢了|我谢谢你|巴不得")


def find(sentence: str, people: People, said_at: datetime | None, *, to_machine: bool) -> Iterator[Statement]:
    """Yield the statements of one sentence; ``people`` learns whom it mentions, whatever it states."""
    claimed = asserted(sentence)
    if asks(sentence) or not claimed or _SARCASM.search(sentence):
        note_mentions(sentence, people)
        return
    claimed = _QUOTED.sub("", claimed)
    reported = False
    for clause in clauses(claimed, people):
        # What somebody is reported to say is their opinion, up to where the speaker speaks for themselves again.
        if diagnosed := _DIAGNOSED.match(clause.text):
            rest = clause.text[diagnosed.end() :]
            clause = type(clause)(clause.text, SELF, people.speaker, rest)
            reported = False
        elif _REPORTED.search(clause.rest) and not (clause.kind == SELF and _ME_SAYS.match(clause.text)):
            reported = clause.kind in (OTHER, THING, CARRIED) or _REPORTED.search(clause.rest) is not None
        elif clause.kind in (SELF, OTHER):
            reported = False
        yield from _introductions(clause.text, people)
        if reported or tentative(clause.text):
            continue
        if clause.kind == SELF and _ME_SAYS.match(clause.text):
            continue
        for found in rules_zh.find(clause, to_machine=to_machine):
            when = None if found.attribute in UNDATED else resolve(clause.text, said_at, future=found.future)
            yield Statement(
                found.field, found.text or clause.text, clause.subject or people.speaker, found.attribute, when
            )
    if len(claimed) < len(sentence):
        note_mentions(sentence[len(claimed) :], people)


def _introductions(text: str, people: People) -> Iterator[Statement]:
    """Yield 我同事小李: a name told in passing."""
    for match in ANYWHERE.finditer(text):
        if match["name"] and match["whose"].startswith("我") and not match["second"]:
            yield Statement(FACTS, match.group(), match["name"], "relation")


__all__ = ["THING", "find", "note_mentions"]
