"""``lengthlens ablate``: accuracy without some heads or MLPs, or under interventions, and that of the whole model."""

from __future__ import annotations

import re
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
from workbench.cli.output.table_kinds import ABLATED
from workbench.core.thresholds import LEVEL_TEXT

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from workbench.measure.edits.interventions.intervention import Intervention
    from workbench.runs.run import Run
    from workbench.tasks.base import Batch

    Right = NDArray[np.float64]
    Facts = dict[str, str | int]

FACTORS = (1, 2, 4)
"""Prefix lengths without ``--lengths``, as multiples of the longest trained length."""
STATISTICS = 256
"""Sequences of a length from which interventions take statistics. They are not those that are answered."""
REPLACEMENTS = {
    "mean": "its mean over the sequences at each position",
    "zero": "zero",
    "resample": "its output on another sequence",
}


def ablate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Ablate parts of the model of this run.")],
    parts: Annotated[
        list[str],
        typer.Argument(
            metavar="PART...",
            help="Ablate these parts together: heads such as L0H1, MLPs such as MLP0 (counted from 0). Or apply "
            "interventions by their names, e.g. D.logn or D.adaptive.",
        ),
    ],
    lengths: Annotated[
        str | None,
        typer.Option(
            help="Measure at these prefix lengths in tokens, e.g. 32,64. Default: about 1, 2 and 4 times the longest "
            "trained length."
        ),
    ] = None,
    step: Annotated[int | None, typer.Option(min=0, help="Use this checkpoint. Default: the last.")] = None,
    mode: Annotated[
        str,
        typer.Option(
            metavar="MODE",
            help="Replace the output of a part by its `mean` over sequences, by `zero`, or by its output on another "
            "sequence (`resample`). Interventions do not use it.",
        ),
    ] = "mean",
    sequences: Annotated[int, typer.Option(min=2, max=100_000, help="Draw this many sequences for each length.")] = 256,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Draw the sequences from this seed.")] = 0,
    trust_code: TrustCode = None,
    as_json: JsonOption = False,
    as_csv: CsvOption = False,
) -> None:
    """Measure how accuracy changes without some attention heads or MLPs, or under an intervention.

    Sequences are drawn from the length-matched test set. All parts are ablated at once. The interventions are those of
    `lengthlens diagnose`, and adaptive temperature (D.adaptive). A wrong name prints the list of all of them.

    Nothing is stored; `lengthlens measure RUN --only circuits.ablation` measures and stores all heads and MLPs.
    """
    from workbench.cli.options import integers
    from workbench.measure.edits.interventions.all_interventions import INTERVENTIONS
    from workbench.runs.run import Run
    from workbench.tasks.source_code import trust

    refuse_both(as_json, as_csv)
    interventions = interventions_named(parts)
    names = ", ".join(entry.name for entry in INTERVENTIONS)
    heads, mlps = ([], []) if interventions else parts_named(parts, f", or an intervention: {names}")
    if mode not in REPLACEMENTS:
        raise UsageError(f"--mode takes mean, zero or resample, not {mode[:60]!r}")
    for file in trust_code or ():
        trust(file)
    opened = Run.open(run)
    usual = [opened.task.next_length(factor * opened.trained_length) for factor in FACTORS]
    chosen = usual if lengths is None else integers(lengths, "--lengths")
    if interventions:
        rows = intervened_rows(opened, interventions, chosen, step, sequences, seed)
    else:
        rows = ablated_rows(opened, heads, mlps, chosen, step, mode, sequences, seed)
    if print_tables("ablate", [OutputTable(ABLATED, rows)], as_json, as_csv):
        return
    how, changed = "without", f"The output of each part is replaced by {REPLACEMENTS[mode]}."
    if interventions:
        how, changed = "with", f"The forward pass has {' and '.join(each.description for each in interventions)}."
    print(f"{opened.name} at step {rows[0]['step']:,} {how} {rows[0]['part']}, length-matched test set.\n{changed}\n")
    print_columns(
        ("length", "accuracy", f"{how}, {LEVEL_TEXT} interval", f"drop, {LEVEL_TEXT} interval", "sequences"),
        [
            (
                f"{row['length']:,}",
                f"{row['accuracy']:.3f}",
                f"{row['without']:.3f} [{row['without_low']:.2f}, {row['without_high']:.2f}]",
                f"{row['drop']:.3f} [{row['low']:.2f}, {row['high']:.2f}]",
                f"{row['n']:,}",
            )
            for row in rows
        ],
        into_pipes=True,
    )


