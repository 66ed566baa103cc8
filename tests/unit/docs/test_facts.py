"""Sentences of docs and screens that state a fact: each is derived here from the code or the table that it is about.

A fact that stands in two places is asked of both.
"""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import typer
from dash import html

import circuits
from tests.support.dashboard.answers import texts
from tests.support.dashboard.claims import gallery  # noqa: F401 - a fixture
from tests.support.hovers import numbers
from tests.support.places import GALLERY, ROOT
from tests.support.scripts import script
from workbench.cli.listed_runs import listed_runs
from workbench.cli.main import app
from workbench.cli.run_list import run_list
from workbench.core.names import CHALLENGE
from workbench.core.thresholds import CHALLENGE_FROM, FITTED, FITTED_AT, FITTED_AT_TEXT, HORIZON
from workbench.core.verdicts import NOT_FITTED, VERDICTS
from workbench.dashboard.components.terms import TERMS
from workbench.dashboard.pages import runs as runs_page
from workbench.dashboard.pages.base import Visit
from workbench.dashboard.panels import cause_strip
from workbench.dashboard.panels.run_panels import CIRCUIT, HOW, WHY
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import default_cursor
from workbench.dashboard.state.run_description import describe_run
from workbench.dashboard.state.run_kinds import PROMPTED, TRAINED
from workbench.diagnosis.bench.bench_table import read_members
from workbench.diagnosis.bench.scoring import TARGETS, kind_of, of_group, reaches_target, share
from workbench.figures.text.diagnosis_sentence import diagnosis_sentence, plain_text
from workbench.figures.text.run_sentences import verdict_sentence
from workbench.measure.registry import make_measurement
from workbench.runs.run import Run, find_runs
from workbench.table import Table
from workbench.tasks.known_tasks import TITLES

WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
COMMAND = typer.main.get_command(app)
FROM = f"{Fraction(CHALLENGE_FROM).limit_denominator(9).numerator}N/{Fraction(CHALLENGE_FROM).limit_denominator(9).denominator}"
"""Where the challenge law is judged from, as pages write it: 8N/3."""


def text_of(page: str) -> str:
    """A page with its lines joined."""
    return " ".join((ROOT / page).read_text().split())


def sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.:;!?]) +", text)


def labels(quantity: str) -> dict[str, str]:
    """Run of the gallery -> the label of a quantity at its last step."""
    frame = Table.load(GALLERY).frame(measurement="behaviour", quantity=quantity)
    last = frame[frame["step"] == frame.groupby("run")["step"].transform("max")]
    return dict(zip(last["run"], last["label"], strict=True))


# ---- 1: how many runs ship ---------------------------------------------------------------------------
def test_pages_count_the_runs_of_the_gallery() -> None:
    every = find_runs(GALLERY)
    count, without = WORDS[len(every)], WORDS[sum(bool(run.rows_only) for run in every)].capitalize()
    assert f"The gallery in `checkpoints/gallery` holds {count} runs." in text_of("docs/built_in.md")
    assert f"{without} runs contain results but no weights" in text_of("docs/built_in.md")
    said = f"The first command lists {count} runs with their verdicts. {without} of them contain results but no weights"
    assert said in text_of("docs/first_verdict.md")


# ---- 2: a drop of accuracy is no loss ----------------------------------------------------------------
def test_no_page_calls_a_drop_of_accuracy_a_loss() -> None:
    """Of a diagnosis; elsewhere a loss is one in nats."""
    told = {
        "panels": " ".join([*(panel.about for panel in WHY), HOW["why"]]),
        "glossary": " ".join(f"{one.definition} {one.unit}" for one in make_measurement("diagnosis").spec.quantities),
        **{page: text_of(page) for page in ("docs/diagnosis.md", "docs/diagnosis_bench.md")},
    }
    calls = {name: re.findall(r".{,20}\bloss(?:es)?\b", text, re.IGNORECASE) for name, text in told.items()}
    assert {name: words for name, words in calls.items() if words} == {}


# ---- 3: how many measurements a table has ------------------------------------------------------------
def test_the_page_of_probes_counts_the_rows_of_its_table() -> None:
    rows = re.findall(r"^\| `probes\.\w+` \|", (ROOT / "docs" / "probes.md").read_text(), re.MULTILINE)
    assert f"{WORDS[len(rows)].capitalize()} measurements answer" in text_of("docs/probes.md")


