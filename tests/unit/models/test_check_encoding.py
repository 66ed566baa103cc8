"""The kit on every encoding there is, and on encodings that break one promise each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import pytest
import torch
from jaxtyping import Float, Int
from pydantic import ConfigDict, Field
from torch import Tensor, nn

from tests.support.places import ROOT
from workbench.models.positions import (
    ENCODINGS,
    Alibi,
    Encoding,
    Learned,
    Limit,
    NoPositions,
    PositionError,
    Relative,
    Rotary,
    make_encoding,
)
from workbench.models.positions.encoding import LimitTerms, Reach
from workbench.models.testing import CHECKS, EncodingFault, check_encoding, distance


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_encoding_keeps_its_promises(name: str) -> None:
    assert check_encoding(ENCODINGS[name]) == tuple(CHECKS)


class Window(Encoding):
    """A stranger's: each head adds one learned number to the scores of the keys up to ``width`` back."""

    name: Literal["window"] = "window"
    width: int = Field(default=3, ge=1)
    biased: ClassVar[bool] = True
    bias_hook: ClassVar[str] = "hook_window"

    def attention_parameters(self, n_heads: int) -> Mapping[str, nn.Parameter]:
        return {"inside": nn.Parameter(torch.zeros(n_heads, 1))}

    def bias_weights(self, attn: Any, shared: Mapping[str, Tensor], like: Tensor) -> Float[Tensor, "head 1"]:
        inside: Tensor = attn.inside
        return inside

    def bias_at(
        self, weights: Float[Tensor, "#batch #query head 1"], lags: Int[Tensor, "#batch query key"]
    ) -> Float[Tensor, "#batch head query key"]:
        return weights.transpose(1, 2) * (lags.abs() <= self.width)[:, None]


def test_one_of_a_stranger_passes_and_can_be_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_encoding(Window(width=5)) == tuple(CHECKS)
    monkeypatch.setattr(ENCODINGS, "_things", dict(ENCODINGS._things))
    assert ENCODINGS.register(Window) is Window
    assert ENCODINGS["window"] is Window
    assert make_encoding({"name": "window", "width": 5}) == Window(width=5)
    assert check_encoding(Window) == tuple(CHECKS)

    class Other(Window):
        pass

    with pytest.raises(PositionError, match="'window'"):
        ENCODINGS.register(Other)


def test_an_address_of_something_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    places = {
        "mine": "workbench.models.transformer.config:ModelConfig",
        "other": "workbench.models.positions.alibi:Alibi",
    }
    monkeypatch.setattr(ENCODINGS, "_things", {**ENCODINGS._things, **places})
    with pytest.raises(PositionError, match="encoding"):
        make_encoding("mine")
    with pytest.raises(PositionError, match="alibi"):
        make_encoding("other")


# ---- one promise broken each ------------------------------------------------------------------------
class Forgets(Window):
    width: int = Field(default=3, exclude=True)


class Draws(Window):
    def attention_parameters(self, n_heads: int) -> Mapping[str, nn.Parameter]:
        return {"inside": nn.Parameter(torch.randn(n_heads, 1))}


class DeafHook(Window):
    def bias_at(self, weights: Tensor, lags: Tensor) -> Tensor:
        return super().bias_at(torch.ones_like(weights), lags)


class Turns(Rotary):
    turns: ClassVar[bool] = False


class Unseen(Window):
    bias_hook: ClassVar[str] = ""


class TwoMinds(Alibi):
    def bias_weights(self, attn: Any, shared: Mapping[str, Tensor], like: Tensor) -> Tensor:
        return 1.01 * super().bias_weights(attn, shared, like)


class Ahead(Alibi):
    """The slope depends on the longest lag of the whole string."""

    def bias_at(self, weights: Tensor, lags: Tensor) -> Tensor:
        return super().bias_at(weights, lags) / lags.abs().max().clamp_min(1)


class Reverses(Learned):
    """An id counts from the last one."""

    def vectors(self, ids: Tensor, table: Tensor | None, d_model: int, dtype: torch.dtype) -> Tensor:
        return super().vectors((ids.max() - ids), table, d_model, dtype)


class Idle(NoPositions):
    reads_ids: ClassVar[bool] = True


class Claims(Rotary):
    reads_ids: ClassVar[bool] = False


class Absolute(Alibi):
    absolute: ClassVar[bool] = True


class Invariant(Learned):
    absolute: ClassVar[bool] = False


class Frozen(Limit):
    def bias_weights(self, attn: Any, shared: Mapping[str, Tensor], like: Tensor) -> Tensor:
        return super().bias_weights(attn, shared, like).detach()


