"""Tests an encoding: one check for each property that models, scores, circuits and theory rely on.

    from workbench.models.testing import check_encoding

    check_encoding(MyEncoding)

Every built-in encoding passes all checks. An encoding of your own passes them if it has the properties that
:class:`workbench.models.positions.encoding.Encoding` describes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from workbench.core.errors import LensError
from workbench.models.errors import PositionError
from workbench.models.interop.upstream_lens import UpstreamError, upstream_fields
from workbench.models.positions.encoding import Encoding
from workbench.models.positions.none import NoPositions
from workbench.models.positions.registry import ENCODINGS
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer

POS = 20
"""Tokens of the test sequences."""
LONG = 4096
"""Tokens of the sequence with which memory is measured."""
NEAR = 1e-9
"""Two orders of the same sums in float64 differ by less than this."""
FAR = 1e-6
"""A change that has any effect differs by more than this."""


class EncodingFault(LensError, AssertionError):
    """An encoding that violates a required property; the message names the check, the observation, and what to do."""


def check_encoding(encoding: Encoding | type[Encoding]) -> tuple[str, ...]:
    """Test an encoding, or all examples of a class of encodings, in small models.

    Returns:
        the names of the checks, all passed.

    Raises:
        EncodingFault: for the first check that fails.
    """
    for example in encoding.examples() if isinstance(encoding, type) else (encoding,):
        for name, check in CHECKS.items():
            try:
                check(example)
            except EncodingFault as fault:
                raise EncodingFault(f"positions {example.name}, check '{name}': {fault}") from None
            except Exception as error:
                error.add_note(f"in the check '{name}' of positions {example.name}")
                raise
    return tuple(CHECKS)


# ---- what is tried ----------------------------------------------------------------------------------
def small_model(encoding: Encoding, seed: int = 0, **fields: Any) -> HookedTransformer:
    """Return a small float64 model in which every parameter differs from its initial value. A test then notices a
    forgotten parameter.
    """
    sizes = {"d_vocab": 5, "d_vocab_out": 3, "n_layers": 2, "d_model": 16, "n_heads": 2, "n_ctx": 4 * POS}
    cfg = ModelConfig(**{**sizes, "positions": encoding, "initializer_range": 0.5, **fields})
    model = HookedTransformer(cfg, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    model.double()
    return model


def some_tokens(batch: int = 3, pos: int = POS) -> Tensor:
    return torch.randint(0, 5, (batch, pos), generator=torch.Generator().manual_seed(1))


def some_ids() -> Mapping[str, Tensor]:
    """Name -> ids [rows, pos]: in order, with gaps, and different unordered ids in each row."""
    generator = torch.Generator().manual_seed(2)
    return {
        "0, 1, 2, ...": torch.arange(POS)[None],
        "with gaps": torch.arange(POS)[None] * 2,
        "in no order": torch.randint(0, 4 * POS, (3, POS), generator=generator),
    }


def logits(model: HookedTransformer, tokens: Tensor, ids: Tensor) -> Tensor:
    with torch.no_grad():
        found: Tensor = model(tokens, ids)
    return found


def distance(a: Tensor, b: Tensor) -> float:
    """Largest difference of entries that are finite in both; infinite if an entry is finite in only one."""
    if not torch.equal(a.isfinite(), b.isfinite()):
        return float("inf")
    known = a.isfinite()
    return float((a - b).detach()[known].abs().max()) if bool(known.any()) else 0.0


def own_parameters(model: HookedTransformer) -> list[str]:
    """Names of the parameters that a model without positions does not have."""
    others = dict(small_model(NoPositions()).named_parameters())
    return [name for name, _ in model.named_parameters() if name not in others]


def own_hooks(model: HookedTransformer) -> list[str]:
    """Names of the hooks that a model without positions does not have."""
    others = small_model(NoPositions()).hook_dict
    return [name for name in model.hook_dict if name not in others]


# ---- the checks -------------------------------------------------------------------------------------
def settings(encoding: Encoding) -> None:
    """Check that settings are frozen and survive JSON, by themselves and in a model's config."""
    cls = type(encoding)
    name = cls.model_fields["name"].default
    if encoding.name != name or not isinstance(name, str):
        raise EncodingFault(
            f"class {cls.__name__} does not fix its name; add this line to the class: "
            f'name: Literal["{encoding.name}"] = "{encoding.name}"'
        )
    if name in ENCODINGS and ENCODINGS[name] is not cls:
        raise EncodingFault(f"the name {name!r} belongs to {ENCODINGS[name].__name__}; choose another name")
    written = json.loads(encoding.model_dump_json())
    if {*written} != {*cls.model_fields} or cls(**written) != encoding:
        raise EncodingFault(
            f"JSON keeps only the settings {written}, so the encoding cannot be restored from it; declare each setting "
            "as a plain field without exclude"
        )
    cfg = small_model(encoding).cfg
    if cfg.model_dump(mode="json")["positions"] != written:
        raise EncodingFault(f"the config of a model writes other settings than {written}; do not override model_dump")
    if name in ENCODINGS and ModelConfig(**cfg.model_dump(mode="json")) != cfg:
        raise EncodingFault(
            f"the config of a model with the settings {written} changes when it is written and read back; declare each "
            "setting as a plain field"
        )
    if not cls.model_config.get("frozen"):
        raise EncodingFault(
            f"model_config of {cls.__name__} has no frozen=True, so settings can change after creation; remove frozen "
            "from model_config"
        )
    if cls.model_config.get("extra") != "forbid":
        raise EncodingFault(
            f"model_config of {cls.__name__} has extra={cls.model_config.get('extra')!r}, so misspelled settings are "
            "accepted; remove extra from model_config"
        )


