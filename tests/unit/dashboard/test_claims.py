"""Every number that the pages of the gallery name stands in the row that it claims to come from.

The table is read here with :class:`workbench.table.Table`, the pages read it through the dashboard's store: two ways
to the same rows.
"""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from dash import html

from tests.support.cited import NUMBER, Rows, said, same, unfounded
from tests.support.dashboard.answers import texts
from tests.support.dashboard.claims import (  # noqa: F401 - fixtures
    IN_CONTEXT_NAMES,
    IN_PART,
    NAMES,
    drawn,
    gallery,
    of_run,
    place_of,
    rows,
    view_of,
)
from tests.support.hovers import VALUE, WHERE, Named, close, numbers, parsed
from workbench.core.verdicts import STRATA
from workbench.dashboard.components import prose
from workbench.dashboard.pages import compare, sweep, theory
from workbench.dashboard.pages.base import Visit
from workbench.dashboard.pages.runs import summary
from workbench.dashboard.panels import head_grid, head_tables
from workbench.dashboard.panels.panel_spec import Panel, PanelCursor
from workbench.dashboard.panels.run_panels import BY_ID, IN_CONTEXT, IN_CONTEXT_DEEPER
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import default_cursor
from workbench.dashboard.state.sweep_query import choices_of
from workbench.figures import head_sentence, rail_text, verdict_sentence, why_sentence
from workbench.figures.labels import MISSING, estimate, length_label, proportion
from workbench.figures.panels.differences import compare_sentence, over_length_difference
from workbench.figures.panels.many_seeds import SHOWN
from workbench.figures.rows.frame import Frame
from workbench.figures.text.cause import cause
from workbench.figures.text.evidence import evidence
from workbench.figures.text.headline import headline
from workbench.figures.text.in_context_sentence import in_context_course, in_context_rail, in_context_sentence
from workbench.theory.limit_transformers.bounds import citation


def test_the_gallery_is_walked() -> None:
    assert len(NAMES) >= 9
    assert len(IN_CONTEXT_NAMES) >= 2


@pytest.mark.parametrize("name", NAMES)
def test_dots_on_runs_are_the_rail_of_run(gallery: Context, of_run: dict[str, Rows], name: str) -> None:
    run = view_of(gallery, name)
    line = summary(gallery, run)
    longest, step = run.lengths[-1], run.brief.last
    assert step is not None
    frame = of_run[name]
    rail = said(rail_text(run.frame, "representation", step, longest, 0, 0, trained=run.trained))
    seen = 0
    for concept in ("summary", "position"):
        carried = run.brief.carries.get(concept)
        if carried is None:
            assert {"summary": "task state"}.get(concept, concept) not in rail.lower()
            continue
        seen += 1
        text = estimate(carried["value"], carried["low"], carried["high"])
        word = {"summary": "task state"}.get(concept, concept)
        assert f"{word} {text} after block {carried['layer']:.0f} at length {longest}" in rail.lower()
        assert proportion(line[concept]) == proportion(carried["value"])
        assert f"{concept} {text}, controls {proportion(carried['control'])}" in line["carries"]
        control = next(
            row
            for row in frame.every()
            if row["control"]
            and row["value"] == carried["control"]
            and row["quantity"] == f"{concept}_decodability"
            and (row["step"], row["length"], row["layer"]) == (step, longest, carried["layer"])
        )
        assert f"controls ({estimate(*(control[part] for part in ('value', 'low', 'high')))})" in rail
    assert seen == (0 if name in IN_PART else 2)


