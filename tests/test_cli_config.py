"""Settings of a run: flags before variables before the file, and ``config show``, which tells where each came from."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from shell import Ran, Shell
from siltstone import Settings
from siltstone.cli.environment import settings


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the shell is in, with no variables for the store."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("SILTSTONE_STORE", raising=False)
    return folder


def write(folder: Path, text: str, name: str = "siltstone.toml") -> Path:
    """Write a file of settings."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def shown(ran: Ran) -> dict[str, tuple[Any, str]]:
    """Return what ``config show --json`` printed: value and source, by name."""
    assert ran.code == 0, ran.err
    return {line["name"]: (line["value"], line["from"]) for line in ran.json["settings"]}


def test_each_source_stands_before_the_next(sh: Shell, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flag, a variable, the file, the default: in that order, of options and of settings."""
    assert shown(sh("config", "show", "--json"))["user"] == ("default", "default")
    write(here, 'user = "from file"\nhistory = 3\n')
    assert shown(sh("config", "show", "--json"))["user"] == ("from file", "siltstone.toml")
    assert shown(sh("config", "show", "--json"))["history"] == (3, "siltstone.toml")
    monkeypatch.setenv("SILTSTONE_USER", "from variable")
    monkeypatch.setenv("SILTSTONE_HISTORY", "4")
    assert shown(sh("config", "show", "--json"))["user"] == ("from variable", "SILTSTONE_USER")
    assert shown(sh("config", "show", "--json"))["history"] == (4, "SILTSTONE_HISTORY")
    flagged = shown(sh("--set", "history=5", "config", "show", "--json", "--user", "from flag"))
    assert flagged["user"] == ("from flag", "--user")
    assert flagged["history"] == (5, "--set")
    assert shown(sh("config", "show", "--json"))["history"] == (4, "SILTSTONE_HISTORY")


def test_what_is_shown_is_what_is_done(sh: Shell, here: Path) -> None:
    """Whose memory and where is read from the file by every command, and so are settings."""
    write(here, 'store = "./kept"\nuser = "小林"\nmax_message_chars = 20\n')

    assert sh("add", "我住在杭州。").code == 0
    refused = sh("add", "x" * 21)

    assert refused.code == 1
    assert "20" in refused.err
    assert (here / "kept" / "STORE").exists()
    assert "杭州" in sh("search", "杭州", "--store", "kept", "--user", "小林").out
    assert sh("audit", "--sample", "1").code == 0  # of the user that the file names


def test_all_settings_and_options_are_shown(sh: Shell, here: Path) -> None:
    """Each field of ``Settings`` and each option with a variable has its line, in the table too."""
    found = shown(sh("config", "show", "--json"))
    table = sh("config", "show").out

    assert set(Settings.__dataclass_fields__) | {"store", "user", "embedder", "summarizer", "key_file"} <= set(found)
    assert all(source == "default" for _, source in found.values())
    assert all(re.search(rf"\b{name}\b", table) for name in found)


def test_the_file_is_the_named_one_then_this_folders_then_ones_own(
    sh: Shell, here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--config`` before ``SILTSTONE_CONFIG`` before ``./siltstone.toml`` before the one in the user's folder."""
    if sys.platform == "darwin":
        pytest.skip("the user's own folder is elsewhere")
    for number, folder in enumerate((tmp_path / "config" / "siltstone", here, tmp_path / "b", tmp_path / "a"), 1):
        path = write(folder, f"history = {number}\n")
        if number == 3:
            monkeypatch.setenv("SILTSTONE_CONFIG", str(path))
        flags = ("--config", str(path)) if number == 4 else ()
        ran = sh(*flags, "config", "show", "--json")
        assert shown(ran)["history"][0] == number
        assert Path(ran.json["file"]).resolve() == path


def test_places_are_meant_from_the_folder_of_the_file(sh: Shell, here: Path, tmp_path: Path) -> None:
    """A file elsewhere names a store beside itself; what is no path from there stays what it is."""
    for said, meant in (
        ("./m", str(tmp_path / "b" / "m")),
        ("~/m", str(Path.home() / "m")),
        ("/srv/m", "/srv/m"),
        (":memory:", ":memory:"),
        ("http://localhost:8000", "http://localhost:8000"),
    ):
        path = write(tmp_path / "b", f'store = "{said}"\n')
        assert shown(sh("--config", str(path), "config", "show", "--json"))["store"][0] == meant


@pytest.mark.parametrize(
    ("line", "nearest"),
    [
        ("request_per_day = 5", "requests_per_day"),
        ('embeder = "x"', "embedder"),
        ("span-turns = 5", "span_turns"),
        ("zzzz = 1", "siltstone config show"),
        ("[headings]\npreambel = 'x'", "preamble"),
        ("[settings]\nhistory = 1", "no setting"),
    ],
)
def test_a_name_that_is_none_is_refused_with_the_nearest(sh: Shell, here: Path, line: str, nearest: str) -> None:
    """A misspelt setting is never passed over: nothing is opened, and what was meant is named."""
    write(here, line)

    refused = sh("add", "Hello.")

    assert refused.code == 1
    assert nearest in refused.err
    assert "siltstone.toml" in refused.err
    assert not (here / "memory").exists()


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ('history = "five"', "a whole number"),
        ("history = true", "a whole number"),
        ("embed_wait = 'long'", "a number"),
        ("worker = 1", "true or false"),
        ("over_budget = 5", "a text"),
        ('sensitive = "email"', "a list of texts"),
        ("headings = 'x'", "a table"),
        ("[headings]\npreamble = 'x'", "lacks"),
        ("store = ['a']", "one value"),
        ("history = ", "no TOML"),
    ],
)
def test_a_value_of_another_type_is_refused(sh: Shell, here: Path, line: str, wanted: str) -> None:
    """What a value should be is said, with the file and the name."""
    write(here, line)

    refused = sh("stats")

    assert refused.code == 1
    assert wanted in refused.err
    assert "siltstone.toml" in refused.err


