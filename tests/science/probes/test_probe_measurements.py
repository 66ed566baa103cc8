"""The measurements end to end: real tasks, real models, a study, and what comes out as rows."""

from __future__ import annotations

import pytest
import torch

import probes
from workbench.models import HookedTransformer, ModelConfig
from workbench.tasks.counting.majority import Majority
from workbench.tasks.regular.state_machines import Parity


def test_an_untrained_model_without_positions_holds_position_and_counts() -> None:
    """Uniform attention over BOS and tokens writes 1/(i + 1) and the share of ones at once."""
    wide = ModelConfig(d_vocab=3, n_layers=3, d_model=64, n_heads=4, n_ctx=64, d_vocab_out=2)
    batch = Majority().sample(512, 51, torch.Generator().manual_seed(0), "matched")
    batches = [batch.prefix(n) for n in (25, 50, 51)]
    for seed in (0, 1, 2):
        untrained = HookedTransformer(wide, seed=seed)
        frame = probes.probe(untrained, batches, target="position", inside=[25], resamples=20).frame()
        frame = frame[~frame["site"].str.endswith("resid_mid")]  # one block is one uniform head and what is made of it
        log_i = frame[(frame["target"] == "log_i") & (frame["mode"] == "refit") & (frame["control"] == "")]
        at_50 = log_i[log_i["length"] == 50].set_index("layer")["value"]
        assert (at_50.loc[0:] >= 0.99).all(), at_50
        assert at_50.loc[-1] == pytest.approx(0, abs=0.02)
        frame = probes.probe(untrained, batches, inside=[25, 51], resamples=20).frame()
        frame = frame[~frame["site"].str.endswith("resid_mid")]
        refit = frame[
            (frame["quantity"] == "summary_decodability") & (frame["mode"] == "refit") & (frame["control"] == "")
        ]
        at_51 = refit[refit["length"] == 51].set_index("layer")["value"]
        assert (at_51.loc[0:] > 0.95).all(), at_51
        assert at_51.loc[-1] == pytest.approx(0.75, abs=0.09)  # three standard errors of 256 rows


def test_an_untrained_model_does_not_hold_parity() -> None:
    cfg = ModelConfig(d_vocab=3, n_layers=3, d_model=64, n_heads=4, n_ctx=64, d_vocab_out=2)
    batch = Parity().sample(512, 50, torch.Generator().manual_seed(0), "matched")
    for seed in (0, 1):
        frame = probes.probe(HookedTransformer(cfg, seed=seed), [batch], inside=[50], resamples=20).frame()
        read = frame[
            (frame["quantity"] == "summary_decodability") & (frame["mode"] == "refit") & (frame["control"] == "")
        ]
        assert read["value"].between(0.4, 0.6).all(), read  # three standard errors of 256 rows