def parts_named(parts: list[str], also: str = "") -> tuple[list[tuple[int, int]], list[int]]:
    """Heads as layer and head, and layers of MLPs.

    Args:
        parts: as typed, e.g. ``L0H1``, ``l0h1,l1h0``, ``MLP0``.
        also: what else a user can write, for the error.

    Raises:
        UsageError: for any other name.
    """
    heads, mlps = [], []
    for part in _words(parts):
        if head := re.fullmatch(r"L(\d{1,4})[H.](\d{1,4})", part, re.IGNORECASE):
            heads.append((int(head[1]), int(head[2])))
        elif mlp := re.fullmatch(r"MLP[ _]?(\d{1,4})", part, re.IGNORECASE):
            mlps.append(int(mlp[1]))
        else:
            raise UsageError(f"{part[:60]!r} names no part of a model; write L0H1 for layer 0, head 1, or MLP0{also}")
    return heads, mlps


def interventions_named(parts: list[str]) -> list[Intervention]:
    """Interventions, e.g. ``D.logn``; none if no word names one.

    Raises:
        UsageError: for interventions together with other words, and for two of position ids.
    """
    from workbench.measure.edits.interventions.all_interventions import find_intervention

    named = {word: entry for word in _words(parts) if (entry := find_intervention(word))}
    if others := [word for word in _words(parts) if named and word not in named]:
        raise UsageError(f"{next(iter(named))} is an intervention; leave it out, or {others[0][:60]!r}")
    if len(of_ids := [name for name, entry in named.items() if entry.family == "P"]) > 1:
        raise UsageError(f"{of_ids[0]} and {of_ids[1]} both change position ids; name one of them")
    return list(named.values())


def _words(parts: list[str]) -> list[str]:
    return [name for word in parts for name in word.split(",") if name]


def ablated_rows(
    run: Run,
    heads: list[tuple[int, int]],
    mlps: list[int],
    lengths: list[int],
    step: int | None,
    mode: str,
    sequences: int,
    seed: int,
) -> list[dict[str, Any]]:
    """Rows of :data:`~workbench.cli.output.table_kinds.ABLATED`.

    Raises:
        UsageError: for a part that the model does not have.
    """
    import numpy as np

    from circuits.interventions.ablate_components import Ablator

    model = run.load("last" if step is None else step)
    refuse_absent(int(model.cfg.n_layers), int(model.cfg.n_heads), heads, mlps)
    for layer in mlps:
        if f"blocks.{layer}.hook_mlp_out" not in model.hook_dict:
            raise UsageError(f"{run.name} has no MLP{layer}; choose a run of a transformer")
    names = ", ".join([*(f"L{layer}H{head}" for layer, head in heads), *(f"MLP{layer}" for layer in mlps)])

    def answered(batch: Batch) -> tuple[Right, Right]:
        ablator = Ablator(model, batch, run.task)  # whose clean pass serves both
        return ablator.clean().right, ablator.without(heads, mlps, mode, np.random.default_rng(seed)).right

    facts: Facts = {"step": model.loaded_from.step if model.loaded_from else 0, "part": names, "mode": mode}
    return _rows(run, facts, lengths, sequences, seed, answered)