@pytest.mark.parametrize("name", NAMES)
def test_every_number_in_a_sentence_cites_its_row(gallery: Context, of_run: dict[str, Rows], name: str) -> None:
    run, held = view_of(gallery, name), of_run[name]
    base = default_cursor(run)
    heads = [(layer, head) for layer in range(run.n_layers) for head in range(run.n_heads)]
    numbers = 0
    for step in run.measured_steps:
        told = [verdict_sentence(run.frame, step=step, trained=run.trained)]
        told += headline(run.frame, step=step, trained=run.trained)
        if len(run.frame.where(measurement="diagnosis", step=step, quantity="entry")):
            diagnosed = cause(run.frame, step=step, longest=run.trained)
            told += [diagnosed.sentence, diagnosed.accuracy]
        told.append(why_sentence(run.frame, trained=run.trained, length=base.length, step=step))
        for layer, head in heads if step == base.step else heads[:1]:
            at: dict[str, Any] = {"step": step, "layer": layer, "head": head}
            told.append(why_sentence(run.frame, trained=run.trained, length=base.length, **at))
            told += head_sentence(run.frame, length=base.length, trained=run.trained, **at)
        for length in run.lengths:
            for kind in ("behaviour", "representation", "mechanism"):
                told.append(rail_text(run.frame, kind, step, length, base.layer, base.head, trained=run.trained))
            where: dict[str, Any] = {"step": step, "length": length, "layer": base.layer, "head": base.head}
            clauses = evidence(run.frame, trained=run.trained, **where)
            told += [*(one.clause for one in clauses), *(one.short for one in clauses)]
        for pieces in told:
            assert unfounded(pieces, held, run.trained) == []
            numbers += len(NUMBER.findall(said(pieces)))
    assert numbers > 100


@pytest.mark.parametrize("name", NAMES)
def test_failure_lengths_and_critical_ones_are_rows(gallery: Context, of_run: dict[str, Rows], name: str) -> None:
    at = place_of(gallery, name)
    pairs = {("behaviour", "failure_length"), ("circuits.hardmax", "critical_length"), ("behaviour", "accuracy")}
    rows = [row for row in of_run[name].of(pairs) if row["step"] == at.cursor.step]
    told = drawn(gallery, BY_ID["failure"], at)
    for text in told:
        shown = re.search(r"<b>(> )?([\d,]+)(?: \[([\d,]+), ([\d,]+)\])?( keys)?</b>", text)
        assert shown is not None
        column = "length" if shown[1] else "value"
        kind = "failure_length" if "observed" in text else "critical_length" if "critical" in text else "accuracy"
        assert bool(shown[5]) == (kind == "critical_length"), "the one length that counts keys says so"
        column = "length" if kind == "accuracy" else "low" if kind == "critical_length" and shown[1] else column
        held = [row for row in rows if row["quantity"] == kind]
        if kind == "critical_length":  # of the chosen head, at the selected length or the next shorter measured one
            head = {"layer": at.cursor.layer, "head": at.cursor.head, "law": "matched"}
            held = [row for row in held if all(row[name] == value for name, value in head.items())]
            read = max(row["length"] for row in held if row["length"] <= at.cursor.length)
            assert f"computed at length {read:,.0f}" in text
            held = [row for row in held if row["length"] == read]
            ends = [held[0][end] for end in ("low", "high")]
            assert (shown[3] is None) == (None in ends)
            assert shown[3] is None or all(same(text, end) for text, end in zip(shown.groups()[2:4], ends, strict=True))
        if column == "length" and kind == "failure_length":  # rows of the former rules end where they are censored
            held = [row | {"length": row["low"] if row["length"] is None else row["length"]} for row in held]
        held = [row for row in held if row[column] is not None]
        assert any(same(shown[2], row[column]) for row in held), text
        kept = re.search(r"kept up to ([\d,]+)", text)
        assert kept is None or any(close(kept[1], row["low"]) for row in held), text
    ends = [row["status"] for row in rows if row["quantity"] == "failure_length"]
    assert told or run_is_unfitted(gallery, name) or set(ends) == {"undefined"}, "without a threshold nothing fails"


@pytest.mark.parametrize("name", IN_CONTEXT_NAMES)
def test_what_is_said_of_a_model_in_its_prompt_cites_its_rows(
    gallery: Context, of_run: dict[str, Rows], name: str
) -> None:
    run, held, numbers = view_of(gallery, name), of_run[name], 0
    at = default_cursor(run)
    for length in run.lengths:
        told = [in_context_sentence(run.frame, step=at.step), in_context_course(run.frame, step=at.step)]
        for kind in ("behaviour", "mechanism", "in-context-use"):
            told.append(in_context_rail(run.frame, kind, at.step, length, at.layer, at.head))
        for pieces in told:
            assert unfounded(pieces, held, run.trained) == []
            numbers += len(NUMBER.findall(said(pieces)))
    assert numbers > 10 * len(run.lengths)


