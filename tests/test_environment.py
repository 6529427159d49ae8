"""Settings from the environment, as the command line reads them."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripted_server import Answer, ScriptedServer
from siltstone import ConfigurationError, Settings, TieredMemory
from siltstone.cli.environment import settings
from siltstone.testing import HashEmbedder


def test_a_variable_sets_what_it_names() -> None:
    """Numbers, switches and words; what is not named, or empty, has its default."""
    found = settings(
        {
            "SILTSTONE_REQUESTS_PER_DAY": "500",
            "SILTSTONE_MODEL_TIMEOUT": "2.5",
            "SILTSTONE_REFLECT": "yes",
            "SILTSTONE_OVER_BUDGET": "extractive",
            "SILTSTONE_SENSITIVE": "email, phone",
            "SILTSTONE_CONCURRENCY": "",
            "SILTSTONE_STORE": "elsewhere",
        }
    )
    assert found == dataclasses.replace(
        Settings(),
        requests_per_day=500,
        model_timeout=2.5,
        reflect=True,
        over_budget="extractive",
        sensitive=["email", "phone"],
    )


def test_patterns_with_commas_are_a_json_list() -> None:
    """A list in brackets is read as JSON."""
    assert settings({"SILTSTONE_SENSITIVE": json.dumps(["card", "a{1,3}"])}).sensitive == ["card", "a{1,3}"]


@pytest.mark.parametrize("field", dataclasses.fields(Settings), ids=lambda field: field.name)
def test_every_setting_but_headings_has_its_variable(field: dataclasses.Field[object]) -> None:
    """A value that is no value of the setting is refused, by the name of its variable; so none is passed over."""
    if field.name == "headings":
        return
    name = f"SILTSTONE_{field.name.upper()}"
    words = {"over_budget", "on_sensitive"}  # judged where the store is opened
    value = "[3]" if field.name == "sensitive" else "nonsense"
    if field.name in words:
        assert getattr(settings({name: value}), field.name) == value
        return
    with pytest.raises(ConfigurationError, match=name):
        settings({name: value})


def test_the_command_line_keeps_what_is_sensitive(tmp_path: Path) -> None:
    """A search with a remote embedder sends the question without it, where the environment says so."""

    def embed(asked: object) -> Answer:
        texts = asked.body["input"]  # type: ignore[attr-defined]
        rows = HashEmbedder().embed_documents(texts)
        return Answer({"data": [{"index": i, "embedding": row.tolist()} for i, row in enumerate(rows)]})

    with ScriptedServer(embed) as server:
        with TieredMemory.open(tmp_path / "m", embedder=f"openai:hash@{server.url}") as memory:
            memory.add([("user", "I live in Lisbon.")], session_id="s")
        before = len(server.asked)
        environment = {**os.environ, "SILTSTONE_SENSITIVE": "email", "SILTSTONE_EMBEDDER": f"openai:hash@{server.url}"}
        command = [sys.executable, "-m", "siltstone", "search", "who is a@b.example?", "--store", str(tmp_path / "m")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
        assert "Lisbon" in done.stdout
        assert "who is [redacted]?" in str([asked.body for asked in server.asked[before:]])
        assert "a@b.example" not in str([asked.body for asked in server.asked])
