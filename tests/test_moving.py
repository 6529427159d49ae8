"""Moving a whole store into another one of any kind: nothing is lost, doubled or changed, whatever happens."""

from __future__ import annotations

import io
import random
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from items import NOON, known, said, space
from plain_and_encrypted import KEY, needs_encryption
from postgres_server import emptied
from shell import Shell
from siltstone import Settings, TieredMemory, upkeep
from siltstone.errors import ConfigurationError, ConflictError, NotFoundError, StoreCorruptedError
from siltstone.opening import is_folder, open_store
from siltstone.protocols import Put, Refusal, Store
from siltstone.records import Record
from siltstone.stores.folder import FolderStore
from siltstone.testing import FrozenClock, HashEmbedder
from siltstone.transfer import migrating

KINDS = ("folder", "encrypted", "sqlite", "postgres")
EDGES = [
    "花生过敏，周末去爬山。",
    "NUL \0 in the middle",
    "back\\slash \\0 and 'quotes' \"both\" {1,2} NULL \\N",
    "👩‍👩‍👧‍👦 family\r\nand\ta tab\u2028",
    "ﷺ e\u0301 \ufeff",
    "x" * 20_000,
]
USERS = ("u", "李雷/\0../x", "U", " ")


@pytest.fixture
def at(tmp_path: Path, request: pytest.FixtureRequest) -> Callable[[str, str], str]:
    """Where a store of a kind is, by a name; there is nothing yet."""

    def where(kind: str, name: str) -> str:
        if kind == "encrypted":
            pytest.importorskip("cryptography", reason="encryption needs the extra 'encryption'")
        if kind == "sqlite":
            return f"sqlite:///{tmp_path / name}.db"
        if kind == "postgres":
            return database(request.getfixturevalue("postgres"), name)
        return str(tmp_path / name)

    return where


