"""What the checks of ``siltstone audit --sample`` find, and what they flag for nothing, on labelled dialogues.

    python benchmarks/compression/flags.py                  # the embedded model
    python benchmarks/compression/flags.py --no-embedder    # words alone

``true`` items are what the extractive summarizer found and a label confirms, and ``paraphrases.jsonl``: what was said
in other words, by hand. Each is also put beside the sources of another dialogue, denied, given other numbers and
another day; the paraphrases have a translation and a wrong version by hand, too. An item is caught when it has a flag.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from dialogues import FIELDS, Dialogue, agrees, load

from siltstone.compress.extractive import ExtractiveSummarizer
from siltstone.compress.speech import Utterance, utterances
from siltstone.models.checked import CheckedEmbedder
from siltstone.models.resolve import resolve_embedder
from siltstone.quality.checks import Checked, Item, check
from siltstone.quality.nearness import nearness
from siltstone.records import to_datetime

PARAPHRASES = Path(__file__).with_name("paraphrases.jsonl")
NUMBER = re.compile(r"\d+|(?<![一二三四五六七八九十])[二三四五六七八九十]+(?=[岁号日年个只天点])")
DENIED_EN = re.compile(r"\b(is|are|was|am|has|will|can|works?|lives?|likes?|have|love|hate|play)\b", re.IGNORECASE)
DENIED_ZH = re.compile(r"(?<!不)(喜欢|住|会|是|在|有|吃|爱)")


@dataclasses.dataclass(frozen=True)
class Case:
    kind: str
    half: str
    language: str
    item: Item


def true_items(dialogue: Dialogue) -> Iterator[tuple[str, Item]]:
    said = utterances(dialogue.messages)
    by_id = {one.message.id: one for one in said}
    speakers = {message.name or message.role for message in dialogue.messages}
    digest = ExtractiveSummarizer().summarize(dialogue.messages)
    for field in FIELDS:
        for item in getattr(digest, field):
            if any(agrees(item, label, speakers) for label in dialogue.labels if label["field"] == field):
                sources = tuple(by_id[id] for id in item.source_ids if id in by_id)
                yield "extractive", Item(item.text, sources, item.occurred_at, tuple(said))


def paraphrases(dialogues: dict[str, Dialogue]) -> Iterator[tuple[str, str, Item]]:
    for line in PARAPHRASES.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        said = utterances(dialogues[row["dialogue"]].messages)
        sources = tuple(one for one in said if one.message.id in row["sources"])
        day = to_datetime(row["day"] + "T00:00:00+00:00") if "day" in row else None
        for kind, key in (("paraphrase", "text"), ("translated", "translated"), ("wrong by hand", "wrong")):
            yield kind, row["dialogue"], Item(row[key], sources, day, tuple(said))


def denied(item: Item) -> Item | None:
    chinese = re.search(r"[\u4e00-\u9fff]", item.text) is not None
    if re.search(r"\b(?:not|never|no)\b|n['’]t|不|没|戒|再也", item.text):
        return None
    text = DENIED_ZH.sub(r"不\1", item.text, count=1) if chinese else DENIED_EN.sub(r"\1 not", item.text, count=1)
    text = text.replace("不有", "没有")
    return None if text == item.text else dataclasses.replace(item, text=text)


def renumbered(item: Item) -> Item | None:
    text = NUMBER.sub(lambda found: str(int(found[0]) + 37) if found[0].isdecimal() else "八十七", item.text, count=1)
    return None if text == item.text else dataclasses.replace(item, text=text)


def redated(item: Item) -> Item | None:
    if item.occurred_at is None:
        return None
    return dataclasses.replace(item, occurred_at=item.occurred_at + timedelta(days=40))


def cases() -> Iterator[Case]:
    dialogues = {dialogue.id: dialogue for dialogue in load()}
    found: list[tuple[str, str, Item]] = [
        (kind, id, item) for id, dialogue in dialogues.items() for kind, item in true_items(dialogue)
    ]
    found += paraphrases(dialogues)
    others: dict[tuple[str, str], list[tuple[str, Item]]] = defaultdict(list)
    for kind, id, item in found:
        if kind in ("extractive", "paraphrase"):
            others[dialogues[id].half, dialogues[id].language].append((id, item))
    for kind, id, item in found:
        half, language = dialogues[id].half, dialogues[id].language
        yield Case(kind, half, language, item)
        if kind not in ("extractive", "paraphrase"):
            continue
        near = others[half, language]
        at = next(n for n, (_, one) in enumerate(near) if one is item)
        stranger = next(
            one for n in range(1, len(near)) for other, one in [near[(at + n * 7) % len(near)]] if other != id
        )
        yield Case(
            "shuffled", half, language, dataclasses.replace(item, sources=stranger.sources, around=stranger.around)
        )
        for name, changed in (("denied", denied(item)), ("number", renumbered(item)), ("day", redated(item))):
            if changed is not None:
                yield Case(name, half, language, changed)


def texts(sources: tuple[Utterance, ...]) -> list[str]:
    return [source.text for source in sources]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--embedder", metavar="MODEL", help="the embedded one if left out")
    parser.add_argument("--no-embedder", action="store_true", help="words alone")
    parser.add_argument("--show", nargs="*", default=[], metavar="KIND", help="print what is wrong there, second half")
    arguments = parser.parse_args()
    found = list(cases())
    meanings: list[float | None] = [None] * len(found)
    if not arguments.no_embedder:
        model = CheckedEmbedder(resolve_embedder(arguments.embedder))
        meanings = nearness([(case.item.text, texts(case.item.sources)) for case in found], model)
    checked = [check(case.item, meaning) for case, meaning in zip(found, meanings, strict=True)]
    for half in ("second", "first"):
        print(f"\n{half} half\n| items | of | with a flag, % | which | words | meaning |\n|---|---|---|---|---|---|")
        for kind in dict.fromkeys(case.kind for case in found):
            table_row(kind, [(c, r) for c, r in zip(found, checked, strict=True) if (c.kind, c.half) == (kind, half)])
        told(half, list(zip(found, checked, strict=True)))
    for case, result in zip(found, checked, strict=True):
        if case.kind in arguments.show and case.half == "second":
            true = case.kind in ("extractive", "paraphrase")
            if bool(result.flags) == true:
                print(
                    case.kind,
                    result,
                    "\n   ",
                    case.item.text,
                    "|",
                    case.item.occurred_at,
                    "|",
                    *texts(case.item.sources),
                )


def table_row(kind: str, rows: list[tuple[Case, Checked]]) -> None:
    counts: dict[str, int] = defaultdict(int)
    for _, result in rows:
        for flag in result.flags:
            counts[flag] += 1
    caught = sum(bool(result.flags) for _, result in rows)
    words = sorted(result.words for _, result in rows)
    meaning = sorted(result.meaning or 0.0 for _, result in rows)
    which = ", ".join(f"{flag} {count}" for flag, count in sorted(counts.items(), key=lambda one: -one[1]))
    spread = [f"{v[len(v) // 10]:.2f}–{v[len(v) // 2]:.2f}–{v[len(v) * 9 // 10]:.2f}" for v in (words, meaning)]
    print(f"| {kind} | {len(rows)} | {100 * caught / len(rows):.0f} | {which} | {' | '.join(spread)} |")


def told(half: str, rows: list[tuple[Case, Checked]]) -> None:
    """Print precision and recall of "has a flag", true items and altered ones weighing the same."""
    for language in ("en", "zh", None):
        mine = [(c, r) for c, r in rows if c.half == half and language in (None, c.language)]
        true = [bool(r.flags) for c, r in mine if c.kind in ("extractive", "paraphrase")]
        altered = [bool(r.flags) for c, r in mine if c.kind not in ("extractive", "paraphrase")]
        recall, false = sum(altered) / len(altered), sum(true) / len(true)
        print(
            f"{language or 'both'}: recall {recall:.3f}, true items flagged {false:.3f}, "
            f"precision at equal numbers {recall / (recall + false):.3f}"
        )


if __name__ == "__main__":
    main()
