"""Wrong strings and their twins, what is prescribed in words, and edited passes: as they are held."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
import torch

from tests.support.held import Held
from workbench.diagnosis import find_wrong_strings
from workbench.diagnosis.find_wrong_strings import best_replacement, leads, nearest, slack, wrong_strings
from workbench.diagnosis.prescription import suggest_change
from workbench.measure.edits.edit import EditError, parse_edits
from workbench.measure.edits.edited_forward import Trained
from workbench.models import HookedTransformer, ModelConfig
from workbench.tasks import make_task
from workbench.tasks.random_generator import generator

CASES: dict[str, tuple[str, dict[str, Any], int, str]] = {
    "no repair": ("flip_flop", {"positions": "rotary"}, 7, ""),
    "ids": ("flip_flop", {"positions": "learned"}, 12, "P.clip"),
    "sharper": ("kgram_retrieval", {"positions": "alibi"}, 11, "D.beta4"),
    "no twin is made": ("parity", {"positions": "alibi"}, 9, "D.logn"),
    "not every query": ("majority", {"positions": "rotary"}, 9, ""),
    "real answers": ("mod_p_mean", {"positions": "rotary"}, 9, ""),
    "several right": ("dyck_1", {"positions": "rotary"}, 8, ""),
}


@pytest.mark.parametrize("name", CASES)
def test_wrong_strings(name: str, held: Held) -> None:
    task_name, options, length, repair = CASES[name]
    task = make_task(task_name)
    sizes = {"n_layers": 1, "d_model": 8, "n_heads": 2, "n_ctx": 32, "initializer_range": 0.6}
    cfg = ModelConfig(d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, **sizes, **options)
    model = HookedTransformer(cfg, seed=4).double().eval()
    batch = task.sample(24, length, generator("wrong", name), "matched")
    told: list[tuple[int, int, str]] = []
    found = wrong_strings(
        model, task, batch, parse_edits(repair), Trained(6, 7), 3, 4, lambda *given: told.append(given)
    )
    held({**asdict(found), "told": told})


@pytest.mark.parametrize("text", ["P.int,D.beta2", "D.logn,D.beta4", "zero.0.0", "P.int,zero.0.0"])
def test_one_repair_alone_can_be_tried(text: str) -> None:
    task = make_task("parity")
    cfg = ModelConfig(d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, n_layers=1, d_model=4, n_heads=1, n_ctx=16)
    batch = task.sample(2, 5, generator("two"), "matched")
    with pytest.raises(EditError, match="intervention"):
        wrong_strings(HookedTransformer(cfg, seed=0), task, batch, parse_edits(text), Trained(4))


def test_many_replacements_are_tried_evenly(monkeypatch: pytest.MonkeyPatch, held: Held) -> None:
    task = make_task("flip_flop")
    cfg = ModelConfig(d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, n_layers=1, d_model=8, n_heads=1, n_ctx=64)
    model = HookedTransformer(cfg, seed=1).double().eval()
    string = task.sample(1, 21, generator("even"), "matched").tokens[0, int(task.bos) :]
    every = 21 * (task.d_vocab - int(task.bos) - 1)
    found = {}
    for most in (1, 10, every - 1, every, every + 1):
        monkeypatch.setattr(find_wrong_strings, "REPLACED", most)
        for answer in (0, 1):
            twin, tried = best_replacement(model, task, string, answer)
            assert tried == min(most, every)
            found[f"{min(most, every)} {answer}"] = None if twin is None else asdict(twin)
    held(found)


def test_leads_and_what_is_a_tie_by_hand() -> None:
    logits = torch.tensor([[1.0, 3.0, -9.0], [2.0, 2.0, 0.0], [0.0, -1.0, 0.5]], dtype=torch.float64)
    assert leads(logits, torch.tensor([1, 0, 0])).tolist() == [2.0, 0.0, -0.5]
    assert slack(logits).tolist() == pytest.approx([1e-4, 3e-5, 2e-5])


def test_the_nearest_of_other_strings() -> None:
    task = make_task("parity")
    string = torch.tensor([0, 1, 2, 1, 2])
    others = torch.tensor([[0, 2, 1, 1, 2], [0, 1, 2, 2, 2], [0, 2, 2, 1, 2]])
    found = nearest(task, string, others, torch.tensor([1.0, 2.5, 3.0]), True)
    assert found is not None
    assert (found.text, found.differs, found.margin, found.made) == ("0111", (3,), 2.5, False)
    bare = nearest(task, string[1:], others[:, 1:], torch.tensor([1.0, 2.5, 3.0]), False)
    assert bare is not None
    assert (bare.text, bare.differs) == ("0111", (4 - 1,))
    assert nearest(task, string, others[:0], torch.zeros(0), True) is None


def test_what_is_prescribed_in_words(held: Held) -> None:
    """Every entry at every kind of site of every kind of run."""
    found = {}
    for ids in ("arange", "random_offset", "pose", "coupled", "predicted"):
        for scaling, entropy in (("none", 0.0), ("all", 0.0), ("all", 0.1)):
            for law in ("uniform", "few_long"):
                run = {
                    "model": {"ids": {"name": ids}, "log_scaling": scaling, "n_ctx": 512},
                    "training": {
                        "trained_length": 1500, "regularizers": {"attention_entropy": entropy},
                        "curriculum": {"law": law, "low": 3, "high": 1500},
                    },
                }  # fmt: skip
                for entry in (
                    "position",
                    "keys",
                    "joint",
                    "content",
                    "keys or content",
                    "steps or content",
                    "steps",
                    "",
                ):
                    for site in ("dispersion", "selection", "code"):
                        made = asdict(suggest_change(entry, site, run))
                        found.setdefault(str(made), []).append(f"{ids} {scaling} {entropy} {law} {entry} {site}")
    held({said: [len(where), where[0], where[-1]] for said, where in found.items()})
