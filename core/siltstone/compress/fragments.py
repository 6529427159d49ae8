"""Sentences cut into fragments, the pieces that a summary is put together from.

A fragment is a clause or part of one, as it was written, without the fillers that chat begins with: the shorter the
pieces, the more of what was said fits a budget.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ..protocols import TokenCounter
from ..text.sentences import sentences
from ..text.tokenize import terms
from .modality import asks
from .speech import Utterance

_BREAK: Final = re.compile(
    r"(?<=[,;:—–])\s+|[，；：;]\s*|\s+[—–-]+\s+|[—…]{2,}"
    r"|\s+(?=(?:and|but|so|because|which|while|since|who|where|when|that['’]s|after|before|although|though|then|or)\b)",
    re.IGNORECASE,
)
_FILLER: Final = re.compile(
    r"^(?:(?:and|but|so|or|well|oh|wow|hey|hi|hello|yeah|yes|yep|no|ok|okay|haha|lol|hmm|ah|aww?|thanks|thank you|also"
    r"|actually|plus|because|then|anyway|like|you know|i mean|i think|i guess|by the way|btw|to be honest|honestly"
    r"|that['’]s (?:great|awesome|amazing|cool|nice|lovely)|sounds (?:great|good|fun|awesome|nice))\b[\s,!.:—-]*)+"
    r"|^(?:(?:嗯+|哈哈+|呵呵|哦+|噢|啊+|唉|哎呀?|诶|好的|好吧|好呀|行吧|是的|是啊|是吧|对了|对啊|其实|那个|那么|那|然后"
    r"|而且|但是|但|不过|所以|反正|总之|话说|说实话|老实说|谢谢你?|谢啦|你好|您好|可不是嘛)[\s，,。!！~～、…]*)+",
    re.IGNORECASE,
)
_EDGES: Final = " \t\r\n,;:，；：、—–-~～"
_END: Final = re.compile(r"[.!。！]+$")

SMALLEST: Final = 2
"""A fragment with fewer terms says nothing by itself."""


@dataclass(frozen=True)
class Fragment:
    """A piece of an utterance: where it stands, its text, its terms once each, its price, whether it asks."""

    utterance: int
    order: int
    text: str
    terms: frozenset[str]
    tokens: int
    asks: bool


def fragments(said: Sequence[Utterance], counter: TokenCounter) -> list[Fragment]:
    """Return the fragments of all utterances in order. ``tokens`` includes one for the separator."""
    found: list[Fragment] = []
    for number, utterance in enumerate(said):
        for sentence in sentences(utterance.text):
            question = asks(sentence)
            for piece in _BREAK.split(sentence):
                text = bare(piece)
                words = frozenset(terms(text))
                if len(words) >= SMALLEST:
                    found.append(Fragment(number, len(found), text, words, counter.count(text) + 1, question))
    return found


def bare(piece: str) -> str:
    """Return a piece without leading fillers and without punctuation at its edges."""
    return _END.sub("", _FILLER.sub("", piece.strip(_EDGES)).strip(_EDGES)).strip(_EDGES)
