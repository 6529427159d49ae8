"""Ctrl-C: nothing is half done in the store, and the way on is said."""

from __future__ import annotations

from typing import Any, Final

from typer.core import TyperGroup

from .output import note

_GOES_ON: Final = "run the same command again, and it goes on where it was"
_ANEW: Final = "run the same command again; it begins anew"
_NEXT: Final = {
    "add": "what it printed as an id is stored; messages of one call are stored all or none",
    "backup": f"no backup was replaced; {_GOES_ON}",
    "bench": f"nothing was written; {_ANEW}",
    "consolidate": f"what was made so far is stored; {_GOES_ON}",
    "experiment": f"with --work, what was finished is kept: {_GOES_ON}; without it, it begins anew",
    "export": f"no file was replaced; {_ANEW}",
    "forget": "it is done wholly or not at all: siltstone forget … --dry-run says whether anything is left",
    "import": f"what was imported or embedded so far is kept; {_GOES_ON}",
    "mcp": "what was acknowledged is stored",
    "migrate": f"the source is as it was, and the target stays closed until it is whole; {_GOES_ON}",
    "reembed": f"no text was touched, and is found by its words until then; {_GOES_ON}",
    "rekey": f"the store opens with the old key or the new one; {_GOES_ON}",
    "restore": "it has happened wholly or not at all; run the same command again",
    "update": "it has happened wholly or not at all; run the same command again",
    "serve": "what was acknowledged is stored",
    "verify": f"with --repair, copies of damaged pieces are in quarantine/; {_ANEW}",
}
"""What is to be said of a command that writes, or takes long; for the others there is nothing to go on with."""


class Interruptible(TyperGroup):
    """The commands, each of which may be interrupted: exit code 130, and a sentence on stderr."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was called for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            name = ctx.invoked_subcommand or ""
            note(
                f"siltstone: interrupted; the store is sound: {_NEXT.get(name, 'nothing was changed')}".rstrip(".")
                + "."
            )
            raise
