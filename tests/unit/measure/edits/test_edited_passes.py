"""Forward passes under every edit, and one sequence of a run under them: as they are held, and by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from circuits.all_heads import all_heads
from circuits.one_sequence import attention_row, look
from probes.one_sequence import read_sequence
from tests.support.held import Held
from tests.support.measure.held_rows import short
from workbench.measure.edits import one_sequence as sequences
from workbench.measure.edits.edit import MOST, SINGLE_PASS, Edit, EditError, check_edits, parse_edit, parse_edits
from workbench.measure.edits.edited_forward import (
    Trained,
    edited_forward,
    ids_inside,
    largest_id,
    replace_head,
    score_factor,
)
from workbench.measure.edits.interventions.all_interventions import by_name
from workbench.measure.edits.interventions.sharpening import ScaleScores, gap_set, log_growth
from workbench.measure.edits.one_sequence import one_sequence
from workbench.models import HookedTransformer, ModelConfig
from workbench.tasks import make_task
from workbench.tasks.errors import TaskError
from workbench.tasks.random_generator import generator

TASK = make_task("flip_flop")
EDITS = (
    "zero.0.1", "mean.1.0", "hardmax.0.1", "hardmax.all", "patch.0.3", "patch.1.9.4", "zero.0.0,hardmax.1.1", *SINGLE_PASS,
    "P.int,D.beta2",
)  # fmt: skip


def model_of(positions: str) -> HookedTransformer:
    cfg = ModelConfig(
        d_vocab=TASK.d_vocab, d_vocab_out=TASK.d_vocab_out, n_layers=2, d_model=8, n_heads=2, n_ctx=64,
        positions=positions, initializer_range=0.7,
    )  # fmt: skip
    return HookedTransformer(cfg, seed=3).eval()


@pytest.mark.parametrize("positions", ["learned", "rotary"])
def test_outputs_under_every_edit(positions: str, held: Held) -> None:
    model = model_of(positions).double()
    batch, reference = (TASK.sample(4, n, generator("edits", n), "matched") for n in (11, 13))
    found = {}
    for text in EDITS:
        if positions == "rotary" and "P.row" in text:
            continue
        edits = parse_edits(text)
        for top in (None, 8):
            made = edited_forward(model, batch, edits, ["blocks.1.hook_resid_post"], reference, Trained(6, top))
            found[f"{text} {top}"] = short(
                [*made["logits"][:, -2:].numpy().ravel(), float(made["blocks.1.hook_resid_post"].sum())]
            )
    held(found)


def test_what_an_edit_needs_to_be_told() -> None:
    model, batch = model_of("learned"), TASK.sample(2, 5, generator("edits"), "matched")
    for text, said in (("P.int", "facts about training"), ("mean.0.0", "pass them as reference=")):
        with pytest.raises(EditError, match=said):
            edited_forward(model, batch, parse_edits(text), [])
    with pytest.raises(EditError, match="table"):
        edited_forward(model_of("rotary"), batch, parse_edits("P.row"), [], None, Trained(4))


@pytest.mark.parametrize(
    ("trained", "name", "ids"),
    [
        (Trained(4), "P.clip", [0, 1, 2, 3, 3, 3, 3]),
        (Trained(4, 5), "P.clip", [0, 1, 2, 3, 3, 3, 3]),
        (Trained(4), "P.row", [0, 1, 2, 3, 2, 2, 3]),
        (Trained(4, 5), "P.row", [0, 1, 2, 3, 4, 5, 5]),
        (Trained(4, 1), "P.row", [0, 1, 2, 3, 2, 2, 3]),
        (Trained(7), "P.int", [0, 1, 2, 3, 4, 5, 6]),
    ],
)
def test_ids_inside_what_was_trained(trained: Trained, name: str, ids: list[int]) -> None:
    batch = TASK.sample(1, 6, generator("ids"), "matched")
    assert ids_inside(model_of("learned"), batch, parse_edits(name)[0], trained)[0].tolist() == ids


def test_what_scores_are_multiplied_by() -> None:
    by_four, by_log = by_name("D.beta4"), by_name("D.logn")
    assert isinstance(by_four, ScaleScores)
    assert isinstance(by_log, ScaleScores)
    scores = torch.zeros(1, 1, 16, 16)
    assert score_factor(by_four, scores, range(3), 9).tolist() == [4.0, 4.0, 4.0]
    assert score_factor(by_log, scores, range(16), 4)[[0, 3, 7, 15]].tolist() == pytest.approx([1, 1, 1.5, 2])
    assert score_factor(by_log, scores, range(7, 16), 4)[[0, 8]].tolist() == pytest.approx([1.5, 2])
    assert log_growth(torch.tensor([2.0, 4.0, 64.0]), 4).tolist() == pytest.approx([1, 1, 3])
    assert (largest_id(None), largest_id([]), largest_id([[0, 4], [9, 12], [1, 2]])) == (None, None, 12)
    z = torch.arange(12.0).reshape(1, 3, 2, 2)
    made = replace_head(z, None, 1, torch.zeros(()))
    assert made[0, :, 1].abs().sum() == 0
    assert torch.equal(made[0, :, 0], z[0, :, 0])


# ---- one sequence of a run -----------------------------------------------------------------------
DRAWN = {"law": "matched", "length": 11, "seed": 4}


@pytest.fixture
def run(make_run: Callable[..., Any]) -> Any:
    return make_run(model_of("learned"), TASK, 6, top_id=9)


def told(reading: Any) -> dict[str, Any]:
    """The arrays of a reading as digests, and all else as it is."""
    found: dict[str, Any] = {}
    for name, value in vars(reading).items():
        if value is None or isinstance(value, str | int | float):
            found[name] = value
        elif isinstance(value, np.ndarray):
            found[name] = short(value)
        elif hasattr(value, "__dataclass_fields__"):
            found[name] = told(value)
        elif isinstance(value, list | tuple):
            floats = any(isinstance(one, float) for one in value)
            found[name] = short([hash_of(v) for v in value]) if floats or len(str(value)) > 80 else str(value)
    return found


def hash_of(value: Any) -> float:
    """A number that stands for an entry of a list."""
    return float(value) if isinstance(value, int | float) and value is not None else float(sum(str(value).encode()))


@pytest.mark.parametrize("edits", ["", "zero.0.1", "hardmax.all", "mean.1.1", "D.logn", "P.row"])
def test_one_sequence_of_a_run(run: Any, edits: str, held: Held) -> None:
    path = str(run.path)
    stages: list[tuple[int, int, str]] = []
    held({
        "look": told(look(path, 100, DRAWN, 1, 1, None, edits, 4, None, None, lambda *given: stages.append(given))),
        "part": told(look(path, 100, DRAWN, 0, 1, 7, edits, 3, (2, 9), (1, 30))),
        "row": short(attention_row(path, 100, DRAWN, 1, 0, 5, edits)["row"]),
        "stages": stages,
    })  # fmt: skip


def test_all_heads_of_a_run(run: Any, held: Held) -> None:
    for cells, pool in ((None, 1), (12, 1), (11, 2), (6, 2), (5, 3)):
        made = all_heads(str(run.path), 100, DRAWN, cells)
        assert (made.pool, made.maps.shape[-1]) == (pool, -(-12 // pool))
    held([told(all_heads(str(run.path), 100, DRAWN, cells)) for cells in (None, 5)])


def test_what_probes_read_along_a_sequence(run: Any, held: Held) -> None:
    held(told(read_sequence(str(run.path), 100, DRAWN, "zero.0.1")))


def test_strings_that_a_mean_is_taken_over(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    one = one_sequence(str(run.path), 100, DRAWN)
    assert (len(one.reference()), one.reference().length) == (sequences.MEAN_STRINGS, 11)
    monkeypatch.setattr(sequences, "_MEAN_TOKENS", 110)
    assert len(one.reference()) == 10
    monkeypatch.setattr(sequences, "_MEAN_TOKENS", 80)
    assert len(one.reference()) == 8
    assert one.training_facts == Trained(7, 9)
    assert len(one.tokens) == len(one.strings) + 1 == 12


@pytest.mark.parametrize(("longest", "explicit", "edits", "said"), [
    (12, 12, "hardmax.all", ""), (12, 11, "", ""), (11, 12, "", "has 12 positions; shorten it to at most 11"),
    (12, 11, "hardmax.all", "at most 11 positions"), (12, 11, "D.beta2", "at most 11 positions"),
    (12, 11, "P.int", ""), (12, 11, "zero.0.0", ""),
])  # fmt: skip
def test_sequences_that_are_too_long(
    run: Any, monkeypatch: pytest.MonkeyPatch, longest: int, explicit: int, edits: str, said: str
) -> None:
    monkeypatch.setattr(sequences, "LONGEST", longest)
    monkeypatch.setattr(sequences, "EXPLICIT", explicit)
    if not said:
        assert len(one_sequence(str(run.path), 100, DRAWN, parse_edits(edits)).tokens) == 12
        return
    with pytest.raises((TaskError, EditError), match=said):
        one_sequence(str(run.path), 100, DRAWN, parse_edits(edits))


def test_texts_and_lengths_at_their_bounds(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequences, "LONGEST", 2)
    with pytest.raises(TaskError, match="sequence"):
        one_sequence(str(run.path), 100, {"text": " ".join(["w1"] * 11)})
    with pytest.raises(TaskError, match="33 characters"):
        one_sequence(str(run.path), 100, {"text": "x" * 33})
    monkeypatch.setattr(sequences, "LONGEST", 10)
    with pytest.raises(TaskError, match="length 11"):
        one_sequence(str(run.path), 100, DRAWN)


@pytest.mark.parametrize(("layer", "head", "query", "queries", "said"), [
    (2, 0, None, None, "layers 0"), (-1, 0, None, None, "layer -1"),
    (0, 2, None, None, "heads 0"), (0, -1, None, None, "head -1"),
    (0, 0, 12, None, "."), (0, 0, None, (3, 3), "queries 3"), (0, 0, None, (12, 14), "queries 12"),
    (0, 0, None, (-1, 2), "positions 0"),
])  # fmt: skip
def test_places_that_there_are_not(
    run: Any, layer: int, head: int, query: int | None, queries: tuple[int, int] | None, said: str
) -> None:
    with pytest.raises((ValueError, TaskError), match=said):
        look(str(run.path), 100, DRAWN, layer, head, query, "", 4, queries)


@pytest.mark.parametrize(
    ("scores", "under", "over"),
    [
        # The edge of the gap is its upper key; of the better half alone.
        ([3.0, 2.0, 2.0, 2.0], [1, 0, 0, 0], [0, 0, 0, 0]),
        ([3.0, 3.0, 2.5, 0.0], [1, 1, 0, 0], [0, 0, 0, 0]),  # .5 stands apart, and is looked at; 2.5 is not
        ([3.0, 3.0, 2.6, 0.0], [1, 1, 1, 1], [0, 0, 0, 0]),  # .4 does not
        ([1.0], [1], [0]),
        ([2.0, 1.0], [1, 0], [0, 0]),
        ([2.0, 1.6], [1, 1], [0, 0]),
        ([5.0, 1.0, 0.0], [1, 0, 0], [0, 0, 0]),
    ],
)
def test_the_gap_set_by_hand(scores: list[float], under: list[int], over: list[int]) -> None:
    assert gap_set(torch.tensor([[scores]])).int()[0, 0].tolist() == under


def test_the_gap_of_the_worse_half() -> None:
    ranked = torch.tensor([[[9.0, 5.0, 4.0, 1.0, 0.9, 0.8]]])
    # Of the gaps 4, 1, 3, .1, .1 the worse half are those from the fourth on: too small, so that all keys are meant.
    assert bool(gap_set(ranked, below=True).all())
    apart = torch.tensor([[[9.0, 5.0, 4.0, 3.0, 2.0, 0.0]]])
    assert gap_set(apart, below=True).int()[0, 0].tolist() == [1, 1, 1, 1, 1, 0]
    assert gap_set(torch.tensor([[[2.0, 1.0]]]), below=True).int()[0, 0].tolist() == [1, 0]


@pytest.mark.parametrize(("text", "edit", "name"), [
    ("zero.0.1", Edit("zero", 0, 1), "ablate L0H1 (zero)"), ("mean.2.0", Edit("mean", 2, 0), "ablate L2H0 (mean)"),
    ("hardmax.1.3", Edit("hardmax", 1, 3), "hardmax L1H3"), ("hardmax.all", Edit("hardmax"), "hardmax, all heads"),
    ("patch.1.20", Edit("patch", 1, None, 20), "patch after block 1 from prefix 20"),
    ("patch.1.2000.999999", Edit("patch", 1, None, 2000, 999_999), "patch after block 1 from prefix 2,000 into prefix 999,999"),
    ("D.logn", Edit("repair", repair="D.logn"), "scores \u00d7 log n (D.logn)"),
])  # fmt: skip
def test_edits_are_read_and_written(text: str, edit: Edit, name: str) -> None:
    assert parse_edit(text) == edit
    assert (edit.text, edit.name) == (text, name)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "zero",
        "zero.1",
        "zero.0.1.2",
        "patch.1",
        "patch.1.2.3.4",
        "zero.0.-1",
        "zero.0.x",
        "patch.1.2000000",
        "hardmax",
        "repair.0.0",
        "K.scale",
        "zero.0.\u0661",
        "zero..1",
    ],
)
def test_texts_that_are_no_edit(text: str) -> None:
    with pytest.raises(EditError, match="edit"):
        parse_edit(text)


def test_as_many_edits_as_can_be_told_apart() -> None:
    many = [f"zero.{layer}.0" for layer in range(MOST)]
    assert len(parse_edits(",".join([*many, many[0], ""]))) == MOST
    with pytest.raises(EditError, match="9 edits"):
        parse_edits(",".join([*many, "zero.8.0"]))
    assert parse_edits("") == ()
    assert len(parse_edits("P.int,D.logn,D.beta2")) == 3
    with pytest.raises(EditError, match=r"P\.int"):
        parse_edits("P.int,P.row")
    assert [parse_edit(name).repair for name in SINGLE_PASS] == list(SINGLE_PASS)


@pytest.mark.parametrize(("text", "layers", "heads_", "length", "refused"), [
    ("zero.1.3", 2, 4, 9, ""), ("zero.2.0", 2, 4, 9, "layers 0 to 1"), ("zero.0.4", 2, 4, 9, "heads 0 to 3"), ("zero.0.0", 2, 0, 9, "no attention heads"),
    ("patch.1.8", 2, 0, 9, ""), ("patch.1.9", 2, 0, 9, "1 to 8 tokens"), ("patch.1.0", 2, 4, 9, "1 to 8 tokens"), ("patch.1.1", 2, 4, 9, ""), ("patch.1.1.9", 2, 4, 9, ""),
    ("patch.1.1.10", 2, 4, 9, "has 9 tokens"), ("patch.1.5.5", 2, 4, 9, "1 to 4 tokens"), ("patch.2.1", 2, 4, 9, "layers 0 to 1"), ("hardmax.all", 1, 1, 1, ""),
    ("hardmax.all", 1, 0, 1, "no attention heads"), ("D.beta2", 1, 0, 1, ""),
])  # fmt: skip
def test_edits_that_a_model_has_a_place_for(text: str, layers: int, heads_: int, length: int, refused: str) -> None:
    if refused:
        with pytest.raises(EditError, match=refused):
            check_edits(parse_edits(text), layers, heads_, length)
    else:
        check_edits(parse_edits(text), layers, heads_, length)
