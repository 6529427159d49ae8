"""Text to search terms, for every language at once.

Words are NFKC-normalised, casefolded, stripped of accents and stemmed by their script; scripts written without
spaces give characters *and* pairs of characters, and longer Chinese words where a dictionary is installed; numbers,
dates and emoji are terms. The rules look at one word at a
time, never at the text around it, so that a question and a memory always agree.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Final

import snowballstemmer

from .chinese_words import DICTIONARY, longer_words
from .words import CHINESE_MONTHS, IRREGULAR, MONTH_ABBREVIATIONS, MONTHS, STOP_BIGRAMS, STOP_CHARACTERS, STOP_WORDS

VERSION: Final = 4 if DICTIONARY is None else f"4, {DICTIONARY}"
"""Changes with every rule and dictionary: an index of another version is rebuilt."""

MAX_WORD: Final = 64
"""Longer words (encoded data, mostly) are known by their first 64 characters."""
_CLOSING: Final = ".,:;!?"
"""No token ends with one of these."""
_KEPT: Final = 1 << 16
"""Words whose terms are kept."""

# Scripts without spaces between words: Han, kana, Hangul (particles stick to words), Thai, Lao, Burmese, Khmer.
_SPACELESS: Final = (
    "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\u31f0-\u31ff\uac00-\ud7af"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\U00020000-\U0003134f"
)
# Vowel signs and accents are no word characters for `re`, but belong to the word.
_MARKS: Final = "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_EMOJI: Final = "\u2190-\u21ff\u231a-\u23ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\U0001f000-\U0001faff"
_LETTER: Final = rf"[^\W\d_{_SPACELESS}]"
_WORD: Final = rf"[^\W_{_SPACELESS}]+(?:[{_MARKS}]+[^\W_{_SPACELESS}]*)*"
_TOKEN: Final = re.compile(
    rf"(?<![^\W_])[a-z](?:\+\+|#)(?!\w)"  # C++, C#
    rf"|(?={_LETTER}){_WORD}(?:['’]{_LETTER}+)?"
    rf"|[{_SPACELESS}]+"
    rf"|(?<![\d./-])(?:19|20)\d\d([-/.])\d{{1,2}}\1\d{{1,2}}(?!\d)"  # 2023-05-08
    rf"|\d{{1,4}}[年月日号號]"
    rf"|\d+(?:[.,]\d+)+(?!{_LETTER})"
    rf"|{_WORD}"
    rf"|[\U0001f1e6-\U0001f1ff]{{2}}|[{_EMOJI}]"
)
_SPACELESS_RUN: Final = re.compile(rf"[{_SPACELESS}]+")
_APOSTROPHE: Final = re.compile("['’]")
_DATE: Final = re.compile(r"((?:19|20)\d\d)([-/.])(\d{1,2})\2(\d{1,2})")
_CHINESE_DATE: Final = re.compile(r"(\d{1,4})([年月日号號])")
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)+")
_MONTH_IN_HAN: Final = re.compile("十[一二]月|(?<!十)[一二三四五六七八九]月|十月")
_PARTS: Final = re.compile(r"\d+|[^\W\d_]+")
_ORDINAL: Final = re.compile(r"(\d+)(?:st|nd|rd|th)")
_SKIN_TONE: Final = re.compile("[\U0001f3fb-\U0001f3ff]")
_STEMMERS: Final = (  # by script; Latin words are taken as English, as one word cannot tell its language
    ("english", re.compile(r"[a-z]+")),
    ("russian", re.compile(r"[\u0400-\u04ff]+")),
    ("greek", re.compile(r"[\u0370-\u03ff]+")),
    ("arabic", re.compile(r"[\u0621-\u064a]+")),
    ("hindi", re.compile(r"[\u0900-\u097f]+")),
    ("tamil", re.compile(r"[\u0b80-\u0bff]+")),
    ("armenian", re.compile(r"[\u0530-\u058f]+")),
)
_local: Final = threading.local()  # a Snowball stemmer holds the word that it works on: one per thread


def terms(text: str) -> list[str]:
    """Return the search terms of a text, in order and with repeats.

    Any text will do: empty gives none, and time and memory grow with its length only.
    """
    return list(_stream(text))


def _stream(text: str) -> Iterator[str]:
    """Yield the terms piece by piece: no token holds a space, and most pieces have been seen before."""
    normal = unicodedata.normalize("NFKC", text).casefold()
    for mark in _CLOSING:
        normal = normal.replace(f"{mark} ", " ")
    return chain.from_iterable(map(_pieces.__getitem__, normal.split()))


class _Pieces(dict[str, tuple[str, ...]]):
    """The terms of pieces between spaces; of short ASCII ones, which come again, they are kept."""

    def __missing__(self, piece: str) -> tuple[str, ...]:
        bare = piece.rstrip(_CLOSING)
        found = tuple(_terms_in(piece)) if bare == piece else self[bare]
        if len(piece) <= MAX_WORD and piece.isascii():
            if len(self) >= _KEPT:
                self.clear()
            self[piece] = found
        return found


_pieces: Final = _Pieces()


def _terms_in(piece: str) -> Iterator[str]:
    for match in _TOKEN.finditer(piece):
        token = match.group()
        if _SPACELESS_RUN.match(token):
            yield from _terms_of_run(token)
        else:
            yield from _terms_of_word(token[:MAX_WORD])


def _terms_of_run(run: str) -> Iterator[str]:
    shared: dict[str, str] = {}  # a long run repeats itself: keep one string of each pair
    for gram in _grams(run):
        yield shared.setdefault(gram, gram)
    yield from _months(run)
    yield from longer_words(run)


@lru_cache(maxsize=_KEPT)
def _terms_of_word(token: str) -> tuple[str, ...]:
    """Return the terms of one word, number or sign; each rule sees it alone, so that results can be kept."""
    if token[0].isdigit():
        return _numeral(token)
    if not token[0].isalpha():
        return () if _SKIN_TONE.match(token) else (token,)
    word = _APOSTROPHE.split(token)[0]
    if not word.isascii():
        word = _plain(word)
    if word in STOP_WORDS:
        return ()
    if word.isalpha() or not word.isalnum():
        return (_stem(MONTH_ABBREVIATIONS.get(word, word)),)
    return (word, *_parts(word))


def _numeral(token: str) -> tuple[str, ...]:
    if date := _DATE.fullmatch(token):
        return (date[1], _month(date[3]), _integer(date[4]))
    if date := _CHINESE_DATE.fullmatch(token):
        return (_month(date[1]) if date[2] == "月" else _integer(date[1]),)
    if _NUMBER.fullmatch(token):
        return (token.replace(",", ""),)
    if token.isdigit():
        return (_integer(token),)
    if ordinal := _ORDINAL.fullmatch(token):
        return (_integer(ordinal[1]),)
    return (token, *_parts(token))


def _grams(run: str) -> Iterator[str]:
    """Yield the characters of a run and the pairs of neighbours, without those that only carry grammar."""
    previous = ""
    for character in run:
        if previous:
            pair = previous + character
            if pair not in STOP_BIGRAMS and not (previous in STOP_CHARACTERS and character in STOP_CHARACTERS):
                yield pair
        if character not in STOP_CHARACTERS:
            yield character
        previous = character


def _months(run: str) -> list[str]:
    return [CHINESE_MONTHS[month] for month in _MONTH_IN_HAN.findall(run)] if "月" in run else []


def _parts(word: str) -> list[str]:
    """Return the letters and the digits of a mixed word apart: iphone15 is also found by "iPhone 15"."""
    return [_stem(part) for part in _PARTS.findall(word) if part not in STOP_WORDS]


def _month(digits: str) -> str:
    number = int(digits)
    return MONTHS[number - 1] if 1 <= number <= 12 else str(number)


def _integer(digits: str) -> str:
    return digits.lstrip("0") or "0"


def _stem(word: str) -> str:
    if word in MONTHS:
        return word
    word = IRREGULAR.get(word, word)
    for language, script in _STEMMERS:
        if script.fullmatch(word):
            stemmers: dict[str, snowballstemmer.stemmer] = _local.__dict__
            if language not in stemmers:
                stemmers[language] = snowballstemmer.stemmer(language)
            return str(stemmers[language].stemWord(word))
    return word


def _plain(word: str) -> str:
    """Return a Latin word without accents; other scripts keep their marks, which tell words apart."""
    bare = "".join(c for c in unicodedata.normalize("NFD", word) if not "\u0300" <= c <= "\u036f")
    return bare if bare.isascii() else word


_ENDS_ASKING: Final = re.compile(r"(?:吗|嗎|呢)[\s。!！~～]*$")
_BEGINS_ASKING: Final = re.compile(
    r"\W*(?:what|who|whom|whose|which|when|where|why|how|do|does|did|is|are|was|were|can|could|will|would|should"
    r"|have|has)\s+(?:i|you|we|he|she|it|they|the|my|your|his|her|our|their|is|are|was|were|do|does|did|many|much"
    r"|often|long|to)\b",
    re.IGNORECASE,
)
_ASKS_IN_CHINESE: Final = re.compile(
    r"(?!.*(?:没有?什么|都|也|无论|不管)).{0,40}"
    r"(?:什么|什麼|怎么|怎麼|哪里|哪儿|哪个|哪些|哪天|哪年|几号|多少|是不是|有没有|谁)[^。！!]*$"
)
_ASKS_WITHIN: Final = 4_000  # characters


def is_question(text: str) -> bool:
    """Return whether the text asks something, by its marks and question words, in English or Chinese."""
    text = text[-_ASKS_WITHIN:]
    if "?" in text or "？" in text or _BEGINS_ASKING.match(text):
        return True
    if text.isascii():
        return False
    return _ENDS_ASKING.search(text) is not None or _ASKS_IN_CHINESE.match(text) is not None
