"""Everything siltstone raises, as one tree.

::

    SiltstoneError
    ├── ConfigurationError           a setting, location or combination that cannot work
    ├── InvalidInputError            (ValueError)       an argument that is refused; nothing was changed
    ├── NotFoundError                (KeyError)         no such message, record, session or store
    ├── ConflictError                the stored version is another one than the caller expected
    ├── ReadOnlyError                a write to a store opened for reading, or to a folder without permission
    ├── StoreLockedError             (TimeoutError)     another process holds the lock for too long
    ├── StoreCorruptedError          damage found on disk; nothing was overwritten
    ├── StoreVersionError            the store's format is newer than this release
    ├── EmbedderMismatchError        the store was written with another embedder
    ├── DecryptionError              wrong or missing key of an encrypted store
    ├── AccessDeniedError            (PermissionError)  the service refused the token
    ├── ModelError                   a model failed, refused or answered nonsense
    ├── BackendUnavailableError      (ConnectionError)  a server, disk or network did not answer
    └── MissingDependencyError       (ImportError)      an extra is not installed

Each message says what happened, what is safe, and what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Self


class SiltstoneError(Exception):
    """The root of everything siltstone raises on purpose.

    ``quoted``: what in the message are the words of others, such as a model's answer, which may hold what a user said.
    """

    quoted: str = ""

    def quoting(self, words: object) -> Self:
        """Note which words of the message are others', and return the error."""
        self.quoted = str(words)
        return self


class ConfigurationError(SiltstoneError):
    """A setting, location or combination of them cannot work."""


class InvalidInputError(SiltstoneError, ValueError):
    """An argument is refused; nothing was changed."""


class NotFoundError(SiltstoneError, KeyError):
    """There is no such message, record, session or store."""

    def __str__(self) -> str:
        return Exception.__str__(self)  # KeyError would print the repr


class ConflictError(SiltstoneError):
    """What is stored is not what the caller expected; nothing was changed."""


class ReadOnlyError(SiltstoneError):
    """The store was opened for reading, or its folder cannot be written."""

    @classmethod
    def opened(cls, location: str, spared: str = "nothing was changed") -> ReadOnlyError:
        """Return the one sentence used for every write to a memory that was opened for reading."""
        return cls(f"the memory at {location} was opened with read_only=True: {spared}")


class StoreLockedError(SiltstoneError, TimeoutError):
    """Another process held the lock until the wait was over."""


class StoreCorruptedError(SiltstoneError):
    """Damage was found on disk; nothing was overwritten."""


class StoreVersionError(SiltstoneError):
    """The store's format is newer than this release can read."""


class EmbedderMismatchError(SiltstoneError):
    """The store was written with another embedder."""


class DecryptionError(SiltstoneError):
    """The store is encrypted, and the key is wrong or missing; nothing was changed."""


class AccessDeniedError(SiltstoneError, PermissionError):
    """The service refused the token, or the token does not cover this user."""


class ModelError(SiltstoneError):
    """A model failed, refused, or answered something that cannot be used."""


class BackendUnavailableError(SiltstoneError, ConnectionError):
    """A server, network or disk did not do its part; the write is not acknowledged.

    ``retry_after``: for how many seconds a server asked to be left alone; 0 where it did not say.
    """

    retry_after: float = 0.0


class MissingDependencyError(SiltstoneError, ImportError):
    """An optional package is needed and not installed."""

    @classmethod
    def extra(cls, package: str, purpose: str, extra: str) -> MissingDependencyError:
        """Return the one sentence used for every missing extra."""
        return cls(f'{purpose} needs the package {package!r}: pip install "siltstone[{extra}]"')


def for_log(error: BaseException) -> str:
    """Return an error as a log may have it: without the words of others, which may be a user's."""
    name = type(error).__name__
    if isinstance(error, OSError) and error.strerror:
        return f"{name}: {error.strerror}"
    if not isinstance(error, SiltstoneError):
        return name
    return f"{name}: {str(error).replace(error.quoted, '…') if error.quoted else error}"
