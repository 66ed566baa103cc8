"""Statistics of every query, the cost of length, and what interventions save by reusing a clean pass.

    python -m benchmarks.measurements.circuits [--longest]

The baseline for every query is what a user of TransformerLens would write: ``run_with_cache`` for the patterns, then
largest weight and entropy of all rows. ``--longest`` adds n = 65,536, which takes minutes.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from benchmarks.measurements.attention import peak, setting
from benchmarks.peers.training_step import LAYERS
from benchmarks.tools.table import Line, interleaved

LENGTH = 4096
SLOPES = (1024, 2048, 4096)
LONGEST = 65_536
SWEEP = "__import__('circuits.attention.all_queries', fromlist=['x']).sweep_statistics(model, batch)"
PEER = "__import__('benchmarks.measurements.circuits', fromlist=['x']).every_row(model, batch.tokens)"


def every_row(model: torch.nn.Module, tokens: Tensor) -> list[Tensor]:
    """The peer: all patterns by ``run_with_cache``, then largest weight and entropy of every row."""
    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(LAYERS)]
    with torch.no_grad():
        _, cache = model.run_with_cache(tokens, names_filter=names)  # type: ignore[operator]
    found = []
    for name in names:
        rows = cache[name]
        found += [rows.amax(-1), -(rows * rows.clamp(min=1e-38).log()).sum(-1)]
    return found


def every_query(rounds: int) -> list[Line]:
    """All queries at n = 4,096 against the peer, and all reducers against one."""
    from circuits.attention.all_queries import REDUCERS, sweep_statistics

    model, batch = setting("none", LENGTH, 1)
    work: dict[str, Callable[[], object]] = {
        "all": lambda: sweep_statistics(model, batch),
        "one": lambda: sweep_statistics(model, batch, {"entropy": REDUCERS["entropy"]}),
        "peer": lambda: every_row(model, batch.tokens),
    }
    times = interleaved(work, rounds, warm=1)
    memory = {name: peak(code, "none", LENGTH, 1) for name, code in (("ours", SWEEP), ("peer", PEER))}
    what = f"every query, n = {LENGTH:,}, batch 1"
    return [
        Line(what, "run_with_cache / ours, time", times.ratio("peer", "all"), 4.0, f"{times.median('all'):.0f} ms"),
        Line(what, "ours / run_with_cache, peak memory", memory["ours"] / memory["peer"], 0.2,
             f"{memory['ours']:.0f} MiB against {memory['peer']:.0f} MiB", at_most=True),
        Line(what, f"all {len(REDUCERS)} reducers / one", times.ratio("all", "one"), 1.5, at_most=True),
    ]  # fmt: skip


def slopes(rounds: int) -> list[Line]:
    """How cost grows with n: exponents between n = 1,024 and 4,096."""
    from circuits.attention.all_queries import sweep
    from circuits.attention.attention_scores import score_inputs
    from circuits.hardmax.reduction import RowReducer, window_queries

    work: dict[str, Callable[[], object]] = {}
    for n in SLOPES:
        model, batch = setting("none", n, 1)
        inputs, queries = score_inputs(model, batch), window_queries(batch, 16)

        def fused(model: torch.nn.Module = model, tokens: Tensor = batch.tokens) -> object:
            with torch.no_grad():
                return model(tokens)

        work[f"forward {n}"] = fused
        work[f"window {n}"] = lambda b=batch, i=inputs, q=queries: [  # type: ignore[misc]
            RowReducer(layer, q, 1.0, {}).add(of_layer, b, {}) for layer, of_layer in enumerate(i)
        ]
        work[f"every {n}"] = lambda i=inputs: [sweep(of_layer) for of_layer in i]  # type: ignore[misc]
    times = interleaved(work, rounds, warm=1)

    def slope(kind: str) -> float:
        ends = [times.median(f"{kind} {n}") for n in (SLOPES[0], SLOPES[-1])]
        return math.log(ends[1] / ends[0]) / math.log(SLOPES[-1] / SLOPES[0])

    what = f"cost ~ n^slope, n = {SLOPES[0]:,} to {SLOPES[-1]:,}"
    return [
        Line(what, "forward pass", slope("forward"), None),
        Line(what, "last 16 queries, beside the forward pass", slope("window"), 1.2, at_most=True),
        Line(what, "every query", slope("every"), 2.2, at_most=True),
    ]


def reuse(rounds: int) -> list[Line]:
    """Ablating every head, and patching every site of one query, with and without what the clean pass holds."""
    from circuits.interchange.last_query import LastRow, sites
    from circuits.passes import clean_pass, edited_pass, evaluation_ids

    model, batch = setting("none", 256, 16)
    ids = evaluation_ids(model, batch)
    clean, row = clean_pass(model, batch.tokens, ids), LastRow(model, batch, sites(model))
    names = [f"blocks.{layer}.attn.hook_z" for layer in range(LAYERS)]

    def resumed() -> None:
        for name in names:
            edited_pass(model, clean, {name: torch.zeros_like})

    def whole() -> None:
        for name in names:
            with torch.no_grad():
                model.run_with_hooks(batch.tokens, ids, fwd_hooks=[(name, lambda z, hook: torch.zeros_like(z))])

    patched = [name for name in sites(model) if "attn.hook_z" in name]
    times = interleaved(
        {
            "resumed": resumed,
            "whole": whole,
            "row": lambda: [row.patched_outputs(name, row.rows[name]) for name in patched],
        },
        rounds,
        warm=1,
    )
    what = f"edits in each of {LAYERS} layers, n = 256"
    return [
        Line(what, "clean prefix reused / whole passes", times.ratio("resumed", "whole"), 0.95, at_most=True),
        Line(what, "whole passes / rows of the last query", times.ratio("whole", "row"), 4.0),
    ]


def longest() -> list[Line]:
    """Every query of 65,536, exactly: the peak memory of the forward pass and the sweep."""
    found = peak(SWEEP, "none", LONGEST, 1)
    return [
        Line(f"every query, n = {LONGEST:,}, 2 layers x 4 heads", "GiB of peak memory", found / 1024, 2.0, at_most=True)
    ]


def window_memory() -> list[Line]:
    """What the last queries of a long prefix take beyond the fused forward pass."""
    from benchmarks.measurements.attention import BATCH

    ours = peak("hardmax_statistics(model, batch)", "none", LENGTH, BATCH)
    alone = peak("model(batch.tokens)", "none", LENGTH, BATCH)
    what = f"circuits.hardmax, n = {LENGTH:,}, batch {BATCH}"
    return [Line(what, "peak memory / fused forward pass alone", ours / alone, 1.2, f"{ours:.0f} MiB", at_most=True)]


def measure(rounds: int = 5, long: bool = False) -> list[Line]:
    torch.set_num_threads(1)
    lines = [*every_query(rounds), *slopes(rounds), *reuse(rounds), *window_memory()]
    return lines + (longest() if long else [])


def main(arguments: Sequence[str]) -> None:
    from benchmarks.tools.table import show

    show(measure(long="--longest" in arguments))


if __name__ == "__main__":
    main(sys.argv[1:])
