"""The formats that can be imported, and which one a source has."""

from __future__ import annotations

from typing import Final

from ..errors import InvalidInputError
from .export_file import ExportFile
from .langchain import LangChainHistory
from .llama_index import LlamaIndexFolder
from .pickled import Pickled
from .reader import Reader
from .source import Source

READERS: Final[tuple[Reader, ...]] = (ExportFile(), LlamaIndexFolder(), LangChainHistory(), Pickled())
"""Readers in the order in which they are asked; the first that recognises a source reads it."""


def reader_for(source: Source, format: str | None) -> Reader:
    """Return the reader of a format by name, or of what the source looks like inside.

    Raises ``InvalidInputError`` for a name that is not known, and for a source that no reader recognises.
    """
    names = ", ".join(reader.format for reader in READERS if not isinstance(reader, Pickled))  # known to be refused
    for reader in READERS:
        if reader.format == format or (format is None and reader.recognises(source)):
            return reader
    if format is not None:
        raise InvalidInputError(f"format {format!r} is none of {names}: nothing was imported")
    raise InvalidInputError(
        f"{source.name} looks like none of the formats {names}: nothing was imported; "
        "pass format= (--format) if it is one of them"
    )
