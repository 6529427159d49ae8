"""Documents in chunks that an embedder takes whole: cut where the text itself has its joints. Pure, in a stream."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from .sentences import sentences

TOKENS: Final = 320
"""Size of a chunk at most, in tokens as roughly counted; the embedded model reads 512."""

_MOST: Final = 16 * TOKENS
"""Characters after which a paragraph, or a line, is taken for two: nothing that is read holds it all."""
_HEADING: Final = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*$")
_UNDERLINE: Final = re.compile(r"(=+|-+)[ \t]*$")
_FENCE: Final = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})")
_WIDE: Final = re.compile(r"[\u2e80-\uffef]")


@dataclass(frozen=True)
class Chunk:
    """A piece of a document, verbatim: the line on which it begins, and the headings that it stands under."""

    line: int
    text: str
    headings: tuple[str, ...] = ()


def rough_tokens(text: str) -> float:
    """Return about how many tokens a text has: one for a Chinese character, one for four others."""
    wide = len(_WIDE.findall(text))
    return wide + (len(text) - wide) / 4


def chunks(lines: Iterable[tuple[int, str]], *, markdown: bool) -> Iterator[Chunk]:
    """Yield the chunks of a document: whole paragraphs of one section, as many as fit.

    A paragraph that is longer is cut at ends of sentences. Blocks of code are paragraphs. Memory: one section's chunk.
    """
    headings: tuple[str, ...] = ()
    kept: list[str] = []
    start = 0
    size = 0.0
    for line, paragraph, section in _paragraphs(lines, markdown=markdown):
        weight = rough_tokens(paragraph)
        if kept and (section != headings or size + weight > TOKENS):
            yield Chunk(start, "\n\n".join(kept), headings)
            kept, size = [], 0.0
        headings = section
        if weight > TOKENS:
            yield from (Chunk(line, piece, section) for piece in _cut(paragraph))
        elif paragraph:
            start = start if kept else line
            kept.append(paragraph)
            size += weight
    if kept:
        yield Chunk(start, "\n\n".join(kept), headings)


def _paragraphs(lines: Iterable[tuple[int, str]], *, markdown: bool) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield paragraphs with their first line and the headings above them; no longer than a few chunks each."""
    trail: list[tuple[int, str]] = []
    kept: list[str] = []
    fence: str | None = None
    bare: int | None = None  # the line of a heading that nothing stands under yet
    start, size = 0, 0

    def done() -> Iterator[tuple[int, str, tuple[str, ...]]]:
        nonlocal size, bare
        text = "\n".join(kept).strip("\n")
        kept.clear()
        size = 0
        if text.strip():
            bare = None
            yield start, text, tuple(title for _, title in trail)

    def begin(level: int, title: str, line: int) -> Iterator[tuple[int, str, tuple[str, ...]]]:
        """Yield the heading before, where nothing stands under it, not even a lower one; then take on the next."""
        nonlocal bare
        if bare is not None and trail and level <= trail[-1][0]:
            yield bare, trail[-1][1], tuple(title for _, title in trail[:-1])
        trail[:] = [*(one for one in trail if one[0] < level), (level, title)]
        bare = line if level else None

    for number, line in lines:
        if markdown and (mark := _FENCE.match(line)):
            if fence is None:
                fence = mark[1]
            elif mark[1].startswith(fence):
                fence = None
        heading = _HEADING.fullmatch(line) if markdown and fence is None else None
        if heading is None and markdown and fence is None and len(kept) == 1 and _is_underlined(kept[0], line):
            yield from begin(1 if line.startswith("=") else 2, kept.pop().strip(), start)
        elif heading is not None:
            yield from done()
            yield from begin(len(heading[1]), heading[2].strip(), number)
        elif not line.strip() and fence is None:
            yield from done()
        else:
            if not kept:
                start = number
            kept.append(line)
            size += len(line)
            if size > _MOST:
                yield from done()
    yield from done()
    yield from begin(0, "", 0)


def _is_underlined(title: str, line: str) -> bool:
    return _UNDERLINE.fullmatch(line) is not None and not title.lstrip().startswith(("-", "|", ">"))


def _cut(paragraph: str) -> Iterator[str]:
    """Yield pieces of a long paragraph that end with sentences, or lines, or anywhere if need be."""
    kept, size = "", 0.0
    for sentence in _sentences(paragraph):
        weight = rough_tokens(sentence)
        if kept and size + weight > TOKENS:
            yield kept.strip()
            kept, size = "", 0.0
        kept, size = kept + sentence, size + weight
    if kept.strip():
        yield kept.strip()


def _sentences(paragraph: str) -> Iterator[str]:
    at = 0
    for sentence in sentences(paragraph):
        start = paragraph.index(sentence, at)
        end = start + len(sentence)
        whole = paragraph[at:end]  # with the white space before it
        at = end
        while rough_tokens(whole) > TOKENS:
            half = TOKENS if _WIDE.search(whole) else 4 * TOKENS
            space = whole.rfind(" ", half // 2, half)
            end = space if space > 0 else half
            yield whole[:end]
            whole = whole[end:]
        yield whole
