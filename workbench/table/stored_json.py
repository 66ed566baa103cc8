"""Types and ranges of ``run.json``, ``meta.json`` and a measurement's spec, checked once when the files are read.

A seal shows that a file is unchanged, not that its content makes sense. Code behind this check may rely on the types
below, and no number in a file can make it run for hours. Only the parts that are read without the model's and the
task's own classes are fixed here. Those classes check their own parts. Needs no torch.

Some fields may be absent. An adopted run states no optimizer, a compiled model was not trained, and old files lack
settings that were added later. Missing fields are never filled in here.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from workbench.core.errors import LensError
from workbench.core.stored_model import WITHOUT_ATTENTION
from workbench.storage.seal import json_object

FORMAT = 1
"""The format of ``run.json``."""
DEEPEST = 32
"""The deepest nesting of lists and objects."""
MOST_HEADS = 20_000
"""The most heads of all layers together, because pages have a cell for each."""

Count = Annotated[int, Field(ge=0, le=10**12)]
Size = Annotated[int, Field(ge=1, le=10**8)]
Width = Annotated[int, Field(ge=0, le=1 << 24)]
Length = Annotated[int, Field(ge=1, le=10**7)]
Seed = Annotated[int, Field(ge=0, lt=1 << 63)]
Share = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Name = Annotated[str, Field(min_length=1, max_length=1000)]
Sha256 = Annotated[str, Field(pattern=r"^\w{0,64}$")]
PositionId = Annotated[int, Field(ge=0, le=10**9)]
Id = Annotated[str, Field(pattern=r"^\w{1,64}$")]


class StoredError(LensError, ValueError):
    """Stored JSON with an impossible value. The message is a clause that names the field."""


class Stored(BaseModel):
    """The base class of stored JSON data: no value is converted to another type, and unknown entries are kept."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True, protected_namespaces=())


class Named(Stored):
    """A component given by its name and its settings."""

    name: Name


class TaskPart(Stored):
    """The task. Its ``source`` is checked by the code that runs it (:mod:`workbench.tasks.source_code`)."""

    name: str = Field(min_length=1, max_length=5000)
    parameters: dict[str, Any] = {}
    source: dict[str, Any] | None = None


class ModelPart(Stored):
    """The fields of every architecture, and the sizes of the existing ones."""

    architecture: Name = "transformer"
    n_layers: int = Field(ge=1, le=1000)
    n_heads: int = Field(ge=0, le=1000)
    positions: Name | Named
    ids: Name | Named = "arange"
    d_vocab: Size = 1
    d_vocab_out: Width = 0
    d_model: Size = 1
    n_ctx: Size = 1
    d_head: Width = 0
    d_mlp: Width | list[Width] = 0
    d_inner: Width = 0
    d_state: Width = 0
    d_conv: Width = 0
    d_hidden: Width = 0
    dt_rank: Width = 0
    initializer_range: NotNegative = 0.0
    gates: Name = "none"
    cell: Name = "none"
    norm_after_attention: bool = False
    tied: bool = False

    @model_validator(mode="after")
    def _countable(self) -> ModelPart:
        heads = self.n_layers * self.n_heads
        if heads > MOST_HEADS:
            raise ValueError(f"it has {heads:,} heads in all layers, at most {MOST_HEADS:,} are shown")
        family = WITHOUT_ATTENTION.get(self.architecture)
        if family is not None and family.field not in self.model_fields_set:
            raise ValueError(f"a {family.title} needs the field {family.field}")
        return self


class CurriculumPart(Stored):
    law: Name = "uniform"
    low: Length = 1
    high: Length = 1


class TrainingPart(Stored):
    """The origin of the weights. Most fields are unknown for an adopted run."""

    steps: Count
    trained_length: Length
    curriculum: CurriculumPart | None = None
    batch_size: Size = 1
    learning_rate: Positive = 1.0
    rate_law: Name = "constant"
    warmup: Count = 0
    optimizer: Name = "adamw"
    weight_decay: NotNegative = 0.0
    betas: Annotated[list[Share], Field(min_length=2, max_length=2)] | None = None
    momentum: Share = 0.0
    clip: NotNegative = 0.0
    regularizers: dict[str, float] = {}
    task_schedule: list[dict[str, Any]] = []
    id_schedule: dict[str, Any] | None = None
    start: dict[str, Any] | None = None
    strings: Count = 0
    lengths_per_batch: Size = 1
    average_weights: Share = 0.0
    carried_states: Name = "none"
    early_stop: dict[str, Any] | None = None
    checkpoints: dict[str, Count | list[Count]] = {}
    threads: Annotated[int, Field(ge=1, le=10_000)] = 1
    device: Name = "cpu"
    dtype: Name = "float32"
    adopted: dict[str, str] | None = None
    compiled: dict[str, Any] | None = None
    pretrained: dict[str, Any] | None = None
    answers: dict[str, Any] | None = None


