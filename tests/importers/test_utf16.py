"""Exports that Windows has written anew: as UTF-16, or with a mark before UTF-8."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import IO

import pytest

from siltstone import TieredMemory
from siltstone.testing import HashEmbedder, WordCounter

from exports import EXPORTS, Export  # isort: skip


def brought(source: Path | IO[bytes]) -> tuple[str, int, list[str]]:
    """Return what a file brings into an empty memory: its format, how much, and the texts."""
    with TieredMemory.open(":memory:", embedder=HashEmbedder(), token_counter=WordCounter()) as memory:
        report = memory.import_from(source)
        return report.format, report.added, [record.text for record in memory.records()]


@pytest.mark.parametrize("export", EXPORTS, ids=lambda export: export.file)
def test_an_export_is_the_same_in_each_encoding_of_windows(tmp_path: Path, export: Export) -> None:
    """A file of UTF-16, of either order, or of UTF-8 with its mark, brings the same, open or by its path."""
    file = tmp_path / export.file
    file.write_bytes(export.data)
    plain = brought(file)
    text = export.data.decode("gb18030" if export.format == "text" else "utf-8-sig")
    assert plain[1]

    for mark, encoding in (
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF8, "utf-8"),
    ):
        file.write_bytes(mark + text.encode(encoding))
        assert brought(file) == plain, encoding
        with file.open("rb") as opened:
            assert brought(opened)[2] == plain[2], encoding
