"""A SiltstoneMemory that is saved, copied or pickled opens the same store again."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import json
import pickle
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.workflow import Context, JsonSerializer
from llama_script import Script, text

from llama_index_siltstone import SiltstoneMemory
from llama_index_siltstone.saving import opened_options, saved_location, saved_options
from siltstone import ConfigurationError, DecryptionError, NotFoundError, Settings, TieredMemory
from siltstone.recall.headings import CHINESE
from siltstone.testing import HashEmbedder, WordCounter

pytestmark = [
    # LlamaIndex looks for its steps with inspect.getmembers, which touches pydantic's deprecated attributes.
    pytest.mark.filterwarnings("ignore:.*deprecated:pydantic.warnings.PydanticDeprecatedSince20"),
    pytest.mark.filterwarnings("ignore:.*deprecated:pydantic.warnings.PydanticDeprecatedSince211"),
]


class HashedMemory(SiltstoneMemory):
    """Opens its store again with the embedder of these tests, which is an object and cannot be saved."""

    def open_memory(self) -> TieredMemory:
        """Open the store with that embedder."""
        return TieredMemory.open(
            self.location, user_id=self.user_id, embedder=HashEmbedder(), token_counter=WordCounter(), create=False
        )


def agent_following(script: Script) -> FunctionAgent:
    """Return an agent that answers by the script."""
    return FunctionAgent(llm=script.model, tools=[], streaming=False)


def saved_and_restored(context: Context, agent: FunctionAgent) -> Context:
    """Return the context after a way through JSON text."""
    saved = json.dumps(context.to_dict(serializer=JsonSerializer()))
    return Context.from_dict(agent, json.loads(saved), serializer=JsonSerializer())


@pytest.mark.elsewhere_than("memory", "vectors")
def test_restored_context_goes_on_with_the_same_conversation(tiered: TieredMemory) -> None:
    """After a way through JSON the agent still has its turns, and recalls what was said on another day."""
    script = Script("Noted.")

    async def talk() -> list[ChatMessage]:
        agent = agent_following(script)
        context = Context(agent)
        memory = HashedMemory.from_defaults(tiered, session_id="tuesday")
        await agent.run("My cat is called Miez.", ctx=context, memory=memory)
        context = saved_and_restored(context, agent)
        await agent.run("Where do I work?", ctx=context)
        restored: SiltstoneMemory = await context.store.get("memory")
        said = restored.get_all()
        restored.memory.close()
        return said

    assert [m.content for m in asyncio.run(talk())] == [
        "My cat is called Miez.",
        "Noted.",
        "Where do I work?",
        "Noted.",
    ]
    assert "My cat is called Miez." in text(script.sent[1])
    assert "Shenzhen" in text(script.sent[1])


def test_saved_memory_is_plain_json_and_holds_no_key(folder: Path) -> None:
    """What is saved says where the store is and how it was opened, and nothing secret or unreadable."""
    memory = SiltstoneMemory.from_defaults(
        location=folder,
        user_id="alice",
        embedder=HashEmbedder(),
        token_counter=WordCounter(),
        durability="os",
        session_id="s",
        token_limit=500,
    )
    saved = json.loads(json.dumps(memory.to_dict()))
    assert saved["location"] == str(folder)
    assert saved["options"] == {"durability": "os"}
    assert (saved["user_id"], saved["session_id"], saved["token_limit"]) == ("alice", "s", 500)
    assert "key" not in saved["options"]
    memory.memory.close()


@pytest.mark.elsewhere_than("memory", "vectors")
@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, copy.copy, lambda m: m.model_copy(deep=True), lambda m: pickle.loads(pickle.dumps(m))],
    ids=["deepcopy", "copy", "model_copy", "pickle"],
)
def test_copies_speak_for_the_same_conversation(tiered: TieredMemory, copied: Any) -> None:
    """A copy of any make, whatever locks and files the store holds, reads and writes the same conversation."""
    memory = HashedMemory.from_defaults(tiered, session_id="tuesday")
    memory.put(ChatMessage("My cat is called Miez."))
    twin = copied(memory)
    twin.put(ChatMessage("Lovely!", role="assistant"))
    assert [m.content for m in memory.get_all()] == ["My cat is called Miez.", "Lovely!"]
    assert memory.get_all() == twin.get_all()
    if twin.memory is not tiered:
        twin.memory.close()


def test_memory_without_a_folder_says_that_it_cannot_be_restored() -> None:
    """A ``":memory:"`` store ends with its process: restoring it is one clear error, not an empty memory."""
    memory = SiltstoneMemory.from_defaults(location=":memory:", embedder=HashEmbedder(), token_counter=WordCounter())
    with pytest.raises(ConfigurationError, match="cannot be opened again from a saved state; use a folder"):
        SiltstoneMemory.from_dict(memory.to_dict())
    assert copy.deepcopy(memory).memory is memory.memory


def test_empty_memory_is_not_mistaken_for_none() -> None:
    """LlamaIndex writes ``memory or default``: an empty memory has to be true."""
    assert SiltstoneMemory.from_defaults(location=":memory:", embedder=HashEmbedder(), token_counter=WordCounter())


def test_open_memory_and_location_are_not_mixed(tiered: TieredMemory) -> None:
    """An open memory takes no options of opening: which of them would hold?"""
    with pytest.raises(ConfigurationError, match="pass either an open memory or embedder="):
        SiltstoneMemory.from_defaults(tiered, embedder=HashEmbedder())
    with pytest.raises(ConfigurationError, match="pass either an open memory or location="):
        SiltstoneMemory.from_defaults(tiered, location="elsewhere")


def test_restored_memory_finds_its_store_from_another_folder_or_says_that_it_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative location is saved in full; where no store is, none is made in its place."""
    monkeypatch.chdir(tmp_path)
    with TieredMemory.open("memory", embedder=HashEmbedder(), token_counter=WordCounter()) as tiered:
        saved = HashedMemory.from_defaults(tiered, session_id="s").to_dict()
    assert saved["location"] == str(tmp_path / "memory")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    HashedMemory.from_dict(saved).memory.close()
    with pytest.raises(NotFoundError):
        SiltstoneMemory.from_dict({**saved, "location": str(tmp_path / "gone"), "left_out": []})
    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize(
    ("location", "saved"),
    [
        ("postgresql://alice:s3cret@host:5432/db?sslmode=require", "postgresql://alice@host:5432/db?sslmode=require"),
        ("postgresql://h/db?user=u&password=s3cret&sslkey=/k.pem", "postgresql://h/db?user=u&sslkey=/k.pem"),
        ("postgresql://h/db?SSLPASSWORD=s3cret", "postgresql://h/db"),
        ("postgresql:///db?host=/run/pg", "postgresql:///db?host=/run/pg"),
        ("postgresql://u:s3:cr@et@[::1]:5432/db", "postgresql://u@[::1]:5432/db"),
        ("https://s3cret@memory.example.com/v1", "https://memory.example.com/v1"),
        ("https://u:s3cret@memory.example.com", "https://memory.example.com"),
        ("https://h/m?a=1&access_token=s3cret", "https://h/m?a=1"),
        ("https://h/m?token=s3cret;b=2", "https://h/m?b=2"),
        ("https://h/m?api_key=s3cret#s3cret", "https://h/m"),
        ("https://memory.example.com", "https://memory.example.com"),
        ("sqlite:////srv/file.db", "sqlite:////srv/file.db"),
        (":memory:", ":memory:"),
    ],
)
def test_saved_location_holds_no_secret(location: str, saved: str) -> None:
    """The URL of a server is saved without what is secret in it; who restores it has that from elsewhere."""
    assert saved_location(location) == saved


