"""The configurations that claims need to train (*cells*): task, model, training, seeds, and what is measured.

As in a sweep, a cell is a run for each of its seeds. Nothing here needs torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from workbench.core.canonical import canonical, key_of
from workbench.core.stored_model import StoredModel

if TYPE_CHECKING:
    from workbench.training.config import RunConfig
    from workbench.training.starting_weights import Start

SEEDS = (0, 1, 2)
SIX_SEEDS = (0, 1, 2, 3, 4, 5)
"""Enough for the sign test of :mod:`workbench.claims.typical_run`."""
Settings = Mapping[str, Any]
SPEED = 0.93e-10
"""Seconds of one core for one multiplication of the model's widths with a token; see :func:`TrainedCell.seconds`."""
STEP = 3.1e-3
"""Seconds of one core for a step through a layer, however small."""
STATISTIC_SECONDS = {
    "fit": 0.2,
    "bins": 0.4,
    "lengths": 0.5,
    "behaviour": 2.0,
    "copies": 8.0,
    "steps": 4.0,
    "last byte": 3.0,
    "few tokens": 110.0,
    "few tokens of two": 370.0,
    "circuits.sparsity": 20.0,
    "circuits.ablation": 4.0,
    "circuits.heads": 2.0,
}
"""Seconds of one core for a statistic, roughly; 1 for one that is not named."""
LOSSES = 0.05
"""Seconds of one core for losses to 32 N, for each layer and each token of N."""


