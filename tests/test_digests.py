"""The hashes of what was forgotten, which are kept for good: looked up like a set, at a fraction of its memory."""

from __future__ import annotations

import tracemalloc
from hashlib import blake2b

from hypothesis import given
from hypothesis import strategies as st

from siltstone.index.digests import DIGEST_SIZE, Digests

DIGESTS = st.binary(min_size=DIGEST_SIZE, max_size=DIGEST_SIZE).map(bytes.hex)
STRINGS = DIGESTS | st.text(max_size=30)


def hashed(number: int) -> str:
    """Return a digest."""
    return blake2b(b"%d" % number, digest_size=DIGEST_SIZE).hexdigest()


@given(st.lists(st.lists(STRINGS, max_size=400), max_size=4), st.lists(STRINGS))
def test_it_is_a_set(added: list[list[str]], asked: list[str]) -> None:
    """Whatever comes, in however many goes, it holds what a set of strings would, also once it has been kept."""
    digests, known = Digests(), set[str]()
    for some in added:
        digests.update(some)
        known.update(some)
        assert len(digests) == len(known)
    packed, others = digests.parts()
    for held in (digests, Digests(others, packed)):
        assert set(held) == known
        assert [each in held for each in asked] == [each in known for each in asked]
        assert all(each in held for each in known)


def test_bytes_that_end_in_zeros_are_told_apart() -> None:
    """Zeros at the end count, and so do values above 127 in the order."""
    some = [
        f"{first:02x}" + "00" * (DIGEST_SIZE - 2) + f"{last:02x}" for first in (0, 127, 128, 255) for last in (0, 1)
    ]
    digests = Digests(some)
    digests.parts()
    assert all(each in digests for each in some)
    assert "00" * (DIGEST_SIZE - 1) + "02" not in digests
    assert sorted(digests) == sorted(some)


def test_a_digest_takes_a_few_bytes() -> None:
    """Twelve each, and less than twice that with those that have just come; a set of strings takes over a hundred."""
    tracemalloc.start()
    try:
        digests = Digests()
        for first in range(0, 20_000, 50):
            digests.update(map(hashed, range(first, first + 50)))
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(digests) == 20_000
    assert held < 36 * 20_000