def test_saved_location_is_good_for_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder and a SQLite file are saved by their full path."""
    monkeypatch.chdir(tmp_path)
    assert saved_location("memory") == f"{tmp_path}/memory"
    assert saved_location("sqlite:///file.db") == f"sqlite:///{tmp_path}/file.db"


def test_memory_in_a_sqlite_file_is_opened_again(tmp_path: Path) -> None:
    """A store that is named by a URL comes back from a saved state as a folder does."""
    options = {"embedder": HashEmbedder(), "token_counter": WordCounter(), "session_id": "s"}
    memory = HashedMemory.from_defaults(location=f"sqlite:///{tmp_path}/file.db", **options)
    memory.put(ChatMessage("My cat is called Miez."))
    restored = HashedMemory.from_dict(json.loads(json.dumps(memory.to_dict())))
    assert text(restored.get_all()) == "My cat is called Miez."
    restored.memory.close()
    memory.memory.close()


SETTINGS = [
    Settings(sensitive=["email", r"\d{16}", re.compile("pin", re.IGNORECASE)], on_sensitive="local"),
    Settings(max_message_chars=3_000_000, refresh=True, capacity_records=9, session_idle=float("inf")),
    Settings(headings=CHINESE),
]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("open_before", [True, False])
def test_settings_are_saved_with_the_memory(folder: Path, settings: Settings, open_before: bool) -> None:
    """What is redacted and every other limit hold after a way through JSON, however the memory was made."""
    if open_before:
        memory = SiltstoneMemory.from_defaults(TieredMemory.open(folder, settings=settings))
    else:
        memory = SiltstoneMemory.from_defaults(location=folder, settings=settings)
    saved = json.loads(json.dumps(memory.to_dict()))
    memory.memory.close()
    restored = SiltstoneMemory.from_dict(saved)
    again = restored.memory.opened_with["settings"]
    assert {**vars(again), "sensitive": ()} == {**vars(settings), "sensitive": ()}
    assert list(again.sensitive) == list(settings.sensitive)
    assert restored.to_dict() == saved
    restored.memory.close()


def test_every_setting_can_be_saved() -> None:
    """Each field of ``Settings``, set to another value than its default, comes back from JSON."""
    for field in dataclasses.fields(Settings):
        usual = getattr(Settings(), field.name)
        words = {"sensitive": ["email"], "headings": CHINESE, "on_sensitive": "local", "over_budget": "extractive"}
        if field.name in words:
            value: Any = words[field.name]
        else:
            value = not usual if isinstance(usual, bool) else (usual or 1) * 2
        saved, left_out = saved_options({"settings": Settings(**{field.name: value})})
        assert left_out == []
        again = opened_options(json.loads(json.dumps(saved)))["settings"]
        assert getattr(again, field.name) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("settings", Settings(sensitive=["email", str.strip])),
        ("embedder", HashEmbedder()),
        ("token_counter", WordCounter()),
        ("summarizer", "openai:m@https://u:s3cret@host/v1"),
        ("summarizer", "openai:m@https://s3cret@host/v1"),
        ("llm", "ollama:m@http://host?token=s3cret"),
        ("reranker", "openai:m@https://host/v1?a=1&api-key=s3cret"),
        ("embedder", "openai:http-model@https://u:s3cret@host"),
    ],
)
def test_memory_is_not_opened_again_without_what_cannot_be_saved(
    folder: Path, name: str, value: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """Objects, callables and secrets are in no saved state: saving warns, restoring says what is missing."""
    memory = SiltstoneMemory.from_defaults(TieredMemory.open(folder, **{name: value}), session_id="s")
    with caplog.at_level("WARNING", "siltstone"):
        saved = json.loads(json.dumps(memory.to_dict()))
    memory.memory.close()
    assert f"cannot hold {name}=" in caplog.text
    assert "s3cret" not in json.dumps(saved) + caplog.text
    with pytest.raises(ConfigurationError, match=f"cannot hold {name}=.*override SiltstoneMemory.open_memory"):
        SiltstoneMemory.from_dict(saved)


def test_settings_that_name_a_server_with_a_password_are_neither_saved_nor_shown() -> None:
    """The address of a standby holds a secret as any address may: it is in no saved state and no representation."""
    settings = Settings(replica="postgresql://u:s3cret@standby/db")
    assert saved_options({"settings": settings}) == ({}, ["settings"])
    assert "s3cret" not in repr(settings)
    settings = Settings(replica="postgresql://u@standby/db")
    assert saved_options({"settings": settings}) == ({"settings": {"replica": "postgresql://u@standby/db"}}, [])


def test_models_named_by_address_are_saved(folder: Path) -> None:
    """A model's name and address without a secret are opened again as they were."""
    models = {"summarizer": "openai:m@http://localhost:1/v1?version=2", "llm": "ollama:m"}
    memory = SiltstoneMemory.from_defaults(TieredMemory.open(folder, **models), session_id="s")
    assert (memory.options, memory.left_out) == (models, [])
    memory.memory.close()


