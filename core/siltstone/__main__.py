"""The command line, as ``python -m siltstone`` and as ``siltstone``: its door, which is open before it is loaded."""

from __future__ import annotations

import os
import signal
from types import FrameType


def main() -> None:
    """Load the command line and run it. Ctrl-C meanwhile ends the process at once: nothing is open yet."""
    asked = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else somebody wants it ignored
    if asked:
        signal.signal(signal.SIGINT, _leave)
    from .cli import main as run

    if asked:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


def _leave(number: int, frame: FrameType | None) -> None:
    """End without an exception: amid an import nobody knows who would catch it."""
    os.write(2, b"siltstone: interrupted; nothing was begun.\n")
    os._exit(130)


if __name__ == "__main__":
    main()