@pytest.mark.parametrize("name", IN_CONTEXT_NAMES)
def test_what_is_drawn_of_a_model_in_its_prompt_are_rows(gallery: Context, of_run: dict[str, Rows], name: str) -> None:
    at = place_of(gallery, name)
    for panel in (one for one in (*IN_CONTEXT, *IN_CONTEXT_DEEPER) if one.form != "heads"):
        known = Named(of_run[name], {(panel.measurement, quantity) for quantity in panel.quantities})
        told = drawn(gallery, panel, at)
        medians = [text for text in told if text.startswith("median of ")]  # names no value: a row of no one head
        heads = len({(row["layer"], row["head"]) for row in of_run[name].every() if row["head"] is not None})
        assert {int(text.split()[2]) for text in medians} <= {heads - 1}
        missed = [text for text in told if text not in medians and not known.by(text)]
        assert missed == [], panel.id
        assert told or panel.id not in ("in-context", "in-context-changed", "in-context-layers")


@pytest.mark.parametrize("name", IN_CONTEXT_NAMES)
def test_a_line_of_the_grid_on_a_model_in_its_prompt_is_of_its_rows(
    gallery: Context, of_run: dict[str, Rows], name: str
) -> None:
    line, rows = summary(gallery, view_of(gallery, name)), of_run[name].every()
    (verdict,) = [row for row in rows if row["quantity"] == "in_context_verdict"]
    assert line["verdict"] == verdict["label"]
    right = {row["length"]: row for row in rows if row["quantity"] == "answer_accuracy"}
    assert (line["shortestLength"], line["longestLength"]) == (min(right), max(right))
    longest = right[max(right)]
    assert line["longest"] == longest["value"]
    assert all(
        same(end, longest[side]) for end, side in zip(numbers(line["longestInterval"]), ("low", "high"), strict=True)
    )
    if verdict["label"] == "not capable":
        assert line["failsText"] == MISSING, "of what was never right nothing is lost"


def run_is_unfitted(gallery: Context, name: str) -> bool:
    run = view_of(gallery, name)
    return run.brief.verdicts[default_cursor(run).step] == "not fitted"


@pytest.mark.parametrize("name", NAMES)
def test_the_log_is_drawn_as_it_was_written(gallery: Context, name: str) -> None:
    run = view_of(gallery, name)
    told = drawn(gallery, BY_ID["loss"], place_of(gallery, name))
    log = run.log.to_pandas().set_index("step")
    held = {int(step): [float(v) for v in row.dropna()] for step, row in log.iterrows()}
    for text in told:
        step = int(parsed(re.search(r"step ([\d,]+)", text)[1]))  # type: ignore[index]
        value = re.search(r"<b>(.*?)</b>", text)[1]  # type: ignore[index]
        assert any(np.isclose(parsed(value), one, rtol=0.05) or same(value, one) for one in held[step]), text
    assert bool(told) == bool(len(run.log))


# ---- cells ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", NAMES)
def test_every_cell_of_the_runs_grid_is_a_row(gallery: Context, of_run: dict[str, Rows], name: str) -> None:
    run = view_of(gallery, name)
    line = summary(gallery, run)
    rows = [row for row in of_run[name].every() if row["measurement"] == "behaviour"]
    step = max(row["step"] for row in rows if row["quantity"] == "verdict")
    labels = {row["step"]: row["label"] for row in rows if row["quantity"] == "verdict"}
    assert line["verdict"] == labels[step]
    accuracy = {
        row["length"]: row
        for row in rows
        if (row["quantity"], row["step"], row["law"], row["mode"]) == ("accuracy", step, "matched", "teacher_forced")
    }
    assert (line["shortestLength"], line["longestLength"]) == (min(accuracy), max(accuracy))
    for cell, length in (("inside", max(n for n in accuracy if n <= run.trained)), ("longest", max(accuracy))):
        row = accuracy[length]
        assert line[cell] == row["value"]
        assert same(line[f"{cell}Text"], row["value"])
        ends = numbers(line[f"{cell}Interval"])
        assert len(ends) == (0 if row["low"] is None else 2)
        assert all(same(end, row[side]) for end, side in zip(ends, ("low", "high"), strict=False))
    failures = [row for row in rows if row["quantity"] == "failure_length" and row["step"] == step]
    seen = [row["value"] for row in failures if row["status"] == "ok"]
    if line["verdict"] == "not fitted":
        assert line["failsText"] == "–"
    elif seen:
        first, _, test_set = line["failsText"].partition(", ")
        assert same(first, min(seen))
        failing = {row["law"] for row in failures if row["status"] == "ok" and row["value"] == min(seen)}
        assert test_set == ("challenge" if failing == {"challenge"} else "")
    else:
        passed = [row for row in failures if row["status"] == "censored"]
        ends = [row["low"] if row["length"] is None else row["length"] for row in passed]
        if passed:
            assert same(line["failsText"].removeprefix("> "), min(end for end in ends if end is not None))
        else:
            assert line["failsText"] == "\u2013", "without a threshold no length is passed"
    if "since" in line:
        decided = [one for one in labels if labels[one] not in (line["verdict"], "undecided")]
        after = max(decided, default=None)
        assert numbers(line["sinceAfter"]) == ([] if after is None else [f"{after:,}"])
        assert line["since"] == min(one for one in labels if labels[one] == line["verdict"] and one > (after or -1))
        assert line["sinceText"] == f"{line['since']:,}"
    else:
        assert line["verdict"] in ("not fitted", "undecided")
    ties = [row for row in rows if row["quantity"] == "near_ties" and row["step"] == step and row["label"]]
    assert [line["ties"]] * len(ties) == [row["label"] for row in ties] if ties else "ties" not in line


