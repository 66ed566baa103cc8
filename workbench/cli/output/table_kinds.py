"""The tables that commands print, each with its keys: what JSON and CSV contain, and what docs/commands.md lists.

A key keeps its name and its meaning. A new column is a new :class:`Field`, and a new table a new :class:`TableKind`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from workbench.core.reach import MULTIPLES_TEXT
from workbench.core.thresholds import LEVEL_TEXT

Type = Literal["text", "whole", "number"]
_JSON_TYPES: dict[Type, str] = {"text": "string", "whole": "integer", "number": "number"}


class Field(NamedTuple):
    """One column of a table that a command prints.

    Attributes:
        key: its name in JSON and CSV.
        type: the type of its values. A text is never missing, a number may be null.
        about: what it contains, with its unit.
    """

    key: str
    type: Type
    about: str


@dataclass(frozen=True)
class TableKind:
    """A table that a command prints.

    Attributes:
        name: its key in the JSON of the command.
        about: what a row is.
        fields: its columns in order.
        single: whether it has exactly one row, which JSON gives as an object and not as a list.
    """

    name: str
    about: str
    fields: tuple[Field, ...]
    single: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the table's columns, in order."""
        return tuple(field.key for field in self.fields)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the table."""
        row = {
            "type": "object",
            "properties": {
                field.key: {
                    "type": _JSON_TYPES[field.type] if field.type == "text" else [_JSON_TYPES[field.type], "null"],
                    "description": field.about,
                }
                for field in self.fields
            },
            "required": list(self.keys),
            "additionalProperties": False,
        }
        return row if self.single else {"type": "array", "items": row}


def schema_of(kinds: tuple[TableKind, ...]) -> dict[str, Any]:
    """The JSON Schema of the output of a command that prints these tables."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {kind.name: kind.schema() for kind in kinds},
        "required": [kind.name for kind in kinds],
        "additionalProperties": False,
    }


_RUN = Field("run", "text", "name of the run: its path below the folder")
_PATH = Field("path", "text", "folder of the run")
_TASK = Field("task", "text", "name of the task")
_TRAINED = Field("trained_length", "whole", "N, the longest trained prefix length in tokens")
_VERDICT = (
    Field("verdict", "text", "verdict, or `not measured`"),
    Field("reason", "text", "why a verdict is undecided, else empty"),
    Field("verdict_step", "whole", "checkpoint of the verdict, in training steps"),
    Field("tested_to", "whole", "longest prefix length that the verdict was tested at"),
    Field("note", "text", "evidence for the verdict"),
)
_REACH = (
    Field("reach", "number", f"mean skill at {MULTIPLES_TEXT}, each clipped to 0..1; null without a value"),
    Field("reach_low", "number", f"lower end of the {LEVEL_TEXT} interval of `reach`"),
    Field("reach_high", "number", f"upper end of the {LEVEL_TEXT} interval of `reach`"),
)
_MEASUREMENT = Field("measurement", "text", "name of the measurement")
_QUANTITY = Field("quantity", "text", "name of the quantity")
_ESTIMATE = (
    Field("low", "number", f"lower end of the {LEVEL_TEXT} interval"),
    Field("high", "number", f"upper end of the {LEVEL_TEXT} interval"),
    Field("n", "whole", "number of evaluated sequences"),
)