def determinism(encoding: Encoding) -> None:
    """Check that one seed gives one model and one input one output, and that no global random state changes."""
    before = torch.get_rng_state()
    first, again = small_model(encoding), small_model(encoding)
    for (name, a), b in zip(first.named_parameters(), again.parameters(), strict=True):
        if not torch.equal(a, b):
            raise EncodingFault(
                f"{name} differs between two models with seed 0; rename it to W_..., then the model draws it by seed"
            )
    for what, ids in some_ids().items():
        a, b = (logits(model, some_tokens(), ids) for model in (first, again))
        if not torch.equal(a, b):
            raise EncodingFault(
                f"two forward passes with the same tokens and ids ({what}) differ; draw no random numbers in a forward "
                "pass"
            )
    if not torch.equal(before, torch.get_rng_state()):
        raise EncodingFault(
            "the encoding changes torch's global random state; draw random numbers from a torch.Generator of your own"
        )


def declarations(encoding: Encoding) -> None:
    """Check that its declared properties agree with its behaviour."""
    if (encoding.turn(torch.arange(POS)[None], 8, torch.float64) is not None) != encoding.turns:
        raise EncodingFault(
            f"turns is {encoding.turns}, but turn() returns {'None' if encoding.turns else 'angles'}; declare turns = "
            f"{not encoding.turns}, or change turn()"
        )
    own = {*encoding.attention_parameters(2), *encoding.shared_parameters(2)}
    if own and not encoding.bias_hook:
        raise EncodingFault(
            f"no cache would contain the learned {', '.join(sorted(own))}; declare a name for their hook as bias_hook"
        )


def hooks(encoding: Encoding) -> None:
    """Check that reading hooks changes nothing, and that values returned by its hooks are used."""
    model, ids = small_model(encoding), torch.arange(POS)[None]
    clean = logits(model, some_tokens(), ids)
    for hook in own_hooks(model):
        seen, _ = model.run_with_cache(some_tokens(), ids, names_filter=[hook])
        if distance(seen, clean) > NEAR:
            raise EncodingFault(
                f"reading {hook} with a hook changes the outputs; compute the same values with and without a hook"
            )
        with torch.no_grad():
            edited = model.run_with_hooks(some_tokens(), ids, fwd_hooks=[(hook, _edited)])
        if distance(edited, clean) < FAR:
            raise EncodingFault(
                f"a value that a hook on {hook} returns is ignored; compute with the value that the hook returns"
            )


