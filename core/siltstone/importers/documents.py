"""Reads texts and Markdown as documents, in chunks.

A chunk is a record under the file's place and its number (``/home/ann/notes.md#3``), with its headings as topic: the
same file again updates what has changed, and takes out the chunks behind its new end.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from ..errors import InvalidInputError
from ..records import Record
from ..text.chunks import chunks
from .parts import PartReader
from .reader import UNTIMED, Found, Items, Noted, Part, Whole
from .source import Source
from .text_file import encoding_of, lines, text_of
from .values import said

MADE_BY: Final = "import:document"
_MARKDOWN: Final = (".md", ".markdown", ".mdown", ".mkd")
_TEXT: Final = (".txt", ".text", ".log", ".rst", ".org", ".adoc", ".tex")
_OTHERWISE: Final = ("{", "[{", '["', "<!doctype", "<html", "<?xml", "%pdf", "{\\rtf")


class _Document(PartReader):
    """The reader of one kind of text."""

    endings: tuple[str, ...]
    markdown: bool

    def recognises(self, source: Source) -> bool:
        """Return whether it is a text, by its name and by what is in it."""
        if source.folder or encoding_of(source.head) is None:
            return False
        ending = os.path.splitext(source.name)[1].lower()
        return ending in self.endings and not text_of(source)[:20].lstrip().lower().startswith(_OTHERWISE)

    def parts(self, source: Source, notes: list[str]) -> Iterator[Part | Found]:
        """Yield each chunk."""
        number = 0
        about = {"place": source.place, "file": os.path.basename(source.name)}
        for chunk in chunks(lines(source, notes), markdown=self.markdown):
            number += 1
            headings = {"headings": list(chunk.headings), "number": number}
            yield Part(self.format, f"line {chunk.line}", {**about, **headings}, chunk.text)
        yield Found("the end", Whole(f"{source.place}#", number))

    def items(self, part: Part) -> Items:
        """Yield a chunk as a document."""
        text = part.value if isinstance(part.value, str) else part.text
        if not text:
            raise InvalidInputError("it is no text")
        about = part.about
        record = Record(
            id=f"{about['place']}#{about['number']}",
            text=text,
            kind="document",
            topic=" > ".join(about["headings"]) or None,
            created_at=UNTIMED,
            stored_at=UNTIMED,
            made_by=MADE_BY,
            metadata=said(file=about["file"]) or {},
        )
        yield Found(part.where, Noted(record))


class Markdown(_Document):
    """The reader of Markdown."""

    format = "markdown"
    endings = _MARKDOWN
    markdown = True


class PlainText(_Document):
    """The reader of plain texts."""

    format = "text"
    endings = _TEXT
    markdown = False
