"""The bench: its models against formulas by hand, its halves, what counts as right, and its table and page."""

from __future__ import annotations

import math
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.diagnosis.attempts import EPS, attempt
from workbench.core.names import OPEN_CAUSES, POSITION_OR_CONTENT
from workbench.core.thresholds import NAMING_SHARE
from workbench.diagnosis.bench.bench_page import page
from workbench.diagnosis.bench.bench_table import FILE, SCHEMA, BenchError, read_members, write_members
from workbench.diagnosis.bench.members import (
    PER_KIND,
    VERSION,
    Member,
    diagnose_member,
    members,
    replace_numbers,
    round_of,
    why_not_true,
)
from workbench.diagnosis.bench.memory_models import MemoryNumbers
from workbench.diagnosis.bench.needle_models import TRAINED, NeedleNumbers, WrittenBit
from workbench.diagnosis.bench.plants import BY_NAME, KINDS, Part
from workbench.diagnosis.bench.scoring import (
    OUTCOMES,
    TARGETS,
    Share,
    cause_named,
    confusion,
    entry_right,
    outcome,
    reaches_target,
    share,
    site_right,
)
from workbench.diagnosis.cause import STRONG, STRONG_LOW, Entry, content, grade, keys, position_ruled_out
from workbench.diagnosis.measurement import diagnose
from workbench.tasks import make_task
from workbench.tasks.base import Batch
from workbench.tasks.counting.majority import Majority
from workbench.tasks.random_generator import generator


def strings(task: Any, length: int, count: int = 128) -> Batch:
    return task.sample(count, length, generator("bench test", length), "matched", window=TRAINED)


# ---- models -------------------------------------------------------------------------------------
def test_a_layer_norm_against_a_large_constant_leaves_the_map_as_it_is() -> None:
    batch = strings(WrittenBit(decoys=0.1), 64)
    numbers = NeedleNumbers(match=3.0, decoy=2.0, drift=2.0, offset=0.3, row_scores=1.0)
    plain, normed = (numbers.model_copy(update={"norm": norm}).build()(batch.tokens) for norm in (0.0, 1000.0))
    torch.testing.assert_close(normed, plain, rtol=1e-2, atol=1e-2)
    near = numbers.model_copy(update={"norm": 5.0}).build()(batch.tokens)
    assert float((near - plain).abs().max().detach()) > 0.1, "against a small one LayerNorm weighs"


def test_a_lead_beyond_the_largest_turns_the_answer_round() -> None:
    task, model = Majority(), NeedleNumbers(match=0.0, largest_lead=40.0).build()
    batch = strings(task, 127, 512)
    assert batch.update_summary is not None
    lead = batch.update_summary[:, -1].abs()
    right = task.correct(model(batch.tokens), batch)[:, -1]
    assert torch.equal(right, lead < 60), "3 times the excess over 40 is more than the lead from 60 on"


def test_ballast_leaves_of_the_output_what_float32_holds_beside_it() -> None:
    """Above 2^18 float32 holds multiples of 2^-5, below it of 2^-6: 1 / 81 is lost above alone."""
    batch = strings(WrittenBit(), 80)
    model = NeedleNumbers(match=0.0, carried=0.0, ballast=2.0**18).build()
    difference = model(batch.tokens)[:, -1].diff(dim=-1)[:, 0] / 8
    bit = batch.targets[:, -1]
    assert set(difference[bit == 1].tolist()) == {0.0}
    assert set(difference[bit == 0].tolist()) == {-(2.0**-6)}


def test_a_memory_forgets_at_its_rate() -> None:
    """With state exp(-.05 lag) before a threshold of .1, a 0 is read as 1 from lag 47 on, for 20 ln 10 = 46.05."""
    batch = strings(WrittenBit(), 128, 512)
    model = MemoryNumbers(decay=0.05).build()
    right = WrittenBit().correct(model(batch.tokens), batch)[:, -1]
    lag = 128 - batch.meta["answer_position"]
    assert torch.equal(right, (batch.targets[:, -1] == 1) | (lag <= 46))
    assert bool(WrittenBit().correct(MemoryNumbers().build()(batch.tokens), batch)[:, -1].all())


