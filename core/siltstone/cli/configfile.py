"""The file of settings, ``siltstone.toml``: where it lies, what may stand in it, what each line of it means.

Its names are those of the environment, small and without ``SILTSTONE_``: ``requests_per_day = 500``. It knows the
options of all commands that have a variable, and all of ``Settings``; a name that it does not know is an error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Final, get_type_hints

import typer

from ..errors import ConfigurationError
from ..settings import Settings

NAME: Final = "siltstone.toml"
PREFIX: Final = "SILTSTONE_"
_PLACES: Final = frozenset(("FOLDER", "FILE", "DIR"))
_SECRETS: Final = frozenset(("key", "api_key", "token", "password", "secret"))
_ELSEWHERE: Final = frozenset(("config", "set", "vector_store"))
"""Variables that a file has no line for."""


@dataclass(frozen=True)
class Given:
    """What was given to this run beside variables: the ``values`` of a file, with its ``path``, and ``--set``."""

    path: Path | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    flags: Mapping[str, str] = field(default_factory=dict)


_given: ContextVar[Given | None] = ContextVar("given", default=None)


def given() -> Given:
    """Return what was given to this run."""
    return _given.get() or Given()


def use_config(ctx: typer.Context, path: Path | None) -> Path | None:
    """Read the file of settings, named or found, and let the commands have what it says as their defaults."""
    if ctx.resilient_parsing:  # completion: nothing is to be said
        return path
    found = path or _found()
    _given.set(Given())
    if found is None:
        return path
    options = dict(_options(ctx.command))
    known = [*(name for name in options if name not in _ELSEWHERE), *get_type_hints(Settings)]
    values = read(found, known)
    for name, places in options.items():
        if name in values:
            values[name] = _value(found, name, values[name], place=any(place for _, _, place in places))
    ctx.default_map = _defaults(options, values)
    _given.set(Given(found, values))
    return path


ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        envvar="SILTSTONE_CONFIG",
        is_eager=True,
        callback=use_config,
        help=f"File of settings; ./{NAME}, or the user's own, if left out.",
    ),
]


def use_flags(pairs: Collection[str] | None) -> None:
    """Let ``NAME=VALUE`` pairs stand before variables and file."""
    flags: dict[str, str] = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or name not in get_type_hints(Settings) or name == "headings":
            told = f"{pair!r} is not NAME=VALUE" if not equals else unknown(name, get_type_hints(Settings))
            raise typer.BadParameter(told, param_hint="--set")
        flags[name] = value.strip()
    present = given()
    _given.set(Given(present.path, present.values, flags))


def read(path: Path, known: Collection[str]) -> dict[str, Any]:
    """Return what a file says, by name. Raises ``ConfigurationError`` for one that cannot be read or means nothing."""
    try:
        values = _toml(path.read_bytes().decode("utf-8"))
    except OSError as exc:
        raise ConfigurationError(f"no settings can be read from {path}: {exc.strerror}; nothing was opened") from exc
    except ValueError as exc:  # no UTF-8, no TOML
        raise ConfigurationError(f"{path} is no TOML: {exc}; nothing was opened") from exc
    for name in values:
        if name in _SECRETS:
            raise ConfigurationError(
                f"{path}: {name} is a secret, and this file is none: nothing was opened; use key_file, or the variable "
                f"{PREFIX}{name.upper()}"
            )
        if name not in known:
            raise ConfigurationError(f"{path}: {unknown(name, known)}; nothing was opened")
    return values


def unknown(name: str, known: Collection[str]) -> str:
    """Return what is to be said of a name that is none, with the nearest ones that are."""
    near = get_close_matches(name.lower().replace("-", "_"), known, 2)
    hint = f"did you mean {' or '.join(near)}?" if near else "siltstone config show lists all"
    return f"{name!r} is no setting; {hint}"


def own_file() -> Path:
    """Return where a user's own file of settings lies, whether there is one or not."""
    return Path(typer.get_app_dir("siltstone")) / NAME


def _found() -> Path | None:
    """Return the file of settings in this folder, or else the user's own, if there is any."""
    here = Path(NAME)
    if here.is_file():
        _check_owner(here)
        return here
    own = own_file()
    return own if own.is_file() else None


def _check_owner(path: Path) -> None:
    """Raise ``ConfigurationError`` for a file that another user may have put there: it can name other models."""
    status = path.stat()
    if status.st_uid not in (os.getuid(), 0) or status.st_mode & 0o002:
        raise ConfigurationError(
            f"{path.resolve()} can be written by others, and is not read unasked; nothing was opened: "
            f"pass --config {NAME} if you trust it"
        )


def _toml(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    values: dict[str, Any] = tomllib.loads(text)
    return values


_Option = tuple[tuple[str, ...], str, bool]
"""The words of a command, the name of one of its parameters, and whether that is a place on disk."""


def _options(group: Any) -> dict[str, list[_Option]]:
    """Return the options that have a variable, by their names here."""
    found: dict[str, list[_Option]] = {}
    for words, param in parameters(group):
        if name := variable(param):
            found.setdefault(name, []).append((words, param.name, param.metavar in _PLACES))
    return found


def parameters(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the parameters of a command and of those below it, each with the words that lead to it."""
    for param in command.params:
        yield words, param
    for name, below in getattr(command, "commands", {}).items():
        yield from parameters(below, (*words, name))


def variable(param: Any) -> str | None:
    """Return what stands behind ``SILTSTONE_`` in the variable of a parameter, small."""
    named = param.envvar if isinstance(param.envvar, str) else None
    return named[len(PREFIX) :].lower() if named and named.startswith(PREFIX) else None


def _value(path: Path, name: str, value: Any, *, place: bool) -> Any:
    """Return the value of an option; places are meant from the folder of the file."""
    from ..opening import is_folder

    if not isinstance(value, (str, int, float, bool)):
        raise ConfigurationError(f"{path}: {name} is one value, not {value!r}; nothing was opened")
    if place and isinstance(value, str) and is_folder(value):
        return str(path.parent / Path(value).expanduser())
    return value


def _defaults(options: Mapping[str, list[_Option]], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values as a map of defaults, nested as the commands are."""
    defaults: dict[str, Any] = {}
    for name, places in options.items():
        if name in values:
            for words, parameter, _ in places:
                inner = defaults
                for word in words:
                    inner = inner.setdefault(word, {})
                inner[parameter] = values[name]
    return defaults
