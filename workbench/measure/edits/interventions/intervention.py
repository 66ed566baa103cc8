"""The base classes of interventions: name, label, family, control, and an edit of one activation of a forward pass.

This module imports no torch, so that figures and the dashboard can read names and labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal, Self

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

    from workbench.models.base.architecture import Architecture
    from workbench.models.positions.encoding import Encoding
    from workbench.models.transformer.scores import ScoreInputs

Family = Literal["P", "D", "K", "T", "C"]


@dataclass(frozen=True)
class Cause:
    """The cause that a family of interventions tests.

    Attributes:
        label: as in rows of ``entry``.
        recurrent: the label for models that carry a state from step to step instead of attending to tokens.
    """

    label: str
    recurrent: str = ""

    def of(self, recurrent: bool) -> str:
        """Return the label for a model that is recurrent or not."""
        return self.recurrent if recurrent and self.recurrent else self.label


FAMILIES: dict[Family, Cause] = {
    "P": Cause("position"),
    "D": Cause("keys"),
    "K": Cause("keys"),
    "T": Cause("steps"),
    "C": Cause("keys or content", "steps or content"),
}
"""The families of interventions, in the order in which a diagnosis tests them.

P replaces position ids, or lags, by values inside the trained range. D keeps the attention weight on the preferred keys
of a head while the number of keys grows. K keeps the weight of one key, or the scale of a head's output, at its value
at N. T lets a recurrent state forget over a whole sequence what it forgot in N steps. C moves the residual stream's
last row to its mean and scale at N.
"""

Moments = tuple["Float[Tensor, ' d_model']", "Float[Tensor, ' d_model']"]
"""Mean and standard deviation of a row, per dimension."""


@dataclass
class Statistics:
    """Statistics of the last query on sequences of one length, by layer, from which interventions are computed.

    Attributes:
        rms: root mean square of each head's output.
        mass: mean weight of each head on its gap set.
        moments: mean and standard deviation of the row after each block, with equal weight for every answer class.
    """

    rms: dict[int, Float[Tensor, " head"]] = field(default_factory=dict)
    mass: dict[int, Float[Tensor, " head"]] = field(default_factory=dict)
    moments: dict[int, Moments] = field(default_factory=dict)


@dataclass(frozen=True)
class Inside:
    """Facts about training that interventions need.

    Attributes:
        last: the last position id at N.
        keys: K_N, the number of keys that the last query at N sees.
        top: the largest id seen in training.
        sinks: by layer, the key that ``K.sink`` raises for each head; -1 = none.
        statistics: statistics of clean passes at N.
    """

    last: int
    keys: int
    top: int
    sinks: Mapping[int, Tensor]
    statistics: Statistics


@dataclass(frozen=True)
class Intervention:
    """One edit of a forward pass. A subclass defines the edited activation and the change.

    Its control is the same kind of edit with the wrong constant. A control that destroys the model's answers proves
    nothing. Reports therefore show what the control costs at N, and subtract what it recovers.

    Attributes:
        name: as in the column ``target``, e.g. ``P.int``.
        words: what it does, in a few words, for labels.
        description: what it does, in the plural, for sentences.
        wrong: whether it is the control, with the wrong constant.
    """

    name: str
    words: str
    description: str
    wrong: bool = field(default=False, kw_only=True)
    family: ClassVar[Family]
    single_pass: ClassVar[bool] = False
    """Whether it edits every query alike and needs no statistics of other sequences; *Try it* offers only these."""
    diagnosed: ClassVar[bool] = True
    """Whether a diagnosis tests it. Others can be named in *Try it*, in notebooks and by ``lengthlens ablate``."""
    fitted: ClassVar[bool] = False
    """Whether it uses statistics of sequences of the evaluated length."""

    @property
    def control(self) -> Self:
        """Return the control: the same kind of edit with a wrong constant."""
        return replace(self, wrong=True)

    def expand(self, cfg: Architecture) -> list[Intervention]:
        """Return the interventions for a model: this one, unless it has one per block."""
        return [self]

    def match(self, name: str) -> Intervention | None:
        """Return the intervention of this entry with a stored name, or None."""
        return self if name == self.name else None

    def no_place(self, cfg: Architecture) -> str:
        """Return why a model does not support it, in a clause; "" if the model does."""
        raise NotImplementedError

    def has_strengths(self, cfg: Architecture) -> bool:
        """Return whether a strength between 0 and 1 has a meaning for a model."""
        return False

    def no_effect(self, inside: Inside) -> str:
        """Return why the intervention cannot change anything, given facts of training, as a clause; "" if it may change
        something.
        """
        return ""


# ---- which models support which interventions ------------------------------------------------------
def is_recurrent(cfg: Architecture) -> bool:
    """Return whether a model carries a state from step to step instead of reading keys."""
    return cfg.mixes_by != "attention"


def no_ids(cfg: Architecture) -> str:
    """Return why position ids cannot be edited, in a clause; "" if they can."""
    if not cfg.positions.reads_ids:
        return "the model reads no position ids"
    return "its ids are roles that the task gives, not places" if cfg.ids.coupled else ""


def no_attention(cfg: Architecture) -> str:
    """Return why attention cannot be edited, in a clause; "" if it can."""
    return "the model has no attention" if is_recurrent(cfg) else ""


def no_softmax(cfg: Architecture) -> str:
    """Return why scores before softmax cannot be edited, in a clause; "" if they can."""
    if why := no_attention(cfg):
        return why
    return "" if cfg.attention == "softmax" else f"its attention is {cfg.attention}, not by softmax"


# ---- which activation an edit changes, in the order of a forward pass -------------------------------
@dataclass(frozen=True)
class TrainedIds:
    """Facts about training and the encoding that an edit of position ids needs.

    Attributes:
        last: the last id at N; ids up to it count as inside training.
        top: the largest id seen in training.
        between: whether the encoding reads fractional ids (``Encoding.between``).
        absolute: whether the encoding reads ids absolutely (``Encoding.absolute``). It decides what the wrong constant
            is.
    """

    last: int
    top: int
    between: bool
    absolute: bool


@dataclass(frozen=True)
class IdEdit(Intervention):
    """An edit of the position ids of a pass."""

    family: ClassVar[Family] = "P"
    single_pass: ClassVar[bool] = True

    def no_place(self, cfg: Architecture) -> str:
        return no_ids(cfg)

    def has_strengths(self, cfg: Architecture) -> bool:
        """Return whether the encoding reads the ids between a token's own one and the edited one."""
        return cfg.positions.between

    def edit(self, ids: Tensor, trained: TrainedIds) -> Tensor:
        """Return position ids under this edit; ids that are all inside training are unchanged.

        Args:
            ids: ``[batch or 1, pos]``, ascending.
            trained: which ids are inside training.
        """
        import torch

        end, last = ids.amax(1, keepdim=True), trained.last
        if bool((end <= last).all()):
            return ids
        inside = self.inside(ids, end, trained)
        if not self.wrong:
            return inside
        # The wrong constant. Ids read as themselves: as many, in the same order, but from the end of the sequence,
        # which is outside the trained range; the first token keeps its own. Ids read by their differences: these
        # stretched back to the sequence's length.
        if trained.absolute:
            moved = torch.minimum(inside + (end - last), end)
            return torch.cat([inside[:, :1], moved[:, 1:]], 1)
        stretch = end.double() / last if trained.between else torch.div(end + last - 1, last, rounding_mode="floor")
        return inside * stretch

    def inside(self, ids: Tensor, end: Tensor, trained: TrainedIds) -> Tensor:
        """Return ids inside the trained range; ``end``: ``[batch or 1, 1]``, the last id of each sequence."""
        raise NotImplementedError


