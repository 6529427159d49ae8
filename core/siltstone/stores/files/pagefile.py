"""Small pages of JSON beside ``STORE``, each replaced as a whole, with the store's lock held.

``USAGE``: what language models were used for lately, in numbers. It may go, or be damaged, at no more cost than that
the budget of the day begins anew. ``OWED``: whose copies in a short-term tier elsewhere are still to be removed. Were
it damaged, everybody's would be.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any, Final

import orjson

from ...protocols import EVERYBODY
from . import disk
from .disk import File

logger = logging.getLogger("siltstone")

USAGE: Final = "USAGE"
OWED: Final = "OWED"


def usage(root: str) -> Mapping[str, Any]:
    """Return what ``USAGE`` says; nothing where there is none."""
    page = _read(root, USAGE)
    if page is None:
        path = os.path.join(root, USAGE)
        logger.warning("%s is damaged: the budget of the day for language models begins anew", path)
    return page or {}


def owed(root: str) -> Mapping[str, Any]:
    """Return what ``OWED`` says; nothing where there is none."""
    page = _read(root, OWED)
    if page is None:
        path = os.path.join(root, OWED)
        logger.warning("%s is damaged: all copies of recent turns elsewhere are to be removed", path)
        return {EVERYBODY: EVERYBODY}
    return page


def write(root: str, name: str, page: Mapping[str, Any]) -> None:
    """Replace a page. Needs the store's lock."""
    disk.replace(os.path.join(root, name), orjson.dumps(page))


def _read(root: str, name: str) -> dict[str, Any] | None:
    """Return a page: an empty one where there is none, ``None`` for one that is damaged."""
    try:
        file = File(os.path.join(root, name))
    except FileNotFoundError:
        return {}
    try:
        page = orjson.loads(file.read(0, file.size))
    except orjson.JSONDecodeError:
        return None
    finally:
        file.close()
    return page if isinstance(page, dict) else None