@pytest.mark.slow
def test_context_saved_to_a_file_goes_on_in_another_process(tmp_path: Path) -> None:
    """One process talks and saves its Context; another, with the embedded default model, restores it and recalls."""
    program = textwrap.dedent(
        """
        import asyncio, json, sys
        from llama_index.core.agent.workflow import FunctionAgent
        from llama_index.core.workflow import Context, JsonSerializer
        from llama_script import Script, text
        from llama_index_siltstone import SiltstoneMemory
        from siltstone import TieredMemory

        async def talk(step, folder, saved):
            script = Script("Noted.")
            agent = FunctionAgent(llm=script.model, tools=[], streaming=False)
            if step == "first":
                with TieredMemory.open(folder, user_id="alice") as store:
                    store.add([("user", "I am a front-end engineer in Shenzhen.")], session_id="monday")
                context = Context(agent)
                memory = SiltstoneMemory.from_defaults(location=folder, user_id="alice", session_id="tuesday")
                await agent.run("My cat is called Miez.", ctx=context, memory=memory)
                open(saved, "w").write(json.dumps(context.to_dict(serializer=JsonSerializer())))
            else:
                data = json.load(open(saved))
                context = Context.from_dict(agent, data, serializer=JsonSerializer())
                await agent.run("What is my profession?", ctx=context)
                print(text(script.sent[0]))

        asyncio.run(talk(*sys.argv[1:]))
        """
    )
    here = str(Path(__file__).parent)
    outputs = [
        subprocess.run(
            [sys.executable, "-c", f"import sys; sys.path.insert(0, {here!r})\n{program}", step, *map(str, paths)],
            check=True, capture_output=True, text=True, timeout=240,
        ).stdout
        for step in ("first", "second")
        for paths in [(tmp_path / "memory", tmp_path / "context.json")]
    ]  # fmt: skip
    assert "My cat is called Miez." in outputs[1]
    assert "I am a front-end engineer in Shenzhen." in outputs[1]


