"""What of a user's files is dead weight: decided here, taken out by ``rewriting``.

Dead are versions that no history shows, notes that have been read, and removals that are finished, except for the
hashes of what is refused, which are joined into one frame per segment, and for word that what another segment tells of
has been carried out. The last frame of a segment always stays: it keeps numbers from being given twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Final

import orjson

from .files import notes
from .files.frames import Frame
from .files.notes import Embedded, Finished, Meant, Removal

_LEAST: Final = 1 << 20
"""Dead bytes for which a segment is not yet written anew."""


def is_due(dead: int, whole: int) -> bool:
    """Return whether so much dead weight, in bytes, is worth the rewriting of the whole: from half of it on."""
    return dead >= _LEAST and 2 * dead >= whole


def is_cheap(dead: int, whole: int) -> bool:
    """Return whether a segment in which something is forgotten is written anew for it: from a sixteenth dead on.

    So what is forgotten costs no more than sixteen times its bytes, and the files stay as small as what is in them.
    """
    return 16 * dead >= whole


def revised(frames: Iterable[Frame], items: Set[int], outdated: Set[int]) -> dict[int, bytes | None]:
    """Return what becomes of the frames of a segment that do not stay as they are: another document, or none at all.

    ``items`` numbers the frames that are known to hold items, ``outdated`` those among them that no history shows.
    Every removal in here must be finished.
    """
    changes: dict[int, bytes | None] = dict.fromkeys(outdated)
    removals: list[int] = []
    meant: set[int] = set()
    carried_out: dict[int, int] = {}
    refused: dict[str, None] = {}
    finished: dict[int, int] = {}
    last = 0
    for found in frames:
        last = found.number
        if not last or last in items:
            continue
        note = notes.unpack(orjson.loads(found.document))
        if isinstance(note, Removal):
            removals.append(last)
            refused.update(dict.fromkeys(note.hashes))
            if note.meant is not None:
                carried_out[last] = note.meant
        elif isinstance(note, Finished):
            finished[last] = note.removal
        elif isinstance(note, Meant | Embedded):
            changes[last] = None
            if isinstance(note, Meant):
                meant.add(last)
    changes |= {number: None for number, removal in finished.items() if removal in removals}
    changes |= dict.fromkeys(removals)
    elsewhere = {number: told for number, told in carried_out.items() if told not in meant}
    changes |= {number: notes.pack(Removal(meant=told)) for number, told in elsewhere.items()}
    if refused:
        changes[removals[-1]] = notes.pack(Removal(hashes=list(refused), meant=elsewhere.get(removals[-1])))
    if changes.get(last, b"") is None:
        del changes[last]
    return changes
