"""``lengthlens patch``: activation patching from sequences with another right answer."""

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
from workbench.cli.output.table_kinds import PATCHED

if TYPE_CHECKING:
    from workbench.runs.run import Run

TIMES = (1, 2)
"""Prefix lengths without ``--lengths``, as multiples of the longest trained length."""
HOOKS = {
    "attn_out": "attention of block {}",
    "mlp_out": "MLP of block {}",
    "resid_post": "residual stream after block {}",
}
"""End of a hook name -> the patched part in words, with the block counted from 0."""


def patch(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Patch activations of the model of this run.")],
    lengths: Annotated[
        str | None,
        typer.Option(
            help="Measure at these prefix lengths in tokens, e.g. 32,64. Default: about 1 and 2 times the longest "
            "trained length."
        ),
    ] = None,
    step: Annotated[int | None, typer.Option(min=0, help="Use this checkpoint. Default: the last.")] = None,
    sequences: Annotated[
        int, typer.Option(min=8, max=100_000, help="Draw this many pairs of sequences for each length.")
    ] = 256,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 2, help="Draw the sequences from this seed.")] = 0,
    trust_code: TrustCode = None,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Measure which activations carry the answer, by activation patching at the last position.

    Each pair has two sequences of the length-matched test set with different right answers. One activation of the first
    sequence is replaced by the same activation of the second sequence, the *donor*. The table states how often the
    model gives the right answer of the donor with and without patching. A high share means that this activation carries
    the answer.

    No value is stored. To measure and store patching between two lengths, run `lengthlens measure RUN --only
    circuits.interchange`.
    """
    from workbench.cli.options import integers
    from workbench.runs.run import Run
    from workbench.tasks.source_code import trust

    refuse_both(as_json, as_csv)
    for file in trust_code or ():
        trust(file)
    opened = Run.open(run)
    usual = [opened.task.next_length(factor * opened.trained_length) for factor in TIMES]
    chosen = usual if lengths is None else integers(lengths, "--lengths")
    rows = patched_rows(opened, chosen, step, sequences, seed)
    if print_tables("patch", [OutputTable(PATCHED, rows)], as_json, as_csv):
        return
    print(
        f"{opened.name} at step {rows[0]['step']:,}, length-matched test set, at the last position of each sequence.\n"
        "The two sequences of a pair have different right answers. One activation of the first is replaced by that of\n"
        "the second, the donor. If it carries the answer, the model then gives the answer of the donor.\n"
    )
    print_columns(
        ("length", "patched activation", "own answer", "unpatched", "donor's answer", "unpatched", "pairs"),
        [
            (
                f"{row['length']:,}",
                row["part"],
                f"{row['own']:.3f}",
                f"{row['own_before']:.3f}",
                f"{row['donor']:.3f} [{row['low']:.2f}, {row['high']:.2f}]",
                f"{row['donor_before']:.3f}",
                f"{row['n']:,}",
            )
            for row in rows
        ],
        into_pipes=True,
    )


def patched_rows(run: Run, lengths: list[int], step: int | None, sequences: int, seed: int) -> list[dict[str, Any]]:
    """Rows of :data:`~workbench.cli.output.table_kinds.PATCHED`.

    Raises:
        UsageError: for a model that was prompted with its task, or fewer than two pairs with different answers.
    """
    from circuits.interventions.ablate_components import Ablator, answers, counted_queries
    from circuits.interventions.patch_activations import patch as patched_outputs
    from workbench.cli.progress import Bar
    from workbench.cli.run_tables import is_prompted
    from workbench.measure.rows import share_row

    if is_prompted(run):
        raise UsageError(f"{run.name} was prompted with its task; choose a run of lengthlens train")
    model = run.load("last" if step is None else step)
    names = {
        f"blocks.{layer}.hook_{end}": words.format(layer)
        for layer in range(model.cfg.n_layers)
        for end, words in HOOKS.items()
        if f"blocks.{layer}.hook_{end}" in model.hook_dict
    }
    rows: list[dict[str, Any]] = []
    with Bar(len(lengths) * len(names), "patching", "activation") as bar:
        for length in lengths:
            batch, donor = (run.task.batch(sequences, length, seed=seed + other) for other in (0, 1))
            counted = counted_queries(batch) & counted_queries(donor)
            differ = (counted & _differ(batch.targets, donor.targets)).any(1).numpy(force=True)
            if differ.sum() < 2:
                raise UsageError(
                    f"{sequences} pairs of length {length} have too few different answers; give more --sequences"
                )
            before = Ablator(model, batch, run.task).clean().right[differ] > 0.5
            plain = _outputs(model, batch)
            donor_before = answers(run.task, plain, donor).right[differ] > 0.5
            for hook, part in names.items():
                outputs = patched_outputs(model, batch, donor, hook, into=-1)
                own, other = (answers(run.task, outputs, one).right[differ] > 0.5 for one in (batch, donor))
                share = share_row(other, "", quantity="donor_share")
                rows.append(
                    {
                        "run": run.name,
                        "path": str(run.path),
                        "step": model.loaded_from.step if model.loaded_from else 0,
                        "length": length,
                        "part": part,
                        "hook": hook,
                        "own": float(own.mean()),
                        "own_before": float(before.mean()),
                        "donor": share["value"],
                        "donor_before": float(donor_before.mean()),
                        "low": share["low"],
                        "high": share["high"],
                        "n": len(other),
                    }
                )
                bar.update(len(rows), "")
    return rows


def _differ(a: Any, b: Any) -> Any:
    """``[batch, pos]`` whether two right answers differ, which are class ids or vectors."""
    different = a != b
    return different if different.ndim == 2 else different.any(-1)


def _outputs(model: Any, batch: Any) -> Any:
    """The outputs of the model as it is."""
    from circuits.passes import clean_pass, evaluation_ids

    return clean_pass(model, batch.tokens, evaluation_ids(model, batch), []).outputs