# ---- 4: where shortcuts are near chance --------------------------------------------------------------
def test_what_is_near_chance_says_from_which_length_on() -> None:
    told = [(page, one) for page in ("README.md", "docs/verdict.md") for one in sentences(text_of(page))]
    near = [(page, one) for page, one in told if "near chance" in one]
    assert {page for page, _ in near} == {"README.md", "docs/verdict.md"}
    assert [one for _, one in near if FROM not in one] == []
    assert FROM in TERMS["challenge"]
    rows = Table.load(GALLERY).frame(run="flip_flop_rotary_s0", measurement="behaviour", quantity="shortcut")
    rows = rows[(rows["law"] == "challenge") & (rows["step"] == rows["step"].max())]
    judged = rows[rows["length"] >= CHALLENGE_FROM * 32]
    before = rows[(rows["length"] > 32) & (rows["length"] < CHALLENGE_FROM * 32)]
    assert judged["value"].max() < 0.55 < 0.7 < before["value"].max(), "chance is 0.5"


# ---- 5, 15: decisions that no longer hold, and files that moved --------------------------------------
def test_the_decision_on_the_challenge_law_says_what_holds_now() -> None:
    record = " ".join((DECISIONS / "test-sets.md").read_text().split())
    assert f"The challenge set is tested from {FROM} on" in record
    assert "An earlier rule tested it from 2N. Superseded." in record


DECISIONS = ROOT / "docs" / "decisions"


def test_decision_records_are_pages_that_a_newcomer_can_read() -> None:
    """At most 40, each with context, decision, consequences and status, within a page, and listed in the index."""
    records = {path.name: path.read_text() for path in DECISIONS.glob("*.md") if path.name != "index.md"}
    assert len(records) <= 40
    for name, text in records.items():
        headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
        assert headings == ["Context", "Decision", "Consequences"], name
        assert re.search(r"^Status: (in force|superseded)\.$", text, re.MULTILINE), name
        assert len(text.split()) <= 500, name
    assert set(re.findall(r"\((.*?\.md)\)", (DECISIONS / "index.md").read_text())) == set(records)


def test_decisions_name_files_that_are_there() -> None:
    """A file that moved is named where it is now."""
    text = "".join(path.read_text() for path in DECISIONS.glob("*.md"))
    named = set(re.findall(r"`((?:[\w.-]+/)+[\w.-]+\.\w+)`", text))
    roots = (ROOT, ROOT / "workbench", ROOT / "workbench" / "dashboard", ROOT / "tests", ROOT / "docs")
    assert len(named) > 3
    assert sorted(path for path in named if not any((root / path).exists() for root in roots)) == []
    bare = set(re.findall(r"`(\w+\.(?:py|js))`", text))
    tracked = {
        path.name for top in ("workbench", "docs", "tests", "circuits", "probes") for path in (ROOT / top).rglob("*")
    }
    assert sorted(name for name in bare if name not in tracked and not (ROOT / name).exists()) == []


# ---- 6: the broken variants of the compiled counter --------------------------------------------------
@pytest.mark.parametrize(
    ("run", "option"), [("majority_first_32", "--first-keys 32"), ("majority_blunt", "--up-to 32")]
)
def test_pages_give_each_broken_variant_its_verdict(run: str, option: str) -> None:
    label, ties = labels("verdict")[f"compiled/{run}"], labels("near_ties")[f"compiled/{run}"]
    (bullet,) = re.findall(
        rf"^- `{option}` (.*?)(?=^- |^$)", (ROOT / "docs" / "theory.md").read_text(), re.M | re.DOTALL
    )
    bullet = " ".join(bullet.split())
    assert f"its verdict is *{label}*" in bullet
    (both,) = re.findall(r"with two broken variants\.(.*?)runs contain results", text_of("docs/built_in.md"))
    assert f"*{label}*" in both
    if label == "scale-robust":
        assert ties == "fail"
        assert "small margins fail" in bullet
        assert "small margins fail" in both