class Quadratic(Alibi):
    """Makes the lags of the whole string first."""

    def turn(self, ids: Tensor, d_head: int, dtype: torch.dtype) -> None:
        (ids[:, :, None] - ids[:, None]).abs()


class OtherTable(Relative):
    def bias_by_lag(self, model: Any, layer: int, size: int) -> Tensor | None:
        found = super().bias_by_lag(model, layer, size)
        assert found is not None
        return found - found[:, :1]


class ShortLocalTerm(Relative):
    def limit_terms(self, model: Any, layer: int) -> LimitTerms:
        terms = super().limit_terms(model, layer)
        return LimitTerms(terms.vectors, terms.phi[:, :-1], terms.far)


class NoLimit(Limit):
    limit: ClassVar[bool] = False


class Sees(NoPositions):
    @classmethod
    def reach(cls, settings: Mapping[str, Any]) -> Reach:
        return Reach()


class Reads(Learned):
    def check(self, ids: Tensor, n_ctx: int) -> None:
        """Nothing is refused."""

    def vectors(self, ids: Tensor, table: Tensor | None, d_model: int, dtype: torch.dtype) -> Tensor:
        assert table is not None
        return super().vectors(ids % len(table), table, d_model, dtype)


class Unnamed(Rotary):
    def upstream_fields(self, d_head: int) -> dict[str, Any]:
        return {}


BROKEN: tuple[tuple[type[Encoding], str, str], ...] = (
    (Forgets, "settings", "declare each setting as a plain field"),
    (Draws, "determinism", "rename it to W_..."),
    (DeafHook, "hooks", "hook_window returns is ignored"),
    (Turns, "declarations", "turns is False, but turn() returns angles; declare turns = True"),
    (Unseen, "declarations", "the learned inside; declare a name for their hook as bias_hook"),
    (TwoMinds, "scores", "attention scores computed from a cache differ"),
    (Ahead, "scores", "make bias_weights, fixed_weights and bias_at agree"),
    (Reverses, "causality", "compute each position without the ids after it"),
    (Idle, "ids matter", "declare reads_ids = False"),
    (Claims, "ids matter", "declare reads_ids = True"),
    (Absolute, "shifts", "absolute is True, but adding 1 or 20 to all ids does not change the outputs"),
    (Invariant, "shifts", "declare absolute = True"),
    (Frozen, "gradients", "the gradient of blocks.0.attn.phi is missing"),
    (Quadratic, "memory", "compute biases only in bias_at, from its argument lags"),
    (OtherTable, "bias by lag", "compute bias_by_lag with bias_at"),
    (ShortLocalTerm, "limit terms", "long that every longer lag has the bias far"),
    (NoLimit, "limit terms", "limit is False, but limit_terms returns terms; declare limit = True"),
    (Sees, "reach", "so programs could read positions"),
    (Reads, "refusals", "call super().check(ids, n_ctx) in check()"),
    (Unnamed, "conversion", "begin upstream_fields with super().upstream_fields(d_head)"),
)


class Coarse(Limit):
    """Moves by 2 change nothing, and neither do moves by 1."""

    period: int = Field(default=1, ge=1)

    @classmethod
    def examples(cls) -> tuple[Encoding, ...]:
        return (cls(period=1, locality=2),)

    @property
    def shift(self) -> int:
        return 2


class BothWays(Alibi):
    """Declares to be absolute and states a shift."""

    absolute: ClassVar[bool] = True

    @property
    def shift(self) -> int:
        return 1


class Refuses(Alibi):
    def check(self, ids: Tensor, n_ctx: int) -> None:
        super().check(ids, n_ctx)
        if int(ids.max()) >= n_ctx:
            raise PositionError("too far")


class Silent(Alibi):
    def bias_by_lag(self, model: Any, layer: int, size: int) -> None:
        return None


class Random(Alibi):
    def bias_at(self, weights: Tensor, lags: Tensor) -> Tensor:
        return super().bias_at(weights, lags) * torch.rand(())


class Wasteful(Alibi):
    """Uses the global random state for nothing."""

    def bias_at(self, weights: Tensor, lags: Tensor) -> Tensor:
        torch.rand(())
        return super().bias_at(weights, lags)


class Thawed(Alibi):
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=False)


class Open(Alibi):
    model_config: ClassVar[ConfigDict] = ConfigDict(extra="ignore")


class Blurred(Limit):
    """Its vectors by residue are others than those it adds."""

    def limit_terms(self, model: Any, layer: int) -> LimitTerms:
        terms = super().limit_terms(model, layer)
        return LimitTerms(terms.vectors * 1.01, terms.phi, terms.far)


