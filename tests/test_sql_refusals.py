"""What a PostgreSQL server refuses is said at once, with what mends it; only what may pass by itself is tried again."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

import pytest

from items import said
from postgres_cluster import asked, told
from postgres_server import Server
from siltstone.errors import BackendUnavailableError, ConfigurationError
from siltstone.opening import open_store
from siltstone.stores.sql.store import SqlStore

FOREVER = 3_600.0
"""A deadline for what may pass that no test lives to see."""


@pytest.fixture
def guarded(own_server: Server) -> Server:
    """A server that asks the role ``app`` for its password, ``geheim``, and has a database for it."""
    told(own_server, "CREATE ROLE app LOGIN PASSWORD 'geheim'", "CREATE DATABASE memory OWNER app")
    (own_server.data / "pg_hba.conf").write_text("local all app scram-sha-256\nlocal all postgres trust\n")
    told(own_server, "SELECT pg_reload_conf()")
    return own_server


def address(server: Server, role: str = "app:geheim", database: str = "memory") -> str:
    """Return an address of a server."""
    return f"postgresql://{role}@/{database}?host={server.data}"


def opened(location: str) -> SqlStore:
    """Open a store whose server may take as long as it likes to come back."""
    from siltstone.stores.sql.postgres import PostgresDatabase

    return SqlStore(PostgresDatabase(location, deadline=FOREVER))


def in_memory(server: Server, *statements: str) -> None:
    """Carry out statements in the database ``memory``, as a superuser."""
    import psycopg

    with psycopg.connect(address(server, "postgres"), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def test_what_an_opening_is_refused_is_said_at_once(guarded: Server) -> None:
    """Each refusal names what mends it and which server it was, and no password; nothing is made."""
    in_memory(guarded, "CREATE SCHEMA apart")
    for role, database, expected in (
        ("app:falsch", "memory", "password authentication failed.*PGPASSWORD"),
        ("app", "memory", "no password supplied.*PGPASSWORD"),
        ("bob", "memory", r"pg_hba\.conf admit role"),
        ("app:geheim", "nowhere", "nowhere.*does not exist.*make the database there"),
        ("app:geheim", "memory", "permission denied.*superuser.*CREATE EXTENSION vector"),
    ):
        with pytest.raises(ConfigurationError, match=expected) as refused:
            opened(address(guarded, role, database))
        assert str(guarded.data) in str(refused.value)
        assert not {"geheim", "falsch"} & set(str(refused.value).replace('"', " ").split())
    in_memory(guarded, "CREATE EXTENSION vector SCHEMA apart")
    with pytest.raises(ConfigurationError, match=r"halfvec.*pgvector 0\.7 or newer.*search_path"):
        opened(address(guarded))
    in_memory(guarded, "ALTER EXTENSION vector SET SCHEMA public", "ALTER DATABASE memory OWNER TO postgres")
    with pytest.raises(ConfigurationError, match=r"permission denied for schema public.*own the database"):
        opened(address(guarded))
    in_memory(guarded, "ALTER DATABASE memory OWNER TO app")
    store = opened(address(guarded))
    store.commit("u", [said("a", "one")])
    store.close()


def test_a_database_made_as_the_readme_says_is_all_that_is_needed(own_server: Server) -> None:
    """Its statements make a role, which is no superuser, and a database, in which a store opens."""
    readme = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```sql\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)
    server_wide, _, within = block.partition("-- in the database memory:")
    told(own_server, *filter(str.strip, server_wide.split(";")))
    in_memory(own_server, within)
    store = opened(address(own_server, "app"))
    store.commit("u", [said("a", "one")])
    store.close()
    assert asked(own_server, "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = 'app'") is False


def test_what_is_refused_later_is_an_error_that_passes(guarded: Server) -> None:
    """A role that loses its right to connect has its writes refused at once; with it, all goes on as before."""
    in_memory(guarded, "CREATE EXTENSION vector")
    store = opened(address(guarded))
    store.commit("u", [said("a", "one")])
    told(
        guarded,
        "ALTER ROLE app NOLOGIN",
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'",
    )
    with pytest.raises(
        BackendUnavailableError, match=r"not permitted to log in.*nothing was acknowledged: see to the role"
    ):
        store.commit("u", [said("b", "two")])
    told(guarded, "ALTER ROLE app LOGIN")
    store.commit("u", [said("c", "three", minute=1)])
    assert [message.content for message in store.messages("u", "s")] == ["one", "three"]
    assert asked(guarded, "SELECT count(*) FROM pg_stat_activity WHERE usename = 'app'") > 0
    store.close()


@pytest.mark.parametrize(
    "location",
    [
        "postgresql://app:gehe/im@host/db",
        "postgresql://app:gehe@im@host/db",
        "postgresql://app:gehe%im@host/db",
        "postgresql://app:gehe@@host/db",
        "postgresql:///db?host=@gehe",
        "postgresql://app@host:gehe/db",
        "postgresql://app@host/db?gehe=im",
    ],
)
def test_what_is_no_address_is_not_repeated(location: str) -> None:
    """What libpq cannot read, or reads as another place, is refused before anything is asked, without its words."""
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    with pytest.raises(ConfigurationError, match="no address of PostgreSQL: nothing was opened") as refused:
        open_store(location, durability="fsync", read_only=False, create=True, lock_timeout=1, history=1)
    assert "gehe" not in str(refused.value)


@pytest.mark.parametrize("place", ["/db?host=%40nobody", "/db?host=@nobody", "%40nobody/db", "/db?host=/run,%40nobody"])
def test_an_abstract_socket_is_refused_by_name(place: str) -> None:
    """A socket that is no file is none that can be opened, and the refusal says so, and what can."""
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    with pytest.raises(ConfigurationError, match=r"\?host=/FOLDER; an abstract one, @NAME, psycopg does not open"):
        open_store(
            f"postgresql://app@{place}", durability="fsync", read_only=False, create=True, lock_timeout=1, history=1
        )


def test_what_merely_names_a_vector_is_no_lack_of_pgvector(own_server: Server) -> None:
    """What mends a lack of pgvector is advised where that is what is missing, not where a table or column is named."""
    import psycopg

    from siltstone.stores.sql.postgres_refusals import remedy

    def advised(*statements: str) -> bool:
        with psycopg.connect(address(own_server, "postgres", "postgres")) as connection:
            try:
                for statement in statements:
                    connection.execute(statement)
            except psycopg.Error as exc:
                return "pgvector" in (remedy(exc) or "")
            raise AssertionError("it was not refused")

    made = "CREATE TABLE siltstone_vectors (vector int[])"
    looked_at = "CREATE VIEW siltstone_vec AS SELECT vector FROM siltstone_vectors"
    assert not advised(made, "ALTER TABLE siltstone_vectors DROP CONSTRAINT nothing")
    assert not advised(made, "ALTER TABLE siltstone_vectors ALTER vector TYPE nothing")
    assert not advised(made, looked_at, "ALTER TABLE siltstone_vectors ALTER vector TYPE text[]")
    assert not advised("LOAD '/nowhere/siltstone_vectors'")
    assert advised("CREATE TABLE siltstone_vectors (vector halfvec)")
    assert advised("LOAD '/nowhere/vector'")


@pytest.mark.parametrize("name", ["password", "certificate", "authentication failed", "no such user"])
def test_a_server_whose_name_sounds_like_a_refusal_is_waited_for(name: str) -> None:
    """What the names of a server that does not run say is not taken for what a server said."""
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    from siltstone.stores.sql.postgres import PostgresDatabase

    with pytest.raises(BackendUnavailableError, match="try again once it answers"):
        PostgresDatabase(f"postgresql://app@/memory?host=/nowhere/{quote(name)}", deadline=0.1)