# ---- 7: fitted, one rule -----------------------------------------------------------------------------
def test_fitted_is_stated_by_one_rule() -> None:
    written = [f"N/{round(1 / part)}" if part < 1 else "N" for part in FITTED_AT]
    assert f"{', '.join(written[:-1])} and {written[-1]}" == FITTED_AT_TEXT
    line = f"| not fitted | at {', '.join(written[:-1])} or {written[-1]} skill is shown to be below {FITTED:g} |"
    assert line in text_of("docs/verdict.md")
    assert FITTED_AT_TEXT in texts(runs_page.footer())
    assert FITTED_AT_TEXT in VERDICTS[NOT_FITTED].meaning


# ---- 8: the bench and its targets --------------------------------------------------------------------
def test_the_readme_says_of_the_bench_whether_its_target_is_missed() -> None:
    rows = read_members(ROOT / "docs" / "diagnosis_bench").values()
    first = [row for row in of_group(list(rows), "afterwards") if not kind_of(row).later]
    target = TARGETS[0]
    found = share(first, target)
    assert found.value is not None
    ended = "reached" if reaches_target(target, found) else "missed"
    said = f"in {found.hits} of {found.of} models ({found.value:.0%}; target {target.bound:.0%}, {ended})"
    assert said.replace("%", " %") in text_of("README.md")


# ---- 9: devices that were tried --------------------------------------------------------------------
def commands(group: Any = COMMAND, name: str = "") -> Iterator[tuple[str, Any]]:
    for part, command in getattr(group, "commands", {}).items():
        yield f"{name} {part}".strip(), command
        yield from commands(command, f"{name} {part}")


def test_pages_state_what_the_report_of_the_gpu_holds() -> None:
    report = json.loads((ROOT / "docs" / "device_check.json").read_text())
    measured, trust = report["measure"], text_of("docs/trust.md")
    counts = measured["cpu and device: in all"]
    agreement = f"{sum(counts.values()) - counts['differs']:,} of {sum(counts.values()):,}"
    assert agreement in trust
    assert agreement in text_of("README.md")
    assert set(counts) == {"equal", "rounding", "agrees", "differs"}, "no other label, no row of one device only"
    assert counts["differs"] == 10
    assert f"in {measured['cpu and control: in all']['differs']} of the same {sum(counts.values()):,} rows" in trust
    again = measured["device and again: in all"]
    assert set(again) == {"equal"}
    assert f"{again['equal']:,} of {again['equal']:,} rows of 4 runs" in trust
    runs = [facts for name, facts in measured.items() if name.startswith("cpu and device: ") and "rows" in facts]
    assert f"rows of {len(runs)} runs and {len(measured['cpu and device: by measurement'])} measurements" in trust
    labels = [sum(facts[name]["labels"] for facts in runs) for name in ("behaviour", "diagnosis")]
    assert not any(facts[name]["changed"] for facts in runs for name in ("behaviour", "diagnosis"))
    assert "all {} labels of behavior and all {} of diagnosis".format(*labels) in trust
    trained = [report["train"][name] for name in ("learned", "rotary", "state_space")]
    assert all(facts["device and interrupted: bit-identical"] for facts in trained)
    for key, stated in (("largest_difference_of_loss_to_step_20", 1.8e-7), ("largest_difference_of_loss", 1.8e-5)):
        assert max(facts["cpu and device"][key] for facts in trained) <= stated
    repeated = report["speed"]["repeated training"]
    assert [repeated[f"{dtype}, strict: bit-identical"] for dtype in ("float32", "bfloat16")] == [True, True]
    for setup, case in (("cuda float32", "medium"), ("cuda bfloat16", "medium"), ("cpu, 16 threads", "medium")):
        assert f"{report['speed'][setup][case]['steps_per_second']:.2g}" in trust
    assert f"{report['tests']['passed']} of {report['tests']['passed'] + report['tests']['failed']}" in trust


def test_commands_name_the_devices_that_were_tried() -> None:
    options = {name: option for name, command in commands() for option in command.params if option.name == "device"}
    assert {"train", "measure", "open", "app"} <= set(options)
    assert [name for name, option in options.items() if "never on mps" not in option.help] == []


# ---- 10: the verdict of a language model ------------------------------------------------------------
def test_the_page_of_the_small_model_gives_the_verdict_that_lists_show() -> None:
    assert f"gives this model the verdict *{labels('verdict')['small_model']}*:" in text_of("docs/small_model.md")


