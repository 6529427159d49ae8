"""Fit the weights of ranking, show what they reach on conversations that they have not seen, and what each part gives.

    python benchmarks/recall.py locomo-dev.json [--madial zh-dev.json] [--memorybank FOLDER] [--ablate]

The parts are the product's own (``siltstone.recall.rank.score_parts``), over an in-memory store and the embedded
model. Weights minimise a listwise softmax loss: the mean over questions of ``-log p(gold)``, ``p`` the softmax of the
weighted parts over all candidates, with a ridge on the weights of standardised parts. It is convex, with 20 unknowns:
Newton's method with halved steps.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from siltstone.evaluate import locomo, madial, memorybank
from siltstone.evaluate.cases import Benchmark, Haystack, Unit
from siltstone.evaluate.metrics import interval, paired
from siltstone.evaluate.watch import Remembered
from siltstone.models.resolve import resolve_embedder
from siltstone.protocols import Embedder, Put, Query, Where
from siltstone.recall.question import read_question
from siltstone.recall.rank import score_parts
from siltstone.recall.weights import BY_HAND, FITTED, PASSAGE
from siltstone.records import Message, Record, turn_of
from siltstone.stores.ram import RamStore
from siltstone.text.keys import dense_key

RIDGE = 0.003
CUTS = (1, 5, 10, 22, 45)  # 22 and 45 turns fill about 1,000 and 2,000 tokens of context
HEADS = ("hit@1", "R@5", "R@10", "R@22", "R@45")
GROUPS = {
    "lexical, coverage": ("lexical", "coverage"),
    "dense": ("dense",),
    "every dense part": ("dense", "dense.alone", "before.dense", "before2.dense", "after.dense", "session.dense"),
    "neighbours, lexical": ("before.turn", "before.window", "after.turn", "answers"),
    "neighbours, dense": ("before.dense", "before2.dense", "after.dense"),
    "session evidence": ("session.lexical", "session.dense"),
    "who": ("who",),
    "answers": ("answers",),
    "asks": ("asks",),
    "time.words, time.asked, time.named": ("time.words", "time.asked", "time.named"),
    "time.named": ("time.named",),
    "name, name.where": ("name", "name.where"),
    "dense.alone": ("dense.alone",),
}
MIX = {"turn": 0.35, "window": 0.35, "dense": 0.3, "session.lexical": 0.3}
"""The linear mix to be ahead of: z-scores of turns, windows and plain vectors, and session evidence."""
Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Sheet:
    """What is known of one question's candidates: their parts by name, the unit of each row, and the gold units."""

    haystack: str
    passage: bool
    parts: Mapping[str, Array]
    units: tuple[str, ...]
    wanted: frozenset[str]

    @property
    def gold(self) -> npt.NDArray[np.bool_]:
        return np.isin(self.units, list(self.wanted))

    def matrix(self, names: Sequence[str]) -> Array:
        silent = np.zeros(len(self.units))
        return np.stack([self.parts.get(name, silent) for name in names], axis=1)

    def fixed(self) -> Array:
        return sum(
            (weight * self.parts[name] for name, weight in BY_HAND.items() if name in self.parts),
            np.zeros(len(self.units)),
        )


def collect(benchmark: Benchmark, embedder: Embedder, *, whiten: bool = True) -> list[Sheet]:
    """Return a sheet for every question of a benchmark."""
    return [sheet for haystack in benchmark.haystacks for sheet in _sheets(haystack, embedder, whiten)]


def _sheets(haystack: Haystack, embedder: Embedder, whiten: bool) -> Iterable[Sheet]:
    store, units = RamStore(), {}
    records = [_record(unit, n) for n, unit in enumerate(haystack.units)]
    vectors = embedder.embed_documents([dense_key(record) for record, _ in records])
    store.commit(
        "u", [Put(record, message, vector) for (record, message), vector in zip(records, vectors, strict=True)]
    )
    units = {record.id: unit.id for (record, _), unit in zip(records, haystack.units, strict=True)}
    for asked in haystack.questions:
        question = read_question(asked.text, haystack.asked_at)
        vector = embedder.embed_query(asked.text)
        found = store.candidates("u", Query(question.terms, vector, Where(now=haystack.asked_at), 200, whiten))
        rows, parts = score_parts(found, question, haystack.asked_at)
        ids = [units[record.id] if record else "" for record in store.resolve("u", found.keys[rows].tolist())]
        yield Sheet(haystack.name, question.passage, parts, tuple(ids), asked.gold)


def _record(unit: Unit, n: int) -> tuple[Record, Message | None]:
    if unit.kind is not None:
        told = Record(
            id=str(n),
            text=unit.text,
            kind=unit.kind,
            user_id="u",
            created_at=unit.time,
            stored_at=unit.time,
            occurred_at=unit.time,
        )
        return told, None
    message = Message(
        unit.role, unit.text, name=unit.speaker, id=str(n), created_at=unit.time, session_id=unit.session_id
    )
    turn = turn_of(message, "u", unit.time)
    assert turn is not None
    return turn, message


def fit(sheets: Sequence[Sheet], names: Sequence[str]) -> dict[str, float]:
    """Return the weights of the parts that minimise the loss over the sheets that have gold among their rows."""
    told = [(sheet.matrix(names), sheet.fixed(), sheet.gold / sheet.gold.sum()) for sheet in sheets if sheet.gold.any()]
    scale = np.concatenate([matrix for matrix, _, _ in told]).std(axis=0)
    scale[scale == 0] = 1
    weights = np.zeros(len(names))
    loss, slope, curve = _loss(told, scale, weights)
    for _ in range(30):
        step = np.linalg.solve(curve, slope)
        while (tried := _loss(told, scale, weights - step))[0] > loss:
            step /= 2
        weights, gained = weights - step, loss - tried[0]
        loss, slope, curve = tried
        if gained < 1e-7:
            break
    return dict(zip(names, (weights / scale).tolist(), strict=True))