@dataclass(frozen=True)
class Request:
    """A request to compute one statistic for every run of a configuration.

    Attributes:
        name: the name of a statistic of :mod:`workbench.claims.trained.run_statistics`, or of a measurement of the
            workbench.
        settings: what it takes.
    """

    name: str
    settings: Settings = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What distinguishes the request from other requests, in the table of runs."""
        return f"{self.name} {canonical(dict(self.settings))}" if self.settings else self.name


STILL_VALID: dict[str, tuple[int, ...]] = {
    "behaviour": (4,),
    "bins": (1,),
    "lengths": (1,),
    "circuits.positional": (3,),
}
"""Earlier versions whose rows stay. Versions 5 and 6 of behaviour added rows that no claim reads. At lengths with at
most 512 sequences they evaluate each once; version 4 drew from the same distribution, so it has the same quantity with
sampling noise. Version 2 of bins and lengths lists the sequences of the challenge test set if it can, and computes the
baseline of a skill; version 1 estimated the same baseline from 4,096 sequences. Accuracies are equal. Version 4 of
circuits.positional differs where the scores of each query are equal, which is so in no stored row of version 3: none
has a translation variance of 0."""
FIT = Request("fit")
BINS = Request("bins")
CHALLENGE = Request("bins", {"law": "challenge"})
VERDICT = Request("behaviour", {"lengths": [2, 4, 8], "sequences": 256, "only": ["verdict", "failure_length", "skill"]})
"""The verdict to 8N, on 6 lengths with 256 strings each."""
REACH = Request("lengths", {"factors": [1.5, 2, 3, 4, 8]})
"""Skill at the lengths that :func:`workbench.claims.trained.reach_contrasts.reach` averages."""


@dataclass(frozen=True)
class TrainedCell:
    """A configuration to train, with its seeds: one run for each seed.

    Attributes:
        name: what pages call it; the same name means the same cell in every suite.
        task: name of the task.
        parameters: the parameters of the task.
        model: fields of the model's config, without the vocabulary.
        training: fields of the training config.
        seeds: each is that of the weights and of the data.
        requests: the statistics that are computed of each run, at its last step.
        start: the cell from whose run of the same seed, at its last step, each run begins; None = random weights.
    """

    name: str
    task: str
    parameters: Settings
    model: Settings
    training: Settings
    seeds: Sequence[int] = SEEDS
    requests: tuple[Request, ...] = (FIT, BINS)
    start: TrainedCell | None = None

    def config(self, seed: int, start: Start | None = None) -> RunConfig:
        """Return the settings of the run with a seed.

        Args:
            seed: the seed of weights and data.
            start: the weights it begins from, known once the run of :attr:`start` is there.

        Raises:
            TaskError, PositionError, TrainingError: for whatever does not exist or fit.
        """
        from workbench.models.architectures import make_config
        from workbench.tasks import make_task
        from workbench.training.config import RunConfig, Seeds, TrainingConfig

        task = make_task(self.task, **self.parameters)
        return RunConfig(
            task=task,
            model=make_config({**self.model, "d_vocab": task.d_vocab, "d_vocab_out": task.d_vocab_out}),
            training=TrainingConfig(**self.training, start=start),
            seeds=Seeds(init=seed, data=seed),
        )

    def recipe(self, seed: int) -> str:
        """Return the key of the run with a seed in the table of runs: a hash of all its settings."""
        stated = {"task": self.task, "parameters": self.parameters, "model": self.model, "training": self.training}
        # Named where there is one, so that cells without keep the rows that they have.
        begun = {"start": self.start.recipe(seed)} if self.start else {}
        return key_of({**stated, **begun, "seed": seed})

    def also(self, *requests: Request) -> TrainedCell:
        """Return the same configuration with further statistics to compute."""
        return replace(self, requests=(*self.requests, *(each for each in requests if each not in self.requests)))

    def on(self, *seeds: int) -> TrainedCell:
        """Return the same configuration with other seeds."""
        return replace(self, seeds=seeds)

    @property
    def longest(self) -> int:
        """Return the longest length of a training batch."""
        return int(self.training["curriculum"]["high"])

    @property
    def seconds(self) -> float:
        """Return roughly how many seconds a run takes on one core, including its statistics."""
        width, layers, steps = self.model["d_model"], self.model["n_layers"], self.training["steps"]
        tokens = self.training["batch_size"] * (self.training["curriculum"]["low"] + self.longest) / 2
        scan, slow = (7.0, 1.5) if StoredModel(self.model).is_state_space else (1.0, 1.0)
        step = layers * (slow * STEP + scan * SPEED * tokens * (12 * width**2 + 2**14))
        losses = LOSSES * layers * self.longest
        seconds = (losses if each.name == "losses" else STATISTIC_SECONDS.get(each.name, 1.0) for each in self.requests)
        return float(steps * step + sum(seconds))

    @property
    def scale(self) -> str:
        """Return the settings, in words."""
        machine = "state-space" if StoredModel(self.model).is_state_space else "transformer"
        law = self.training["curriculum"]
        begun = f", begun from the runs of {self.start.name}" if self.start else ""
        return (
            f"{machine}, {self.model['n_layers']} layers, width {self.model['d_model']}, lengths {law['low']} to "
            f"{law['high']} ({law['law']}), {self.training['steps']:,} steps of {self.training['batch_size']} at rate "
            f"{self.training['learning_rate']:g}{begun}"
        )


@dataclass(frozen=True)
class PlannedRun:
    """A run that claims need, with the statistics to compute for it.

    Attributes:
        recipe: what stands for it in the table of runs.
        cell: what it is one of; where several cells describe the same run, the first that was met.
        seed: the seed of weights and data.
        requests: the statistics to be computed of it; empty if other runs only start from it.
    """

    recipe: str
    cell: TrainedCell
    seed: int
    requests: tuple[Request, ...]

    @property
    def start(self) -> str:
        """Return the key of the run from whose weights the training starts; "" if it starts from random weights."""
        return self.cell.start.recipe(self.seed) if self.cell.start else ""


def encoding(name: str, longest: int, reach: int) -> dict[str, Any]:
    """Return the fields of a model's config for a position encoding.

    Args:
        name: ``nope`` (none), ``ape`` (learned, with a random offset in training), ``arange`` (learned, without
            offset), ``rope`` (rotary), ``pose`` (rotary with PoSE), ``alibi``, or ``sinusoidal``. ``lim p l`` has limit
            positions of period p and locality l. ``ppc`` has learned, coupled ids, and predicts those of the answer.
            ``ppc_fixed`` is without the random offset in training, and ``coupled`` gives all ids.
        longest: N, the longest trained length.
        reach: the longest evaluated length, in multiples of N.
    """
    room = {"n_ctx": reach * longest + (16 if reach > 3 else 4)}
    kind, *numbers = name.split()
    if kind == "lim":
        period, locality = map(int, numbers)
        return {"positions": {"name": "limit", "period": period, "locality": locality}, **room}
    by_name: dict[str, dict[str, Any]] = {
        "nope": {"positions": {"name": "none"}},
        "ape": {"positions": {"name": "learned"}, "ids": {"name": "random_offset"}},
        "arange": {"positions": {"name": "learned"}, "ids": {"name": "arange"}},
        "rope": {"positions": {"name": "rotary"}},
        "rope500": {"positions": {"name": "rotary", "base": 500.0, "scaling": "linear", "factor": 32.0}},
        "pose": {"positions": {"name": "rotary"}, "ids": {"name": "pose"}},
        "ppc": {"positions": {"name": "learned"}, "ids": {"name": "predicted"}},
        "ppc_fixed": {"positions": {"name": "learned"}, "ids": {"name": "predicted", "offset": False}},
        "coupled": {"positions": {"name": "learned"}, "ids": {"name": "coupled"}},
        "alibi": {"positions": {"name": "alibi"}},
        "sinusoidal": {"positions": {"name": "sinusoidal"}, "ids": {"name": "random_offset"}},
    }
    return {**by_name[kind], **room}


def cell(
    task: str,
    positions: str,
    longest: int,
    steps: int,
    *,
    label: str = "",
    layers: int = 2,
    width: int = 64,
    heads: int = 4,
    batch: int = 32,
    rate: float = 2e-3,
    low: int = 1,
    reach: int = 8,
    seeds: Sequence[int] = SEEDS,
    requests: tuple[Request, ...] = (FIT, BINS),
    model: Settings | None = None,
    training: Settings | None = None,
    start: TrainedCell | None = None,
    **parameters: Any,
) -> TrainedCell:
    """Return a configuration of transformers to train; of state-space models if positions are ``ssm`` or ``signed``.

    Args:
        task: its name; ``parameters`` are its own.
        positions: see :func:`encoding`.
        longest: N.
        steps: the steps of training.
        label: what distinguishes the cell from others of the same task and positions.
        layers, width, heads: of the model.
        batch, rate: sequences a step, and the learning rate.
        low: the shortest trained length.
        reach: see :func:`encoding`.
        seeds: of the runs.
        requests: the statistics that are computed of each run.
        model, training: further fields of their configs.
        start: the cell whose runs it begins from.
    """
    if positions in ("ssm", "signed"):
        gates = {"ssm": "nonnegative", "signed": "signed"}[positions]
        shape: dict[str, Any] = {"architecture": "ssm", "gates": gates, "n_ctx": reach * longest + 16}
    else:
        shape = {"n_heads": heads, **encoding(positions, longest, reach)}
    law = {"law": "uniform", "low": low, "high": longest}
    return TrainedCell(
        name=" ".join(filter(None, (task, *(f"{key} {value}" for key, value in parameters.items()), positions, label))),
        task=task,
        parameters=parameters,
        model={"n_layers": layers, "d_model": width, **shape, **(model or {})},
        training={
            "steps": steps,
            "batch_size": batch,
            "learning_rate": rate,
            "curriculum": law,
            "checkpoints": {"log": 0, "linear": 1},
            **(training or {}),
        },
        seeds=tuple(seeds),
        requests=requests,
        start=start,
    )
