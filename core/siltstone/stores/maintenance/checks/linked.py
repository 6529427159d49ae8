"""Symbolic links in a store: where each leads, and what it keeps from being done."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from ....reports import Finding, Severity
from ...files import disk, links
from ...files.storefile import KEYS

_WORDS: Final = "words that are forgotten would stay there, so that nothing is written to this user"


def check_links(root: str) -> Iterator[Finding]:
    """Yield what is said of each link."""
    theirs = list(dict.fromkeys(links.of_users(root)))
    for path in theirs:
        yield _of_user(root, path)
    for folder, folders, names in disk.walk(root):
        for path in (os.path.join(folder, name) for name in (*folders, *names)):
            if path not in theirs and disk.is_link(path):
                yield _elsewhere(root, path)


def _of_user(root: str, path: str) -> Finding:
    if disk.is_folder(path):
        return _found(root, path, "cosmetic", "a restore would leave what lies there, and refuses")
    if links.is_passing(path):
        return _found(root, path, "exposed", _WORDS, "removes the link; what it led to is yours to delete")
    if disk.exists(path):
        repair = "puts a copy in its place; what it led to is yours to delete, unless it is another store's"
        return _found(root, path, "exposed", _WORDS, repair)
    if links.is_recomputable(path):
        return _found(root, path, "recomputable", "there is nothing", "removes the link: vectors are made anew")
    return _found(root, path, "lost", "there is nothing: bring it back, or restore from a backup")


def _elsewhere(root: str, path: str) -> Finding:
    if os.path.relpath(path, root).startswith(KEYS + os.sep):
        return _found(root, path, "exposed", "a key that is destroyed would stay there: move it into its place")
    return _found(root, path, "cosmetic", "what replaces it takes its place, and leaves that file as it is")


def _found(root: str, path: str, severity: Severity, why: str, repair: str = "") -> Finding:
    what = f"it is a symbolic link to {os.readlink(path)}: {why}"
    return Finding(severity, os.path.relpath(path, root), what, repair)
