"""JSON as other programs write it: NaN, lone surrogates and all."""

from __future__ import annotations

import json
from typing import Any

from ..errors import InvalidInputError
from ..text.wellformed import well_formed
from .source import Source


def load(source: Source) -> Any:
    """Return the value of a whole JSON file, NaN and infinities as ``None``, lone surrogates replaced.

    Raises ``InvalidInputError`` for what is no JSON. Holds the file in memory: these programs write one value each.
    """
    try:
        return well_formed(json.loads(source.read(), parse_constant=lambda _: None))
    except (ValueError, RecursionError) as exc:
        raise InvalidInputError(f"{source.name} is no JSON ({exc}): nothing was imported from it") from exc
