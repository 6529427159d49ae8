"""Settings from the environment, as the command line reads them."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripted_server import Answer, Asked, ScriptedServer
from siltstone import ConfigurationError, Settings
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


WORDS = {"over_budget", "on_sensitive", "replica", "short_term_down", "short_term_prefix", "vector_store_down"}
"""Settings that are judged where the store is opened."""


@pytest.mark.parametrize(
    "setting", sorted({field.name for field in dataclasses.fields(Settings)} - WORDS - {"headings"})
)
def test_every_setting_but_headings_has_its_variable(setting: str) -> None:
    """A value that is no value of the setting is refused, by the name of its variable; so none is passed over."""
    name = f"SILTSTONE_{setting.upper()}"
    with pytest.raises(ConfigurationError, match=name):
        settings({name: "[3]" if setting == "sensitive" else "nonsense"})


@pytest.mark.parametrize("setting", sorted(WORDS))
def test_a_word_is_passed_on_as_it_is(setting: str) -> None:
    """Whether it is one of those that the setting knows, the opening of a store decides."""
    assert getattr(settings({f"SILTSTONE_{setting.upper()}": "nonsense"}), setting) == "nonsense"


def embed(asked: Asked) -> Answer:
    """Answer as a server of embeddings would."""
    rows = HashEmbedder().embed_documents(asked.body["input"])
    return Answer({"data": [{"index": i, "embedding": row.tolist()} for i, row in enumerate(rows)]})


def run(server: ScriptedServer, *arguments: str) -> str:
    """Return what the command line prints that was told to keep addresses from a remote embedder."""
    environment = {**os.environ, "SILTSTONE_SENSITIVE": "email"}
    command = [sys.executable, "-m", "siltstone", *arguments, "--embedder", f"openai:hash@{server.url}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_line_keeps_what_is_sensitive(tmp_path: Path) -> None:
    """What is added and asked reaches a remote embedder without it, where the environment says so."""
    with ScriptedServer(embed) as server:
        run(server, "add", "I live in Lisbon, a@b.example.", "--session", "s", "--store", str(tmp_path / "m"))
        assert "Lisbon" in run(server, "search", "who is a@b.example?", "--store", str(tmp_path / "m"))
        asked = str([asked.body for asked in server.asked])
    assert "who is [redacted]?" in asked
    assert "a@b.example" not in asked


def test_a_measurement_keeps_what_is_sensitive(tmp_path: Path) -> None:
    """``bench`` embeds a user's own texts and questions, under the same rules."""
    said = {"created_at": "2024-05-08T09:30:00+00:00"}
    lines = [
        {"id": "a", "text": "I live in Lisbon, a@b.example.", **said},
        {"id": "b", "text": "I have a dog.", **said},
        {"question": "who is a@b.example?", "gold": ["a"]},
    ]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with ScriptedServer(embed) as server:
        run(server, "bench", "custom", str(tmp_path / "mine.jsonl"))
        asked = str([asked.body for asked in server.asked])
    assert "who is [redacted]?" in asked
    assert "a@b.example" not in asked