def test_values_of_each_type_are_read(sh: Shell, here: Path) -> None:
    """Whole numbers stand for numbers; lists of rules and the words of a context can be written in a file only."""
    words = "\n".join(
        f'{name} = "{name}{{}}"'
        for name in ("preamble", "profile", "summary", "recalled", "recent", "user", "assistant", "until")
    )
    write(here, f'embed_wait = 2\nworker = false\nsensitive = ["email", "a{{1,3}}"]\n[headings]\n{words}\n')

    found = shown(sh("config", "show", "--json"))

    assert found["embed_wait"][0] == 2
    assert found["sensitive"][0] == ["email", "a{1,3}"]
    assert found["headings"][0]["until"] == "until{}"
    assert sh("add", "Hello.").code == 0
    assert "recalled{}" in sh("context", "hello, who says it?").out


@pytest.mark.parametrize("name", ["key", "api_key", "token", "password"])
def test_secrets_are_refused_in_a_file(sh: Shell, here: Path, name: str) -> None:
    """A file of settings is read by many; the refusal says where a secret goes, and does not repeat it."""
    write(here, f'{name} = "open sesame"')

    refused = sh("config", "show")

    assert refused.code == 1
    assert "secret" in refused.err
    assert "sesame" not in refused.err


def test_no_secret_is_ever_shown(sh: Shell, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are told as set; addresses are told without a password and without what follows a question mark."""
    monkeypatch.setenv("SILTSTONE_KEY", "open sesame")
    monkeypatch.setenv("SILTSTONE_API_KEY", "sk-sesame")
    monkeypatch.setenv("SILTSTONE_SUMMARIZER", "openai:qwen@https://me:sesame@host.example/v1?code=sesame")
    for ran in (sh("config", "show"), sh("config", "show", "--json")):
        assert "sesame" not in ran.out + ran.err
        assert "host.example" in ran.out
        assert "not shown" in ran.out


def test_a_file_that_others_may_write_is_not_read_unasked(sh: Shell, here: Path) -> None:
    """It could send a memory to another model; named, it is read."""
    path = write(here, "history = 3")
    path.chmod(0o666)

    refused = sh("config", "show")

    assert refused.code == 1
    assert "--config" in refused.err
    assert shown(sh("--config", "siltstone.toml", "config", "show", "--json"))["history"][0] == 3


def test_a_file_that_is_not_there_is_refused(sh: Shell, here: Path) -> None:
    """A named file has to be there, and text."""
    assert "none.toml" in sh("--config", "none.toml", "stats").err
    (here / "bytes.toml").write_bytes(b"\xff\xfe")
    assert sh("--config", "bytes.toml", "stats").code == 1


@pytest.mark.parametrize("pair", ["history", "histroy=3", "headings=x"])
def test_a_flag_that_sets_nothing_is_wrong_usage(sh: Shell, here: Path, pair: str) -> None:
    """``--set`` takes a name and a value."""
    refused = sh("--set", pair, "stats")

    assert refused.code == 2


def test_a_flag_that_cannot_be_read_is_refused(sh: Shell, here: Path) -> None:
    """The value of a flag is held to its setting, and named."""
    refused = sh("--set", "history=many", "stats")

    assert refused.code == 1
    assert "--set history" in refused.err


def test_the_environment_alone_still_makes_settings() -> None:
    """Without a command line, and so without a file, variables and defaults are what there is."""
    assert settings({"SILTSTONE_HISTORY": "3"}).history == 3
    assert settings({}) == Settings()
    assert os.environ.get("SILTSTONE_HISTORY") is None