def intervened_rows(
    run: Run, interventions: list[Intervention], lengths: list[int], step: int | None, sequences: int, seed: int
) -> list[dict[str, Any]]:
    """Rows of :data:`~workbench.cli.output.table_kinds.ABLATED` under interventions, all in one pass.

    Raises:
        UsageError: for an intervention that the model does not support.
    """
    from circuits.interventions.ablate_components import answers
    from workbench.diagnosis.intervened_pass import IntervenedPass, asking, inside_of
    from workbench.measure.edits.edited_forward import largest_id
    from workbench.measure.edits.interventions.all_interventions import INTERVENTIONS
    from workbench.tasks.random_generator import generator

    model = run.load("last" if step is None else step)
    known = [each.name for entry in INTERVENTIONS for each in entry.expand(model.cfg)]
    for each in interventions:
        if each.name not in known:
            raise UsageError(f"there is no intervention {each.name} on this model; choose from {', '.join(known)}")
        if why := each.no_place(model.cfg):
            raise UsageError(f"{each.name} does not apply to {run.name}: {why}; choose another intervention")
    if not run.trained_length:
        raise UsageError(f"{run.name} has no longest trained length, which interventions need; choose a trained run")

    def separate(length: int) -> Batch:
        return asking(run.task.sample(STATISTICS, length, generator("intervention", seed, length), "matched"))

    loaded = model.loaded_from.step if model.loaded_from else 0
    inside = inside_of(model, separate(run.trained_length), largest_id(run.meta(loaded).get("trained_ids")))

    def answered(batch: Batch) -> tuple[Right, Right]:
        clean, edited = IntervenedPass(model, inside), IntervenedPass(model, inside, interventions)
        if edited.needs_statistics:
            edited.fit(separate(batch.length))
        whole, under = (answers(run.task, each.outputs(batch), batch).right for each in (clean, edited))
        return whole, under

    names = ", ".join(each.name for each in interventions)
    facts: Facts = {"step": loaded, "part": names, "mode": "intervention"}
    return _rows(run, facts, lengths, sequences, seed, answered)


def _rows(
    run: Run,
    facts: Facts,
    lengths: list[int],
    sequences: int,
    seed: int,
    answered: Callable[[Batch], tuple[Right, Right]],
) -> list[dict[str, Any]]:
    """Rows of all lengths; ``answered`` returns which sequences are right without and with the change."""
    from workbench.cli.progress import Bar
    from workbench.measure.rows import difference_rows, share_row

    rows = []
    with Bar(len(lengths), "ablating", "length") as bar:
        for length in lengths:
            whole, right = (each > 0.5 for each in answered(run.task.batch(sequences, length, seed=seed)))
            without = share_row(right, "", quantity="ablated_accuracy")
            drop, _ = difference_rows(whole, right, "", quantity="accuracy_drop")
            rows.append(
                {
                    "run": run.name,
                    "path": str(run.path),
                    **facts,
                    "length": length,
                    "accuracy": float(whole.mean()),
                    "without": without["value"],
                    "without_low": without["low"],
                    "without_high": without["high"],
                    "drop": drop["value"],
                    "low": drop["low"],
                    "high": drop["high"],
                    "n": len(whole),
                }
            )
            bar.update(len(rows), "")
    return rows


def refuse_absent(layers: int, n_heads: int, heads: list[tuple[int, int]], mlps: list[int]) -> None:
    """Refuse a head or an MLP that a model with so many layers and heads does not have.

    Raises:
        UsageError: naming those there are.
    """
    if heads and not n_heads:
        raise UsageError(
            f"this model has no attention heads, so L{heads[0][0]}H{heads[0][1]} does not exist; choose a transformer"
        )
    for layer, head in heads:
        if layer >= layers or head >= n_heads:
            raise UsageError(f"the model has no head L{layer}H{head}; choose from L0H0 to L{layers - 1}H{n_heads - 1}")
    for layer in mlps:
        if layer >= layers:
            raise UsageError(f"the model has no MLP{layer}; choose from MLP0 to MLP{layers - 1}")
