"""Changes of the keys that layers of a pretrained model see, against models whose config states the same."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.support.models.pretrained_folders import VOCABULARY, WINDOW, save_folder
from workbench.models.interop.hugging_face.adapter import PretrainedModel
from workbench.models.interop.hugging_face.families import PretrainedError
from workbench.models.interop.hugging_face.opening import open_folder
from workbench.models.interop.hugging_face.visible_keys import change_visible_keys

TOKENS = torch.randint(0, VOCABULARY, (2, 12), generator=torch.Generator().manual_seed(3))
PATTERN = "blocks.0.attn.hook_pattern"


@pytest.fixture(scope="module")
def gemma(tmp_path_factory: pytest.TempPathFactory) -> PretrainedModel:
    return open_folder(save_folder("gemma3_text", tmp_path_factory.mktemp("gemma")), dtype=torch.float64)


def logits(model: PretrainedModel) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = model(TOKENS)
    return found


def pattern(model: PretrainedModel) -> torch.Tensor:
    found: torch.Tensor = model.run_with_cache(TOKENS, names_filter=PATTERN)[1][PATTERN]
    return found


def test_another_window_is_that_of_another_config(gemma: PretrainedModel, tmp_path: Path) -> None:
    """Wide enough for all keys, and narrower than the model's own."""
    for window in (2, 12):
        config = open_folder(save_folder("gemma3_text", tmp_path / str(window), sliding_window=window), torch.float64)
        with change_visible_keys(gemma, window=window):
            torch.testing.assert_close(logits(gemma), logits(config), rtol=0, atol=1e-10)
        assert not torch.allclose(logits(gemma), logits(config)), "outside the block nothing is changed"


def test_a_visible_key_stays_in_sight_and_no_other_key_does(gemma: PretrainedModel) -> None:
    own = pattern(gemma)
    assert (own[:, :, WINDOW:, 0] == 0).all()
    with change_visible_keys(gemma, visible=[0]):
        kept = pattern(gemma)
        fused, read = logits(gemma), gemma.run_with_cache(TOKENS, names_filter=PATTERN)[0]
    assert (kept[:, :, :, 0] > 0).all()
    assert ((kept > 0) == ((own > 0) | (torch.arange(12) == 0))).all()
    torch.testing.assert_close(kept[:, :, :WINDOW], own[:, :, :WINDOW], rtol=0, atol=0)
    torch.testing.assert_close(fused, read, rtol=0, atol=1e-10)
    assert not torch.allclose(fused, logits(gemma))


def test_a_hidden_key_is_seen_by_itself_alone(gemma: PretrainedModel) -> None:
    with change_visible_keys(gemma, hidden=[0, 3]):
        found = pattern(gemma)
    for key in (0, 3):
        assert (found[:, :, key + 1 :, key] == 0).all()
        assert (found[:, :, key, key] > 0).all()
    torch.testing.assert_close(found.sum(-1), torch.ones_like(found[..., 0]))


def test_only_the_named_layers_change(gemma: PretrainedModel) -> None:
    """The second layer has no window, so nothing of it changes unless it is named."""
    before = logits(gemma)
    with change_visible_keys(gemma, visible=[0], layers=[1]):
        torch.testing.assert_close(logits(gemma), before, rtol=0, atol=1e-10)
    with change_visible_keys(gemma, window=2, layers=[1]):
        assert not torch.allclose(logits(gemma), before)
    torch.testing.assert_close(logits(gemma), before, rtol=0, atol=0)


def test_changes_nest(gemma: PretrainedModel) -> None:
    before = logits(gemma)
    with change_visible_keys(gemma, visible=[0]):
        outer = logits(gemma)
        with change_visible_keys(gemma, hidden=[0]):
            assert not torch.allclose(logits(gemma), outer)
        torch.testing.assert_close(logits(gemma), outer, rtol=0, atol=0)
    torch.testing.assert_close(logits(gemma), before, rtol=0, atol=0)


def test_a_change_ends_with_an_error_inside_the_block(gemma: PretrainedModel) -> None:
    before = logits(gemma)
    with pytest.raises(IndexError), change_visible_keys(gemma, visible=[0]):
        gemma(torch.full((1, 4), VOCABULARY))
    torch.testing.assert_close(logits(gemma), before, rtol=0, atol=0)


def test_what_cannot_be_changed_is_refused(gemma: PretrainedModel, tmp_path: Path) -> None:
    for options, said in (
        ({"layers": [2]}, "there is no layer 2; choose layers from 0 to 1"),
        ({"visible": [-1]}, "positions begin at 0, so -1 names no key"),
        ({"window": 0}, "a window of 0 keys leaves no key"),
    ):
        with pytest.raises(PretrainedError, match=said), change_visible_keys(gemma, **options):
            pass
    llama = open_folder(save_folder("llama", tmp_path))
    with pytest.raises(PretrainedError, match="no layer of this model has a window"), change_visible_keys(llama):
        pass