RUNS = TableKind(
    "runs",
    "one run of a folder",
    (
        _RUN,
        _PATH,
        _TASK,
        _TRAINED,
        Field("last_step", "whole", "last checkpoint, in training steps"),
        *_VERDICT,
        *_REACH,
    ),
)
STATES = TableKind(
    "runs",
    "one run of a folder",
    (
        _RUN,
        _PATH,
        Field("state", "text", "`training`, `stopped`, `finished` or `not trained here`"),
        Field("step", "whole", "last step that is known to be done"),
        Field("planned_steps", "whole", "training steps when finished"),
        Field("seconds_left", "number", "estimated seconds until training ends"),
        Field("checkpoints", "whole", "number of checkpoints"),
        Field("measured", "whole", "number of checkpoints with at least one result"),
        Field("seconds_since_result", "number", "seconds since the last result was written; null without result files"),
    ),
)
RUN = TableKind(
    "run",
    "the run",
    (
        _RUN,
        _PATH,
        _TASK,
        Field("architecture", "text", "`transformer`, `ssm` or `rnn`"),
        Field("positions", "text", "position encoding"),
        _TRAINED,
        Field("checkpoints", "whole", "number of checkpoints"),
        Field("last_step", "whole", "last checkpoint, in training steps"),
        *_VERDICT,
        Field("diagnosis", "text", "why the run fails at longer lengths, or empty without a diagnosis"),
        *_REACH,
    ),
    single=True,
)
LENGTHS = TableKind(
    "lengths",
    "accuracy at one prefix length on one test set",
    (
        Field("test_set", "text", "`matched` or `challenge`"),
        Field("length", "whole", "prefix length in tokens (items of the question for a prompted model)"),
        Field("times_trained", "number", "length divided by N"),
        Field("accuracy", "number", "share of correct answers"),
        *_ESTIMATE,
        Field("baseline", "number", "accuracy of a guess"),
        Field("status", "text", "status of the row"),
    ),
)
STEPS = TableKind(
    "steps",
    "one checkpoint",
    (
        Field("step", "whole", "training step"),
        Field("verdict", "text", "verdict, or `not measured`"),
        Field("reason", "text", "why a verdict is undecided, else empty"),
        Field("accuracy_trained", "number", "accuracy at N on the matched test set"),
        Field("accuracy_longest", "number", "accuracy at the longest measured length on the matched test set"),
    ),
)
CHECKPOINTS = TableKind(
    "checkpoints",
    "one checkpoint",
    (
        *STEPS.fields,
        Field("bytes", "whole", "size of its weights in bytes"),
        Field("path", "text", "folder of the checkpoint"),
    ),
)
COMPARED = TableKind(
    "runs",
    "one of the compared runs",
    (_RUN, _PATH, _TASK, _TRAINED, Field("step", "whole", "compared checkpoint"), *_VERDICT),
)
SETTINGS = TableKind(
    "settings",
    "one setting in which two runs differ",
    (
        Field("run_a", "text", "the first run"),
        Field("run_b", "text", "the other run"),
        Field("setting", "text", "path of the setting, e.g. `training.learning_rate`"),
        Field("value_a", "text", "its value in the first run, as JSON; empty where it is not set"),
        Field("value_b", "text", "its value in the other run, as JSON; empty where it is not set"),
    ),
)
DIFFERENCES = TableKind(
    "differences",
    "accuracy of two runs at one prefix length on one test set",
    (
        Field("run_a", "text", "the first run"),
        Field("run_b", "text", "the other run"),
        Field("test_set", "text", "`matched` or `challenge`"),
        Field("length", "whole", "prefix length of the first run in tokens"),
        Field("length_b", "whole", "prefix length of the other run, at the same multiple of N if lengths differ"),
        Field("accuracy_a", "number", "accuracy of the first run"),
        Field("accuracy_b", "number", "accuracy of the other run"),
        Field("difference", "number", "accuracy of the first run minus accuracy of the other"),
        Field("low", "number", f"lower end of the {LEVEL_TEXT} interval of the difference"),
        Field("high", "number", f"upper end of the {LEVEL_TEXT} interval of the difference"),
        Field("significant", "text", "`yes` if the interval excludes 0, else `no`"),
    ),
)
TASKS = TableKind(
    "tasks",
    "one task",
    (
        _TASK,
        Field("family", "text", "group of related tasks"),
        Field("kind", "text", "what a model must track: state, average, counter or pointer"),
        Field("chance", "text", "accuracy of the best constant answer"),
        Field("theory", "text", "prediction without positions / with learned positions"),
        Field("task_state", "text", "what the answer needs of a prefix"),
    ),
)
MEASUREMENTS = TableKind(
    "measurements",
    "one measurement",
    (
        _MEASUREMENT,
        Field("title", "text", "what it measures, in words"),
        Field("default", "text", "`yes` if `lengthlens measure` runs it without --only, else `no`"),
        Field("quantities", "text", "names of its quantities, separated by commas"),
    ),
)
QUANTITIES = TableKind(
    "quantities",
    "one quantity of one measurement",
    (
        _QUANTITY,
        _MEASUREMENT,
        Field("unit", "text", "unit or scale"),
        Field("low", "number", "smallest possible value"),
        Field("high", "number", "largest possible value"),
        Field("definition", "text", "definition in one sentence"),
    ),
)
GLOSSARY = TableKind(
    "terms",
    "one term",
    (
        Field("term", "text", "the term"),
        Field("kind", "text", "`word`, `verdict`, `measurement` or `quantity`"),
        Field("meaning", "text", "what it means"),
    ),
)
INTERVENTIONS = TableKind(
    "interventions",
    "one intervention of the diagnosis",
    (
        Field("intervention", "text", "stored name of the intervention"),
        Field("words", "text", "the intervention in words"),
        Field("test_set", "text", "`matched` or `challenge`"),
        Field("length", "whole", "diagnosed prefix length"),
        Field("recovered", "number", "share of the accuracy drop that it recovers"),
        Field("low", "number", f"lower end of the {LEVEL_TEXT} interval"),
        Field("high", "number", f"upper end of the {LEVEL_TEXT} interval"),
    ),
)
DIAGNOSIS = TableKind(
    "diagnosis",
    "the diagnosis",
    (
        _RUN,
        _PATH,
        Field("step", "whole", "diagnosed checkpoint"),
        Field("cause", "text", "cause of the failure, or empty without one"),
        Field("location", "text", "component at which the failure arises, or empty without one"),
        Field("sentence", "text", "the diagnosis in words"),
    ),
    single=True,
)
POINTS = TableKind(
    "points",
    "one drawn point",
    (
        _RUN,
        Field("line", "text", "name of the line in the figure"),
        Field("step", "whole", "training step"),
        Field("length", "whole", "prefix length in tokens"),
        Field("value", "number", "value of the quantity, in its unit"),
        *_ESTIMATE,
    ),
)

