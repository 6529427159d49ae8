"""Writing HTML: every text is escaped, and stays a text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Final

from ...text.language import script
from ...text.wellformed import well_formed

_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
_BREAKS: Final = {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}


def text(value: str) -> str:
    """Return a text as it may stand between tags; what HTML cannot hold becomes the replacement character."""
    return escape(_CONTROL.sub("\ufffd", well_formed(value)), quote=True).replace("\r", "&#13;")


def attributes(**values: str | bool | None) -> str:
    """Return attributes, each after a space: ``data_x`` is ``data-x``, ``class_`` is ``class``, ``None`` is none."""
    written = []
    for name, value in values.items():
        name = name.rstrip("_").replace("_", "-")
        if value is True:
            written.append(f" {name}")
        elif value is not None and value is not False:
            quoted = escape(well_formed(value), quote=True)
            written.append(f' {name}="{"".join(_BREAKS.get(character, character) for character in quoted)}"')
    return "".join(written)


def tag(name: str, *content: str, **values: str | bool | None) -> str:
    """Return an element around HTML."""
    return f"<{name}{attributes(**values)}>{''.join(content)}</{name}>"


def marked(pieces: Iterable[tuple[str, bool]], name: str) -> str:
    """Return pieces of a text as HTML, those that are to be marked in elements of this name."""
    return "".join(tag(name, text(piece)) if mark else text(piece) for piece, mark in pieces)


def lang(value: str) -> str | None:
    """Return the language of a text for readers aloud, where its script tells."""
    return {"han": "zh", "latin": "en", "kana": "ja", "hangul": "ko"}.get(script(value))
