"""``siltstone demo``: one process chats and is killed, another one remembers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Annotated, Final

import typer

from .options import Embedding
from .output import console, recalled_table, show_table, show_why

DONE: Final = "all acknowledged"


def demo(
    store: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder to use and keep; a temporary one if left out.")
    ] = None,
    max_tokens: Annotated[
        int, typer.Option("--max-tokens", metavar="N", min=50, help="Budget of each prompt's memories.")
    ] = 200,
    embedder: Embedding = None,
    part: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> None:
    """Let a first process chat and be killed, and a second one recall.

    Two people talk over three sessions, one in Chinese, one in English. Works offline.

    \b
    siltstone demo
    siltstone demo --store ./demo-memory
    """
    if part == "chat":
        _chat(store, embedder)
    elif part == "recall":
        _recall(store, embedder, max_tokens)
    else:
        with _folder(store) as folder:
            _first(folder, embedder)
            _second(folder, embedder, max_tokens)


@contextmanager
def _folder(store: Path | None) -> Iterator[Path]:
    if store is not None:
        yield store
    else:
        with tempfile.TemporaryDirectory(prefix="siltstone-demo-") as folder:
            yield Path(folder) / "memory"


def _command(part: str, folder: Path, embedder: str | None, *options: str) -> list[str]:
    model = ["--embedder", embedder] if embedder else []
    return [sys.executable, "-m", "siltstone", "demo", "--part", part, "--store", str(folder), *model, *options]


def _first(folder: Path, embedder: str | None) -> None:
    """Let a process chat, and kill it after its last acknowledged add."""
    out = console(markup=True)
    last = ""
    with subprocess.Popen(_command("chat", folder, embedder), stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None
        out.print(f"[bold]First process[/bold] ({process.pid}): two people chat, every add is on disk when it returns.")
        try:
            for line in process.stdout:
                last = line.strip()
                if last == DONE:
                    break
                print(f"  {last}")
        except BaseException:  # interrupted: leave no process behind
            process.kill()
            raise
        if last == DONE:
            process.send_signal(signal.SIGKILL)
    if last != DONE:
        raise typer.Exit(1)  # it has said why
    out.print(f"Killed with SIGKILL (exit status {process.returncode}), the store still open.\n")


def _second(folder: Path, embedder: str | None, max_tokens: int) -> None:
    """Let another process answer from what the first one left."""
    code = subprocess.call(_command("recall", folder, embedder, "--max-tokens", str(max_tokens)))
    if code:
        raise typer.Exit(code)


def _chat(store: Path | None, embedder: str | None) -> None:
    from ..memory import TieredMemory
    from ..records import Message
    from .talk import ALICE, ZHANG

    assert store is not None
    today = datetime.now(timezone.utc).replace(microsecond=0)
    with TieredMemory.open(store, embedder=embedder) as memory:
        for talk in (ZHANG, ALICE):
            mine = memory.for_user(talk.user_id)
            for session_id, days, exchanges in talk.sessions:
                for number, (asked, answered) in enumerate(exchanges):
                    at = today - timedelta(days=days) + timedelta(minutes=number)
                    pair = [
                        Message("user", asked, id=f"{number}u", created_at=at),
                        Message("assistant", answered, id=f"{number}a", created_at=at),
                    ]
                    mine.add(pair, session_id=session_id)  # the ids make a second demo on one store a no-op
                print(f"{talk.user_id}, {session_id!r}: {2 * len(exchanges)} messages acknowledged", flush=True)
        print(DONE, flush=True)
        time.sleep(60)  # to be killed here, with the store open


def _recall(store: Path | None, embedder: str | None, max_tokens: int) -> None:
    from rich.markup import escape
    from rich.panel import Panel
    from rich.text import Text

    from ..memory import TieredMemory
    from ..models.resolve import resolve_counter
    from .talk import ALICE, ZHANG

    assert store is not None
    out = console(markup=True)
    counter = resolve_counter(None)
    with TieredMemory.open(store, embedder=embedder, token_counter=counter, create=False) as memory:
        out.print(f"[bold]Second process[/bold] ({os.getpid()}): opens {escape(str(store))}.\n")
        for talk in (ZHANG, ALICE):
            mine = memory.for_user(talk.user_id)
            mine.flush()
            history = [m for info in mine.sessions() for m in mine.messages(info.session_id)]
            full = counter.count("\n".join(f"{message.role}: {message.content}" for message in history))
            for question in talk.questions:
                context = mine.context(question, max_tokens=max_tokens)
                out.rule(f"[bold]{talk.user_id}: {question}[/bold]", align="left")
                shown = context.hits[:5]
                show_table(recalled_table(shown, title="Recalled"))
                show_why(shown, title="Why: the parts of each score")
                prompt = context.as_prompt(question)
                out.print(Panel(Text(prompt), title="The prompt", title_align="left"))
                spent = counter.count(prompt)
                out.print(
                    f"{spent} tokens, against {full} for the full history of {len(history)} messages: "
                    f"{1 - spent / full:.0%} saved.\n"
                )
