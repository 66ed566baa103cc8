"""A run in the terminal, read from its table; needs no torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pandas import isna
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from workbench.cli.run_list import COLOURS
from workbench.cli.run_tables import reach_of_frame
from workbench.cli.table_text import count_of
from workbench.core.failures import isolate_errors
from workbench.core.names import CHALLENGE
from workbench.core.reach import Reach
from workbench.core.shortcut_names import BIGRAM
from workbench.core.stored_model import StoredModel
from workbench.core.thresholds import LEVEL_TEXT, UNTRAINED
from workbench.core.verdicts import LENGTH_COUPLED, NOT_FITTED, NOT_MEASURED, since
from workbench.figures.labels import all_counted, band_of, compiled_limit, estimate, span_of_lengths
from workbench.figures.rows.baselines import baseline_rows, counts_for_verdict, first_judged, predictor_rows
from workbench.figures.rows.frame import Frame
from workbench.figures.text.diagnosis_sentence import diagnosis_sentence, plain_text
from workbench.figures.text.run_sentences import verdict_sentence
from workbench.runs.run import Run, find_runs
from workbench.table import Table
from workbench.table.last_verdict import StoredVerdict
from workbench.table.run_verdicts import last_verdict_of
from workbench.tasks.known_tasks import task_label
from workbench.tasks.presented.question_limit import question_limit

UNJUDGED = "values in parentheses do not count for the verdict, because the first or last N tokens may give the "
"answer away"


def verdict_lines(root: Path) -> list[str]:
    """Return one line for each run below ``root``: its last verdict and the reason."""
    return [f"{run.name}: {_verdict_text(last, run)}" for run, last in _last_verdicts(root)]


def _verdict_text(last: StoredVerdict, run: Run) -> str:
    """The verdict sentence of a trained run; of a prompted model its verdict and what the row notes."""
    if last.measurement != "behaviour":
        return f"{last.label} at step {last.step:,}: {last.note}."
    rows = Table.load(run.path).frame(measurement="behaviour", step=last.step)
    return plain_text(verdict_sentence(rows, step=last.step, trained=run.trained_length))


def _last_verdicts(root: Path) -> list[tuple[Run, StoredVerdict]]:
    """The runs below ``root`` that have a verdict, each with its last one."""
    pairs = [(run, last_verdict_of(run.path)) for run in find_runs(root)]
    return [(run, last) for run, last in pairs if last is not None]


def why_lines(root: Path) -> list[str]:
    """Return, for each run below ``root`` that is *length-coupled* and was diagnosed, why it fails."""
    lines = []
    for run, last in _last_verdicts(root):
        rows = Table.load(run.path).frame(measurement="diagnosis", step=last.step)
        if last.label == LENGTH_COUPLED and not rows.empty:
            sentence = plain_text(diagnosis_sentence(rows, step=last.step, longest=run.trained_length))
            lines.append(f"Why {run.name}: {sentence}")
    return lines


def head(console: Console, run: Run) -> None:
    """Name, task, model and training in two lines."""
    task, model, training = (run.config[k] for k in ("task", "model", "training"))
    given = ", ".join(f"{k} {v}" for k, v in task.get("parameters", {}).items())
    question = run.config.get("facts", {}).get("question", task["name"])
    console.print(f"[bold]{escape(run.name)}[/]  {escape(question)}", highlight=False)
    stored, heads = StoredModel(model), model.get("n_heads")
    machine = f"{heads} head{'s' * (heads != 1)}"
    if stored.family is not None:
        machine = f"{stored.family.title}, {stored.variant}"
    console.print(
        f"{task_label(task['name'])}{f' ({given})' if given else ''} · {model['n_layers']} layers, {machine}, "
        f"d_model {model.get('d_model', 'unknown')} · positions {stored.positions}, ids {stored.ids} · "
        f"{training_summary(run)} · {len(run.steps)} checkpoint{'s' * (len(run.steps) != 1)}",
        style="dim",
        highlight=False,
        markup=False,
    )
    # A law that gives not simply every length alike changes what "trained" means.
    law = run.config.get("facts", {}).get("lengths", "")
    not_uniform = (training.get("curriculum") or {}).get("law") != "uniform"
    notes = [law] if law and not_uniform and not {"pretrained", "compiled"} & set(training) else []
    if fork := training.get("fork"):
        notes.append(
            f"fork: the first {fork['step']:,} steps are those of run {fork['run']}; after that it has its own "
            f"training data"
        )
    notes += [compiled_limit(training["compiled"])] if "compiled" in training else []
    notes += [run.weightless] if run.rows_only else []
    with isolate_errors(notes.append, "why training ended cannot be read"):
        notes += [f"ended early: {run.stop_reason}"] if run.stop_reason else []
    for note in notes:
        console.print(note, style="dim", highlight=False, markup=False)


def training_summary(run: Run) -> str:
    """Return on which lengths and for how many steps a run was trained, or for which lengths its weights were
    compiled.
    """
    training = run.config["training"]
    lengths = span_of_lengths((training.get("curriculum") or {}).get("low", 1), training["trained_length"])
    if "pretrained" in training:
        return f"pretrained, {question_limit(run.config)}"
    if "answers" in training:
        return f"answers of {training['answers']['model']}"
    if "compiled" in training:
        return f"compiled, with {lengths} treated as trained"
    return f"trained on {lengths}, {run.steps[-1] if run.steps else 0:,} of {training['steps']:,} steps"


def _evaluated(rows: Any, fewest: int) -> str:
    """How many sequences of each length are behind a verdict.

    Args:
        rows: the rows of behaviour at one step.
        fewest: ``n`` of the verdict: of the lengths at which sequences are drawn, or else of those judged.
    """
    accuracies = rows[(rows["quantity"] == "accuracy") & (rows["mode"] == "teacher_forced")]
    exact = accuracies["note"].map(lambda note: bool(all_counted(note)))
    if not exact.any():
        return f"at least {fewest} sequences per length"
    if (accuracies[~exact]["n"] == fewest).any():
        return f"at least {fewest} sequences per length, or all where there are few"
    if exact.all():
        return "all sequences of each tested length"
    return "all sequences of each length that the verdict rests on"


def verdict(console: Console, rows: Any, step: int, trained: int, folder: Path | None = None) -> None:
    """The verdict sentence of the Run page, how far lengths were tested, where each test set fails, and reach."""
    found = rows[rows["quantity"] == "verdict"].iloc[0]
    word, *rest = verdict_sentence(rows, step=step, trained=trained)
    colour = COLOURS.get(found["label"], "default")
    console.print(f"\n[bold {colour}]{escape(word[0])}[/]{escape(plain_text(rest))}", highlight=False)
    if not isna(found["length"]):
        reason = f"; reason: {found['reason']}" if found["reason"] else ""
        tested = f"tested up to length {int(found['length']):,}, {_evaluated(rows, int(found['n']))}{reason}"
        console.print(f"  {tested}", highlight=False, markup=False)
    if found["label"] != NOT_FITTED:  # else a length at which untrained skill is lost means nothing
        _failing_lengths(console, rows, step, trained)
    console.print(f"  {reach_text(reach_of_frame(rows, trained), folder)}", highlight=False, markup=False)


def _failing_lengths(console: Console, rows: Any, step: int, trained: int) -> None:
    ends = rows[(rows["quantity"] == "failure_length") & (rows["status"] != "undefined")]
    for row in ends.itertuples():
        start = first_judged(Frame.of(rows), CHALLENGE, trained, step) if row.law == CHALLENGE else None
        since_when = "" if start is None else f"; tested from length {int(start):,}"
        first = f"first failing length, {row.law} test set: {failure(row)}{since_when}"
        console.print(f"  {first}", highlight=False, markup=False)


def reach_text(reach: Reach, folder: Path | None) -> str:
    """Return a line with reach and its interval, or why it has no value and the command that may give it one.

    Args:
        reach: of one checkpoint.
        folder: the run as the user typed it; None if its weights are not here.
    """
    if reach.value is None:
        command = f"lengthlens measure {folder} --only behaviour"
        measure = "" if folder is None else f"; {command} measures it if the model can read that length"
        return f"reach: no value, because {reach.reason}{measure}"
    lengths = ", ".join(f"{n:,}" for n in reach.lengths[:-1]) + f" and {reach.lengths[-1]:,}"
    many = "all sequences counted"
    if reach.n is not None:
        many = "n = " + " to ".join(f"{n:,}" for n in dict.fromkeys(reach.n)) + " each"
    value = estimate(reach.value, reach.low, reach.high)
    return f"reach: {value} (mean skill at lengths {lengths}, each clipped to 0..1, matched test set, {many})"


def failure(row: Any) -> str:
    """Return the range of lengths in which accuracy first fails, or the longest length if all lengths pass."""
    note = f" ({row.note})" if row.note and row.status != "censored" else ""
    if row.status != "censored":
        return f"{int(row.low) + 1:,} to {int(row.high):,}{note}"
    tested = row.low if isna(row.length) else row.length
    kept = "" if tested == row.low else f"; every tested length up to {int(row.low):,} passes"
    return f"none up to {int(tested):,}{kept}"


def print_verdict_onset(console: Console, rows: Any, step: int) -> None:
    """Print since which checkpoint the verdict holds."""
    verdicts = rows[(rows["quantity"] == "verdict") & (rows["step"] <= step)].sort_values("step")
    began = since(dict(zip(verdicts["step"], verdicts["label"], strict=True)))
    if began is not None and verdicts["label"].iloc[-1] != NOT_FITTED:
        console.print(f"  {began}", highlight=False, markup=False)


def why(console: Console, rows: Any, step: int, trained: int) -> None:
    """Print why the model fails beyond N and which intervention recovers accuracy, if this was measured."""
    if not rows.empty and (rows["step"] == step).any():
        sentence = plain_text(diagnosis_sentence(rows, step=step, longest=trained))
        console.print(f"  {sentence}", highlight=False, markup=False)


def when_decided(console: Console, run: Run, folder: Path) -> None:
    """Print when the reach of runs of this kind is decided, by the determinacy study, and the command that forks it.

    Args:
        console: prints.
        run: the run; nothing is printed for a run that was not trained here, or is itself a fork.
        folder: the run as the user typed it.
    """
    from workbench.claims.determinacy.of_run import determinacy_of_kind, fork_steps

    if not run.trained_here or "fork" in run.config["training"] or not run.steps:
        return
    kind = determinacy_of_kind(run.config)
    what = "not known for this kind of run" if kind is None else kind.sentence
    forks = ",".join(map(str, fork_steps(run.steps)))
    line = f"when decided: {what}; fork it: lengthlens fork {folder} --at {forks} --children 3"
    console.print(f"  {line}", highlight=False, markup=False)


def behaviour(rows: Any, trained: int) -> Grid:
    """Return a table of accuracy by prefix length on both test sets, with intervals and baselines.

    A language model stands next to the table ``bigram`` of its training text on the matched test set.
    """
    grid = Grid(
        box=None, pad_edge=False, title_justify="left", title=f"\nBehaviour over prefix length, {LEVEL_TEXT} intervals"
    )
    frame = Frame.of(rows)
    predictor = _by_length(predictor_rows(frame, "length"))
    for name in ("length", "", "matched", BIGRAM if predictor else "chance", "challenge", "shortcut"):
        # In a narrow terminal, cells with an interval or a note break into lines before any cell is cut.
        grid.add_column(name, justify="left" if name == "" else "right", no_wrap=name not in ("matched", CHALLENGE))
    baselines = [_by_length(baseline_rows(frame, law, "length")) for law in ("matched", CHALLENGE)]
    if predictor:
        baselines[0] = {n: predictor.get(n, f"{value} chance") for n, value in baselines[0].items()}
    unjudged = False
    for length in sorted(rows.loc[rows["quantity"] == "accuracy", "length"].dropna().unique()):
        here = rows[rows["length"] == length]
        mark = "trained" if length <= trained else f"{length / trained:.1f} × N"
        mark = "shorter" if here["note"].str.startswith(UNTRAINED).any() else mark
        chance, shortcut = (known.get(length, "–") for known in baselines)
        cells = [_accuracy(here, law) for law in ("matched", CHALLENGE)]
        if length > trained and cells[1] != "–" and not counts_for_verdict(CHALLENGE, length, trained):
            cells[1], unjudged = f"({cells[1]})", True
        grid.add_row(f"{int(length):,}", mark, cells[0], chance, cells[1], shortcut)
    captions = [UNJUDGED] if unjudged else []
    if (rows["quantity"] == "token_accuracy").any():
        captions.append("Accuracy: whole answers right. An answer is right only if all its tokens are.")
    if counts := [*filter(None, map(all_counted, rows.loc[rows["quantity"] == "accuracy", "note"]))]:
        total = count_of(int(counts[-1].split()[1]), "sequence")
        captions.append(f"{_short(counts[-1])}: the test set has {total}, and each was evaluated")
    if captions:
        grid.caption, grid.caption_justify = "\n".join(captions), "left"
    return grid


def _short(counted: str) -> str:
    """``all 16`` for ``all 16 sequences``: two columns of it fit into 80 characters."""
    return counted.partition(" sequence")[0]


def _by_length(rows: Frame) -> dict[float, str]:
    """The values of a baseline, by length."""
    return {float(row["length"]): f"{row['value']:.2f}" for row in rows.rows()}


def _accuracy(rows: Any, law: str) -> str:
    found = rows[(rows["quantity"] == "accuracy") & (rows["law"] == law)]
    if found.empty:
        return "–"
    row = found.iloc[0]
    unseen = " unseen" if row["status"] == "unseen_position" else ""
    limits = escape(_short(all_counted(row["note"])) or str(row["note"]))
    if not isna(row["low"]):
        band = band_of(row["note"])
        limits = f"\\[{row['low']:.2f}, {row['high']:.2f}]{f' at {escape(band)}' if band else ''}"
    return f"{row['value']:.3f} {limits}{unseen}"


def steps(rows: Any, run: Run) -> Grid:
    """Return a table of the verdict at every checkpoint, with the test set if the accuracies in the row are from
    another.
    """
    title = "\nOver training, accuracies on the matched test set"
    grid = Grid(box=None, pad_edge=False, title_justify="left", title=title)
    longest, horizon = run.trained_length, rows["length"].max()
    for name in ("step", "verdict", f"accuracy at {longest}", f"at {int(horizon):,}"):
        grid.add_column(name, justify="left" if name == "verdict" else "right")
    verdicts = rows[rows["quantity"] == "verdict"].set_index("step")
    accuracy = rows[(rows["quantity"] == "accuracy") & (rows["law"] == "matched")]
    by = accuracy.set_index(["step", "length"])["value"]
    for step in run.steps:
        label, reason = verdicts.loc[step, ["label", "reason"]] if step in verdicts.index else (NOT_MEASURED, "")
        further = f", {reason}" if reason else ""
        if label == LENGTH_COUPLED and _decided_by(rows[rows["step"] == step]) == CHALLENGE:
            further += f", {CHALLENGE} test set"
        values = [by.get((step, n)) for n in (longest, horizon)]
        shown = ["–" if v is None else f"{v:.2f}" for v in values]
        grid.add_row(f"{step:,}", f"[{COLOURS.get(label, 'default')}]{escape(label)}[/]{escape(further)}", *shown)
    return grid


def _decided_by(rows: Any) -> str:
    """The test set on which skill is lost first, of behaviour at one step; empty where it is lost on none."""
    lost = rows[(rows["quantity"] == "failure_length") & rows["value"].notna()].sort_values("value", kind="stable")
    return "" if lost.empty else str(lost["law"].iloc[0])
