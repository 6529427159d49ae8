"""Keys on the command line: never written there themselves, since others can read it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigurationError

VARIABLE = "SILTSTONE_KEY"
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        envvar="SILTSTONE_KEY_FILE",
        help=f"The store's key, in place of ${VARIABLE}: a passphrase, or base64:… or hex:… of 32 bytes.",
    ),
]


def use_key_file(path: Path | None) -> None:
    """Let the commands of this process open stores with the key in a file."""
    if path is not None:
        os.environ[VARIABLE] = read_key(path)


def read_key(path: Path) -> str:
    """Return the key in a file; a line end at its end is not part of it."""
    try:
        text = path.read_text("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise ConfigurationError(
            f"{path} holds bytes that are no text: nothing was opened; for a key of 32 bytes write base64:… into "
            "the file (the bytes in base64), or hex:…"
        ) from None
    except OSError as exc:
        raise ConfigurationError(f"no key can be read from {path}: {exc}; nothing was opened") from exc
    if not text:
        raise ConfigurationError(f"{path} is empty: nothing was opened")
    return text
