"""What a diagnosis asks of a checkpoint and of how many strings, and what the bench makes: with fakes and by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.diagnosis.attempts import EPS, attempt
from workbench.core.thresholds import NAMING_SHARE
from workbench.diagnosis import measurement
from workbench.diagnosis.bench import __main__ as command
from workbench.diagnosis.bench.bench_page import _share_text
from workbench.diagnosis.bench.bench_table import read_members, write_members
from workbench.diagnosis.bench.members import VERSION, Member
from workbench.diagnosis.bench.needle_models import NeedleNumbers, WrittenBit
from workbench.diagnosis.bench.scoring import Share
from workbench.diagnosis.bench.trained_models import config
from workbench.diagnosis.cause import JOINT, name_entry
from workbench.diagnosis.intervened_pass import IntervenedPass, inside_of, last_classes
from workbench.diagnosis.location import Blind, HeadReading
from workbench.diagnosis.measurement import QUANTITIES, Diagnosed, Diagnosis
from workbench.diagnosis.recovered_share import Estimate95, Judged
from workbench.diagnosis.tried_interventions import LEAST, OVER_CONTROL, Findings, Trials, Tried, passes
from workbench.jobs.executors import Failure
from workbench.measure.edits.interventions.all_interventions import by_name
from workbench.measure.edits.interventions.intervention import RowEdit
from workbench.tasks import make_task
from workbench.tasks.base import Batch
from workbench.tasks.random_generator import generator

TASK = WrittenBit()


# ---- which lengths are asked ---------------------------------------------------------------------
@pytest.mark.parametrize(
    ("lengths", "one_each", "unseen", "table", "why"),
    [
        ([], True, (), 8, "no length beyond N is measured"),
        ([64], True, (64,), 8, "there is one string of each length"),
        ([64, 128], False, (64, 128), 128, "the table of positions ends at id 127"),
        ([64, 128], False, (128,), 128, "the table of positions ends at id 127"),
        ([64, 128], False, (64,), 128, "the table of positions ends at id 127"),
        ([64, 128], False, (64, 128), 129, ""),
        ([64, 127], False, (64, 127), 128, ""),
        ([64, 128], False, (), 8, ""),
    ],
)
def test_what_cannot_be_asked_of_a_checkpoint(
    lengths: list[int], one_each: bool, unseen: Sequence[int], table: int, why: str
) -> None:
    study: Any = SimpleNamespace(
        task=SimpleNamespace(one_string_per_length=one_each),
        cfg=SimpleNamespace(n_ctx=table),
        reads_unseen=lambda length: length in unseen,
    )
    found = Diagnosis()._unfit(study, lengths)
    assert found.startswith(why)
    assert bool(found) is bool(why)


@pytest.mark.parametrize(
    ("every", "wanted", "most", "asked"),
    [
        (2, 0, 64, []),
        (0, 5, 64, []),
        (2, 4, 64, []),
        (2, 5, 64, [(8, 16)]),
        (4, 10, 64, [(8, 16), (16, 32), (32, 64)]),
        (4, 32, 64, [(8, 16), (16, 32), (32, 64)]),
        (4, 33, 64, []),
        (2, 24, 24, [(8, 16), (16, 24)]),
        (8, 2, 64, [(8, 16)]),
        (2, 5, 8, []),
    ],
)
def test_strings_are_drawn_until_enough_are_wrong(
    monkeypatch: pytest.MonkeyPatch, every: int, wanted: int, most: int, asked: list[tuple[int, int]]
) -> None:
    """Every so-many-th string is wrong; none is drawn where so many would not be even among the most."""
    made: list[tuple[int, int]] = []

    def drawn(count: int) -> Batch:
        return TASK.sample(count, 6, generator("drawn", count), "matched")

    def further(law: str, length: int, first: int, last: int, names: list[str]) -> list[tuple[Batch, None]]:
        assert (law, length, names) == ("challenge", 6, [])
        made.append((first, last))
        return [(drawn(last - first), None)]

    def judge(batch: Batch) -> Judged:
        places = np.arange(len(batch))
        right = places % every != 0 if every else places >= 0
        return Judged(right.astype(float), np.zeros(len(batch), dtype=np.int64))

    monkeypatch.setattr(measurement, "MOST", most)
    one = object.__new__(Diagnosed)
    one.law = "challenge"
    one.study = SimpleNamespace(batch=lambda law, length: drawn(8), further=further)  # type: ignore[assignment]
    monkeypatch.setattr(one, "_judge", judge)
    batch, judged = one._answered_batch(6, wanted)
    assert made == asked
    assert len(batch) == len(judged) == (asked[-1][1] if asked else 8)


def test_what_is_stored_of_a_diagnosis_and_between_which_ends() -> None:
    stored = {one.name: (one.unit, one.low, one.high, one.interval, one.controls) for one in QUANTITIES}
    share, difference, label = ("share", 0, 1), ("share", -1, 1), ("label", None, None)
    assert stored == {
        "balanced_accuracy": (*share, True, ()),
        "balanced_loss": (*difference, True, ()),
        "restored_share": ("share of the accuracy drop", None, None, True, ("wrong_constant",)),
        "harm_inside": (*difference, False, ("wrong_constant",)),
        "entry": (*label, False, ()),
        "entry_grade": (*label, False, ()),
        "failure_site": (*label, False, ()),
        "code_kept": (*share, False, ()),
        "answer_readable": (*share, False, ("untrained", "shuffled_labels")),
        "oracle_key_share": ("share", None, None, True, ("untrained",)),
        "oracle_key_gap": ("nats", None, None, False, ()),
    }


# ---- readings ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("gap", "weight", "thinned"),
    [(0.1, 0.3, True), (0.1, 0.4, False), (0.1, 0.399, True), (0.0, 0.1, False), (-0.1, 0.1, False)],
)
def test_a_thinned_key_is_on_top_with_less_than_half_of_its_weight(gap: float, weight: float, thinned: bool) -> None:
    assert HeadReading(0, 0, 1.0, gap=gap, weight_trained=0.8, weight=weight).thinned is thinned


@pytest.mark.parametrize(
    ("passed", "sharpening", "moved"),
    [("", False, False), ("D", True, False), ("DP", False, False), ("DK", False, False), ("DPK", False, False),
     ("P", False, False), ("DC", True, True), ("DT", True, False), ("C", False, True)],
)  # fmt: skip
def test_what_interventions_on_say_of_a_site(passed: str, sharpening: bool, moved: bool) -> None:
    blind = Blind(frozenset(passed))
    assert (blind.only_sharpening, blind.moments) == (sharpening, moved)


@pytest.mark.parametrize(("task", "length", "classes"), [("mod_p_mean", 6, 1), ("reverse", 7, 1), ("parity", 6, 2)])
def test_real_answers_and_those_of_several_tokens_are_of_one_class(task: str, length: int, classes: int) -> None:
    batch = make_task(task).sample(12, length, generator("classes"), "matched")
    found = last_classes(batch)
    assert (len(found), len(set(found.tolist()))) == (12, classes)
    if classes == 1:
        assert not found.any()


# ---- repairs ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("sd", "sd_inside", "mended", "wrong"), [(2.0, 4.0, 14.0, -7.0), (0.0, 4.0, 12.0, -6.0), (2.0, 0.0, 12.0, -6.0)]
)
def test_rows_are_brought_to_their_moments_at_n(sd: float, sd_inside: float, mended: float, wrong: float) -> None:
    outside, inside = ((torch.tensor([m]), torch.tensor([s])) for m, s in ((1.0, sd), (10.0, sd_inside)))
    repair = by_name("C.pool0")
    assert isinstance(repair, RowEdit)
    assert repair.edit(torch.tensor([[3.0]]), outside, inside).tolist() == [[mended]]
    assert repair.control.edit(torch.tensor([[3.0]]), outside, inside).tolist() == [[wrong]]


@pytest.mark.parametrize(
    ("keys", "length", "trial", "power"),
    [(8, 16, False, 0.5), (8, 16, True, 0.25), (8, 8, False, 1.0), (8, 4, False, 1.0), (8, 4, True, 1.0), (8, 5, True, 0.8)],
)  # fmt: skip
def test_steps_are_slowed_by_as_much_as_the_string_is_longer(keys: int, length: int, trial: bool, power: float) -> None:
    inside: Any = SimpleNamespace(keys=keys)
    gates = torch.full((1, length, 1, 2), 0.25) * torch.tensor([1.0, -1.0])
    repair = by_name("T.slow")
    for one, by in ((repair, power), (repair.control, 1 / power)):
        found = IntervenedPass(None, inside, [one], trial)._edit_gates(gates)  # type: ignore[arg-type]
        assert found[0, 0, 0].tolist() == pytest.approx([0.25**by, -(0.25**by)])
        assert found.shape == gates.shape


@pytest.mark.parametrize(
    ("sinks", "refused"),
    [
        (([-1, -1], [-1, -1]), True),
        (([-1, -1], [-1, 0]), False),
        (([0, -1], [-1, -1]), False),
        (([3, 0], [0, 2]), False),
    ],
)
def test_a_sink_is_held_where_some_head_has_one(sinks: Sequence[list[int]], refused: bool) -> None:
    model = NeedleNumbers().build()
    inside = inside_of(model, TASK.sample(8, 32, generator("in"), "matched"))
    inside = replace(inside, sinks={layer: torch.tensor(of_heads) for layer, of_heads in enumerate(sinks)})
    batch = TASK.sample(8, 64, generator("at"), "matched")
    trials = Trials(model, TASK, inside, batch, Judged(np.ones(8), np.arange(8) % 2))
    repair = by_name("K.sink")
    trials._harms[(repair,)] = 0.0
    assert trials.why_not(repair, batch) == ("no key takes the most weight in every string" if refused else "")


@pytest.mark.parametrize(("top", "found"), [(None, 32), (5, 32), (32, 32), (70, 70)])
def test_the_largest_id_of_training_is_at_least_that_at_n(top: int | None, found: int) -> None:
    batch = TASK.sample(4, 32, generator("in"), "matched")
    inside = inside_of(NeedleNumbers().build(), batch, top)
    assert (inside.last, inside.keys, inside.top) == (32, 33, found)
    assert {tuple(of_heads.tolist()) for of_heads in inside.sinks.values()} == {(0,)}


def test_without_bos_the_sink_is_the_key_that_every_string_prefers() -> None:
    model = NeedleNumbers().build()
    batch = replace(TASK.sample(6, 32, generator("sink"), "matched"), bos=False)
    keys = TASK.answer_index(replace(batch, bos=True))
    assert keys is not None
    assert len(set(keys.tolist())) > 1
    last = max(inside_of(model, batch).sinks)
    reads = [int(inside_of(model, batch.take(torch.tensor([i, i]))).sinks[last][0]) for i in range(6)]
    assert len(set(reads)) > 1
    assert inside_of(model, batch).sinks[last].tolist() == [-1]


# ---- the bench -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("hits", "of", "said"), [(0, 0, ""), (0, 3, "0 of 3"), (6, 6, "6 of 6"), (6, 7, "6 of 7 (0.86)")]
)
def test_shares_of_many_are_told_as_numbers_too(hits: int, of: int, said: str) -> None:
    assert _share_text(Share(hits, of)) == said


@pytest.mark.parametrize(("positions", "ids"), [("learned", "random_offset"), ("rotary", "pose")])
def test_positions_of_trained_models_see_their_whole_range(positions: str, ids: str) -> None:
    made = config(positions)
    assert (made.positions.name, made.ids.name, made.n_ctx, made.n_layers, made.n_heads) == (positions, ids, 192, 1, 1)


def made_row(member: Member) -> dict[str, Any]:
    return {"kind": member.kind, "index": member.index, "version": VERSION, "group": member.group, "loss": 0.25,
            "thrown_out": "its loss is 0.15", "entry": "", "site": "", "note": ""}  # fmt: skip


@pytest.mark.parametrize(("every", "writes"), [(1e9, 1), (-1.0, 3)])
def test_members_that_are_missing_are_made_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], every: float, writes: int
) -> None:
    wanted = [Member("offset", index) for index in range(5)]
    write_members(tmp_path, {wanted[0]: made_row(wanted[0])})
    written: list[int] = []

    def mapped(function: Any, missing: Sequence[Member], on_done: Any) -> None:
        assert list(missing) == wanted[1:]
        on_done(1, made_row(missing[1]))
        on_done(0, Failure(0, missing[0], "TimeIsUp: not begun"))
        on_done(2, Failure(2, missing[2], "ValueError: broken", "where it was"))
        on_done(3, made_row(missing[3]))

    def noted(folder: Path, rows: Any) -> None:
        written.append(len(rows))
        write_members(folder, rows)

    monkeypatch.setattr(command, "make_executor", lambda name, workers: SimpleNamespace(map=mapped))
    monkeypatch.setattr(command, "write_members", noted)
    monkeypatch.setattr(command, "EVERY_S", every)
    command.run(wanted, tmp_path, 1, None)
    said = capsys.readouterr().out
    assert said.startswith("1 of 5 members are there\nproblem: ")
    assert "index=3" in said
    assert "ValueError: broken\nwhere it was" in said
    assert said.endswith("1 members are left for the same command\n")
    assert sorted(member.index for member in read_members(tmp_path)) == [0, 2, 4]
    assert len(written) == writes
    assert written[-1] == 3


@pytest.mark.parametrize(("minutes", "until"), [(None, None), (2.0, 220.0)])
def test_no_member_is_begun_after_so_many_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minutes: float | None, until: float | None
) -> None:
    jobs: list[Any] = []
    executor = SimpleNamespace(map=lambda job, *_, **__: jobs.append((job.func, job.keywords)))
    monkeypatch.setattr(command, "make_executor", lambda name, workers: executor)
    monkeypatch.setattr(command, "time", SimpleNamespace(time=lambda: 100.0, monotonic=lambda: 0.0))
    command.run([Member("offset", 0)], tmp_path, None, minutes)
    assert jobs == [(command.diagnose_member, {"until": until})]


@pytest.mark.parametrize(
    ("arguments", "kinds", "count"),
    [(["--members", "2", "--kind", "offset"], {"offset"}, 2), (["--kind", "offset", "--kind", "healthy"], {"offset", "healthy"}, 28)],
)  # fmt: skip
def test_the_command_asks_for_some_kinds_and_tells_the_targets(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    kinds: set[str],
    count: int,
) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(command, "run", lambda *given: asked.append(given))
    page = tmp_path / "bench.md"
    shared = ["--out", str(tmp_path), "--page", str(page), "--workers", "3", "--minutes", "1.5"]
    monkeypatch.setattr("sys.argv", ["bench", *shared, *arguments])
    command.main()
    ((wanted, folder, workers, minutes),) = asked
    assert ({member.kind for member in wanted}, len(wanted)) == (kinds, count)
    assert (folder, workers, minutes) == (tmp_path, 3, 1.5)
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "right cause, one flaw: second 0 of 0, afterwards 0 of 0, first 0 of 0"
    assert len(said) == 4
    assert page.read_text().startswith("# The bench of known causes")


@pytest.mark.parametrize(
    ("share", "low", "control", "said"),
    [
        (NAMING_SHARE, 0.3, 0.0, True),
        (NAMING_SHARE - EPS, 0.3, 0.0, False),
        (NAMING_SHARE, LEAST, 0.0, False),
        (NAMING_SHARE, LEAST + EPS, 0.0, True),
        (0.75, 0.3, 0.75 - OVER_CONTROL - EPS, True),
        (0.75, 0.3, 0.75 - OVER_CONTROL + EPS, False),
        (NAMING_SHARE, 0.3, 0.5 - OVER_CONTROL, True),
        (NAMING_SHARE - EPS, 0.3, -1.0, False),
        (NAMING_SHARE, 0.3, -5.0, True),
        (None, 0.3, 0.0, False),
        (1.0, 0.9, None, False),
    ],
)
def test_what_a_repair_must_restore_over_its_control(
    share: float | None, low: float, control: float | None, said: bool
) -> None:
    assert passes(attempt("P", share, low, control)) is said


def findings(families: dict[str, Tried], pairs: Sequence[Tried] = (), more: tuple[float, float] = (0, 0)) -> Findings:
    """What blind repairs showed; ``more``: by how much the first of two restores more, and the interval's lower end."""
    difference = SimpleNamespace(share_difference=lambda first, second: Estimate95(more[0], more[1], 1.0))
    return Findings((), families, tuple(pairs), difference)  # type: ignore[arg-type]


WEAK = {"P": attempt("P", NAMING_SHARE - EPS), "D": attempt("D", 0.1), "K": attempt("K", NAMING_SHARE, control=0.4)}


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([attempt("PD", JOINT)], "P.int and D.logn"),
        ([attempt("PD", JOINT - EPS)], None),
        ([attempt("PD", None)], None),
        ([attempt("PK", 0.9)], None),
        ([attempt("DP", 0.9, by=0.2), attempt("PD", 0.85, by=0.3)], "P.int and D.logn"),
        ([], None),
    ],
)
def test_a_pair_is_joint_where_each_alone_restores_less_than_half(pairs: list[Tried], said: str | None) -> None:
    found = name_entry(findings(WEAK, pairs))
    assert (found.by.name if found.by else None) == said
    assert (found.label, found.grade) == (("joint", "strong") if said else ("not explained", "none"))
    assert found.also == ()