ABLATED = TableKind(
    "lengths",
    "one prefix length",
    (
        _RUN,
        _PATH,
        Field("step", "whole", "checkpoint"),
        Field("part", "text", "ablated heads and MLPs, or interventions, all at once"),
        Field("mode", "text", "`mean`, `zero` or `resample`: what replaces outputs of parts; else `intervention`"),
        Field("length", "whole", "prefix length in tokens"),
        Field("accuracy", "number", "accuracy of the whole model on the same sequences"),
        Field("without", "number", "accuracy without the parts, or under the interventions"),
        Field("without_low", "number", f"lower end of the {LEVEL_TEXT} interval of `without`"),
        Field("without_high", "number", f"upper end of the {LEVEL_TEXT} interval of `without`"),
        Field("drop", "number", "`accuracy` minus `without`, with its interval in `low` and `high`"),
        *_ESTIMATE,
    ),
)
PATCHED = TableKind(
    "activations",
    "one patched activation at one prefix length",
    (
        _RUN,
        _PATH,
        Field("step", "whole", "checkpoint"),
        Field("length", "whole", "prefix length in tokens"),
        Field("part", "text", "the patched activation in words"),
        Field("hook", "text", "its hook name"),
        Field(
            "own",
            "number",
            "share of pairs in which the model gives the right answer of its own sequence, after patching",
        ),
        Field("own_before", "number", "the same share without patching"),
        Field(
            "donor",
            "number",
            "share of pairs in which it gives the right answer of the donor, after patching, with `low` and `high`",
        ),
        Field("donor_before", "number", "the same share without patching"),
        *_ESTIMATE,
    ),
)
ATTENTION = TableKind(
    "keys",
    "one key of the query",
    (
        _RUN,
        _PATH,
        Field("step", "whole", "checkpoint"),
        Field("head", "text", "the head, or empty for the mean over all heads"),
        Field("query", "whole", "position of the query; 0 is the beginning token, if the task has one"),
        Field("key", "whole", "position of the key"),
        Field("token", "text", "token at the key"),
        Field("attention", "number", "attention weight of the key"),
    ),
)
PREDICTIONS = TableKind(
    "predictions",
    "the prediction for one position encoding or kind of state-space model",
    (
        Field("subject", "text", "the task, or the regular expression"),
        Field("model", "text", "kind of model, with its position encoding"),
        Field("prediction", "text", "`guaranteed`, `expressible`, `not expressible`, `open` or `not decided`"),
        Field("language_class", "text", "class of languages that the task is compared with, or empty"),
        Field("program", "text", "program that proves the prediction, or empty"),
        Field("theorem", "text", "theorem and paper, or `none`"),
        Field("derived", "text", "`yes` if the step from the theorem to this task is ours, else `no`"),
        Field("reason", "text", "reason in one sentence"),
        Field("assumptions", "text", "assumptions of the theorem, separated by semicolons"),
    ),
)
CHECKED = TableKind(
    "runs",
    "one checked run",
    (
        _RUN,
        _PATH,
        Field("checkpoints", "whole", "number of checkpoints"),
        Field("problems", "whole", "number of problems"),
    ),
)
PROBLEMS = TableKind("problems", "one problem", (Field("problem", "text", "the problem in one sentence"),))
CLAIMS = TableKind(
    "claims",
    "one claim",
    (
        Field("claim", "text", "its name, e.g. `HE07`"),
        Field("suite", "text", "suite of the claim"),
        Field("kind", "text", "how it is decided, e.g. `exact` or `trained`"),
        Field("minutes", "number", "cost in CPU minutes"),
        Field("verdict", "text", "verdict, or `not run`"),
        Field("seeds", "text", "seeds that support the claim, of all seeds; empty without training"),
        Field("observed", "text", "the observed numbers"),
    ),
)
CELLS = TableKind(
    "cells",
    "one run of a sweep",
    (
        Field("cell", "text", "name of the run"),
        Field("state", "text", "`done`, `begun`, `missing` or `damaged`"),
        Field("steps", "whole", "training steps when finished"),
        Field("settings", "text", "settings in which the runs differ, as JSON"),
    ),
)
COST = TableKind(
    "cost",
    "the estimated cost of what is left; null where no finished run allows an estimate",
    (
        Field("runs", "whole", "runs left to train"),
        Field("checkpoints", "whole", "checkpoints left to measure"),
        Field("training_hours", "number", "CPU hours of training"),
        Field("training_hours_low", "number", "lowest estimate"),
        Field("training_hours_high", "number", "highest estimate"),
        Field("measuring_hours", "number", "CPU hours of measuring"),
        Field("measuring_hours_low", "number", "lowest estimate"),
        Field("measuring_hours_high", "number", "highest estimate"),
        Field("seconds", "number", "wall-clock seconds on the available workers"),
        Field("new_bytes", "number", "bytes that are added on the disk"),
        Field("finished_runs", "whole", "finished runs that the estimates rest on"),
    ),
    single=True,
)
DATA = TableKind(
    "datasets",
    "one published dataset",
    (
        Field("dataset", "text", "name of the dataset"),
        Field("title", "text", "its title"),
        Field("rows", "whole", "number of rows; null for `gallery`"),
        Field("columns", "whole", "number of columns; null for `gallery`"),
    ),
)
CHALLENGE_SCORES = TableKind(
    "scores",
    "the score of one part of the answers",
    (
        Field("part", "text", "`cause`, `location` or `intervention`"),
        Field("right", "whole", "number of models with a right answer"),
        Field("models", "whole", "number of models that are scored"),
        Field("share", "number", "share of right answers"),
        Field("low", "number", f"lower end of the {LEVEL_TEXT} interval"),
        Field("high", "number", f"upper end of the {LEVEL_TEXT} interval"),
    ),
)
CHALLENGE_ANSWERS = TableKind(
    "answers",
    "the answer for one model",
    (
        Field("model", "text", "name of the model"),
        Field("cause", "text", "named cause"),
        Field("location", "text", "named location"),
        Field("intervention", "text", "named intervention, or two"),
        Field("cause_right", "text", "`yes` or `no`"),
        Field("location_right", "text", "`yes`, `no`, or empty if it is not scored"),
        Field("intervention_right", "text", "`yes`, `no`, or empty if it is not scored"),
    ),
)