@pytest.mark.elsewhere_than("memory", "vectors")
def test_a_pickled_memory_goes_on_in_another_process(tiered: TieredMemory, tmp_path: Path) -> None:
    """What a worker process is handed opens the same store, with its turns, limits and what waits to be stored."""
    memory = HashedMemory.from_defaults(tiered, session_id="tuesday", token_limit=500, insert="system")
    memory.put(ChatMessage("My cat is called Miez."))
    tiered.failing = True  # type: ignore[attr-defined]
    memory.put(ChatMessage("She is three.", role="assistant"))
    tiered.failing = False  # type: ignore[attr-defined]
    (tmp_path / "pickled").write_bytes(pickle.dumps(memory))
    program = textwrap.dedent(
        f"""
        import pickle, sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        memory = pickle.load(open(sys.argv[1], "rb"))
        print([message.content for message in memory.get_all()], memory.token_limit, memory.insert)
        print(memory.get(input="Where do I work?")[0].content)
        memory.memory.close()
        """
    )
    python = [sys.executable, "-c", program, str(tmp_path / "pickled")]
    told = subprocess.run(python, check=True, capture_output=True, text=True, timeout=240).stdout
    assert told.startswith("['My cat is called Miez.', 'She is three.'] 500 system\n")
    assert "a front-end engineer in Shenzhen" in told
    assert [m.content for m in tiered.messages("tuesday")] == ["My cat is called Miez.", "She is three."]
    assert len(memory.get_all()) == 2  # this one stores it as well: once


def test_a_saved_memory_holds_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of an encrypted store is in no saved state; restored, it comes from the environment, or is missed."""
    pytest.importorskip("cryptography")
    options = {"location": tmp_path, "session_id": "s", "embedder": HashEmbedder(), "token_counter": WordCounter()}
    memory = HashedMemory.from_defaults(key="open sesame", **options)
    memory.put(ChatMessage(role="user", content="I like heliotropes."))
    saved = memory.to_dict()
    assert "sesame" not in json.dumps(saved)
    assert b"sesame" not in pickle.dumps(memory)
    memory.memory.close()
    with pytest.raises(DecryptionError, match="SILTSTONE_KEY"):
        HashedMemory.from_dict(saved)
    monkeypatch.setenv("SILTSTONE_KEY", "open sesame")
    restored = HashedMemory.from_dict(saved)
    assert text(restored.get_all()) == "I like heliotropes."
    restored.memory.close()
