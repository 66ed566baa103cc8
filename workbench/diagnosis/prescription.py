"""A change of training that may fix the cause that a diagnosis names: a suggestion, as plain data.

Two changes were tested on runs for which they are suggested (docs/diagnosis.md): ids drawn with gaps, and few long
sequences. At 4 N they did better than another change, and than the same recipe with another seed. The other changes
follow from what recovers accuracy in the forward pass, and are not tested yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.core.names import POSITION_OR_CONTENT, POSITION_OR_KEYS

REACH = 8
"""Randomized ids extend to sequences this many times as long as N, the longest that are tested by default."""
LONGER = 2
"""Length of the few long sequences, as a multiple of N."""
SHARE = 0.05
"""Share of batches with long sequences."""
HARDENING = 0.01
"""Coefficient of the penalty on the entropy of attention."""
READS = ("dispersion", "selection")
"""Locations at which a head reads too little, or the wrong token."""
BOTH = {
    "joint": "each cause alone is enough to fail",
    POSITION_OR_KEYS: "positions could not be tested, and the two changes cover both possible causes",
}
"""Causes for which the changes against positions and against keys are suggested together, and the reason."""


@dataclass(frozen=True)
class Prescription:
    """A suggested change of training.

    Attributes:
        about: the change, in a clause; "" = no change is suggested.
        why: the reason, or the reason for no suggestion, in a clause.
        options: changed options of ``lengthlens train``.
        settings: its further changed settings, by path.
    """

    about: str = ""
    why: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def suggest_change(entry: str, site: str, run: Mapping[str, Any]) -> Prescription:
    """Return the change that a diagnosis suggests.

    Args:
        entry: label of ``entry``.
        site: label of ``failure_site``.
        run: ``model`` and ``training`` of a ``run.json``.
    """
    if "compiled" in run["training"]:
        return Prescription(why="its weights were compiled from a program, and no training made them")
    if why := BOTH.get(entry):
        both = (_positions(run), _keys(site, run))
        if all(change.about for change in both):
            return Prescription(
                f"{both[0].about}, and {both[1].about}",
                why,
                {**both[0].options, **both[1].options},
                {**both[0].settings, **both[1].settings},
            )
        return next((change for change in both if change.about), both[0])
    if entry == "position":
        return _positions(run)
    if entry == "keys":
        return _keys(site, run)
    if entry in ("content", "keys or content", "steps or content"):
        return _few_long(run, "what breaks it occurs only in longer sequences, which training must show")
    if entry == POSITION_OR_CONTENT:
        return _few_long(run, "longer sequences show both later positions and what only longer sequences hold")
    if entry == "steps":
        return Prescription(why="which change of training lets a recurrent state last longer was not tried")
    return Prescription(why="no cause is named")


def _positions(run: Mapping[str, Any]) -> Prescription:
    """Suggest ids with the gaps of longer sequences, in sequences no longer than before; else no positions at all."""
    longest, ids = run["training"]["trained_length"], run["model"]["ids"]["name"]
    if ids in ("arange", "random_offset"):
        need = REACH * longest + 2  # BOS, and PoSE's ids begin with 1
        return Prescription(
            f"position ids drawn with gaps (PoSE), up to {need - 1:,}",
            "training then shows every distance, in sequences no longer than before",
            {"ids": "pose", "n_ctx": need},
        )
    if ids in ("coupled", "predicted"):
        return Prescription(why="its ids are roles that the task gives, not places")
    return Prescription(
        "no positions",
        "ids were drawn with gaps already, and are to blame all the same",
        {"positions": "none", "ids": "arange"},
    )


def _keys(site: str, run: Mapping[str, Any]) -> Prescription:
    """Suggest scores that grow with log n where a head reads too little; otherwise few long sequences."""
    model, training = run["model"], run["training"]
    if site not in READS:
        return _few_long(run, "what is computed from 1/K is right at trained lengths alone")
    if model["log_scaling"] == "none":
        return Prescription(
            "scores scaled by log n, with a learned gain per head",
            "a margin that grows with the number of keys is not thinned out",
            settings={"model.log_scaling": "learned"},
        )
    if not training.get("regularizers", {}).get("attention_entropy"):
        return Prescription(
            "a penalty on the entropy of attention",
            "its scores are scaled by log n already, and their margins are too small all the same",
            settings={"training.regularizers.attention_entropy": HARDENING},
        )
    return _few_long(run, "its scores are scaled by log n and hardened already")


def _few_long(run: Mapping[str, Any], why: str) -> Prescription:
    law, longest = run["training"]["curriculum"], run["training"]["trained_length"]
    if law["law"] == "few_long":
        return Prescription(why="few long sequences were trained on already; longer ones are all that is left")
    return Prescription(
        f"{SHARE:.0%} of the batches at length {LONGER * longest:,}",
        why,
        {"curriculum": "few_long", "lengths": f"{law['low']}-{LONGER * longest}"},
        {"training.curriculum.short": longest, "training.curriculum.share": SHARE},
    )
