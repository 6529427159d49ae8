"""Moving a store to another embedder: the texts stay, every vector is made anew."""

from __future__ import annotations

from ..protocols import Embedder, Fingerprint, Progress, Store
from ..text.keys import dense_key


def make_vectors(
    store: Store,
    embedder: Embedder,
    fingerprint: Fingerprint,
    *,
    same: bool,
    batch: int,
    progress: Progress | None = None,
) -> int:
    """Give every record of every user a vector of ``embedder``; return how many were made.

    ``same`` says that the store is in this space already: then only what is missing is made, which is how a run
    that was killed goes on. ``progress(done, total)`` is called after each batch. O(records).
    """
    if not same:
        store.set_fingerprint(fingerprint)
    users = list(store.users())
    total = sum(store.stats(user_id).pending_vectors for user_id in users)
    done = 0
    for user_id in users:
        while records := store.pending(user_id, batch):
            vectors = embedder.embed_documents([dense_key(record) for record in records])
            done += store.put_vectors(user_id, records, vectors, space=fingerprint)
            if progress is not None:
                progress(done, max(total, done))
    return done
