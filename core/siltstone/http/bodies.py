"""What requests hold: one model for each body, strict, without unknown fields, with an example for the description."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, model_validator
from typing_extensions import Self

Id: TypeAlias = Annotated[str, Field(min_length=1, max_length=4_000)]
Time: TypeAlias = Annotated[
    str, Field(description="ISO 8601, with its offset.", examples=["2026-05-08T09:30:00+08:00"])
]
UserId: TypeAlias = Annotated[
    str | None, Field(min_length=1, max_length=1_000, description="Whose memory; left out: the token's own user.")
]
Kind: TypeAlias = Literal["turn", "profile", "event", "fact", "summary", "insight", "document", "item"]
WritableKind: TypeAlias = Literal["profile", "event", "fact", "summary", "insight", "document", "item"]
Budget: TypeAlias = Annotated[int, Field(ge=1, le=1_000_000, description="Tokens, by the memory's own counter.")]
TopK: TypeAlias = Annotated[int, Field(ge=1, le=1_000)]


class Body(BaseModel):
    """What all bodies have: strict types, no unknown fields, and whose memory is meant."""

    model_config = ConfigDict(extra="forbid", strict=True)

    user_id: UserId = None


class Said(BaseModel):
    """One message."""

    model_config = ConfigDict(extra="forbid", strict=True)

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    name: str | None = None
    created_at: Time | None = None
    id: Id | None = None
    metadata: dict[str, Any] | None = None


def _example(**fields: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [fields]})


class Write(Body):
    """A whole dialogue, which takes the place of what the memory has of it."""

    model_config = _example(
        dialogue_id="session_002", dialogue_text="用户：我喜欢用 Python 写自动化脚本。\n助手：已记录。"
    )

    dialogue_id: Id
    dialogue_text: str | None = Field(
        None, description="Lines of `用户：`, `助手：`, `User:` or `Assistant:`; text without them is one user message."
    )
    messages: list[Said] | None = Field(None, max_length=100_000)
    created_at: Time | None = None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.dialogue_text is None) == (self.messages is None):
            raise ValueError("either dialogue_text or messages is needed")
        return self


class Add(Body):
    """Messages that are added to a session."""

    model_config = _example(session_id="monday", messages=[{"role": "user", "content": "I'm Alice."}])

    session_id: Id
    messages: list[Said] = Field(max_length=100_000)
    created_at: Time | None = None
    on_conflict: Literal["error", "update", "skip"] = "error"


class Remember(Body):
    """One memory that is not a turn."""

    model_config = _example(text="Prefers short answers.", kind="profile", pinned=True)

    text: str
    kind: WritableKind = "fact"
    occurred_at: Time | None = None
    expires_at: Time | None = None
    ttl: float | None = Field(None, gt=0, description="Seconds to live.")
    pinned: bool = False
    importance: float | None = Field(None, ge=0, le=1)
    session_id: Id | None = None
    source_ids: list[Id] = Field([], max_length=10_000)
    metadata: dict[str, Any] | None = None
    id: Id | None = None


class Update(Body):
    """What is to change of a record; what is left out stays."""

    model_config = _example(text="Prefers long answers.")

    text: str | None = None
    kind: WritableKind | None = None
    expires_at: Time | None = None
    pinned: bool | None = None
    importance: float | None = Field(None, ge=0, le=1)
    metadata: dict[str, Any] | None = None


class Question(Body):
    """A question of a user, to be answered with what is remembered."""

    model_config = _example(question="用户平时喜欢用什么语言", top_k=3)

    question: str
    top_k: TopK = 5
    max_tokens: Budget = 2_000


class Conditions(Body):
    """Which records are meant; conditions are joined by "and"."""

    model_config = _example(kinds=["profile", "fact"], since="2026-05-01T00:00:00Z")

    kinds: list[Kind] | None = None
    since: Time | None = None
    until: Time | None = None
    session_id: Id | None = None
    metadata: dict[str, Any] | None = None


class Search(Conditions):
    """A search: what for, how many, and among which records."""

    model_config = _example(query="Where does Alice work?", top_k=3)

    query: str
    top_k: TopK = 10
    exclude_session_id: Id | None = None
    exclude_ids: list[Id] = Field([], max_length=100_000)
    expand: Literal["source"] | None = None
    now: Time | None = None


class ForContext(Body):
    """What a context is for, and how much of the prompt it may take."""

    model_config = _example(query="What did we decide?", session_id="monday", max_tokens=800)

    query: str | None = None
    session_id: Id | None = None
    max_tokens: Budget = 2_000
    sections: list[Literal["profile", "summary", "recalled", "recent"]] | None = None
    exclude_ids: list[Id] = Field([], max_length=100_000)
    now: Time | None = None
    question: str | None = Field(
        None, description="Given: `prompt` and `messages` hold it, and the memories make room for it in the budget."
    )
    system: str | None = Field(None, description="A system text that goes with `question`.")


class Window(Body):
    """A budget for the newest turns of a session."""

    model_config = _example(session_id="monday", max_tokens=800)

    session_id: Id
    max_tokens: Budget


class Forget(Conditions):
    """What is to go for good; no condition at all is refused."""

    model_config = _example(session_id="monday", dry_run=True)

    ids: list[Id] | None = Field(None, max_length=100_000)
    everything: bool = False
    dry_run: bool = False


class Consolidate(Body):
    """Whether to do what is due, or only to say what it is."""

    model_config = _example(dry_run=True)

    dry_run: bool = False
    retry: bool = False


class Flush(Body):
    """How long to wait until everything can be found by meaning."""

    model_config = _example(timeout=10)

    timeout: float | None = Field(None, gt=0, le=3_600, description="Seconds; left out: a minute.")
