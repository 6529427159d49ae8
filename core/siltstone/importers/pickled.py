"""Refuses what could only be read by unpickling it, which runs whatever the file says."""

from __future__ import annotations

import re
from typing import Final

from ..errors import InvalidInputError
from .reader import Items, Part, Reading
from .source import Source

_PICKLE: Final = re.compile(rb"\x80[\x02-\x05]")


class Pickled:
    """The reader of LangChain's ``FAISS.save_local`` folders and other pickles: it says the way, and reads nothing."""

    format = "pickle"

    def recognises(self, source: Source) -> bool:
        """Return whether it is a pickle, or a folder with the one of LangChain's FAISS store."""
        return "index.pkl" in source.names or _PICKLE.match(source.head) is not None

    def read(self, source: Source) -> Reading:
        """Raise ``InvalidInputError``."""
        raise InvalidInputError(
            f"{source.name} holds a pickle, as LangChain's FAISS.save_local writes it, and opening one runs whatever "
            "code is in it: siltstone never does, and nothing was imported. If you trust it, load it in a program of "
            "your own, and pass on its texts: for document in FAISS.load_local(…).docstore._dict.values(): "
            'memory.remember(document.page_content, kind="document", metadata=document.metadata)'
        )

    def again(self, part: Part) -> Items:
        """Raise ``InvalidInputError``: nothing was read."""
        raise InvalidInputError("a pickle is never opened")
