"""What a memory was before: how far back it goes, and in which order."""

from __future__ import annotations

from items import known
from siltstone.lifecycle.history import history
from siltstone.stores.ram import RamStore


def test_a_long_life_of_one_statement_is_told_to_its_beginning() -> None:
    """Thousands of replacements, one after another, come back newest first."""
    store = RamStore()
    states = 3_000
    store.commit("u", [known(f"f{n}", f"home {n}", superseded_by=f"f{n + 1}") for n in range(states)])
    store.commit("u", [known(f"f{states}", "the last home")])
    assert [record.id for record in history(store, "u", f"f{states}")] == [f"f{n}" for n in reversed(range(states))]


def test_what_led_to_a_statement_is_told_branch_by_branch() -> None:
    """Of two that were replaced the later comes first, with what it had replaced itself; a circle ends."""
    store = RamStore()
    replaced = {"a": "c", "b": "c", "a1": "a", "b1": "b", "c": "b1"}
    store.commit("u", [known(id, id, superseded_by=by) for id, by in replaced.items()])
    assert [record.id for record in history(store, "u", "c")] == ["b", "b1", "a", "a1"]
