"""The command line: ``siltstone``.

Exit codes: 0 done; 1 refused, with one sentence on stderr that says why; 2 wrong usage; 3 ``verify``
found damage; 4 done in part (``import`` could not read some of it, a model failed in ``consolidate`` or ``audit``);
130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from .._version import __version__
from ..errors import SiltstoneError
from .audit import audit
from .bench import bench
from .consolidate import consolidate
from .demo import demo
from .keys import KeyFile, use_key_file
from .read import context, search, sessions, show, stats
from .transfer import export, import_
from .upkeep import backup, reembed, rekey, restore, verify
from .write import add, forget, remember

app = typer.Typer(
    name="siltstone",
    help="Long-term memory on this machine: add what was said, recall what matters.",
    epilog='Example: siltstone add "I\'m Alice." --session monday && siltstone search "Who am I?"',
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
OF_A_USER = (demo, add, remember, search, context, sessions, show, stats, forget, consolidate, export, import_)
OF_A_STORE = (reembed, verify, backup, restore, rekey, audit)
for command in (*OF_A_USER, *OF_A_STORE, bench):
    app.command(command.__name__.rstrip("_"))(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"siltstone {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    key_file: KeyFile = None,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    use_key_file(key_file)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and exit. ``args`` default to those of the process."""
    try:
        app(args=None if args is None else list(args), prog_name="siltstone")
    except SiltstoneError as exc:
        print(f"siltstone: {exc}", file=sys.stderr)
        sys.exit(1)
