"""siltstone: long-term memory for LangChain and LlamaIndex applications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import (
    AccessDeniedError,
    BackendUnavailableError,
    ConfigurationError,
    ConflictError,
    DecryptionError,
    EmbedderMismatchError,
    InvalidInputError,
    MissingDependencyError,
    ModelError,
    NotFoundError,
    ReadOnlyError,
    SiltstoneError,
    StoreCorruptedError,
    StoreLockedError,
    StoreVersionError,
)
from .records import (
    Change,
    ConsolidationReport,
    Context,
    Digest,
    DigestItem,
    ForgetReport,
    Hit,
    ImportProblem,
    ImportReport,
    Message,
    Record,
    Section,
    SessionInfo,
    Stats,
)
from .settings import Settings

if TYPE_CHECKING:
    from ._version import __version__ as __version__
    from .memory import TieredMemory as TieredMemory

__all__ = [
    "AccessDeniedError",
    "BackendUnavailableError",
    "Change",
    "ConfigurationError",
    "ConflictError",
    "ConsolidationReport",
    "Context",
    "DecryptionError",
    "Digest",
    "DigestItem",
    "EmbedderMismatchError",
    "ForgetReport",
    "Hit",
    "ImportProblem",
    "ImportReport",
    "InvalidInputError",
    "Message",
    "MissingDependencyError",
    "ModelError",
    "NotFoundError",
    "ReadOnlyError",
    "Record",
    "Section",
    "SessionInfo",
    "Settings",
    "SiltstoneError",
    "Stats",
    "StoreCorruptedError",
    "StoreLockedError",
    "StoreVersionError",
    "TieredMemory",
]


def __getattr__(name: str) -> Any:
    if name == "TieredMemory":  # loads numpy's users only when the memory is used
        from .memory import TieredMemory

        return TieredMemory
    if name == "__version__":
        from ._version import __version__

        return __version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
