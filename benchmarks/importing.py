"""How fast an import is, and how much memory it takes: messages of a made-up ChatGPT export into a folder.

    python benchmarks/importing.py                       # 100,000 messages, an embedder that costs next to nothing
    python benchmarks/importing.py --messages 10000 --embedder embedded

Prints the size of the file, then for the first import, the second (nothing changes) and one into another store by the
vectors of the first: seconds, messages a second, by the clock and by the processor's time, and the most memory of a
process of its own.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from siltstone import TieredMemory
from siltstone.testing import HashEmbedder, WordCounter

WORDS: list[str] = []
for _line in (
    "the train leaves at nine and we meet at the station before it rains again so bring your coat",
    "Anna said that her brother has moved to Lisbon where he works for a bakery near the river",
    "明天 三点 开会 记得 带 合同 我 住在 杭州 喜欢 爬山 周末 和 朋友 一起 去 西湖",
):
    WORDS += _line.split()
PER_CONVERSATION = 40


def main() -> None:
    args = _arguments()
    if args.into is not None:
        print(json.dumps(_imported(Path(args.file), Path(args.into), args.embedder, args.vectors)))
        return
    with tempfile.TemporaryDirectory() as folder:
        export, one, two, vectors = (Path(folder) / name for name in ("conversations.json", "one", "two", "vectors"))
        started = time.perf_counter()
        with export.open("w", encoding="utf-8") as file:
            _write(file, args.messages)
        size = export.stat().st_size / 1e6
        print(f"{args.messages:,} messages, {size:.0f} MB, written in {time.perf_counter() - started:.0f} s")
        for what, store, cache in (
            ("first import", one, None),
            ("again", one, None),
            ("with a file of vectors, to be filled", two / "a", vectors),
            ("by its vectors, another store", two / "b", vectors),
        ):
            told = _in_a_process(args, export, store, cache)
            rate = args.messages / told["seconds"]
            print(
                f"{what}: {told['seconds']:.1f} s, {rate:,.0f} messages/s ({told['cpu']:.1f} s of processor time, "
                f"{args.messages / told['cpu']:,.0f}/s), embedded after {told['embedded']:.1f} s, "
                f"{told['peak']:.0f} MB of memory ({told['base']:.0f} MB before), {told['report']}"
            )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--embedder", default="cheap", help="cheap, or what TieredMemory.open takes; embedded: default")
    parser.add_argument("--file", help=argparse.SUPPRESS)
    parser.add_argument("--into", help=argparse.SUPPRESS)
    parser.add_argument("--vectors", help=argparse.SUPPRESS)
    return parser.parse_args()


def _in_a_process(args: argparse.Namespace, export: Path, store: Path, vectors: Path | None) -> dict[str, Any]:
    command = [sys.executable, __file__, "--file", str(export), "--into", str(store), "--embedder", args.embedder]
    command += [] if vectors is None else ["--vectors", str(vectors)]
    told: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return told


def _imported(export: Path, store: Path, embedder: str, vectors: str | None) -> dict[str, Any]:
    model = {"cheap": HashEmbedder(64), "embedded": None}.get(embedder, embedder)
    store.parent.mkdir(exist_ok=True)
    with TieredMemory.open(store, embedder=model, token_counter=WordCounter()) as memory:
        base = _peak()
        started, spent = time.perf_counter(), time.process_time()
        report = memory.import_from(export, vectors=vectors)
        seconds, cpu = time.perf_counter() - started, time.process_time() - spent
        memory.flush()
        counts = f"{report.added} added, {report.unchanged} unchanged, {report.failed} failed"
        return {
            "seconds": seconds,
            "cpu": cpu,
            "embedded": time.perf_counter() - started,
            "peak": _peak(),
            "base": base,
            "report": counts,
        }


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def _write(file: Any, messages: int) -> None:
    rng = random.Random(7)
    file.write("[")
    for number in range(0, messages, PER_CONVERSATION):
        count = min(PER_CONVERSATION, messages - number)
        file.write(("," if number else "") + json.dumps(_conversation(rng, number, count), ensure_ascii=False))
    file.write("]")


def _conversation(rng: random.Random, number: int, count: int) -> dict[str, Any]:
    mapping = {f"{number}-root": {"id": f"{number}-root", "message": None, "parent": None, "children": []}}
    for at, text in enumerate(_texts(rng, count)):
        id, parent = f"{number}-{at}", f"{number}-{at - 1}" if at else f"{number}-root"
        message = {
            "id": id,
            "author": {"role": "assistant" if at % 2 else "user"},
            "create_time": 1_700_000_000.5 + 60 * (number + at),
            "content": {"content_type": "text", "parts": [text]},
        }
        mapping[id] = {"id": id, "message": message, "parent": parent, "children": []}
        mapping[parent]["children"].append(id)  # type: ignore[union-attr]
    title = f"conversation {number}"
    return {"title": title, "id": f"c{number}", "mapping": mapping, "current_node": f"{number}-{count - 1}"}


def _texts(rng: random.Random, count: int) -> Iterator[str]:
    for _ in range(count):
        yield " ".join(rng.choices(WORDS, k=rng.randint(8, 60)))


if __name__ == "__main__":
    main()
