"""Models whose vocabulary has another order than their task's: maps the task's tokens to the model's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch import Tensor

from workbench.runs.errors import RunError
from workbench.tasks.base import Task


@dataclass(frozen=True)
class TokenOrder:
    """The token ids of a model in the order of the task's token ids.

    Attributes:
        tokens: the model's token id for each of the task's.
        outputs: the model's output id for each of the task's; None = they are the same.
    """

    tokens: tuple[int, ...]
    outputs: tuple[int, ...] | None = None

    def apply(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """A state dict of TransformerLens in the order of the task: rows of ``W_E``, columns of ``W_U`` and ``b_U``."""
        chosen = {**weights, "embed.W_E": weights["embed.W_E"][list(self.tokens)]}
        if self.outputs is not None:
            for name in {"unembed.W_U", "unembed.b_U"} & weights.keys():
                chosen[name] = weights[name][..., list(self.outputs)].contiguous()
        return chosen


def token_order(
    task: Task, d_vocab: int, d_vocab_out: int, tokens: Sequence[int] | None = None, bos: int | None = None
) -> TokenOrder | None:
    """The order of a model's vocabulary as the user states it; None if nothing is stated.

    Outputs follow the order of tokens if the model has an output for each token and the task's answers are tokens.

    Args:
        task: the task.
        d_vocab, d_vocab_out: number of tokens and outputs of the model.
        tokens: the model's token id for each of the task's.
        bos: the model's id of BOS, if the other tokens have the task's order.

    Raises:
        RunError: for ids that the model does not have, for too many or too few ids, or for repeated ids.
    """
    if bos is not None:
        tokens = _behind_bos(task, d_vocab, bos)
    if tokens is None:
        return None
    names = task.tokens_names
    if len(tokens) != len(names):
        raise RunError(
            f"--tokens names {len(tokens):,} tokens, but {task.name} has {len(names):,}, in this order: "
            f"{', '.join(names[:12])}{', ...' if len(names) > 12 else ''}"
        )
    if len({*tokens}) < len(tokens):
        raise RunError(f"--tokens names a token of the model twice; name each once: {', '.join(map(str, tokens[:40]))}")
    if beyond := [token for token in tokens if not 0 <= token < d_vocab]:
        raise RunError(
            f"--tokens names the token {beyond[0]}, but those of the model are 0 to {d_vocab - 1}; correct it"
        )
    place = dict(zip(names, tokens, strict=True))
    answers = task.output_names or ()
    over_tokens = d_vocab_out == d_vocab and bool(answers) and all(name in place for name in answers)
    return TokenOrder(tuple(tokens), tuple(place[name] for name in answers) if over_tokens else None)


def _behind_bos(task: Task, d_vocab: int, bos: int) -> list[int]:
    if not task.bos:
        raise RunError(f"{task.name} has no <bos> token, so --bos has no effect; use --tokens")
    if not 0 <= bos < d_vocab:
        raise RunError(f"--bos names the token {bos}, but those of the model are 0 to {d_vocab - 1}; correct it")
    return [bos, *(token for token in range(d_vocab) if token != bos)][: task.d_vocab]
