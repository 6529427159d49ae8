"""Auditing the digests of an open memory, and taking in what a person said of them."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from ..engine import Engine
from ..errors import ConfigurationError, ReadOnlyError
from ..memory import TieredMemory
from ..protocols import Progress
from ..transfer.written import written
from .auditing import audit_digests
from .page.document import Language, render
from .values import Audit, VerdictReport
from .verdicts import note_verdicts, read_verdicts


def audit(
    memory: TieredMemory, *, sample: float = 0.1, seed: int = 0, judge: Any = None, progress: Progress | None = None
) -> Audit:
    """Draw digests of this user, put each item beside its sources, and check it. Nothing is changed.

    ``sample``   which share of the digests to draw, above 0 up to 1, rounded up; those that wait for a review
                 (``Settings.review_share``) come first
    ``seed``     the same one draws the same of the same
    ``judge``    a language model that says of each item whether its sources support it, named as ``summarizer`` in
                 ``TieredMemory.open``; it reads the sources. ``None``: none
    ``progress(done, total)``  counts the texts that are embedded, and then anew the digests that are judged

    Sources and items are embedded by the memory's own embedder, whatever that costs: one text for each sentence. Raises
    ``InvalidInputError``, ``ConfigurationError``, and what the embedder raises; a judge that fails fails for its digest
    alone, see ``Drawn.failure``.
    """
    engine = _engine(memory)
    return audit_digests(
        engine.store,
        memory.user_id,
        engine.embedder,
        sample=sample,
        seed=seed,
        now=engine.clock.now(),
        model=None if judge is None else engine.chat_model(judge),
        batch=engine.settings.embed_batch,
        progress=progress,
    )


def write_report(audit: Audit, path: str | os.PathLike[str], *, language: Language | None = None) -> None:
    """Write an audit as one HTML file to read and tick; ``language`` is ``en``, ``zh``, or that of the items.

    The file needs no other one and no network, and is readable by its owner alone. It holds memories in plain text,
    also where the store is encrypted, and is the user's own: ``forget`` does not reach it. Raises
    ``ConfigurationError`` for a path that cannot be, among them one inside the store's folder.
    """
    with written(path, inside=audit.location) as write:
        write(render(audit, language=language).encode())


def take_verdicts(memory: TieredMemory, path: str | os.PathLike[str], *, retract: bool = False) -> VerdictReport:
    """Note the verdicts that were saved from a report; return what became of them.

    An item that is wrong gets the flag ``wrong`` and stays, but is told in no context, nor is a summary that rests on
    it; ``search`` finds it. With ``retract`` it is forgotten with what rests on it, and is not made again. What else
    was made of its messages is made anew by the next ``consolidate``, and waits for a review again if it did. Of
    several verdicts on one item ``wrong`` counts before ``unsure``, and that before ``right``. A digest of which each
    item has a verdict has been reviewed.

    Raises ``NotFoundError`` and ``InvalidInputError`` for a file that cannot be read, or is about another user; then
    nothing is noted.
    """
    engine = _engine(memory)
    if engine.read_only:
        raise ReadOnlyError.opened(memory.location, "nothing was noted")
    report = note_verdicts(engine.store, memory.user_id, read_verdicts(path), now=engine.clock.now())
    if not retract or not report.wrong:
        return report
    return replace(report, forgotten=memory.forget(ids=report.wrong).records)


def _engine(memory: TieredMemory) -> Engine:
    engine = memory.handle
    if not isinstance(engine, Engine):
        raise ConfigurationError(f"{memory.location} is a service: run siltstone audit where its store is")
    return engine
