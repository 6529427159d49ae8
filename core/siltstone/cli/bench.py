"""``siltstone bench``: how well a memory recalls, on public data sets or your own."""

from __future__ import annotations

import enum
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .folders import made
from .numbers import numbers
from .options import AsJson, Plot
from .output import note, progress, write_json

if TYPE_CHECKING:
    from ..evaluate.cases import Benchmark
    from ..evaluate.run import Run
    from ..protocols import Reranker


class Data(str, enum.Enum):
    """The data sets."""

    locomo = "locomo"
    memorybank = "memorybank"
    madial = "madial"
    custom = "custom"


class Split(str, enum.Enum):
    """Which haystacks are asked: choose on one half, report the other."""

    all = "all"
    a = "a"
    b = "b"


def bench(
    data: Annotated[Data, typer.Argument(help="The data set, or custom for your own.")],
    path: Annotated[Path, typer.Argument(help="Its file; for memorybank its folder.")],
    embedder: Annotated[
        list[str] | None,
        typer.Option("--embedder", metavar="MODEL", help="Embedding model, or 'default'; repeat to compare several."),
    ] = None,
    reranker: Annotated[
        str | None, typer.Option("--reranker", metavar="MODEL", help="Model that orders the first 50 results anew.")
    ] = None,
    top_k: Annotated[
        str, typer.Option("--top-k", metavar="N,N | N..N", help="How many results recall is looked at.")
    ] = "5,10,20",
    budget: Annotated[
        str, typer.Option("--budget", metavar="N,N,…", help="Also measure context() at these token budgets.")
    ] = "",
    distractors: Annotated[
        int, typer.Option("--distractors", metavar="N", min=0, help="Store N units of other haystacks beside each.")
    ] = 0,
    split: Annotated[Split, typer.Option("--split", help="All haystacks, or every other one.")] = Split.all,
    baseline: Annotated[
        Path | None,
        typer.Option(
            "--baseline", metavar="FILE", help="An earlier --json output to compare with, by paired bootstrap."
        ),
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option(
            "--vectors", metavar="FOLDER", help="Folder of vectors to reuse, so that repeated runs embed nothing."
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option("--store", metavar="FOLDER", help="New folder to keep the store in; a temporary one if left out."),
    ] = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Measure recall by unit, the cost of a search and of adding, and what a context holds.

    \b
    locomo      English, months of chat: the turns that answer a question
    memorybank  Chinese, talk with an assistant: the exchange that is meant
    madial      Chinese: the notes that a dialogue brings to mind
    custom      your own JSON Lines:

    \b
    {"id": "m1", "role": "user", "content": "I moved to Lisbon.",
     "session_id": "may", "created_at": "2024-05-06T09:00:00Z"}
    {"id": "n1", "text": "Alice plays the cello.", "kind": "fact",
     "created_at": "2024-05-06T09:00:00Z"}
    {"question": "Where does Alice live?", "gold": ["m1"], "category": "places"}

    Each on one line. "name", "kind", "category", "session_id" may be left out; "user" makes a haystack per user.
    With several embedders the others are compared with the first.

    \b
    siltstone bench custom mine.jsonl --budget 500,1000,2000,4000
    siltstone bench locomo locomo10.json --embedder default --embedder sentence-transformers:BAAI/bge-m3
    """
    from ..evaluate.report import difference, from_json, to_json
    from ..models.resolve import resolve_reranker
    from .figures import show_comparison, show_difference, show_run

    cuts, budgets = numbers(top_k, "--top-k"), numbers(budget, "--budget")
    if not cuts:
        raise typer.BadParameter("names no number of results", param_hint="--top-k")
    draw = _drawing() if plot is not None else None
    for folder, option in ((plot, "--plot"), (vectors, "--vectors"), (store, "--store")):
        if folder is not None:
            made(folder, option)
    earlier = from_json(baseline) if baseline is not None else None
    part = _load(data, path).part(split.value).distracted(distractors)
    second = resolve_reranker(reranker)
    specs = embedder or ["default"]
    if store is not None and len(specs) > 1:
        raise typer.BadParameter("keeps the store of one embedder", param_hint="--store")
    runs = [_measure(part, spec, second, cuts, budgets, vectors, store) for spec in specs]
    other = earlier or (runs[0] if len(runs) > 1 else None)
    compared = [difference(run, other) if other is not None and run is not other else {} for run in runs]
    if draw is not None and plot is not None:
        for picture in draw(runs, plot):
            note(f"drew {picture}")
    if as_json:
        documents = [{**to_json(run), "split": split.value, "distractors": distractors} for run in runs]
        for document, change in zip(documents, compared, strict=True):
            if change:
                document["difference"] = change
        write_json(documents[0] if len(documents) == 1 else {"runs": documents})
        return
    for run in runs:
        show_run(run)
    if len(runs) > 1:
        show_comparison(runs)
    for run, change in zip(runs, compared, strict=True):
        if change:
            show_difference(run, other or run, change)


def _load(data: Data, path: Path) -> Benchmark:
    from ..evaluate import custom, locomo, madial, memorybank

    loaders = {Data.locomo: locomo.load, Data.memorybank: memorybank.load, Data.madial: madial.load}
    return loaders.get(data, custom.load)(path)


def _drawing() -> Callable[[Sequence[Run], Path], list[Path]]:
    """Return what draws; without matplotlib this fails before anything is measured."""
    from ..evaluate.plot import plot

    return plot


def _measure(
    benchmark: Benchmark,
    spec: str,
    reranker: Reranker | None,
    cuts: list[int],
    budgets: list[int],
    vectors: Path | None,
    store: Path | None,
) -> Run:
    import dataclasses

    from ..evaluate.run import measure, steps
    from ..evaluate.watch import Remembered
    from ..models.guarded import Guard
    from ..models.resolve import resolve_embedder
    from .environment import settings

    chosen = settings()
    guard = Guard(chosen.sensitive, chosen.on_sensitive)
    embedder = guard.embedder(resolve_embedder(None if spec == "default" else spec))
    cache = Remembered(embedder, vectors) if vectors is not None else None
    total, done = steps(benchmark, budgets), 0
    with _place(store) as location, progress(benchmark.name) as move:

        def step(amount: int) -> None:
            nonlocal done
            done += amount
            move(done, total)

        run = measure(
            benchmark,
            location,
            embedder=cache or embedder,
            reranker=guard.reranker(reranker),
            cuts=cuts,
            budgets=budgets,
            step=step,
        )
    if cache is not None:
        cache.save()
        run = dataclasses.replace(run, cached=cache.reused)
    return run


@contextmanager
def _place(store: Path | None) -> Iterator[Path]:
    if store is not None:
        if any(store.iterdir()):
            raise typer.BadParameter("is not empty: a run needs a new folder", param_hint="--store")
        yield store
    else:
        with tempfile.TemporaryDirectory(prefix="siltstone-bench-") as folder:
            yield Path(folder) / "store"
