"""The formats that can be imported, and which one a source has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..errors import InvalidInputError
from .chatgpt import ChatGPT
from .chatlab import ChatLab
from .claude import Claude
from .documents import Markdown, PlainText
from .export_file import ExportFile
from .failed import FailedParts
from .files import Files
from .generic import Generic
from .langchain import LangChainHistory
from .llama_index import LlamaIndexFolder
from .pickled import Pickled
from .reader import Reader
from .source import Source
from .telegram import Telegram
from .turns import OpenAIMessages, ShareGPT
from .wechat import WeChat
from .whatsapp import WhatsApp

READERS: Final[tuple[Reader, ...]] = (
    ExportFile(),
    FailedParts(lambda: _BY_NAME),
    LlamaIndexFolder(),
    ChatGPT(),
    Claude(),
    ShareGPT(),
    LangChainHistory(),
    WeChat(),
    ChatLab(),
    Telegram(),
    OpenAIMessages(),
    Generic(),
    WhatsApp(),
    Markdown(),
    PlainText(),
    Pickled(),
)
"""Readers in the order in which they are asked; the first that recognises a source reads it."""

_REFUSED: Final = frozenset({Pickled.format})
FORMATS: Final = tuple(reader.format for reader in READERS if reader.format not in _REFUSED)
"""What ``format=`` may be."""


def reader_for(source: Source, format: str | None) -> Reader:
    """Return the reader of a format by name, or of what the source looks like inside.

    A folder or archive is read by the reader that recognises it as a whole, else file by file; ``format`` then says
    which files. Raises ``InvalidInputError`` for a name that is not known, and for a source that no reader recognises.
    """
    names = ", ".join(FORMATS)
    if format is not None and format not in FORMATS:
        raise InvalidInputError(f"format {format!r} is none of {names}: nothing was imported")
    for reader in READERS:
        if format in (None, reader.format) and reader.recognises(source):
            return reader
    if source.folder and format != LlamaIndexFolder.format:
        files = Files(_readers_of_files, format)
        if files.recognises(source):
            return files
    elif format is not None:
        return by_name(format)
    raise InvalidInputError(
        f"{source.name} looks like none of the formats {names}: nothing was imported; "
        "pass format= (--format) if it is one of them"
    )


def by_name(format: str) -> Reader:
    """Return the reader of a format."""
    return _BY_NAME[format]


def _readers_of_files() -> tuple[Reader, ...]:
    return tuple(reader for reader in READERS if reader.format not in _REFUSED)


_BY_NAME: Final[Mapping[str, Reader]] = {reader.format: reader for reader in READERS}