def database(url: str, name: str) -> str:
    """Return the URL of an empty database of its own on the server."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchall():
            connection.execute(f'CREATE DATABASE "{name}"')
    place = url.replace("/postgres?", f"/{name}?")
    assert place != url
    emptied(place)
    return place


def opened(location: str, kind: str) -> Store:
    """Open a store as anybody would."""
    return open_store(
        location, durability="os", read_only=False, create=True, lock_timeout=10, history=20, key=key_of(kind)
    ).store


def key_of(kind: str) -> bytes | None:
    """Return the key of a store of a kind."""
    return KEY if kind == "encrypted" else None


def move(source: str, target: str, kinds: tuple[str, str], **options: Any) -> Any:
    """Move a store; both sides by their kinds."""
    plain = kinds[0] == "encrypted" and kinds[1] != "encrypted"
    return upkeep.migrate(source, target, key=key_of(kinds[0]), target_key=key_of(kinds[1]), plain=plain, **options)


def job(id: str, version: int = 1) -> Put:
    """Return work that waits."""
    record = Record(
        id=f"job:{id}", text="raw", kind="job", user_id="u", created_at=NOON, stored_at=NOON,
        version=version, metadata={"state": "waiting", "covers": False, "attempts": version},
    )  # fmt: skip
    return Put(record)


def fill(store: Store) -> None:
    """Store something of everything that a user may have."""
    store.set_fingerprint(space())
    for number, text in enumerate(EDGES):
        store.commit("u", [said(f"m{number}", text, minute=number, seed=number, metadata={"n": [number, None, 0.5]})])
    for version in range(1, 31):
        store.commit("u", [known("fact", f"No. {version}", seed=version, version=version, source_ids=("m0", "m1"))])
        store.commit("u", [job("ledger", version)])
    store.commit("u", [known("unembedded", "not yet"), known("pinned", "stays", pinned=True, importance=0.25)])
    store.commit("u", [replaced := said("m0", "changed", minute=0, seed=77, version=2)])
    assert replaced.record is not None
    store.commit(
        "u", [said("secret", "forget me", minute=9, seed=9), known("about", "a secret", source_ids=("secret",))]
    )
    store.forget("u", ["secret"])
    store.commit(USERS[1], [said("m0", "别人的话", user=USERS[1], seed=3)])
    store.commit("U", [said("gone", "all of it", user="U")])
    store.remove("U", ["gone"], transcripts=[Refusal("s", "gone", "all of it")], everything=True)
    if hasattr(store, "turn_usage"):
        store.turn_usage(lambda page: {"day": "2024-05-08", "tokens": 17})
    if hasattr(store, "turn_owed"):
        store.turn_owed(lambda page: {"token": "u"})


def content(store: Store) -> dict[str, Any]:
    """Return all that can be read from a store, in the order in which it is read."""
    found: dict[str, Any] = {"space": store.fingerprint()}
    found |= {"usage": (store.usage(), store.owed())}  # type: ignore[attr-defined]
    for user in sorted(store.users()):
        items = list(store.items(user))
        rows = [versions[-1].row for versions in items]
        stats = store.stats(user)
        found[user] = (
            items,
            [row.tobytes() if len(row) and row[0] == row[0] else None for row in store.vectors(user, rows)],
            store.sessions(user),
            [record.id for record in store.pending(user, 100)],
            [record.id for record in store.dependents(user, ["m0", "m1"])],
            (stats.messages, stats.records, stats.sessions, stats.kinds, stats.pending_vectors),
        )
    return {name: value for name, value in found.items() if name in ("space", "usage") or value[0]}


@pytest.mark.parametrize("kinds", list(product(KINDS, KINDS)), ids="-".join)
def test_everything_moves_between_any_two_stores(at: Callable[[str, str], str], kinds: tuple[str, str]) -> None:
    """Items, versions and their numbers, vectors bit for bit, jobs, usage and refusals are there as they were."""
    source, target = at(kinds[0], "source"), at(kinds[1], "target")
    store = opened(source, kinds[0])
    fill(store)
    before = content(store)
    store.close()
    deeds = list(upkeep.audit(source, key=key_of(kinds[0])))
    assert [deed.action for deed in deeds] == ["forget", "erase"]
    report = move(source, target, kinds)
    assert list(upkeep.audit(target, key=key_of(kinds[1]))) == deeds
    assert (report.users, report.messages, report.jobs) == (3, 7, 1)
    assert report.target_was in ("absent", "empty")
    assert report.refused >= 5
    store = opened(target, kinds[1])
    assert content(store) == before
    refused = [
        said("secret", "other words", minute=1),
        said("other-id", "forget me", minute=2),
        replace_put(known("secret", "a record of that id")),
    ]
    assert set(store.refused("u", refused)) == {"secret", "other-id"}
    assert store.commit("U", [said("gone", "again", user="U")]).skipped == ("gone",)
    assert store.commit("u", [said("new", "goes on", minute=99)]).skipped == ()
    store.close()
    if is_folder(target):
        assert upkeep.verify(target, key=key_of(kinds[1])).is_sound


def replace_put(put: Put) -> Put:
    """Return a put that restores a copy."""
    import dataclasses

    return dataclasses.replace(put, restores=True)


texts = st.one_of(st.sampled_from(EDGES), st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30))
deeds = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(0, 9), texts, st.booleans()),
        st.tuples(st.just("know"), st.integers(0, 9), texts, st.booleans()),
        st.tuples(st.just("forget"), st.integers(0, 9)),
    ),
    max_size=25,
)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(deeds)
@needs_encryption
def test_whatever_was_done_to_a_store_survives_the_way_round(
    at: Callable[[str, str], str], tmp_path: Path, deeds: list[tuple[Any, ...]]
) -> None:
    """Folder, SQLite, encrypted folder, PostgreSQL, folder: the same content at each stage, and the same checksum."""
    number = len(list(tmp_path.iterdir()))
    stages = [(kind, at(kind, f"{kind}{number}" if kind != "postgres" else "stage")) for kind in (*KINDS[:1], "sqlite")]
    stages += [("encrypted", at("encrypted", f"sealed{number}")), ("postgres", at("postgres", "stage"))]
    stages.append(("folder", at("folder", f"back{number}")))
    store = opened(stages[0][1], "folder")
    store.set_fingerprint(space())
    for deed in deeds:
        do(store, deed)
    before = content(store)
    store.close()
    checksums = set()
    for (kind, location), (next_kind, next_location) in pairwise(stages):
        checksums.add(move(location, next_location, (kind, next_kind), replace=next_kind == "postgres").checksum)
        store = opened(next_location, next_kind)
        assert content(store) == before
        store.close()
    assert len(checksums) == 1


def do(store: Store, deed: tuple[Any, ...]) -> None:
    """Say, write or forget something."""
    user = USERS[deed[1] % len(USERS)]
    if deed[0] == "forget":
        store.forget(user, [f"m{deed[1]}", f"r{deed[1]}"])
        return
    name, number, text, embedded = deed
    id = f"{'m' if name == 'say' else 'r'}{number}"
    (present,) = store.fetch(user, [id])
    version = 1 if present is None else present.version + 1
    seed = number if embedded and text.strip() else None
    if name == "say":
        put = said(id, text, minute=number, user=user, seed=seed, version=version, session=text[:9])
        store.commit(user, [put if put.record is not None else replace_vector(put)])
    else:
        store.commit(user, [known(id, text, user=user, seed=seed, version=version)])


def replace_vector(put: Put) -> Put:
    """Return a message that has no turn, and so no vector."""
    return Put(None, put.message, supplied_id=put.supplied_id)


def test_exports_are_byte_equal_after_the_way_to_a_server_and_back(
    at: Callable[[str, str], str], tmp_path: Path
) -> None:
    """Folder to PostgreSQL to folder: every user's file is the same."""
    places = [at("folder", "first"), at("postgres", "server"), at("folder", "second")]
    with memory(places[0]) as first:
        for user in ("alice", "李雷"):
            mine = first.for_user(user)
            mine.add([("user", "I live in Berlin."), ("assistant", "好的，我记住了。")] * 6, session_id="monday")
            id = mine.remember("Prefers tea.", kind="profile")
            mine.update(id, text="Prefers coffee.")
            mine.forget(ids=[mine.remember("Nobody should know.")])
        first.consolidate()
        first.flush()
    for source, target in pairwise(places):
        upkeep.migrate(source, target)
    files = []
    for place in places:
        for user in ("alice", "李雷"):
            with memory(place, user_id=user) as there:
                there.export_to(tmp_path / "export.jsonl")
                files.append((tmp_path / "export.jsonl").read_bytes())
    assert files[:2] == files[2:4] == files[4:]
    assert files[0].count(b"\n") > 14


