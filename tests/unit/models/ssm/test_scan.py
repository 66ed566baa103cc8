"""The scan against the recurrence it is the fast form of: values, gradients, odd lengths, long ones."""

from __future__ import annotations

import pytest
import torch

from workbench.core.names import GATES, Gates
from workbench.models.ssm import scan as scanning
from workbench.models.ssm import scan as ssm_scan
from workbench.models.ssm.scan import GATE_MAPS, GateMap, gates_of, recurrence, scan, selective_scan, writes_of

LENGTHS = (1, 2, 7, 8, 37, 129, 1001)


def inputs(pos: int, batch: int = 2, inner: int = 5, states: int = 3, dtype: torch.dtype = torch.float32):
    g = torch.Generator().manual_seed(pos)
    drawn = [torch.randn(shape, generator=g, dtype=dtype) for shape in (
        (batch, pos, inner), (batch, pos, inner), (inner, states), (batch, pos, states), (batch, pos, states),
    )]  # fmt: skip
    drawn[1], drawn[2] = drawn[1].abs(), drawn[2].abs()  # step sizes and rates
    return [t.requires_grad_() for t in drawn]


def close(found: torch.Tensor, wanted: torch.Tensor, tolerance: float) -> bool:
    found, wanted = found.detach(), wanted.detach()
    return bool((found - wanted).abs().max() <= tolerance * max(1.0, float(wanted.abs().max())))


def by_definition(x, dt, decay, b, c, gates):
    return torch.einsum("bpdn,bpn->bpd", recurrence(gates_of(dt, decay, gates), writes_of(x, dt, b)), c)


