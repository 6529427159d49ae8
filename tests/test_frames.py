"""Framed lines: what is written is read, and what is damaged is never taken for something else."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from siltstone.stores.files.frames import Damage, Frame, frame, is_unfinished, parse, scan, size_of

documents = st.binary(max_size=60).filter(lambda data: b"\n" not in data)
logs = st.lists(st.tuples(st.integers(0, 2**40), documents, st.booleans()), min_size=1, max_size=8)


def framed(log: list[tuple[int, bytes, bool]]) -> list[bytes]:
    """Return the frames of a log."""
    return [frame(number, document, last) for number, document, last in log]


@given(logs)
def test_frames_are_read_as_they_were_written(log: list[tuple[int, bytes, bool]]) -> None:
    """Number, document and flag survive, and places add up."""
    data = b"".join(framed(log))
    found = list(scan(data))
    assert all(isinstance(piece, Frame) for piece in found)
    assert [(f.number, f.document, f.last) for f in found if isinstance(f, Frame)] == log
    assert [piece.start for piece in found] == [0, *(piece.end for piece in found[:-1])]
    assert found[-1].end == len(data)


@given(logs, st.data())
def test_a_flipped_bit_costs_one_frame_or_two(log: list[tuple[int, bytes, bool]], data: st.DataObject) -> None:
    """Damage never yields another document; only the frame that it is in, or the one after its newline, is lost."""
    whole = b"".join(framed(log))
    at = data.draw(st.integers(0, len(whole) - 1))
    bit = data.draw(st.integers(0, 7))
    damaged = whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :]
    found = [(f.number, f.document, f.last) for f in scan(damaged) if isinstance(f, Frame)]
    assert all(entry in log for entry in found)
    assert len(found) >= len(log) - 2
    assert any(isinstance(piece, Damage) for piece in scan(damaged))


@given(logs, st.data())
def test_a_cut_log_ends_with_an_unfinished_frame(log: list[tuple[int, bytes, bool]], data: st.DataObject) -> None:
    """Whole frames before the cut are read; what follows is known to be unfinished, not damaged."""
    whole = b"".join(framed(log))
    size = data.draw(st.integers(0, len(whole)))
    pieces = list(scan(whole[:size]))
    read = [piece for piece in pieces if isinstance(piece, Frame)]
    assert [(f.number, f.document, f.last) for f in read] == log[: len(read)]
    for piece in pieces[len(read) :]:
        assert isinstance(piece, Damage)
        assert piece.tail
        if b"\0" not in whole[piece.start : size]:
            assert is_unfinished(whole[piece.start : size])


@given(logs, st.binary(min_size=1, max_size=30))
def test_reading_goes_on_behind_damage(log: list[tuple[int, bytes, bool]], junk: bytes) -> None:
    """Bytes that are no frame are one damaged piece, and all frames behind them are read."""
    pieces = list(scan(junk + b"\n" + b"".join(framed(log))))
    assert pieces[0] == Damage(0, len(junk) + 1, tail=False)
    assert len(pieces) == len(log) + 1


def test_a_zeroed_or_finished_line_is_damage_and_not_unfinished() -> None:
    """Only what a killed writer leaves counts as unfinished: the beginning of a good line."""
    whole = frame(7, b'{"i":"a"}', True)
    assert all(is_unfinished(whole[:size]) for size in range(1, len(whole)))
    assert not is_unfinished(whole[:-1] + b"!")
    assert not is_unfinished(whole[:10] + bytes(5))
    assert not is_unfinished(b"nonsense")


def test_the_length_of_a_frame_stands_at_its_head() -> None:
    """A frame's size is known from its first bytes."""
    whole = frame(1, b"x" * 500, False)
    assert size_of(whole[:18]) == len(whole)
    assert size_of(whole[:17]) is None
    assert size_of(b"zzzzzzzz 00000000 .1 x") is None
    assert parse(whole[:-1]) is None
