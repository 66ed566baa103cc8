"""The open challenge: rotated models, answers and their scores by hand, what baselines see, and the stored page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from tests.support.places import ROOT
from workbench.cli.main import app
from workbench.diagnosis.bench.members import Member, Planted
from workbench.diagnosis.bench.needle_models import NeedleNumbers, WrittenBit
from workbench.diagnosis.bench.plants import BY_NAME
from workbench.diagnosis.bench.position_readers import ReaderNumbers
from workbench.diagnosis.challenge import (
    Answer,
    ChallengeError,
    methods,
    open_challenge,
    read_answers,
    read_truth,
    score_answers,
)
from workbench.diagnosis.challenge.answer_file import write_answers
from workbench.diagnosis.challenge.budget import BUDGET, BudgetSpent, counted_passes
from workbench.diagnosis.challenge.challenge_folder import Challenge, ChallengeFile, ChallengeModel, ModelEntry
from workbench.diagnosis.challenge.evidence import TOOLS, Subject
from workbench.diagnosis.challenge.leaderboard import page, stored_entries
from workbench.diagnosis.challenge.make_challenge import _model_truth, challenge_kinds, make_challenge, public_model
from workbench.diagnosis.challenge.methods import (
    METHODS,
    answer_challenge,
    chosen_neighbours,
    nearest_labels,
    random_answers,
    tables,
    tuning_labels,
)
from workbench.diagnosis.challenge.rotated_model import rotate, rotation
from workbench.diagnosis.challenge.scoring import PARTS, paired_difference
from workbench.diagnosis.challenge.truth import Effect, ModelTruth, Truth
from workbench.measure.intervals import tango
from workbench.tasks.random_generator import generator

STORED = ROOT / "docs" / "challenge"


# ---- models -------------------------------------------------------------------------------------
def test_a_rotation_keeps_lengths_and_means() -> None:
    turn = rotation(9, np.random.default_rng(0))
    torch.testing.assert_close(turn @ turn.T, torch.eye(9, dtype=torch.float64))
    rows = torch.randn(5, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close((rows @ turn).mean(1), rows.mean(1))
    assert float((turn - torch.eye(9)).abs().max()) > 0.1


@pytest.mark.parametrize(
    "numbers",
    [
        NeedleNumbers(match=3.0, drift=2.0, row_scores=1.0, offset=0.3),
        NeedleNumbers(match=3.0, offset=0.3, norm=6.0),
        NeedleNumbers(lag_speed=0.001),
        ReaderNumbers(match=6.0),
    ],
)
def test_a_rotated_model_computes_the_same_and_shows_no_zeros(numbers: Any) -> None:
    model = numbers.build()
    turned = rotate(model, np.random.default_rng(1))
    tokens = WrittenBit().sample(8, 80, generator("challenge test"), "matched").tokens % 3
    torch.testing.assert_close(turned(tokens), model(tokens), rtol=1e-3, atol=1e-3)
    assert int((model.unembed.W_U == 0).sum()) > 0
    assert int((turned.unembed.W_U == 0).sum()) == 0


def test_a_trained_layer_norm_is_not_rotated() -> None:
    model = NeedleNumbers(norm=6.0).build()
    with torch.no_grad():
        model.blocks[0].ln1.w[0] = 2.0
    with pytest.raises(ValueError, match="gain other than 1"):
        rotate(model, np.random.default_rng(0))


def test_every_kind_of_the_challenge_has_one_head_per_block() -> None:
    for kind in challenge_kinds():
        if "trained" not in kind.name:  # those are trained when they are built
            assert kind.draw(np.random.default_rng(0))[0].build().cfg.n_heads == 1
    roles = {kind.role for kind in challenge_kinds()}
    assert roles == {"single", "joint", "healthy"}


# ---- making -------------------------------------------------------------------------------------
def healthy_seed() -> int:
    """A seed whose only model has no flaw, which is quick to make."""
    from workbench.diagnosis.challenge.make_challenge import _chosen_kinds

    return next(seed for seed in range(1000) if _chosen_kinds(seed, 1)[0].name == "healthy")


def test_a_challenge_is_determined_by_its_seed_and_does_not_contain_its_truth(tmp_path: Path) -> None:
    seed = healthy_seed()
    for name in ("a", "b"):
        make_challenge(seed, tmp_path / name, tmp_path / f"{name}-truth.json", 1)
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert [str(path) for path in files] == ["challenge.json", "m01/config.json", "m01/model.safetensors"]
    for file in files:
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
        assert b"healthy" not in (tmp_path / "a" / file).read_bytes()
    assert set(json.loads((tmp_path / "a" / "challenge.json").read_text())) == {"challenge", "truth_sha256", "models"}
    truth = read_truth(tmp_path / "a-truth.json")
    assert (truth.seed, truth.models[0].causes, truth.models[0].interventions) == (seed, ("none",), {})
    challenge = open_challenge(tmp_path / "a")
    challenge.check_truth(tmp_path / "b-truth.json")
    (entry,) = challenge.models
    batch = entry.draw(entry.length, 64)
    right = entry.task.correct(entry.load()(batch.tokens), batch)[:, -1]
    assert bool(right.all()), "a healthy model is right beyond N"

    (tmp_path / "a-truth.json").write_text((tmp_path / "a-truth.json").read_text() + " ")
    with pytest.raises(ChallengeError, match="is not the truth file of"):
        challenge.check_truth(tmp_path / "a-truth.json")
    weights = tmp_path / "a" / "m01" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x00\x01")
    with pytest.raises(ChallengeError, match="have changed"):
        entry.load()
    for out, file, message in (
        ("a", "new.json", "already exists"),
        ("c", "c/truth.json", "is inside the folder"),
        ("c", "b-truth.json", "already exists"),
    ):
        with pytest.raises(ChallengeError, match=message):
            make_challenge(seed, tmp_path / out, tmp_path / file, 1)


def test_the_repairs_of_a_planted_cause_are_those_of_its_family() -> None:
    """Positions beyond N add noise to scores: ids kept within N recover accuracy, and sharper attention does not."""
    member = Member("rows in scores", 0, "challenge test")
    numbers = NeedleNumbers(match=8.0, row_scores=10.0, seed=3)
    plant = Planted(numbers, {"row_scores": 10.0}, 1.0, 0.4, 1.0, (1.0,), "")
    truth = _model_truth("m01", member, plant, public_model(member, plant))
    assert truth.drop > 0.2
    assert (truth.causes, truth.locations) == (("position",), ("selection",))
    assert "P.clip" in truth.working_interventions
    assert not [name for name in truth.working_interventions if name.startswith("D.")]
    assert not [name for name in truth.interventions if " and " in name]


# ---- answers and scores -------------------------------------------------------------------------
def model_truth(
    name: str, cause: str, locations: tuple[str, ...] = (), **interventions: tuple[float, float]
) -> ModelTruth:
    told = {key.replace("_", "."): Effect(recovered=r, cost=c) for key, (r, c) in interventions.items()}
    return ModelTruth(
        model=name, kind="k", causes=(cause,), locations=locations, accuracy=1, drop=0.3, interventions=told
    )


TRUTH = Truth(
    seed=0,
    models=(
        model_truth("m01", "position", ("code", "read-out"), P_int=(0.9, 0.0), P_clip=(0.9, 0.06), D_gap=(0.4, 0.0)),
        model_truth("m02", "keys", ("dispersion",), D_gap=(0.5, 0.05)),
        model_truth("m03", "none"),
        ModelTruth(
            model="m04", kind="k", causes=("joint",), accuracy=1, drop=0.3,
            interventions={"P.int": Effect(recovered=0.1, cost=0), "P.int and D.gap": Effect(recovered=0.9, cost=0)},
        ),
    ),
)  # fmt: skip


def answers_of(*rows: tuple[str, str, str]) -> dict[str, Answer]:
    told = zip(TRUTH.names, rows, strict=True)
    return {name: Answer(model=name, cause=c, location=where, intervention=r) for name, (c, where, r) in told}


def test_scores_by_hand() -> None:
    right = answers_of(
        ("position", "read-out", "P.int"), ("keys", "dispersion", "D.gap"), ("none", "none", "none"),
        ("joint", "lost", "D.gap and P.int"),
    )  # fmt: skip
    scores = score_answers(right, TRUTH)
    assert [(scores.share(part).hits, scores.share(part).of) for part in PARTS] == [(4, 4), (2, 2), (3, 3)]
    wrong = answers_of(
        ("keys", "lost", "P.clip"), ("none", "none", "none"), ("keys", "code", "D.gap"), ("position", "code", "P.int")
    )
    assert [score_answers(wrong, TRUTH).share(part).hits for part in PARTS] == [0, 0, 0]
    assert paired_difference(scores, score_answers(wrong, TRUTH), "cause")[0] == 1
    assert paired_difference(scores, scores, "location")[0] == 0
    half = answers_of(
        ("position", "lost", "none"), ("none", "none", "none"), ("none", "none", "none"), ("keys", "lost", "none")
    )
    value, low, high = paired_difference(score_answers(half, TRUTH), scores, "cause")
    assert (value, low < value < high) == (-0.5, True)
    assert (low, high) == tango(0, 2, 4)
    low, high = scores.share("cause").ends
    assert (round(low, 3), high) == (0.398, 1.0), "Clopper and Pearson: 0.025 ** (1 / 4) = 0.398"


def test_answers_are_read_as_they_were_written(tmp_path: Path) -> None:
    answers = answers_of(*[("none", "none", "none")] * 3, ("joint", "none", "P.int and D.gap"))
    write_answers(tmp_path / "answers.jsonl", reversed(list(answers.values())))
    assert read_answers(tmp_path / "answers.jsonl", TRUTH.names) == answers


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"line 2: it is not a JSON object"),
        ("[1]", r"line 2: it is not a JSON object"),
        ('{"model": "m02"}', r"line 2: the field cause is missing"),
        ('{"model": "m02", "cause": 3}', r"line 2: the field cause is 3, which is not text"),
        ('{"model": "m02", "cause": "keys", "site": "code"}', r"line 2: there is no field 'site'"),
        ('{"model": "m9", "cause": "keys"}', r"line 2: there is no model 'm9'"),
        ('{"model": "m02", "cause": "key"}', r"line 2: there is no cause 'key'; did you mean keys\?"),
        ('{"model": "m02", "cause": "keys", "location": "cod"}', r"line 2: there is no location 'cod'"),
        ('{"model": "m02", "cause": "keys", "intervention": "P.clp"}', r"line 2: there is no intervention 'P.clp'"),
        (
            '{"model": "m02", "cause": "keys", "intervention": "P.int and P.int and P.int"}',
            r"line 2: 3 interventions are named; name one or two",
        ),
        ('{"model": "m01", "cause": "keys"}', r"line 2: m01 already has an answer in line 1"),
        ('{"model": "m02", "cause": "keys"}', r"ends without an answer for m03 and 1 more"),
    ],
)
def test_answers_that_do_not_fit_are_refused_by_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(f'{{"model": "m01", "cause": "keys"}}\n{line}\n')
    with pytest.raises(ChallengeError, match=message):
        read_answers(path, TRUTH.names)


def test_other_bad_input_gets_one_sentence(tmp_path: Path) -> None:
    for call, message in (
        (lambda: read_answers(tmp_path / "none", ["m01"]), "there is no file"),
        (lambda: read_truth(tmp_path / "none"), "there is no truth file"),
        (lambda: open_challenge(tmp_path), "contains no challenge.json"),
    ):
        with pytest.raises(ChallengeError, match=message):
            call()
    (tmp_path / "challenge.json").write_text('{"challenge": 1, "truth_sha256": "", "models": []}')
    with pytest.raises(ChallengeError, match="truth_sha256"):
        open_challenge(tmp_path)
    (tmp_path / "challenge.json").write_text(json.dumps({"challenge": 9, "truth_sha256": "0" * 64, "models": []}))
    with pytest.raises(ChallengeError, match="format 9"):
        open_challenge(tmp_path)
    (tmp_path / "truth.json").write_text('{"seed": 1}')
    with pytest.raises(ChallengeError, match=r"not a truth file of a challenge \(models"):
        read_truth(tmp_path / "truth.json")
    for words, message in (
        (["sore"], "did you mean score?"),
        (["make", "--seed", "1"], "--out my_challenge"),
        (["score"], "answers.jsonl --challenge my_challenge"),
        (["make", "--json"], "prints no table"),
        (["answer", "a.jsonl", "--challenge", str(STORED), "--method", "guess"], "edge pruning"),
        (["answer", "a.jsonl", "--challenge", str(STORED), "--method", "random"], "--tuning"),
    ):
        assert message in str(CliRunner().invoke(app, ["challenge", *words]).exception)


# ---- what baselines see -------------------------------------------------------------------------
def subject(numbers: NeedleNumbers, strings: int = 128) -> Subject:
    entry = ModelEntry(name="m01", task={"name": "written_bit"}, trained=32, length=128, sha256="0" * 64)
    return Subject(numbers.build(), ChallengeModel(Path(), entry), strings)


def test_patching_finds_the_head_whose_attention_fails() -> None:
    seen = TOOLS["activation patching"].see(subject(NeedleNumbers(row_scores=10.0, seed=3)))
    drop = seen["accuracy N"] - seen["accuracy n"]
    assert drop > 0.2
    assert seen["last attn.hook_z gain"] == pytest.approx(drop)
    assert seen["first hook_attn_out gain"] == pytest.approx(0, abs=0.05)


def test_attention_maps_show_a_blurred_margin() -> None:
    seen = TOOLS["attention maps"].see(subject(NeedleNumbers(match=3.0)))
    score = np.exp(3.0)
    for at, keys in (("N", 33), ("n", 129)):
        assert seen[f"last weight on the answer {at}"] == pytest.approx(score / (score + keys - 1), rel=1e-4)
        assert seen[f"first entropy {at}"] == pytest.approx(1, abs=1e-4), "the head of block 0 attends evenly"


def test_logit_attribution_shows_a_shifted_output() -> None:
    """Beyond N, the MLP of block 0 adds the offset times 1 - 33 / 129 to the output; the right answer gets 4 - (-4)
    times the output, for the answer 1, and the opposite for 0.
    """
    seen = TOOLS["logit attribution"].see(subject(NeedleNumbers(offset=1.0)))
    assert seen["first MLP deviation N"] == pytest.approx(0, abs=1e-5)
    assert seen["first MLP deviation n"] == pytest.approx(8 * (1 - 33 / 129), rel=0.02)


def test_edge_pruning_keeps_the_edges_that_accuracy_needs() -> None:
    seen = TOOLS["edge pruning"].see(subject(NeedleNumbers()))
    remaining = {name for name, value in seen.items() if name.endswith("remains n") and value}
    assert remaining == {"embedding to last head remains n", "last head to unembedding remains n"}
    assert seen["pruned accuracy n"] == seen["accuracy n"] == 1


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_makes_as_many_passes_as_it_states(name: str) -> None:
    one = subject(NeedleNumbers(match=3.0), 16)
    with counted_passes(one.model) as passes:
        TOOLS[name].see(one)
    assert passes.used <= 16 * TOOLS[name].passes(2)
    assert passes.used >= 2 * 16
    assert TOOLS[name].strings(2, BUDGET) * TOOLS[name].passes(2) <= BUDGET


def test_a_budget_ends_the_passes() -> None:
    model = NeedleNumbers().build()
    tokens = torch.zeros(5, 3, dtype=torch.long)
    with counted_passes(model, 9) as passes:
        model(tokens)
        with pytest.raises(BudgetSpent, match="more than 9 forward passes"):
            model(tokens)
    assert passes.used == 10
    model(tokens)  # not counted


# ---- from evidence to answers -------------------------------------------------------------------
def test_nearest_labels_by_hand() -> None:
    known, new = tables([{"a": 0.0}, {"a": 1.0}, {"a": 9.0}, {"a": 10.0, "b": 0.0}], [{"a": 0.2}, {"a": 8.0}])
    labels = ["x", "x", "y", "y"]
    assert nearest_labels(known, labels, new, 1) == ["x", "y"]
    assert nearest_labels(known, ["y", "x", "z", "z"], new[:1], 3) == ["y"], "each label once: the nearest decides"
    assert chosen_neighbours(known, labels) == 1


def test_labels_of_a_tuning_split_and_random_answers() -> None:
    labels = tuning_labels(TRUTH)
    assert labels == {
        "cause": ["position", "keys", "none", "joint"],
        "location": ["code", "dispersion", "none", "none"],
        "intervention": ["P.int", "D.gap", "none", "P.int and D.gap"],
    }
    answers = random_answers(["a", "b"], labels)
    assert answers == random_answers(["a", "b"], labels)
    assert all(getattr(answer, part) in labels[part] for answer in answers for part in PARTS)


def test_a_baseline_learns_from_a_tuning_split(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evidence by hand: models 1 and 2 resemble each other, and so do 3 and 4."""
    seen = {"m01": 0.0, "m02": 0.1, "m03": 5.0, "m04": 5.1}
    monkeypatch.setattr(methods, "_evidence", lambda method, entry, budget: ({"x": seen[entry.name]}, 7))
    entries = [
        ModelEntry(name=name, task={"name": "written_bit"}, trained=32, length=128, sha256="0" * 64) for name in seen
    ]
    split = Challenge(Path(), ChallengeFile(challenge=1, truth_sha256="0" * 64, models=tuple(entries)))
    truth = Truth(seed=0, models=tuple(model_truth(name, "keys" if x < 1 else "none") for name, x in seen.items()))
    done = answer_challenge("attention maps", split, split, truth)
    assert [answer.cause for answer in done.answers] == ["keys", "keys", "none", "none"]
    assert (done.passes, done.neighbours) == ([7] * 4, {"cause": 1, "location": 1, "intervention": 1})


