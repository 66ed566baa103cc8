"""Seeds together: one line per configuration, and what stands on it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, get_args

import pytest

from workbench.core.verdicts import STRATA, StratumLabel
from workbench.dashboard.components.slider_curves import scent_over_lengths, scent_over_steps
from workbench.dashboard.pages.runs import lines
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.theory_lookup import Expectations
from workbench.dashboard.server.worker import Job
from workbench.dashboard.state.filters import TIES, Filters, read_filters, write_filters
from workbench.dashboard.state.run_summary import summarise
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.seed_groups import line, shared_name
from workbench.dashboard.state.theory_match import PREDICTIONS, compare_with_observed, subject
from workbench.theory.prediction.known_maps import Verdict as PredictionLabel


def weaker(run: RunView, by: float, verdict: str) -> RunView:
    """The run again as another seed, its accuracies lower and its last verdict another."""
    accuracy = tuple({**row, "value": row["value"] - by} for row in run.brief.accuracy)
    verdicts = {**run.brief.verdicts, run.brief.last: verdict}
    return replace(run, brief=replace(run.brief, accuracy=accuracy, verdicts=verdicts))


def test_a_configuration_says_medians_and_the_range_of_its_seeds(robust: RunView) -> None:
    runs = [robust, weaker(robust, 0.1, "length-coupled"), weaker(robust, 0.3, "length-coupled")]
    made = line(runs, [summarise(run) for run in runs])
    best = robust.brief.accuracy[-1]["value"]
    assert (made["verdict"], made["of"], made["seeds"]) == ("length-coupled", "2 of 3", 3)
    assert made["longest"] == pytest.approx(best - 0.1)
    assert made["longestInterval"] == f"{best - 0.3:.2f} to {best:.2f}"
    assert [one["slug"] for one in made["ticks"]] == ["scale-robust", "length-coupled", "length-coupled"]
    matched = made["strip"][0].split(";")
    at_end = next(cell for cell in reversed(matched) if cell)
    length = robust.brief.accuracy[-1]["length"]
    assert at_end == f"{length}|{best - 0.1:.2f}|{best - 0.3:.2f} {best:.2f}|3", "median, lowest, highest, number"
    assert (made["stripMembers"], made["stripChance"]) == ("seeds", 0.5)
    assert (made["since"], made["sinceText"]) == (1000, "1,000 to 3,000")
    apart = [summarise(run) | {"since": since} for run, since in zip(runs, (291, 800, 90), strict=True)]
    assert line(runs[:2], apart[:2])["sinceText"] == "291 to 800", "never step 545.5"
    made = line(runs, apart)
    assert (made["since"], made["sinceText"]) == (90, "90 to 800")
    assert made["href"].startswith("/compare?run=majority-nope-s0&run2=")


def test_where_an_answer_is_several_tokens_the_tooltip_names_both_shares(robust: RunView) -> None:
    last = robust.brief.accuracy[-1]
    estimate = f"{last['value']:.2f} [{last['low']:.2f}, {last['high']:.2f}]"
    tokens = {int(last["length"]): 0.76}
    several = replace(robust, brief=replace(robust.brief, tokens=tokens))
    assert summarise(several)["longestTitle"] == f"whole answers right: {estimate} (0.76 of tokens)"
    assert summarise(robust)["longestTitle"] == ""
    runs = [several, several]
    made = line(runs, [summarise(run) for run in runs])
    assert made["longestTitle"] == f"whole answers right: {last['value']:.2f}, the median of seeds (0.76 of tokens)"
    assert line([robust, robust], [summarise(robust)] * 2)["longestTitle"] == ""


def test_one_seed_keeps_its_line(robust: RunView) -> None:
    alone = summarise(robust)
    assert line([robust], [alone]) == alone | {"of": "1 of 1"}


def test_seeds_share_the_beginning_of_their_names() -> None:
    assert shared_name(["majority_nope_s0", "majority_nope_s1"]) == "majority_nope"
    assert shared_name(["a/run-000", "a/run-001"]) == "a/run"
    assert shared_name(["x", "y"]) == "x"


def test_the_link_says_whether_seeds_stand_together(answers: Context) -> None:
    filters, notices = read_filters("?task=majority&seeds=1")
    assert (filters.seeds, notices) == ("1", [])
    assert write_filters(filters) == "/?task=majority&seeds=1"
    assert read_filters("?seeds=<b>")[0].seeds == ""
    rows = lines(answers, Filters(seeds="1"))["rows"]
    assert {row["of"] for row in rows} == {"1 of 1"}, "no two runs here differ in their seeds alone"


def test_behind_the_sliders_of_compare_stand_both_runs(answers: Context, robust: RunView) -> None:
    other = answers.store.run("flip_flop-rotary-s0")
    for scent, at in ((scent_over_steps, 100), (scent_over_lengths, 3000)):
        alone, both = scent(robust, at)["maskImage"], scent(robust, at, other)["maskImage"]
        assert both.startswith(alone + ", url(")
        assert "stroke-dasharray" in both.removeprefix(alone)
        assert "stroke-dasharray" not in alone


class Asked:
    """A worker that answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.answer: Job | None = None
        self.cancelled: list[str] = []

    def submit(self, function: str, arguments: dict[str, Any]) -> str:
        assert function == "workbench.theory.prediction.as_data:describe_all"
        self.asked.append(arguments)
        return str(len(self.asked))

    def job(self, key: str) -> Job:
        """As told, or what theory would say of the one subject that the job is about."""
        (subject,) = self.asked[int(key) - 1]["subjects"]
        return self.answer or Job(state="done", result=[{"verdict": subject["task"], "theorem": "", "reason": ""}])

    def cancel(self, key: str) -> None:
        self.cancelled.append(key)


