"""``lengthlens attention``: where a head attends to on one sequence, in the terminal or as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.errors import UsageError
from workbench.cli.options import TrustCode
from workbench.cli.output.print_tables import (
    CsvOption,
    JsonOption,
    OutputTable,
    print_columns,
    print_tables,
    refuse_both,
)
from workbench.cli.output.table_kinds import ATTENTION

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from workbench.measure.edits.reading import SequenceReading
    from workbench.runs.run import Run

MOST_KEYS = 12
"""Keys that the terminal shows."""
MOST_DRAWN = 2048
"""Longest sequence of a file: attention grows with its square."""
BAR = 30
"""Characters of a bar that stands for all attention."""


def attention(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Use the model of this run.")],
    head: Annotated[
        str | None, typer.Option(metavar="HEAD", help="Show this head, e.g. L0H1. Default: the mean over all heads.")
    ] = None,
    length: Annotated[
        int | None,
        typer.Option(
            min=1, help="Draw a sequence of this prefix length. Default: about twice the longest trained length."
        ),
    ] = None,
    step: Annotated[int | None, typer.Option(min=0, help="Use this checkpoint. Default: the last.")] = None,
    test_set: Annotated[
        str, typer.Option(metavar="TEST_SET", help="Draw the sequence from the `matched` or the `challenge` test set.")
    ] = "matched",
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Draw the sequence from this seed.")] = 0,
    tokens: Annotated[
        str | None,
        typer.Option(
            help='Use this sequence, e.g. "w1 i0 i1 r" for flip_flop. Default: a drawn sequence. `lengthlens tasks '
            "NAME` lists "
            "the tokens."
        ),
    ] = None,
    query: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Show the query at the last token of a prefix of this length. Default: the last "
            "query of the sequence.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write the whole attention pattern to this file: .svg, .pdf, .png or .html.",
        ),
    ] = None,
    trust_code: TrustCode = None,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Show which tokens of one sequence an attention head attends to.

    The terminal shows the keys with the most attention. --json and --csv print all of them. The dashboard shows the
    same pattern on its page `Try it`.
    """
    from circuits.one_sequence import look
    from workbench.figures.export.titled_figure import refuse_ending, save
    from workbench.runs.run import Run
    from workbench.tasks.source_code import trust

    refuse_both(as_json, as_csv)
    if test_set not in ("matched", "challenge"):
        raise UsageError(f"--test-set takes matched or challenge, not {test_set[:60]!r}")
    if out is not None:
        refuse_ending(out)
    for file in trust_code or ():
        trust(file)
    opened = Run.open(run)
    if opened.weightless:
        opened.load()  # which says why
    layer, number = _one_head(head, opened)
    if out is not None and layer is None:
        raise UsageError("a file shows one head; choose it with --head, e.g. --head L0H1")
    length = opened.task.next_length(2 * opened.trained_length) if length is None else length
    sequence = {"law": test_set, "length": length, "seed": seed} if tokens is None else {"text": tokens}
    at = opened.steps[-1] if step is None and opened.steps else step
    seen = look(str(opened.path), at or 0, sequence, layer, number, query, cells=MOST_DRAWN if out else 1)
    drawn = "the given sequence" if tokens is not None else f"a sequence of the {test_set} test set, seed {seed}"
    who = "mean over all heads" if layer is None else f"L{layer}H{number}"
    about = f"{who} of {opened.name} at step {seen.step:,}, {drawn}, length {seen.length:,}"
    if out is not None:
        save(_figure(seen, opened.name, about), out)
        if not (as_json or as_csv):
            print(f"{out}: attention, {about}.")
            return
    rows = [{"run": opened.name, "path": str(opened.path), **row} for row in _rows(seen, opened.name)]
    if not print_tables("attention", [OutputTable(ATTENTION, rows)], as_json, as_csv):
        _print(seen, rows, about)


def _one_head(head: str | None, run: Run) -> tuple[int, int] | tuple[None, None]:
    """Layer and head of the option --head."""
    from workbench.cli.commands.ablate import parts_named, refuse_absent

    if head is None:
        return None, None
    heads, mlps = parts_named([head])
    if len(heads) != 1 or mlps:
        raise UsageError(f"--head takes one head, e.g. L0H1, not {head[:60]!r}")
    shape = run.config["model"]
    if "n_heads" in shape:
        refuse_absent(int(shape["n_layers"]), int(shape["n_heads"]), heads, [])
    return heads[0]


def _rows(seen: SequenceReading, name: str) -> list[dict[str, Any]]:
    """Rows of :data:`~workbench.cli.output.table_kinds.ATTENTION`, in the order of the keys."""
    row = seen.clean.row
    if row is None:
        raise UsageError(f"{name} has no attention; choose a run of a transformer")
    first = int(not seen.bos)
    return [
        {
            "step": seen.step,
            "head": "" if seen.layer is None else f"L{seen.layer}H{seen.head}",
            "query": seen.query + first,
            "key": key + first,
            "token": seen.tokens[key],
            "attention": float(weight),
        }
        for key, weight in enumerate(row[: seen.query + 1])
    ]


def _print(seen: SequenceReading, rows: list[dict[str, Any]], about: str) -> None:
    print(f"Attention, {about}.")
    correct = seen.clean.correct[seen.query]
    answer = "" if correct is None else f" The model's answer there is {'right' if correct else 'wrong'}."
    print(f"The query is at position {rows[-1]['query']:,} ({rows[-1]['token']}).{answer}\n")
    strongest = sorted(rows, key=lambda row: (-row["attention"], row["key"]))[:MOST_KEYS]
    print_columns(
        ("position", "token", "attention", ""),
        [
            (f"{row['key']:,}", row["token"], f"{row['attention']:.3f}", "\u2588" * round(row["attention"] * BAR))
            for row in strongest
        ],
        into_pipes=True,
    )
    if hidden := len(rows) - len(strongest):
        rest = sum(row["attention"] for row in rows) - sum(row["attention"] for row in strongest)
        print(f"The other {hidden:,} keys have {rest:.3f} together.")


def _figure(seen: SequenceReading, name: str, about: str) -> go.Figure:
    from workbench.figures.sequence.attention_pattern import attention_pattern

    if seen.clean.pattern is None:
        raise UsageError(f"{name} has no attention; choose a run of a transformer")
    if seen.pool > 1:
        raise UsageError(
            f"a file shows at most {MOST_DRAWN:,} positions; choose a shorter --length, or leave out --out"
        )
    if seen.layer is None or seen.head is None:
        raise UsageError("a file shows one head; choose it with --head, e.g. --head L0H1")
    figure = attention_pattern(
        seen.clean.pattern, seen.tokens, trained=seen.trained, query=seen.query, layer=seen.layer, head=seen.head
    )
    figure.layout.meta = {**figure.layout.meta, "slice": about}
    return figure
