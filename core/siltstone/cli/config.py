"""The commands ``config``: what this run's settings are, and where each came from."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any, Final

import typer

from ..text.addresses import shown_address
from ..wire import plain
from .configfile import NAME, PREFIX, given, own_file, parameters, variable
from .environment import DEFAULT, Chosen, chosen
from .options import DEFAULT_STORE, AsJson, Embedding, StoreAt, Summarizing, User
from .output import note, show_table, table, write_json

config = typer.Typer(help="Show the settings of this run.", no_args_is_help=True)
_SECRET: Final = re.compile(r"(^|_)(key|token|password|secret)s?$")
HIDDEN: Final = "(set, not shown)"


@dataclass(frozen=True)
class Shown:
    """A line of what is shown."""

    name: str
    value: Any
    source: str


@config.command("show")
def show(
    ctx: typer.Context,
    store: StoreAt = DEFAULT_STORE,
    user: User = "default",
    embedder: Embedding = None,
    summarizer: Summarizing = None,
    as_json: AsJson = False,
) -> None:
    """Show each setting, and where it came from: a flag, a variable, a file, or its default.

    \b
    siltstone config show
    SILTSTONE_SPAN_TURNS=12 siltstone --set history=5 config show --json

    A flag stands before a variable, that before the file, that before the default. The file is the one that --config
    or SILTSTONE_CONFIG names, else ./siltstone.toml, else the user's own. Keys and passwords are never shown.
    """
    lines = [*_options(ctx), *(Shown(name, _clear(one.value), one.source) for name, one in chosen().items())]
    lines += _secrets()
    path = given().path
    if as_json:
        write_json({"file": None if path is None else str(path), "settings": [_plain(line) for line in lines]})
        return
    made = table(("setting", "value", "from"))
    for line in lines:
        value = plain(line.value)
        made.add_row(line.name, "" if value in (None, [], ()) else str(value), line.source)
    show_table(made)
    note(f"file: {path}" if path is not None else f"no file: neither ./{NAME} nor {own_file()} is there")


def _plain(line: Shown) -> dict[str, Any]:
    value = line.value
    return {"name": line.name, "value": list(value) if isinstance(value, tuple) else plain(value), "from": line.source}


def _options(ctx: typer.Context) -> list[Shown]:
    """Return the options of all commands that have a variable, as this run has them."""
    found: dict[str, Shown] = {}
    for words, param in parameters(ctx.find_root().command):
        name = variable(param)
        if name is None or name in ("config", "set") or (name in found and words != ("config", "show")):
            continue
        one = _chosen(ctx, words, param, name)
        found[name] = Shown(name, one.value if one.value is None else _masked(name, one.value), one.source)
    return list(found.values())


def _chosen(ctx: typer.Context, words: tuple[str, ...], param: Any, name: str) -> Chosen:
    """Return the value of an option: of this command, or of the root, or as another command would have it."""
    holders: tuple[tuple[Any, tuple[str, ...]], ...] = ((ctx, ("config", "show")), (ctx.find_root(), ()))
    for holder, path in holders:
        if words == path and _typed(holder, param.name):
            return Chosen(holder.params[param.name], param.opts[0])
    if set_to := os.environ.get(PREFIX + name.upper()):
        return Chosen(set_to, PREFIX + name.upper())
    values = given()
    if name in values.values:
        return Chosen(values.values[name], str(values.path))
    return Chosen(None if callable(param.default) else param.default, DEFAULT)


def _typed(ctx: Any, parameter: str) -> bool:
    source = ctx.get_parameter_source(parameter)
    return source is not None and source.name == "COMMANDLINE"


def _clear(value: Any) -> Any:
    """Return a setting's value; an address without what is secret in it."""
    return shown_address(value) if isinstance(value, str) else value


def _masked(name: str, value: Any) -> Any:
    """Return a value without what is nobody's to see: keys, passwords in addresses, what follows a question mark."""
    if _SECRET.search(name):
        return HIDDEN
    if not isinstance(value, str):
        return value if isinstance(value, (bool, int, float)) else str(value)
    return shown_address(value)


def _secrets() -> list[Shown]:
    """Return which secrets are set, by the names of their variables."""
    names = sorted(name for name in os.environ if name.startswith(PREFIX) and _SECRET.search(name.lower()))
    return [Shown(name[len(PREFIX) :].lower(), HIDDEN, name) for name in names if os.environ[name]]
