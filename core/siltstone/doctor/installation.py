"""The installation: Python, the packages that siltstone needs, the extras that it knows."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from importlib import metadata
from typing import Final

from .._version import __version__
from .check import Check, hint, ok, wrong

_REQUIREMENT: Final = re.compile(r"^([A-Za-z0-9._-]+)[^;]*(?:;(.*))?$")
_EXTRA: Final = re.compile(r"""extra\s*==\s*['"]([\w-]+)['"]""")
_NO_FEATURES: Final = frozenset(("all", "dev"))


def installation() -> Iterator[Check]:
    """Yield what is installed, and what is missing of it."""
    yield ok(
        "python", f"siltstone {__version__}, Python {platform.python_version()} on {platform.platform(terse=True)}"
    )
    try:
        needed, extras = requirements()
    except metadata.PackageNotFoundError:
        yield hint("packages", "siltstone runs from its source, and is not installed", "pip install .")
        return
    missing = sorted(package for package in needed if not _is_there(package))
    if missing:
        names = ", ".join(missing)
        yield wrong("packages", f"missing: {names}", f"pip install {' '.join(missing)}")
    else:
        yield ok("packages", f"all {len(needed)} that are needed")
    there = sorted(name for name, packages in extras.items() if all(map(_is_there, packages)))
    absent = sorted(extras.keys() - set(there))
    told = f"installed: {', '.join(there) or 'none'}"
    yield ok("extras", f'{told}; pip install "siltstone[NAME]" adds {", ".join(absent)}' if absent else told)


def requirements() -> tuple[set[str], dict[str, set[str]]]:
    """Return the packages that siltstone needs here, and those of each extra."""
    needed: set[str] = set()
    extras: dict[str, set[str]] = {}
    for line in metadata.requires("siltstone") or ():
        found = _REQUIREMENT.match(line)
        if found is None:
            continue
        package, marker = found[1].lower(), found[2] or ""
        extra = _EXTRA.search(marker)
        if extra is None and not marker:
            needed.add(package)
        elif extra is not None and extra[1] not in _NO_FEATURES and package != "siltstone":
            extras.setdefault(extra[1], set()).add(package)
    return needed, extras


def _is_there(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True
