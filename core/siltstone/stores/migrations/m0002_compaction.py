"""Format 2: files shrink, and a store may be encrypted.

A segment of documents may be written anew without versions and notes: what has left it is dead, and ``pass`` in its
head counts the writings. A segment of vectors may be missing, its rows lying in a later one. Format 1 is the same
without that, so that nothing has to be changed; only its readers would go wrong.
"""

from __future__ import annotations

from typing import Final

from .step import Step

STEP: Final = Step(2, "files that compaction has written", readable=True)
