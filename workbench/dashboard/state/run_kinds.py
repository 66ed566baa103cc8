"""The kinds of run, and all that differs between them: a model trained on prefixes, and one evaluated in a prompt.

Pages, panels and reports read :attr:`workbench.dashboard.state.run_view.RunView.kind`. No other module decides by the
configuration of a run what its pages contain. A new kind is a :class:`RunKind` here and the panels of its sections.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

from workbench.core.names import BEHAVIOUR, CHALLENGE, IN_CONTEXT
from workbench.core.verdicts import NOT_FITTED
from workbench.dashboard.state.run_brief import BehaviourNames, Brief
from workbench.figures import in_items
from workbench.figures.errors import NotMeasured, NotShared
from workbench.figures.heads.leading_head import leading_head
from workbench.figures.in_context.in_context_curve import ALL, in_context_difference, prompt_tokens
from workbench.figures.in_context.inducing_heads import leading_inducer
from workbench.figures.labels import (
    MISSING,
    Piece,
    beyond,
    compiled_limit,
    length_label,
    multiple,
    span_of_lengths,
    whole,
)
from workbench.figures.panels.differences import compare_sentence, over_length_difference
from workbench.figures.rows.claims import plain, with_items
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.multiples import LengthAxis
from workbench.figures.text.headline import Headline, headline
from workbench.figures.text.in_context_sentence import (
    asymmetry_sentence,
    in_context_course,
    in_context_rail,
    in_context_sentence,
)
from workbench.figures.text.run_sentences import rail_text, verdict_sentence, why_sentence
from workbench.tasks.presented.question_limit import question_limit

STEP, LENGTH = "step", "length"
"""What a sentence next to a row of panels may depend on."""
NEIGHBOURS = {"ur", "ul"}
"""The tasks about the right and the left neighbour, which are compared by pairs of sequences."""


class ComparedRun(NamedTuple):
    """One of two compared runs, at its checkpoint."""

    frame: Frame
    task: str
    trained: int
    step: int


@dataclass(frozen=True, kw_only=True, eq=False)
class RunKind:
    """Everything that differs between kinds of runs (trained on prefixes, or evaluated in a prompt).

    Attributes:
        has_trained_length: whether N is the longest length of training; otherwise N is the number of items that fit
            into the window.
        length_noun: the label of the length slider.
        items: whether a length counts the items of a question.
        axes: the units of length axes, the usual unit first.
        relabel: the function that gives the length axis of a figure its unit; None = the axis stays as it is.
        behaviour: the names of the rows about the model's behaviour.
        sections: of its Run page, in order; :data:`workbench.dashboard.panels.run_panels.SECTION_PANELS` has the panels
            of those that have any. The first such section is always drawn, the others where they were measured.
        unmeasured: the sections of its Run page without rows.
        rails: row of panels -> what the sentence next to it depends on: the step, or step and length.
        report_rail: the first part of the ids of these sentences in a report, which contains runs of both kinds.
        evidence: whether the evidence for its verdict is listed clause by clause.
        all_heads: whether pages can show all heads at once.
        compared: the panels of Compare for two runs of the kind, by their name there.
        measurements: what can be measured of it; None = everything.
        unsuited: why nothing else can be measured.
        made_with: what the versions in its configuration are of.
        leading: layer and head that pages open on, from rows, step and length; None = all heads.
        prompt_tokens: number of items -> tokens of its prompt, from rows and step.
        verdict: the verdict sentence, from rows, step and N. Raises NotMeasured without a verdict at that step.
        headline: the words at the top of its Run page, from rows, step and N. Raises as ``verdict``.
        why: the line below the verdict, from rows and the keywords of
            :func:`workbench.figures.text.run_sentences.why_sentence`; None = its page has no such line.
        rail: the sentence next to a row of panels, from rows, row, step, length, layer and head, and ``trained``.
        difference: the sentence on how two runs of the kind differ, from both and the unit of lengths.
        failure: the cell of the Runs page with the length at which it fails, from its brief, verdict and N.
        origin: where its weights come from, from its configuration, why its weights are not here ("" = they are), the
            shortest trained length and N.
        short_origin: the same in fewer words, for the Try it page.
    """

    has_trained_length: bool
    length_noun: str
    items: bool
    axes: tuple[LengthAxis, ...]
    relabel: Callable[[Any], Any] | None
    behaviour: BehaviourNames
    sections: tuple[str, ...]
    unmeasured: tuple[str, ...]
    rails: Mapping[str, Sequence[str]]
    report_rail: str
    evidence: bool
    all_heads: bool
    compared: str
    measurements: Collection[str] | None
    unsuited: str
    made_with: str
    leading: Callable[[Frame, int, int], tuple[int, int] | None]
    prompt_tokens: Callable[[Frame, int], Mapping[int, int]]
    verdict: Callable[[Frame, int, int], list[Piece]]
    headline: Callable[[Frame, int, int], Headline]
    why: Callable[..., list[Piece]] | None
    rail: Callable[..., list[Piece]]
    difference: Callable[[ComparedRun, ComparedRun, LengthAxis], list[Piece]]
    failure: Callable[[Brief, str, int], dict[str, Any]]
    origin: Callable[[Mapping[str, Any], str, int, int], str]
    short_origin: Callable[[Mapping[str, Any], str, int, int], str]

    def length_text(self, length: float) -> str:
        """A length in words: ``length 64`` or ``64 items``."""
        return length_label(length, self.items)

    def in_units(self, pieces: Sequence[Piece]) -> list[Piece]:
        """A sentence about lengths, in the unit of the kind."""
        return with_items(pieces) if self.items else list(pieces)

    def measures(self, measurement: str) -> bool:
        """Whether a measurement can be made of a run of the kind."""
        return self.measurements is None or measurement in self.measurements


# ---- trained on prefixes --------------------------------------------------------------------------------
def _over_prefixes(a: ComparedRun, b: ComparedRun, axis: LengthAxis) -> list[Piece]:
    try:
        difference = over_length_difference(
            a.frame, b.frame, step=a.step, step_b=b.step, trained=a.trained, trained_b=b.trained, axis=axis
        )
        return compare_sentence(difference)
    except NotShared as error:
        return [plain(error.message)]
    except NotMeasured:
        return [plain("One of them has no accuracies at this step.")]


def _failure(brief: Brief, verdict: str, trained: int) -> dict[str, Any]:
    """The first length at which it fails on either test set; where it fails at none, beyond the longest tested one.

    The cell has the length as a multiple of N too, which runs of different N have in common. Where no threshold is
    known, the cell is empty.
    """
    failed = [row for row in brief.failure if row["status"] == "ok" and row["value"] is not None]
    lengths = [float(row["value"]) for row in failed]
    if verdict == NOT_FITTED or not brief.failure:
        return {"fails": None, "failsText": MISSING}
    if lengths:
        return {
            "fails": min(lengths) / trained,
            "failsText": whole(min(lengths)) + _only_on_challenge(failed),
            "failsTimes": f"{multiple(min(lengths) / trained)} \u00d7 N",
            "failed": True,
        }
    # Rows that do not say what was judged end where they are censored, as in the panel of failure lengths.
    passed = [row for row in brief.failure if row["status"] == "censored"]
    ends = [row["low"] if row["length"] is None else row["length"] for row in passed]
    tested = [float(end) for end in ends if end is not None]
    if not tested:
        return {"fails": None, "failsText": MISSING}
    times = f"> {multiple(min(tested) / trained)} \u00d7 N"
    return {"fails": 1e12, "failsText": beyond(min(tested)), "failsTimes": times}


def _only_on_challenge(failed: Sequence[Mapping[str, Any]]) -> str:
    """The name of the test set, where the first failure is not one of the matched test set, whose accuracies stand in
    the same line."""
    first = min(float(row["value"]) for row in failed)
    sets = {str(row["law"]) for row in failed if float(row["value"]) == first}
    return f", {CHALLENGE}" if sets == {CHALLENGE} else ""


def _trained_origin(config: Mapping[str, Any], rows_only: str, shortest: int, trained: int) -> str:
    """The lengths it was trained on, or the program it was compiled from.

    A compiled model with a flaw has a gain that is too small, or attends only to its first keys. It is right on short
    prefixes by construction. Its verdict and its hard inputs show what happens on long ones.
    """
    compiled = config["training"].get("compiled")
    if not compiled:
        here = f"{rows_only}, its weights not here, " if rows_only else ""
        return f"{here}trained on {span_of_lengths(shortest, trained)}"
    program = f"compiled from the program {compiled['program']}, not trained"
    return f"{program}; {compiled_limit(compiled)}"


TRAINED = RunKind(
    has_trained_length=True,
    length_noun="Prefix length",
    items=False,
    axes=("times", "length"),
    relabel=None,
    behaviour=BehaviourNames(BEHAVIOUR, "verdict", "accuracy", "chance", "failure_length"),
    sections=("evidence", "why", "deeper", "circuit", "heads", "pictures", "more", "training"),
    unmeasured=("unmeasured", "training"),
    rails={"behaviour": [STEP], "representation": [STEP, LENGTH], "mechanism": [STEP, LENGTH]},
    report_rail="rail-",
    evidence=True,
    all_heads=True,
    compared="prefixes",
    measurements=None,
    unsuited="",
    made_with="Trained with",
    leading=lambda frame, step, length: leading_head(frame, step=step, length=length).place,
    prompt_tokens=lambda frame, step: {},
    verdict=lambda frame, step, trained: verdict_sentence(frame, step=step, trained=trained),
    headline=lambda frame, step, trained: headline(frame, step=step, trained=trained),
    why=why_sentence,
    rail=rail_text,
    difference=_over_prefixes,
    failure=_failure,
    origin=_trained_origin,
    short_origin=lambda config, rows_only, shortest, trained: f"trained on lengths up to {whole(trained)}",
)


# ---- evaluated in a prompt ------------------------------------------------------------------------------
def _over_items(a: ComparedRun, b: ComparedRun, axis: LengthAxis) -> list[Piece]:
    """The difference of pairs of sequences for the right and the left neighbour; else that of two accuracies."""
    if {a.task, b.task} == NEIGHBOURS:
        for run in (a, b):
            with suppress(NotMeasured):
                return asymmetry_sentence(run.frame, step=run.step)
    try:
        rows = in_context_difference.data(a.frame, b.frame, step=a.step, step_b=b.step)
    except NotMeasured as error:
        return [plain(error.message)]
    return compare_sentence(rows.where(series=ALL), items=True)


def _decay(brief: Brief, verdict: str, window: int) -> dict[str, Any]:
    """The number of items from which answers are shown to fail; where they are not, beyond the largest tested number.

    Where no skill is shown that could be lost, the cell is empty.
    """
    for row in brief.failure:
        if row["status"] == "ok" and row["value"] is not None:
            return {"fails": row["value"] / window, "failsText": f"{whole(row['value'])} items", "failed": True}
        if row["status"] == "censored" and row["length"] is not None:
            return {"fails": 1e12, "failsText": f"{beyond(row['length'])} items"}
    return {"fails": None, "failsText": MISSING}


def _prompted_origin(config: Mapping[str, Any], rows_only: str, shortest: int, trained: int) -> str:
    """Who trained it, and what limits a question; for a model behind an API, only its name."""
    if "answers" in config["training"]:
        return f"answers of {config['training']['answers']['model']}"
    here = f"{rows_only}, its weights not here, " if rows_only else ""
    return f"{here}trained by others; {question_limit(config)}"


IN_A_PROMPT = (
    "behaviour.in_context", "behaviour.asymmetry", "circuits.heads", "circuits.hardmax", "circuits.in_context",
    "circuits.in_context_rows", "probes.in_context",
)  # fmt: skip
"""Measurements of a model that was given its task in a prompt."""

PROMPTED = RunKind(
    has_trained_length=False,
    length_noun="Items",
    items=True,
    axes=("length",),
    relabel=in_items,
    behaviour=BehaviourNames(IN_CONTEXT, "in_context_verdict", "answer_accuracy", "candidate_chance", "decays_from"),
    sections=("items", "items-deeper", "more"),
    unmeasured=("unmeasured",),
    rails=dict.fromkeys(("behaviour", "mechanism", "in-context-use"), (STEP, LENGTH)),
    report_rail="rail-items-",
    evidence=False,
    all_heads=False,
    compared="items",
    measurements=IN_A_PROMPT,
    unsuited="It compares lengths with trained lengths, and this model was evaluated in a prompt, without training.",
    made_with="Opened with",
    leading=lambda frame, step, length: leading_inducer(frame, step=step) or (0, 0),
    prompt_tokens=prompt_tokens,
    verdict=lambda frame, step, trained: in_context_sentence(frame, step=step),
    headline=lambda frame, step, trained: Headline(
        in_context_sentence(frame, step=step), in_context_course(frame, step=step), []
    ),
    why=None,
    rail=lambda *place, trained: in_context_rail(*place),
    difference=_over_items,
    failure=_decay,
    origin=_prompted_origin,
    short_origin=_prompted_origin,
)

KINDS = (TRAINED, PROMPTED)
"""Every kind, the usual one first."""


def kind_of(config: Mapping[str, Any]) -> RunKind:
    """The kind of the run with a configuration."""
    return PROMPTED if "presented" in config["task"] else TRAINED


class OfKind(Protocol):
    """An object that has a kind of run."""

    @property
    def kind(self) -> RunKind: ...


R = TypeVar("R", bound=OfKind)


def of_one_kind(runs: Iterable[R]) -> list[R]:
    """Return the runs of the first kind that occurs, because lengths of different kinds of runs share no axis."""
    listed = list(runs)
    return next((alike for kind in KINDS if (alike := [run for run in listed if run.kind is kind])), [])


def compared_as(a: OfKind, b: OfKind) -> RunKind:
    """The kind of a comparison: the common kind of both runs, else the usual kind."""
    return a.kind if a.kind is b.kind else TRAINED
