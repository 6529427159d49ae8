"""How a store behaves at size, each figure beside its limit in the same run.

    python benchmarks/scale one --records 1000000 --out benchmarks/results/one-user.json
    python benchmarks/scale many --users 1000 --records 1000
    python benchmarks/scale adds

``one`` is one user with many records, ``many`` a thousand users with a thousand each, ``adds`` the rate of adding
against a bare writer.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import Any

from adding import against_bare, build
from clock import Times, fresh
from data import SESSION, Known, Memories
from forgetting import forget, rebuild
from searching import search

from siltstone import TieredMemory


def one(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """One user with ``--records`` records."""
    store, halves, sessions = folder / "store", folder / "halves.f16", options.records // SESSION
    built = folder / "built.json"  # with --folder, what was built before is measured again
    if not built.exists():
        built.write_text(json.dumps(build(store, options.records, halves)))
    found, ids = json.loads(built.read_text())
    found["open"] = fresh("opening", store, "default", sessions) | {"limit_s": 2, "limit_private_mb": 350}
    _show("open", found["open"])
    found["search"] = search(store, halves, options.records)
    _show("search", found["search"])
    found["forget"] = forget(store, ids)
    _show("forget", found["forget"])
    found["rebuild"] = rebuild(store, options.records, sessions)
    _show("rebuild", found["rebuild"])
    return found


def many(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """``--users`` users with ``--records`` records each, one of whom is looked at."""
    store, memories, embedder = folder / "store", Memories(), Known()
    sessions = list(memories.sessions(0, options.records // SESSION))
    embedder.learn(sessions)
    times = Times()
    with TieredMemory.open(store, embedder=embedder) as memory:
        for user in range(options.users):
            view = memory.for_user(f"user {user}")
            with times.watch():
                for session in sessions:
                    view.add(session.messages, session_id=session.id)
            view.flush()
    sizes: dict[str, int] = {}
    for path in store.rglob("*"):
        if path.is_file():
            part = path.name.split(".")[0]
            sizes[part] = sizes.get(part, 0) + path.stat().st_size
    total = options.users * options.records
    opened = [
        fresh("opening", store, f"user {user}", len(sessions)) for user in (0, options.users // 2, options.users - 1)
    ]
    found = {
        "bytes_per_record": {
            "documents_and_vectors": (sizes["docs"] + sizes["vectors"]) / total,
            "limit": 1.25 * (300 + 768),
            "cache": sizes.get("cache", 0) / total,
            "cache_limit": 300,
        },
        "adding": {"us_per_record": times.middle(options.records / 1e6)},
        "open": sorted(opened, key=lambda one: one["open_s"])[1] | {"limit_s": 0.02},
    }
    _show("many", found)
    return found


def adds(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Adding in batches against a bare writer."""
    return {"adds": against_bare(folder)}


def _show(name: str, figures: object) -> None:
    print(name, json.dumps(figures, indent=1), flush=True)


def machine() -> dict[str, Any]:
    cpu = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "")
    return {
        "cpu": cpu.partition(": ")[2],
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "faiss-cpu", "orjson")},
        "siltstone": __import__("siltstone").__version__,
        "date": time.strftime("%Y-%m-%d"),
    }


def main() -> None:
    shapes = {"one": one, "many": many, "adds": adds}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", choices=shapes)
    parser.add_argument("--records", type=int, default=None, help="default: 100,000 for one, 1,000 for many")
    parser.add_argument("--users", type=int, default=1_000)
    parser.add_argument("--folder", type=Path, help="where the store is to be, and to stay; default: a temporary one")
    parser.add_argument("--out", type=Path, help="write the figures there as JSON")
    options = parser.parse_args()
    options.records = options.records or {"one": 100_000, "many": 1_000, "adds": 0}[options.shape]
    about = machine()
    if options.folder:
        options.folder.mkdir(parents=True, exist_ok=True)
    with nullcontext(options.folder) if options.folder else tempfile.TemporaryDirectory() as folder:
        found = {"shape": options.shape, "records": options.records, "users": options.users, "machine": about}
        found |= shapes[options.shape](Path(folder), options)
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
