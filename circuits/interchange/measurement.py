"""``circuits.interchange``: does what a model computes from a short prefix work at a long one, and the reverse?

Exchanges are made between the longest trained length N and lengths past it, in both directions, and within one length
for comparison. Prefixes, and keys and values, are exchanged by :mod:`circuits.interchange.prefix_exchange`. Rows of the
last query are exchanged by :mod:`circuits.interchange.residual_patching`, at each layer and site in turn. Donors have
the same task state for updates, which determines everything that can follow. The controls are random donors, and donors
that share only the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import AfterValidator

from circuits.head_rows import ratio_row
from circuits.interchange.last_query import SITES, sites
from circuits.interchange.prefix_exchange import (
    NONE,
    Chosen,
    agreement,
    choose_donors,
    exchange,
    random_donors,
    take,
)
from circuits.interchange.residual_patching import (
    Patched,
    QueryRows,
    query_rows,
    residual_interchange,
    tautological,
)
from circuits.interchange.summary_subspace import MOST_CLASSES, random_subspace, summary_subspace
from workbench.core.names import MATCHED
from workbench.measure.grid import lengths_for, within_training
from workbench.measure.intervals import newcombe
from workbench.measure.measurement import MeasurementWithoutBatches, Quantity
from workbench.measure.model_study import run
from workbench.measure.result import Result
from workbench.measure.rows import mean_row, missing_row, share_row
from workbench.measure.running.plain_tokens import Data
from workbench.measure.settings import Count, Factors
from workbench.table.schema import Row, row
from workbench.tasks.base import Batch

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.measure.measurement import Grid, Study
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Task

NAME = "circuits.interchange"
LAW = MATCHED

RANDOM_DONOR, SAME_OUTPUT, RANDOM = "random donor", "output summary", "random subspace"
"""What stands in the column ``control``."""
QUANTITIES = (
    Quantity(
        "prefix_exchange_agreement",
        "Share of suffix positions at which the model gives the same answer after a prefix u and after another "
        "prefix u'. Both prefixes have the same task state, and the mode names the length of u'. It is 1 for a "
        "function that does not depend on length.",
        "share",
        0,
        1,
        formula="⟨1[f(u w_{1} … w_{i}) = f(u′ w_{1} … w_{i})]⟩",
        where="f: answer, u, u′: prefixes of two lengths with one task state, w: the suffix; ⟨·⟩ also averages over i",
        controls=(SAME_OUTPUT, RANDOM_DONOR),
    ),
    Quantity(
        "kv_splice_agreement",
        "Share of suffix positions at which the answer stays the same when the suffix reads the keys and values of "
        "another prefix u' up to one layer. The suffix keeps its own position ids, and both prefixes have the same "
        "task state. The row names the last exchanged layer; if it names none, all layers are exchanged. It is 1 for "
        "a rule that does not depend on length.",
        "share",
        0,
        1,
        formula="⟨1[f(w_{1} … w_{i} | u′) = f(w_{1} … w_{i} | u)]⟩",
        where="· | u: on the keys and values of u; ⟨·⟩ also averages over i",
        controls=(SAME_OUTPUT, RANDOM_DONOR),
    ),
    Quantity(
        "follows_donor",
        "Share of sequences on which the model gives the donor's answer when the residual stream of the last query, "
        "at one hook point, comes from the donor. A donor is a sequence of another length with the same task state. "
        "High values mean that the two lengths share one code.",
        "share",
        0,
        1,
        formula="⟨1[f(x ← h(x′)) = f(x′)]⟩",
        where="x ← h(x′): x, with the residual stream of the donor x′ at the last query",
        controls=(RANDOM_DONOR,),
    ),
    Quantity(
        "follows_recipient",
        "Share of sequences on which the model keeps its answer when the residual stream is exchanged as in "
        "`follows_donor`.",
        "share",
        0,
        1,
        formula="⟨1[f(x ← h(x′)) = f(x)]⟩",
        where="symbols as in follows_donor",
        controls=(RANDOM_DONOR,),
    ),
    Quantity(
        "across_length_deficit",
        "`follows_donor` within one length minus `follows_donor` across lengths, for donors that the "
        "unchanged model answers correctly. Positive values mean that the code or its read-out moves with "
        "length.",
        "share",
        -1,
        1,
        formula="F_{within} − F_{across}",
        where="F: follows_donor, donors that the unchanged model answers correctly",
    ),
    Quantity(
        "interchange_accuracy",
        "Share of sequences on which the model gives the donor's correct answer when the residual stream comes from "
        "a donor with another task state. The value is near 0 at hook points before the answer has arrived, and near "
        "the donor's accuracy at the last hook points.",
        "share",
        0,
        1,
        formula="⟨1[f(x ← h(x′)) = y(x′)]⟩",
        where="x′: donor with another task state",
    ),
    Quantity(
        "subspace_interchange_accuracy",
        "As `interchange_accuracy`, but the exchange covers only one subspace of the residual stream: the span of "
        "the class means of the task state at length N. The control exchanges a random subspace of equal rank. A "
        "value above the control means that the model reads the task state in this subspace.",
        "share",
        0,
        1,
        formula="⟨1[f(x ← Q h(x′) + (1 − Q) h(x)) = y(x′)]⟩",
        where="Q: projection onto the subspace of the task state",
        controls=(RANDOM,),
    ),
    Quantity(
        "rescue",
        "Share of the accuracy gap that is recovered at n when the residual stream comes from the shorter "
        "length n'. 1 means that the failure arises before this hook point.",
        "share",
        formula="(a′ − a(n)) / (a(n′) − a(n))",
        where="a′: accuracy at n with the residual stream of the shorter length n′; a(n): accuracy of the unchanged "
        "model",
    ),
    Quantity(
        "harm",
        "Share of the accuracy gap that appears at n when the residual stream comes from the longer length "
        "n'. 1 means that what the long prefix writes here destroys the answer.",
        "share",
        formula="(a(n) − a′) / (a(n) − a(n′))",
        where="a′: accuracy at n with the residual stream of the longer length n′; a(n): accuracy of the unchanged "
        "model",
    ),
)

AGREEMENT = (0.0, 1.0)
"""Smallest and largest possible share of positions."""
SUBSPACE = "subspace_interchange_accuracy"
NO_UPDATE = "the task states no update summary, which donors would have to share"
NO_DONOR = "no recipient has a donor of that summary"
FLAG = "tautological: no attention follows, so the output is the donor's own"


def _beyond(factors: Sequence[float]) -> Sequence[float]:
    if any(factor <= 1 for factor in factors):
        raise ValueError(f"must be multiples of the longest trained length above 1, not {list(factors)}")
    return factors


class Interchange(MeasurementWithoutBatches):
    """Exchange prefixes, keys and values, and rows between lengths, and measure how answers change.

    Args:
        suffix: r, number of tokens after the exchanged prefix.
        factors: multiples of the longest trained length; the nearest measured lengths are paired with it.
        resamples: bootstrap resamples.
    """

    name = NAME
    version = 3
    title = "Interchange across lengths"
    quantities = QUANTITIES
    laws = ()
    sequences = 64

    suffix: Count = 8
    factors: Annotated[Factors, AfterValidator(_beyond)] = (2, 8)
    resamples: Count = 400

    def why_not_measured(self, grid: Grid) -> str:
        return within_training(grid, NAME, "pairs the longest length within training with longer ones")

    def finish(self, study: Study) -> list[Row]:
        long = lengths_for(study.grid, self.factors, beyond=True)
        short = max(study.grid.inside, default=None)
        if short is None or not long:
            note = "needs a measured length within training and one past it"
            return [missing_row("undefined", note, law=LAW, quantity=q.name) for q in QUANTITIES]
        rows = _Rows(study, self.suffix, self.resamples, short)
        made: list[Row] = []
        for n in long:
            made += rows.of_suffixes(short, n) + rows.of_suffixes(n, short)
            made += rows.of_queries(short, n) + rows.of_queries(n, short)
        return made


def interchange_statistics(
    model: HookedModel, data: Data, labels: Tensor | Sequence[Tensor] | None = None, *, task: Task | None = None,
    trained: int | None = None, lengths: Sequence[int] | None = None, sequences: int = 64, seed: int = 0,
    **settings: Any,
) -> Result:  # fmt: skip
    """Return every quantity of ``circuits.interchange`` for one model, without a run.

    Args:
        model: any model with TransformerLens's hook names.
        data, labels, task: the input; see :func:`workbench.measure.run`.
        trained: N, the longest trained length.
        lengths: prefix lengths: N and longer ones; a shorter one is refused.
        sequences: sequences per length.
        seed: seed of sequences, donors and bootstrap.
        settings: see :class:`Interchange`.
    """
    made = Interchange(**settings)
    return run(made, model, data, labels, task=task, trained=trained, lengths=lengths, sequences=sequences, seed=seed)


class _Rows:
    """Makes the rows of one checkpoint; ``donor`` and ``recipient`` are lengths."""

    def __init__(self, study: Study, suffix: int, resamples: int, home: int) -> None:
        self.study, self.suffix, self.resamples, self.home = study, suffix, resamples, home
        self.model, self.task = study.model, study.task
        self.sites = sites(study.model, SITES)
        self._given: dict[int, QueryRows] = {}
        self._within: dict[int, dict[tuple[str, str], Patched]] = {}
        self._fitted: dict[str, dict[str, Tensor]] | None = None

    # ---- suffixes ------------------------------------------------------------------------------
    def of_suffixes(self, donor: int, recipient: int) -> list[Row]:
        """Return the rows of prefix exchange and KV splice, with their controls."""
        shared = {"law": LAW, "length": recipient, "mode": f"from {donor}"}
        names = ("prefix_exchange_agreement", "kv_splice_agreement")
        why = self._no_exchange(donor, recipient)
        if why:
            return [missing_row("not_applicable", why, quantity=name, **shared) for name in names]
        mine, theirs = self._batch(recipient), self._batch(donor)
        rng = self.study.rng(NAME, "donors", donor, recipient)
        chosen = {
            "": choose_donors(self._cut(mine.update_summary), self._cut(theirs.update_summary), rng),
            SAME_OUTPUT: choose_donors(self._cut(mine.output_summary), self._cut(theirs.output_summary), rng),
            RANDOM_DONOR: random_donors(len(mine), len(theirs), rng),
        }
        rows = []
        for control, picked in chosen.items():
            rows += self._suffix_rows(mine, theirs, picked, {**shared, "control": control})
        return rows

    def _suffix_rows(self, mine: Batch, theirs: Batch, picked: Chosen, shared: dict[str, Any]) -> list[Row]:
        if not (picked != NONE).any():
            names = ("prefix_exchange_agreement", "kv_splice_agreement")
            return [missing_row("undefined", NO_DONOR, quantity=name, **shared) for name in names]
        layers = not shared["control"]
        result = exchange(self.model, self.task, mine, theirs, picked, self.suffix, layers)
        self.study.passes += 3 + len(result.by_layer)
        of = take(mine, result.sequences)
        note = f"{len(result.sequences)} of {len(mine)} have a donor; suffix of {self.suffix}"
        rng = self.study.rng(NAME, "interval", *shared.values())

        def agree(quantity: str, other: Tensor, **fields: Any) -> Row:
            share = agreement(self.task, result.own, other, result.asked, of)
            why = "the task asks nothing on the suffix"
            return mean_row(
                share, rng, self.resamples, why, AGREEMENT, quantity=quantity, note=note, **shared, **fields
            )

        rows = [agree("prefix_exchange_agreement", result.exchanged), agree("kv_splice_agreement", result.spliced)]
        return rows + [agree("kv_splice_agreement", made, layer=at) for at, made in enumerate(result.by_layer)]

    def _no_exchange(self, donor: int, recipient: int) -> str:
        if self.study.cfg.ids.coupled:
            return "position ids are coupled by the task: an exchanged prefix has none"
        if self._batch(recipient).update_summary is None:
            return NO_UPDATE
        if min(donor, recipient) <= self.suffix:
            return f"strings of {min(donor, recipient)} tokens have no prefix before a suffix of {self.suffix}"
        return ""

    def _cut(self, summary: Tensor | None) -> Tensor:
        """Return the task state of the exchanged prefix."""
        assert summary is not None
        return summary[:, -1 - self.suffix]

    # ---- queries -------------------------------------------------------------------------------
    def of_queries(self, donor: int, recipient: int) -> list[Row]:
        """Return the rows of residual interchange at every site, and in a subspace of the stream after every block."""
        across = self._patched(donor, recipient)
        within = self._patched(recipient, recipient)
        rows = []
        for name in self.sites:
            rows += self._site_rows(name, donor, recipient, across, within)
        pairs = [(donor, across)] if donor > recipient else [(donor, across), (recipient, within)]
        return rows + [r for source, found in pairs for r in self._subspace_rows(source, recipient, found)]

    def _subspace_rows(self, donor: int, recipient: int, found: dict[tuple[str, str], Patched]) -> list[Row]:
        place: dict[str, Any] = {"law": LAW, "length": recipient, "mode": f"from {donor}", "quantity": SUBSPACE}
        if not self._bases()[SUBSPACE]:
            why = f"needs a summary with 2 to {MOST_CLASSES} values, or a real one, and rows that differ with it"
            return [missing_row("undefined", why, **place)]
        rows = []
        for name, basis in self._bases()[SUBSPACE].items():
            note = f"rank {basis.shape[1]} of {basis.shape[0]}"
            fields = {**place, "layer": int(name.split(".")[1]), "site": name, "note": note}
            for choice, control in ((SUBSPACE, ""), (RANDOM, RANDOM)):
                at = found.get((choice, name))
                flags: ArrayLike = at.donors_target if at else []
                rows.append(share_row(flags, "no donor of another summary", control=control, **fields))
        return rows

    def _bases(self) -> dict[str, dict[str, Tensor]]:
        """Return, by choice and site, the subspace that is exchanged, fitted at the longest trained length."""
        if self._fitted is None:
            batch, home_rows = self._with_query(self.home), self._rows_of(self.home)
            rng = self.study.rng(NAME, RANDOM)
            self._fitted = {SUBSPACE: {}, RANDOM: {}}
            for name in self.sites:
                if name.endswith(".hook_resid_post"):
                    basis = summary_subspace(home_rows.rows[name], batch.output_summary[:, -1])
                    if basis is not None:
                        self._fitted[SUBSPACE][name] = basis
                        self._fitted[RANDOM][name] = random_subspace(basis, rng)
        return self._fitted

    def _site_rows(
        self, name: str, donor: int, recipient: int, across: dict[tuple[str, str], Patched],
        within: dict[tuple[str, str], Patched],
    ) -> list[Row]:  # fmt: skip
        flag = FLAG if tautological(self.model, name) else ""
        layer = int(name.split(".")[1])
        place = {"law": LAW, "length": recipient, "layer": layer, "site": name, "note": flag}
        rows = []
        for mode, patched in ((f"from {donor}", across), (f"from {recipient}", within)):
            if mode == f"from {recipient}" and donor > recipient:
                continue  # the same rows as for the reversed pair
            for choice in ("same", "random"):
                at = patched.get((choice, name))
                fields = {**place, "mode": mode, "control": RANDOM_DONOR if choice == "random" else ""}
                for quantity in ("follows_donor", "follows_recipient"):
                    rows.append(share_row(getattr(at, quantity) if at else [], NO_DONOR, quantity=quantity, **fields))
            other = patched.get(("other", name))
            fields = {**place, "mode": mode}
            rows.append(
                share_row(
                    other.donors_target if other else [],
                    "no donor of another summary",
                    quantity="interchange_accuracy",
                    **fields,
                )
            )
        place["mode"] = f"from {donor}"
        return [*rows, self._deficit(name, across, within, place), self._ratio(name, donor < recipient, across, place)]

    def _deficit(self, name: str, across: Any, within: Any, place: dict[str, Any]) -> Row:
        pair = [found.get(("same", name)) for found in (within, across)]
        quantity = "across_length_deficit"
        if any(at is None or not at.donor_right.any() for at in pair):
            return missing_row("undefined", "no donor that the clean model answers right", quantity=quantity, **place)
        flags = [at.follows_donor[at.donor_right] for at in pair]
        # Not the same sequences, because some have a donor only within their length.
        (k, n), (across_k, across_n) = ((int(x.sum()), len(x)) for x in flags)
        low, high = newcombe(k, n, across_k, across_n)
        fields = {"low": low, "high": high, "n": across_n, **place}
        return row(quantity=quantity, value=k / n - across_k / across_n, **fields)

    def _ratio(self, name: str, rescues: bool, across: Any, place: dict[str, Any]) -> Row:
        quantity, at = ("rescue" if rescues else "harm"), across.get(("same", name))
        if at is None:
            return missing_row("undefined", NO_DONOR, quantity=quantity, **place)
        patched, recipients, donors = (x.astype(float) for x in (at.right, at.recipient_right, at.donor_right))
        sign = 1.0 if rescues else -1.0
        why = "accuracy at the two lengths does not clearly differ in that direction"
        rng = self.study.rng(NAME, quantity, *place.values())
        return ratio_row(
            sign * (patched - recipients),
            sign * (donors - recipients),
            rng,
            self.resamples,
            why,
            quantity=quantity,
            **place,
        )

    def _patched(self, donor: int, recipient: int) -> dict[tuple[str, str], Patched]:
        if donor == recipient and recipient in self._within:
            return self._within[recipient]
        mine, theirs = self._with_query(recipient), self._with_query(donor)
        same_length = donor == recipient
        rng = self.study.rng(NAME, "rows", donor, recipient)
        chosen = {
            "same": choose_donors(self._summary(mine), self._summary(theirs), rng, one_batch=same_length),
            "random": random_donors(len(mine), len(theirs), rng, one_batch=same_length),
            "other": choose_donors(mine.targets[:, -1], theirs.targets[:, -1], rng, same=False, one_batch=same_length),
        }
        chosen |= {SUBSPACE: chosen["other"], RANDOM: chosen["other"]}
        donor_rows = self._rows_of(donor)
        patched = residual_interchange(
            self.model, self.task, mine, theirs, chosen, self.sites, donor_rows, within=self._bases()
        )
        self.study.passes += 1
        if same_length:
            self._within[recipient] = patched
        return patched

    def _rows_of(self, length: int) -> QueryRows:
        if length not in self._given:
            self._given[length] = query_rows(self.model, self._with_query(length), self.sites)
            self.study.passes += 1
        return self._given[length]

    def _summary(self, batch: Batch) -> Tensor:
        summary = batch.output_summary if batch.update_summary is None else batch.update_summary
        return summary[:, -1]

    def _batch(self, length: int) -> Batch:
        return self.study.batch(LAW, length)

    def _with_query(self, length: int) -> Batch:
        """Return the sequences whose last query is supervised."""
        batch = self._batch(length)
        kept: NDArray[np.int64] = np.flatnonzero(batch.mask[:, -1].numpy(force=True))
        return batch if len(kept) == len(batch) else take(batch, kept)
