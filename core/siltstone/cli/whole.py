"""Commands on a whole store, all users of it: ``audit``."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import DEFAULT_STORE, AsJson, StoreAt
from .output import note, show_table, table, write_json

OnlyUser = Annotated[str | None, typer.Option("--user", metavar="NAME", help="Only what concerns this user.")]


def audit(store: StoreAt = DEFAULT_STORE, user: OnlyUser = None, as_json: AsJson = False) -> None:
    """List what was forgotten, erased, restored and repaired: when, whose, how much; never the words.

    \b
    siltstone audit --user alice --json
    """
    from ..upkeep import audit

    entries = list(audit(store, user_id=user))
    if as_json:
        write_json({"entries": entries})
    elif not entries:
        note("nothing was forgotten, erased, restored or repaired")
    else:
        made = table(("when", "what", "user", "counts", "ids"))
        for entry in entries:
            counts = ", ".join(f"{count} {what}" for what, count in entry.counts.items())
            shown = " ".join(entry.ids[:3]) + (" …" if len(entry.ids) > 3 else "")
            made.add_row(entry.at.strftime("%Y-%m-%d %H:%M:%S"), entry.action, entry.user_id or "", counts, shown)
        show_table(made)