class SeedsPart(Stored):
    """The seeds of a run. Weights from elsewhere have no seeds of training."""

    evaluation: Seed
    probe: Seed
    init: Seed = 0
    data: Seed = 0


class FactsPart(Stored):
    """Further facts about a run, which are not part of its id."""

    question: str = ""
    kind: str = ""
    summary: str = ""
    lengths: str = ""


class RunJson(Stored):
    """The content of ``run.json``."""

    format: Literal[1]
    id: Id
    task: TaskPart
    model: ModelPart
    training: TrainingPart
    seeds: SeedsPart
    facts: FactsPart = FactsPart()
    versions: dict[str, str] = {}
    created: str = ""
    rows_only: Name | None = None


class MetaJson(Stored):
    """The content of a checkpoint's ``meta.json``."""

    run: Id | None = None
    step: Annotated[int, Field(ge=0, lt=10**16)]
    sha256: Sha256
    log_sha256: Sha256 | None = None
    trained_ids: list[Annotated[list[PositionId], Field(min_length=2, max_length=2)]] | None = None
    ended: str = ""


class QuantityPart(Stored):
    name: Name
    definition: str = ""
    unit: str = ""
    formula: str = ""
    where: str = ""


class SpecJson(Stored):
    """The description of a measurement, as result files store it."""

    name: Name = "?"
    title: str = ""
    version: Count = 0
    settings: dict[str, Any] = {}
    laws: list[str] = []
    quantities: list[QuantityPart] = []


def check_run(content: dict[str, Any]) -> dict[str, Any]:
    """The content of a ``run.json``, unchanged. Raises StoredError for the first value that no run can have."""
    return _checked(RunJson, content)


def check_meta(content: dict[str, Any]) -> dict[str, Any]:
    """The content of a ``meta.json``, unchanged. Raises StoredError for the first value that no checkpoint can have."""
    return _checked(MetaJson, content, skip="trained_ids")


def check_spec(content: dict[str, Any]) -> dict[str, Any]:
    """A measurement's spec, unchanged. Raises StoredError for the first value that no measurement can have."""
    return _checked(SpecJson, content)


@lru_cache(maxsize=256)
def check_spec_text(text: str) -> None:
    """Check a stored description of a measurement as :func:`check_spec` does, but only once per text, because many runs
    share one.

    Raises:
        SealError: if the text is not a JSON object.
        StoredError: for a value that no measurement can have.
    """
    check_spec(json_object(text.encode()))


def _checked(kind: type[Stored], content: dict[str, Any], skip: str = "") -> dict[str, Any]:
    _require_plain({name: value for name, value in content.items() if name != skip})
    try:
        kind.model_validate(content)
    except ValidationError as error:
        raise StoredError(first_problem(error)) from None
    return content


def first_problem(error: ValidationError) -> str:
    """Return the first value that is not valid, as one clause that names its field."""
    first = error.errors(include_url=False, include_context=False)[0]
    # Of several types that a value may have, the branch is no part of its place.
    place = ".".join(str(part) for part in first["loc"] if part not in ("str", "constrained-str", "Named"))
    if first["type"] == "missing":
        return f"{place} is missing"
    said = str(first["msg"]).removeprefix("Value error, ")
    if first["type"] == "value_error":
        return f"{place}: {said}" if place else said
    return f"{place}: {said[:1].lower()}{said[1:]}, not {short_value(first['input'])}"


def short_value(value: Any) -> str:
    """A value, shortened for a sentence."""
    text = ascii(value) if isinstance(value, str | int | float | None) else type(value).__name__
    return text if len(text) <= 60 else f"{text[:50]}..."


def _require_plain(content: Any) -> None:
    """Raise StoredError for numbers and texts that cannot be stored or printed, and for very deep nesting."""
    level, depth = [content], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise StoredError(f"it is nested more than {DEEPEST} deep")
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                below += value.keys()
                below += value.values()
            elif isinstance(value, list):
                below += value
            elif isinstance(value, str):
                _require_text(value)
            elif isinstance(value, float) and not math.isfinite(value):
                raise StoredError(f"it contains a number that is not finite, {value}")
            elif isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
                raise StoredError(f"it contains a number that is too large, {short_value(value)}")
        level = below


def _require_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise StoredError(f"it contains text that is not UTF-8, {short_value(text)}") from None
