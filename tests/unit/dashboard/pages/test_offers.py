"""What pages offer and say: to measure where that helps, what was asked of published runs, where weights come from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.dashboard.answers import texts
from workbench.dashboard import measure_now
from workbench.dashboard.components import measure_button, prose
from workbench.dashboard.pages import theory
from workbench.dashboard.panels import panel_frame
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import default_cursor
from workbench.dashboard.state.run_description import origin
from workbench.dashboard.state.run_view import Kept
from workbench.figures import NotApplicable, NotMeasured, Undefined
from workbench.figures.rows.frame import Frame
from workbench.tasks.source_code import NOT_RUN

A = "majority-nope-s0"


def test_further_strings_are_asked_for_at_one_checkpoint(answers: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(answers.measurer, "submit", lambda *given, **more: asked.append(given) or "key")
    for step in ("77", "x", "1e3"):
        assert measure_now.ask(answers, {"run": A, "only": "behaviour", "step": step}) is None
    assert measure_now.ask(answers, {"run": A, "only": "behaviour", "step": "1000"}) is not None
    ((_, arguments),) = asked
    assert (arguments["only"], arguments["deepen_at"]) == (["behaviour"], 1000)
    made = measure_button.button(A, "behaviour", deepen_at=1000).to_plotly_json()["props"]
    assert (made["data-measure"], made["data-measure-step"]) == ("behaviour", "1000")


def test_measure_now_stands_where_strings_would_decide_and_nowhere_else(answers: Context) -> None:
    run = answers.store.run(A)
    assert run is not None
    place = default_cursor(run)
    assert "Measure now" not in texts(prose.verdict(run, place))
    rows = run.frame.to_pandas()
    rows["reason"] = ""
    rows["note"] = rows["note"].astype(object)
    here = (rows["quantity"] == "verdict") & (rows["step"] == place.step)
    for reason, note, offers in (
        ("too few strings", "skill 1.000 [0.790, 1.000] at trained length 50; 2,048 strings would decide", True),
        ("too few strings", "skill 0.940 [0.900, 0.970]; at this share 4,096 strings would not decide", False),
        ("at the bar", "skill 0.951 [0.944, 0.957], the bar is 0.95", False),
        ("at the bar", "skill 0.951 [0.944, 0.957]; no number of strings would decide", False),
    ):
        rows.loc[here, ["reason", "note"]] = [reason, note]
        kept = Kept()
        kept.frames((run.name, run.signature), lambda: Frame.of(rows))
        assert ("Measure now" in texts(prose.verdict(replace(run, kept=kept), place))) is offers


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ({"compiled": {"program": "majority"}}, "compiled from a program and never trained"),
        ({"adopted": {}}, "adopted from another training loop"),
        ({"pretrained": {}}, "trained elsewhere"),
        ({}, "Nothing is logged yet"),
    ],
)
def test_a_missing_training_log_offers_no_measurement(answers: Context, made: dict[str, Any], words: str) -> None:
    run = answers.store.run(A)
    assert run is not None
    config = {**run.config, "training": {**run.config["training"], **made}}
    other = replace(run, run=replace(run.run, config=config), kept=Kept())
    state = panel_frame.without_rows(NotMeasured("training", "The log of this run is empty."), other)
    assert words in texts(state)
    assert "Measure now" not in texts(state)
    assert "lengthlens measure" not in texts(state), "no such measurement exists"


def test_of_a_custom_task_every_way_names_its_file(answers: Context) -> None:
    known = answers.store.run(A)
    assert known is not None
    source = {"file": "/my own/parity.py", "class": "Mine", "sha256": "0" * 64}
    config = {**known.config, "task": {"name": "mine", "parameters": {}, "source": source}}
    run, option = replace(known, run=replace(known.run, config=config)), " --trust-code '/my own/parity.py'"
    state = texts(panel_frame.not_measured("probes.summary", "No rows.", run))
    assert f"lengthlens measure {run.typed_path} --only probes.{option}" in state
    assert option.strip() in texts(prose.theory(run, 1000, {"verdict": "", "reason": NOT_RUN}))
    assert "--trust-code" not in texts(panel_frame.not_measured("probes.summary", "No rows.", known))


def test_a_panel_offers_to_measure_only_what_measuring_makes(answers: Context) -> None:
    run = answers.store.run(A)
    assert run is not None
    states = {
        NotMeasured("circuits.hardmax", "No rows."): ("Not measured yet", True),
        NotMeasured("circuits.hardmax", "It looks at 5.", helps=False): ("Not measured here", False),
        Undefined("circuits.hardmax", "One class only."): ("Undefined here", False),
        NotApplicable("circuits.hardmax", "No attention."): ("Does not apply here", False),
    }
    for error, (head, offers) in states.items():
        said = texts(panel_frame.without_rows(error, run))
        assert head in said
        assert error.message in said
        assert ("Measure now" in said) is offers


def test_published_accuracies_name_what_was_asked(answers: Context) -> None:
    run = answers.store.run(A)
    assert run is not None
    one = {
        "accuracy": (100, 16.45, 0), "where": "on trained lengths and two bins beyond", "source": "a paper",
        "asked": "the symbols that may come next", "ask": "next",
    }  # fmt: skip
    assert theory.published_accuracy(run, one) == (
        "1.00 / 0.16 / 0.00 of sequences correct at every position, on trained lengths and two bins beyond; "
        "predicted: the symbols that may come next (a paper)"
    )
    member = {**run.config, "task": {"name": "tomita", "parameters": {"n": 4, "ask": "member"}}}
    other = replace(run, run=replace(run.run, config=member))
    assert "; this run predicts member (a paper)" in theory.published_accuracy(other, one)
    assert "this run" not in theory.published_accuracy(other, one | {"ask": "member"})


def test_a_compiled_run_is_not_said_to_be_trained(answers: Context) -> None:
    run = answers.store.run(A)
    assert run is not None
    assert origin(run) == "trained on lengths 1 to 50"

    def compiled(**options: Any) -> str:
        training = {**run.config["training"], "compiled": {"program": "majority", "log_scaled": False, **options}}
        return origin(replace(run, run=replace(run.run, config={**run.config, "training": training})))

    assert compiled(up_to=1024, first_keys=None) == (
        "compiled from the program majority, not trained; its weights are made for lengths up to 1,024"
    )
    assert compiled(up_to=1024, first_keys=32) == (
        "compiled from the program majority, not trained; a broken variant that sees only its first 32 keys"
    )
