"""What is imported through a service, as one file: a service knows no folders."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from ..importers.files import names_in
from ..importers.source import Source


@contextmanager
def as_one_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Give the block the file at a path; of a folder one without a name, an archive of what an import looks at."""
    if not os.path.isdir(path):
        with open(path, "rb") as file:
            yield file
        return
    with tempfile.TemporaryFile() as packed:
        with zipfile.ZipFile(packed, "w", strict_timestamps=False) as archive:
            for name in names_in(Source(os.fspath(path))):
                archive.write(os.path.join(path, name), name)
        packed.seek(0)
        yield packed