# ---- members ------------------------------------------------------------------------------------
def test_twos_in_a_row_share_a_range_of_losses_and_are_of_two_halves() -> None:
    for kind in KINDS:
        for index in range(0, PER_KIND, 2):
            one, other = Member(kind.name, index), Member(kind.name, index + 1)
            assert abs(one.target_drop - other.target_drop) < 0.26 / (PER_KIND / 2)
            assert [one.group, other.group] == (["second"] * 2 if kind.held_out else ["first", "second"])


def test_as_many_again_are_drawn_afterwards_with_the_same_range_of_losses_and_other_numbers() -> None:
    for kind in KINDS:
        own = [m for m in members() if m.kind == kind.name]
        again = [m for m in own if m.group == "afterwards"]
        assert len(own) == 2 * len(again) == 2 * round_of(kind)
        if kind.role == "healthy":
            continue
        for index in range(PER_KIND):
            one, other = Member(kind.name, index), Member(kind.name, index + PER_KIND)
            assert other.group == "afterwards"
            assert one.target_drop != other.target_drop
            assert abs(one.target_drop - other.target_drop) < 0.26 / (PER_KIND / 2)


def test_three_kinds_are_held_out_and_the_second_half_has_enough_single_plants() -> None:
    assert sum(kind.held_out for kind in KINDS) == 3
    single = [m for m in members() if m.plan.role == "single"]
    assert sum(m.group == "second" for m in single) >= 1.5 * 60
    assert Counter(m.plan.role for m in members())["joint"] == 24
    assert [group for group, _ in groupby(m.group for m in members())] == ["second", "afterwards", "first"]
    assert {m.group for m in members(2)} == {"second", "first"}
    assert len({m.kind for m in members()[: len(KINDS) + sum(kind.held_out for kind in KINDS)]}) == len(KINDS)


def test_a_part_is_searched_evenly_in_its_logarithm_and_whole_numbers_stay_whole() -> None:
    assert [Part("match", 4.0, 1.0).value(s) for s in (0, 0.5, 1)] == pytest.approx([4, 2, 1])
    assert [Part("offset", -0.5, -2.0).value(s) for s in (0, 0.5, 1)] == pytest.approx([-0.5, -1, -2])
    made = replace_numbers(NeedleNumbers(), {"first_keys": 40.4, "match": 3.5})
    assert (made.first_keys, made.match) == (40, 3.5)  # type: ignore[union-attr]


def test_a_healthy_model_of_every_kind_is_right_and_what_is_planted_is_one_of_its_numbers() -> None:
    for kind in KINDS:
        numbers, parts = kind.draw(np.random.default_rng(0))
        assert (kind.role == "healthy") == (not parts)
        assert all(hasattr(numbers, part.field) for part in parts)
        if not hasattr(numbers, "trained_ids"):  # these would have to be trained
            member = Member(kind.name, 0)
            assert member.accuracy(numbers.build(), kind.trained, 64, "test") > 0.9, kind.name


@pytest.mark.parametrize(
    ("kind", "facts", "why"),
    [
        ("offset", (1.0, 0.3, 0.9, [0.9]), ""),
        ("offset", (0.85, 0.3, 0.9, [0.9]), "accuracy at N is 0.85"),
        ("offset", (1.0, 0.15, 0.9, [0.9]), "its loss is 0.15"),
        ("offset", (1.0, 0.3, 0.7, [0.7]), "unplanting gives back 0.70"),
        ("joint: rows in scores, offset", (1.0, 0.5, 1.0, [0.1, 0.6]), "unplanting one part gives back 0.60"),
        ("joint: rows in scores, offset", (1.0, 0.5, 1.0, [0.1, 0.4]), ""),
        ("healthy", (1.0, 0.0, 0.0, []), ""),
    ],
)
def test_members_whose_truth_does_not_hold_are_thrown_out(kind: str, facts: Any, why: str) -> None:
    assert why_not_true(BY_NAME[kind], *facts) == why


def test_a_member_is_found_by_its_loss_and_its_truth_holds() -> None:
    found = diagnose_member(Member("recurrent decay", 1))
    assert found["thrown_out"] == ""
    assert found["loss"] == pytest.approx(Member("recurrent decay", 1).target_drop, abs=0.06)
    assert found["unplanted"] == 1.0
    assert (found["entry"], found["by"]) == ("steps", "T.slow")
    numbers = MemoryNumbers.model_validate_json(found["numbers"])
    forgotten = -math.log(numbers.threshold) / numbers.decay
    assert found["loss"] == pytest.approx((128 - forgotten) / 128 / 2, abs=0.05), "half of the strings that it forgets"


