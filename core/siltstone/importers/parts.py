"""What most readers share: a source falls into parts, and each part is read alone, now or when it is tried again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final

from ..errors import InvalidInputError
from .json_lines import lines_with_json, numbered
from .json_stream import TOO_LONG, Path, loads, pieces
from .reader import Found, Items, Part, Reading, Unreadable
from .source import Source


class PartReader(ABC):
    """A reader that says what the parts of a source are, and what is in a part."""

    format: ClassVar[str]

    @abstractmethod
    def recognises(self, source: Source) -> bool:
        """Return whether the source looks like this format from inside. Reads little."""

    @abstractmethod
    def parts(self, source: Source, notes: list[str]) -> Iterator[Part | Found]:
        """Yield the parts of the source, and append to ``notes`` what is to be said of it as a whole.

        A ``Found`` among them is what cannot be a part.
        """

    @abstractmethod
    def items(self, part: Part) -> Items:
        """Yield what is in a part. Raises ``InvalidInputError`` for one that is not of this format."""

    def read(self, source: Source) -> Reading:
        """Read the source part by part."""
        notes: list[str] = []
        return Reading(self._all(source, notes), share=lambda: share(source), notes=notes)

    def again(self, part: Part) -> Items:
        """Read a part, and name what cannot be read."""
        try:
            for found in self.items(part):
                yield replace(found, part=part)
        except InvalidInputError as exc:
            yield Found(part.where, Unreadable(str(exc)), part)
        except BENT as exc:
            yield Found(part.where, Unreadable(bent(exc)), part)

    def _all(self, source: Source, notes: list[str]) -> Items:
        where = source.name
        try:
            for part in self.parts(source, notes):
                where = f"after {part.where}"
                yield from [part] if isinstance(part, Found) else self.again(part)
        except InvalidInputError as exc:
            yield Found(where, Unreadable(str(exc)))


class JsonReader(PartReader):
    """A reader of JSON or JSON Lines, whose parts are values in it."""

    part_is: ClassVar[str] = "conversation"
    """What a part is called where it is named to people."""

    def opens(self, path: Path, bracket: bytes, about: Mapping[str, Any]) -> bool:
        """Return whether a container only holds parts; by default a list that is the whole file."""
        return not path and bracket == b"["

    def begin(self, source: Source) -> Mapping[str, Any]:
        """Return what the parts of a source must know of it."""
        return {"session_id": source.stem}

    def look(self, path: Path, value: Any, about: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return ``None`` for a part, or what later parts must know after a value that is none."""
        return None

    def parts(self, source: Source, notes: list[str]) -> Iterator[Part | Found]:
        """Yield a part for each value that no container is opened for."""
        about = self.begin(source)
        number = 0
        for where, path, raw in self._values(source, about):
            if isinstance(raw, Unreadable):
                yield Found(where or f"after {self.part_is} {number}", raw)
                continue
            try:
                value = loads(raw)
            except InvalidInputError:
                number += 1
                text = raw.decode("utf-8", "replace")
                yield Part(self.format, where or f"{self.part_is} {number}", {**about, "number": number}, text=text)
                continue
            if (known := self.look(path, value, about)) is not None:
                about = known
                continue
            number += 1
            yield Part(self.format, where or f"{self.part_is} {number}", {**about, "number": number}, value)

    def again(self, part: Part) -> Items:
        """Read a part; a damaged one that was mended by hand is read as what it has become."""
        if part.text is None:
            return super().again(part)
        try:
            return super().again(replace(part, value=loads(part.text), text=None))
        except InvalidInputError as exc:
            return iter([Found(part.where, Unreadable(str(exc)), part)])

    def _values(self, source: Source, about: Mapping[str, Any]) -> Iterator[tuple[str, Path, bytes | Unreadable]]:
        with source.open() as file:
            if lines_with_json(source.head):
                for number, line in numbered(file):
                    if line is None:
                        yield f"line {number}", (), Unreadable(TOO_LONG)
                    elif line.strip():
                        yield f"line {number}", (), line
                return
            for piece in pieces(file, lambda path, bracket: self.opens(path, bracket, about)):
                yield "", piece.path, Unreadable(piece.problem) if piece.raw is None else piece.raw


BENT: Final = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What code raises that meets another value than a format promises: one more thing that cannot be read."""


def bent(exc: Exception) -> str:
    """Return the reason for a failure by such an exception."""
    return f"it holds what its format does not promise ({type(exc).__name__}: {exc})"


def share(source: Source) -> float:
    """Return how much of a source has been read, 0 to 1; 0 where that cannot be told."""
    size = source.size
    return source.position / size if size else 0.0
