"""Reading benchmark files, with one sentence for what is missing or of another shape."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import InvalidInputError, NotFoundError


@contextmanager
def read_json(path: str | Path, what: str) -> Iterator[Any]:
    """Give the parsed file to the block; whatever in it turns out to be misshapen is ``InvalidInputError``."""
    text = _text(path, what)
    with _shaped(path, what):
        yield json.loads(text)


@contextmanager
def read_lines(path: str | Path, what: str) -> Iterator[list[str]]:
    """Give the file's lines to the block, with the same errors."""
    text = _text(path, what)
    with _shaped(path, what):
        yield text.split("\n")


def _text(path: str | Path, what: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as exc:
        raise NotFoundError(f"{path} cannot be read as {what}: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise InvalidInputError(f"{path} is not {what}: it is not UTF-8 text") from exc


@contextmanager
def _shaped(path: str | Path, what: str) -> Iterator[None]:
    try:
        yield
    except InvalidInputError:
        raise
    except KeyError as exc:
        raise InvalidInputError(f"{path} is not {what}: {exc.args[0]!r} is missing") from exc
    except (ValueError, TypeError, AttributeError, IndexError) as exc:
        raise InvalidInputError(f"{path} is not {what}: {exc}") from exc
