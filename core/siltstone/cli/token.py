"""The commands ``token``: who may use the service."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from .options import AsJson, Yes, ask, when
from .output import minute, note, show_table, table, write_json

token = typer.Typer(help="Make, list and revoke the tokens of the service.", no_args_is_help=True)
File = Annotated[
    Path, typer.Option("--tokens", metavar="FILE", envvar="SILTSTONE_TOKENS", help="Where they are kept, as hashes.")
]
DEFAULT_FILE = Path("tokens.jsonl")
Name = Annotated[str, typer.Argument(metavar="NAME", help="What people call it, e.g. the device it is for.")]


@token.command("make")
def make(
    name: Name,
    user: Annotated[str | None, typer.Option("--for", metavar="USER", help="Whose memory it is good for.")] = None,
    admin: Annotated[bool, typer.Option("--admin", help="Good for everybody's memory.")] = False,
    expires: Annotated[
        datetime | None,
        typer.Option("--expires", parser=when, metavar="TIME", help="Until when; left out: for ever."),
    ] = None,
    tokens: File = DEFAULT_FILE,
    as_json: AsJson = False,
) -> None:
    """Make a token and print it, this once: the file has only its hash.

    \b
    siltstone token make "alice's phone" --for alice --expires 2027-01-01
    siltstone token make operations --admin
    """
    from ..access import make_token

    made = make_token(tokens, name=name, user_id=user, admin=admin, expires_at=expires)
    if as_json:
        write_json({"name": name, "token": made})
    else:
        print(made)


@token.command("list")
def list_(tokens: File = DEFAULT_FILE, as_json: AsJson = False) -> None:
    """List the tokens: their names, whose memory each is good for, and until when.

    \b
    siltstone token list
    """
    from ..access import read_grants

    grants = read_grants(tokens)
    if as_json:
        told = [{"name": g.name, "user_id": g.user_id, "admin": g.admin, "expires_at": g.expires_at} for g in grants]
        write_json({"tokens": told})
        return
    made = table(("name", "good for", "until"))
    for grant in grants:
        made.add_row(grant.name, "everybody" if grant.admin else grant.user_id, minute(grant.expires_at))
    show_table(made)


@token.command("revoke")
def revoke(name: Name, yes: Yes = False, tokens: File = DEFAULT_FILE, as_json: AsJson = False) -> None:
    """Revoke a token: a running service refuses it from its next request on.

    \b
    siltstone token revoke "alice's phone" --yes
    """
    from ..access import revoke

    if not yes:
        ask(f"The token {name!r} in {tokens} will be good for nothing any more.")
    revoke(tokens, name)
    if as_json:
        write_json({"revoked": name})
    else:
        note(f"revoked {name!r}")
