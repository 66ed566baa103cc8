"""``lengthlens predict``: what is printed, and one sentence for whatever the user can mend."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.cli import output_or_error
from tests.support.places import ROOT
from workbench.cli.new_task import TEMPLATE

output = partial(output_or_error, "predict")


def test_a_task_by_default_without_and_with_positions() -> None:
    text = output("tomita_4")
    assert "tomita_4 · positions none: not expressible" in text
    assert "tomita_4 · positions learned, ids random_offset: guaranteed" in text
    assert "program   tomita_4" in text
    assert "100 / 85.4 / 84.4 %" in text


def test_another_reading_of_acceptance_is_told_where_it_changes_the_verdict() -> None:
    text = output("--regex", "(a|b)*b", "--positions", "none")
    assert "(a|b)*b · positions none: guaranteed" in text
    assert "  otherwise where acceptance may not read the last symbol, as in the class of arXiv 2608.13433: not" in text
    assert "otherwise" not in output("--regex", "(ab)*", "--positions", "none")


def test_a_regular_expression_with_its_algebra_and_program() -> None:
    text = output("--regex", "(ab|ba)*", "--positions", "none", "--program")
    assert "(ab|ba)* · positions none: guaranteed" in text
    assert "accept :=" in text
    assert "star-free yes; R-trivial no; R-omega yes" in text


def test_settings_reach_the_task_and_the_positions() -> None:
    text = output("aaaa_star", "--positions", "limit", "--set", "positions.period=2")
    assert "limit (period 2): not decided" in text
    assert "mod_p_mean" in output("mod_p_mean", "--set", "task.p=5", "--positions", "none")


def test_a_state_space_model_is_named_by_the_sign_of_its_gates() -> None:
    text = output("parity", "--architecture", "ssm-nonnegative")
    assert "parity · state-space model, nonnegative gates: not expressible" in text
    assert "91.15 / 16.7 % on trained lengths and on one range of longer lengths" in text
    assert ": expressible" in output("parity", "--architecture", "ssm-signed")
    assert "--architecture takes transformer, ssm-nonnegative, ssm-signed, rnn-elman or rnn-gru, not 'ssm'" in output(
        "parity", "--architecture", "ssm"
    )
    assert "has no position encoding" in output("parity", "--architecture", "ssm-signed", "--positions", "none")


def test_notes_that_were_not_compared_with_the_paper_say_so() -> None:
    assert "not yet compared with the paper" in output("parity", "--positions", "none")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "nothing to predict was given"),
        (("parity", "--regex", "a*"), "both a task ('parity') and --regex were given; leave one of them out"),
        (("paritty",), "did you mean parity"),
        (("parity", "--positions", "rotery"), "did you mean rotary"),
        (("--regex", "(a"), "never closed"),
        (("parity", "--alphabet", "ab"), "works only with --regex"),
        (("--regex", "a*", "--acceptance", "first"), "last or neutral"),
        (("parity", "--set", "model.layers=2"), "--set takes"),
        (("parity", "--set", "task.m=2"), "unknown parameter"),
        (("--regex", "a*", "--set", "task.n=2"), "no parameters"),
        (("parity", "--positions", "none", "--set", "positions.period=2"), "no parameter 'period'; it has none"),
    ],
)
def test_mistakes_get_one_sentence(arguments: tuple[str, ...], says: str) -> None:
    text = output(*arguments)
    assert text.startswith("error: ")
    assert says in text


def test_the_program_that_is_named_is_printed_and_where_there_is_none_that_is_said() -> None:
    text = output("majority", "--positions", "none", "--program")
    assert "program   majority\n" in text
    assert text.endswith("accept := count(Q(0)) + 1 <= count(Q(1))\n")
    assert output("parity", "--positions", "none", "--program").endswith(
        "no program is printed, because only the prediction `guaranteed` has programs\n"
    )
    assert output("needle", "--positions", "none", "--program").endswith(
        "the program is described above, but not printed\n"
    )


def test_the_automaton_of_a_task_of_a_file_is_what_is_decided(tmp_path: Path) -> None:
    file = tmp_path / "seen.py"
    file.write_text(TEMPLATE.read_text())
    text = output(f"{file}:TemplateTask", "--positions", "none", "--program")
    assert "template_task · positions none: guaranteed" in text
    assert "potentials of the minimal automaton" in text
    assert "accept := Q(a) and " in text


def test_a_program_that_is_too_deep_to_be_written_is_told_so() -> None:
    text = output("--regex", "(aaaaaaaaa|aaaaaaaaaa)*", "--positions", "none", "--program")
    assert "positions none: guaranteed" in text
    assert "the program cannot be printed: the line" in text


GALLERY = ROOT / "checkpoints" / "gallery"


def test_a_run_gives_its_task_and_model() -> None:
    text = output(str(GALLERY / "majority_nope_s0"))
    assert text == output("majority", "--positions", "none")
    refused = output(str(GALLERY / "majority_nope_s0"), "--positions", "rotary")
    assert "is a run, whose task and model are known; leave out --set, --positions, --ids and --architecture" in refused


def test_a_state_space_run_gets_the_horizon_of_its_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = json.loads((GALLERY / "majority_nope_s0" / "run.json").read_text(encoding="utf-8"))
    gates = {"architecture": "ssm", "gates": "nonnegative", "dt_min": 0.01, "dt_max": 0.01}
    training = {**config["training"], "curriculum": {"law": "uniform", "low": 1, "high": 31}}
    run = SimpleNamespace(config={**config, "model": gates, "training": training})
    monkeypatch.setattr("workbench.runs.run.Run.open", lambda folder: run)
    (tmp_path / "run.json").touch()
    text = " ".join(output(str(tmp_path)).split())
    assert "majority · state-space model, nonnegative gates" in text
    assert "a counter with one sigmoid gate that starts at 0.99, in the middle of this model's gates" in text
