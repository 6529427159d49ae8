"""Keeping what an import could not take over: in a file beside the source, to be mended and tried again alone."""

from __future__ import annotations

import os
from typing import Final

from ..errors import ConfigurationError
from ..importers.export_file import ExportFile
from ..importers.failed import failed_line, header
from ..importers.lines import to_line
from ..importers.reader import Copied, Found, Part
from .written import write_all

_HALF_DONE: Final = ".part"


class Failures:
    """Writes ``FILE.failed.jsonl``, which appears when the import is over, and goes where nothing failed any more.

    A path that is ``None`` keeps nothing. A killed import leaves ``….part``, which the next one begins anew.
    """

    def __init__(self, path: str | os.PathLike[str] | None, source: str) -> None:
        self._path = None if path is None else os.fspath(path)
        self._source = source
        self._fd: int | None = None
        self._written: set[tuple[str, str]] = set()

    def add(self, found: Found, reason: str) -> None:
        """Note one failure; of a part that fails in several places, the first."""
        if self._path is None:
            return
        part = found.part
        if part is None and isinstance(found.item, Copied):
            part = Part(ExportFile.format, found.where, value=to_line(found.item.versions, found.item.evicted))
        key = (part.format, part.where) if part is not None else ("", found.where)
        if key in self._written:
            return
        self._written.add(key)
        if self._fd is None:
            self._begin()
        assert self._fd is not None
        write_all(self._fd, failed_line(found.where, reason, part))

    def finish(self) -> str | None:
        """Put the file in its place; return its path, ``None`` where nothing failed."""
        if self._path is None:
            return None
        if self._fd is None:
            for left in (self._path, self._path + _HALF_DONE):  # of earlier runs: all of it is stored now
                if os.path.isfile(left):
                    os.unlink(left)
            return None
        os.fsync(self._fd)
        self.drop(remove=False)
        os.replace(self._path + _HALF_DONE, self._path)
        return self._path

    def drop(self, *, remove: bool = True) -> None:
        """Close the file that is half done, and take it away."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
            if remove:
                assert self._path is not None
                os.unlink(self._path + _HALF_DONE)

    def _begin(self) -> None:
        assert self._path is not None
        try:
            self._fd = os.open(self._path + _HALF_DONE, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        except OSError as exc:
            raise ConfigurationError(
                f"what cannot be imported is to be kept in {self._path}, which cannot be written ({exc.strerror}): "
                "what was imported until now is stored; name another place (--failed), and import again to go on"
            ) from exc
        write_all(self._fd, header(self._source))
