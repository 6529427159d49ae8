"""Reading JSON as language models write it.

A strict reader refuses an answer for one trailing comma. This one takes what RFC 8259 takes, with the same result, and
beyond it: prose and markdown fences around the value, ``<think>`` text before it, trailing or missing commas,
comments, single, curly or unescaped inner quotes, bare words, invalid escapes, full-width punctuation between
values, and a value that breaks off. What broke off is left out, never guessed at.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from ..text.wellformed import well_formed

MAX_DEPTH: Final = 32
MAX_STARTS: Final = 64
"""How many brackets of one answer are tried as the beginning of a value: prose is full of them."""

_CLOSERS: Final = {'"': '"', "'": "'", "“": "”", "”": "”", "‘": "’"}
_ESCAPES: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_SPACE: Final = re.compile(r"(?:[\s\ufeff]+|//[^\n]*|/\*.*?(?:\*/|\Z))*", re.DOTALL)
_BARE: Final = re.compile(r"[^\s,:\[\]{}\"“”，：]+")
_HEX4: Final = re.compile(r"[0-9a-fA-F]{4}")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?\Z")
_THINK: Final = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_THOUGHT: Final = re.compile(r"\A.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_FENCE: Final = re.compile(r"```[\w-]*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)


class UnreadableError(ValueError):
    """There is no JSON value at this place."""


@dataclass(frozen=True)
class Found:
    """A value found in an answer, and whether the answer broke off inside it."""

    value: Any
    cut: bool = False


def find_values(answer: str) -> Iterator[Found]:
    """Yield the objects and arrays in a model's answer, the likeliest place first.

    The whole answer, then fenced blocks, then whatever begins at a bracket. Nothing is raised; an answer without a
    value yields nothing.
    """
    text = _THOUGHT.sub("", _THINK.sub("", answer)).strip()
    try:
        # The strict reader is the faster one, and it knows best where it can read at all.
        yield Found(well_formed(json.loads(text)))
        return
    except (ValueError, RecursionError):
        pass
    for place in [*_FENCE.findall(text), text]:
        yield from _values_in(place)


def _values_in(text: str) -> Iterator[Found]:
    position = 0
    for _ in range(MAX_STARTS):
        start = re.compile(r"[{\[]").search(text, position)
        if start is None:
            return
        position = start.start()
        try:
            found, end = read_value(text, position)
        except UnreadableError:
            position += 1
            continue
        yield found
        # A value that swallowed the rest may have begun in the prose: the next bracket gets its chance too.
        position = position + 1 if found.cut else max(end, position + 1)


def read_value(text: str, start: int = 0) -> tuple[Found, int]:
    """Return the value that begins at ``start``, and the position after it. Raises ``UnreadableError``."""
    reader = _Reader(text, start)
    value = reader.value(0)
    if value is _CUT:
        raise UnreadableError("the answer breaks off before the first value is complete")
    return Found(value, reader.cut), reader.at


_CUT: Final = object()
"""Stands for a value that the text does not hold to its end."""


class _Reader:
    """One pass over the text, without looking back: each character is read a bounded number of times."""

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self.cut = False

    def peek(self) -> str:
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at
        return self.text[self.at : self.at + 1]

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise UnreadableError(f"nested more than {MAX_DEPTH} deep")
        match self.peek():
            case "":
                self.cut = True
                return _CUT
            case "{":
                return self.object(depth)
            case "[":
                return self.array(depth)
            case mark if mark in _CLOSERS:
                return self.string(mark)
            case _:
                return self.bare()

    def array(self, depth: int) -> Any:
        self.at += 1
        values: list[Any] = []
        while True:
            mark = self.peek()
            if mark == "":
                self.cut = True
                return values
            if mark in ",，":
                self.at += 1
            elif mark == "]":
                self.at += 1
                return values
            elif mark in "}:：":
                raise UnreadableError(f"{mark!r} inside an array")
            else:
                item = self.value(depth + 1)
                if item is not _CUT:
                    values.append(item)

    def object(self, depth: int) -> Any:
        self.at += 1
        members: dict[str, Any] = {}
        while True:
            mark = self.peek()
            if mark == "":
                self.cut = True
                return members
            if mark in ",，":
                self.at += 1
                continue
            if mark == "}":
                self.at += 1
                return members
            key = self.string(mark) if mark in _CLOSERS else self.bare()
            separator = "" if key is _CUT else self.peek()
            if separator == "":
                self.cut = True
                return members
            if separator not in ":：":
                raise UnreadableError("a name without a value")
            self.at += 1
            item = self.value(depth + 1)
            if item is not _CUT:
                members[str(key)] = item

    def string(self, mark: str) -> Any:
        closer, out = _CLOSERS[mark], []
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == "\\":
                out.append(self.escape())
            elif char == closer and self.closes():
                return well_formed("".join(out))
            else:
                out.append(char)
        self.cut = True
        return _CUT

    def closes(self) -> bool:
        """Whether the quote just read ends its string: only punctuation, a new line or nothing may follow."""
        rest = re.compile(r"[ \t\r]*(.?)", re.DOTALL).match(self.text, self.at)
        return rest is None or rest.group(1) in ",:]}\n，：" or self.text.startswith(("//", "/*"), rest.start(1))

    def escape(self) -> str:
        char = self.text[self.at : self.at + 1]
        self.at += 1
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char == "u" and (digits := _HEX4.match(self.text, self.at)):
            self.at += 4
            return chr(int(digits.group(), 16))
        # "C:\users" was meant as it stands; "\'" and "\_" were meant as the character.
        return "\\" + char if char.isalnum() else char

    def bare(self) -> Any:
        word = _BARE.match(self.text, self.at)
        if word is None:
            raise UnreadableError(f"{self.text[self.at]!r} where a value should be")
        self.at = word.end()
        if self.at == len(self.text):
            self.cut = True
            return _CUT
        return _literal(word.group())


def _literal(word: str) -> Any:
    named = {"true": True, "false": False, "null": None, "none": None}
    if word.lower() in named:
        return named[word.lower()]
    if _NUMBER.match(word):
        if word.lstrip("-").isdigit():
            return int(word) if len(word) < 4000 else word  # beyond that int() refuses, on purpose
        number = float(word)
        return number if math.isfinite(number) else word
    return word
