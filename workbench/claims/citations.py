"""What to cite: LengthLens, and the papers whose claims are about a run, a task or a claim."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from workbench.claims.claim import Claim
from workbench.claims.claims_about_run import claims_about
from workbench.claims.papers import Paper
from workbench.claims.suites.registry import SUITES
from workbench.core.stored_model import StoredModel

TITLE = "LengthLens: is a model scale-robust or length-coupled, what in it makes it so, and since when?"
"""The title in CITATION.cff."""
AUTHORS = "{The LengthLens founders}"
TRANSFORMER_LENS = Paper(
    "nanda2022transformerlens",
    ("Neel Nanda", "Joseph Bloom"),
    2022,
    "TransformerLens",
    "",
    volume="software",
    page="https://github.com/TransformerLensOrg/TransformerLens",
)
"""The library whose hooked transformers LengthLens loads."""


def entry_of_lengthlens(version: str) -> str:
    """Return the BibTeX entry of LengthLens.

    Args:
        version: the version that was used.
    """
    lines = ["@software{lengthlens,", f"  author = {{{AUTHORS}}},", f"  title = {{{{{TITLE}}}}},"]
    return "\n".join([*lines, f"  version = {{{version}}},", "  license = {MIT},", "}", ""])


def papers_of_claims(claims: Iterable[Claim]) -> list[Paper]:
    """Return the papers of some claims, by key and without repetition."""
    found = {source.paper.key: source.paper for claim in claims for source in claim.sources if source.paper}
    return [found[key] for key in sorted(found)]


def claims_on_task(task: str) -> list[Claim]:
    """Return the trained claims with runs of a task, whatever its parameters."""
    return [
        claim for suite in SUITES.values() for claim in suite.claims if any(cell.task == task for cell in claim.cells)
    ]


def claims_on_run(config: Mapping[str, Any]) -> list[Claim]:
    """Return the trained claims with runs of the same task, positions and kind of model as a run.

    Args:
        config: the run's config as stored.
    """
    model, task = StoredModel(config["model"]), config["task"]
    about = claims_about(task["name"], task.get("parameters", {}), model.positions, model.ids, model.kind)
    named = {one["claim"] for one in about}
    return [claim for suite in SUITES.values() for claim in suite.claims if claim.id in named]