# ---- 11: tasks in words ----------------------------------------------------------------------------------
def test_a_task_is_shown_with_the_name_that_commands_take(gallery: Context) -> None:
    found = {run.name: run for run in find_runs(GALLERY)}
    listed = run_list(GALLERY, listed_runs(GALLERY, []))
    shown = {line["run"].text: line["task"].text for line in listed.lines}
    called = {name: run.config["task"]["name"] for name, run in found.items()}
    of_two_names = {name: task for name, task in called.items() if TITLES.get(task, task) != task}
    assert of_two_names
    for name, task in of_two_names.items():
        assert shown[name] == f"{TITLES[task]} ({task})"
        assert describe_run(gallery.store.runs()[name])[0].startswith(f"{TITLES[task]} ({task})")


# ---- 12: connections are no edges --------------------------------------------------------------------
def test_the_circuit_row_calls_connections_connections() -> None:
    assert "so these are *connections*" in text_of("docs/circuits.md")
    told = " ".join([*(panel.about for panel in CIRCUIT), HOW["circuit"]])
    assert re.findall(r"\bedges?\b", told, re.IGNORECASE) == []


# ---- 13: one signature -------------------------------------------------------------------------------
def test_the_functions_of_the_table_have_the_signature_that_is_stated() -> None:
    text = text_of("docs/circuits.md")
    stated = re.search(r"The functions in the table have one signature: `\((.*?)\)`", text)
    assert stated is not None
    names = [part.split("=")[0].strip().lstrip("*") for part in stated[1].split(",")]
    rows = re.findall(
        r"^\| `circuits\.\w+` \| (?:`(\w+)`|none) \|", (ROOT / "docs/circuits.md").read_text(), re.MULTILINE
    )
    for function in filter(None, rows):
        has = [name for name in inspect.signature(getattr(circuits, function)).parameters if name != "step"]
        assert has == [name for name in names if name], function
    without = WORDS[sum(not function for function in rows)].capitalize()
    assert f"{without} measurements have no function" in text


# ---- 14: links into the repository -------------------------------------------------------------------
@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")], ids=lambda file: file.name)
def test_links_lead_to_files_of_the_repository(page: Path) -> None:
    """Or to a page that is generated when the site is built."""
    generated = {ROOT / "docs" / name for name in ("glossary.md", "cli.md", "tasks.md")}
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists() and page.parent / link not in generated] == []


# ---- 16: what show prints ----------------------------------------------------------------------------
def test_the_sample_of_a_verdict_is_what_show_prints() -> None:
    """Written by ``python docs/shown_verdict.py``."""
    page = script("shown_verdict")
    sample = page.sample()
    for path in page.PAGES:
        assert f"```text\n{sample}```" in path.read_text(), path.name
    text = page.PAGES[-1].read_text()
    explained = re.findall(r"\*((?:first failing length|since step)[^*]+)\*: ", text)
    assert len(explained) == 2
    for phrase in explained:
        assert all(part in " ".join(sample.split()) for part in phrase.split(": ", 1))


# ---- 17: what a page of real models shows ---------------------------------------------------------------
def test_the_page_of_pretrained_models_counts_its_verdicts() -> None:
    page = (ROOT / "docs" / "pretrained.md").read_text()
    labels = re.findall(r"^\*\*([^*]+)\*\* \(prompt format", page, re.MULTILINE)
    assert len(labels) == page.count("(prompt format `") > 3
    counted = re.findall(r"\*([^*]+)\*: (\d+)", re.findall(r"^Verdicts on this page: (.*)$", page, re.MULTILINE)[0])
    assert {label: int(count) for label, count in counted} == Counter(label.lower() for label in labels)
    said = "No model here first solves a task and then fails on longer inputs."
    assert (said in page) is ("Decays in context" not in labels)


# ---- 18: a target is stated where it is said to be missed -----------------------------------------------
def test_the_page_of_diagnoses_states_its_target_with_the_count_of_its_table() -> None:
    text = text_of("docs/diagnosis.md")
    stated = re.search(
        r"Our target is the same cause in ([\d.]+) of the runs\. Fresh sequences (reach|miss) it: (\d+) of (\d+)",
        text,
    )
    assert stated is not None
    (row,) = re.findall(r"\| fresh sequences \| \d+ \| \d+ \| (\d+) of (\d+) \|", text)
    assert row == stated.groups()[2:]
    assert (stated[2] == "reach") is (int(row[0]) / int(row[1]) >= float(stated[1]))
    assert "The target was" not in text


