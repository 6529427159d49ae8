"""The table of a run: medians over the rounds, ratios to siltstone within each round, and how far the rounds spread."""

from __future__ import annotations

import sys
from collections import Counter
from statistics import median
from typing import Any

OURS = "siltstone"
LIMIT = "limit: append + bare FAISS"
STEPS = ("add", "add to a full store", "add, embedding included", "search", "update", "delete")


def table(found: dict[str, Any]) -> str:
    """Return the Markdown of a run's raw results."""
    rounds = [one["stores"] for one in found["rounds"]]
    names = list(dict.fromkeys(name for each in rounds for name in each))
    titles = [_title(name, sum(name in each for each in rounds), len(rounds)) for name in names]
    lines = [
        f"{found['turns']:,} turns, {found['users']} users, {len(rounds)} rounds, {found['cap_s']:g} s of CPU a step.",
        "Per second of the clock (CPU milliseconds each, with what a process does after its answers); "
        "× is siltstone's rate over this one's, in CPU: above 1, siltstone is ahead; "
        "in brackets the least and the most of the rounds.",
        "",
        "| | " + " | ".join(STEPS) + " |",
        "|---|" + "---|" * len(STEPS),
    ]
    lines += [
        f"| {title} | " + " | ".join(_step(rounds, name, step, found) for step in STEPS) + " |"
        for name, title in zip(names, titles, strict=True)
    ]
    lines += [
        "",
        "| | opens, s (CPU) | library, s of CPU | MB | evidence in 300 / 600 words | after SIGKILL | what else |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, title in zip(names, titles, strict=True):
        one = [each[name] for each in rounds if name in each]
        cells = [_reopen(one), _library(one), _bytes(one), _recall(one), _killed(one), _failures(one)]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def rate(store: dict[str, Any], step: str, *, cpu: bool) -> float:
    """Return how many were done per second, of the clock or of CPU; the embedder's time counts where it is the step's.

    CPU has what the store's threads did after the answers, too.
    """
    blocks = store[step]["blocks"]
    model = step == "add, embedding included"
    done = sum(block[0] for block in blocks)
    spent = sum(block[2 if cpu else 1] - (0 if model else block[4 if cpu else 3]) for block in blocks)
    if cpu:
        spent += store.get("after the answers", {}).get(step, 0)
    return done / spent if spent else 0.0


def _title(name: str, had: int, rounds: int) -> str:
    return name if had == rounds else f"{name} ({had} round{'s' if had > 1 else ''})"


def _step(rounds: list[dict[str, Any]], name: str, step: str, found: dict[str, Any]) -> str:
    walls, cpus, ratios, part = [], [], [], False
    rounds = [each for each in rounds if name in each]
    for each in rounds:
        mine, ours = each[name].get(step, {}), each[OURS].get(step, {}) if OURS in each else {}
        if "cannot" in mine:
            return "cannot"
        if "error" in mine or not mine.get("blocks"):
            return "fails" if "error" in mine else "–"
        walls.append(rate(each[name], step, cpu=False))
        cpus.append(rate(each[name], step, cpu=True))
        whole = {"add": found["turns"], "search": found["searches"]}.get(step)
        part |= whole is not None and mine["done"] < whole
        if ours.get("blocks"):
            ratios.append(rate(each[OURS], step, cpu=True) / cpus[-1])
    text = f"{_short(median(walls))} ({_short(1e3 / median(cpus))} ms)"
    if part:
        text += f", {min(each[name][step]['done'] for each in rounds):,} in time"
    if ratios and name != OURS:
        text += f" ×{_short(median(ratios))}"
        if len(ratios) > 1:
            text += f" [{_short(min(ratios))}–{_short(max(ratios))}]"
    return text


def _reopen(one: list[dict[str, Any]]) -> str:
    opened = [each.get("reopen", {}) for each in one]
    if "cannot" in opened[0]:
        return "cannot"
    if any("error" in each or "wall" not in each for each in opened):
        return "fails"
    wall = median([each["wall"] + each.get("search_wall", 0) for each in opened])
    cpu = median([each["cpu"] + each.get("search_cpu", 0) for each in opened])
    return f"{wall:.2g} ({cpu:.2g})"


def _library(one: list[dict[str, Any]]) -> str:
    seen = [each["reopen"]["import_cpu"] for each in one if "import_cpu" in each.get("reopen", {})]
    return f"{median(seen):.2g}" if seen else "–"


def _bytes(one: list[dict[str, Any]]) -> str:
    sizes = [each["bytes"] / 1e6 for each in one if "bytes" in each]
    return f"{median(sizes):.3g}" if sizes else "–"


def _recall(one: list[dict[str, Any]]) -> str:
    seen = [each["recall"] for each in one if "recall" in each]
    if not seen:
        return "cannot" if "cannot" in one[0].get("search", {}) else "–"
    text = " / ".join(f"{median([each['evidence'][budget] for each in seen]):.3f}" for budget in seen[0]["evidence"])
    if foreign := sum(each["results of other users"] for each in seen):
        text += f", {foreign} results of other users"
    return text


def _killed(one: list[dict[str, Any]]) -> str:
    kills = [kill for each in one for kill in each.get("kill", ())]
    outcomes = Counter(kill["outcome"] for kill in kills)
    lost = sum(kill.get("lost", 0) for kill in kills)
    text = ", ".join(f"{count} {what}" for what, count in outcomes.most_common())
    return f"{text} ({lost:,} rows)" if lost else text or "–"


def _failures(one: list[dict[str, Any]]) -> str:
    """Return what went wrong without a kill, each once."""
    said: list[str] = []
    for each in one:
        said += [
            f"{step}: {what['error'][:120]}"
            for step, what in each.items()
            if isinstance(what, dict) and "error" in what
        ]
        if each.get("reopen", {}).get("lost"):
            said.append(f"opened: {each['reopen']['lost']:,} of {each['reopen']['acknowledged']:,} rows are not there")
        if each.get("reopen", {}).get("doubled"):
            said.append(f"opened: {each['reopen']['doubled']:,} rows doubled")
        said += [f"{count} {what}" for what, count in each.get("check", {}).items() if count]
    return "; ".join(dict.fromkeys(said)).replace("|", "/").replace("\n", " ")


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


if __name__ == "__main__":
    import json
    from pathlib import Path

    print(table(json.loads(Path(sys.argv[1]).read_text())))