class Finer(Limit):
    """Programs may read residues that its vectors do not show."""

    @classmethod
    def reach(cls, settings: Mapping[str, Any]) -> Reach:
        return Reach(2 * settings["period"] if settings else None, settings.get("locality"))


class Renamed(Alibi):
    upstream: ClassVar[str] = "standard"

    def upstream_fields(self, d_head: int) -> dict[str, Any]:
        return {"positional_embedding_type": "alibi"}


class Slopes(Alibi):
    """One slope is learned, and no gradient reaches it that is finite."""

    bias_hook: ClassVar[str] = "hook_slopes"

    def attention_parameters(self, n_heads: int) -> Mapping[str, nn.Parameter]:
        return {"slope": nn.Parameter(torch.zeros(n_heads, 1))}

    def bias_weights(self, attn: Any, shared: Mapping[str, Tensor], like: Tensor) -> Tensor:
        zero = (attn.slope - attn.slope.detach()).sqrt()
        return self.fixed_weights(attn.cfg.n_heads, like) + attn.slope.detach() + zero


MORE: tuple[tuple[type[Encoding], str, str], ...] = (
    (Coarse, "shifts", "shift is 2, but adding 1 to all ids does not change the outputs"),
    (BothWays, "shifts", "absolute is True, but shift is 1"),
    (Refuses, "refusals", "table is False, but id "),
    (Silent, "bias by lag", "biased is True, but bias_by_lag returns None; declare biased = False"),
    (Random, "determinism", "draw no random numbers in a forward pass"),
    (Wasteful, "determinism", "changes torch's global random state"),
    (Thawed, "settings", "has no frozen=True"),
    (Open, "settings", "has extra='ignore'"),
    (Blurred, "limit terms", "the added vectors differ from terms.vectors"),
    (Finer, "reach", "read ids modulo 6, but the vectors repeat every 3 ids"),
    (Renamed, "conversion", "begin upstream_fields with super().upstream_fields(d_head)"),
    (Slopes, "gradients", "the gradient of blocks.0.attn.slope is missing"),
)


@pytest.mark.parametrize(
    ("broken", "check", "way_out"), [*BROKEN, *MORE], ids=[case[0].__name__ for case in (*BROKEN, *MORE)]
)
def test_a_broken_promise_is_named_with_the_way_out(
    broken: type[Encoding], check: str, way_out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = broken.model_fields["name"].default
    monkeypatch.setattr(ENCODINGS, "_things", {**ENCODINGS._things, name: broken})  # in place of what has that name
    with pytest.raises(EncodingFault) as fault:
        check_encoding(broken)
    assert f"positions {name}, check '{check}'" in str(fault.value)
    assert way_out in str(fault.value)


def test_every_check_sees_something() -> None:
    assert {check for _, check, _ in BROKEN} == set(CHECKS) - {"fused"}, (
        "which stands for the kernels, not for encodings"
    )


def test_differences_of_what_is_finite() -> None:
    inf, nan = float("inf"), float("nan")
    for a, b, found in (
        ([1.0, 2.0], [1.5, 1.0], 1.0), ([1.0, inf], [1.5, 3.0], inf), ([1.0, inf], [1.25, -inf], 0.25), ([nan], [inf], 0.0), ([2.0], [2.0], 0.0),
    ):  # fmt: skip
        assert distance(torch.tensor(a), torch.tensor(b)) == found


def test_a_name_that_is_taken_is_refused() -> None:
    class Mine(Alibi):
        pass

    with pytest.raises(EncodingFault, match="Alibi"):
        check_encoding(Mine)


def test_what_breaks_altogether_says_in_which_check() -> None:
    class Half(Encoding):
        name: Literal["half"] = "half"
        biased: ClassVar[bool] = True

    with pytest.raises(NotImplementedError, match="bias") as error:
        check_encoding(Half)
    assert error.value.__notes__ == ["in the check 'determinism' of positions half"]


def test_the_page_lists_every_encoding_and_its_example_passes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "encodings.md").read_text()
    rows = [[cell.strip() for cell in line.split("|")[1:3]] for line in page.splitlines() if line.startswith("| `")]
    wanted = {name: [setting for setting in cls.model_fields if setting != "name"] for name, cls in ENCODINGS.items()}
    assert {name.strip("`"): re.findall(r"`(\w+)`", settings) for name, settings in rows} == wanted
    monkeypatch.setattr(ENCODINGS, "_things", dict(ENCODINGS._things))
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(code, "encodings.md", "exec"), {"__name__": __name__})
    assert "'limit terms'" in capsys.readouterr().out
    assert "window" in ENCODINGS