def _edited(value: Tensor, hook: Any) -> Tensor:
    if not value.is_floating_point():
        return value.flip(-1) + torch.arange(value.shape[-1]) ** 2  # ids: other lags, and other ids
    return value * (1 + torch.rand(value.shape, generator=torch.Generator().manual_seed(3)).to(value))


def scores(encoding: Encoding) -> None:
    """Check that scores from cached inputs equal the model's own, for any ids, queries, rows and heads."""
    scalings = ["none", "all", *(["local"] if encoding.local else [])]
    for scaling in scalings:
        model = small_model(encoding, log_scaling=scaling)
        for what, ids in some_ids().items():
            names = [name for layer in range(2) for name in model.cfg.score_hooks(layer)]
            own = [f"blocks.{layer}.attn.hook_attn_scores" for layer in range(2)]
            _, cache = model.run_with_cache(some_tokens(), ids, names_filter=[*names, *own])
            for layer in range(2):
                inputs, queries = model.cfg.score_inputs(layer, cache), [0, POS // 2, POS - 1]
                made, expected = inputs.scores(queries), cache[own[layer]][:, :, queries]
                part = inputs.select(slice(1, 3), slice(1, 2)).scores([POS - 1])
                if distance(made, expected) > NEAR or distance(part, expected[1:, 1:, -1:]) > NEAR:
                    raise EncodingFault(
                        f"attention scores computed from a cache differ from those of the model (layer {layer}, ids "
                        f"{what}, log_scaling {scaling}); make bias_weights, fixed_weights and bias_at agree"
                    )


def check_fused_attention(encoding: Encoding) -> None:
    """Check that fused attention gives the same output as explicit attention."""
    model = small_model(encoding)
    for what, ids in some_ids().items():
        seen, _ = model.run_with_cache(some_tokens(), ids)
        if distance(logits(model, some_tokens(), ids), seen) > NEAR:
            raise EncodingFault(
                f"fused attention and attention with hooks give different outputs (ids {what}); add all biases in "
                "bias_at"
            )


def causality(encoding: Encoding) -> None:
    """Check that outputs of a prefix do not depend on later tokens."""
    model = small_model(encoding)
    for what, ids in some_ids().items():
        whole, prefix = logits(model, some_tokens(), ids), logits(model, some_tokens()[:, :7], ids[:, :7])
        if distance(whole[:, :7], prefix) > NEAR:
            raise EncodingFault(
                f"the outputs of 7 tokens change when more tokens follow (ids {what}); compute each position without "
                "the ids after it"
            )


def ids_matter(encoding: Encoding) -> None:
    """Check that other ids give other outputs, unless the encoding declares that it reads none."""
    model, given = small_model(encoding), list(some_ids().values())
    plain = logits(model, some_tokens(), given[0])
    changes = [distance(logits(model, some_tokens(), other), plain) for other in given[1:]]
    if encoding.reads_ids and min(changes) < FAR:
        raise EncodingFault(
            "reads_ids is True, but the outputs stay the same when position ids change; declare reads_ids = False if "
            "you mean that"
        )
    if not encoding.reads_ids and max(changes) > 0:
        raise EncodingFault(
            "reads_ids is False, but the outputs change with the position ids; declare reads_ids = True"
        )


def shifts(encoding: Encoding) -> None:
    """Check ``shift``: outputs stay the same if all ids move by a multiple of it, and change otherwise.

    If ``shift`` is None, outputs must change with any move.
    """
    model, ids = small_model(encoding), torch.arange(POS)[None]

    def change(by: int) -> float:
        return distance(logits(model, some_tokens(), ids + by), logits(model, some_tokens(), ids))

    if (encoding.shift is None) != encoding.absolute:
        raise EncodingFault(
            f"absolute is {encoding.absolute}, but shift is {encoding.shift}; return None from shift exactly if "
            "absolute is True"
        )
    if encoding.shift is None:
        if min(change(1), change(POS)) < FAR:
            raise EncodingFault(
                f"absolute is True, but adding 1 or {POS} to all ids does not change the outputs; declare absolute = "
                "False"
            )
        return
    if max(change(encoding.shift), change(2 * encoding.shift)) > NEAR:
        raise EncodingFault(
            f"shift is {encoding.shift}, but adding {encoding.shift} to all ids changes the outputs; declare absolute "
            "= True, or another shift"
        )
    if encoding.shift > 1 and change(1) < FAR:
        raise EncodingFault(
            f"shift is {encoding.shift}, but adding 1 to all ids does not change the outputs; return 1 from shift"
        )


def gradients(encoding: Encoding) -> None:
    """Check that every parameter of the encoding receives a gradient."""
    model = small_model(encoding)
    model(some_tokens(), torch.arange(POS)[None]).pow(2).sum().backward()
    weights = dict(model.named_parameters())
    for name in own_parameters(model):
        gradient = weights[name].grad
        if gradient is None or not bool(gradient.any()) or not bool(gradient.isfinite().all()):
            raise EncodingFault(
                f"the gradient of {name} is missing, zero or not finite; compute with the parameter and not with a "
                "detached copy"
            )


def memory(encoding: Encoding) -> None:
    """Check that no array of all queries by all keys is allocated while no hook reads it."""
    fields = {"n_layers": 1, "n_heads": 1, "d_model": 8, "n_ctx": LONG}
    model, largest = small_model(encoding, **fields).float(), _Largest()
    with torch.no_grad(), largest:
        model(some_tokens(1, LONG), torch.arange(LONG)[None])
    if largest.elements >= LONG * LONG // 2:
        raise EncodingFault(
            f"a forward pass of {LONG:,} tokens allocates an array of {largest.elements:,} numbers; compute biases "
            "only in bias_at, from its argument lags, and build no other array of queries by keys"
        )


class _Largest(TorchFunctionMode):
    """Records the largest tensor of every operation, by the numbers that are really allocated."""

    elements = 0

    def __torch_function__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        results = func(*args, **(kwargs or {}))
        for tensor in results if isinstance(results, tuple | list) else [results]:
            if isinstance(tensor, Tensor):
                held = tensor.untyped_storage().nbytes() // max(tensor.element_size(), 1)
                self.elements = max(self.elements, held)
        return results


def bias_table(encoding: Encoding) -> None:
    """Check that the table by lag equals the scores of a model whose queries are zero."""
    model, ids = small_model(encoding), torch.arange(POS)[None]
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith(("attn.W_Q", "attn.b_Q")):
                weight.zero_()
    _, cache = model.run_with_cache(some_tokens(1), ids, names_filter=lambda name: name.endswith("attn_scores"))
    for layer in range(2):
        table = encoding.bias_by_lag(model, layer, POS)
        if (table is not None) != encoding.biased:
            raise EncodingFault(
                f"biased is {encoding.biased}, but bias_by_lag returns {'None' if table is None else 'a table'}; "
                f"declare biased = {table is not None}, or change bias_by_lag"
            )
        last = cache[f"blocks.{layer}.attn.hook_attn_scores"][0, :, -1].flip(-1)
        if distance(last, torch.zeros_like(last) if table is None else table) > NEAR:
            raise EncodingFault(
                f"with queries of 0 the scores of layer {layer} differ from bias_by_lag; compute bias_by_lag with "
                "bias_at"
            )


def limit_terms(encoding: Encoding) -> None:
    """Check that its terms as a limit transformer's equal its vectors and its bias."""
    model = small_model(encoding)
    for layer in range(2):
        terms = encoding.limit_terms(model, layer)
        if (terms is not None) != encoding.limit:
            raise EncodingFault(
                f"limit is {encoding.limit}, but limit_terms returns {'None' if terms is None else 'terms'}; declare "
                f"limit = {terms is not None}, or change limit_terms"
            )
        if terms is None:
            continue
        ids = torch.arange(3 * len(terms.vectors))
        vectors = model.pos_embed(ids[None], torch.float64)[0] if encoding.added else torch.zeros(len(ids), 16)
        if encoding.turns or distance(terms.vectors[ids % len(terms.vectors)], vectors.double()) > NEAR:
            raise EncodingFault(
                f"the added vectors differ from terms.vectors[id % {len(terms.vectors)}]; correct limit_terms, or "
                "declare limit = False"
            )
        size = terms.phi.shape[1] + POS
        table = encoding.bias_by_lag(model, layer, size)
        said = torch.nn.functional.pad(terms.phi, (0, POS)) + terms.far[:, None]
        if distance(said, torch.zeros_like(said) if table is None else table) > NEAR:
            raise EncodingFault(
                f"the bias by lag differs from phi and far of limit_terms; phi has {terms.phi.shape[1]} lags: make it "
                "so long that every longer lag has the bias far"
            )


def reach(encoding: Encoding) -> None:
    """Check that the declared reach for theorems does not contradict what the encoding reads."""
    stated = encoding.model_dump(exclude={"name"})
    for stated_settings in ({}, stated):
        declared = type(encoding).reach(stated_settings)
        if not encoding.reads_ids and (declared is None or (declared.period, declared.locality) != (1, 0)):
            raise EncodingFault(
                f"reads_ids is False, but reach returns {declared}, so programs could read positions; return "
                "Reach(period=1, locality=0)"
            )
        if declared is not None and encoding.limit and declared.period is not None:
            terms = encoding.limit_terms(small_model(encoding), 0)
            if stated_settings and terms is not None and len(terms.vectors) % declared.period:
                raise EncodingFault(
                    f"reach allows programs to read ids modulo {declared.period}, but the vectors repeat every "
                    f"{len(terms.vectors)} ids; return a period that divides {len(terms.vectors)}"
                )


def refusals(encoding: Encoding) -> None:
    """Check that ids that it cannot read are refused with a message."""
    model = small_model(encoding)
    for ids, refused in ((torch.tensor([[0, -1]]), True), (torch.tensor([[0, model.cfg.n_ctx]]), encoding.table)):
        try:
            logits(model, some_tokens(1, 2), ids)
        except PositionError:
            if not refused:
                raise EncodingFault(
                    f"table is False, but id {int(ids[0, 1])} is refused; declare table = True, or accept the id"
                ) from None
        else:
            if refused:
                raise EncodingFault(
                    f"id {int(ids[0, 1])} is accepted and should be refused; call super().check(ids, n_ctx) in check()"
                )


def conversion(encoding: Encoding) -> None:
    """Check that its TransformerLens name is in the converted config, or that the refusal names it."""
    cfg = small_model(encoding).cfg
    try:
        fields = upstream_fields(cfg)
    except UpstreamError as refusal:
        if encoding.upstream or f"positions {encoding.name}" not in str(refusal):
            raise EncodingFault(
                f"upstream is {encoding.upstream!r}, and the conversion to TransformerLens ends with: {refusal}. Make "
                f"the error contain 'positions {encoding.name}', or return fields from upstream_fields"
            ) from None
        return
    if not encoding.upstream or fields.get("positional_embedding_type") != encoding.upstream:
        raise EncodingFault(
            f"upstream is {encoding.upstream!r}, but upstream_fields returns "
            f"{fields.get('positional_embedding_type')!r}; begin upstream_fields with super().upstream_fields(d_head)"
        )


CHECKS: Mapping[str, Callable[[Encoding], None]] = {
    "settings": settings,
    "declarations": declarations,
    "determinism": determinism,
    "hooks": hooks,
    "scores": scores,
    "fused": check_fused_attention,
    "causality": causality,
    "ids matter": ids_matter,
    "shifts": shifts,
    "gradients": gradients,
    "memory": memory,
    "bias by lag": bias_table,
    "limit terms": limit_terms,
    "reach": reach,
    "refusals": refusals,
    "conversion": conversion,
}
