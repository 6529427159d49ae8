"""What a LangGraph store does, as a suite to subclass: give ``store`` and ``clock`` fixtures, mark what fails by name.

``clock`` is what the store's times to live go by, or ``None`` where it knows none.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)

DOCS = ("docs", "alice")


def keys(items: Any) -> list[str]:
    """Return the keys of items."""
    return [item.key for item in items]


class LangGraphStoreSuite:
    """The behaviours of ``BaseStore`` by its documentation."""

    def test_item_is_read_as_it_was_put(self, store: BaseStore) -> None:
        """Value, key, namespace and times come back; what is not there is ``None``."""
        value = {"text": "tea", "n": 1.5, "nested": {"list": [1, None, "茶"]}}
        store.put(DOCS, "a", value)
        item = store.get(DOCS, "a")
        assert item is not None
        assert (item.value, item.key, item.namespace) == (value, "a", DOCS)
        assert item.created_at == item.updated_at
        assert store.get(DOCS, "b") is None
        assert store.get(("docs",), "a") is None

    def test_update_replaces_the_value_and_keeps_the_date_of_creation(self, store: BaseStore) -> None:
        """Putting again is an update: the whole value is new, ``created_at`` is not."""
        store.put(DOCS, "a", {"text": "tea", "gone": True})
        first = store.get(DOCS, "a")
        store.put(DOCS, "a", {"text": "coffee"})
        second = store.get(DOCS, "a")
        assert first is not None
        assert second is not None
        assert second.value == {"text": "coffee"}
        assert second.created_at == first.created_at
        assert second.updated_at >= first.updated_at

    def test_deleted_item_is_gone_and_can_come_back(self, store: BaseStore) -> None:
        """Deleting removes from reads, searches and namespaces; the same value may be put again."""
        store.put(DOCS, "a", {"text": "tea"})
        store.delete(DOCS, "a")
        store.delete(DOCS, "never there")
        assert store.get(DOCS, "a") is None
        assert store.search(DOCS, query="tea") == []
        assert store.list_namespaces() == []
        store.put(DOCS, "a", {"text": "tea"})
        assert keys(store.search(DOCS, query="tea")) == ["a"]

    def test_keys_and_namespaces_do_not_run_into_each_other(self, store: BaseStore) -> None:
        """The same key in two namespaces, and labels that join to the same text, are different items."""
        store.put(("a", "b"), "c", {"n": 1})
        store.put(("a",), "b/c", {"n": 2})
        store.put(("a", "b", "c"), "c", {"n": 3})
        found = [store.get(("a", "b"), "c"), store.get(("a",), "b/c"), store.get(("a", "b", "c"), "c")]
        assert [item.value["n"] for item in found if item] == [1, 2, 3]

    def test_search_looks_below_a_prefix(self, store: BaseStore) -> None:
        """Whole labels count, not their beginnings; the empty prefix means everything."""
        for namespace in (("users", "a"), ("users", "a", "deep"), ("users", "ab"), ("other",)):
            store.put(namespace, "-".join(namespace), {"text": "tea"})
        assert sorted(keys(store.search(("users", "a")))) == ["users-a", "users-a-deep"]
        assert len(store.search(())) == 4
        assert len(store.search((), query="tea")) == 4

    def test_search_pages_through_its_results(self, store: BaseStore) -> None:
        """``limit`` and ``offset`` cut the same order, with and without a query, and lose nothing."""
        for n in range(7):
            store.put(DOCS, str(n), {"text": f"tea number {n}"})
        for query in (None, "tea"):
            pages = [keys(store.search(DOCS, query=query, limit=3, offset=offset)) for offset in (0, 3, 6, 9)]
            assert [len(page) for page in pages] == [3, 3, 1, 0]
            assert sorted(key for page in pages for key in page) == [str(n) for n in range(7)]

    def test_query_ranks_by_meaning_with_scores(self, store: BaseStore) -> None:
        """The best answer comes first, with the highest score; without a query there is none."""
        store.put(DOCS, "tea", {"text": "Alice drinks green tea every morning"})
        store.put(DOCS, "car", {"text": "Bob repairs old motor cars"})
        found = store.search(DOCS, query="green tea in the morning")
        assert found[0].key == "tea"
        assert found[0].score is not None
        assert all(item.score is None or item.score <= found[0].score for item in found)
        assert all(item.score is None for item in store.search(DOCS))

    def test_updated_item_is_found_by_its_new_words_only(self, store: BaseStore) -> None:
        """No stale index: the old words no longer lead to the item before others."""
        store.put(DOCS, "a", {"text": "green tea with jasmine"})
        store.put(DOCS, "b", {"text": "repairing motor cars"})
        store.put(DOCS, "a", {"text": "sailing across the ocean"})
        best = store.search(DOCS, query="sailing ocean", limit=1)
        assert keys(best) == ["a"]
        texts = [item.value["text"] for item in store.search(DOCS, query="green tea jasmine")]
        assert "green tea with jasmine" not in texts

    @pytest.mark.parametrize(
        ("conditions", "found"),
        [
            ({"kind": "a"}, ["1", "2"]),
            ({"kind": {"$eq": "a"}}, ["1", "2"]),
            ({"kind": {"$ne": "a"}}, ["3", "4"]),
            ({"n": {"$gt": 1}}, ["2", "3"]),
            ({"n": {"$gte": 1}}, ["1", "2", "3"]),
            ({"n": {"$lt": 3}}, ["1", "2"]),
            ({"n": {"$lte": 3, "$gt": 1}}, ["2", "3"]),
            ({"kind": "a", "n": 2}, ["2"]),
            ({"nested": {"deep": True}}, ["1"]),
            ({"nested": {"deep": {"$eq": True}}}, ["1"]),
            ({"missing": 1}, []),
        ],
    )
    def test_filters(self, store: BaseStore, conditions: dict[str, Any], found: list[str]) -> None:
        """Equality, the six operators, several at once and nested ones, with and without a query."""
        store.put(DOCS, "1", {"kind": "a", "n": 1, "nested": {"deep": True}, "text": "tea"})
        store.put(DOCS, "2", {"kind": "a", "n": 2, "text": "tea"})
        store.put(DOCS, "3", {"kind": "b", "n": 3, "text": "tea"})
        store.put(DOCS, "4", {"kind": "b", "n": -1 if "$gt" in str(conditions) else 9, "text": "tea"})
        assert sorted(keys(store.search(DOCS, filter=conditions))) == found
        assert sorted(keys(store.search(DOCS, filter=conditions, query="tea"))) == found

    def test_filter_does_not_compare_what_is_not_comparable(self, store: BaseStore) -> None:
        """A missing value or one of another type is not a match, and not an error."""
        store.put(DOCS, "1", {"n": "many"})
        store.put(DOCS, "2", {"text": "nothing"})
        assert store.search(DOCS, filter={"n": {"$gt": 1}}) == []

    def test_filter_finds_beyond_the_first_results(self, store: BaseStore) -> None:
        """The one item that meets the filter is found, however many better answers do not meet it."""
        for n in range(60):
            store.put(DOCS, str(n), {"text": "green tea", "odd": False})
        store.put(DOCS, "odd", {"text": "something about tea leaves", "odd": True})
        assert keys(store.search(DOCS, query="green tea", filter={"odd": True}, limit=1)) == ["odd"]

    def test_fields_to_index_are_chosen(self, store: BaseStore) -> None:
        """With ``index`` an item is found by these fields; with ``False`` only by listing, without a score."""
        store.put(DOCS, "title", {"title": "green tea", "body": "motor cars"}, index=["title"])
        store.put(DOCS, "body", {"title": "green tea", "body": "motor cars"}, index=["body"])
        store.put(DOCS, "none", {"title": "green tea", "body": "green tea"}, index=False)
        found = store.search(DOCS, query="green tea")
        assert found[0].key == "title"
        assert {item.key: item.score for item in found}.get("none") is None
        assert sorted(keys(store.search(DOCS))) == ["body", "none", "title"]

    def test_reads_of_a_batch_see_the_state_before_its_writes(self, store: BaseStore) -> None:
        """One result per operation, in order; of two writes to an item the last one counts."""
        store.put(DOCS, "a", {"n": 1})
        results = store.batch(
            [
                PutOp(DOCS, "a", {"n": 2}),
                GetOp(DOCS, "a"),
                PutOp(DOCS, "a", {"n": 3}),
                SearchOp(DOCS),
                ListNamespacesOp(),
                GetOp(DOCS, "b"),
            ]
        )
        assert [type(result).__name__ for result in results] == [
            "NoneType",
            "Item",
            "NoneType",
            "list",
            "list",
            "NoneType",
        ]
        assert results[1].value == {"n": 1}  # type: ignore[union-attr]
        item = store.get(DOCS, "a")
        assert item is not None
        assert item.value == {"n": 3}

    def test_batch_awaited_does_the_same(self, store: BaseStore) -> None:
        """``abatch`` carries out several operations at once; reads see the state before its writes."""
        store.put(DOCS, "a", {"n": 1})
        reads = [GetOp(DOCS, "a"), SearchOp(DOCS), ListNamespacesOp(), GetOp(DOCS, "b")]
        writes = [PutOp(DOCS, "a", {"n": 2}), PutOp(DOCS, "b", {"n": 3})]
        results = asyncio.run(store.abatch([*writes, *reads]))
        assert results[:2] == [None, None]
        assert results[2].value == {"n": 1}  # type: ignore[union-attr]
        assert [keys(results[3]), results[4], results[5]] == [["a"], [DOCS], None]
        assert sorted(keys(store.search(DOCS))) == ["a", "b"]

    def test_same_text_twice_in_one_batch(self, store: BaseStore) -> None:
        """Two items of a batch may say the same."""
        store.batch([PutOp(DOCS, "a", {"text": "tea"}), PutOp(DOCS, "b", {"text": "tea"})])
        assert sorted(keys(store.search(DOCS, query="tea"))) == ["a", "b"]

    def test_namespaces_are_listed(self, store: BaseStore) -> None:
        """In order, by prefix and suffix with wildcards, cut to a depth, in pages."""
        for namespace in (
            ("a", "b", "c"),
            ("a", "b", "d", "e"),
            ("a", "b", "d", "i"),
            ("a", "b", "f"),
            ("a", "c", "f"),
        ):
            store.put(namespace, "k", {"n": 1})
        assert store.list_namespaces(prefix=("a", "b"), max_depth=3) == [
            ("a", "b", "c"),
            ("a", "b", "d"),
            ("a", "b", "f"),
        ]
        assert store.list_namespaces(suffix=("f",)) == [("a", "b", "f"), ("a", "c", "f")]
        assert store.list_namespaces(prefix=("a", "*", "f")) == [("a", "b", "f"), ("a", "c", "f")]
        assert store.list_namespaces(limit=2, offset=3) == [("a", "b", "f"), ("a", "c", "f")]
        both = (MatchCondition("prefix", ("a", "b")), MatchCondition("suffix", ("*", "i")))
        assert store.batch([ListNamespacesOp(both)]) == [[("a", "b", "d", "i")]]

    @pytest.mark.parametrize("namespace", [(), ("a", ""), ("langgraph", "x"), ("a", 1)])
    def test_namespaces_that_cannot_be(self, store: BaseStore, namespace: Any) -> None:
        """An empty namespace or label, LangGraph's own root and what is no text are refused."""
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "k", {"n": 1})

    def test_labels_may_hold_any_characters(self, store: BaseStore) -> None:
        """User ids are what they are: e-mail addresses, URLs, Chinese."""
        for label in ("alice@example.com", "https://example.com/a?b=c", "张三", " ", "a\nb", "*"):
            store.put(("users", label), "k", {"label": label})
            item = store.get(("users", label), "k")
            assert item is not None
            assert item.value == {"label": label}
            assert keys(store.search(("users", label), filter={"label": label})) == ["k"]
        assert ("users", "alice@example.com") in store.list_namespaces(prefix=("users",))

    def test_async_methods_do_the_same(self, store: BaseStore) -> None:
        """Put, get, search, delete and list have their async twins; many at once lose nothing."""

        async def use() -> tuple[int, list[Any], Any]:
            await asyncio.gather(*(store.aput(DOCS, str(n), {"text": f"tea {n}"}) for n in range(20)))
            found = await store.asearch(DOCS, query="tea", limit=50)
            await store.adelete(DOCS, "0")
            return len(found), await store.alist_namespaces(), await store.aget(DOCS, "0")

        assert asyncio.run(use()) == (20, [DOCS], None)
        assert len(store.search(DOCS, limit=50)) == 19

    def test_item_expires_when_it_has_not_been_read(self, store: BaseStore, clock: Any) -> None:
        """After its minutes an item is gone from every read; put again it is a new one."""
        store.put(DOCS, "a", {"text": "tea"}, ttl=10)
        store.put(DOCS, "b", {"text": "tea"}, ttl=None)
        first = store.get(DOCS, "b")
        clock.advance(minutes=11)
        assert store.get(DOCS, "a") is None
        assert keys(store.search(DOCS)) == keys(store.search(DOCS, query="tea")) == ["b"]
        store.put(DOCS, "a", {"text": "coffee"}, ttl=10)
        item = store.get(DOCS, "a")
        assert item is not None
        assert first is not None
        assert item.created_at > first.created_at

    def test_reading_renews_the_time_to_live(self, store: BaseStore, clock: Any) -> None:
        """A get or a search starts the minutes anew, unless told not to."""
        store.put(DOCS, "a", {"text": "tea"}, ttl=10)
        for read in (lambda: store.get(DOCS, "a"), lambda: store.search(DOCS), lambda: store.search(DOCS, query="tea")):
            clock.advance(minutes=6)
            assert read()
        clock.advance(minutes=6)
        item = store.get(DOCS, "a", refresh_ttl=False)
        assert item is not None
        assert item.updated_at == item.created_at
        clock.advance(minutes=6)
        assert store.get(DOCS, "a") is None
