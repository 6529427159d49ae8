"""The summarizer that needs no model: it selects what was said, and words nothing itself."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final

from ..protocols import Embedder, Floats, TokenCounter
from ..records import Digest, Message
from .budget import Room, RoughCounter, room_beside
from .condense import Items, condensed
from .fragments import Fragment, fragments
from .select import choose
from .speech import Utterance, in_chinese, source_ids, utterances
from .statements import items_of
from .topic import topic

NAME: Final = "extractive"


class ExtractiveSummarizer:
    """Makes digests by selection and by rule: deterministic, in English and Chinese, with no language model.

    The summary consists of fragments of what was said, chosen for what they cover; facts, preferences and events
    are statements of people recognised by rule, verbatim, with dates resolved against their message's own time.
    With an ``embedder``, fragments unlike the run of the conversation are favoured, for one embedding per fragment
    (1.5 points more of the answers of ``benchmarks/compression`` at five times fewer tokens, 0.4 at ten); without one,
    words alone decide. ``counter`` counts tokens; the default is a rough estimate that errs on the high side.
    """

    name: Final = NAME
    local: Final = True
    model_free: Final = True

    def __init__(self, embedder: Embedder | None = None, *, counter: TokenCounter | None = None) -> None:
        self._embedder = embedder
        self._counter = counter or RoughCounter()

    def summarize(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> Digest:
        """Return the digest of the messages; its summary has at most ``max_tokens``.

        Summary and statements together have at most a fifth of the messages' tokens and characters. Where people state
        so much that no room is left, statements lose what is beside their point, and the summary of a long
        conversation is its topic; what is stated is never dropped, so the whole may then be more than a fifth. Raises
        what the embedder raises, if there is one.
        """
        said = utterances(messages)
        about = topic(said, chinese=in_chinese(said))
        items = self._stated(said, about)
        room = self._room(said, items, max_tokens)
        pieces = fragments(said, room)
        prices = {number: room.count(_label(one)) for number, one in enumerate(said)}
        chosen = choose(said, pieces, room.tokens, prices, self._vectors(pieces))
        summary = _render(said, chosen)
        while chosen and room.count(summary) > room.tokens:  # joined text may cost more than its parts
            chosen = chosen[:-1]
            summary = _render(said, chosen)
        return Digest(
            topic=about,
            summary=summary or self._within(about, max_tokens),
            facts=items["facts"],
            preferences=items["preferences"],
            events=items["events"],
            source_ids=source_ids(one.message for one in said),
            made_by=NAME,
        )

    def _stated(self, said: Sequence[Utterance], about: str) -> Items:
        """Return the statements, shortened where they leave no room even for the topic."""

        def fits(items: Items) -> bool:
            room = self._room(said, items, None)
            return bool(room.tokens) and room.count(about) <= room.tokens

        if fits(items := condensed(items_of(said), fits)):
            return items
        return condensed(items_of(said, named=False), fits)

    def _within(self, about: str, max_tokens: int | None) -> str:
        return about if max_tokens is None or self._counter.count(about) <= max_tokens else ""

    def _room(self, said: Sequence[Utterance], items: Items, max_tokens: int | None) -> Room:
        statements = [item.text for found in items.values() for item in found]
        return room_beside(statements, [one.text for one in said], self._counter, max_tokens)

    def _vectors(self, pieces: Sequence[Fragment]) -> Floats | None:
        if self._embedder is None or not pieces:
            return None
        return self._embedder.embed_documents([piece.text for piece in pieces])


def _render(said: Sequence[Utterance], chosen: Sequence[Fragment]) -> str:
    """Return the fragments as text, a line per speaker's run."""
    lines = []
    for speaker, run in groupby(chosen, key=lambda piece: said[piece.utterance].speaker):
        texts = [piece.text for piece in run]
        glue = "；" if any("\u4e00" <= char <= "\u9fff" for char in texts[0]) else "; "
        lines.append(f"{speaker}: {glue.join(texts)}")
    return "\n".join(lines)


def _label(utterance: Utterance) -> str:
    return f"{utterance.speaker}: "
