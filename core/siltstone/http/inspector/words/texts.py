"""What the pages say, in no language yet: the names of their texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..session import Language


@dataclass(frozen=True)
class Words:
    """The texts of one language; ``{…}`` is filled in."""

    lang: str
    other: str
    other_lang: Language
    skip: str
    pages: str
    known: str
    search: str
    timeline: str
    work: str
    digests: str
    api: str
    user: str
    show: str
    log_out: str
    page: str
    newer: str
    older: str
    more: str
    none: str
    # what is known
    profile: str
    no_profile: str
    coming: str
    nothing_coming: str
    facts: str
    no_facts: str
    no_topic: str
    empty: str
    # search
    query: str
    query_hint: str
    all_kinds: str
    kind: str
    go: str
    found: str
    nothing_found: str
    score: str
    parts: str
    remarks: str
    no_vectors: str
    # timeline and conversations
    with_turns: str
    since: str
    until: str
    conversation: str
    messages: str
    forget_conversation: str
    earlier: str
    read_all: str
    # a memory
    memory: str
    sources: str
    no_sources: str
    gone_sources: str
    rests_on_it: str
    history: str
    no_history: str
    replaced: str
    version: str
    edit: str
    text: str
    importance: str
    importance_hint: str
    expires_hint: str
    metadata_hint: str
    save: str
    pin: str
    unpin: str
    pinned: str
    forget: str
    saved: str
    unchanged: str
    pinned_now: str
    unpinned_now: str
    changed_meanwhile: str
    edit_hint: str
    facts_of_it: Mapping[str, str]
    # forgetting
    will_go: str
    goes_itself: str
    goes_along: str
    is_remade: str
    for_good: str
    forget_now: str
    keep: str
    forgotten: str
    nothing_to_forget: str
    other_now: str
    # work
    counts: str
    count: str
    jobs: str
    states: Mapping[str, str]
    no_jobs: str
    dead: str
    no_dead: str
    dead_hint: str
    do_due: str
    retry: str
    did: str
    size: str
    sizes: Mapping[str, str]
    disk: Mapping[str, str]
    growth: str
    month: str
    growth_hint: str
    stored: str
    last_error: str
    # digests
    digests_hint: str
    waiting: str
    retract: str
    noted: str
    # entrance and failures
    log_in: str
    token: str
    token_hint: str
    refused: str
    back: str
    go_on: str
    failures: Mapping[int, str]
    kinds: Mapping[str, str]
    roles: Mapping[str, str]
    score_parts: Mapping[str, str]
