"""``siltstone bench``: how well a memory recalls, on public data sets or your own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import AsJson
from .output import note, progress, show_table, table, write_json

if TYPE_CHECKING:
    from rich.table import Table

    from ..evaluate.cases import Benchmark
    from ..evaluate.metrics import Interval
    from ..evaluate.report import Row
    from ..evaluate.run import Run

bench = typer.Typer(
    help="Measure recall by turn, the cost of a search and of adding, and what a context holds.",
    no_args_is_help=True,
)

Models = Annotated[
    list[str] | None,
    typer.Option(
        "--embedder", metavar="MODEL", help="Embedding model; repeat to compare several. The embedded one if left out."
    ),
]
Budgets = Annotated[
    str, typer.Option("--budget", metavar="N,N,…", help="Also measure context() at these token budgets.")
]
Split = Annotated[str, typer.Option("--split", metavar="PART", help="all, or every other haystack: a or b.")]
Keep = Annotated[
    Path | None,
    typer.Option("--store", metavar="FOLDER", help="New folder to keep the store in; a temporary one if left out."),
]
Vectors = Annotated[
    Path | None,
    typer.Option(
        "--vectors", metavar="FOLDER", help="Folder of vectors to reuse, so that repeated runs embed nothing."
    ),
]
Baseline = Annotated[
    Path | None,
    typer.Option("--baseline", metavar="FILE", help="An earlier --json output to compare with, by paired bootstrap."),
]


@bench.command()
def locomo(
    path: Annotated[Path, typer.Argument(help="LoCoMo JSON file.")],
    embedder: Models = None,
    budget: Budgets = "",
    split: Split = "all",
    baseline: Baseline = None,
    vectors: Vectors = None,
    store: Keep = None,
    as_json: AsJson = False,
) -> None:
    """LoCoMo (English): find the turns that answer a question, in months of chat.

    \b
    siltstone bench locomo locomo10.json --budget 500,1000,2000,4000
    """
    from ..evaluate.locomo import load

    _run(load(path), embedder, budget, split, baseline, vectors, store, as_json)


@bench.command()
def memorybank(
    folder: Annotated[Path, typer.Argument(help="Folder of memory_bank_cn.json and gold_cn.jsonl.")],
    embedder: Models = None,
    budget: Budgets = "",
    split: Split = "all",
    baseline: Baseline = None,
    vectors: Vectors = None,
    store: Keep = None,
    as_json: AsJson = False,
) -> None:
    """MemoryBank (Chinese): find the exchange with an assistant that a question is about.

    \b
    siltstone bench memorybank memorybank/
    """
    from ..evaluate.memorybank import load

    _run(load(folder), embedder, budget, split, baseline, vectors, store, as_json)


@bench.command()
def madial(
    path: Annotated[Path, typer.Argument(help="MADial JSON file.")],
    embedder: Models = None,
    budget: Budgets = "",
    baseline: Baseline = None,
    vectors: Vectors = None,
    store: Keep = None,
    as_json: AsJson = False,
) -> None:
    """MADial (Chinese): find the notes that a dialogue brings to mind.

    \b
    siltstone bench madial zh-dev.json --json
    """
    from ..evaluate.madial import load

    _run(load(path), embedder, budget, "all", baseline, vectors, store, as_json)


@bench.command()
def custom(
    path: Annotated[Path, typer.Argument(help="JSON Lines file of messages, notes and questions.")],
    embedder: Models = None,
    budget: Budgets = "",
    split: Split = "all",
    baseline: Baseline = None,
    vectors: Vectors = None,
    store: Keep = None,
    as_json: AsJson = False,
) -> None:
    """Your own data: lines of messages or notes with ids, and questions with the ids that answer them.

    \b
    {"id": "m1", "role": "user", "content": "I moved to Lisbon.",
     "session_id": "may", "created_at": "2024-05-06T09:00:00Z"}
    {"id": "n1", "text": "Alice plays the cello.", "kind": "fact",
     "created_at": "2024-05-06T09:00:00Z"}
    {"question": "Where does Alice live?", "gold": ["m1"], "category": "places"}

    Each on one line. "name", "kind", "category", "session_id" may be left out; "user" makes a haystack per user.

    \b
    siltstone bench custom mine.jsonl
    """
    from ..evaluate.custom import load

    _run(load(path), embedder, budget, split, baseline, vectors, store, as_json)


def _run(
    benchmark: Benchmark,
    embedders: list[str] | None,
    budget: str,
    split: str,
    baseline: Path | None,
    vectors: Path | None,
    store: Path | None,
    as_json: bool,
) -> None:
    from ..evaluate.report import difference, from_json, to_json

    if split not in ("all", "a", "b"):
        raise typer.BadParameter("is all, a or b", param_hint="--split")
    budgets = _numbers(budget)
    earlier = from_json(baseline) if baseline is not None else None
    part = benchmark.part(split)
    specs: Sequence[str | None] = embedders or [None]
    runs = [_measure(part, spec, budgets, vectors, store) for spec in specs]
    compared = [difference(run, earlier) for run in runs] if earlier is not None else []
    if as_json:
        documents = [{**to_json(run), "split": split} for run in runs]
        for document, change in zip(documents, compared, strict=False):
            document["difference"] = change
        write_json(documents[0] if len(documents) == 1 else {"runs": documents})
        return
    for run in runs:
        _print(run)
    for run, change in zip(runs, compared, strict=False):
        show_table(_difference_table(run, change))


def _measure(
    benchmark: Benchmark, spec: str | None, budgets: list[int], vectors: Path | None, store: Path | None
) -> Run:
    import dataclasses

    from ..evaluate.run import measure, steps
    from ..evaluate.watch import Remembered
    from ..models.resolve import resolve_embedder

    embedder = resolve_embedder(spec)
    cache = Remembered(embedder, vectors) if vectors is not None else None
    total, done = steps(benchmark, budgets), 0
    with _place(store) as location, progress(benchmark.name) as move:

        def step(amount: int) -> None:
            nonlocal done
            done += amount
            move(done, total)

        run = measure(benchmark, location, embedder=cache or embedder, budgets=budgets, step=step)
    if cache is not None:
        cache.save()
        run = dataclasses.replace(run, cached=cache.reused)
    return run


@contextmanager
def _place(store: Path | None) -> Iterator[Path]:
    if store is not None:
        if store.exists() and any(store.iterdir()):
            raise typer.BadParameter("is not empty: a run needs a new folder", param_hint="--store")
        yield store
    else:
        with tempfile.TemporaryDirectory(prefix="siltstone-bench-") as folder:
            yield Path(folder) / "store"


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError as exc:
        raise typer.BadParameter("is a list of numbers, e.g. 500,1000,2000", param_hint="--budget") from exc


def _print(run: Run) -> None:
    from ..evaluate.locomo import ADVERSARIAL
    from ..evaluate.report import OVERALL, by_budget, by_category, cost, without

    rows = by_category(run)
    if any(row.category == ADVERSARIAL for row in rows):
        rows.insert(-1, without(run, ADVERSARIAL))
    title = f"{run.benchmark}, {run.embedder}"
    show_table(_figures_table(title, [row for row in rows if row.questions or row.category == OVERALL]))
    spent = cost(run)
    made = table(("cost", "value"))
    made.add_row("search, ms (p50 / p95)", f"{spent.search_p50:.1f} / {spent.search_p95:.1f}")
    if spent.cached:
        made.add_row("vectors from the cache", f"{spent.cached} (so searches and adds seem quick)")
    else:
        made.add_row("  of which the query's embedding (p50)", f"{spent.query_p50:.1f}")
        made.add_row("adds per second", f"{spent.adds_per_second:.0f} ({spent.adds} units)")
        made.add_row("  share of it in the embedder", f"{spent.embedder_share:.0%}")
    show_table(made)
    if run.contexts:
        made = table(
            ("budget", "evidence recall", "95%", "tokens", "ms p50", "ms p95"),
            title="context()",
            right=("budget", "tokens", "ms p50", "ms p95"),
        )
        for held in by_budget(run):
            figures = (f"{held.tokens:.0f}", f"{held.ms_p50:.1f}", f"{held.ms_p95:.1f}")
            made.add_row(str(held.budget), f"{held.recall.mean:.3f}", _bounds(held.recall), *figures)
        show_table(made)
    note(f"How: {run.how}. Intervals: 95%, bootstrap over haystacks.")


def _figures_table(title: str, rows: list[Row]) -> Table:
    measures = list(rows[0].figures)
    made = table(("category", "n", *measures), title=title, right=("n", *measures))
    made.columns[0].no_wrap = True
    for row in rows:
        made.add_row(row.category, str(row.questions), *(f"{figure.mean:.3f}" for figure in row.figures.values()))
    made.add_row("  95%", "", *(_bounds(figure) for figure in rows[-1].figures.values()))
    return made


def _difference_table(run: Run, change: dict[str, Interval]) -> Table:
    made = table(("measure", "difference", "95%", ""), title=f"{run.embedder} against the baseline")
    for name, figure in change.items():
        clear = figure.low > 0 or figure.high < 0
        made.add_row(
            name, f"{figure.mean:+.3f}", f"{figure.low:+.3f} to {figure.high:+.3f}", "" if clear else "may be chance"
        )
    return made


def _bounds(figure: Interval) -> str:
    return "–".join(f"{bound:.3f}".removeprefix("0") for bound in (figure.low, figure.high))
