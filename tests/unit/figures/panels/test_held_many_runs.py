"""Figures that take more than the rows of a run and a place: any quantity, phase diagrams, configurations, plateaus, logs.

Numbers and words are held of one figure of each kind; of the others how many traces, points and marks there are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.support.figures.asking import first_trained, frames_of
from tests.support.figures.contents import contents, structure, words
from tests.support.figures.gallery_rows import GALLERY, config_of, rows_of, table, trained_of
from tests.support.held import Held
from tests.support.printed import outcome, told
from workbench import figures
from workbench.figures import figure_by_name
from workbench.figures.look import Look
from workbench.figures.panels.any_quantity_notebook import causes
from workbench.figures.panels.differences import over_length_difference
from workbench.figures.panels.phase_diagram import axes_of, axis_title, settings_of, value_text
from workbench.figures.panels.plateau import plateaus
from workbench.figures.rows.frame import Frame
from workbench.figures.style.multiples_axis import in_items, in_multiples

ANY = ("flip_flop_rotary_s0", "small_model", "pretrained/smollm2_pairs")
SIX = ("flip_flop_rotary_s0", "majority_learned", "parity_nope", "small_model", "compiled/majority_first_32")


# ---- any quantity -------------------------------------------------------------------------------------
@pytest.mark.parametrize("run", ANY)
def test_any_quantity_over_training_and_over_length(run: str, held_rows: Held) -> None:
    frame, trained = rows_of(run), trained_of(run)
    names = table(run)[["measurement", "quantity"]].drop_duplicates().sort_values(["measurement", "quantity"])
    step = int(frame.distinct("step")[-1])
    lengths = [int(n) for n in frame.distinct("length")]
    at = next((n for n in lengths if n > trained), lengths[-1])
    found, usual = {}, {}
    for index, (measurement, quantity) in enumerate(names.iloc[:: 1 + len(names) // 20].itertuples(index=False)):
        what = {"measurement": measurement, "quantity": quantity, "trained": trained}
        head = {"layer": 1, "head": 0} if index % 2 else {}
        both = [
            outcome(partial(figure_by_name(name).plain, frame, **what, **where, **head))
            for name, where in (("quantity_over_training", {"length": at}), ("quantity_over_length", {"step": step}))
        ]
        of_heads = outcome(partial(causes, frame.where(step=step), measurement, quantity, trained=trained))
        found[f"{measurement} {quantity}"] = list(
            map(drawn_or_refused, [*both, *([of_heads] if index % 7 == 0 else [])])
        )
        usual = usual or {
            name: contents(one)
            for name, one in zip(("over training", "over length"), both, strict=True)
            if not isinstance(one, str)
        }
    held_rows({"first": usual, "structures": found})


def drawn_or_refused(made: Any) -> str:
    """The structure of a figure, or the sentence of its refusal."""
    return made if isinstance(made, str) else structure(made)


@pytest.mark.parametrize("where", [{"length": 9}, {"layer": 0}, {"layer": 0, "head": 1, "length": 47}, {"step": 0}])
def test_a_notebooks_lines_where_only_some_rows_are_asked_for(where: dict[str, Any], held_rows: Held) -> None:
    frame = rows_of("majority_learned")
    asked = (
        ("circuits.heads", "bos_mass"),
        ("probes.summary", "summary_decodability"),
        ("circuits.hardmax", "tie_size"),
    )
    drawn = [outcome(partial(causes, frame, *what, trained=31.0, look=Look("dark"), **where)) for what in asked]
    held_rows([one if isinstance(one, str) else contents(one) for one in drawn[1:2]])


def test_figures_in_multiples_and_in_items(held_rows: Held) -> None:
    frame = rows_of("majority_learned")
    found = []
    for name in ("accuracy_heatmap", "accuracy_over_length", "accuracy_over_training", "failure_length"):
        given = {"step": 240} if name in ("accuracy_over_length", "failure_length") else {}
        given |= {"length": 47} if name == "accuracy_over_training" else {}
        for span in (None, (-2.0, 4.0)):
            drawn = figure_by_name(name).plain(frame, trained=31, **given)
            found.append(contents(in_multiples(drawn, trained=31, span=span, theme="dark"))["axes"])
        found.append(contents(in_items(figure_by_name(name).plain(frame, trained=31, **given)))["axes"])
    held_rows(found)


# ---- configurations ------------------------------------------------------------------------------------
def configurations() -> Iterator[tuple[str, dict[str, Any]]]:
    two = {"a": {"flip_flop_rotary_s0": 1200, "parity_nope": 400}, "b": {"majority_learned": 240}}
    each = {"a": 32.0, "b": 62.0}
    yield "two", {"configurations": two, "trained": 32}
    yield "one", {"configurations": {"only": {"parity_nope": 600}}, "trained": 32, "look": Look("dark")}
    yield "none", {"configurations": {"none": {"nobody": 5}}, "trained": 32}
    yield "one absent", {"configurations": {**two, "c": {"nobody": 5}}, "trained": 32}
    yield "chance", {"configurations": two, "trained": 32, "trained_each": each, "chance": 0.5}
    cursor = {"step": 3, "length": 64}
    yield "times", {"configurations": two, "trained": 32, "trained_each": each, "axis": "times", "cursor": cursor}
    for shown in ("challenge", "summary", "position"):
        yield shown, {"configurations": two, "trained": 32, "shown": shown, "trained_each": each, "chance": 0.25}
    for many in (8, 9):
        yield f"{many}", {"configurations": {f"c{i}": {SIX[i % 4]: 10**i} for i in range(many)}, "trained": 32}


@pytest.mark.parametrize(("name", "given"), list(configurations()))
def test_configurations(name: str, given: dict[str, Any], held_rows: Held) -> None:
    frame = Frame.concat([rows_of(run) for run in SIX[:4]])
    own = {key: one for key, one in given.items() if key in ("configurations", "shown")}
    drawn = outcome(partial(figure_by_name("configurations_over_length").plain, frame, **given))
    rows = outcome(partial(figures.configurations_over_length.data, frame, **own))
    structures = [drawn_or_refused(drawn), rows if isinstance(rows, str) else len(rows)]
    held_rows([*structures, contents(drawn)] if name in ("two", "times", "chance") else structures)


# ---- phase diagrams -----------------------------------------------------------------------------------
@cache
def grid() -> tuple[Frame, dict[str, dict[str, Any]]]:
    """Runs of two widths and three rates, some with a second seed, of two tasks; at two steps and lengths, of two heads."""
    rows, configs = [], {}
    for index in range(14):
        run, width, rate = f"r{index:02d}", (32, 64)[index % 2], (1e-3, 3e-3, None)[index % 3]
        trained = (16, 32)[index % 4 == 3]
        task = {"name": "parity" if index != 7 else "majority", "parameters": {"k": index // 6}}
        training = {"rate": rate, "trained_length": trained, **({"compiled": {"up_to": 9}} if index == 11 else {})}
        configs[run] = {
            "task": task, "model": {"d_model": width, "layers": [1, 2], "bias": index % 2 == 0}, "training": training,
            "seeds": {"init": index // 6}, "versions": {"torch": index},
        }  # fmt: skip
        for step in (0, 40, 100 + 100 * (index % 2)):
            for length in (trained, 2 * trained + index % 2, 128):
                for head in (0, 1):
                    value = math.sin(index + step / 50 + length / 30 + head) / 2 + 0.5
                    rows.append({
                        "run": run, "step": step, "length": float(length), "layer": 0.0, "head": float(head),
                        "measurement": "m", "quantity": "some_quantity", "value": value if index != 5 else math.nan,
                        "status": "ok" if index != 4 else "undefined", "note": "", "low": None, "high": None, "n": 9,
                    })  # fmt: skip
    return Frame.of(pd.DataFrame(rows)), configs


CHANCES = {f"r{i:02d}": 0.5 if i != 7 else 0.25 for i in range(14)}
VERDICTS = {f"r{i:02d}": {0: "not fitted", 100: "scale-robust", 200: "not fitted"} for i in range(0, 14, 3)}
PHASES: Mapping[str, dict[str, Any]] = {
    "last step": {"length": 128},
    "step": {"step": 50, "length": 128},
    "first step": {"step": 0, "length": 128, "over": "max"},
    "no step": {"step": -1, "length": 128},
    "share": {"share": 0.25, "times": 2.0, "over": "min"},
    "share of more": {"share": 0.5, "length": 128, "lasts": {f"r{i:02d}": 400 for i in range(14)}},
    "multiple": {
        "times": 1.0,
        "chances": CHANCES,
        "verdicts": VERDICTS,
        "title": "a title",
        "look": Look("dark", 14),
    },
    "far multiple": {"times": 8.0, "low": 0.0, "high": 1.0, "verdicts": VERDICTS},
    "fixed": {"length": 128, "fixed": {"seeds.init": 1, "model.bias": True}, "low": 0.4},
    "equal chance": {"length": 128, "chances": dict.fromkeys(CHANCES, 0.5)},
    "nearly equal chance": {"length": 128, "chances": {**CHANCES, "r07": 0.481}},
    "just unequal chance": {"length": 128, "chances": {**CHANCES, "r07": 0.479}},
}
AXES = (
    ("model.d_model", "training.rate"),
    ("seeds.init", "origin"),
    ("task.name", "model.d_model"),
    ("training.rate", "no.such"),
)


@pytest.mark.parametrize("name", PHASES)
def test_phase_diagrams(name: str, held_rows: Held) -> None:
    frame, configs = grid()
    given, found, first = PHASES[name], [], None
    own = {key: one for key, one in given.items() if key not in ("verdicts", "title", "look", "low", "high")}
    for x, y in AXES:
        drawn = outcome(partial(figure_by_name("phase_diagram").plain, frame, configs, x=x, y=y, **given))
        first = first or drawn
        cells = outcome(partial(figures.phase_diagram.data, frame, configs, x=x, y=y, **own))
        attrs = cells.attrs if isinstance(cells, Frame) else None
        found.append([drawn_or_refused(drawn), *([] if found else [words(cells), told(attrs)])])
    held_rows(
        {"first": contents(first), "figures, rows and attributes": found} if not isinstance(first, str) else found
    )


def test_a_diagram_of_many_cells_and_of_too_many(held_rows: Held) -> None:
    frame, configs = grid()
    found = []
    for many in (14, 16, 17, 140, 142):
        more = {f"x{i}": {"task": {"name": "t"}, "training": {"a": i, "b": i % 16}} for i in range(many)}
        for x, y in (("training.a", "training.b"), ("training.a", "training.a")):
            draw = partial(figure_by_name("phase_diagram").plain, frame, {**configs, **more}, x=x, y=y, length=128)
            found.append(drawn_or_refused(outcome(draw)))
    held_rows(found)


def test_axes_of_configurations(held_rows: Held) -> None:
    _, configs = grid()
    adopted = {"adopted": {"training": {"adopted": {"x": 1}}}, "compiled": {"training": {"compiled": {"y": None}}}}
    real = {run: config_of(run) for run in SIX}
    held_rows([told(axes_of(configs | adopted)), sorted(axes_of(real)), told(settings_of(real[SIX[0]]))])


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("training.batch_size", "batch size (training)"),
        ("task.name", "task"),
        ("model.positions.name", "positions (model)"),
        ("origin", "origin"),
        ("task.parameters.k", "parameters k (task)"),
    ],
)
def test_titles_of_axes(name: str, title: str) -> None:
    assert axis_title(name) == title


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"), (True, "yes"), (False, "no"), (12345, "12,345"), (0.001, "0.001"), (1e-7, "1e-07"), ("a_b", "a b"),
        ("x" * 18, "x" * 18), ("x" * 19, "x" * 17 + "…"), ("", ""),
    ],
)  # fmt: skip
def test_values_of_axes(value: Any, text: str) -> None:
    assert value_text(value) == text


# ---- the plateau, and logs ------------------------------------------------------------------------------
def losses(step: int) -> pd.DataFrame:
    made = []
    for task, knob in (("simple", "omega"), ("mod", "p")):
        for hard in (1, 2, 4):
            for trained in (8, 16, 32):
                for seed in range(1 + hard % 3):
                    for length in (4, 8, 16, 32, 64, 128):
                        value = (
                            1 / trained + 0.1 * hard + 0.01 * ((hard * 7 + trained * 3 + seed * 5 + length) % 11) * step
                        )
                        made.append({
                            "run": f"{task}{hard}-{trained}-{seed}", "step": step, "task": task, "length": length,
                            "parameters": json.dumps({knob: hard}), "trained_high": trained, "measurement": "behaviour",
                            "quantity": "loss", "law": "matched", "value": value,
                        })  # fmt: skip
    return pd.DataFrame(made)


@pytest.mark.parametrize("step", [3])
def test_plateaus(step: int, held_rows: Held) -> None:
    frame, knobs = losses(step), {"simple": "omega", "mod": "p"}
    data = figures.loss_plateau.data(Frame.of(frame), knobs=knobs)
    figure = figures.loss_plateau(frame, knobs=knobs, look=Look("dark" if step else "light"), height=200 + step)
    held_rows([contents(figure), told(plateaus(data)), words(data), figures.plateau_sentences(data, knobs=knobs)])


def log_of(steps: int) -> Frame:
    step = np.arange(steps) * 3
    loss = np.exp(-step / 500.0) * (1 + 0.3 * np.sin(step))
    loss[5 % steps] = np.inf
    accuracy = np.where(step % 30 == 0, 1 - loss / 2, np.nan)
    return Frame({"step": step, "loss": loss, "accuracy_in": accuracy, "accuracy_out": accuracy / 2})


@pytest.mark.parametrize("steps", [1, 2, 40, 1999, 2000, 2001, 5000])
def test_training_curves(steps: int, held_rows: Held) -> None:
    frame = log_of(steps)
    draw = partial(figure_by_name("loss_over_training").plain, frame, cursor={"step": 9, "length": 4})
    drawn, rows = outcome(draw), figures.loss_over_training.data(frame)
    held_rows(
        [
            contents(drawn) if steps in (2, 40, 2001) else drawn_or_refused(drawn),
            words(rows) if steps < 2000 else len(rows),
        ]
    )


@pytest.mark.parametrize("scale", [0.0, 1e-6, 1.0, 1e4])
def test_training_curves_of_any_scale(scale: float, held_rows: Held) -> None:
    made = [
        {"step": s, "loss": scale * (10.0 ** (-s / 4)), "accuracy_in": math.nan, "accuracy_out": 0.5} for s in range(9)
    ]
    held_rows(contents(figure_by_name("loss_over_training").plain(Frame.from_rows(made)))["axes"])


def test_the_logs_of_runs_that_ship(held_rows: Held) -> None:
    found = {}
    for run in ("flip_flop_rotary_s0", "majority_learned"):
        parts = sorted((GALLERY / run / "steps").glob("*/log.parquet"))
        frame = pd.concat([pd.read_parquet(part) for part in parts])
        found[run] = words(figures.loss_over_training.data(Frame.of(frame)))
    held_rows(found)


# ---- two runs in a sentence -----------------------------------------------------------------------------
PAIRS = (
    "flip_flop_rotary_s0 and parity_nope",
    "majority_learned and flip_flop_rotary_s0",
    "parity_nope and majority_learned",
)


@pytest.mark.parametrize("axis", ["length", "times"])
@pytest.mark.parametrize("pair", PAIRS)
def test_how_two_runs_compare(pair: str, axis: Any, held_rows: Held) -> None:
    a, b = frames_of(pair)
    found, first = [], None
    for at_a in a.distinct("step").astype(int).tolist():
        for at_b in b.distinct("step").astype(int).tolist():
            where = {"step": at_a, "step_b": at_b, "trained": first_trained(pair), "trained_b": 31.0}
            made = outcome(partial(over_length_difference, a, b, axis=axis, **where))
            sentences = (
                [figures.compare_sentence(made, items=one) for one in (False, True)]
                if not isinstance(made, str)
                else []
            )
            found.append(["".join(text for text, _ in one) for one in sentences] or made)
            first = first or words(made)
    held_rows([found, first])