TABLES: dict[str, tuple[TableKind, ...]] = {
    "list": (RUNS,),
    "info": (RUN, LENGTHS, STEPS),
    "steps": (CHECKPOINTS,),
    "status": (STATES,),
    "eval": (LENGTHS,),
    "compare": (COMPARED, SETTINGS, DIFFERENCES),
    "plot": (POINTS,),
    "ablate": (ABLATED,),
    "patch": (PATCHED,),
    "attention": (ATTENTION,),
    "diagnose": (DIAGNOSIS, INTERVENTIONS),
    "tasks": (TASKS,),
    "measurements": (MEASUREMENTS,),
    "quantities": (QUANTITIES,),
    "glossary": (GLOSSARY,),
    "predict": (PREDICTIONS,),
    "check": (CHECKED, PROBLEMS),
    "reproduce": (CLAIMS,),
    "sweep": (CELLS, COST),
    "challenge": (CHALLENGE_SCORES, CHALLENGE_ANSWERS),
    "data": (DATA,),
}
"""Command -> the tables of its JSON."""
_CSV_TABLES = {"info": LENGTHS, "check": CHECKED, "sweep": CELLS, "challenge": CHALLENGE_SCORES}
CSV_TABLE: dict[str, TableKind] = {name: _CSV_TABLES.get(name, kinds[-1]) for name, kinds in TABLES.items()}
"""Command -> the one table that --csv prints."""