def by_head(rows: Rows, at: PanelCursor) -> dict[str, list[dict[str, Any]]]:
    """Rows of a step about heads, at the cursor's length or at none, by head."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows.every():
        here = row["length"] in (None, at.cursor.length) and row["step"] == at.cursor.step
        if here and row["head"] is not None and row["layer"] is not None:
            found.setdefault(f"L{row['layer']:.0f}H{row['head']:.0f}", []).append(row)
    return found


def holds(text: str, rows: list[dict[str, Any]]) -> bool:
    """Whether a value, and its interval if it has one, are those of one row; of a small p value, whether one is so small."""
    if text.startswith("< "):
        return any(str(row["quantity"]).endswith("_p") and row["value"] < float(text[2:]) for row in rows)
    found = numbers(text)
    names = ("value", "low", "high") if numbers(text.partition("[")[0]) else ("low", "high")  # a value may be a word
    return any(all(close(number, row[name]) for number, name in zip(found, names, strict=False)) for row in rows)


@pytest.mark.parametrize("name", [*NAMES, *IN_CONTEXT_NAMES])
def test_every_cell_about_heads_is_a_row(gallery: Context, of_run: dict[str, Rows], name: str) -> None:
    at = place_of(gallery, name)
    heads = by_head(of_run[name], at)
    table, slice_text = head_tables.head_rows(at.run, at.cursor)
    assert length_label(at.cursor.length, at.run.name in IN_CONTEXT_NAMES) in slice_text
    seen = 0
    for line in table.children[1].children:
        head, *cells = line.children
        for cell in cells:
            shown = cell.title if getattr(cell, "title", None) else ""
            value = shown.partition(";")[0].strip()
            if numbers(value):
                seen += 1
                assert holds(value, heads[texts(head).strip()]), (texts(head), shown)
    layer, which = at.cursor.layer or 0, at.cursor.head or 0
    facts, _ = head_tables.fact_rows(at.run, replace(at.cursor, layer=layer, head=which))
    own = heads[f"L{layer}H{which}"]
    folded = facts.children[1].children
    lists = [facts.children[0], *(part for part in folded if isinstance(part, html.Dl))]
    assert len(lists[0].children) == 6, "what tells most; the rest is folded"
    assert folded[0].children == f"{sum(len(one.children) for one in lists[1:])} more"
    for fact in (fact for one in lists for fact in one.children):
        value, *rest = fact.children[1].children
        limits = rest[0].children if rest else ""
        if numbers(value.children):
            seen += 1
            assert holds(value.children + limits, own), texts(fact)
        else:
            assert not numbers(limits), texts(fact)  # an interval without its value says nothing
    cells, *_ = head_grid.cells(
        BY_ID["in-context-grid" if at.run.name in IN_CONTEXT_NAMES else "head-grid"], at, "light"
    )
    for cell in cells:
        if getattr(cell, "title", None) and "hardmax distance" in cell.title:
            seen += 1
            name_of, _, shown = cell.title.partition(": hardmax distance ")
            value, _, n = shown.partition(", n ")
            rows = [row for row in heads[name_of] if row["quantity"] == "hardmax_distance" and close(n, row["n"])]
            assert holds(value, rows), cell.title
    assert seen > 20


@pytest.mark.parametrize("name", [name for name in NAMES if name not in IN_PART])
def test_theory_names_the_rows_of_its_bound_and_the_step_that_it_looks_at(
    gallery: Context, of_run: dict[str, Rows], name: str
) -> None:
    run = view_of(gallery, name)
    rows = [row for row in of_run[name].every() if row["measurement"] == "bound"]
    step = max(row["step"] for row in rows)
    rows = [row for row in rows if row["step"] == step]
    told = theory.bound(run)
    assert f"step {step:,}" in texts(told)
    folded = next(part for part in told if isinstance(part, html.Details))
    summary, listed = folded.children
    assert listed.className == "parts"
    assert texts(summary).startswith(f"{len(listed.children)} norms and margins"), "no bound: its parts are folded"
    assert isinstance(theory.parts_panel(run), html.Details)
    values = [row["value"] for row in rows if row["quantity"] == "bound_part" and row["value"] is not None]
    shown = [texts(line.children[0]) for line in listed.children]
    assert len(shown) == len(values)
    assert all(
        np.isclose(parsed(text), value, rtol=0.006, atol=0.5 if "," in text else 1e-9)
        for text, value in zip(shown, values, strict=True)
    )
    observed = texts(theory.verdict_of_run(run, "guaranteed"))
    assert f"observed at step {run.brief.last:,}" in observed
    if run.brief.ties:
        hard = f"{run.brief.ties['kind']} {STRATA[run.brief.ties['label']].word}".capitalize()
        uncovered = run.brief.ties["label"] == "fail" and "as predicted" in observed
        assert " ".join(observed.split()).endswith(
            f". {hard}{', although the prediction covers all inputs' * uncovered}."
        ), observed
    bounds = [row for row in rows if row["quantity"] == "training_length_bound"]
    reasons = sorted(
        f"{citation(row['target'])} ({row['note']})" for row in bounds if row["status"] == "not_applicable"
    )
    assert len(reasons) == len(bounds) == 3
    assert f"No bound applies: {'; '.join(reasons)}." in texts(told), "one sentence, not a line each"
    assert theory.no_theorem([{"target": "theorem 4.2", "status": "ok", "note": ""}]) == ""
    papers = re.findall(r"theorem \d\.\d of ([^()]+), arXiv (\d{4}\.\d{5}) \(", texts(told))
    assert len(papers) == len(bounds), "each theorem names its paper"


def test_a_bound_names_the_paper_of_its_theorem() -> None:
    columns = {"measurement": "bound", "step": 10, "quantity": "training_length_bound", "note": "a reason"}
    rows = [
        {**columns, "target": "theorem 4.1", "status": "ok", "value": 100.0},
        {**columns, "target": "theorem 4.3", "status": "not_applicable", "value": None},
    ]
    run = SimpleNamespace(frame=Frame.of(pd.DataFrame(rows)), specs={})
    shown = texts(theory.bound(run))  # type: ignore[arg-type]
    assert "Theorem 4.1 of Izzo, Nichani, Lee, arXiv 2510.27015 100 tokens" in shown
    assert "Not applicable: theorem 4.3 of Golowich et al., arXiv 2502.16792 (a reason)." in shown
    assert not isinstance(theory.parts_panel(run), html.Details)  # type: ignore[arg-type]
    without = SimpleNamespace(frame=run.frame.where(target="theorem 4.3"), specs={})
    assert texts(theory.bound(without)).startswith("Bound No bound applies:")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_the_line_on_a_run_names_its_configuration(gallery: Context, name: str) -> None:
    run = view_of(gallery, name)
    model, training = run.config["model"], run.config["training"]
    held = [model["n_layers"], model["n_heads"], run.trained, run.shortest, *(training.get("compiled") or {}).values()]
    said = texts(prose.meta(run)).replace(name, "").replace(run.question, "")
    assert [one for one in numbers(said) if not any(close(one, v) for v in held if isinstance(v, int))] == []


def test_what_tells_two_runs_apart_cites_both_rows(gallery: Context, of_run: dict[str, Rows]) -> None:
    told: list[str] = []
    for a, b in (("majority_nope_s0", "majority_learned"), ("majority_nope_s0", "compiled/majority_first_32")):
        run = view_of(gallery, a)
        at = PanelCursor.from_link(gallery.store, run, default_cursor(run), {"run2": b})
        other = at.other_side
        data = over_length_difference(
            run.frame, other.run.frame, step=at.cursor.step, step_b=other.cursor.step,
            trained=run.trained, trained_b=other.run.trained,
        )  # fmt: skip
        both = Rows(pd.concat([of_run[a].frame, of_run[b].frame], ignore_index=True))
        pieces = compare_sentence(data)
        assert unfounded(pieces, both, run.trained) == []
        told += NUMBER.findall(said(pieces))
    assert len(told) >= 4


def test_medians_over_seeds_are_of_the_rows_of_all_seeds(gallery: Context, of_run: dict[str, Rows]) -> None:
    run = view_of(gallery, "majority_nope_s0")
    seeds = ["majority_nope_s0", "majority_nope_s1"]
    at = PanelCursor.from_link(gallery.store, run, default_cursor(run), {"run2": "flip_flop_rotary_s0"})
    seen = 0
    for panel in compare.SEED_PANELS:
        if not panel.id.endswith("-a"):
            continue
        data = panel.data(at)
        pairs = set(zip(data["measurement"], data["quantity"], strict=True))
        runs = [Named(of_run[name], pairs) for name in seeds]
        held = [of_run[name].of(pairs) for name in seeds]
        for text in drawn(gallery, panel, at):
            if text.startswith("median"):
                shown = VALUE.search(text)
                assert shown is not None
                assert shown["n"] == str(len(seeds))
                where = {name: parsed(number) for name, number in WHERE.findall(text)}
                places = set(zip(*(data.loc[data["series"] == "median", c] for c in ("layer", "site")), strict=True))
                values = [
                    [
                        row["value"]
                        for row in rows
                        if row["step"] == at.cursor.step
                        and row["length"] == where["length"]
                        and all(row[name] == of for name, of in panel_rows(panel).items())
                        and (row["layer"], row["site"]) in {(None if p[0] != p[0] else p[0], p[1]) for p in places}
                    ]
                    for rows in held
                ]
                assert [len(one) for one in values] == [1] * len(seeds), text
                every = [one[0] for one in values]
                for name, value in (("value", np.median(every)), ("low", min(every)), ("high", max(every))):
                    assert close(shown[name], value), text
                seen += 1
            else:
                assert any(one.by(text) for one in runs), text
    assert seen > 10


def panel_rows(panel: Panel) -> dict[str, str]:
    """What picks the rows of a panel of seeds."""
    return dict(SHOWN[panel.settings["shown"]])


@pytest.mark.parametrize(("asked", "least"), [({}, 3), ({"x": "model.positions.name", "y": "task.name"}, 6)])
def test_every_cell_of_a_sweep_is_the_median_of_rows_that_it_names(
    gallery: Context, of_run: dict[str, Rows], asked: dict[str, str], least: int
) -> None:
    cells = sweep.PHASE.rows(gallery, asked)
    seen = 0
    for cell in cells.to_dict("records"):
        values = []
        for member in cell["members"].split("; "):
            told = re.fullmatch(r"(.+) step ([\d,]+)(?: length ([\d,]+))?: (\S+)", member)
            assert told is not None, member
            step, length = parsed(told[2]), parsed(told[3])
            rows = [
                row
                for row in of_run[told[1]].every()
                if (row["measurement"], row["quantity"]) == ("behaviour", "accuracy")
                and (row["law"], row["mode"]) == ("matched", "teacher_forced")
                and (row["step"], row["length"]) == (step, length)
            ]
            assert [row["value"] for row in rows if np.isclose(parsed(told[4]), row["value"], rtol=0.006)], member
            values.append(rows[0]["value"])
            seen += 1
        assert cell["runs"] == len(values)
        if not cell["note"]:
            assert (cell["value"], cell["low"], cell["high"]) == (np.median(values), min(values), max(values))
    assert seen >= least


def test_a_sweep_leaves_out_what_was_asked_in_its_prompt_and_says_so(gallery: Context) -> None:
    choices = choices_of(gallery.store)
    assert choices.trained == (31, 256), "from the shortest to the longest"
    assert choices.left_out == len(IN_CONTEXT_NAMES)
    cells = sweep.PHASE.rows(gallery, {})
    assert not any(name in members for name in IN_CONTEXT_NAMES for members in cells["members"])
    assert {"ur", "uf"}.isdisjoint(cells["y"])
    said = texts(html.Div(sweep.PAGE.draw(gallery, Visit("/sweep", "")).content))
    assert f"{len(IN_CONTEXT_NAMES)} runs that were evaluated in a prompt are left out" in said
