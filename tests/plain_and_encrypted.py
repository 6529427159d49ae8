"""Tests of a store that is plain, and of one that is encrypted, which needs an extra."""

from __future__ import annotations

import importlib.util

import pytest

KEY = bytes(range(32))
needs_encryption = pytest.mark.skipif(
    importlib.util.find_spec("cryptography") is None, reason="encryption needs the extra 'encryption'"
)
KEYS = [pytest.param(None, id="plain"), pytest.param(KEY, id="encrypted", marks=needs_encryption)]
"""No key, and that of an encrypted store."""
plain_and_encrypted = pytest.mark.parametrize("key", KEYS)
"""Give a test the argument ``key``: ``None``, and the key of an encrypted store."""
