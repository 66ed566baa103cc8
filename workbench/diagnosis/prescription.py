"""A change of training that may fix what a diagnosis names: a hypothesis for the next training, as plain data.

Ids drawn with gaps and few long sequences were tried on runs for which they are suggested (docs/diagnosis.md): at 4 N
they did better than another change, and than the same recipe with another seed. The other changes follow from what
recovers accuracy in the forward pass, and remain to be tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.core.names import POSITION_OR_CONTENT, POSITION_OR_KEYS

REACH = 8
"""Randomized ids go up to those of sequences this many times as long as N, the longest that are judged by default."""
LONGER = 2
"""Few long sequences are this many times as long as N."""
SHARE = 0.05
"""Share of batches of long sequences."""
HARDENING = 0.01
"""Coefficient of the penalty on the entropy of attention."""
READS = ("dispersion", "selection")
"""Sites at which a head reads too little, or the wrong thing."""
BOTH = {
    "joint": "each cause alone is enough to fail",
    POSITION_OR_KEYS: "positions could not be tested, and the two changes cover both possible causes",
}
"""Entries for which the changes against positions and against keys are suggested together, and why."""


@dataclass(frozen=True)
class Prescription:
    """A change of training.

    Attributes:
        about: what is changed, in a clause; "" = no change is suggested.
        why: why, or why nothing is, in a clause.
        options: options of ``lengthlens train`` that change.
        settings: its further settings that change, by path.
    """

    about: str = ""
    why: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


def prescribed(entry: str, site: str, run: Mapping[str, Any]) -> Prescription:
    """The change that a diagnosis suggests.

    Args:
        entry: label of ``entry``.
        site: label of ``failure_site``.
        run: ``model`` and ``training`` of a ``run.json``.
    """
    if "compiled" in run["training"]:
        return Prescription(why="its weights were compiled from a program, and no training made them")
    if why := BOTH.get(entry):
        both = (_positions(run), _keys(site, run))
        if all(one.about for one in both):
            return Prescription(
                f"{both[0].about}, and {both[1].about}",
                why,
                {**both[0].options, **both[1].options},
                {**both[0].settings, **both[1].settings},
            )
        return next((one for one in both if one.about), both[0])
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
    """Ids as far apart as they will ever be, in sequences no longer than before; else no positions at all."""
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
    """Scores that grow with log n where a head reads too little; otherwise few long sequences."""
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
