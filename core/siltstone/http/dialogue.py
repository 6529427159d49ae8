"""Reading the dialogue of a request: a line for each turn, with the speaker in front. Pure."""

from __future__ import annotations

from ..errors import InvalidInputError
from ..text.dialogue import turns


def parse(text: str) -> list[tuple[str, str]]:
    """Return the turns of a dialogue as ``(role, content)``; raises ``InvalidInputError`` where there are no words."""
    if found := turns(text):
        return found
    raise InvalidInputError("dialogue_text holds no words: nothing was stored")
