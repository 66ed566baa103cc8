"""What a diagnosis prescribes, by entry, site and what the run was trained with."""

from __future__ import annotations

from typing import Any

import pytest

from workbench.diagnosis.prescription import suggest_change


def run(**changed: Any) -> dict[str, Any]:
    """``model`` and ``training`` of a run with rotary positions and N = 32."""
    model = {"ids": {"name": "arange"}, "log_scaling": "none", "n_ctx": 512}
    training = {"trained_length": 32, "regularizers": {}, "curriculum": {"law": "uniform", "low": 2, "high": 32}}
    for key, value in changed.items():
        (model if key in model else training)[key] = value
    return {"model": model, "training": training}


HARD = {"attention_entropy": 0.1}
POSE, RANDOM = {"name": "pose"}, {"name": "random_offset"}


@pytest.mark.parametrize(
    ("entry", "site", "changed", "options", "settings"),
    [
        ("position", "selection", {}, {"ids": "pose", "n_ctx": 258}, {}),
        ("position", "lost", {"ids": RANDOM}, {"ids": "pose", "n_ctx": 258}, {}),
        ("position", "selection", {"ids": POSE}, {"positions": "none", "ids": "arange"}, {}),
        ("position", "selection", {"ids": {"name": "coupled"}}, {}, {}),
        ("keys", "dispersion", {}, {}, {"model.log_scaling": "learned"}),
        ("keys", "dispersion", {"log_scaling": "all"}, {}, {"training.regularizers.attention_entropy": 0.01}),
        ("keys", "code", {}, {"curriculum": "few_long", "lengths": "2-64"},
         {"training.curriculum.short": 32, "training.curriculum.share": 0.05}),
        ("keys", "dispersion", {"log_scaling": "all", "regularizers": HARD},
         {"curriculum": "few_long", "lengths": "2-64"},
         {"training.curriculum.short": 32, "training.curriculum.share": 0.05}),
        ("content", "selection", {}, {"curriculum": "few_long", "lengths": "2-64"},
         {"training.curriculum.short": 32, "training.curriculum.share": 0.05}),
        ("content", "selection", {"curriculum": {"law": "few_long", "low": 2, "high": 32}}, {}, {}),
        ("joint", "dispersion", {}, {"ids": "pose", "n_ctx": 258}, {"model.log_scaling": "learned"}),
        ("position or keys", "dispersion", {}, {"ids": "pose", "n_ctx": 258}, {"model.log_scaling": "learned"}),
        ("position or keys", "lost", {"ids": RANDOM},
         {"ids": "pose", "n_ctx": 258, "curriculum": "few_long", "lengths": "2-64"},
         {"training.curriculum.short": 32, "training.curriculum.share": 0.05}),
        ("position or keys", "dispersion", {"ids": {"name": "coupled"}}, {}, {"model.log_scaling": "learned"}),
        ("position or keys", "lost", {"curriculum": {"law": "few_long", "low": 2, "high": 32}},
         {"ids": "pose", "n_ctx": 258}, {}),
        ("position or content", "selection", {}, {"curriculum": "few_long", "lengths": "2-64"},
         {"training.curriculum.short": 32, "training.curriculum.share": 0.05}),
        ("steps", "code", {}, {}, {}),
        ("not explained", "lost", {}, {}, {}),
        ("", "", {}, {}, {}),
        ("position", "lost", {"compiled": {"program": "majority"}}, {}, {}),
    ],
)  # fmt: skip
def test_each_entry_has_its_change(
    entry: str, site: str, changed: dict[str, Any], options: dict[str, Any], settings: dict[str, Any]
) -> None:
    found = suggest_change(entry, site, run(**changed))
    assert (dict(found.options), dict(found.settings)) == (options, settings)
    assert bool(found.about) == bool(options or settings)
    assert found.why


def test_where_positions_could_not_be_tested_both_changes_are_suggested_and_the_reason_says_so() -> None:
    both = suggest_change("position or keys", "dispersion", run())
    assert both.about == (
        "position ids drawn with gaps (PoSE), up to 257, and scores scaled by log n, with a learned gain per head"
    )
    assert both.why == "positions could not be tested, and the two changes cover both possible causes"
    assert suggest_change("joint", "dispersion", run()).why == "each cause alone is enough to fail"