def memory(location: str, **options: Any) -> TieredMemory:
    """Open a memory with models that cost nothing."""
    return TieredMemory.open(
        location, embedder=HashEmbedder(), clock=FrozenClock(), settings=Settings(span_turns=4), **options
    )


# --- killed, changed, disturbed


MOVE = """
import sys
from siltstone import upkeep
from siltstone.transfer import migrating
migrating._MOST_VERSIONS = 7
key = bytes(range(32)) if sys.argv[3] == "encrypted" else None
upkeep.migrate(sys.argv[1], sys.argv[2], target_key=key, progress=lambda done, total: print(done, flush=True))
"""


def many(location: str) -> dict[str, Any]:
    """Fill a folder with several users and versions; return what is in it."""
    store = opened(location, "folder")
    fill(store)
    for user in ("a", "b", "c"):
        for first in range(0, 60, 20):
            store.commit(user, [known(f"r{n}", f"Note {n}", user=user, seed=n) for n in range(first, first + 20)])
        store.commit(user, [known("r3", "Note 3, again", user=user, seed=99, version=2)])
    found = content(store)
    store.close()
    return found


def killed(source: str, target: str, kind: str, after: int) -> bool:
    """Move in a process of its own, and kill it when it has told of so many batches; return whether it was faster."""
    command = [sys.executable, "-c", MOVE, source, target, kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(after):
            if not process.stdout.readline():
                break
        process.kill()
    assert process.returncode in (0, -signal.SIGKILL)
    return process.returncode == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_migration_that_is_killed_goes_on(at: Callable[[str, str], str], kind: str) -> None:
    """Killed again and again, it doubles and loses nothing; until it is done nobody else opens the target."""
    source, target = at("folder", "source"), at(kind, "target")
    before = many(source)
    chosen = random.Random(kind)
    for attempt in range(3):
        if not killed(source, target, kind, chosen.randint(1, 6 + 6 * attempt)):
            with pytest.raises((ConfigurationError, NotFoundError), match=r"has not come to its end|there is no store"):
                open_store(
                    target, durability="os", read_only=True, create=False, lock_timeout=1, history=20, key=key_of(kind)
                )
    report = move(source, target, ("folder", kind))
    assert report.target_was in ("half done", "the same")
    assert report.written < report.versions
    store = opened(target, kind)
    assert content(store) == before
    store.close()


@pytest.mark.parametrize("kind", KINDS)
def test_what_changed_in_the_source_between_two_runs_is_moved_anew(at: Callable[[str, str], str], kind: str) -> None:
    """Versions, forgotten items, erased and new users: the target is as the source is when the second run ends."""
    source, target = at("folder", "source"), at(kind, "target")
    many(source)
    assert not killed(source, target, kind, 26)
    store = opened(source, "folder")
    store.commit("u", [known("fact", "No. 31", seed=1, version=31)])
    store.commit("a", [known("new", "appended", user="a", seed=4)])
    store.forget("a", ["r1"])
    store.remove("b", [], everything=True)
    store.commit("d", [known("r1", "somebody new", user="d")])
    after = content(store)
    store.close()
    move(source, target, ("folder", kind))
    store = opened(target, kind)
    assert content(store) == after
    assert store.refused("a", [replace_put(known("r1", "Note 1", user="a"))]) == ("r1",)
    store.close()


def test_a_source_that_is_written_to_meanwhile_is_reported(at: Callable[[str, str], str]) -> None:
    """The target stays closed, the user is named, and the same command brings what is missing."""
    source, target = at("folder", "source"), at("sqlite", "target")
    many(source)

    def disturb(done: int, total: int) -> None:
        if done == total:
            store = opened(source, "folder")
            store.commit("c", [known("late", "came late", user="c")])
            store.close()

    with pytest.raises(ConflictError, match=r"written to while it was moved \('c'\).*run the same command again"):
        upkeep.migrate(source, target, progress=disturb)
    with pytest.raises(ConfigurationError, match="has not come to its end"):
        opened(target, "sqlite")
    report = upkeep.migrate(source, target)
    assert (report.target_was, report.written) == ("half done", 1)
    one, two = opened(source, "folder"), opened(target, "sqlite")
    assert content(one) == content(two)
    one.close()
    two.close()


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        ("DELETE FROM siltstone_vectors WHERE number = 1 AND user_id = 'a'", "59 vectors instead of 60"),
        ("DELETE FROM siltstone_rows WHERE id = 'r9' AND user_id = 'a'", "59 records instead of 60"),
        (
            "UPDATE siltstone_rows SET document = CAST(replace(document, 'Note 5', 'Note x') AS BLOB) "
            "WHERE user_id = 'a' AND id = 'r5'",
            "version 1 of 'r5' is another",
        ),
        ("UPDATE siltstone_vectors SET vector = zeroblob(32) WHERE number = 2 AND user_id = 'a'", "version 1 of 'r1'"),
        ("DELETE FROM siltstone_refused WHERE user_id = 'u'", "0 refused instead of"),
        ("DELETE FROM siltstone_audit", "lacks 2 lines of the audit"),
    ],
)
def test_a_target_that_is_not_the_same_is_told_from_the_source(
    at: Callable[[str, str], str], harm: str, told: str
) -> None:
    """Whatever differs in the end is named, and the target stays closed."""
    source, target = at("folder", "source"), at("sqlite", "target")
    many(source)
    half = []

    def break_it(done: int, total: int) -> None:
        if 2 * done >= total and not half:
            half.append(done)
            with sqlite3.connect(target.removeprefix("sqlite:///")) as connection:
                assert connection.execute(harm).rowcount > 0

    with pytest.raises(StoreCorruptedError, match=told):
        upkeep.migrate(source, target, progress=break_it)
    with pytest.raises(ConfigurationError, match="has not come to its end"):
        opened(target, "sqlite")
    upkeep.migrate(source, target)  # and the same command puts it right


