"""A SiltstoneMemory that is saved, copied or pickled opens the same store again."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
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
from llama_index_siltstone.memory import _saved_location
from siltstone import ConfigurationError, DecryptionError, NotFoundError, TieredMemory
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
        return restored.get_all()

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
        SiltstoneMemory.from_dict({**saved, "location": str(tmp_path / "gone")})
    assert not (tmp_path / "gone").exists()


def test_saved_location_holds_no_password() -> None:
    """The URL of a server is saved without its password; who restores it has that from elsewhere."""
    assert _saved_location("postgresql://alice:secret@host:5432/db?sslmode=require") == (
        "postgresql://alice@host:5432/db?sslmode=require"
    )
    assert _saved_location("https://memory.example.com") == "https://memory.example.com"


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
