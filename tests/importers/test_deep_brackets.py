"""A file that is nothing but brackets."""

from __future__ import annotations

from siltstone.importers.json_peek import peek


def test_brackets_without_end_are_no_export() -> None:
    """Beyond some depth nothing is looked for: each bracket more costs what all before it do."""
    assert peek(b"[" * 501) is None
    assert peek(b"[" * 500) is not None
    assert peek(b"[[[" + b'{"a": 1') == [[[{}]]]
