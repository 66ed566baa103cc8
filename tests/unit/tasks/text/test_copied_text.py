"""Text in which segments come again: what is copied which way, and that nothing else tells the two apart."""

from __future__ import annotations

import pytest
import torch

from workbench.tasks import make_task
from workbench.tasks.sampling import coins, integers, uniforms
from workbench.tasks.testing import check_task
from workbench.tasks.text.copied_text import CopiedText

SYMBOLS = 200
"""So many that two symbols in a row come again by chance hardly ever."""


def drawn(law: str = "matched", length: int = 96, count: int = 400, window: int | None = None, **parameters):
    task = make_task("copied_text", symbols=SYMBOLS, **parameters)
    return task, task.sample(count, length, torch.Generator().manual_seed(0), law, window)


def pairs_again(tokens: torch.Tensor, turned: bool) -> float:
    """Share of pairs of neighbours that occurred before, in the same order or turned, without those amid it."""
    one, two = tokens[:, 1:-1], tokens[:, 2:]
    first, second = (two, one) if turned else (one, two)
    there = (first[:, None, :] == one[:, :, None]) & (second[:, None, :] == two[:, :, None])
    earlier = torch.ones(there.shape[1:], dtype=torch.bool).triu(2)
    return float((there & earlier).any(1).float().mean())


@pytest.mark.parametrize("parameters", [{}, {"backward": 0.5}, {"symbols": 5, "copied": 0.9, "near": 0.0}])
def test_it_keeps_what_a_task_promises(parameters) -> None:
    check_task(make_task("copied_text", **parameters))


def test_segments_come_again_forwards_or_backwards_as_asked() -> None:
    far = {"near": 0.0}
    tokens = {share: drawn(backward=share, **far)[1].tokens for share in (0.0, 0.5, 1.0)}
    again = {share: (pairs_again(found, False), pairs_again(found, True)) for share, found in tokens.items()}
    assert again[0.0][0] > 0.3 > 0.05 > again[0.0][1]
    assert again[0.5][0] == pytest.approx(again[0.5][1], abs=0.08)
    # A copy of a copy that is turned twice goes forwards.
    assert again[1.0][1] > again[1.0][0]
    assert pairs_again(drawn(copied=0.0, **far)[1].tokens, False) < 0.05


def written_out(task: CopiedText, batch: int, length: int, generator: torch.Generator) -> list[list[int]]:
    """The same text from the same draws, string by string and segment by segment, as its definition says it."""
    walk = task._steps(batch, length, generator).tolist()
    sizes = (4 + integers(9, (length, batch), generator)).tolist()
    copies, turned = (coins((length, batch), share, generator).tolist() for share in (task.copied, task.backward))
    where = uniforms((length, batch), generator)
    texts = []
    for one in range(batch):
        text: list[int] = []
        while len(text) < length:
            place = len(text)
            size = sizes[place][one]
            if place and copies[place][one]:
                size = min(size, place)
                first = int(where[place, one] * (place - size + 1))
                segment = text[first : first + size]
                text += segment[::-1] if turned[place][one] else segment
            else:
                for further in range(place, min(place + size, length)):
                    text.append(((text[-1] if text else 0) + walk[one][further]) % task.symbols)
        texts.append(text[:length])
    return texts


@pytest.mark.parametrize("length", [1, 2, 4, 5, 9, 13, 64, 130])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"backward": 0.5, "copied": 0.8},
        {"copied": 1.0, "backward": 1.0},
        {"copied": 0.0},
        {"symbols": 4, "near": 0.0},
    ],
    ids=["usual", "both ways", "all turned", "all fresh", "few symbols"],
)
def test_all_strings_together_are_what_each_is_written_out(parameters: dict[str, float], length: int) -> None:
    task = make_task("copied_text", **parameters)
    for batch in (1, 17):
        text = task._text(batch, length, torch.Generator().manual_seed(length))
        assert text.is_contiguous()
        assert text.tolist() == written_out(task, batch, length, torch.Generator().manual_seed(length))


def test_fresh_text_steps_to_either_neighbour_alike() -> None:
    task, batch = drawn(copied=0.0, near=0.6)
    step = (batch.tokens[:, 2:] - batch.tokens[:, 1:-1]) % task.symbols
    right, left = float((step == 1).float().mean()), float((step == task.symbols - 1).float().mean())
    assert right == pytest.approx(0.3 + 0.4 / SYMBOLS, abs=0.01)
    assert left == pytest.approx(right, abs=0.01)
    assert drawn(copied=0.0, near=1.0)[1].tokens.diff(dim=1)[:, 1:].abs().min() == 1


def test_the_first_symbol_is_none_more_often_than_another() -> None:
    """Nothing stands before it that it could be a copy of."""
    task = make_task("copied_text", symbols=5, copied=0.9)
    batch = task.sample(2000, 24, torch.Generator().manual_seed(0), "matched")
    counts = batch.tokens[:, int(task.bos)].bincount(minlength=6)[1:6] / len(batch)
    assert counts.tolist() == pytest.approx([0.2] * 5, abs=0.05)


def test_every_place_is_labelled_with_the_next_symbol() -> None:
    _, batch = drawn()
    assert bool(batch.mask[:, 1:].all())
    assert torch.equal(batch.targets[:, 1:-1], batch.tokens[:, 2:] - 1)
    assert torch.equal(batch.targets[:, -1], batch.meta["next_symbol"])


@pytest.mark.parametrize("backward", [0.0, 1.0])
def test_a_challenge_ends_in_a_copy_whose_source_is_far_from_both_ends(backward) -> None:
    window = 16
    _, batch = drawn("challenge", window=window, backward=backward, near=0.0)
    assert batch.mask.sum(1).unique().tolist() == [1]
    strings = batch.tokens[:, 1:]
    shown = torch.cat([strings[:, -3:], batch.targets[:, -1:] + 1], 1)
    wanted = shown.flip(1) if backward else shown
    places = strings.unfold(1, 4, 1)
    hit = (places == wanted[:, None]).all(2)
    assert bool(hit.any(1).all())
    inside = hit[:, window : strings.shape[1] - window - 3]
    assert bool(inside.any(1).all())


def test_its_names_are_those_of_retrieval_and_copying() -> None:
    text = make_task("copied_text")
    for name in ("ur", "ul", "nr_last", "nl_last", "nf", "nb"):
        task = make_task(name)
        assert set(task.tokens_names) <= set(text.tokens_names)
        assert set(task.output_names) <= set(text.output_names)
