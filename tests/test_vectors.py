"""Nearest vectors: through FAISS at every size, exact where it counts, complete under any filter."""

from __future__ import annotations

import threading

import faiss
import numpy as np
import pytest

from siltstone.index.vectors import Vectors

DIM = 32
SMALL = {"flat_limit": 2_000, "tail": 256}
"""Lets an index of a few thousand rows go through all forms that one of a million does."""


def unit(n: int, seed: int = 0) -> np.ndarray:  # type: ignore[type-arg]
    """Return random unit rows as float16."""
    rows = np.random.default_rng(seed).standard_normal((n, DIM)).astype(np.float32)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)


def indexed(halves: np.ndarray, *, batch: int = 1_000) -> Vectors:  # type: ignore[type-arg]
    """Return an index whose row numbers are three times the position."""
    made = Vectors(DIM, lambda rows: halves[rows // 3], **SMALL)
    for first in range(0, len(halves), batch):
        some = np.arange(first, min(first + batch, len(halves)), dtype=np.int32) * 3
        made.add(some, halves[first : first + batch])
    return made


def none() -> np.ndarray:  # type: ignore[type-arg]
    """Return no rows."""
    return np.empty(0, np.int32)


@pytest.mark.parametrize("n", [1, 5, 300, 1_999, 6_000])
def test_the_nearest_rows_are_found_at_every_size(n: int) -> None:
    """The nearest ten of any size are those of an exact search, with the exact cosine."""
    halves = unit(n)
    made = indexed(halves, batch=97)
    exact = halves.astype(np.float32)
    allowed = np.zeros(3 * n, np.bool_)
    allowed[::3] = True
    for seed in range(5):
        query = unit(1, 100 + seed)[0].astype(np.float32)
        cosines = made.cosines(query, 100, allowed, none)
        truth = exact @ query
        best = np.argsort(-truth)[:10]
        assert set(np.argsort(-np.nan_to_num(cosines, nan=-2))[: len(best)] // 3) == set(best)
        known = ~np.isnan(cosines[::3])
        assert np.count_nonzero(known) >= min(n, 100)
        assert cosines[::3][known] == pytest.approx(truth[known], abs=1e-5)
        assert np.isnan(np.delete(cosines, np.arange(0, 3 * n, 3))).all()


@pytest.mark.parametrize("n", [1_000, 6_000])
def test_a_filter_leaves_its_rows_their_depth(n: int) -> None:
    """Where one row in a hundred is allowed, all allowed rows within depth are known."""
    made = indexed(unit(n))
    allowed = np.zeros(3 * n, np.bool_)
    allowed[::300] = True
    cosines = made.cosines(unit(1, 9)[0].astype(np.float32), 200, allowed, none)
    assert not np.isnan(cosines[allowed]).any()


def test_variance_along_few_axes_costs_no_nearest_row() -> None:
    """Where few numbers of a vector tell most, as some models have it, the nearest ten are found all the same."""
    scale = np.arange(1, DIM + 1, dtype=np.float32) ** -1.0
    rows = np.random.default_rng(3).standard_normal((6_050, DIM)).astype(np.float32) * scale
    halves = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)
    made = indexed(halves[:6_000])
    allowed = np.ones(18_000, np.bool_)
    found = 0
    for query in halves[6_000:].astype(np.float32):
        near = np.nan_to_num(made.cosines(query, 10, allowed, none)[::3], nan=-2)
        best = np.argsort(-(halves[:6_000].astype(np.float32) @ query))[:10]
        found += len(set(np.argsort(-near)[:10]) & set(best))
    assert found >= 0.95 * 500


def test_asked_for_rows_are_known_too() -> None:
    """Rows that matched by words get their cosine, however far they are."""
    halves = unit(6_000)
    made = indexed(halves)
    allowed = np.ones(18_000, np.bool_)
    query = unit(1, 9)[0].astype(np.float32)
    also = np.arange(0, 3_000, 30, dtype=np.int32)
    cosines = made.cosines(query, 10, allowed, lambda: also)
    assert cosines[also] == pytest.approx(halves[also // 3].astype(np.float32) @ query, abs=1e-5)
    assert np.isnan(cosines[::3]).any()


def test_every_search_goes_through_faiss() -> None:
    """The parts of an index are FAISS indexes, flat below the limit and RaBitQ above, at every size."""
    for n in (1, 300, 1_500, 6_000):
        made = indexed(unit(n))
        parts = [part.index if part.exact else faiss.downcast_index(part.index.index) for part in made._parts]
        parts.append(made._tail)
        assert sum(part.ntotal for part in parts) == n
        assert all(isinstance(part, faiss.IndexFlatIP | faiss.IndexRaBitQ) for part in parts)
        assert any(isinstance(part, faiss.IndexRaBitQ) for part in parts) == (n > 2_000)
        assert len(parts) < 8


def test_a_coded_index_is_restored() -> None:
    """What ``coded`` gives makes the same index again; the flat rest is added anew."""
    halves = unit(5_000)
    made = indexed(halves)
    coded = made.coded()
    assert coded is not None
    again = Vectors.restored(coded, lambda rows: halves[rows // 3])
    rest = np.arange(again.count, 5_000, dtype=np.int32)
    again.add(rest * 3, halves[rest])
    allowed = np.ones(15_000, np.bool_)
    for seed in range(5):
        query = unit(1, seed)[0].astype(np.float32)
        ours, theirs = (index.cosines(query, 10, allowed, none) for index in (made, again))
        assert (
            np.argsort(-np.nan_to_num(ours, nan=-2))[:10].tolist()
            == np.argsort(-np.nan_to_num(theirs, nan=-2))[:10].tolist()
        )
    assert indexed(unit(100)).coded() is None


def test_rows_written_during_a_search_are_not_in_it() -> None:
    """Searches by several threads while rows are added see no row beyond their own view, and never fail."""
    halves = unit(8_000)
    made = Vectors(DIM, lambda rows: halves[rows], **SMALL)
    failures: list[BaseException] = []
    done = threading.Event()

    def search() -> None:
        query = unit(1, 5)[0].astype(np.float32)
        try:
            while not done.is_set():
                n = made.count
                cosines = made.cosines(query, 10, np.ones(n, np.bool_), none)
                assert len(cosines) == n
                assert np.count_nonzero(~np.isnan(cosines)) >= min(n, 10)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for first in range(0, 8_000, 50):
        made.add(np.arange(first, first + 50, dtype=np.int32), halves[first : first + 50])
    done.set()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_whitened_query_is_nearer_to_what_sets_rows_apart() -> None:
    """When all vectors share a strong direction, the whitened query still finds the one that fits in the rest."""
    rng = np.random.default_rng(1)
    shared = rng.standard_normal(DIM)
    own = rng.standard_normal((200, DIM)) * 0.1
    rows = shared + own
    halves = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)
    made = Vectors(DIM, lambda rows: halves[rows])
    made.add(np.arange(200, dtype=np.int32), halves)
    query = (own[7] + 0.02 * rng.standard_normal(DIM)).astype(np.float32)
    query /= np.linalg.norm(query)
    near = made.cosines(made.whitened(query), 10, np.ones(200, np.bool_), none)
    assert int(np.argmax(near)) == 7
    assert np.linalg.norm(made.whitened(query)) == pytest.approx(1, abs=1e-5)


def test_few_vectors_leave_the_query_as_it_is() -> None:
    """Nothing is known of the space of a handful of vectors."""
    halves = unit(5)
    made = indexed(halves)
    query = unit(1, 3)[0].astype(np.float32)
    assert made.whitened(query) is query


def test_faiss_works_on_the_calling_thread_alone() -> None:
    """Whichever thread searches, FAISS starts no others, and has its number of threads back afterwards."""
    halves = unit(6_000)
    made = indexed(halves)
    allowed = np.ones(18_000, np.bool_)
    within: list[int] = []

    def also() -> np.ndarray:  # type: ignore[type-arg]
        within.append(faiss.omp_get_max_threads())
        return none()

    def work() -> None:
        faiss.omp_set_num_threads(3)
        made.cosines(halves[0].astype(np.float32), 10, allowed, also)
        within.append(faiss.omp_get_max_threads())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert within == [1, 3]