# ---- 19: lines that install --------------------------------------------------------------------------
def test_install_lines_name_what_can_be_installed() -> None:
    """LengthLens is on no index, so that no line names it there; extras and packages are those of pyproject."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "notebooks").glob("*.py")]
    code = [file for top in ("workbench", "circuits", "probes") for file in (ROOT / top).rglob("*.py")]
    lines = {file: re.findall(r"pip install ([^`\"\n#]+)", file.read_text()) for file in [*pages, *code]}
    every = [line.strip() for found in lines.values() for line in found]
    assert len(every) >= 8
    assert [line for line in every if re.search(r"lengthlens(?!-plugin)\b", line)] == []
    named = {name for line in every for part in re.findall(r"\[([\w,]+)\]", line) for name in part.split(",")}
    assert {"dask", "notebook"} <= named <= set(extras)
    known = {re.split(r"[>=<\[]", package)[0] for packages in extras.values() for package in packages}
    for file in code:
        for line in lines[file]:
            assert set(line.split()) <= known, (file, line)


# ---- 20: one word for a state ------------------------------------------------------------------------
def test_a_verdict_that_is_undecided_is_called_so(gallery: Context) -> None:
    seen = 0
    for run in gallery.store.runs().values():
        for step, label in run.brief.verdicts.items():
            if label == "undecided" and run.kind is TRAINED:
                words = "".join(text for text, _ in verdict_sentence(run.frame, step=step, trained=run.trained))
                assert words.startswith(f"Undecided at step {step:,}")
                seen += 1
    assert seen


# ---- 24: the headline says why ------------------------------------------------------------------------
def test_the_headline_of_a_run_with_a_diagnosis_is_that_diagnosis(gallery: Context) -> None:
    seen = 0
    for run in gallery.store.runs().values():
        at = default_cursor(run)
        entries = run.frame.where(measurement="diagnosis", quantity="entry", step=at.step).rows()
        if any(row["label"] not in ("", "not explained") for row in entries):
            cause = plain_text(diagnosis_sentence(run.frame, step=at.step, longest=run.trained))
            strip = texts(html.Div(cause_strip.strip(run, at.step))).replace(" ", "")
            recovered = re.search(r"recover (\S+ \[.*?\]) of the accuracy drop", cause)
            control = re.search(r"With a wrong constant, the same edit recovers (\S+ \[.*?\])", cause)
            assert recovered is not None
            for shown in (cause.partition(". ")[0], recovered[1], *([control[1]] if control else [])):
                assert shown.replace(" ", "") in strip
            assert "is not above its controls" not in strip
            seen += 1
    assert seen >= 3


# ---- 21, 22, 23: the first sentence of Runs and its cards --------------------------------------------
def test_what_the_runs_page_says_of_all_runs_is_so_of_each(gallery: Context) -> None:
    """N differs from run to run: the sentence above the list names no number of tokens."""
    hero = runs_page.layout(gallery, Visit("/", "")).content[0].children[1]
    said = " ".join(texts(part) for part in hero.children[:-1])
    every = gallery.store.runs().values()
    assert len({run.trained for run in every if run.kind is TRAINED}) > 1
    assert numbers(said) == [str(sum(run.kind is PROMPTED for run in every))]
    assert "Each run has its own N" in said


def test_cards_promise_no_more_than_the_rule_of_their_verdict(gallery: Context) -> None:
    assert runs_page.CARDS["scale-robust"] == f"Accuracy stays high up to at least {HORIZON} \u00d7 N."
    robust = [
        run for run in gallery.store.runs().values() if run.brief.verdicts.get(run.brief.last or 0) == "scale-robust"
    ]
    assert any(run.brief.ties and run.brief.ties["label"] == "fail" for run in robust), (
        "so behaviour does not stay the same"
    )
    assert not any("no verdict" in line or "same" in line for line in runs_page.CARDS.values())
    lines = [runs_page.summary(gallery, run) for run in gallery.store.runs().values()]
    unfitted = [line for line in lines if line["verdict"] == "not fitted"]
    assert unfitted
    assert not any("no verdict" in str(value) for line in unfitted for value in line.values())


# ---- the README ------------------------------------------------------------------------------------------
def test_the_readme_has_at_most_900_words_outside_its_samples() -> None:
    prose = re.sub(r"^```.*?^```", "", (ROOT / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    assert len(re.findall(r"[^\s|]*\w[^\s|]*", prose)) <= 900


def test_the_answers_in_the_readme_are_those_of_its_run() -> None:
    text, sample = text_of("README.md"), script("shown_verdict").sample().replace("\n", " ")
    (recovered,) = re.findall(r"recover (\d\.\d\d \[\d\.\d\d, \d\.\d\d\])", sample)
    assert f"recovers {recovered} of the accuracy drop at length 128." in text
    rows = Table.load(GALLERY).frame(run="flip_flop_rotary_s0", measurement="behaviour", law="matched", step=1200)
    rows = rows[rows["quantity"] == "accuracy"].set_index("length")
    fall = rows.loc[48]
    assert (
        f"Accuracy falls from {rows.loc[32].value:.2f} at length 32, the longest trained, to "
        f"{fall.value:.2f} [{fall.low:.2f}, {fall.high:.2f}] at length 48"
    ) in text
    frame = Table.load(GALLERY).frame(run="flip_flop_rotary_s0", measurement="behaviour", quantity="verdict")
    by_step = dict(zip(frame["step"], frame["label"], strict=True))
    assert [by_step[step] for step in (70, 291, 400, 800, 1200)] == [
        "not fitted", "undecided", "undecided", "length-coupled", "length-coupled",
    ]  # fmt: skip


def test_the_diagram_in_the_readme_is_what_its_script_draws() -> None:
    pictures = script("readme_pictures")
    assert (pictures.PICTURES / pictures.DIAGRAM).read_text() == pictures.diagram()


# ---- what the interval of few distinct sequences covers ----------------------------------------------
def test_the_page_of_verdicts_says_what_the_interval_of_few_distinct_sequences_covers() -> None:
    """Its example is the small margin of the gallery; the model evaluated on each of the 4 sequences has 0.75."""
    run = Run.open(GALLERY / "majority_nope_s1")
    rows = Table.load(run.path).frame(measurement="behaviour", quantity="stratum_accuracy", step=run.steps[-1])
    cell = rows[(rows["target"] == "lead 1") & (rows["law"] == CHALLENGE) & (rows["length"] == 187)].iloc[0]
    task = run.task
    listed = task.support("challenge", 187)
    few = listed.batch.take(task.strata(listed.batch)["lead 1"].nonzero()[:, 0])
    model = run.load()
    right = task.correct(model(few.tokens), few)[:, few.index(187)]
    assert (len(few), int(right.sum()), cell["distinct"], cell["n"]) == (4, 3, 4, 128)
    page = text_of("docs/verdict.md")
    assert "has 4 sequences at length 187. A model with one error among them has accuracy 0.75" in page
    assert f"128 samples gave {cell['value']:.2f} [{cell['low']:.2f}, {cell['high']:.2f}]" in page


def test_the_page_of_circuits_states_the_stored_contributions() -> None:
    page = (ROOT / "docs" / "circuits.md").read_text()
    rows = Table.load(GALLERY / "flip_flop_rotary_s0").frame(measurement="circuits.contributions", step=1200)
    for said, quantity, head in (
        ("contribution through head L0H1, nats", "answer_logit_set", (0, 1)),
        ("log odds of their weight in L0H1, nats", "set_log_odds", (0, 1)),
        ("contribution through head L1H0, nats", "answer_logit_set", (1, 0)),
        ("log odds of their weight in L1H0, nats", "set_log_odds", (1, 0)),
    ):
        line = next(line for line in page.splitlines() if line.startswith(f"| {said} |"))
        stored = rows[(rows["quantity"] == quantity) & (rows["layer"] == head[0]) & (rows["head"] == head[1])]
        cells = [
            f"{one.value:.2f} [{one.low:.2f}, {one.high:.2f}]".replace("-", "\u2212")
            for length in (32, 256)
            for one in stored[stored["length"] == length].itertuples()
        ]
        assert line == f"| {said} | {' | '.join(cells)} |"
