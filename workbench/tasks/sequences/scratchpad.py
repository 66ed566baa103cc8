"""Tasks that write intermediate results, with position ids that couple each result with its inputs.

Both are from Golowich et al. 2025, "The Role of Sparsity for Length Generalization in Transformers" (2502.16792).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Int
from pydantic import Field, model_validator
from torch import Tensor

from workbench.tasks.base import Law, TaskError
from workbench.tasks.later_parameter import later
from workbench.tasks.sampling import distinct, integers, outer_margin
from workbench.tasks.sequences.sequence_task import SequenceTask, numbered_names

__all__ = ["ParityScratchpad", "VariableAssignment"]

PAIRED: Mapping[tuple[str, str], Mapping[str, Any]] = {("positions", "rotary"): {"ids": "pose"}}
"""Id sampler for rotary positions. These read differences of ids, so that coupled ids do not help."""
START = "<start>"
ARROW = "<-"


class ParityScratchpad(SequenceTask):
    """Report the parity of the first ``jump``, ``2 jump``, ``3 jump``, ... bits.

    The parity scratchpad of Golowich et al. 2025 ("The Role of Sparsity for Length Generalization in Transformers",
    2502.16792, equation 21). A sequence is ``<bos> b_1 .. b_l <sep> p_1 .. p_m``, where p_i is the parity of the first
    i * jump bits. So each step needs jump + 1 tokens: the parity before and the next jump bits. Lengths are multiples
    of the jump, so that the last p is the parity of all bits.

    Coupled position ids: bit i has the id ceil(i / jump), and p_i the id i; BOS and ``<sep>`` have 0.

    Distributions: all three draw independent fair bits. So every step is a fair coin, given a window on the input or
    the parity before.

    Example: with jump 2, ``1 0 1 1 <sep>`` is answered ``1 1 <eos>``; the ids are 0 1 1 2 2 0 1 2.

        >>> task = ParityScratchpad(jump=2)
        >>> batch = task.label(torch.tensor([[2, 1, 2, 2, 3, 2, 2]]))
        >>> batch.targets[batch.mask].tolist()
        [1, 1, 2]
        >>> batch.position_ids.tolist()
        [[0, 1, 1, 2, 2, 0, 1, 2]]
    """

    name: ClassVar[str] = "parity_scratchpad"
    family: ClassVar[str] = "scratchpad"
    question: ClassVar[str] = "What is the parity of the bits up to the next jump?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "pointer"
    summary: ClassVar[str] = "the next parity on the scratchpad"
    suggested: ClassVar[Mapping[str, Any]] = {
        "lengths": "5-41",
        "positions": "learned",
        "ids": "predicted",
        "n_ctx": 176,
        "steps": 2500,
        "learning_rate": 2e-3,
    }
    suggested_with: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = PAIRED

    jump: int = Field(1, ge=1, le=4)
    """Bits that each step adds."""

    @property
    def alphabet(self) -> tuple[str, ...]:
        return ("0", "1")

    def answer_length(self, inputs: int) -> int:
        return inputs // self.jump

    def drawable(self, inputs: int) -> bool:
        return inputs >= 1 and inputs % self.jump == 0

    @property
    def challenge_is_matched(self) -> str:
        """The clause that bits are fair and independent in every distribution."""
        return "every step is a fair coin, whatever else is seen"

    def _inputs(
        self, batch: int, inputs: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch inputs"], dict[str, Tensor]]:
        return 1 + integers(2, (batch, inputs), generator), {}

    def _outputs(self, x: Int[Tensor, "batch inputs"]) -> Int[Tensor, "batch outputs"]:
        parities = (x - 1).cumsum(1) % 2
        return 1 + parities[:, self.jump - 1 :: self.jump]

    def solve(self, x: Sequence[str]) -> list[str]:
        return [str("".join(x[:end]).count("1") % 2) for end in range(self.jump, len(x) + 1, self.jump)]

    def coupled_ids(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> Int[Tensor, "batch pos"] | None:
        position = self._separator_place(strings)
        bits = torch.arange(position, device=strings.device) // self.jump + 1
        steps = torch.arange(strings.shape[1] - position, device=strings.device)
        return torch.cat([bits.new_zeros(1), bits, steps]).expand(len(strings), -1)

    def chance(self, law: Law, length: int) -> float:
        """Return 2^-m: every scratchpad is equally likely."""
        return 0.5 ** self.answer_length(self.input_length(length) or 0)


class VariableAssignment(SequenceTask):
    """Report the value of a variable at the end of a chain of assignments.

    From Golowich et al. 2025 (2502.16792, equation 22): w chains of assignments ``v_1 <- v_2``, ..., ``v_d <- v_(d+1)``
    are interleaved uniformly at random, in order inside each chain. All variables are different. The input is ``v_1
    <start>`` with v_1 of the queried chain, and then all assignments, three tokens each. The scratchpad writes the
    assignments of that chain.

    Coupled position ids: tokens of the input have their positions, from 1 on; BOS and ``<sep>`` have 0. Each assignment
    on the scratchpad has the three ids of its copy in the input. Without a scratchpad the answer is only the last
    variable of the chain, with the id of its copy.

    Distributions: *training* and *matched* as above. *challenge* places the whole queried chain outside the first and
    the last N tokens (N = the longest training length), uniformly over the choices of positions. The chain may be
    anywhere up to length 2N, and if fewer than 2d assignments fit there.

    A window hides assignments, not ``v_1 <start>``.

    Example: with depth 2, ``v0 <start> v3 <- v4 v0 <- v1 v1 <- v2 v4 <- v5 <sep>`` is answered ``v0 <- v1 v1 <- v2
    <eos>``.

        >>> task = VariableAssignment(depth=2, variables=6)
        >>> names = "v0 <start> v3 <- v4 v0 <- v1 v1 <- v2 v4 <- v5 <sep> v0 <- v1 v1 <- v2".split()
        >>> batch = task.label(torch.tensor([[task.tokens_names.index(name) for name in names]]))
        >>> [task.output_names[answer] for answer in batch.targets[batch.mask]]
        ['v0', '<-', 'v1', 'v1', '<-', 'v2', '<eos>']
        >>> batch.position_ids[0].tolist()
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0, 6, 7, 8, 9, 10, 11]
    """

    name: ClassVar[str] = "variable_assignment"
    family: ClassVar[str] = "scratchpad"
    question: ClassVar[str] = "Which token comes next when the assignments that lead from a variable are written out?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "pointer"
    summary: ClassVar[str] = "the next token of the chain of assignments"
    suggested: ClassVar[Mapping[str, Any]] = {
        "lengths": "15-33",
        "positions": "learned",
        "ids": "predicted",
        "n_ctx": 160,
        # Finding the first assignment takes three attention steps: <start> reads the variable before it, <sep> reads
        # <start>, and then <sep> looks the variable up.
        "layers": 3,
        "heads": 2,
        "steps": 4000,
        "learning_rate": 2e-3,
    }
    suggested_with: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = PAIRED

    depth: int = Field(2, ge=1, le=8)
    """Assignments in a chain."""
    variables: int = Field(256, ge=2, le=4096)
    """Number of variables to draw from; w chains need w (depth + 1) of them."""
    scratchpad: bool = later(True)
    """Whether the answer is the whole chain, or only its last variable."""

    @model_validator(mode="after")
    def _chain_fits(self) -> VariableAssignment:
        if self.variables <= self.depth:
            raise TaskError(
                f"variables must be at least depth + 1 = {self.depth + 1}, because the variables of a "
                f"chain differ, not {self.variables}"
            )
        return self

    @property
    def alphabet(self) -> tuple[str, ...]:
        return (*numbered_names("v", self.variables), ARROW, START)

    @property
    def answer_alphabet(self) -> tuple[str, ...]:
        return (*numbered_names("v", self.variables), ARROW)

    @property
    def _arrow(self) -> int:
        return self.variables + 1

    def answer_length(self, inputs: int) -> int:
        return 3 * self.depth if self.scratchpad else 1

    def _chains(self, inputs: int) -> int:
        """Return the number of chains in an input with this many tokens."""
        return (inputs - 2) // (3 * self.depth)

    def drawable(self, inputs: int) -> bool:
        chains = self._chains(inputs)
        whole = inputs - 2 == 3 * self.depth * chains
        return whole and chains >= 1 and chains * (self.depth + 1) <= self.variables

    def next_length(self, length: int | float) -> int:
        chains = self.variables // (self.depth + 1)
        longest = 3 + 3 * self.depth * chains + self.answer_length(0)
        if length > longest:
            raise TaskError(
                f"{self.name} has sequences of up to {longest} tokens with {self.variables} variables, "
                f"not of {math.ceil(length)}; give it more variables"
            )
        return super().next_length(length)

    # ---- drawing -----------------------------------------------------------------------------
    def _inputs(
        self, batch: int, inputs: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch inputs"], dict[str, Tensor]]:
        chains = self._chains(inputs)
        variables = 1 + distinct(self.variables, batch, chains * (self.depth + 1), generator)
        chain = variables.view(batch, chains, self.depth + 1)
        left, right = chain[:, :, :-1].flatten(1), chain[:, :, 1:].flatten(1)
        positions = self._places(batch, chains, generator, law, window).flatten(1)
        body = torch.full((batch, positions.shape[1], 3), self._arrow, device=generator.device)
        body[:, :, 0].scatter_(1, positions, left)
        body[:, :, 2].scatter_(1, positions, right)
        start = torch.full_like(variables[:, :1], self._arrow + 1)
        return torch.cat([variables[:, :1], start, body.flatten(1)], 1), {}

    def _places(
        self, batch: int, chains: int, generator: torch.Generator, law: Law, window: int | None
    ) -> Int[Tensor, "batch chains depth"]:
        """Return the index in the input, from 0 on, of each assignment of each chain; chain 0 is the queried one."""
        total = chains * self.depth
        noise = torch.rand((batch, total), generator=generator, device=generator.device)
        if law == "challenge":
            first = 2 + 3 * torch.arange(total, device=generator.device)
            length = 2 + 3 * total + 1 + self.answer_length(0)
            margin = outer_margin(length, window)
            inside = (first >= margin) & (first + 2 < length - margin)
            if int(inside.sum()) >= 2 * self.depth:  # fewer would nearly determine the chain's positions
                queried = noise.masked_fill(~inside, 2.0).topk(self.depth, dim=1, largest=False).indices
                noise = torch.rand((batch, total), generator=generator, device=generator.device)
                noise.scatter_(1, queried, -1.0)
        # In the order of the noise the first positions go to chain 0, the next ones to chain 1, and so on.
        return noise.argsort(1).view(batch, chains, self.depth).sort(2).values

    # ---- answering ---------------------------------------------------------------------------
    def _walk(self, x: Int[Tensor, "batch inputs"]) -> tuple[Int[Tensor, "batch steps"], Int[Tensor, "batch chain"]]:
        """Return the index (from 0) in the input of each assignment of the queried chain, and its depth + 1 variables.

        Both are 0 after the chain breaks.
        """
        if x.shape[1] < 5 or x.shape[1] % 3 != 2:
            raise TaskError(f"{self.name} takes a variable, {START} and assignments of three tokens each")
        left, right = x[:, 2::3], x[:, 4::3]
        variables, positions = [x[:, :1]], []
        for _ in range(self.depth):
            hit, at = (left == variables[-1]).byte().max(1, keepdim=True)
            positions.append((2 + 3 * at) * hit)
            variables.append(right.gather(1, at) * hit)
        return torch.cat(positions, 1), torch.cat(variables, 1)

    def _outputs(self, x: Int[Tensor, "batch inputs"]) -> Int[Tensor, "batch outputs"]:
        _, variables = self._walk(x)
        if not self.scratchpad:
            return variables[:, -1:]
        arrows = torch.full_like(variables[:, 1:], self._arrow)
        return torch.stack([variables[:, :-1], arrows, variables[:, 1:]], 2).flatten(1)

    def solve(self, x: Sequence[str]) -> list[str]:
        value = {x[i]: x[i + 2] for i in range(2, len(x), 3)}
        tokens: list[str] = []
        variable = x[0]
        for _ in range(self.depth):
            tokens += [variable, ARROW, value[variable]]
            variable = value[variable]
        return tokens if self.scratchpad else [variable]

    def coupled_ids(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> Int[Tensor, "batch pos"] | None:
        position = self._separator_place(strings)
        positions, _ = self._walk(strings[:, :position])
        body = torch.arange(position + 1, device=strings.device).expand(len(strings), -1)
        copies = (positions[:, :, None] + 1 + torch.arange(3, device=strings.device)).flatten(1)
        copies = copies if self.scratchpad else copies[:, -1:]
        ids = torch.cat([body, torch.zeros_like(body[:, :1]), copies], 1)
        return ids[:, : strings.shape[1] + 1]

    # ---- baselines ---------------------------------------------------------------------------
    def chance(self, law: Law, length: int) -> float:
        """Return 1 / (V (V-1) .. (V-d)): d + 1 different variables are written; 1 / V if only one is."""
        return 1 / math.perm(self.variables, self.depth + 1 if self.scratchpad else 1)

    def _guess(self, x: Int[Tensor, "batch inputs"], seen: int, first: bool) -> Int[Tensor, "batch outputs"]:
        position = torch.arange(x.shape[1], device=x.device)
        visible = position < seen if first else position >= x.shape[1] - seen
        visible[:2] = True
        visible[2:] = visible[2:].view(-1, 3).all(1).repeat_interleave(3)
        return self._outputs(torch.where(visible, x, 0))
