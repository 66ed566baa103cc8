"""A pass that is shown chunk by chunk and layer by layer, and holds no more than somebody waits for."""

from __future__ import annotations

from contextlib import suppress

import pytest
import torch

from workbench.measure import study as study_module
from workbench.measure.measurement import Observer
from workbench.measure.study import LOGITS, Shown, forward, show_pass
from workbench.models import HookedTransformer, ModelConfig
from workbench.tasks.counting.majority import Majority

LAYERS = 3
MODEL = HookedTransformer(
    ModelConfig(d_vocab=3, d_vocab_out=2, n_layers=LAYERS, d_model=8, n_heads=2, n_ctx=64), seed=0
).eval()
BATCH = Majority().sample(10, 21, torch.Generator().manual_seed(0), "matched")


class Recorder(Observer):
    """Remembers what it was shown, and asks for more looks at it."""

    def __init__(self, batch, groups, again: int = 0) -> None:
        self.batch, self.groups, self.again, self.calls, self.closed = batch, groups, again, [], False

    def see(self, key, rows, part, seen) -> None:
        assert torch.equal(part.tokens, self.batch.tokens[rows])
        self.calls.append((key, rows, {name: value.clone() for name, value in seen.items()}))

    def close(self):
        self.closed = True
        if not self.again:
            return None
        self.following = Recorder(self.batch, self.groups, self.again - 1)
        return self.following

    def whole(self, name: str) -> torch.Tensor:
        """An activation of all sequences, put together."""
        return torch.cat([seen[name] for _, _, seen in self.calls if name in seen])


def of_layers() -> dict[int, list[str]]:
    return {n: [f"blocks.{n}.attn.hook_{part}" for part in "qk"] for n in range(LAYERS)}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_module, "BLOCK", 4)


def test_all_that_is_asked_for_is_seen_once_and_is_what_a_whole_pass_gives() -> None:
    short = BATCH.rows(0, 7).prefix(11)
    of_whole, of_short = (
        Recorder(BATCH, {**of_layers(), 9: [LOGITS]}),
        Recorder(short, {5: ["blocks.1.hook_resid_mid"]}),
    )
    assert show_pass(MODEL, BATCH, [Shown(of_short), Shown(of_whole)]) == 1
    names = [name for group in of_layers().values() for name in group]
    whole = forward(MODEL, BATCH, [*names, "blocks.1.hook_resid_mid"])
    assert all(torch.equal(of_whole.whole(name), whole[name]) for name in [*names, LOGITS])
    assert torch.equal(of_short.whole("blocks.1.hook_resid_mid"), whole["blocks.1.hook_resid_mid"][:7, :12])
    assert [(key, rows.start, rows.stop) for key, rows, _ in of_short.calls] == [(5, 0, 4), (5, 4, 7)]
    order = [(rows.start, key) for key, rows, _ in of_whole.calls]
    assert order == [(start, key) for start in (0, 4, 8) for key in (0, 1, 2, 9)]


def test_no_more_than_one_layer_is_held_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    held, take = [], study_module._PassPart.take

    def counted(part, name, value, hook=None) -> None:
        take(part, name, value)
        held.append(len(part._held))

    monkeypatch.setattr(study_module._PassPart, "take", counted)
    show_pass(MODEL, BATCH, [Shown(Recorder(BATCH, of_layers())), Shown(Recorder(BATCH, of_layers()))])
    assert held == [1, 0] * LAYERS * 3, "q waits for k of its layer; then both go, for both observers"


def test_sequences_that_nobody_observes_are_not_run_and_outputs_that_nobody_asks_for_not_made(monkeypatch) -> None:
    made, unembed = [], MODEL.unembed.forward
    monkeypatch.setattr(MODEL.unembed, "forward", lambda x: made.append(len(x)) or unembed(x))
    few = Recorder(BATCH.rows(0, 5), {0: ["ln_final.hook_normalized"]})
    show_pass(MODEL, BATCH, [Shown(few)])
    assert [rows.stop for _, rows, _ in few.calls] == [4, 5]
    assert made == []
    show_pass(MODEL, BATCH, [Shown(Recorder(BATCH.rows(0, 5), {0: [LOGITS]}))])
    assert made == [4, 4]


def test_what_must_see_the_strings_again_does() -> None:
    first, other = Recorder(BATCH, {0: [LOGITS]}, again=2), Recorder(BATCH, {0: [LOGITS]})
    assert show_pass(MODEL, BATCH, [Shown(first), Shown(other)]) == 3
    assert len(other.calls) == 3
    last = first.following.following
    assert last.closed
    assert torch.equal(last.whole(LOGITS), first.whole(LOGITS))


def test_nothing_wanted_is_no_pass() -> None:
    nothing = Recorder(BATCH, {})
    assert show_pass(MODEL, BATCH, [Shown(nothing)]) == 0
    assert nothing.closed


def test_one_that_fails_is_shown_no_more_and_the_others_go_on() -> None:
    class Failing(Recorder):
        def see(self, key, rows, part, seen) -> None:
            super().see(key, rows, part, seen)
            raise ValueError("no")

    failing, other = Failing(BATCH, of_layers()), Recorder(BATCH, of_layers())
    show_pass(MODEL, BATCH, [Shown(failing, lambda: suppress(ValueError)), Shown(other)])
    assert len(failing.calls) == 1
    assert not failing.closed
    assert len(other.calls) == 3 * LAYERS
    with pytest.raises(ValueError, match="no"):
        show_pass(MODEL, BATCH, [Shown(Failing(BATCH, of_layers()))])


def test_a_name_that_the_model_lacks_is_refused() -> None:
    with pytest.raises(KeyError, match=r"'blocks\.7\.hook_q'"):
        show_pass(MODEL, BATCH, [Shown(Recorder(BATCH, {0: ["blocks.7.hook_q"]}))])
