"""The command line: ``siltstone``.

Exit codes: 0 done; 1 refused, with one sentence on stderr that says why; 2 wrong usage; 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from ..errors import SiltstoneError
from .bench import bench
from .demo import demo
from .read import context, search, sessions, show, stats
from .upkeep import forget, reembed
from .write import add, remember

app = typer.Typer(
    name="siltstone",
    help="Long-term memory on this machine: add what was said, recall what matters.",
    epilog='Example: siltstone add "I\'m Alice." --session monday && siltstone search "Who am I?"',
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for command in (demo, add, remember, search, context, sessions, show, stats, forget, reembed):
    app.command()(command)
app.add_typer(bench, name="bench")


@app.callback()
def _siltstone(version: bool = typer.Option(False, "--version", help="Print the version.", is_eager=True)) -> None:
    pass


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and exit. ``args`` default to those of the process."""
    try:
        app(args=None if args is None else list(args), prog_name="siltstone")
    except SiltstoneError as exc:
        print(f"siltstone: {exc}", file=sys.stderr)
        sys.exit(1)
