"""What a model gets most confidently wrong, and its nearest right twin, against a search one string at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from workbench.diagnosis.bench.needle_models import TRAINED, NeedleNumbers, WrittenBit
from workbench.diagnosis.find_wrong_strings import find_wrong_strings, wrong_strings
from workbench.figures.sequence.wrong_string import wrong_strings_table
from workbench.measure.edits.edit import EditError, parse_edits
from workbench.measure.edits.edited_forward import Trained
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.transformers import majority
from workbench.tasks import Task, make_task
from workbench.tasks.tokens import parse_tokens


def lead_of(model: Any, task: Task, text: str, length: int) -> tuple[float, int]:
    """The right answer's logit less the best other one, and the right answer, of one string by itself."""
    batch = task.label(torch.tensor([parse_tokens(text, task.tokens_names, task.bos)]))
    assert batch.length == length
    logits = model(batch.tokens)[0, -1].double()
    answer = int(batch.targets[0, -1])
    others = torch.cat([logits[:answer], logits[answer + 1 :]])
    return float(logits[answer] - others.max()), answer


def test_margins_and_twins_are_those_of_a_search_one_string_at_a_time() -> None:
    task = make_task("flip_flop")
    cfg = ModelConfig(
        d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, n_layers=1, d_model=16, n_heads=2, n_ctx=64,
        positions="rotary",
    )  # fmt: skip
    model = HookedTransformer(cfg, seed=5).eval()
    batch = task.sample(40, 7, torch.Generator().manual_seed(1), "matched")
    found = wrong_strings(model, task, batch, count=3)
    with torch.no_grad():
        texts = [" ".join(task.tokens_names[i] for i in row[int(task.bos) :].tolist()) for row in batch.tokens]
        all_leads = [lead_of(model, task, text, 7)[0] for text in texts]
        assert found.wrong == sum(lead < 0 for lead in all_leads) > 3
        margins = [one.margin for one in found.strings]
        assert margins == pytest.approx(sorted((-lead for lead in all_leads), reverse=True)[:3], abs=1e-5)
        made = 0
        for one in found.strings:
            lead, answer = lead_of(model, task, one.text, 7)
            assert -lead == pytest.approx(one.margin, abs=1e-5)
            assert one.right == task.output_names[answer] != one.answered
            best = best_swap(model, task, one.text.split(), answer)
            if one.twin is None or not one.twin.made:
                assert best is None
                continue
            made += 1
            assert best == pytest.approx(one.twin.margin, abs=1e-5)
            differs = [
                i for i, (a, b) in enumerate(zip(one.text.split(), one.twin.text.split(), strict=True), 1) if a != b
            ]
            assert (differs[0], len(differs)) == (one.twin.differs[0], 1)
            assert lead_of(model, task, one.twin.text, 7) == (pytest.approx(one.twin.margin, abs=1e-5), answer)
        assert made


def best_swap(model: Any, task: Task, tokens: list[str], answer: int) -> float | None:
    """The largest lead, above 0, that replacing one token gives while the right answer stays."""
    leads = []
    for at in range(len(tokens)):
        for name in task.tokens_names[int(task.bos) :]:
            if name == tokens[at]:
                continue
            text = " ".join([*tokens[:at], name, *tokens[at + 1 :]])
            batch = task.label(torch.tensor([parse_tokens(text, task.tokens_names, task.bos)]))
            if bool(batch.mask[0, -1]) and int(batch.targets[0, -1]) == answer:
                leads.append(lead_of(model, task, text, len(tokens))[0])
    return max((lead for lead in leads if lead > 0), default=None)


def test_a_twin_keeps_the_right_answer() -> None:
    """Replacing any bit changes the parity, so that no twin of a majority's answers to it can be made."""
    model, task = majority(64), make_task("parity")
    batch = task.sample(64, 9, torch.Generator().manual_seed(0), "matched")
    found = wrong_strings(model, task, batch)
    assert found.strings
    for one in found.strings:
        assert one.twin is not None
        assert not one.twin.made
        assert one.twin.text.count("1") % 2 == one.text.count("1") % 2
        assert [i for i, (a, b) in enumerate(zip(one.text, one.twin.text, strict=True), 1) if a != b] == list(
            one.twin.differs
        )
        others = [lead_text for lead_text in strings_of(task, batch) if right(model, task, lead_text)]
        same = [text for text in others if text.count("1") % 2 == one.text.count("1") % 2]
        assert len(one.twin.differs) == min(sum(a != b for a, b in zip(one.text, text, strict=True)) for text in same)


def strings_of(task: Task, batch: Any) -> list[str]:
    return ["".join(task.tokens_names[i] for i in row[1:].tolist()) for row in batch.tokens]


def right(model: Any, task: Task, text: str) -> bool:
    with torch.no_grad():
        return lead_of(model, task, text, len(text))[0] > 0


def test_keys_hidden_beyond_n_are_all_found_again_with_ids_inside_it() -> None:
    model, task = NeedleNumbers(first_keys=TRAINED).build(), WrittenBit()
    batch = task.sample(96, 2 * TRAINED, torch.Generator().manual_seed(0), "matched")
    found = wrong_strings(model, task, batch, parse_edits("P.int"), Trained(TRAINED + int(task.bos)), count=2)
    assert found.wrong > 5
    assert (found.repaired, found.repair) == (found.wrong, "P.int")
    assert all(one.repaired for one in found.strings)
    sharp = wrong_strings(model, task, batch, parse_edits("D.beta2"), Trained(TRAINED + int(task.bos)), count=1)
    assert sharp.repaired is not None
    assert sharp.repaired < found.wrong / 4, "a hidden key scores 60 less: twice as much hides it as well"
    table = wrong_strings_table(found)
    assert list(table["recovered"]) == ["yes", "yes"]
    assert list(table["sequence"]) == [one.text for one in found.strings]


def test_real_answers_and_several_edits_say_so() -> None:
    model, task = majority(64), make_task("parity")
    batch = task.sample(4, 5, torch.Generator().manual_seed(0), "matched")
    with pytest.raises(EditError, match="intervention"):
        wrong_strings(model, task, batch, parse_edits("zero.0.0"))


def test_of_a_run_it_asks_the_strings_of_the_diagnosis(make_run: Callable[..., Any]) -> None:
    run = make_run(majority(64), make_task("parity"), 8)
    found = find_wrong_strings(str(run.path), 100, 9)
    assert (found.asked, found.step, found.length, found.law) == (512, 100, 9, "matched")
    assert found.wrong > 100
    with pytest.raises(EditError, match="ids"):
        find_wrong_strings(str(run.path), 100, 9, repair="P.int")