@dataclass(frozen=True)
class ScoresContext:
    """The scores that an edit changes: some queries of one layer, over the keys up to the last of them.

    Attributes:
        layer: index of the block.
        inputs: the inputs from which the layer computes its scores.
        raw: queries and keys before the encoding rotates them.
        ids: position ids of the pass ``[batch or 1, pos]``.
        queries: indices of the queries.
        encoding: position encoding of the model.
        inside: facts about training.
        last: the last id that counts as inside training.
        trial: whether this is a trial at N.
    """

    layer: int
    inputs: ScoreInputs
    raw: tuple[Tensor, Tensor]
    ids: Tensor
    queries: range
    encoding: Encoding
    inside: Inside
    last: int
    trial: bool

    def visible_keys(self, like: Tensor) -> Float[Tensor, " query"]:
        """Return the number of keys that each query sees, in the dtype and on the device of ``like``."""
        return like.new_tensor([float(query + 1) for query in self.queries])


@dataclass(frozen=True)
class ScoreEdit(Intervention):
    """An edit of attention scores before softmax."""

    order: ClassVar[int]
    """Position among the edits of scores in one pass."""
    reads_raw: ClassVar[bool] = False
    """Whether it needs queries and keys before the encoding rotates them."""

    def no_place(self, cfg: Architecture) -> str:
        return no_softmax(cfg)

    def edit(self, scores: Float[Tensor, "batch head query key"], at: ScoresContext) -> Tensor:
        """Return scores ``[batch, head, query, key]`` under this edit."""
        raise NotImplementedError


