"""What is asked of a model of transformers against its own forward pass: 135 M weights, a window of 8,192 tokens.

    python -m benchmarks.measurements.pretrained

Of the shape of SmolLM2-135M (30 layers, 9 heads on 3 keys, 49,152 tokens) with random weights, so that nothing is
fetched: time and memory do not depend on what they are. The peer is transformers' own model with its ``sdpa``, whose
logits are asked behind the last tokens alone, as ours are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from benchmarks.tools.memory import peak_mib
from benchmarks.tools.table import Line, Times, interleaved, show

LENGTH, LONG = 1024, 4096
ANSWERS = 16
SHAPE: dict[str, Any] = {
    "vocab_size": 49_152, "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
    "num_attention_heads": 9, "num_key_value_heads": 3, "max_position_embeddings": 8192, "tie_word_embeddings": True,
    "rope_parameters": {"rope_type": "default", "rope_theta": 100_000.0},
}  # fmt: skip


def module(attention: str) -> Any:
    """The model, with an attention function by name."""
    from transformers import LlamaConfig, LlamaForCausalLM

    from workbench.models.interop.hugging_face.adapter import register
    from workbench.models.interop.hugging_face.large_blocks import return_large_blocks

    register()
    return_large_blocks()  # as opening a folder does
    torch.manual_seed(0)
    made: Any = LlamaForCausalLM._from_config(LlamaConfig(**SHAPE), attn_implementation=attention)
    return made.eval()


def setting(length: int) -> tuple[Any, Any]:
    """Our model, and one string whose last answers are asked."""
    from workbench.models.interop.hugging_face.adapter import ATTENTION, PretrainedModel
    from workbench.tasks import make_task
    from workbench.tasks.random_generator import generator

    task = make_task("parity")
    batch = task.sample(1, length - int(task.bos), generator("benchmark", length), "matched")
    mask = batch.mask.clone()
    mask[:, :-ANSWERS] = False
    return PretrainedModel(module(ATTENTION)), replace(batch, mask=mask)


def behaviour(model: Any, batch: Any) -> Any:
    """Logits behind the last tokens."""
    asked = torch.arange(batch.tokens.shape[1] - ANSWERS, batch.tokens.shape[1])
    with torch.no_grad():
        return model(batch.tokens, positions=asked)


def every_query(model: Any, batch: Any) -> Any:
    """Largest weight, entropy, mean lag and mass on three keys, of all queries and heads."""
    from circuits.attention.all_queries import sweep_statistics

    return sweep_statistics(model, batch)


def answer_rows(model: Any, batch: Any) -> Any:
    """Every statistic of ``circuits.hardmax`` of the last queries of all heads."""
    from circuits import hardmax_statistics

    return hardmax_statistics(model, batch, window=ANSWERS, resamples=20)


def contestants(dtype: torch.dtype) -> dict[str, Callable[[], object]]:
    """By name, on one string."""
    model, batch = setting(LENGTH)
    model.module.to(dtype)
    peer = module("sdpa").to(dtype)

    def fused() -> None:
        with torch.no_grad():
            peer(input_ids=batch.tokens, use_cache=False, logits_to_keep=ANSWERS)

    return {
        "sdpa": fused,
        "behaviour": lambda: behaviour(model, batch),
        "every query": lambda: every_query(model, batch),
        "answer rows": lambda: answer_rows(model, batch),
    }


def peak(what: str) -> float:
    """MiB that one string of the long length adds to a process that holds the model."""
    setup = (
        "from benchmarks.measurements import pretrained as p\n"
        "model, batch = p.setting(64)\n"
        f"p.{what}(model, batch)\n"
        f"batch = p.setting({LONG})[1]\n"
        "import gc; gc.collect()"
    )
    return peak_mib(setup, f"p.{what}(model, batch)")


BOUNDS = {"behaviour": 1.1, "every query": 2.5, "answer rows": 1.15}


def measure(rounds: int = 5) -> list[Line]:
    times = interleaved(contestants(torch.float32), rounds, warm=1)
    halves = interleaved(contestants(torch.bfloat16), rounds, warm=1)
    lines = [_line(name, times, bound, "float32") for name, bound in BOUNDS.items()]
    lines.append(_line("answer rows", halves, None, "bfloat16"))
    short = halves.median("sdpa") / times.median("sdpa")
    lines.append(
        Line("transformers' sdpa, 135 M weights", "bfloat16 / float32, processor time", short, None,
             f"{halves.median('sdpa') / 1e3:.1f} s at {LENGTH} tokens")
    )  # fmt: skip
    for what in ("behaviour", "every_query", "answer_rows"):
        found = peak(what)
        lines.append(Line(f"{what.replace('_', ' ')}, one string of {LONG:,} tokens", "peak MiB beside the weights",
                          found, 300, "", at_most=True))  # fmt: skip
    return lines


def _line(name: str, times: Times, bound: float | None, dtype: str) -> Line:
    note = f"{times.median(name) / 1e3:.1f} s against {times.median('sdpa') / 1e3:.1f} s"
    what = f"{name}, 135 M weights, {LENGTH:,} tokens, {dtype}"
    return Line(what, "ours / transformers' sdpa", times.ratio(name, "sdpa"), bound, note, at_most=True)


if __name__ == "__main__":
    print(show(measure()))