@pytest.mark.parametrize("gates", GATES)
@pytest.mark.parametrize("pos", LENGTHS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_the_fused_scan_is_the_recurrence(pos: int, gates: Gates, dtype: torch.dtype, tolerance: float) -> None:
    given = inputs(pos, dtype=dtype)
    weights = torch.randn(given[0].shape, generator=torch.Generator().manual_seed(1), dtype=dtype)
    found, wanted = selective_scan(*given, gates), by_definition(*given, gates)
    assert close(found, wanted, tolerance)
    ours = torch.autograd.grad((found * weights).sum(), given)
    theirs = torch.autograd.grad((wanted * weights).sum(), given)
    for name, a, b in zip(("x", "dt", "decay", "b", "c"), ours, theirs, strict=True):
        assert close(a, b, tolerance), name


@pytest.mark.parametrize("pos", LENGTHS)
def test_the_open_scan_is_the_recurrence(pos: int) -> None:
    g = torch.Generator().manual_seed(pos)
    gates = (2 * torch.rand(2, pos, 4, 3, generator=g) - 1).requires_grad_()
    writes = torch.randn(2, pos, 4, 3, generator=g).requires_grad_()
    weights = torch.randn(2, pos, 4, 3, generator=g)
    found, wanted = scan(gates, writes), recurrence(gates, writes)
    assert close(found, wanted, 1e-5)
    ours = torch.autograd.grad((found * weights).sum(), (gates, writes))
    theirs = torch.autograd.grad((wanted * weights).sum(), (gates, writes))
    assert close(ours[0], theirs[0], 1e-5)
    assert close(ours[1], theirs[1], 1e-5)


@pytest.mark.parametrize("block", [1, 64, 10**6])
@pytest.mark.parametrize("step", [1, 10**6])
def test_no_way_of_cutting_time_changes_the_result(block: int, step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given = inputs(101, dtype=torch.float64)
    wanted = by_definition(*given, "signed")
    monkeypatch.setattr(ssm_scan, "BLOCK_ELEMENTS", block)
    monkeypatch.setattr(ssm_scan, "STEP_ELEMENTS", step)
    found = selective_scan(*given, "signed")
    assert close(found, wanted, 1e-12)
    for a, b in zip(*(torch.autograd.grad(y.sum(), given) for y in (found, wanted)), strict=True):
        assert close(a, b, 1e-12)


def test_every_kind_of_gates_has_its_map() -> None:
    assert list(GATE_MAPS) == list(GATES)


def test_gradients_by_finite_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every kind of gates, and of a new one, which is one entry."""
    monkeypatch.setitem(GATE_MAPS, "new", GateMap(3, -2))  # type: ignore[misc]
    given = inputs(9, batch=1, inner=2, states=2, dtype=torch.float64)
    for gates in GATE_MAPS:
        assert torch.autograd.gradcheck(lambda *t, kind=gates: selective_scan(*t, kind), given)


def test_what_is_kept_for_the_gradient_grows_with_channels_not_with_states() -> None:
    """Memory is linear in length, and states are made again rather than kept."""

    def kept(pos: int) -> int:
        sizes = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: sizes.append(t.numel()) or t, lambda t: t):
            selective_scan(*inputs(pos, inner=64, states=16), "nonnegative")
        return sum(sizes)

    assert kept(1024) < 2.1 * kept(512)
    assert kept(1024) < 0.25 * (2 * 1024 * 64 * 16)


def test_scans_in_blocks_and_pieces_are_the_recurrence(monkeypatch: pytest.MonkeyPatch) -> None:
    gates, writes = torch.rand(2, 2, 37, 3, 2, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    wanted = scanning.recurrence(gates, writes)
    for block, step, shortest in (
        (1, 1, 1),
        (1 << 17, 1 << 13, 8),
        (12 * 10, 36, 2),
        (12 * 16, 12, 4),
        (12 * 36, 24, 1),
        (12 * 37, 1 << 13, 1),
    ):
        for name, value in (("BLOCK_ELEMENTS", block), ("STEP_ELEMENTS", step), ("SHORTEST_PIECE", shortest)):
            monkeypatch.setattr(scanning, name, value)
        one, other = gates.clone().requires_grad_(), writes.clone().requires_grad_()
        found = scanning.scan(one, other)
        assert torch.allclose(found, wanted, atol=1e-12)
        (found * torch.arange(37.0).view(1, 37, 1, 1)).sum().backward()
        plain, again = gates.clone().requires_grad_(), writes.clone().requires_grad_()
        (scanning.recurrence(plain, again) * torch.arange(37.0).view(1, 37, 1, 1)).sum().backward()
        assert torch.allclose(one.grad, plain.grad, atol=1e-9)  # type: ignore[arg-type]
        assert torch.allclose(other.grad, again.grad, atol=1e-9)  # type: ignore[arg-type]


@pytest.mark.parametrize(("shape", "block", "shortest", "ends"), [
    ((2, 10, 3, 2), 12 * 4, 1, [4, 8, 10]), ((2, 10, 3, 2), 12 * 5, 1, [5, 10]), ((2, 10, 3, 2), 1, 3, [3, 6, 9, 10]), ((1, 4, 1, 1), 100, 1, [4]), ((0, 4, 1, 1), 2, 1, [2, 4]),
])  # fmt: skip
def test_blocks_of_time(
    shape: tuple[int, ...], block: int, shortest: int, ends: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanning, "BLOCK_ELEMENTS", block)
    monkeypatch.setattr(scanning, "SHORTEST_PIECE", shortest)
    found = scanning._blocks(shape)
    assert [one.stop for one in found] == ends
    assert [one.start for one in found] == [0, *ends[:-1]]


@pytest.mark.parametrize(
    ("pos", "numbers", "pieces"),
    [(64, 8192, 1), (64, 4096, 2), (64, 4097, 1), (16, 1, 2), (15, 1, 1), (640, 100, 80), (640, 1000, 8)],
)
def test_pieces_that_run_side_by_side(pos: int, numbers: int, pieces: int) -> None:
    assert scanning._pieces(torch.empty(1, pos, numbers, 1)) == pieces