# ---- scoring ------------------------------------------------------------------------------------
def bench_row(kind: str, index: int = 0, **fields: Any) -> dict[str, Any]:
    """A member right in all respects, but for what is given."""
    plan = BY_NAME[kind]
    empty: dict[str, Any] = {field.name: None for field in SCHEMA}
    right = {
        "kind": kind, "index": index, "group": Member(kind, index).group, "version": VERSION, "thrown_out": "",
        "entry": plan.entries[0], "site": plan.sites[0] if plan.sites else "lost", "note": "", "unplanted_each": [],
    }  # fmt: skip
    return {**empty, **right, **fields}


def test_what_counts_as_right() -> None:
    assert entry_right(bench_row("offset"))
    assert not entry_right(bench_row("offset", entry="keys or content"))
    assert entry_right(bench_row("count out of range", entry="keys or content"))
    assert entry_right(bench_row("offset", entry="")) is None, "below a loss of .2 nothing is named"
    assert not entry_right(bench_row("either door")), "the other door must be told"
    assert entry_right(bench_row("either door", note="also restored by K.sink"))
    assert site_right(bench_row("offset", site="read-out"))
    assert not site_right(bench_row("offset", site="lost"))
    assert site_right(bench_row("finite precision")) is None


def test_a_cause_that_is_left_open_is_neither_right_nor_named() -> None:
    assert OPEN_CAUSES == ("position or content", "position or keys")
    for entry in OPEN_CAUSES:
        left = bench_row("marked token, row N repeated", entry=entry)
        assert not entry_right(left)
        assert not cause_named(left)
        assert outcome(left) == "cause undecided"
    said = {entry: outcome(bench_row("rows in scores", entry=entry)) for entry in ("position", "keys", "")}
    assert said == {"position": "right cause", "keys": "wrong cause", "": None}
    assert outcome(bench_row("offset", entry="not explained")) == "not explained"
    assert set(OUTCOMES) >= {one for one in said.values() if one}


def test_the_page_tells_first_and_later_kinds_apart_and_together() -> None:
    later = BY_NAME["marked token, row N repeated"]
    assert later.later
    at = range(PER_KIND, 2 * PER_KIND)
    rows = [bench_row("offset", i) for i in at] + [bench_row(later.name, i, entry=POSITION_OR_CONTENT) for i in at]
    text = page(rows)
    assert "| right cause | 6 of 6 | 0 of 6 | 6 of 12 (0.50) |" in text
    assert "| cause undecided | 0 of 6 | 6 of 6 | 6 of 12 (0.50) |" in text
    assert f"| `{later.name}` (later) |" in text
    assert "| right cause, one flaw | at least 0.95 |  |  | 6 of 12 (0.50) |" in text, "targets count all kinds"


def test_shares_count_true_members_of_the_role_alone() -> None:
    rows = [
        bench_row("offset"),
        bench_row("offset", 1, entry="position"),
        bench_row("offset", 2, thrown_out="its loss is 0.15", entry="position"),
        bench_row("offset", 3, entry=""),
        bench_row("healthy", 0, entry=""),
        bench_row("healthy", 1, entry="not explained"),
        bench_row("healthy", 2, entry="keys"),
    ]
    by_name = {target.name: share(rows, target) for target in TARGETS}
    assert by_name["right cause, one flaw"] == Share(1, 2)
    assert by_name["healthy models with a cause named"] == Share(1, 3)
    assert by_name["two flaws diagnosed as `joint`"].value is None
    assert confusion(rows, "entry")["offset"] == {"keys": 1, "position": 1, "(no cause named)": 1}


def test_targets_need_enough_single_plants() -> None:
    entry, _, joint, healthy = TARGETS
    assert reaches_target(entry, Share(59, 59)) is None
    assert reaches_target(entry, Share(57, 60)) is True
    assert reaches_target(entry, Share(56, 60)) is False
    assert reaches_target(joint, Share(8, 10)) is True
    assert reaches_target(healthy, Share(1, 56)) is True
    assert reaches_target(healthy, Share(2, 56)) is False
    assert reaches_target(healthy, Share(0, 7)) is None


