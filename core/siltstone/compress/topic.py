"""What a conversation is about, in its own words."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from ..text.sentences import sentences
from ..text.tokenize import terms
from ..text.words import MONTHS, STOP_CHARACTERS, STOP_WORDS
from .lexicon import words_of
from .speech import Utterance

WORDS: Final = 3
"""How many words make a topic."""

EARLY: Final = 1.6
"""Weight of words in the first two utterances: most conversations begin with what they are about."""
NOUN: Final = 2.0
"""Weight of a word for the share of its occurrences that stand where nouns stand."""

_WORD: Final = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_BEFORE_NOUN: Final = words_of(
    "a an the my your our his her their its this that these those of for with about in at to on from some "
    "any no new old ",
    "first next last good great big small best whole each every another and or as by",
)
_GENERAL: Final = words_of(
    "day days week weeks month months year years today tomorrow yesterday tonight morning evening "
    "afternoon night weekend time ",
    "times hour hours minute minutes thing things way lot bit one two three four five six seven eight "
    "nine ten first second ",
    "third last next people person someone somebody anybody everybody something anything nothing "
    "everything kind sort part ",
    "idea question answer help luck fun course problem reason point place word words name sure good great "
    "nice lovely perfect ",
    "right okay thank thanks please sorry hope happy glad make made making take taken give given keep "
    "need want know think say ",
    "said tell told ask asked look looking looks sound sounds feel feels go going come coming get getting "
    "put use used using ",
    "try start started find found see seen let call called work works working new old big little long "
    "short small best better ",
    "bad hard easy much many never always really actually maybe probably ever still even well back away "
    "enough half monday ",
    "tuesday wednesday thursday friday saturday sunday yes yeah love like likes friend friends mind sense "
    "end rest talk ",
    "spend spent share remember believe mean means agree done doing having being ago later early soon "
    "side top number pretty ",
    "amazing awesome wonderful guess bet wow cool exciting excited interesting favorite favourite stuff "
    "guys life world photo ",
    "picture chance experience moment support important special proud inspiring beautiful fantastic "
    "incredible definitely ",
    "after before during without while until since because although between among against against also "
    "absolutely totally set came went took gave got saw left felt stay wait bring show shows read write "
    "run turn change changes ",
    "hear heard buy bought live lives living move ready different real true full free high low able worth",
) | frozenset(MONTHS)

_HAN: Final = re.compile(r"[\u3400-\u9fff]{2,}")
_LONGEST_HAN: Final = 4
_NO_TOPIC: Final = re.compile(
    f"[{''.join(sorted(STOP_CHARACTERS))}"
    "一二三四五六七八九十百千万两几零年月日号周天点分钟秒次块元岁个只条张第每再只真好太更最多少大小"
    "想做看听讲叫找问给帮让用拿放走跑送带接回到出进开关起定算等写读学吃喝睡买卖住换改试忙累喜欢怕爱笑谢慢列根]+"
)
_COMMON_HAN: Final = re.compile(
    r"开始|今天|明天|昨天|现在|时候|东西|事情|问题|感觉|知道|可以|应该|需要|建议|谢谢|不错|其实|不过|但是"
    r"|因为|所以|如果|然后|已经|可能|比较"
    r"|方便|开心|恭喜|哈哈|真的|确实|自己|大家|别人|一起|有点|非常|特别|完全|肯定|终于|居然|好像|看看|准备"
    r"|打算|计划|希望|加油|辛苦|厉害|适合"
)


def topic(said: Sequence[Utterance], *, chinese: bool) -> str:
    """Return the weightiest words that were said, at most ``WORDS``, as they were written, in order of appearance."""
    scores = _han_words(said) if chinese else _words(said)
    text = "\n".join(one.text for one in said)
    chosen: list[str] = []
    for word in sorted(scores, key=lambda word: (-scores[word], word)):
        if not any(word in other or other in word for other in chosen):
            chosen.append(word)
        if len(chosen) == WORDS:
            break
    return ("、" if chinese else ", ").join(sorted(chosen, key=text.find))


def _words(said: Sequence[Utterance]) -> dict[str, float]:
    """Score words by how often and how widely they come, and by how often they stand where nouns do.

    Of a word's forms the commonest is shown.
    """
    forms: dict[str, Counter[str]] = {}
    nouns: Counter[str] = Counter()
    places: dict[str, set[int]] = {}
    speakers = {term for one in said for term in terms(one.speaker)}
    for number, one in enumerate(said):
        for sentence in sentences(one.text):
            before = ""
            for word in _WORD.findall(sentence):
                lowered, previous, before = word.lower(), before, word.lower()
                if (
                    len(word) < 3
                    or lowered in STOP_WORDS
                    or lowered in _GENERAL
                    or lowered.endswith("ly")
                    or "'" in word
                ):
                    continue
                stem = (terms(word) or [lowered])[0]
                if stem in speakers:
                    continue
                forms.setdefault(stem, Counter())[word] += 1
                nouns[stem] += previous in _BEFORE_NOUN
                places.setdefault(stem, set()).add(number)
    scores = {}
    for stem, shown in forms.items():
        count = sum(shown.values())
        early = EARLY if min(places[stem]) < 2 else 1.0
        spread = math.log(1 + len(places[stem])) * math.log(1 + count)
        scores[min(shown, key=lambda word: (-shown[word], word))] = spread * (0.5 + NOUN * nouns[stem] / count) * early
    return scores


def _han_words(said: Sequence[Utterance]) -> dict[str, float]:
    """Score runs of two to four characters by how often, and in how many utterances, they come back.

    Without a dictionary, a run counts as a word where it stands whole between characters that belong to no topic,
    or where it comes back.
    """
    counts: Counter[str] = Counter()
    whole: Counter[str] = Counter()
    places: dict[str, set[int]] = {}
    for number, one in enumerate(said):
        for run in _HAN.findall(_COMMON_HAN.sub(" ", one.text)):
            for piece in _NO_TOPIC.split(run):
                whole[piece] += 1
                for size in range(2, min(_LONGEST_HAN, len(piece)) + 1):
                    for start in range(len(piece) - size + 1):
                        word = piece[start : start + size]
                        counts[word] += 1
                        places.setdefault(word, set()).add(number)
    words = {word for word, count in counts.items() if count > 1 or whole[word]}
    parts = {part for word in words for part in (word[1:], word[:-1]) if counts[part] == counts[word]}
    scores = {}
    for word in words - parts:
        early = EARLY if min(places[word]) < 2 else 1.0
        spread = math.log(1 + len(places[word])) * math.log(1 + counts[word] + whole[word])
        scores[word] = spread * (1 + 0.2 * (len(word) - 2)) * early
    return scores
