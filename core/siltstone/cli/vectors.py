"""Where the vectors of this run lie: in what a function of the user's own returns, named by a flag or a variable.

The file of settings has no line for it: one that lies in a folder is not to choose code that is run.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, Any

import typer

from ..errors import ConfigurationError

VectorStore = Annotated[
    str | None,
    typer.Option(
        "--vector-store",
        metavar="MODULE:FUNCTION",
        envvar="SILTSTONE_VECTOR_STORE",
        help="Your function that returns the LlamaIndex vector store with the vectors; in the store if left out.",
    ),
]
_named: ContextVar[str | None] = ContextVar("vector_store", default=None)


def use_vector_store(named: str | None) -> None:
    """Let the commands of this run keep vectors in what the function returns."""
    _named.set(named or None)


def vector_store() -> Any:
    """Return the vector store of this run, made anew; ``None`` where none is named.

    Raises ``ConfigurationError`` for a name that leads to no function, and where that fails.
    """
    named = _named.get()
    if named is None:
        return None
    try:
        return _function(named)()
    except ConfigurationError:
        raise
    except Exception as exc:  # whatever a function of the user's own raises
        raise ConfigurationError(
            f"--vector-store {named} failed ({type(exc).__name__}: {exc}); nothing was opened"
        ) from exc


def _function(named: str) -> Callable[[], Any]:
    module, _, name = named.partition(":")
    if not module or not name:
        raise ConfigurationError(
            f"--vector-store names a function as MODULE:FUNCTION, not {named!r}; nothing was opened"
        )
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError as exc:
        if exc.name is None or not f"{module}.".startswith(f"{exc.name}."):
            raise
        raise ConfigurationError(
            f"--vector-store {named}: there is no module {module!r}; nothing was opened: install it, or name its "
            "folder in PYTHONPATH"
        ) from exc
    if not callable(found):
        raise ConfigurationError(f"--vector-store {named}: {module} has no function {name!r}; nothing was opened")
    function: Callable[[], Any] = found
    return function
