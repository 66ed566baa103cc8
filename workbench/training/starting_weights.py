"""Initial weights from a checkpoint of another run, whose token embeddings are matched by token name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from pydantic import BaseModel, ConfigDict, Field
from safetensors.torch import load_file

from workbench.core.errors import quoted_value
from workbench.core.limits import COUNT
from workbench.models.architectures import make_config
from workbench.models.base.architecture import Architecture
from workbench.runs.run import Run
from workbench.tasks.base import Task
from workbench.training.errors import TrainingError

VOCABULARY = {"embed.W_E": 0, "unembed.W_U": 1, "unembed.b_U": 0}
"""The tensors with an entry per token or answer, and the dimension that counts them."""
FREE = ("d_vocab", "d_vocab_out", "ids", "initializer_range")
"""Settings in which a model may differ from the model of its initial weights: sizes of its vocabulary, and how it is
trained.
"""


class Start(BaseModel):
    """The weights from which the training of a run starts, as its ``run.json`` states them. The optimizer has no state
    at the start.

    Attributes:
        run: id of the run that the weights come from.
        step: its checkpoint.
        sha256: of the checkpoint's file of weights.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run: Annotated[str, Field(pattern=r"^\w{1,64}$")]
    step: Annotated[int, Field(ge=0, le=COUNT)]
    sha256: Annotated[str, Field(pattern=r"^\w{1,64}$")]


@dataclass(frozen=True)
class StartingWeights:
    """A verified checkpoint with initial weights.

    Attributes:
        start: what is recorded about the checkpoint.
        task: the task that it was trained on, which names its tokens.
        model: its model's config, as its run states it.
        tensors: its weights by name.
    """

    start: Start
    task: Task
    model: dict[str, Any]
    tensors: dict[str, torch.Tensor]

    @classmethod
    def of(cls, run: Run, step: int) -> StartingWeights:
        """The checkpoint of ``run`` at ``step``.

        Raises:
            RunError: if there is none, or it is damaged, or its weights are not available here.
            TrainingError: if its model is not one of this workbench.
            TaskError: if the run's task, which names its tokens, cannot be loaded.
        """
        if run.referenced:
            raise TrainingError(
                f"run {run.name} refers to a pretrained model of another library, but training starts only from "
                "weights that were trained here; choose a run of `lengthlens train`"
            )
        run.load(step)  # which refuses what is missing, damaged or not finite
        tensors = load_file(run.step_path(step) / "model.safetensors")
        start = Start(run=run.id, step=step, sha256=str(run.meta(step)["sha256"]))
        return cls(start, run.task, dict(run.config["model"]), tensors)

    def initial_weights(self, task: Task, cfg: Architecture) -> dict[str, torch.Tensor]:
        """The initial weights of a model of ``cfg`` for ``task``: those of the checkpoint, with tokens matched by name.

        If both tasks have the same vocabulary, the weights are bit-identical to the checkpoint's.

        Raises:
            TrainingError: if the model has another shape, or a token or an answer of the task is unknown to the
                checkpoint.
        """
        self._refuse_another_model(cfg)
        inputs = _rows(self.task.tokens_names, task.tokens_names, "token")
        answers = _answers(self.task, task)
        rows = {"embed.W_E": inputs, "unembed.W_U": answers, "unembed.b_U": answers}
        return {
            name: tensor.index_select(VOCABULARY[name], torch.tensor(rows[name])) if name in VOCABULARY else tensor
            for name, tensor in self.tensors.items()
        }

    def _refuse_another_model(self, cfg: Architecture) -> None:
        checkpoint_cfg = make_config(self.model)
        if type(checkpoint_cfg) is not type(cfg):
            raise TrainingError(
                "the weights to start from are of another architecture; leave out the settings of the model"
            )
        there, here = checkpoint_cfg.model_dump(mode="json"), cfg.model_dump(mode="json")
        for name in sorted((there.keys() | here.keys()) - set(FREE)):
            own, wanted = there.get(name, False), here.get(name, False)  # what is left out is off
            if own != wanted:
                raise TrainingError(
                    f"the weights to start from have model.{name} = {quoted_value(own)}, not {quoted_value(wanted)}; "
                    "leave out the settings of the model"
                )


def _answers(source: Task, target: Task) -> list[int]:
    """The outputs of a model of ``held`` that are those of ``wanted``, in its order."""
    if source.output_names is not None and target.output_names is not None:
        return _rows(source.output_names, target.output_names, "answer")
    if source.output_names is not target.output_names or source.d_vocab_out != target.d_vocab_out:
        raise TrainingError(
            f"{target.name} cannot start from weights of {source.name}: their outputs differ; choose a run of a task "
            "with the same outputs"
        )
    return list(range(target.d_vocab_out))


def _rows(source: Sequence[str], target: Sequence[str], what: str) -> list[int]:
    """Where each name of ``wanted`` stands in ``held``."""
    if tuple(source) == tuple(target):
        return list(range(len(target)))
    place = {name: row for row, name in enumerate(source)}
    missing = [name for name in target if name not in place]
    if missing or len(place) < len(source):
        reason = f"have no {what} {quoted_value(missing[0])}" if missing else f"have two {what}s of the same name"
        raise TrainingError(
            f"the weights to start from {reason}; choose a task whose {what}s are among theirs: "
            f"{', '.join(list(source)[:12])}{' ..' if len(source) > 12 else ''}"
        )
    return [place[name] for name in target]