def _loss(told: Sequence[tuple[Array, Array, Array]], scale: Array, weights: Array) -> tuple[float, Array, Array]:
    """Return the loss with its slope and curvature."""
    loss, slope, curve = RIDGE * weights @ weights, 2 * RIDGE * weights, 2 * RIDGE * np.eye(len(weights))
    for matrix, fixed, target in told:
        scaled = matrix / scale
        scores = scaled @ weights + fixed
        chance = np.exp(scores - scores.max())
        total = chance.sum()
        chance /= total
        mean = scaled.T @ chance
        loss += (np.log(total) + scores.max() - target @ scores) / len(told)
        slope = slope + (mean - scaled.T @ target) / len(told)
        curve += ((scaled.T * chance) @ scaled - np.outer(mean, mean)) / len(told)
    return float(loss), slope, curve


def judge(sheet: Sheet, weights: Mapping[str, float]) -> list[float]:
    """Return hit@1 and recall at the other cuts for one question."""
    chosen = PASSAGE if sheet.passage else weights
    scores = sheet.matrix(list(chosen)) @ np.array(list(chosen.values())) + sheet.fixed()
    ranked = dict.fromkeys(sheet.units[row] for row in np.argsort(-scores, kind="stable"))  # a unit ranks once
    gold = np.array([unit in sheet.wanted for unit in ranked])
    return [float(gold[0]), *(float(gold[:cut].sum()) / len(sheet.wanted) for cut in CUTS[1:])]


def unseen(sheets: Sequence[Sheet], names: Sequence[str]) -> Array:
    """Return what each question reaches with weights fitted without its haystack, ``(questions, cuts)``."""
    fitted = {
        name: fit([sheet for sheet in sheets if sheet.haystack != name], names)
        for name in dict.fromkeys(sheet.haystack for sheet in sheets)
    }
    return np.array([judge(sheet, fitted[sheet.haystack]) for sheet in sheets])


def main() -> None:
    """Print tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("locomo", type=Path)
    parser.add_argument("--madial", type=Path)
    parser.add_argument("--memorybank", type=Path)
    parser.add_argument("--vectors", type=Path, default=Path(".vectors"), help="folder of vectors to reuse")
    parser.add_argument("--ablate", action="store_true", help="leave out each element in turn")
    options = parser.parse_args()
    embedder = Remembered(resolve_embedder(None), options.vectors)
    names = list(FITTED)
    sheets = collect(locomo.load(options.locomo), embedder)
    haystacks = [sheet.haystack for sheet in sheets]
    full = unseen(sheets, names)
    present = np.array([judge(sheet, FITTED) for sheet in sheets])

    print(f"| LoCoMo, n = {len(sheets)} |", " | ".join(HEADS), "|\n|---|" + "---|" * len(HEADS))
    print(
        "| fitted without the conversation |",
        " | ".join(_interval(full[:, c], haystacks) for c in range(len(HEADS))),
        "|",
    )
    print("| `weights.FITTED` (it has seen them) |", " | ".join(f"{mean:.3f}" for mean in present.mean(axis=0)), "|")
    plain = collect(locomo.load(options.locomo), embedder, whiten=False)
    mix = np.array([judge(sheet, MIX) for sheet in plain])
    print("| a linear mix of z-scores, for comparison |", " | ".join(f"{mean:.3f}" for mean in mix.mean(axis=0)), "|")
    print("| ours - mix, in points, paired |", _difference(full, mix, haystacks))
    others = {
        "MADial": options.madial and madial.load(options.madial),
        "MemoryBank": options.memorybank and memorybank.load(options.memorybank),
    }
    for title, benchmark in others.items():
        if benchmark:
            asked = collect(benchmark, embedder)
            reached = np.array([judge(sheet, FITTED) for sheet in asked]).mean(axis=0)
            print(
                f"| {title}, n = {len(asked)}, `weights.FITTED` |", " | ".join(f"{mean:.3f}" for mean in reached), "|"
            )
    print("\nFitted on all:", {name: round(weight, 3) for name, weight in fit(sheets, names).items()})

    if options.ablate:
        print("\n| without |", " | ".join(HEADS), "|\n|---|" + "---|" * len(HEADS))
        for title, group in GROUPS.items():
            print(f"| {title} |", _difference(full, unseen(sheets, [n for n in names if n not in group]), haystacks))
        print("| whitening |", _difference(full, unseen(plain, names), haystacks))
    embedder.save()


def _interval(values: Array, groups: Sequence[str]) -> str:
    found = interval(values.tolist(), groups)
    return f"**{found.mean:.3f}** [{found.low:.3f}, {found.high:.3f}]"


def _difference(full: Array, less: Array, groups: Sequence[str]) -> str:
    """Return what an element gives, in points, with paired intervals."""
    cells = []
    for c in range(len(HEADS)):
        found = paired((100 * full[:, c]).tolist(), (100 * less[:, c]).tolist(), groups)
        cells.append(f"{found.mean:+.1f} [{found.low:+.1f}, {found.high:+.1f}]")
    return " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