def test_theory_is_asked_once_for_all_runs(answers: Context) -> None:
    runs, worker = list(answers.store.runs().values()), Asked()
    expectations = Expectations(worker)  # type: ignore[arg-type]
    worker.answer = Job()
    for _ in range(3):
        assert set(expectations.of(runs).values()) == {None}
    assert len(worker.asked) == 3, "each subject once, by itself"
    worker.answer = None
    said = expectations.of(runs)
    assert all(said[run.name] == {"verdict": run.task, "theorem": "", "reason": ""} for run in runs)
    assert expectations.stored_prediction(runs[0]) == said[runs[0].name]


def test_a_worker_that_fails_leaves_no_claim_and_nobody_waiting(answers: Context) -> None:
    runs, worker = list(answers.store.runs().values()), Asked()
    expectations = Expectations(worker)  # type: ignore[arg-type]
    worker.answer = Job()
    expectations.of(runs)
    worker.answer = Job(state="failed", error="it died")
    assert all(said == {"verdict": ""} for said in expectations.of(runs).values())


def test_a_subject_that_takes_too_long_is_given_up_alone(answers: Context, monkeypatch) -> None:
    runs, worker = list(answers.store.runs().values()), Asked()
    expectations = Expectations(worker)  # type: ignore[arg-type]
    slow = json.dumps(subject(runs[0]), sort_keys=True)
    jobs = {True: Job(state="running", started=-1e9), False: Job(state="done", result=[{"verdict": "guaranteed"}])}
    monkeypatch.setattr(worker, "job", lambda key: jobs[worker.asked[int(key) - 1]["subjects"] == [json.loads(slow)]])
    expectations.of(runs)
    said = expectations.of(runs)
    assert len(worker.cancelled) == 1
    assert {name for name, one in said.items() if one is None} == {runs[0].name}
    jobs[True] = Job(state="cancelled")
    assert expectations.of(runs)[runs[0].name] == {"verdict": ""}


@pytest.mark.parametrize(
    ("expected", "observed", "said"),
    [
        ("guaranteed", "scale-robust", "as observed"),
        ("guaranteed", "length-coupled", "≠ observed"),
        ("not expressible", "length-coupled", "as observed"),
        ("not expressible", "scale-robust", "≠ observed"),
        ("open", "scale-robust", "no claim"),
        ("guaranteed", "not fitted", "no evidence"),
        ("not expressible", "undecided", "no evidence"),
    ],
)
def test_what_never_learned_the_task_speaks_for_no_theory(expected: str, observed: str, said: str) -> None:
    assert compare_with_observed(expected, observed) == said


@pytest.mark.parametrize(("expected", "said"), [
    ("guaranteed", "no evidence"), ("not expressible", "≠ observed"), ("open", "no claim"),
])  # fmt: skip
def test_compiled_weights_are_no_evidence_about_training(expected: str, said: str) -> None:
    assert compare_with_observed(expected, "scale-robust", trained=False) == said


def test_every_prediction_has_its_words_and_every_label_of_hard_inputs_too() -> None:
    assert set(PREDICTIONS) == set(get_args(PredictionLabel))
    assert set(STRATA) == set(get_args(StratumLabel)) == set(TIES)


def test_theory_describes_many_subjects_and_none_it_does_not_know() -> None:
    from workbench.theory.prediction.as_data import describe_all

    known = {"task": "majority", "parameters": {}, "positions": {"name": "none"}}
    found = describe_all([known, {**known, "task": "of no version"}])
    assert found[0]["verdict"] == "guaranteed"
    assert found[1] == {"verdict": "", "theorem": "", "reason": ""}
