"""The wheel: what it holds, and that it works without the sources."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
JUNK = re.compile(r"/(__pycache__|\.[a-z]+_cache)/")
PACKAGES = {
    "siltstone": "core",
    "llama_index_siltstone": "llama_memory",
    "langchain_siltstone": "langchain_memory",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from a copy of the sources, which is gone when the tests run."""
    pytest.importorskip("hatchling", reason="building the wheel needs hatchling")
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    junk = shutil.ignore_patterns("__pycache__", ".*_cache")
    for folder in PACKAGES.values():
        shutil.copytree(ROOT / folder, source / folder, ignore=junk)
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, source)
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(target)]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    shutil.rmtree(source)
    (built,) = target.glob("*.whl")
    return built


def test_the_wheel_holds_exactly_the_three_packages(wheel: Path) -> None:
    """Nothing but the packages and their metadata is installed, and every module of theirs is."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    folders = {name.split("/")[0] for name in names}
    sources = {
        path.relative_to(ROOT / folder).as_posix()
        for package, folder in PACKAGES.items()
        for path in (ROOT / folder / package).rglob("*")
        if path.is_file() and not JUNK.search(path.as_posix())
    }

    assert {folder for folder in folders if not folder.endswith(".dist-info")} == set(PACKAGES)
    assert {name for name in names if ".dist-info/" not in name} == sources
    assert {f"{package}/py.typed" for package in PACKAGES} <= names


def test_the_wheel_works_with_the_sources_deleted(wheel: Path, tmp_path: Path) -> None:
    """Installed into a fresh environment, far from the sources, it adds, searches and has a command line."""
    home = tmp_path / "venv"
    venv.create(home, symlinks=True)
    bin = home / "bin"
    install = [sys.executable, "-m", "pip", "--python", str(bin / "python"), "install", "--no-deps", "--no-index"]
    subprocess.run([*install, str(wheel)], check=True, capture_output=True)
    (site,) = home.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")

    code = (
        "import siltstone, pathlib, sys\n"
        "assert pathlib.Path(siltstone.__file__).is_relative_to(sys.prefix), siltstone.__file__\n"
        "from siltstone import TieredMemory\n"
        "from siltstone.testing import HashEmbedder, WordCounter\n"
        "models = {'embedder': HashEmbedder(), 'token_counter': WordCounter()}\n"
        "with TieredMemory.open('store', **models) as memory:\n"
        "    memory.add([('user', '我叫张三，是深圳的前端工程师。')], session_id='一')\n"
        "with TieredMemory.open('store', **models) as memory:\n"
        "    print(memory.search('我叫什么名字？')[0].record.text)\n"
    )
    ran = subprocess.run([bin / "python", "-c", code], cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    version = subprocess.run([bin / "siltstone", "--version"], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert ran.stdout == "我叫张三，是深圳的前端工程师。\n", ran.stderr
    assert version.stdout.startswith("siltstone ")