def test_the_table_gives_back_what_was_written_and_the_page_tells_it(tmp_path: Path) -> None:
    assert read_members(tmp_path) == {}
    rows = {Member("offset", i): bench_row("offset", i) for i in range(4)}
    rows[Member("healthy", 0)] = bench_row("healthy", 0, version=VERSION + 1)
    write_members(tmp_path, rows)
    found = read_members(tmp_path)
    assert found.keys() == {Member("offset", i) for i in range(4)}, "rows of another version are made again"
    assert found[Member("offset", 2)]["entry"] == "keys"
    found |= {Member("offset", i): bench_row("offset", i) for i in range(PER_KIND, PER_KIND + 3)}
    text = page(list(found.values()))
    assert (
        "| right cause, one flaw | at least 0.95 | 2 of 2 | 2 of 2 | 3 of 3 | 0.29 to 1.00 | too few members |" in text
    )
    assert text == page(list(found.values()))


def test_a_file_that_is_no_table_of_the_bench_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no parquet")
    with pytest.raises(BenchError, match=r"members\.parquet"):
        read_members(tmp_path)


@pytest.mark.parametrize(
    ("share", "low", "said"),
    [
        (None, 1.0, "none"),
        (NAMING_SHARE - EPS, 0.9, "none"),
        (NAMING_SHARE, 0.9, "partly"),
        (STRONG - EPS, 0.9, "partly"),
        (STRONG, STRONG_LOW, "strong"),
        (STRONG, STRONG_LOW - EPS, "partly"),
    ],
)
def test_grades(share: float | None, low: float, said: str) -> None:
    assert grade(attempt("P", share, low)) == said


def test_where_only_selection_is_left_the_sequence_itself_is_the_cause() -> None:
    nothing, named = Entry("not explained", "none", None), Entry("keys", "strong", attempt("K", 0.9))

    def said(recovered: float | None, entry: Entry = nothing, ruled_out: bool = True) -> Any:
        made = content(entry, recovered, ruled_out)
        return made.label, made.grade, made.by

    assert said(0.8) == ("content", "strong", None)
    assert said(0.8 - EPS) == ("content", "partly", None)
    assert said(NAMING_SHARE) == ("content", "partly", None)
    assert said(NAMING_SHARE - EPS) == said(None) == ("not explained", "none", None)
    assert said(0.9, named) == said(0.9, named, False) == ("keys", "strong", named.by)


def test_content_is_named_only_where_positions_are_ruled_out() -> None:
    """A position intervention was applicable and failed, or the model reads no position ids."""
    nothing = Entry("not explained", "none", None)
    for tested, reads_ids, label in (
        ([], True, POSITION_OR_CONTENT),
        ([0.1, NAMING_SHARE - EPS], True, "content"),
        ([0.1, NAMING_SHARE], True, POSITION_OR_CONTENT),
        ([-0.5], True, "content"),
        ([], False, "content"),
    ):
        made = content(nothing, 1.0, position_ruled_out(tested, reads_ids))
        assert (made.label, made.grade) == (label, "none" if label == POSITION_OR_CONTENT else "strong"), tested
    assert content(nothing, NAMING_SHARE - EPS, False) is nothing, (
        "where nothing is selected, nothing is left open either"
    )


def test_keys_stays_open_only_where_positions_could_not_be_tested() -> None:
    named = Entry("keys", "strong", attempt("D", 0.9), (attempt("C", 0.6),))
    left = keys(named, untested=True)
    assert (left.label, left.grade, left.by, left.also) == ("position or keys", "none", named.by, named.also)
    assert keys(named, untested=False) is named
    for label in ("position", "steps", "keys or content", "joint", "content", "position or content", "not explained"):
        other = Entry(label, "partly", None)
        assert keys(other, untested=True) is other


def test_what_is_not_asked_of_a_checkpoint_says_why() -> None:
    task, model = WrittenBit(), NeedleNumbers(n_ctx=64).build()
    short = diagnose(model, task, trained=32, lengths=[32], sequences=8)
    assert {r["note"] for r in short.rows} == {"no length beyond N is measured"}
    assert {r["law"] for r in short.rows} == {"matched"}
    single = diagnose(model, make_task("aa_star"), trained=4, lengths=[4, 8], sequences=8)
    assert {r["note"] for r in single.rows} == {
        "there is one string of each length: shares of a loss have no strings to be taken over"
    }
    assert {r["status"] for r in [*short.rows, *single.rows]} == {"not_applicable"}
