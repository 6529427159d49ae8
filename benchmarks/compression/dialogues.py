"""Precision and recall of digests on fifty dialogues labelled by hand, by field, language and half.

    python benchmarks/compression/dialogues.py                       # extractive, no model
    python benchmarks/compression/dialogues.py --llm MODEL@URL       # a model behind an OpenAI-compatible server
    python benchmarks/compression/dialogues.py --llm MODEL@URL --window 1300 --timeout 600   # a small and slow one

The dialogues and their labels are our own. The ``first`` half was written before the rules, the ``second`` while they
were being worked on. An item counts when its sources, its words and whom it is about agree with a label; labels
marked optional neither demand nor forbid anything.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siltstone.compress.budget import RoughCounter
from siltstone.compress.extractive import ExtractiveSummarizer
from siltstone.errors import ModelError
from siltstone.protocols import Summarizer
from siltstone.records import Digest, DigestItem, Message, to_datetime

FIELDS = ("facts", "preferences", "events")
DIALOGUES = Path(__file__).with_name("dialogues.jsonl")


@dataclass(frozen=True)
class Dialogue:
    id: str
    language: str
    half: str
    topic: list[str]
    messages: list[Message]
    labels: list[dict[str, Any]]

    @property
    def characters(self) -> int:
        return sum(len(message.content) for message in self.messages)


def load(path: Path = DIALOGUES) -> list[Dialogue]:
    dialogues = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        messages = [Message(**{**one, "created_at": to_datetime(one["created_at"])}) for one in row["messages"]]
        dialogues.append(Dialogue(row["id"], row["language"], row["half"], row["topic"], messages, row["labels"]))
    return dialogues


def agrees(item: DigestItem, label: dict[str, Any], speakers: set[str]) -> bool:
    """Whether an item says what a label says: sources, words, and self or other where the item has a subject."""
    if not set(item.source_ids) & set(label["sources"]):
        return False
    text = item.text.casefold()
    about = [name.casefold() for name in label.get("about", [])]
    for choices in label["words"]:
        if not any(word.casefold() in text or word.casefold() in (item.subject or "").casefold() for word in choices):
            return False
    if item.subject is None:
        return True
    return (item.subject in speakers) != bool(about)


def on_day(item: DigestItem, label: dict[str, Any]) -> bool:
    first, last = label["date"]
    return item.occurred_at is not None and first <= item.occurred_at.date().isoformat() <= last


def judge(dialogue: Dialogue, digest: Digest, show: bool = False) -> Counter[str]:
    """Count per field: true and false items, labels found and missed, dates right and wrong."""
    speakers = {message.name or message.role for message in dialogue.messages}
    counts: Counter[str] = Counter()
    items = [(field, item) for field in FIELDS for item in getattr(digest, field)]
    matched = [
        [
            label
            for label in dialogue.labels
            if field in (label["field"], *label.get("or", [])) and agrees(item, label, speakers)
        ]
        for field, item in items
    ]
    for (field, item), labels in zip(items, matched, strict=True):
        elsewhere = any(label.get("optional") and agrees(item, label, speakers) for label in dialogue.labels)
        if labels and not all(label.get("optional") for label in labels):
            counts[f"{field} true"] += 1
        elif not labels and not elsewhere:
            counts[f"{field} false"] += 1
            if show:
                print(f"  {dialogue.id} + {field}: {item.text} [{item.subject}, {item.attribute}]")
    for label in dialogue.labels:
        if label.get("optional"):
            continue
        hits = [item for (_, item), labels in zip(items, matched, strict=True) if label in labels]
        counts[f"{label['field']} {'found' if hits else 'missed'}"] += 1
        if not hits and show:
            said = [m.content for m in dialogue.messages if m.id in label["sources"]]
            print(f"  {dialogue.id} - {label['field']}: {label['words']} {label.get('about', '')} in {said}")
        if "date" in label and hits and any(label is one for one in dialogue.labels):
            right = any(on_day(item, label) for item in hits)
            counts["dates right" if right else "dates wrong"] += 1
            if not right and show:
                print(f"  {dialogue.id} ≠ date: {label['date']} {[(i.text, i.occurred_at) for i in hits]}")
    topic = digest.topic.casefold()
    counts["topic right" if any(word.casefold() in topic for word in dialogue.topic) else "topic wrong"] += 1
    if show:
        print(f"  {dialogue.id} topic: {digest.topic} / {dialogue.topic}")
    return counts


def share(part: int, rest: int) -> str:
    return f"{100 * part / (part + rest):5.1f}" if part + rest else "    –"


def row(name: str, counts: Counter[str]) -> str:
    cells = []
    for field in FIELDS:
        cells.append(share(counts[f"{field} true"], counts[f"{field} false"]))
        cells.append(share(counts[f"{field} found"], counts[f"{field} missed"]))
    cells.append(share(counts["dates right"], counts["dates wrong"]))
    cells.append(share(counts["topic right"], counts["topic wrong"]))
    return f"| {name:<14} | " + " | ".join(cells) + " |"


def run(summarizer: Summarizer, dialogues: Sequence[Dialogue], show: Iterable[str] = ()) -> None:
    total: dict[tuple[str, str], Counter[str]] = {}
    shrink: dict[str, list[tuple[float, float]]] = {}
    done: Counter[str] = Counter()
    with suppress(KeyboardInterrupt):  # a slow model may be stopped: what it did until then is told
        for dialogue in dialogues:
            try:
                digest = summarizer.summarize(dialogue.messages)
            except ModelError as exc:
                print(f"  {dialogue.id} failed: {exc}", flush=True)
                digest = Digest("", "")
                done["failed"] += 1
            done["all"] += 1
            counts = judge(dialogue, digest, f"{dialogue.half}-{dialogue.language}" in show)
            for key in (
                (dialogue.half, dialogue.language),
                (dialogue.half, "both"),
                ("all", dialogue.language),
                ("all", "both"),
            ):
                total.setdefault(key, Counter()).update(counts)
            if dialogue.characters > 2000 and digest.summary:
                shrink.setdefault(dialogue.language, []).append(ratios(dialogue, digest))
    failed = f", {done['failed']} of them without a digest" if done["failed"] else ""
    print(f"{summarizer.name}: {done['all']} dialogues{failed}; P precision, R recall, in %\n")
    print("| half, language | facts P | R | preferences P | R | events P | R | dates | topic |")
    print("|---|---|---|---|---|---|---|---|---|")
    for half, language in sorted(total):
        print(row(f"{half} {language}", total[half, language]))
    for language, found in shrink.items():
        tokens, characters = (", ".join(f"{ratio:.1f}" for ratio in one) for one in zip(*found, strict=True))
        print(f"\n{language}: {len(found)} over 2,000 characters; the digest is {tokens} times smaller in tokens,")
        print(f"  {characters} times in characters")


def ratios(dialogue: Dialogue, digest: Digest) -> tuple[float, float]:
    """Return how many times smaller summary and statements are together, in tokens and in characters."""
    made = [digest.summary, *(item.text for field in FIELDS for item in getattr(digest, field))]
    said = [message.content for message in dialogue.messages]
    count = RoughCounter().count
    return sum(map(count, said)) / sum(map(count, made)), dialogue.characters / sum(map(len, made))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--llm", metavar="MODEL@URL", help="digest with a model behind an OpenAI-compatible server")
    parser.add_argument("--show", nargs="*", default=[], metavar="HALF-LANGUAGE", help="print what goes wrong there")
    parser.add_argument("--window", type=int, default=4096, help="the window that the summarizer is told, in tokens")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one answer of the model")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="take every Nth dialogue, for a slow model")
    parser.add_argument("--fallback", action="store_true", help="let the extractive summarizer stand in for failures")
    arguments = parser.parse_args()
    if arguments.llm:
        from siltstone.compress.llm import LLMSummarizer
        from siltstone.models.openai import OpenAIChatModel

        name, _, url = arguments.llm.partition("@")
        summarizer: Summarizer = LLMSummarizer(
            OpenAIChatModel(name, url, timeout=arguments.timeout, deadline=3 * arguments.timeout),
            window=arguments.window,
            fallback=ExtractiveSummarizer() if arguments.fallback else None,
        )
    else:
        summarizer = ExtractiveSummarizer()
    run(summarizer, load()[:: arguments.every], arguments.show)


if __name__ == "__main__":
    main()
