"""The glossary's formulas: per measurement and quantity, what its one-line definition says in words.

Written plainly, ``p_{(j)}`` and ``x^{2}`` for what stands below and above the line, and set in HTML by :func:`typeset`:
single letters lean, as variables do, longer names stand. A quantity that is a label, or a count that words say best,
has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dash import html

from workbench.core.thresholds import ROBUST


@dataclass(frozen=True)
class Formula:
    """A quantity as a formula.

    Attributes:
        text: the formula.
        where: what its letters are, beyond those of :data:`LETTERS`; in the same notation.
    """

    text: str
    where: str = ""


LETTERS = (
    "In formulas ⟨·⟩ is the mean over sequences, n the prefix length, N the longest trained one, y_{n} and ŷ_{n} the "
    "right and the given answer at n, K the number of keys that the query sees, s_{j} and p_{j} its score of key j and "
    "its weight, p_{(1)} ≥ p_{(2)} ≥ … in order, and 1[·] is 1 where it holds, else 0."
)

_MEASURED = "a(n): accuracy as it is"
_NEAREST = "1 − Σ_{j ≤ k} min(p_{(j)}, 1/k)"
_LEFT = "SSE: squares left on held-out strings, x: residual row"
_CODE = "C(n) = |b(n) − a|^{2} / (|b(n)|^{2} + |a|^{2})"
_CLASS_MEANS = "a, b(n): class means of the summary inside training and at n, centred at the grand mean inside training"

_SIGN_TEST = Formula(
    "min(1, 2 Σ_{k ≥ max(b, c)} Pr[X = k])",
    "b, c: sequences right only on the one side, and only on the other, X: heads of b + c fair coins",
)
_BAR = f"min({ROBUST:g}, {ROBUST:g} s)"

BEHAVIOUR = {
    "accuracy": Formula("a(n) = ⟨1[ŷ_{n} = y_{n}]⟩", "real answers: within the tolerance of the task"),
    "exact_match": Formula("⟨∏_{i ≤ n} 1[ŷ_{i} = y_{i}]⟩", "i: supervised queries"),
    "token_accuracy": Formula("⟨(1/m) Σ_{j ≤ m} 1[ŷ_{n,j} = y_{n,j}]⟩", "m: tokens of the answer"),
    "stratum_accuracy": Formula("⟨1[ŷ_{n} = y_{n}]⟩_{h}", "⟨·⟩_{h}: mean over the strings of the hard kind h alone"),
    "loss": Formula("⟨−log p(y_{n})⟩, of real answers ⟨|ŷ_{n} − y_{n}|^{2}⟩"),
    "chance": Formula("max_{c} ⟨1[y_{n} = c]⟩", "c: constant answers"),
    "shortcut": Formula("⟨1[g(x_{1} … x_{n}) = y_{n}]⟩", "g: the stated shortcut"),
    "skill": Formula(
        "(a(n) − f) / (1 − f)", f"{_MEASURED}, f: chance, under the challenge law the best of chance and shortcuts"
    ),
    "failure_length": Formula(
        f"min {{ n > N : u(n) < {_BAR} and u(n′) < {_BAR} }}",
        "u: upper limit of skill, s: mean skill inside training, n′: the judged length after n; the last one is judged "
        "twice",
    ),
    "first_wrong": Formula(
        "min { n > N : ŷ_{i} ≠ y_{i} for an i in n − π + 1 … n }", "π: lengths after which the answers come around"
    ),
}

HARDMAX = {
    "hardmax_distance": Formula(f"min_{{k}} [{_NEAREST}]"),
    "tie_size": Formula(f"k* = arg min_{{k}} [{_NEAREST}]", "of several the smallest"),
    "argmax_mass": Formula("P = Σ_{j ≤ k*} p_{(j)}"),
    "margin": Formula("m = log [(P / k*) / ((1 − P) / (K − k*))]"),
    "margin_min": Formula("s_{(1)} − max { s_{j} : s_{j} < s_{(1)} − δ }", "s_{(1)}: highest score, δ: setting delta"),
    "tie_uniformity": Formula("H(p_{(1)}/P, …, p_{(k*)}/P) / log k*", "H: entropy"),
    "effective_support": Formula("exp ⟨H(p)⟩", "H(p) = −Σ_{j} p_{j} log p_{j}, mean over queries too"),
    "support_inf": Formula("exp ⟨log(1 / p_{(1)})⟩", "mean over queries too"),
    "dispersion_exponent": Formula(
        "β = Δ log(1 / p_{(1)}) / Δ log K", "Δ: change from the length measured before, of means"
    ),
    "leak_exponent": Formula("−Δ log P_{S} / Δ log K", "P_{S}: mass on the set S of keys carried from N"),
    "critical_length": Formula(
        "K* = k* (1 + e^{m}) = k* + (K − k*) P / (1 − P)", "m: margin, P: mass on the tie set, k*: its size"
    ),
    "p_bit_length": Formula("2^{p/γ}", "γ = margin_min / log K, p: bits of precision"),
    "hardmax_length": Formula(
        "((1 − ε) / (k* ε))^{1/(γ − 1)}, where tie sets grow ((1 − ρ)(1 − ε) / (ρ ε))^{1/γ}",
        "γ = margin_min / log K, above 1 in the first; ρ: share of all keys in the tie set",
    ),
}

_TARGET_SETS = {
    "previous_token": "T = {t − 1}",
    "induction": "T = {j + 1 : j + 1 < t, x_{j} = x_{t}}",
    "anti_induction": "T = {j < t : x_{j} = x_{t}}, or the keys directly before these",
    "duplicate_token": "T = {j < t : x_{j} = x_{t}}",
    "first_token": "T = {0}",
    "answer_token": "T: the key that holds the answer",
    "key_token": "T: the key that matches the query",
}
HEADS = {
    **{
        name: Formula("(M − |T|/K) / (1 − |T|/K)", f"M = Σ_{{j ∈ T}} p_{{j}}, {keys}, t: the query")
        for name, keys in _TARGET_SETS.items()
    },
    **{f"{name}_mass": Formula("M = Σ_{j ∈ T} p_{j}", f"{keys}, t: the query") for name, keys in _TARGET_SETS.items()},
    "sink": Formula("⟨1[arg max_{j} p_{j} = 0]⟩", "mean over queries too; 0: the first key"),
    "ov_copying": Formula(
        "(1/V) Σ_{t} 1[arg max_{u} (W_{E} W_{V} W_{O} W_{U})_{t,u} = t]", "t, u: tokens, V: how many there are"
    ),
}

POSITIONAL = {
    "translation_variance": Formula(
        "V_{Δ} = [SS(r_{i} + f(i − j, i mod Δ)) / dof] / [SS(r_{i}) / dof′]",
        "SS: squares that the fit to mean scores of query i and key j leaves, dof: their degrees of freedom",
    ),
    "period": Formula(
        "min { Δ : V_{Δ} ≤ V_{best} + 0.1 (V_{1} − V_{best}) }", "V_{Δ}: translation variance at period Δ"
    ),
    "period_strength": Formula("1 − V_{Δ} / V_{1}", "Δ: the period"),
    "locality": Formula(
        "min { τ : Σ_{l > τ} (φ(l) − φ_{∞})^{2} ≤ ε Σ_{l} (φ(l) − φ_{∞})^{2} }",
        "φ: bias by lag l, φ_{∞}: its median over the far half of lags",
    ),
    "positional_share": Formula(
        "Σ_{i,j} (P_{i,j} − P_{i})^{2} / ⟨Σ_{i,j} (s_{i,j} − s_{i})^{2}⟩",
        "P_{i,j} = ⟨s_{i,j}⟩; P_{i}, s_{i}: means over the keys of query i",
    ),
    "attention_locality": Formula("⟨min { τ : Σ_{t − j ≤ τ} p_{j} ≥ 1 − ε }⟩", "t: the last query"),
    "positional_regularizer": Formula(
        "(1/m) Σ_{j ≤ i} (e_{i} W_{Q} · e_{j} W_{K})^{2}", "e_{i}: vector of position i, m: how many there are"
    ),
}

SPARSITY = {
    "keys_needed": Formula(
        "min { k : rms |o − o_{k}| ≤ ε rms |o − ō| }",
        "o: output of the head, o_{k}: that of its k heaviest keys, renormalised, ō: mean output",
    ),
    "keys_share": Formula("k / K", "k: keys_needed"),
    "loss_long": Formula("l(x_{1} … x_{n})", "l: mean loss of the last query, given the tokens it may see"),
    "loss_short": Formula("l(x_{n−N+1} … x_{n})", "l as in loss_long"),
    "loss_sparse": Formula("l(I_{k}, x_{n−N+1} … x_{n})", "I_{k}: the k most influential earlier tokens"),
    "sparse_gap": Formula("l(I_{k}, x_{n−N+1} … x_{n}) − l(x_{1} … x_{n})"),
    "planted_recall": Formula("⟨|I_{k} ∩ S| / |S|⟩", "S: positions that the task names"),
}

ABLATION = {
    "ablated_accuracy": Formula("a_{−h}(n)", "accuracy with the output of the part h replaced"),
    "accuracy_drop": Formula("a(n) − a_{−h}(n)", _MEASURED),
    "accuracy_drop_p": _SIGN_TEST,
    "loss_rise": Formula("l_{−h}(n) − l(n)", "l: loss"),
}

CONTRIBUTIONS = {
    "answer_logit_set": Formula(
        "⟨λ(Σ_{j ∈ S} p_{j} v_{j} W_{O})⟩",
        "λ(z): through the final LayerNorm at its own scale, logit of the right answer less the mean of the others; "
        "v_{j}: value of key j, S: the set of keys",
    ),
    "answer_logit_rest": Formula("⟨λ(Σ_{j ∉ S} p_{j} v_{j} W_{O})⟩", "letters as in answer_logit_set"),
    "set_log_odds": Formula("⟨log(Σ_{j ∈ S} p_{j} / Σ_{j ∉ S} p_{j})⟩", "S: the set of keys"),
}

FUNCTION = {
    "average_sensitivity": Formula(
        "⟨Σ_{i ≤ n} 1[f(x^{(i)}) ≠ f(x)]⟩", "f: last answer, x^{(i)}: x with another random token at i"
    ),
    "sharpness": Formula("⟨l(θ + ε z) − l(θ)⟩", "l: loss at n, θ: all weights, z: standard normal"),
}

INTERCHANGE = {
    "prefix_exchange_agreement": Formula(
        "⟨1[f(u w_{1} … w_{i}) = f(u′ w_{1} … w_{i})]⟩",
        "f: answer, u, u′: prefixes of two lengths and one summary, w: what follows; mean over i too",
    ),
    "kv_splice_agreement": Formula(
        "⟨1[f(w_{1} … w_{i} | u′) = f(w_{1} … w_{i} | u)]⟩", "· | u: on the keys and values of u; mean over i too"
    ),
    "follows_donor": Formula(
        "⟨1[f(x ← h(x′)) = f(x′)]⟩", "x ← h(x′): x, with the row of the donor x′ at the site of the last query"
    ),
    "follows_recipient": Formula("⟨1[f(x ← h(x′)) = f(x)]⟩", "letters as in follows_donor"),
    "across_length_deficit": Formula(
        "F_{within} − F_{across}", "F: follows_donor, donors that the clean model answers right"
    ),
    "interchange_accuracy": Formula("⟨1[f(x ← h(x′)) = y(x′)]⟩", "x′: donor of another summary"),
    "subspace_interchange_accuracy": Formula(
        "⟨1[f(x ← Q h(x′) + (1 − Q) h(x)) = y(x′)]⟩", "Q: projection onto the subspace of the summary"
    ),
    "rescue": Formula(
        "(a′ − a(n)) / (a(n′) − a(n))",
        f"a′: accuracy at n with rows of the shorter length n′; {_MEASURED}",
    ),
    "harm": Formula(
        "(a(n) − a′) / (a(n) − a(n′))",
        f"a′: accuracy at n with rows of the longer length n′; {_MEASURED}",
    ),
}

SWAPS = {
    "hardmax_swap": Formula("a(n), with 1[j ≤ k*] / k* for p_{(j)}", "k*: tie_size"),
    "hardmax_swap_drop": Formula("a(n) − a′(n)", f"{_MEASURED}, a′: hardmax_swap"),
    "hardmax_swap_drop_p": _SIGN_TEST,
    "logn_swap": Formula(
        "a(n), with s_{j} max(1, log K / log K_{train}) for s_{j}", "K_{train}: keys seen in training"
    ),
    "logn_swap_gain": Formula("a′(n) − a(n)", f"{_MEASURED}, a′: logn_swap"),
    "logn_swap_gain_p": _SIGN_TEST,
}

SCAN = {
    "scan_support": Formula("exp ⟨H(w)⟩", "w_{j}: absolute effective weights, of sum 1, H: entropy"),
    "scan_peak_support": Formula("exp ⟨log(1 / w_{(1)})⟩", "w_{(1)}: the largest"),
    "scan_locality": Formula("⟨min { τ : Σ_{t − j ≤ τ} w_{j} ≥ 1 − ε }⟩", "t: the query"),
    "scan_dispersion_exponent": Formula("Δ log(1 / w_{(1)}) / Δ log K", "Δ: change from the length measured before"),
}

SUMMARY = {
    "summary_decodability": Formula(
        "(1/C) Σ_{c} Pr[ŝ = c | s = c], of numbers 1 − Σ |s − ŝ|^{2} / Σ |s − s̄|^{2}",
        "s, ŝ: the summary, true and read off held-out strings, C: classes",
    ),
    "selectivity": Formula("D − max_{c} D_{c}", "D: summary_decodability of the refitted probe, D_{c}: of control c"),
    "summary_rmse": Formula("√⟨|s − ŝ|^{2}⟩", "s, ŝ: the summary, true and read; mean over components too"),
}

PROBES = {
    "probes.summary": SUMMARY,
    "probes.position": {
        "position_decodability": Formula(
            "1 − Σ (i − î)^{2} / Σ (i − ī)^{2}, n/2 < i ≤ n", "i, î: position, true and read; or their logarithms"
        )
    },
    "probes.conditional": {
        "position_given_summary": Formula(
            "1 − SSE(log i ~ s + x) / SSE(log i ~ s), n/2 < i ≤ n",
            _LEFT,
        ),
        "summary_given_position": Formula("1 − SSE(s ~ i + x) / SSE(s ~ i), n/2 < i ≤ n", _LEFT),
    },
    "probes.length_coupling": {
        "length_coupling": Formula(f"(C(2N) + C(4N) + C(8N)) / 3, {_CODE}", _CLASS_MEANS),
        "length_coupling_in": Formula(
            f"mean of C(n) over n ≤ N, {_CODE}", "b(n), a: class means at n, and at the other lengths inside training"
        ),
        "length_coupling_at": Formula(_CODE, _CLASS_MEANS),
    },
    "probes.drift": {
        "drift": Formula("c · c′ / √((c · c)(c′ · c′))", "c, c′: class means at both, less their mean"),
        "settled_step": Formula("min { t : cos(c_{t′}, c) ≥ 0.9 for all t′ ≥ t }", "c_{t}: the code at step t"),
    },
    "probes.description_length": {
        "description_length": Formula(
            "L = L_{1} − Σ_{b > 1} log_{2} q_{b}(y_{b} | x_{b})",
            "L_{1}: first block in the plain code, y_{b}: labels of block b, q_{b}: probe fitted on the blocks before; "
            "per sequence",
        ),
        "compression": Formula("L_{plain} / L", "L: description_length"),
        "logistic_accuracy": Formula("(1/C) Σ_{c} Pr[ŷ = c | y = c]", "C: classes"),
    },
    "probes.erasure": {
        "erased_accuracy": Formula(
            "a(n), with x − W^{+} U U^{T} W (x − μ) for x",
            "x: residual row of mean μ, W: whitens it, U: basis of W Σ_{x,z}, z: the concept",
        ),
        "erasure_effect": Formula("a(n) − a′(n)", f"{_MEASURED}, a′: erased_accuracy"),
        "erasure_effect_p": _SIGN_TEST,
        "erasure_selectivity_p": _SIGN_TEST,
        "erasure_selectivity": Formula("a_{control}(n) − a′(n)", "a′: erased_accuracy, a_{control}: of its control"),
        "kept_accuracy": Formula("a(n), with μ + W^{+} U U^{T} W (x − μ) for x", "letters as in erased_accuracy"),
    },
}

FORMULAS: dict[str, dict[str, Formula]] = {
    "behaviour": BEHAVIOUR,
    "behaviour.invariance": {
        "shift_agreement": Formula(
            "⟨1[f(x, i + o) = f(x, i)]⟩", "f: answer to the string x with position ids i, o: the offset"
        ),
        "filler_agreement": Formula(
            "⟨1[f(x + e) = f(x)]⟩", "f: answer, x + e: the string x of N tokens with n − N neutral tokens inserted"
        ),
    },
    "bound": {"training_length_bound_log10": Formula("log_{10} B", "B: training_length_bound")},
    "circuits.ablation": ABLATION,
    "circuits.contributions": CONTRIBUTIONS,
    "circuits.effective_attention": SCAN,
    "circuits.function": FUNCTION,
    "circuits.hardmax": HARDMAX,
    "circuits.heads": HEADS,
    "circuits.interchange": INTERCHANGE,
    "circuits.positional": POSITIONAL,
    "circuits.sparsity": SPARSITY,
    "circuits.swaps": SWAPS,
    "dynamics": {
        "gradient_cosine": Formula(
            "g_{n} · g_{N} / √((g_{n} · g_{n})(g_{N} · g_{N}))", "g_{n}: gradient of the mean loss at n, all parameters"
        )
    },
    **PROBES,
}

_PARTS = re.compile(r"([_^])\{([^{}]*)\}|(?<![^\W\d_])([^\W\d_][\u0300-\u036f]?)(?![^\W\d_])")
"""What stands below or above the line, or a letter that no other letter touches."""
_UPRIGHT = "ΣΔ∏"


def typeset(text: str) -> list[Any]:
    """A formula as HTML: variables in italics, indices below and powers above the line."""
    return list(_typeset(text))


def _typeset(text: str) -> Iterator[Any]:
    done = 0
    for part in _PARTS.finditer(text):
        if part.start() > done:
            yield text[done : part.start()]
        done = part.end()
        side, inner, letter = part.groups()
        if side:
            yield (html.Sub if side == "_" else html.Sup)(typeset(inner))
        else:
            yield letter if letter in _UPRIGHT else html.I(letter)
    if done < len(text):
        yield text[done:]
