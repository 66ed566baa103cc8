"""``lengthlens cite``: prints what to cite as BibTeX."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.errors import UsageError
from workbench.cli.predicted_run import is_run
from workbench.core.errors import quoted_value

if TYPE_CHECKING:
    from workbench.claims.claim import Claim


def cite(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Add the papers behind this run, task, claim or suite of claims. Repeatable.",
        ),
    ] = None,
) -> None:
    """Print what to cite, as BibTeX.

    Without a name, print the entries of LengthLens and TransformerLens. A claim or a suite adds its papers. A task adds
    the papers of all claims that train on this task. A run adds the papers of all claims that have the same task,
    positions and kind of model.
    """
    from workbench.claims.citations import TRANSFORMER_LENS, entry_of_lengthlens, papers_of_claims

    found = {name: _claims_behind(name) for name in names or ()}
    papers = [TRANSFORMER_LENS, *papers_of_claims(claim for claims in found.values() for claim in claims)]
    print(entry_of_lengthlens(version("lengthlens")))
    for paper in papers:
        print(paper.entry)
    for name, claims in found.items():
        own = "; ".join(paper.name for paper in papers_of_claims(claims)) or "no claim of a paper is about it"
        print(f"% {name}: {own}")


def _claims_behind(name: str) -> list[Claim]:
    """The claims that a name stands for.

    Raises:
        UsageError: for a name that is none, with the nearest ones.
    """
    from workbench.claims.citations import claims_on_run, claims_on_task
    from workbench.claims.errors import ClaimError
    from workbench.claims.suites.registry import SUITES, claims_named
    from workbench.core.suggest import nearest
    from workbench.runs.run import Run
    from workbench.tasks.known_tasks import TASKS

    if is_run(name):
        return claims_on_run(Run.open(Path(name)).config)
    if name in TASKS:
        return claims_on_task(name)
    try:
        return [claim for _, claim in claims_named(name)]
    except ClaimError:
        ids = [claim.id for suite in SUITES.values() for claim in suite.claims]
        near = nearest(name, [*TASKS, *SUITES, *ids])
        raise UsageError(
            f"{quoted_value(name)} is not the name of a run, task, claim or suite of claims; {near}"
        ) from None
