"""A part of a row is exchanged: what is known of it by hand, and that a part which nobody reads changes nothing."""

from __future__ import annotations

import numpy as np
import torch

from circuits.interchange.prefix_exchange import choose_donors
from circuits.interchange.residual_patching import query_rows, residual_interchange
from circuits.interchange.summary_subspace import (
    MOST_CLASSES,
    exchanged_within,
    random_subspace,
    summary_subspace,
)
from tests.support.circuits.summary_subspace import MAJORITY
from workbench.theory.compiler.pipeline import compile
from workbench.theory.crasp.zoo import ZOO

SITE = "blocks.1.hook_resid_post"


def test_the_subspace_is_the_span_of_class_means() -> None:
    """Three classes at the corners of a triangle, in a plane that is known."""
    generator = torch.Generator().manual_seed(0)
    codes = torch.arange(3).repeat(20)
    plane = torch.linalg.qr(torch.randn(7, 2, generator=generator, dtype=torch.float64))[0]
    corners = torch.tensor([[1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]], dtype=torch.float64)
    found = summary_subspace(corners[codes] @ plane.T + 3.0, codes + 5)
    assert found is not None
    assert found.shape == (7, 2)
    torch.testing.assert_close(found @ found.T, plane @ plane.T)


def test_of_a_real_summary_it_is_the_direction_that_moves_with_it() -> None:
    z = torch.linspace(-1, 1, 9, dtype=torch.float64)
    direction = torch.tensor([0.6, 0.0, 0.8], dtype=torch.float64)
    found = summary_subspace(z[:, None] * direction + 1.0, z)
    assert found is not None
    torch.testing.assert_close((found[:, 0] @ direction).abs(), torch.tensor(1.0, dtype=torch.float64))


def test_one_class_or_too_many_have_no_subspace() -> None:
    rows = torch.randn(40, 5, generator=torch.Generator().manual_seed(0))
    assert summary_subspace(rows, torch.zeros(40, dtype=torch.long)) is None
    assert summary_subspace(rows, torch.arange(40) % (MOST_CLASSES + 1)) is None


def test_only_the_component_within_is_the_donors() -> None:
    generator = torch.Generator().manual_seed(0)
    own, donor = torch.randn(2, 6, 5, generator=generator, dtype=torch.float64)
    basis = random_subspace(torch.empty(5, 2, dtype=torch.float64), np.random.default_rng(0))
    torch.testing.assert_close(basis.T @ basis, torch.eye(2, dtype=torch.float64))
    made = exchanged_within(own, donor, basis)
    torch.testing.assert_close(made @ basis, donor @ basis)
    rest = torch.eye(5, dtype=torch.float64) - basis @ basis.T
    torch.testing.assert_close(made @ rest, own @ rest)


def test_a_component_that_nobody_reads_changes_nothing() -> None:
    """Behind the last block of a compiled counter the answer is read from one direction: along it the donor wins, and
    across it the recipient keeps every answer."""
    model = compile(ZOO["majority"].program, 64, dtype="float64").model
    batch = MAJORITY.sample(48, 21, torch.Generator().manual_seed(0), "matched")
    read = torch.linalg.qr(model.W_U.detach() - model.W_U.detach().mean(1, keepdim=True))[0][:, :1]
    across = torch.linalg.qr(torch.cat([read, torch.eye(len(read), dtype=read.dtype)], 1))[0][:, 1:]
    chosen = choose_donors(
        batch.targets[:, -1], batch.targets[:, -1], np.random.default_rng(0), same=False, one_batch=True
    )
    found = residual_interchange(
        model, MAJORITY, batch, batch, {"read": chosen, "across": chosen}, [SITE], query_rows(model, batch, [SITE]),
        within={"read": {SITE: read}, "across": {SITE: across}},
    )  # fmt: skip
    assert found["read", SITE].donors_target.all()
    assert found["across", SITE].follows_recipient.all()
