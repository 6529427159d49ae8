"""``siltstone experiment``: architectures of memory side by side, on public data sets or your own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .folders import made
from .long_work import working
from .numbers import numbers
from .options import AsJson, Embedding, Plot
from .output import note, write_json

if TYPE_CHECKING:
    from ..evaluate.experiment.run import Experiment
    from ..protocols import ChatModel


def experiment(
    data: Annotated[Path, typer.Argument(help="A LoCoMo or MADial file, MemoryBank's folder, or your own JSON Lines.")],
    budget: Annotated[
        str, typer.Option("--budget", metavar="N,N,…", help="Tokens that a context may have.")
    ] = "500,1000,2000,4000",
    window: Annotated[
        int, typer.Option("--window", metavar="N", min=1, help="Tokens at which full concatenation is cut.")
    ] = 32_000,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", min=1, help="Ask N questions at most, evenly from all.")
    ] = None,
    llm: Annotated[
        str | None,
        typer.Option("--llm", metavar="MODEL", help="A language model that answers: ollama:MODEL, openai:MODEL@URL."),
    ] = None,
    judge: Annotated[
        str | None, typer.Option("--judge", metavar="MODEL", help="The language model that judges; --llm if left out.")
    ] = None,
    embedder: Embedding = None,
    work: Annotated[
        Path | None,
        typer.Option("--work", metavar="FOLDER", help="Keep stores, vectors and what is done, to go on from there."),
    ] = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Compare architectures of memory on the same conversations and questions.

    \b
    full concatenation    all that was said, the newest that fits
    vector RAG            chunks, the nearest to the question
    rolling summary       one text, made anew with each conversation
    hierarchical summary  of conversations, of several of these, and so on
    tiered                this library

    Each writes every conversation (a user each), is closed, opened again, and
    asked every question at every budget. Of several chunk sizes, summary sizes
    and ways the best is shown, chosen on these very questions; --json has all.
    Evidence is looked for in the text that would be injected.

    Your own JSON Lines are those of siltstone bench custom; a question may have
    an "answer" for --llm, whose models are tried out before anything is measured.

    \b
    siltstone experiment mine.jsonl --plot figures
    siltstone experiment locomo10.json --work run --limit 100 --llm ollama:qwen3:8b
    """
    from ..errors import SiltstoneError
    from ..evaluate.experiment import answers, report
    from ..evaluate.experiment.run import limited, run
    from ..evaluate.experiment.trial import Plan
    from ..evaluate.load import load
    from ..models.guarded import Guard
    from ..models.resolve import resolve_chat_model, resolve_counter, resolve_embedder
    from .environment import settings
    from .experiment_tables import show_answers, show_experiment

    budgets = numbers(budget, "--budget")
    if not budgets:
        raise typer.BadParameter("names no number of tokens", param_hint="--budget")
    if judge is not None and llm is None:
        raise typer.BadParameter("judges the answers of --llm, and none is given", param_hint="--judge")
    draw = _drawing() if plot is not None else None
    pictures = None if plot is None else made(plot, "--plot")
    chosen = settings()
    guard = Guard(chosen.sensitive, chosen.on_sensitive)

    def chat_model(spec: str) -> ChatModel:
        return guard.chat_model(resolve_chat_model(spec, timeout=chosen.model_timeout))

    model = None if llm is None else chat_model(llm)
    judging = model if judge is None else chat_model(judge)
    embedding, counter = guard.embedder(resolve_embedder(embedder)), resolve_counter(None)
    benchmark = limited(load(data), limit)
    if model is not None and not answers.has_answers(benchmark):
        raise typer.BadParameter(f"needs questions with an answer, and {data} has none", param_hint="--llm")
    given: answers.Answers | None = None
    failed: SiltstoneError | None = None
    with _place(work) as folder:
        answer = None
        if model is not None and judging is not None:
            error = answers.tried_out(model, judging)
            answer = partial(answers.answered, model=model, judging=judging, error=error)
        with working("experiment") as move:
            plan = Plan(tuple(budgets), window)
            tried = run(benchmark, folder, plan, embedder=embedding, counter=counter, move=move)
        if not as_json:
            show_experiment(tried)
        if answer is not None:
            try:
                with working("answers") as move:
                    given = answer(tried, benchmark, folder, embedder=embedding, counter=counter, move=move)
            except SiltstoneError as exc:  # what was measured without it is told all the same
                failed = exc
    if as_json:
        document: dict[str, Any] = report.to_json(tried)
        write_json(document if given is None else {**document, "answers": answers.to_json(given)})
    elif given is not None:
        show_answers(given)
    if draw is not None and pictures is not None:
        for picture in draw(tried, pictures):
            note(f"drew {picture}")
    if failed is not None:
        raise failed


def _drawing() -> Callable[[Experiment, Path], list[Path]]:
    """Return what draws; without matplotlib this fails before anything is measured."""
    from ..evaluate.experiment.plot import plot

    return plot


@contextmanager
def _place(work: Path | None) -> Iterator[Path]:
    if work is not None:
        yield made(work, "--work")
    else:
        with tempfile.TemporaryDirectory(prefix="siltstone-experiment-") as folder:
            yield Path(folder)
