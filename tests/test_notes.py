"""Notes among the documents: what is on disk stays as earlier releases wrote it, and comes back as what it was."""

from __future__ import annotations

import orjson
import pytest

from siltstone.stores.files import notes
from siltstone.stores.files.notes import Embedded, Finished, Meant, Note, Removal, Successor

ON_DISK = [
    (Removal([3, 5], ["ab"], ["m1"], 17), b'{"x":[3,5],"h":["ab"],"ids":["m1"],"k":[],"t":17}'),
    (Removal([3], [], [], 17, 2, ["cd"]), b'{"x":[3],"h":[],"ids":[],"k":["cd"],"t":17,"f":2}'),
    (Removal(meant=2), b'{"x":[],"h":[],"f":2}'),
    (Meant([3], ["m1"], True), b'{"f":[3],"ids":["m1"],"n":true}'),
    (Removal(hashes=["ab", "cd"]), b'{"x":[],"h":["ab","cd"]}'),
    (Finished(7), b'{"y":7}'),
    (Embedded(0), b'{"g":0}'),
    (Successor(2), b'{"next":2}'),
]


@pytest.mark.parametrize(("note", "document"), ON_DISK, ids=lambda value: type(value).__name__)
def test_a_note_is_written_as_ever_and_read_as_it_was(note: Note, document: bytes) -> None:
    """Each note has one form on disk, which every release of this format reads."""
    assert notes.pack(note) == document
    again = notes.unpack(orjson.loads(document))
    assert again is not None
    assert notes.pack(again) == document
    assert type(again) is type(note)
    told = (notes.is_item(document), notes.is_removal(document), notes.is_successor(document))
    assert told == (False, isinstance(note, Removal), isinstance(note, Successor))


def test_an_older_removal_is_known_not_to_tell_apart_what_its_ids_follow_from() -> None:
    """Before format 4 all ids stood there as they were: such a note says so when it is read."""
    note = notes.unpack(orjson.loads(b'{"x":[3,5],"h":["ab"],"ids":["m1"],"t":17}'))
    assert note == Removal([3, 5], ["ab"], ["m1"], 17, hashed=None)


def test_what_is_no_note_is_none() -> None:
    """Items, and what a release to come may write, are not taken for a note."""
    assert notes.is_item(b'{"i":"m1"}')
    assert notes.unpack({"i": "m1", "x": [1], "h": []}) is None
    assert notes.unpack({"later": 1}) is None