def test_two_migrations_into_one_target_do_not_mix(
    at: Callable[[str, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one finds what the first has written and one of them stops; run again, nothing is there twice."""
    source, target = at("folder", "source"), at("folder", "target")
    before = many(source)
    monkeypatch.setattr(migrating, "_MOST_VERSIONS", 7)
    once: list[int] = []

    def second(done: int, total: int) -> None:
        if not once:
            once.append(done)
            upkeep.migrate(source, target)

    with pytest.raises((ConflictError, ConfigurationError)):
        upkeep.migrate(source, target, progress=second)
    assert upkeep.migrate(source, target).target_was == "the same"
    store = opened(target, "folder")
    assert content(store) == before
    store.close()


def test_a_damaged_source_is_refused(at: Callable[[str, str], str]) -> None:
    """What cannot be read whole is not moved in part: the command that mends it is named."""
    source = Path(at("folder", "source"))
    many(str(source))
    (log,) = source.glob("users/*/a-*/docs.*")
    data = bytearray(log.read_bytes())
    data[len(data) // 2] ^= 0xFF
    log.write_bytes(data)
    (log.parent / "cache").unlink(missing_ok=True)
    with pytest.raises(StoreCorruptedError, match="siltstone verify"):
        upkeep.migrate(source, at("sqlite", "target"))


# --- what cannot be moved, and where nothing can be moved to


def test_places_that_cannot_be_moved_from_or_to_are_refused_by_name(at: Callable[[str, str], str]) -> None:
    """Memory, services, the same store twice, a folder in another one, unknown engines."""
    source = at("folder", "source")
    many(source)
    for target, told in (
        (":memory:", "gone with its process"),
        ("http://127.0.0.1:8000", "one user's memory at a time"),
        (source, "both source and target"),
        (f"{source}/inside", "lies in the folder"),
        (f"sqlite:///{source}/inside.db", "lies in the folder"),
        ("redis://127.0.0.1", "not served by this release"),
    ):
        with pytest.raises(ConfigurationError, match=told):
            upkeep.migrate(source, target)
        if target != source and "inside" not in target:
            with pytest.raises(ConfigurationError, match=told):
                upkeep.migrate(target, at("folder", "elsewhere"))
    with pytest.raises(NotFoundError):
        upkeep.migrate(at("folder", "nowhere"), at("sqlite", "target"))
    assert not Path(at("sqlite", "target").removeprefix("sqlite:///")).exists()


@needs_encryption
def test_an_encrypted_store_becomes_plain_only_when_that_is_said(
    at: Callable[[str, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a key for the target, or the word, nothing is written; the key of the environment serves both sides."""
    sealed, target = at("encrypted", "sealed"), at("folder", "target")
    many(source := at("folder", "source"))
    upkeep.migrate(source, sealed, target_key=KEY)
    for place in (target, at("sqlite", "target")):
        with pytest.raises(ConfigurationError, match="--plain"):
            upkeep.migrate(sealed, place, key=KEY)
    assert not Path(target).exists()
    monkeypatch.setenv("SILTSTONE_KEY", "hex:" + KEY.hex())
    upkeep.migrate(sealed, target)
    assert upkeep.is_encrypted(target)
    upkeep.migrate(sealed, at("folder", "open"), plain=True)
    assert not upkeep.is_encrypted(at("folder", "open"))


@pytest.mark.parametrize("kind", ["folder", "sqlite", "postgres"])
def test_a_target_that_holds_something_is_kept_unless_it_is_to_be_replaced(
    at: Callable[[str, str], str], kind: str
) -> None:
    """Another store's content stays as it is; with ``replace`` it goes, and so do its refusals."""
    source, target = at("folder", "source"), at(kind, "target")
    before = many(source)
    store = opened(target, kind)
    store.commit("u", [said("theirs", "what was there")])
    store.forget("u", ["theirs"])
    store.commit("z", [said("theirs", "what was there", user="z")])
    there = content(store)
    store.close()
    with pytest.raises(ConfigurationError, match=r"did not come from.*--replace"):
        upkeep.migrate(source, target)
    store = opened(target, kind)
    assert content(store) == there
    store.close()
    assert upkeep.migrate(source, target, replace=True, dry_run=True).target_was == "other"
    assert upkeep.migrate(source, target, replace=True).target_was == "replaced"
    store = opened(target, kind)
    assert content(store) == before
    assert store.refused("u", [said("theirs", "what was there")]) == ()
    store.close()


@pytest.mark.parametrize("kind", ["folder", "sqlite", "postgres"])
def test_a_store_that_was_only_made_is_as_good_as_none(at: Callable[[str, str], str], kind: str) -> None:
    """Nobody has anything in it: it is filled without a question."""
    source, target = at("folder", "source"), at(kind, "target")
    before = many(source)
    opened(target, kind).close()
    assert upkeep.migrate(source, target).target_was in ("empty", "absent")
    store = opened(target, kind)
    assert content(store) == before
    store.close()


def test_a_finished_migration_is_compared_when_it_is_run_again(at: Callable[[str, str], str]) -> None:
    """Nothing is written; where the two went different ways, the difference is named and nothing is lost."""
    source, target = at("folder", "source"), at("sqlite", "target")
    many(source)
    first = upkeep.migrate(source, target)
    again = upkeep.migrate(source, target)
    assert (again.target_was, again.written, again.checksum) == ("the same", 0, first.checksum)
    store = opened(target, "sqlite")
    store.commit("u", [said("m99", "after the move", minute=50)])
    store.close()
    with pytest.raises(ConfigurationError, match=r"not the same any more.*7 messages instead of 6.*--replace"):
        upkeep.migrate(source, target)
    back = upkeep.migrate(target, at("folder", "back"))
    assert back.messages == first.messages + 1


# --- the command


def test_the_command_tells_what_it_does(
    sh: Shell, at: Callable[[str, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dry run counts and writes nothing; --json gives the report; refusals leave with code 1."""
    source, target = at("folder", "source"), at("sqlite", "target")
    many(source)
    ran = sh("migrate", source, target, "--dry-run", "--json")
    assert (ran.code, ran.json["dry_run"], ran.json["target_was"]) == (0, True, "absent")
    assert not Path(target.removeprefix("sqlite:///")).exists()
    told = sh("migrate", source, target, "--json")
    assert told.code == 0
    assert told.json | {"dry_run": True} == ran.json
    assert "moved before, and is the same" in sh("migrate", source, target).out
    other = at("folder", "other")
    store: Store = FolderStore(other)
    store.commit("u", [said("theirs", "what was there")])
    store.close()
    refused = sh("migrate", source, other)
    assert (refused.code, "--replace" in refused.err) == (1, True)
    monkeypatch.setattr("sys.stdin", io.StringIO())  # nobody is there to agree
    assert sh("migrate", source, other, "--replace").code == 1
    assert "is the same now" in sh("migrate", source, other, "--replace", "--yes").out


def test_ctrl_c_stops_between_two_batches(at: Callable[[str, str], str]) -> None:
    """It ends with code 130 and says how to go on; the source opens, the target does not, and a second run ends it."""
    source, target = at("folder", "source"), at("sqlite", "target")
    before = many(source)
    code = (
        "from siltstone.transfer import migrating; migrating._MOST_VERSIONS = 1; from siltstone.cli import main; main()"
    )

    def hear() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    command = [sys.executable, "-c", code, "migrate", source, target]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=hear) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert first.startswith("moving: ")
    assert "/s" in first
    assert process.returncode == 130, rest
    assert "run the same command again, and it goes on" in rest
    with pytest.raises(ConfigurationError, match="has not come to its end"):
        opened(target, "sqlite")
    assert upkeep.migrate(source, target).target_was == "half done"
    store = opened(target, "sqlite")
    assert content(store) == before
    store.close()
