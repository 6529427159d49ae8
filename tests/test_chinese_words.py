"""Chinese words as terms, with the extra and without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from siltstone import TieredMemory
from siltstone.stores.files import cache
from siltstone.testing import HashEmbedder
from siltstone.text.chinese_words import DICTIONARY, longer_words
from siltstone.text.tokenize import VERSION, terms

WITHOUT = """
import sys
sys.modules["rjieba"] = None
from siltstone import TieredMemory
from siltstone.testing import HashEmbedder
from siltstone.text.tokenize import VERSION, terms
with TieredMemory.open(sys.argv[1], embedder=HashEmbedder()) as memory:
    print(VERSION, terms("五月天"), memory.search("五月天的演唱会")[0].record.text)
"""


def test_longer_words_are_terms_beside_characters_and_pairs() -> None:
    """A word of three characters is a term of its own; nothing that was a term goes, and names are not guessed."""
    pytest.importorskip("rjieba")
    held = terms("我周五和张伟去听五月天的演唱会")
    assert {"五月天", "演唱会", "五月", "月天", "演唱", "五", "听"} <= set(held)
    assert not any("张伟" in term for term in held if len(term) > 2)
    assert list(longer_words("今天")) == []
    assert list(longer_words("カラオケに行きました")) == []


def test_without_the_extra_an_index_that_has_words_is_made_anew(tmp_path: Path) -> None:
    """A store moves between machines with and without the dictionary: each searches by the terms that it makes."""
    pytest.importorskip("rjieba")
    assert f"4, {DICTIONARY}" == VERSION
    with TieredMemory.open(tmp_path, embedder=HashEmbedder()) as memory:
        memory.add([("user", "我周五去听五月天的演唱会。"), ("user", "五月的天气真好。")], session_id="a")
        memory.add([("user", f"number {n}") for n in range(300)], session_id="b")  # enough for a cache
        memory.flush()
        assert memory.search("五月天的演唱会")[0].record.text == "我周五去听五月天的演唱会。"
    assert {terms_of(folder) for folder in tmp_path.rglob(cache.NAME)} == {VERSION}
    ran = subprocess.run([sys.executable, "-c", WITHOUT, str(tmp_path)], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "4 ['五', '五月', '月', '月天', '天', 'may'] 我周五去听五月天的演唱会。"
    assert {terms_of(folder) for folder in tmp_path.rglob(cache.NAME)} == {4}


def terms_of(file: Path) -> object:
    """Return the version of the terms in a cache."""
    found = cache.read(str(file.parent))
    assert found is not None
    return found[0]["terms"]