@dataclass(frozen=True)
class LastQuery:
    """The head outputs that an edit changes: those of the last query of one layer.

    Attributes:
        layer: index of the block.
        scores: returns ``[batch, head, key]``, after the edits of scores in the same pass.
        values: ``[batch, pos, head, d_head]``.
        inside: statistics at N.
        outside: statistics at n.
    """

    layer: int
    scores: Callable[[], Float[Tensor, "batch head key"]]
    values: Float[Tensor, "batch pos head d_head"]
    inside: Statistics
    outside: Statistics


@dataclass(frozen=True)
class HeadOutputEdit(Intervention):
    """An edit of the last query's head outputs."""

    order: ClassVar[int]
    """Position among the edits of head outputs in one pass."""

    def no_place(self, cfg: Architecture) -> str:
        return no_softmax(cfg)

    def fit(self, outputs: Float[Tensor, "batch head d_head"], at: LastQuery) -> None:
        """Store the statistics at n that the edit needs, from head outputs."""

    def edit(self, outputs: Float[Tensor, "batch head d_head"], at: LastQuery) -> Tensor:
        """Return head outputs ``[batch, head, d_head]`` under this edit."""
        raise NotImplementedError


@dataclass(frozen=True)
class GateEdit(Intervention):
    """An edit of the gates by which a recurrent state forgets."""

    def no_place(self, cfg: Architecture) -> str:
        if not is_recurrent(cfg):
            return "the model keeps no state from step to step"
        return "" if cfg.mixes_by == "scan" else f"the state of a {cfg.title} is not a sum with a gate for each part"

    def edit(self, gates: Float[Tensor, "batch pos d_inner d_state"], keys: float) -> Tensor:
        """Return gates under this edit; ``keys``: number of positions of a sequence inside training."""
        raise NotImplementedError


@dataclass(frozen=True)
class RowEdit(Intervention):
    """An edit of the residual stream's last row after a block, with statistics at n and at N.

    Attributes:
        layer: index of the block; None in the entry that represents all blocks.
    """

    layer: int | None = field(default=None, kw_only=True)
    fitted: ClassVar[bool] = True

    def no_place(self, cfg: Architecture) -> str:
        """Return "": every model has a residual stream."""
        return ""

    def expand(self, cfg: Architecture) -> list[Intervention]:
        """Return one intervention per block."""
        return [self.after(layer) for layer in range(cfg.n_layers)]

    def match(self, name: str) -> Intervention | None:
        """Return the intervention after the block that a stored name contains, e.g. ``C.pool0``, or None."""
        block = name.removeprefix(self.name)
        return self.after(int(block)) if block != name and block.isdecimal() else super().match(name)

    def after(self, layer: int) -> Self:
        """Return this intervention after one block."""
        return replace(self, name=f"{self.name}{layer}", words=f"{self.words}, block {layer}", layer=layer)

    def edit(self, row: Float[Tensor, "batch d_model"], outside: Moments, inside: Moments) -> Tensor:
        """Return rows ``[batch, d_model]`` under this edit.

        Args:
            row: the last row of each sequence.
            outside: moments of rows at n.
            inside: moments of rows at N.
        """
        raise NotImplementedError
