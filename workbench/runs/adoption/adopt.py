"""Imports foreign TransformerLens checkpoints as a run: the same weights in our format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor

from workbench.models.interop.upstream_lens import (
    FOLDED,
    UpstreamError,
    fields_of_config,
    fields_of_weights,
    our_weights,
)
from workbench.models.positions.registry import ENCODINGS, those_with
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer
from workbench.runs.adoption.checkpoint_files import checkpoint_files, read_weights
from workbench.runs.adoption.store_foreign import Checkpoint, config_of, store
from workbench.runs.adoption.token_order import TokenOrder, token_order
from workbench.runs.errors import RunError
from workbench.runs.evaluation_ids import check_training_ids
from workbench.runs.run import Run, sha256_of
from workbench.runs.weights import fill
from workbench.storage import bounded
from workbench.storage.bounded import read_bytes
from workbench.storage.seal import json_object
from workbench.tasks.base import Task
from workbench.tasks.random_generator import generator


@dataclass(frozen=True)
class Foreign:
    """The checkpoints of a run that another program trained, and the facts that the user states about them.

    Attributes:
        source: the folder of checkpoint files.
        task: the task; its token and answer ids are the model's.
        lengths: shortest and longest prefix length in training.
        stated: fields of ModelConfig that neither files nor config contain, or that replace their values.
        config: a JSON file with TransformerLens's config; None = ``config.json`` in the folder, if it exists.
        files: which files to take; None = all.
        tokens, bos: the order of the model's vocabulary, see :func:`workbench.runs.adoption.token_order.token_order`;
            None = the task's.
    """

    source: Path
    task: Task
    lengths: tuple[int, int]
    stated: Mapping[str, Any] = field(default_factory=dict)
    config: Path | None = None
    files: str | None = None
    tokens: tuple[int, ...] | None = None
    bos: int | None = None


def adopt(foreign: Foreign, out: Path) -> Run:
    """Write a run folder with the weights of every foreign checkpoint.

    All files are read and checked before anything is written. If the call was interrupted, the same call continues it.

    Raises:
        RunError: for the first thing that is missing or does not fit, naming the file.
        PositionError: if the position scheme cannot read the training lengths.
    """
    files = checkpoint_files(foreign.source, foreign.files)
    first = read_weights(files[0][1])
    order = order_of(foreign, files[0][1], first)
    cfg = transformer_config(foreign, files[0][1], first, order)
    low, high = foreign.lengths
    longest = max(foreign.task.lengths(low, high))
    check_training_ids(foreign.task, cfg, longest)
    _refuse_larger(files[0][1], cfg, first)
    model = HookedTransformer(cfg)
    tokens = foreign.task.sample(TRIED, longest, generator("adopt", longest), "training").tokens
    for _, path in files:
        _fill(model, path, order)
        _refuse_overflow(model, path, tokens)
    adopted = {path.relative_to(foreign.source).as_posix(): sha256_of(path) for _, path in files}
    config = config_of(
        foreign.task,
        cfg,
        foreign.lengths,
        {"adopted": adopted, "steps": files[-1][0], **({"tokens": list(order.tokens)} if order else {})},
        "as stated when the checkpoints were adopted",
    )
    checkpoints = [_checkpoint(foreign, model, step, path, order) for step, path in files]
    return store(out, config, checkpoints, _trained_ids(cfg, longest + foreign.task.bos))


def _checkpoint(
    foreign: Foreign, model: HookedTransformer, step: int, path: Path, order: TokenOrder | None
) -> Checkpoint:
    """A checkpoint of one file, which is loaded into the model when the checkpoint is stored."""

    def filled() -> HookedTransformer:
        _fill(model, path, order)
        return model

    source = path.relative_to(foreign.source).as_posix()
    return Checkpoint(step, filled, {"source": source, "source_sha256": sha256_of(path)})


def order_of(foreign: Foreign, path: Path, weights: Mapping[str, Tensor]) -> TokenOrder | None:
    """Return the order of the model's vocabulary, as the user states it; None if it is that of the task.

    Raises:
        RunError: if the weights are not a state dict of a HookedTransformer, or for ids that it does not have.
    """
    try:
        fields = fields_of_weights(weights)
    except UpstreamError as error:
        raise RunError(f"{path}: {error}") from None
    return token_order(foreign.task, fields["d_vocab"], fields["d_vocab_out"], foreign.tokens, foreign.bos)


def _refuse_larger(path: Path, cfg: ModelConfig, weights: Mapping[str, Tensor]) -> None:
    """Refuse a config with more numbers than the file contains, before a model is made from it."""
    held = sum(tensor.numel() for tensor in weights.values())
    if cfg.least_numbers > held:
        raise RunError(
            f"{path}: it contains {held:,} numbers, but a model with this configuration has at least "
            f"{cfg.least_numbers:,}; give the configuration that belongs to the file"
        )


def transformer_config(
    foreign: Foreign, path: Path, weights: Mapping[str, Tensor], order: TokenOrder | None = None
) -> ModelConfig:
    """The config of the model that a file's weights belong to: from their shapes, the file's config, and stated fields.

    Its vocabulary is in the task's order.

    Raises:
        RunError: if these contradict each other or leave a field unknown, or if the model does not fit the task.
    """
    try:
        fields = fields_of_weights(weights)
    except UpstreamError as error:
        raise RunError(f"{path}: {error}") from None
    config = foreign.config or foreign.source / "config.json"
    if foreign.config is not None or config.exists():
        fields = _joined(config, fields, path)
    if order is not None:
        fields["d_vocab"] = len(order.tokens)
        fields["d_vocab_out"] = fields["d_vocab_out"] if order.outputs is None else len(order.outputs)
    fields = {**fields, **foreign.stated}
    fields.setdefault("n_ctx", foreign.lengths[1] + foreign.task.bos)
    _complete(path, fields)
    try:
        cfg = ModelConfig(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        said = str(first["msg"]).removeprefix("Value error, ")
        raise RunError(f"{path}: no model can be built from it: {where + ': ' if where else ''}{said}") from None
    task = foreign.task
    if (cfg.d_vocab, cfg.d_vocab_out) != (task.d_vocab, task.d_vocab_out):
        raise RunError(
            f"{path}: its model has {cfg.d_vocab} tokens and {cfg.d_vocab_out} outputs, but {task.name} "
            f"has {task.d_vocab} and {task.d_vocab_out}; if its tokens differ or have another order, list those of the "
            "task with --tokens"
        )
    return cfg


def _joined(config: Path, shapes: dict[str, Any], path: Path) -> dict[str, Any]:
    """The fields of the config, which must agree with those that follow from the shapes."""
    try:
        config_fields = fields_of_config(json_object(read_bytes(config, bounded.RUN_JSON)))
    except (OSError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError) as error:
        said = str(error) if isinstance(error, UpstreamError) else f"it is no JSON object that can be read ({error})"
        raise RunError(f"{config}: {said}") from None
    shapes = {k: v for k, v in shapes.items() if k != "n_ctx" or ENCODINGS[config_fields["positions"]["name"]].table}
    for name in config_fields.keys() & shapes.keys():
        if config_fields[name] != shapes[name]:
            raise RunError(f"{config} has {name} = {config_fields[name]!r}, but in {path} it is {shapes[name]!r}")
    return {**shapes, **config_fields}


def _complete(path: Path, fields: Mapping[str, Any]) -> None:
    """Refuse missing fields that the shapes do not determine, instead of guessing them."""
    questions = {
        "positions": f"which positions does it read? ({those_with(lambda encoding: bool(encoding.upstream))})",
        "act_fn": "which activation do its MLPs have? (gelu, gelu_new, relu or silu)",
        "normalization_type": f"it holds no LayerNorm weights: either it has none (then null), or {FOLDED}",
    }
    for name, question in questions.items():
        if name not in fields and not (name == "act_fn" and fields.get("attn_only")):
            raise RunError(f"{path}: {question}; set --set model.{name}=..., or put config.json into its folder")


def _fill(model: HookedTransformer, path: Path, order: TokenOrder | None) -> None:
    """Load one file into the model, in the order of the task's tokens; anything that does not fit is refused."""
    try:
        held = read_weights(path)
        if order is not None:
            _refuse_other_vocabulary(path, held, order)
            held = order.apply(held)
        weights = our_weights(model.cfg, held)
    except UpstreamError as error:
        raise RunError(f"{path}: {error}") from None
    norms = "blocks.0.ln1.w"
    if model.cfg.normalization_type == "LN" and norms not in weights:
        raise RunError(f"{path}: it contains no LayerNorm weights; {FOLDED}")
    fill(model, weights, str(path))


TRIED = 4
"""Sequences on which the logits of every file must be finite."""


def _refuse_overflow(model: HookedTransformer, path: Path, tokens: Tensor) -> None:
    with torch.no_grad():
        if not bool(model(tokens).isfinite().all()):
            raise RunError(f"{path}: the logits of its model are not finite; its weights are too large or damaged")


def _refuse_other_vocabulary(path: Path, weights: Mapping[str, Tensor], order: TokenOrder) -> None:
    """Refuse a file that has fewer tokens or outputs than the first one."""
    fields = fields_of_weights(weights)
    if max(order.tokens) >= fields["d_vocab"] or max(order.outputs or (0,)) >= fields["d_vocab_out"]:
        raise RunError(f"{path}: its model has {fields['d_vocab']} tokens, and --tokens names {max(order.tokens)}")


def _trained_ids(cfg: ModelConfig, positions: int) -> list[list[int]]:
    """Position ids that training may have used. TransformerLens's are 0, 1, 2, ... unless the user states another id
    sampler.
    """
    return [[0, positions - 1]] if cfg.ids.name == "arange" else [[0, cfg.n_ctx - 1]]
