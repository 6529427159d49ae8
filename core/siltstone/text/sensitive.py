"""What must not be seen outside this process: the rules that say so, and a text without it. Pure.

A rule is one of

- the name of a ready-made one: ``email``, ``phone``, ``card`` (numbers that check), ``chinese_id``, ``secret`` (API
  keys, tokens, private keys, and what follows "password is" or 密码是);
- a regular expression, as text or compiled. What matches is sensitive; where it has a group named ``sensitive``, that
  group alone;
- a callable from a text to the text as it may be seen, or to ``True`` (nothing of it may be seen) or ``False`` (all of
  it may). It is given single messages, statements and lines, may be called by several threads at once, and must not
  raise: then nothing is sent, and whatever was under way fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from ..errors import ConfigurationError, InvalidInputError
from .personal import READY, Spans, pattern

Rule: TypeAlias = "str | re.Pattern[str] | Callable[[str], str | bool]"
MARK: Final = "[redacted]"
"""Stands in the place of what must not be seen."""
_WORD: Final = re.compile(r"[a-z_]+", re.IGNORECASE)


class Rules:
    """Rules, compiled. Raises ``InvalidInputError`` for one that is none. Thread-safe as far as its callables are."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        if isinstance(rules, (str, re.Pattern)) or not isinstance(rules, Iterable):
            raise InvalidInputError("sensitive= takes a list of rules, e.g. ['email', 'phone']; nothing was opened")
        self._finders: list[Callable[[str], Spans]] = []
        self._callables: list[Callable[[str], str | bool]] = []
        for rule in rules:
            if isinstance(rule, (str, re.Pattern)):
                self._finders.append(_finder(rule))
            elif callable(rule):
                self._callables.append(rule)
            else:
                raise InvalidInputError(
                    f"sensitive= holds an object of {type(rule).__name__}: a rule is a name, a pattern or a callable; "
                    "nothing was opened"
                )

    def __bool__(self) -> bool:
        return bool(self._finders or self._callables)

    def redact(self, text: str) -> str:
        """Return the text with a mark in the place of what is sensitive. O(text) for each rule."""
        return self._as_asked(_marked(text, self._spans(text)))

    def matches(self, text: str) -> bool:
        """Return whether anything in the text is sensitive."""
        return self.redact(text) != text

    def withhold(self, text: str) -> str:
        """Return the text with a mark in the place of each line that holds something sensitive."""
        seen = _marked(text, (_widened(span, text) for span in self._spans(text)))  # these may go over several lines
        lines = (MARK if self.matches(line) else line for line in seen.split("\n"))
        return self._as_asked("\n".join(lines))

    def _spans(self, text: str) -> Spans:
        return (span for find in self._finders for span in find(text))

    def _as_asked(self, text: str) -> str:
        for rule in self._callables:
            text = _asked(rule, text)
        return text


def _finder(rule: str | re.Pattern[str]) -> Callable[[str], Spans]:
    if isinstance(rule, str) and rule in READY:
        return READY[rule]
    if isinstance(rule, str) and _WORD.fullmatch(rule):  # a mistyped name must not become a pattern that finds nothing
        raise InvalidInputError(
            f"sensitive= knows no {rule!r}: it has {', '.join(READY)}; nothing was opened. Where it is the word itself "
            f"that is meant, pass re.compile({rule!r})"
        )
    try:
        compiled = re.compile(rule)
        empty = compiled.fullmatch("") is not None
    except (re.error, TypeError) as exc:
        raise InvalidInputError(
            f"sensitive= holds {rule!r}, which is no pattern of text: {exc}; nothing was opened"
        ) from exc
    if empty:
        raise InvalidInputError(f"sensitive= holds {rule!r}, which matches the empty text; nothing was opened")
    return pattern(compiled)


def _marked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return the text with a mark in the place of each span."""
    parts: list[str] = []
    end = 0
    for first, last in _united(spans):
        parts += (text[end:first], MARK)
        end = last
    return "".join((*parts, text[end:]))


def _widened(span: tuple[int, int], text: str) -> tuple[int, int]:
    """Return the lines that a span touches."""
    end = text.find("\n", max(span[1] - 1, span[0]))
    return text.rfind("\n", 0, span[0]) + 1, len(text) if end < 0 else end


def _united(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield spans in order, those that overlap or touch as one."""
    begun: tuple[int, int] | None = None
    for first, last in sorted(spans):
        if begun is not None and first <= begun[1]:
            begun = begun[0], max(begun[1], last)
            continue
        if begun is not None:
            yield begun
        begun = first, last
    if begun is not None:
        yield begun


def _asked(rule: Callable[[str], str | bool], text: str) -> str:
    name = getattr(rule, "__name__", type(rule).__name__)
    try:
        answer = rule(text)
    except Exception as exc:  # a user's code: whatever it raises, the text stays here
        raise ConfigurationError(
            f"the rule {name!r} of sensitive= failed ({type(exc).__name__}): nothing was sent; mend it and try again"
        ) from exc
    if answer is True:
        return MARK
    if answer is False:
        return text
    if not isinstance(answer, str):
        raise ConfigurationError(
            f"the rule {name!r} of sensitive= returned {type(answer).__name__}: nothing was sent; it returns the text "
            "as it may be seen, or True or False"
        )
    return answer
