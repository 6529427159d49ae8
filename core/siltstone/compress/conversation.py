"""The conversation with the model that makes a digest, as a generator: it yields requests and is sent the answers.

No I/O happens here, so one driver can be synchronous and another not, and both say the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from ..errors import InvalidInputError, ModelError
from ..protocols import TokenCounter
from ..records import Digest, DigestItem, Message, unique
from ..text.keys import date_words
from ..text.language import script
from ..text.sentences import cut, sentences
from .digest import LISTS, SCHEMA, SUMMARY_SCHEMA, DigestError, parse_digest, parse_summary
from .prompts import Prompts, digest_request, merge_request, prompts_for, repeat_request
from .speech import Utterance, in_chinese
from .support import check, check_summary

T = TypeVar("T")

MARGIN: Final = 400
"""Tokens of the window kept for chat templates, the schema, and a failed answer shown again."""

SHOWN: Final = 600
"""Characters of a failed answer that are shown to the model again."""


@dataclass(frozen=True)
class Ask:
    """A request to the model: what to send, the schema of the answer, and how long it may be."""

    messages: tuple[Message, ...]
    schema: Mapping[str, Any]
    max_tokens: int


Conversation: TypeAlias = Generator[Ask, str, T]


@dataclass(frozen=True)
class Terms:
    """What a conversation with a model keeps to: who it is with, its window, and how often it may fail."""

    made_by: str
    counter: TokenCounter
    window: int
    retries: int

    @property
    def answer(self) -> int:
        """How many tokens an answer may have: a quarter of the window, at most 1,024."""
        return min(self.window // 4, 1024)


def digesting(said: Sequence[Utterance], budget: int, agreed: Terms) -> Conversation[Digest]:
    """Yield requests, take answers, and return the digest of what was said.

    ``budget`` is how many tokens the summary may have. A span that exceeds the window is digested in chunks, whose
    items are joined and whose summaries the model is asked to join. Throw ``ModelError`` into it where the model
    failed. Raises ``DigestError`` when the retries are used up.
    """
    prompts = prompts_for(in_chinese(said))
    chunks = chunked(said, prompts, agreed)
    share = max(budget // len(chunks), 1)
    digests = []
    read = _reader(said, agreed.made_by)
    for lines in chunks:
        request = digest_request(prompts, lines, _words(share))
        digests.append((yield from _until_usable(request, SCHEMA, prompts, read, _both, agreed)))
    joined = _join(digests)
    if len(digests) > 1 and agreed.counter.count(joined.summary) > budget:
        request = merge_request(prompts, [one.summary for one in digests], _words(budget))
        if sum(agreed.counter.count(message.content) for message in request) < agreed.window - agreed.answer - MARGIN:
            try:
                merged = yield from _until_usable(
                    request, SUMMARY_SCHEMA, prompts, _read_merged(said), lambda new, old: new, agreed
                )
                joined = dataclasses.replace(joined, summary=merged)
            except DigestError:  # the parts are good: their beginning is a better summary than none, and is marked
                joined = dataclasses.replace(joined, flags=unique([*joined.flags, "unmerged"]))
    return dataclasses.replace(joined, summary=cut(joined.summary, budget, agreed.counter))


def chunked(said: Sequence[Utterance], prompts: Prompts, agreed: Terms) -> list[list[str]]:
    """Return the labelled lines in chunks that fit the window.

    A message longer than a chunk is cut at sentence ends; each piece keeps its label. Raises ``InvalidInputError``
    for a window too small for the prompt.
    """
    count = agreed.counter.count
    room = agreed.window - agreed.answer - MARGIN - count(prompts.digest)
    if room < 64:
        raise InvalidInputError(
            f"a window of {agreed.window} tokens leaves no room for a conversation; nothing was changed; "
            "give window= the context length of the model, at least 1536"
        )
    chunks: list[list[str]] = []
    used = room + 1
    for number, utterance in enumerate(said):
        for line in _lines(number, utterance, room, agreed.counter):
            cost = count(line) + 1
            if used + cost > room:
                chunks.append([])
                used = 0
            chunks[-1].append(line)
            used += cost
    return chunks


def _lines(number: int, utterance: Utterance, room: int, counter: TokenCounter) -> Iterator[str]:
    day = utterance.message.created_at
    head = f"[m{number + 1}] {f'({day:%Y-%m-%d %A}) ' if day else ''}{utterance.speaker}: "
    text = " ".join(utterance.text.split())
    space = max(room - counter.count(head) - 8, 16)
    if counter.count(text) <= space:
        yield head + text
        return
    piece = ""
    for sentence in _short_sentences(text, space, counter):
        if piece and counter.count(f"{piece} {sentence}") > space:
            yield head + piece
            piece = ""
        piece = f"{piece} {sentence}".strip()
    yield head + piece


def _short_sentences(text: str, space: int, counter: TokenCounter) -> Iterator[str]:
    """Yield sentences, those longer than a chunk in equal parts of characters: better cut than left out."""
    for sentence in sentences(text):
        parts = -(-counter.count(sentence) // space)
        size = -(-len(sentence) // (parts if parts == 1 else parts * 2))
        yield from (sentence[start : start + size] for start in range(0, len(sentence), size))


def _until_usable(
    request: list[Message],
    schema: Mapping[str, Any],
    prompts: Prompts,
    read: Callable[[str], tuple[T, str]],
    both: Callable[[T, T], T],
    agreed: Terms,
) -> Conversation[T]:
    """Ask until an answer can be used without complaint, else return what could be used, else raise.

    ``both`` joins a newer answer with the usable part of earlier ones: each has been checked, so none is thrown away.
    """
    messages, salvage, failure = request, tuple[T, ...](), DigestError("the model was not asked")
    for _ in range(agreed.retries + 1):
        try:
            answer = yield Ask(tuple(messages), schema, agreed.answer)
        except ModelError as exc:
            failure, messages = DigestError(f"the model failed: {exc}").quoting(exc.quoted), request
            continue
        try:
            usable, complaint = read(answer)
        except DigestError as exc:
            failure, complaint = exc, str(exc)
        else:
            usable = both(usable, salvage[0]) if salvage else usable
            if not complaint:
                return usable
            salvage = (usable,)
        messages = repeat_request(prompts, request, answer[:SHOWN], complaint)
    if salvage:
        return salvage[0]
    raise failure


def _reader(said: Sequence[Utterance], made_by: str) -> Callable[[str], tuple[Digest, str]]:
    chinese = in_chinese(said)
    known = _known(said)

    def read(answer: str) -> tuple[Digest, str]:
        written = parse_digest(answer, made_by=made_by)
        if written.summary and (script(written.summary) == "han") != chinese:
            raise DigestError(f"the summary is not in {'Chinese' if chinese else 'English'}", answer)
        digest = check_summary(check(written, said, known=known), said, known=known)
        if not digest.summary and not _has_items(digest):
            raise DigestError("nothing in it is supported by the conversation", answer)
        amiss = [*digest.flags, *("invented",) * (_has_items(written) and not _has_items(digest))]
        return digest, ", ".join(_COMPLAINTS[one] for one in amiss)

    return read


_COMPLAINTS: Final = {
    "truncated": "it broke off before its end: be shorter",
    "incomplete": "fields are missing: topic, summary, facts, preferences and events are all required",
    "invented": "the conversation says none of its facts, preferences and events: use its words",
}


def _has_items(digest: Digest) -> bool:
    return any(getattr(digest, name) for name in LISTS)


def _read_merged(said: Sequence[Utterance]) -> Callable[[str], tuple[str, str]]:
    known = _known(said)

    def read(answer: str) -> tuple[str, str]:
        digest = check_summary(Digest("", parse_summary(answer)), said, known=known)
        if not digest.summary:
            raise DigestError("the summary says what the conversation does not", answer)
        return digest.summary, ""

    return read


def _known(said: Sequence[Utterance]) -> list[str]:
    """Return words that an item may use although no message says them: speakers, and the days of the messages."""
    days = {one.message.created_at.date(): one.message.created_at for one in said if one.message.created_at}
    words = [f"{date_words(day, chinese=False)} {date_words(day, chinese=True)} {day:%A}" for day in days.values()]
    return [*dict.fromkeys(one.speaker for one in said), *words]


def _join(digests: Sequence[Digest]) -> Digest:
    if len(digests) == 1:
        return digests[0]
    facts, preferences, events = (_distinct(getattr(one, name) for one in digests) for name in LISTS)
    return dataclasses.replace(
        digests[0],
        topic=next((one.topic for one in digests if one.topic), ""),
        summary="\n".join(one.summary for one in digests if one.summary),
        facts=facts,
        preferences=preferences,
        events=events,
        flags=unique(flag for one in digests for flag in one.flags),
        dropped=sum(one.dropped for one in digests),
    )


def _both(new: Digest, old: Digest) -> Digest:
    joined = _join([new, old])
    return dataclasses.replace(joined, summary=new.summary or old.summary, flags=new.flags)


def _distinct(lists: Iterable[Sequence[DigestItem]]) -> tuple[DigestItem, ...]:
    first: dict[str, DigestItem] = {}
    for items in lists:
        for item in items:
            first.setdefault(item.text, item)
    return tuple(first.values())


def _words(tokens: int) -> int:
    """Return the length to ask for: models overshoot, and a word is about 1.3 tokens."""
    return max(tokens * 2 // 3, 12)
