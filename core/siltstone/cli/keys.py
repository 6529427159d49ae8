"""Keys on the command line: never written there themselves, since others can read it; ``rekey``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigurationError
from .options import DEFAULT_STORE, AsJson, StoreAt
from .output import note, progress, write_json

_VARIABLE = "SILTSTONE_KEY"
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        metavar="FILE",
        envvar="SILTSTONE_KEY_FILE",
        help=f"The store's key, in place of ${_VARIABLE}: a passphrase, or base64:… or hex:… of 32 bytes.",
    ),
]


def use_key_file(path: Path | None) -> None:
    """Let the commands of this process open stores with the key in a file."""
    if path is not None:
        os.environ[_VARIABLE] = _read(path)


def rekey(
    new_key_file: Annotated[
        Path | None, typer.Option("--new-key-file", metavar="FILE", help="The new key; asked for if left out.")
    ] = None,
    data_keys: Annotated[
        bool, typer.Option("--data-keys", help="Encrypt everything anew, each user under another key.")
    ] = False,
    same_key: Annotated[bool, typer.Option("--same-key", help="Only with --data-keys: keep the store's key.")] = False,
    store: StoreAt = DEFAULT_STORE,
    as_json: AsJson = False,
) -> None:
    """Give an encrypted store another key.

    Without --data-keys one small file changes, and other processes go on. With it everything is written anew; backups
    from before cannot be read any more, and killed, it goes on when it is run again.

    \b
    siltstone rekey --new-key-file new.key
    """
    from ..upkeep import rekey

    if same_key and (new_key_file is not None or not data_keys):
        raise typer.BadParameter("--same-key goes with --data-keys, and without --new-key-file")
    key = None
    if not os.environ.get(_VARIABLE):
        key = typer.prompt("Present key", hide_input=True, err=True)
    new = None
    if not same_key:
        new = _read(new_key_file) if new_key_file is not None else _asked()
    with progress("users") as advance_to:
        report = rekey(store, key=key, new_key=new, data_keys=data_keys, progress=advance_to)
    if as_json:
        write_json(report)
        return
    if report.master_key:
        print("the store has the new key")
    if data_keys:
        print(f"{report.users} users have new keys")
        note("take a new backup: those from before cannot be read any more")


def _asked() -> str:
    return str(typer.prompt("New key", hide_input=True, confirmation_prompt=True, err=True))


def _read(path: Path) -> str:
    try:
        text = path.read_text("utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigurationError(f"no key can be read from {path}: {exc}; nothing was opened") from exc
    if not text:
        raise ConfigurationError(f"{path} is empty: nothing was opened")
    return text