def test_methods_answer_a_made_challenge(tmp_path: Path) -> None:
    make_challenge(healthy_seed(), tmp_path / "a", tmp_path / "a-truth.json", 1)
    challenge, truth = open_challenge(tmp_path / "a"), read_truth(tmp_path / "a-truth.json")
    (answer,) = answer_challenge("diagnosis", challenge).answers
    assert answer == Answer(model="m01", cause="none")
    with pytest.raises(ChallengeError, match="fewer than two models"):
        answer_challenge("random", challenge, challenge, truth)
    out = tmp_path / "answers.jsonl"
    words = ["challenge", "answer", str(out), "--challenge", str(tmp_path / "a"), "--method", "diagnosis"]
    assert CliRunner().invoke(app, words).exit_code == 0
    scored = CliRunner().invoke(app, ["challenge", "score", str(out), "--challenge", str(tmp_path / "a"), "--csv"])
    assert scored.stdout.splitlines()[1].startswith("cause,1,1,1.0,0.025")


# ---- the stored entries -------------------------------------------------------------------------
def test_the_page_is_that_of_the_stored_answers() -> None:
    truth, entries = stored_entries(STORED)
    assert {entry.name for entry in entries} >= set(METHODS)
    assert (ROOT / "docs" / "challenge.md").read_text() == page(truth, entries)
    assert all(entry.passes[1] <= BUDGET for entry in entries)
    open_challenge(STORED).check_truth(STORED / "truth.json")
    assert {model.kind for model in truth.models} == {kind.name for kind in challenge_kinds()} <= set(BY_NAME)


def test_entries_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    (tmp_path / "truth.json").write_bytes((STORED / "truth.json").read_bytes())
    for text in ("[]", '{"a": {"about": ""}}', "{"):
        (tmp_path / "entries.json").write_text(text)
        with pytest.raises(ChallengeError, match="must list entries by name"):
            stored_entries(tmp_path)
