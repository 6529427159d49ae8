"""An audit of digests: drawn, put beside their sources, and checked. It reads, and changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from ..compress.speech import Utterance, utterances
from ..errors import BackendUnavailableError, InvalidInputError, ModelError
from ..lifecycle.reviews import reviews
from ..protocols import ChatModel, Embedder, Progress, Store
from ..records import Message
from ..text.sentences import sentences
from .checks import Checked, Item, check
from .drawing import Known, digests, draw, items_of, messages_of
from .judge import judge
from .nearness import nearness
from .values import Audit, Drawn, Entry

_FRAGMENTS: Final = re.compile("[;；]")
"""Stand between what a summary joins of several messages."""


def audit_digests(
    store: Store,
    user_id: str,
    embedder: Embedder,
    *,
    sample: float,
    seed: int,
    now: datetime,
    model: ChatModel | None = None,
    batch: int = 32,
    progress: Progress | None = None,
) -> Audit:
    """Draw a share of a user's digests and check them; ``model`` judges them, too, one request for each digest.

    ``progress(done, total)`` counts the texts that are embedded, and then anew the digests that are judged.
    A model that fails fails for its digest alone, and ``Drawn.failure`` says why. Raises ``InvalidInputError`` for a
    share that is none, and what the embedder raises.
    """
    check_sample(sample)
    known = digests(store, user_id)
    noted = {review.id: review for review in reviews(store, user_id) if review.id in known}
    waiting = [id for id, review in noted.items() if not review.done]
    done = {id for id, review in noted.items() if review.done}
    chosen = draw(list(known), waiting, done, sample=sample, seed=seed)
    drawn = [
        _beside(store, user_id, known[id], queued=id in waiting, verdicts=noted[id].verdicts if id in noted else {})
        for id in chosen
    ]
    drawn = _checked(drawn, embedder, batch, progress)
    if model is not None:
        for place, one in enumerate(drawn):
            drawn[place] = _judged(one, model)
            if progress is not None:
                progress(place + 1, len(drawn))
    return Audit(
        user_id=user_id,
        location=store.location,
        made_at=now,
        digests=tuple(drawn),
        total=len(known),
        waiting=sum(id not in chosen for id in waiting),
        embedder=embedder.name,
        judge=None if model is None else model.name,
    )


def check_sample(sample: float) -> None:
    """Raise ``InvalidInputError`` for a share of digests that is none."""
    if not 0 < sample <= 1:
        raise InvalidInputError(f"a sample is a share between 0 and 1, not {sample!r}: nothing was drawn")


def _beside(store: Store, user_id: str, digest: Known, *, queued: bool, verdicts: Mapping[str, str]) -> Drawn:
    """Return a digest with each of its items beside its sources, unchecked."""
    records = items_of(store, user_id, digest)
    wanted = list(dict.fromkeys(id for record in records for id in record.source_ids))
    messages = messages_of(store, user_id, wanted)
    entries = tuple(
        Entry(
            record,
            tuple(messages[id] for id in record.source_ids if id in messages),
            Checked(0.0, None, ()),
            verdict=verdicts.get(record.id),
        )
        for record in records
    )
    return Drawn(digest.id, digest.session_id, queued, entries)


def _checked(drawn: Sequence[Drawn], embedder: Embedder, batch: int, progress: Progress | None) -> list[Drawn]:
    """Return the digests with their items checked; everything is embedded together."""
    parts = [list(_parts(entry, digest)) for digest in drawn for entry in digest.entries]
    texts = [(item.text, [source.text for source in item.sources]) for part in parts for item in part]
    near = iter(nearness(texts, embedder, batch=batch, progress=progress) if texts else [])
    found = iter([_together([check(item, next(near)) for item in part]) for part in parts])
    return [
        replace(digest, entries=tuple(replace(entry, checked=next(found)) for entry in digest.entries))
        for digest in drawn
    ]


def _parts(entry: Entry, digest: Drawn) -> Iterator[Item]:
    """Yield what of an entry is checked for itself: a statement, or each fragment of a summary."""
    sources = tuple(_said(entry.sources))
    around = tuple(_said([message for one in digest.entries for message in one.sources]))
    if entry.record.kind != "summary":
        yield Item(entry.record.text, sources, entry.record.occurred_at, around)
        return
    speakers = {source.speaker for source in sources}
    for line in entry.record.text.splitlines():
        speaker, colon, rest = line.partition(": ")
        for sentence in sentences(rest if colon and speaker in speakers else line):
            for fragment in filter(None, map(str.strip, _FRAGMENTS.split(sentence))):
                yield Item(fragment, sources, None, around)


def _said(messages: Sequence[Message]) -> list[Utterance]:
    return utterances(list({message.id: message for message in messages}.values()))


def _together(parts: Sequence[Checked]) -> Checked:
    """Return what was found of all parts of an item: the worst, and every flag."""
    if not parts:
        return Checked(0.0, None, ("no source",))
    meanings = [part.meaning for part in parts if part.meaning is not None]
    return Checked(
        min(part.words for part in parts),
        min(meanings, default=None),
        tuple(dict.fromkeys(flag for part in parts for flag in part.flags)),
        tuple(dict.fromkeys(word for part in parts for word in part.missing)),
    )


def _judged(digest: Drawn, model: ChatModel) -> Drawn:
    asked = [entry for entry in digest.entries if entry.sources]
    if not asked:
        return digest
    try:
        said = judge(model, [(entry.record, entry.sources) for entry in asked])
    except (ModelError, BackendUnavailableError) as exc:
        return replace(digest, failure=str(exc))
    by_id = {entry.record.id: judgement for entry, judgement in zip(asked, said, strict=True)}
    return replace(digest, entries=tuple(replace(entry, judged=by_id.get(entry.record.id)) for entry in digest.entries))
