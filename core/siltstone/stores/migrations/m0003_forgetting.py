"""Format 3: what is forgotten is hidden before it is known what goes with it.

The note ``f`` hides items until the ``x`` of the same removal follows. Format 2 is the same without that, so that
nothing has to be changed; only its readers would go wrong: they would show the items again.
"""

from __future__ import annotations

from typing import Final

from .step import Step

STEP: Final = Step(3, "items that are hidden while it is looked for what rests on them", readable=True)
