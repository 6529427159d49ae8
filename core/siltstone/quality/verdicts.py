"""What a person said of the items of a report: read back from its file, and noted in the store."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from ..errors import ConflictError, InvalidInputError, NotFoundError
from ..lifecycle.reviews import VERDICTS, Review, review_of
from ..protocols import Put, Store
from ..records import WRONG, Record, replace, unique
from .drawing import Known, digests, items_of
from .values import VerdictReport, text_mark

FORMAT: Final = "siltstone-verdicts"
VERSION: Final = 1
_CAREFUL: Final = ("wrong", "unsure", "right")
"""Of several verdicts on one item the first of these counts."""
_ATTEMPTS: Final = 20


@dataclass(frozen=True)
class Given:
    """One verdict: on an item of a digest, while its text was still the one of ``mark``."""

    digest: str
    item: str
    mark: str
    verdict: str


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of one report, on digests of one user."""

    user_id: str
    given: tuple[Given, ...]


def read_verdicts(path: str | os.PathLike[str]) -> Verdicts:
    """Return the verdicts in a file that the report saved. Raises ``NotFoundError`` and ``InvalidInputError``."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as exc:
        raise NotFoundError(f"{path} cannot be read: {exc.strerror}; nothing was noted") from exc
    except ValueError as exc:
        raise InvalidInputError(f"{path} holds no verdicts: it is not JSON; nothing was noted") from exc
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidInputError(f"{path} holds no verdicts: save them with the button of the report; nothing was noted")
    if document.get("version") != VERSION:
        raise InvalidInputError(f"{path} was saved by a report of another release; nothing was noted: make a new one")
    rows = document.get("verdicts")
    user_id = document.get("user_id")
    if not isinstance(rows, list) or not isinstance(user_id, str):
        raise InvalidInputError(f"{path} holds no verdicts that can be read; nothing was noted")
    return Verdicts(user_id, tuple(_given(path, row) for row in rows))


def _given(path: str | os.PathLike[str], row: Any) -> Given:
    known = row if isinstance(row, dict) else {}
    parts = [part for name in ("digest", "item", "mark", "verdict") if isinstance(part := known.get(name), str)]
    if len(parts) < 4 or parts[3] not in VERDICTS:
        raise InvalidInputError(f"{path} holds something that is no verdict: {row!r}; nothing was noted")
    return Given(*parts)


def note_verdicts(store: Store, user_id: str, verdicts: Verdicts, *, now: datetime) -> VerdictReport:
    """Note what a person said: in the reviews of digests, and on the records as the flag ``wrong``.

    A digest each of whose items has a verdict leaves the queue; one that has been begun waits in it. An item whose text
    has changed since the report is left as it is. Noting the same twice changes nothing. Of several verdicts on one
    item, which may rest on the messages of two digests, ``wrong`` counts before ``unsure``, and that before ``right``.

    Raises ``InvalidInputError`` where the verdicts are on memories of somebody else.
    """
    if verdicts.user_id != user_id:
        raise InvalidInputError(
            f"these verdicts are on memories of user {verdicts.user_id!r}, not of {user_id!r}: nothing was noted; "
            "take them into that user's memory (--user)"
        )
    known = digests(store, user_id)
    by_digest: dict[str, list[Given]] = {}
    settled, several = _settled(verdicts.given)
    for one in settled:
        by_digest.setdefault(one.digest, []).append(one)
    counted: list[Given] = []
    outdated: list[str] = []
    reviewed = 0
    for id, given in by_digest.items():
        if id not in known:
            outdated += [one.item for one in given]
            continue
        valid, done = _note(store, user_id, known[id], given, now)
        counted += valid
        outdated += [one.item for one in given if one not in valid]
        reviewed += done
    said = {one.item: one.verdict for one in counted}
    contradicted = unique(one.item for one in counted if (one.item, one.mark) in several)
    items = {verdict: tuple(item for item, its in said.items() if its == verdict) for verdict in VERDICTS}
    return VerdictReport(
        items["right"], items["wrong"], items["unsure"], reviewed, unique(outdated), contradicted=contradicted
    )


def _settled(given: Sequence[Given]) -> tuple[list[Given], set[tuple[str, str]]]:
    """Return the verdicts with one for each item, and the items, as they were read, that had several."""
    said: dict[tuple[str, str], set[str]] = {}
    for one in given:
        said.setdefault((one.item, one.mark), set()).add(one.verdict)
    careful = {item: next(one for one in _CAREFUL if one in verdicts) for item, verdicts in said.items()}
    settled = [dataclasses.replace(one, verdict=careful[one.item, one.mark]) for one in given]
    return settled, {item for item, verdicts in said.items() if len(verdicts) > 1}


def _note(store: Store, user_id: str, digest: Known, given: Sequence[Given], now: datetime) -> tuple[list[Given], bool]:
    """Note the verdicts on one digest; return those that still fit, and whether it has been reviewed."""
    for attempt in range(_ATTEMPTS):
        items = {record.id: record for record in items_of(store, user_id, digest)}
        valid = [one for one in given if one.item in items and text_mark(items[one.item].text) == one.mark]
        before = review_of(store, user_id, digest.id)
        review = before or Review(digest.id, digest.session_id, digest.source_ids)
        said = {id: verdict for id, verdict in review.verdicts.items() if id in items}
        said |= {one.item: one.verdict for one in valid}
        done = items.keys() <= said.keys()
        puts, expect = _changes(items, said, now)
        if before is None or (before.done, dict(before.verdicts)) != (done, said):
            changed = Review(review.id, review.session_id, review.source_ids, done, said, review.version)
            puts = [*puts, changed.put(user_id, now)]
            expect[review.id] = review.version
        if not valid or not puts:
            return valid, done and bool(valid)
        try:
            store.commit(user_id, puts, expect=expect)
        except ConflictError:
            if attempt == _ATTEMPTS - 1:
                raise
        else:
            return valid, done
    raise AssertionError("unreachable")


def _changes(items: Mapping[str, Record], said: Mapping[str, str], now: datetime) -> tuple[list[Put], dict[str, int]]:
    """Return what writes the flag of the items that were found to be wrong, and takes it from those that were not."""
    changed: list[Record] = []
    for id, verdict in said.items():
        record = items[id]
        flags = [flag for flag in record.flags if flag != WRONG] + [WRONG] * (verdict == "wrong")
        if set(flags) != set(record.flags):
            changed.append(replace(record, flags=tuple(flags), version=record.version + 1, updated_at=now))
    return [Put(record) for record in changed], {record.id: record.version - 1 for record in changed}
