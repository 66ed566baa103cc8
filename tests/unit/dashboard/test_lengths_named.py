"""Sentences of one block speak of one length, or each number names its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.cited import said
from tests.support.dashboard.claims import IN_CONTEXT_NAMES, NAMES, gallery, view_of
from tests.support.lengths_named import unnamed_lengths
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import default_cursor
from workbench.dashboard.state.run_view import RunView
from workbench.figures import head_sentence, rail_text, verdict_sentence, why_sentence
from workbench.figures.errors import NotMeasured
from workbench.figures.rows.claims import Claim, cite, count, estimate, plain
from workbench.figures.rows.frame import Frame
from workbench.figures.text.diagnosis_sentence import diagnosis_sentence
from workbench.figures.text.in_context_sentence import in_context_rail, in_context_sentence

__all__ = ["gallery"]
RAILS = ("behaviour", "representation", "mechanism")


def blocks(run: RunView) -> Iterator[list[Any]]:
    """The blocks of text of a run's page, at all its steps and lengths."""
    base = default_cursor(run)
    for step in run.measured_steps:
        yield verdict_sentence(run.frame, step=step, trained=run.trained)
        heads = [(layer, head) for layer in range(run.n_layers) for head in range(run.n_heads)]
        for layer, head in heads if step == base.step else heads[:1]:
            at: dict[str, Any] = {"step": step, "layer": layer, "head": head}
            yield why_sentence(run.frame, trained=run.trained, length=base.length, **at)
            try:
                does, numbers = head_sentence(run.frame, length=base.length, trained=run.trained, **at)
                yield [*does, plain(" "), *numbers]
            except NotMeasured:
                pass
        for length in run.lengths:
            for rail in RAILS:
                yield rail_text(run.frame, rail, step, length, base.layer, base.head, trained=run.trained)
            with contextlib.suppress(NotMeasured):
                yield diagnosis_sentence(run.frame, step=step, longest=run.trained, length=length)


@pytest.mark.parametrize("name", NAMES)
def test_every_block_of_a_trained_run_names_its_lengths(gallery: Context, name: str) -> None:
    every = list(blocks(view_of(gallery, name)))
    assert len(every) > 20
    for block in every:
        assert unnamed_lengths(block) == [], said(block)


@pytest.mark.parametrize("name", IN_CONTEXT_NAMES)
def test_every_block_of_a_model_in_its_prompt_names_its_items(gallery: Context, name: str) -> None:
    run = view_of(gallery, name)
    at = default_cursor(run)
    for length in run.lengths:
        told = [in_context_sentence(run.frame, step=at.step)]
        told += [
            in_context_rail(run.frame, rail, at.step, length, at.layer, at.head)
            for rail in ("behaviour", "mechanism", "in-context-use")
        ]
        for block in told:
            assert unnamed_lengths(block) == [], said(block)


def row(length: int, value: float, **fields: Any) -> dict[str, Any]:
    blank = dict.fromkeys(("run", "measurement", "law", "site", "target", "mode", "control"), "")
    numbers = {"step": 1, "layer": None, "head": None, "low": value - 0.01, "high": value + 0.01, "note": ""}
    return {**blank, **numbers, "quantity": "accuracy", "length": length, "value": value, **fields}


SHORT, LONG = row(8, 0.91), row(64, 0.52)


def test_numbers_of_one_length_name_it_once_or_not_at_all() -> None:
    assert unnamed_lengths([plain("accuracy "), *estimate(SHORT), plain(", skill "), *estimate(SHORT)]) == []


def test_two_lengths_are_each_named_beside_their_number() -> None:
    each = [*estimate(SHORT), count(SHORT, "length", " at length "), plain(", "), *estimate(LONG)]
    assert unnamed_lengths([*each, count(LONG, "length", " at length ")]) == []
    assert unnamed_lengths(each) == [
        f"{text} of length 64 in '0.91 [0.90, 0.92] at length 8, 0.52 [0.51, 0.53]'"
        for text in ("0.52", "0.51", "0.53")
    ]


def test_a_clause_without_a_length_speaks_of_the_last_named_one() -> None:
    first = [*estimate(SHORT), count(SHORT, "length", " at length ", ". ")]
    assert unnamed_lengths([*first, plain("It reaches "), *estimate(SHORT), plain("; "), *at(LONG)]) == []
    wrong = unnamed_lengths([*first, plain("There it is "), *estimate(LONG), plain(".")])
    assert [one.split(" in ")[0] for one in wrong] == [f"{text} of length 64" for text in ("0.52", "0.51", "0.53")]


def test_a_span_of_lengths_names_all_in_it_and_lengths_are_their_own_name() -> None:
    span = [*estimate(LONG), plain(" or above from length 8 to 64; "), *estimate(SHORT)]
    assert unnamed_lengths(span) == []
    failure = row(128, 48.0, quantity="failure_length")
    text = "48"
    assert unnamed_lengths([Claim(f"It fails at {text}; ", "plain", [cite(failure, "value", text)]), *at(SHORT)]) == []


def at(one: dict[str, Any]) -> list[Any]:
    return [*estimate(one), count(one, "length", " at length ")]


TINY = Frame.from_rows(
    [
        row(n, value, run="tiny", law=law, mode="teacher_forced", measurement="behaviour", quantity=quantity,
            status="ok", label="", reason="", setting="{}", n=2 * n)
        for n, value in ((1, 1.0), (2, 0.99), (3, 0.98), (6, 0.8), (12, 0.4))
        for law in ("matched", "challenge")
        for quantity in ("accuracy", "skill")
    ]
)  # fmt: skip
LABELS = ("scale-robust", "length-coupled", "not fitted", "unseen position", "undecided")


@pytest.mark.parametrize("label", LABELS)
def test_the_verdict_of_a_run_with_tiny_lengths_names_them(label: str) -> None:
    verdict = row(12, float("nan"), run="tiny", measurement="behaviour", quantity="verdict", status="ok",
                  label=label, reason="", setting="{}", n=6)  # fmt: skip
    failure = row(6, 6.0, run="tiny", law="matched", mode="teacher_forced", measurement="behaviour", status="ok",
                  quantity="failure_length", label="", reason="", setting="{}", n=6, low=3.0, high=6.0)  # fmt: skip
    rows = [*TINY.rows(), verdict, *([failure] if label == "length-coupled" else [])]
    frame = Frame.from_rows(rows, tuple(rows[0]))
    block = verdict_sentence(frame, step=1, trained=3)
    assert said(block).startswith(label.capitalize())
    assert unnamed_lengths(block) == [], said(block)
    for rail in RAILS:
        block = rail_text(frame, rail, 1, 6, 0, 0, trained=3)
        assert unnamed_lengths(block) == [], said(block)
