"""Folders that options name: refused before any work, if they cannot be made."""

from __future__ import annotations

from pathlib import Path

import typer


def made(folder: Path, option: str) -> Path:
    """Return the folder, made where it is not there; what has its place, or forbids it, is wrong usage."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise typer.BadParameter(f"{folder} cannot be a folder: {exc.strerror}", param_hint=option) from exc
    return folder
