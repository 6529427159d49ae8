"""``USAGE``: what language models were used for lately, in numbers; replaced as a whole, with the store's lock held.

It may go, or be damaged, at no more cost than that the budget of the day begins anew.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any, Final

import orjson

from . import disk
from .disk import File

logger = logging.getLogger("siltstone")

NAME: Final = "USAGE"


def read(root: str) -> Mapping[str, Any]:
    """Return what the file says; nothing where there is none."""
    path = os.path.join(root, NAME)
    try:
        file = File(path)
    except FileNotFoundError:
        return {}
    try:
        page = orjson.loads(file.read(0, file.size))
    except orjson.JSONDecodeError:
        page = None
    finally:
        file.close()
    if not isinstance(page, dict):
        logger.warning("%s is damaged: the budget of the day for language models begins anew", path)
        return {}
    return page


def write(root: str, page: Mapping[str, Any]) -> None:
    """Replace the file. Needs the store's lock."""
    disk.replace(os.path.join(root, NAME), orjson.dumps(page))
