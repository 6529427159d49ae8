"""The command line: ``siltstone``.

Exit codes: 0 done; 1 refused, with one sentence on stderr that says why; 2 wrong usage; 3 ``verify`` found damage, or
``doctor`` something wrong; 4 done in part (``import`` could not read some of it, a model failed in ``consolidate`` or
``audit``); 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextvars import copy_context
from typing import Annotated

import typer

from .._version import __version__
from ..errors import SiltstoneError
from .audit import audit
from .bench import bench
from .config import config
from .configfile import ConfigFile, use_flags
from .consolidate import consolidate
from .demo import demo
from .doctor import doctor
from .experiment import experiment
from .importing import import_
from .interrupted import Interruptible
from .keys import KeyFile, use_key_file
from .mcp import mcp
from .migrate import migrate
from .options import ShortTerm, use_short_term
from .read import context, history, search, sessions, show
from .serve import serve
from .stats import stats
from .token import token
from .transfer import export
from .upkeep import backup, compact, reembed, rekey, restore, verify
from .vectors import VectorStore, use_vector_store
from .write import add, forget, remember, update

app = typer.Typer(
    name="siltstone",
    cls=Interruptible,
    help="Long-term memory on this machine: add what was said, recall what matters.",
    epilog='Example: siltstone add "I\'m Alice." --session monday && siltstone search "Who am I?"',
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
OF_A_USER = (
    demo, add, remember, search, context, sessions, show, history, update, forget, consolidate, stats, export, import_
)  # fmt: skip
OF_A_STORE = (reembed, verify, compact, backup, restore, migrate, rekey, audit, doctor)
for command in (*OF_A_USER, *OF_A_STORE, bench, experiment, mcp, serve):
    app.command(command.__name__.rstrip("_"))(command)
app.add_typer(config, name="config")
app.add_typer(token, name="token")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"siltstone {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    config: ConfigFile = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting for this run, e.g. history=5; repeat for several."),
    ] = None,
    key_file: KeyFile = None,
    short_term: ShortTerm = None,
    vector_store: VectorStore = None,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    use_flags(set_)
    use_key_file(key_file)
    use_short_term(short_term)
    use_vector_store(vector_store)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and exit. ``args`` default to those of the process."""
    try:
        copy_context().run(app, args=None if args is None else list(args), prog_name="siltstone")
    except SiltstoneError as exc:
        print(f"siltstone: {exc}", file=sys.stderr)
        sys.exit(1)
