"""The published datasets: the tables of claims, of their runs, of the diagnosis bench, and of the determinacy study."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import workbench
from workbench.core.errors import quoted_value
from workbench.core.reach import REACH_MULTIPLES
from workbench.core.suggest import nearest
from workbench.core.thresholds import LEVEL_TEXT
from workbench.datasets.dataset import Column, Dataset, DatasetError

_PACKAGE = Path(workbench.__file__).parent
LOW, HIGH = f"lower end of the {LEVEL_TEXT} interval", f"upper end of the {LEVEL_TEXT} interval"


def _claims(file: str) -> Path:
    from workbench.claims.published import published_folder

    return published_folder() / file


def _bench() -> Path:
    places = (_PACKAGE / "published_bench", _PACKAGE.parent / "docs" / "diagnosis_bench")
    return next((place for place in places if place.is_dir()), places[-1]) / "members.parquet"


def _determinacy(file: str) -> Path:
    return _PACKAGE / "claims" / "determinacy" / file


def _skills(unit: str) -> tuple[Column, ...]:
    return tuple(
        Column(f"skill_{multiple:g}", "number", "skill", f"skill at {multiple:g} {unit}")
        for multiple in REACH_MULTIPLES
    )


_CELL = Column("cell", "text", "", "kind of run: task and position encoding")
_SOLVES = Column("solves", "number", "skill", "smallest skill at a trained length, at the end of training")
_REACH = Column("reach", "number", "skill", "mean skill at lengths beyond N; negative skill counts as 0")
SKILL = (
    "Skill is accuracy rescaled, so that 0 is the best constant answer and 1 is always right. N is the longest trained "
    "length."
)

CLAIMS = Dataset(
    "claims",
    "Claims of papers, with verdicts",
    "Each row is one claim of a paper, or a question of our own. It contains the claim, the condition under which it "
    "holds, the verdict, and the numbers from which the verdict follows.",
    "`lengthlens reproduce` computes each claim: exactly, or by training runs with several seeds. The verdict follows "
    "from the numbers by a fixed rule. The text columns are stored as they were written for the program. The pages of "
    "the claims contain the same facts in full sentences.",
    "lengthlens reproduce all",
    "claims/index.md",
    lambda: _claims("claims.parquet"),
    (
        Column("claim", "text", "", "id of the claim"),
        Column("suite", "text", "", "suite of claims to which it belongs"),
        Column("kind", "text", "", "`E` for an exact computation, `T` for trained runs"),
        Column("source", "text", "", "paper and place of the claim"),
        Column("prediction", "text", "", "what the paper predicts"),
        Column("statistic", "text", "", "number that is compared with the prediction"),
        Column("holds_if", "text", "", "condition under which the claim holds"),
        Column("observation", "text", "", "observed numbers in words"),
        Column("verdict", "text", "", "whether the claim holds"),
        Column("scale", "text", "", "how far the scale differs from that of the paper, if it does"),
        Column("low", "number", "unit of the statistic", "lower end of the observed range"),
        Column("high", "number", "unit of the statistic", "upper end of the observed range"),
        Column("share_low", "number", "share of seeds", f"{LOW} of the share on the claim's side, exact"),
        Column("share_high", "number", "share of seeds", f"{HIGH} of the share on the claim's side, exact"),
        Column("seeds", "whole", "seeds", "number of seeds"),
        Column("fitted", "whole", "seeds", "seeds whose run solves the trained lengths"),
        Column("on_side", "whole", "seeds", "seeds on the claim's side"),
        Column("of_seeds", "whole", "seeds", "seeds of which `on_side` counts some"),
        Column("needs", "whole", "seeds", "seeds on the claim's side that the verdict needs"),
        Column("settings_tried", "whole", "settings", "training recipes that were tried"),
        Column("version", "whole", "version", "version of the computation of the claim"),
        Column("rule", "whole", "version", "version of the rule of the verdict"),
        Column("why", "text", "", "reason for the verdict"),
        Column("cause", "text", "", "cause of a claim that fails or is not decided"),
        Column("rows", "text", "", "address of the function that computes `reduced`"),
        Column("note", "text", "", "remark on the claim"),
        Column("computed", "text", "", "day on which it was computed, in UTC"),
        Column("program", "text", "", "version of LengthLens that computed it"),
        Column("complete", "yes/no", "", "whether all numbers that the claim needs exist"),
        Column("reduced", "rows", "", "the numbers from which the verdict follows; see below"),
    ),
    (
        Column("quantity", "text", "", "what the number is a value of"),
        Column("item", "text", "", "setting of the claim"),
        Column("value", "number", "unit of the quantity", "the number"),
        Column("low", "number", "unit of the quantity", LOW),
        Column("high", "number", "unit of the quantity", HIGH),
        Column("expected", "number", "unit of the quantity", "value that the claim states, if it states one"),
        Column("n", "whole", "sequences, draws or cases", "number of cases behind the value"),
        Column("run", "text", "", "id of the run, if there is one"),
        Column("step", "whole", "training steps", "checkpoint; -1 without one"),
        Column("seed", "whole", "seed", "seed of the run"),
        Column("fitted", "yes/no", "", "whether the run solves its trained lengths"),
        Column("entered", "whole", "runs", "runs, pairs or cells that enter a number about several runs"),
        Column("planned", "whole", "runs", "runs that would enter if all solved the trained lengths"),
        Column("floor", "number", "share", "share of right answers at which the value is 0"),
        Column("freedom", "number", "degrees of freedom", "degrees of freedom of the spread over seeds"),
        Column("fewest", "whole", "seeds", "seeds that entered from the cell with the fewest"),
        Column("each", "numbers", "unit of the quantity", "value of each pair of a difference that is paired by seed"),
    ),
    sealed=True,
)

CLAIM_RUNS = Dataset(
    "claim-runs",
    "Runs behind the claims",
    "Each row is one measured number of one trained run of a claim. The verdicts of trained claims follow from these "
    f"numbers. {SKILL}",
    "`lengthlens reproduce` trained each run from its recipe, measured it and stored the reduced numbers. The weights "
    "are not part of the dataset. The recipe is enough to train the run again.",
    "lengthlens reproduce all",
    "claims/index.md",
    lambda: _claims("runs.parquet"),
    (
        Column("recipe", "text", "", "settings from which the run is made"),
        Column("run", "text", "", "id of the run"),
        Column("step", "whole", "training steps", "checkpoint"),
        Column("cell", "text", "", "kind of run"),
        Column("seed", "whole", "seed", "seed of weights and data"),
        Column("asked", "text", "", "measurement and its settings"),
        Column("version", "whole", "version", "version of the measurement"),
        Column("quantity", "text", "", "what the number is a value of"),
        Column("setting", "text", "", "test set, task parameters or component; empty for the usual one"),
        Column("length", "whole", "tokens", "prefix length; -1 for several lengths"),
        Column("value", "number", "unit of the quantity", "the number; missing if there is only a label"),
        Column("low", "number", "unit of the quantity", f"{LOW} over sequences"),
        Column("high", "number", "unit of the quantity", f"{HIGH} over sequences"),
        Column("n", "whole", "sequences", "number of sequences"),
        Column("spread", "number", "unit of the quantity", "standard deviation over sequences"),
        Column("label", "text", "", "value of what is not a number"),
    ),
    sealed=True,
)

BENCH = Dataset(
    "diagnosis-bench",
    "Diagnoses of models with planted causes",
    "Each row is one small model, most of them with a planted flaw, and what the diagnosis says about the model. A "
    "flaw makes the model fail beyond N, the longest trained length. n is the length at which the model is diagnosed.",
    "Each model was drawn from a seed. The strength of its flaw was chosen by the accuracy drop only. The flaw was "
    "checked by removing it. Then the model was diagnosed. `numbers` is enough to build the model again.",
    "make diagnosis-bench",
    "diagnosis_bench.md",
    _bench,
    (
        Column("kind", "text", "", "kind of planted flaw"),
        Column("group", "text", "", "`first`, `second` or `afterwards`: the part of the bench"),
        Column("numbers", "text", "", "all numbers of the model, as JSON"),
        Column("planted", "text", "", "numbers of the flaw, as JSON"),
        Column("thrown_out", "text", "", "why the member is excluded; empty if it passes the check"),
        Column("entry", "text", "", "diagnosed cause; empty if accuracy drops too little"),
        Column("grade", "text", "", "`strong`, `partly` or `none`: how much of the drop the cause accounts for"),
        Column("by", "text", "", "intervention that names the cause"),
        Column("note", "text", "", "other interventions that also recover accuracy"),
        Column("site", "text", "", "diagnosed location"),
        Column("rows", "text", "", "all rows of the diagnosis, as JSON"),
        Column("wanted", "number", "class-balanced accuracy", "accuracy drop for which the strength was chosen"),
        Column("at_trained", "number", "class-balanced accuracy", "accuracy at N"),
        Column("loss", "number", "class-balanced accuracy", "accuracy drop at n"),
        Column("unplanted", "number", "share of the accuracy drop", "recovered by removing the flaw"),
        Column("measured_loss", "number", "class-balanced accuracy", "accuracy drop on the diagnosed sequences"),
        Column("share", "number", "share of the accuracy drop", "recovered by the intervention in `by`"),
        Column("low", "number", "share of the accuracy drop", LOW),
        Column("high", "number", "share of the accuracy drop", HIGH),
        Column("seconds", "number", "CPU seconds", "time to make and diagnose the model"),
        Column("version", "whole", "version", "version of the bench"),
        Column("index", "whole", "number", "number of the member within its kind"),
        Column("layer", "whole", "block", "block of the location"),
        Column("head", "whole", "head", "head of the location"),
        Column(
            "unplanted_each", "numbers", "share of the accuracy drop", "recovered by removing each part of the flaw"
        ),
    ),
)

FAMILIES = Dataset(
    "determinacy-families",
    "Forked runs: when is reach decided?",
    "Each row is one run. A parent is forked at several training steps. Its children start from its weights and see "
    f"other data. The table shows how much of the final reach was decided at a step. {SKILL}",
    "Each run was trained in memory and evaluated at lengths beyond N on 256 sequences per length.",
    "python docs/determinacy_study.py",
    "decided.md",
    lambda: _determinacy("families.parquet"),
    (
        _CELL,
        Column("schedule", "text", "", "learning rate schedule"),
        Column("parent", "whole", "seed", "seed of the parent"),
        Column("step", "whole", "training steps", "step of the fork; 0 for a parent"),
        Column("child", "whole", "number", "number of the child; 0 for a parent"),
        _SOLVES,
        *_skills("N"),
        _REACH,
        Column("reach_again", "number", "skill", "reach of a parent on other test sequences; missing for children"),
        Column("seconds", "number", "CPU seconds", "training time of one run"),
    ),
)

FEATURES = Dataset(
    "determinacy-features",
    "Features of runs that may forecast reach",
    "Each row is one feature of a parent run at one training step. No feature uses lengths beyond N, the longest "
    "trained length.",
    "The parents of the forked runs were trained again, and the features were computed from their weights.",
    "python docs/determinacy_study.py",
    "decided.md",
    lambda: _determinacy("features.parquet"),
    (
        _CELL,
        Column("schedule", "text", "", "learning rate schedule"),
        Column("parent", "whole", "seed", "seed of the parent"),
        Column("step", "whole", "training steps", "step; 0 for the scores of the first step"),
        Column("feature", "text", "", "name of the feature"),
        Column("value", "number", "unit of the feature", "value of the feature"),
    ),
)

_SETTING_COLUMNS = (
    _CELL,
    Column("axis", "text", "", "the changed setting; `usual` for no change, `A x B` for two settings"),
    Column("level", "text", "", "value of the setting"),
    Column("seed", "whole", "seed", "seed of the run"),
    _SOLVES,
    *_skills("N"),
    _REACH,
)
_IN_MEMORY = (
    "Each run was trained in memory and evaluated at lengths beyond N. Lengths at which a constant answer is always "
    "right do not count for whether a run solves its trained lengths."
)

SETTINGS = Dataset(
    "determinacy-settings",
    "Reach under other settings",
    f"Each row is one run with one setting changed. {SKILL}",
    _IN_MEMORY,
    "python docs/determinacy_study.py",
    "decided.md",
    lambda: _determinacy("settings.parquet"),
    _SETTING_COLUMNS,
)

TWO_SETTINGS = Dataset(
    "determinacy-two-settings",
    "Reach under two other settings",
    f"Each row is one run with two settings changed. `determinacy-settings` has runs with one of the changes. {SKILL}",
    _IN_MEMORY,
    "python docs/determinacy_study.py",
    "decided.md",
    lambda: _determinacy("two_settings.parquet"),
    _SETTING_COLUMNS,
)

SWITCHES = Dataset(
    "determinacy-switches",
    "Runs whose lengths change during training",
    f"Each row is one run. The lengths in training change at a step, or stay the same as a control. {SKILL}",
    "Each run was trained in memory and evaluated beyond the longest length of either distribution.",
    "python docs/determinacy_study.py",
    "decided.md",
    lambda: _determinacy("switches.parquet"),
    (
        _CELL,
        Column("direction", "text", "", "`rescue`: long sequences are added; `spoil`: they are taken away"),
        Column("seed", "whole", "seed", "seed of the run"),
        Column("step", "whole", "training steps", "step of the change; 0 for a run that is not a child"),
        Column("kind", "text", "", "`parent`, `control` or `changed`"),
        *(Column(f"skill_{n}", "number", "skill", f"skill at length {n}") for n in (48, 64, 96, 128)),
        _REACH,
    ),
)

DATASETS: Mapping[str, Dataset] = {
    dataset.name: dataset
    for dataset in (CLAIMS, CLAIM_RUNS, BENCH, FAMILIES, FEATURES, SETTINGS, TWO_SETTINGS, SWITCHES)
}
"""Name -> dataset."""


def dataset_names() -> list[str]:
    """Return the names of all published datasets."""
    return [name for name, dataset in DATASETS.items() if dataset.path().is_file()]


def find_dataset(name: str) -> Dataset:
    """Return the dataset with a name.

    Raises:
        DatasetError: for an unknown name, with the nearest ones, or a table that is not published yet.
    """
    if name not in DATASETS:
        raise DatasetError(f"there is no dataset {quoted_value(name)}; {nearest(name, dataset_names())}")
    dataset = DATASETS[name]
    if not dataset.path().is_file():
        raise DatasetError(
            f"the dataset {name} is not published here, as {dataset.path()} is missing; choose one of "
            f"{', '.join(dataset_names())}"
        )
    return dataset
