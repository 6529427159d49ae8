"""The figures of an experiment as tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from .output import note, show_table, size, table

if TYPE_CHECKING:
    from rich.table import Table

    from ..evaluate.experiment.answers import Answers
    from ..evaluate.experiment.run import Experiment
    from ..evaluate.metrics import Interval


def show_experiment(experiment: Experiment) -> None:
    """Print evidence by budget and by category, how tokens grow, and what writing costs."""
    from ..evaluate.experiment.report import ahead

    show_table(_curve(experiment))
    for budget, difference in ahead(experiment).items():
        sign = "" if difference.low > 0 or difference.high < 0 else " (may be chance)"
        note(f"tiered above vector RAG at {budget}: {difference.mean:+.3f} [{_bounds(difference)}]{sign}")
    if (categories := _categories(experiment)) is not None:
        show_table(categories)
    show_table(_growth(experiment))
    show_table(_costs(experiment))
    note(
        f"How: {experiment.how}. Every context is counted by {experiment.counter}; evidence is the share of the gold "
        "units whose words stand in it, in parts where only parts do. Of each architecture the variant that is best "
        "on these very questions is shown (--json has all): that flatters those with several. Seconds are those of "
        "each one alone: a text is embedded once per run, and charged to everyone who asks for it. Summaries are made "
        "by the extractive compressor; with a language model each would be a request. Intervals: 95%, bootstrap over "
        "haystacks, over questions where there is one haystack."
    )


def show_answers(answers: Answers) -> None:
    """Print how good the answers are, the judge's prompts, and how often it errs on answers whose verdict is known."""
    from ..evaluate.experiment import answers as answering
    from ..evaluate.experiment import judge

    made = table(
        ("architecture", "variant", "budget", "n", "F1", "judged right", "no verdict"),
        title=f"answers by {answers.model}, judged by {answers.judge}",
        right=("budget", "n", "F1", "judged right", "no verdict"),
    )
    for row in answering.rows(answers):
        figures = (str(row.questions), f"{row.f1:.3f}", f"{row.right:.3f}", str(row.unreadable))
        made.add_row(row.family, row.variant, str(row.budget), *figures)
    show_table(made)
    error = answers.error
    print(
        f"The judge errs on {error.rate:.1%} of {error.right + error.wrong} answers whose verdict is known: it "
        f"refuses {error.refused} of {error.right} right ones, accepts {error.accepted} of {error.wrong} wrong "
        f"ones, and gives no verdict on {error.unreadable}. It is told:\n\n{judge.ENGLISH}\n\n{judge.CHINESE}"
    )


def _curve(experiment: Experiment) -> Table:
    from ..evaluate.experiment.report import curve

    right = ("budget", "tokens", "of all", "ms", "CPU ms")
    made = table(
        ("architecture", "budget", "evidence, 95%", "tokens", "of all", "ms", "CPU ms"),
        title=f"{experiment.benchmark}: evidence in the context, {len(experiment.questions)} questions, "
        f"{experiment.embedder} ({experiment.engine})",
        right=right,
    )
    made.columns[0].no_wrap = True
    family = ""
    for point in curve(experiment):
        if point.family != family:
            family = point.family
            made.add_row(*_short([family]))
        made.add_row(
            f"  {point.variant}",
            str(point.budget),
            f"{point.recall.mean:.3f} {_bounds(point.recall, digits=2)}",
            f"{point.tokens:.0f}",
            "" if point.of_tokens is None else f"{point.of_tokens:.1%}",
            *(f"{ms:.1f}" if ms < 1000 else f"{ms:.0f}" for ms in (point.ms, point.cpu_ms)),
        )
    return made


def _categories(experiment: Experiment) -> Table | None:
    from ..evaluate.experiment.report import by_category, categories

    budget = experiment.plan.middle
    found = by_category(experiment, budget)
    if len(found) < 2:
        return None
    families = experiment.families
    title = f"evidence by type of question, budget {budget} (full concatenation: {experiment.plan.window})"
    short = _short(families)
    made = table(("type", "n", *short), title=title, right=("n", *short))
    for name, row in found.items():
        number = len(categories(experiment)[name])
        made.add_row(name, str(number), *(f"{row[family]:.3f}" for family in families))
    return made


def _growth(experiment: Experiment) -> Table:
    from ..evaluate.experiment.report import growth

    found = growth(experiment)
    short = _short(found)
    made = table(
        ("tokens of history", *short), title="tokens injected as it grows", right=("tokens of history", *short)
    )
    for points in zip(*found.values(), strict=True):
        made.add_row(f"{points[0][0]:.0f}", *(f"{tokens:.0f}" for _, tokens in points))
    return made


def _costs(experiment: Experiment) -> Table:
    from ..evaluate.experiment.report import costs

    shown = costs(experiment)
    short = _short(one.family for one in shown)
    made = table(("writing, per 1,000 turns", *short), right=short, title="cost")
    lines = {
        "variant": [one.variant for one in shown],
        "embedder calls": [f"{one.embedder_calls:.0f}" for one in shown],
        "tokens embedded": [f"{one.embedded_tokens:.0f}" for one in shown],
        "summaries (model calls)": [f"{one.model_calls:.0f}" for one in shown],
        "tokens summarised": [f"{one.model_tokens:.0f}" for one in shown],
        "seconds": [f"{one.seconds:.1f}" for one in shown],
        "seconds of CPU": [f"{one.cpu_seconds:.1f}" for one in shown],
        "on disk": [size(round(1000 * one.bytes_per_turn)) for one in shown],
        "  of which words": [size(round(1000 * one.text_bytes_per_turn)) for one in shown],
        "opening again, first context, ms": [f"{one.reopen_ms:.1f}" for one in shown],
        "evidence that survives it": ["–" if one.survival is None else f"{one.survival:.0%}" for one in shown],
        "contexts the same after it": [f"{one.same:.0%}" for one in shown],
    }
    for name, values in lines.items():
        made.add_row(name, *values)
    return made


def _short(families: Iterable[str]) -> list[str]:
    """Return names that stand above columns."""
    from ..evaluate.experiment.designs import SHORT

    return [SHORT.get(family, family) for family in families]


def _bounds(figure: Interval, *, digits: int = 3) -> str:
    return "–".join(f"{bound:.{digits}f}".removeprefix("0") for bound in (figure.low, figure.high))
