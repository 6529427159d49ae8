"""Adapters whose framework is not installed say so in one sentence."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ADAPTERS = {
    "llama_index_siltstone": (
        ["SiltstoneMemory", "SiltstoneMemoryBlock", "SiltstoneRetriever", "SiltstoneToolSpec", "export_faiss"],
        ["llama_index"],
        "llama-index",
    ),
    "langchain_siltstone": (
        [
            "SiltstoneChatMessageHistory",
            "SiltstoneMemoryMiddleware",
            "SiltstoneRetriever",
            "SiltstoneStore",
            "create_memory_tools",
        ],
        ["langchain", "langchain_core", "langgraph"],
        "langchain",
    ),
}


def run(program: str) -> str:
    """Return what a program prints in a Python of its own."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_missing_framework_is_one_sentence_with_the_line_to_paste(adapter: str) -> None:
    """Each name of the adapter imports without its framework, and using it names the extra."""
    names, frameworks, extra = ADAPTERS[adapter]
    program = textwrap.dedent(
        f"""
        import sys

        class Absent:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] in {frameworks!r}:
                    raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

        sys.meta_path.insert(0, Absent())
        import {adapter} as adapter
        from siltstone import MissingDependencyError

        assert adapter.__all__ == sorted({names!r}), adapter.__all__
        for name in adapter.__all__:
            try:
                getattr(adapter, name)
            except MissingDependencyError as exc:
                print(exc)
        """
    )
    told = run(program).splitlines()
    assert len(told) == len(names)
    assert all(line.endswith(f'pip install "siltstone[{extra}]"') for line in told)


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_importing_an_adapter_loads_no_framework(adapter: str) -> None:
    """The framework is loaded when a name of the adapter is first used."""
    _, frameworks, _ = ADAPTERS[adapter]
    assert run(f"import sys, {adapter}; print([n for n in {frameworks!r} if n in sys.modules])") == "[]\n"


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_unknown_names_are_attribute_errors(adapter: str) -> None:
    """An adapter refuses names that it does not have as any module would."""
    module = __import__(adapter)
    with pytest.raises(AttributeError, match="no attribute 'Memory'"):
        module.Memory  # noqa: B018 - the access is the test


def test_llamahub_lists_the_classes_that_there_are() -> None:
    """``[tool.llamahub]`` names the package and each of its classes."""
    tomllib = pytest.importorskip("tomllib", reason="this Python reads no TOML")
    project = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    listed = tomllib.loads(project)["tool"]["llamahub"]
    package = __import__(listed["import_path"])
    assert list(listed["class_authors"]) == [name for name in package.__all__ if name[0].isupper()]


def test_an_encrypted_store_needs_an_extra_and_a_plain_one_does_not() -> None:
    """Without ``cryptography`` a key is refused with the line to paste, before a store is made; plain stores work."""
    program = textwrap.dedent(
        """
        import os, sys, tempfile

        sys.modules["cryptography"] = None
        from siltstone import MissingDependencyError
        from siltstone.stores.folder import FolderStore

        folder = tempfile.mkdtemp()
        try:
            FolderStore(folder, key=bytes(32))
        except MissingDependencyError as exc:
            print(exc)
        print(os.path.exists(os.path.join(folder, "STORE")))
        FolderStore(folder).close()
        """
    )
    told, made = run(program).splitlines()
    assert told.endswith('pip install "siltstone[encryption]"')
    assert made == "False"


@pytest.mark.parametrize("option", ["embedder", "reranker"])
def test_a_named_model_whose_package_is_missing_is_refused_at_opening(tmp_path: Path, option: str) -> None:
    """No store is made for a model that could not embed the first message, and finding out imports nothing."""
    program = textwrap.dedent(
        f"""
        import os, sys

        class Without:
            def __init__(self, finder):
                self.finder = finder

            def find_spec(self, name, path=None, target=None):
                return None if name == "sentence_transformers" else self.finder.find_spec(name, path, target)

        from siltstone import MissingDependencyError, TieredMemory
        from siltstone.testing import HashEmbedder

        models = {{"embedder": HashEmbedder(), {option!r}: "sentence-transformers:bge-m3"}}
        sys.meta_path[:] = map(Without, sys.meta_path)
        try:
            TieredMemory.open({str(tmp_path / "m")!r}, **models)
        except MissingDependencyError as exc:
            print(exc)
        print("torch" in sys.modules or os.path.exists({str(tmp_path / "m")!r}))
        """
    )
    told, done = run(program).splitlines()
    assert told.endswith('pip install "siltstone[sentence-transformers]"')
    assert done == "False"
