"""The registry of statistics of runs that trained claims request; each function states its own name and version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pkgutil import walk_packages
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.claims.errors import ClaimError
from workbench.claims.trained.run_rows import RunRow, StatisticRows
from workbench.claims.trained_cells import STILL_VALID, PlannedRun, Request
from workbench.core.registry import Registry

if TYPE_CHECKING:
    from workbench.claims.trained.trained_run import TrainedRun

RowFunction = TypeVar("RowFunction", bound=Callable[..., StatisticRows])
PACKAGES = ("workbench.claims.trained", "workbench.claims.suites")
"""The packages whose modules may define statistics."""


@dataclass(frozen=True)
class Statistic:
    """A function that computes rows of a run.

    Attributes:
        version: raised when its numbers would come out otherwise; stored rows of an older version are computed again.
        function: takes the run and the settings of a request.
    """

    version: int
    function: Callable[..., StatisticRows]


_STATISTICS: Registry[Statistic] = Registry("statistic", ClaimError)


def statistic(name: str, version: int) -> Callable[[RowFunction], RowFunction]:
    """Register a function as the statistic of that name, and return it unchanged.

    Args:
        name: the name in requests of cells, and in the table of runs.
        version: see :class:`Statistic`.

    Raises:
        ClaimError: for a name that another function has.
    """

    def register(function: RowFunction) -> RowFunction:
        _STATISTICS.add(name, Statistic(version, function))
        return function

    return register


@cache
def statistics() -> Registry[Statistic]:
    """Return all statistics by name. The first call imports the modules that define them, and torch."""
    for package in PACKAGES:
        for module in walk_packages(import_module(package).__path__, f"{package}."):
            import_module(module.name)
    return _STATISTICS


def version_of(request: Request) -> int:
    """Return the version of the statistic, or of the measurement, that a request names."""
    if request.name in statistics():
        return statistics().find(request.name).version
    from workbench.measure.registry import make_measurement

    return make_measurement(request.name).version


def valid_versions(request: Request) -> tuple[int, ...]:
    """Return the versions of a statistic whose stored rows are still valid, the newest first."""
    return (version_of(request), *STILL_VALID.get(request.name, ()))


def measure(run: TrainedRun, request: Request, planned: PlannedRun) -> list[RunRow]:
    """Return the rows of a run for a request. A statistic without a number gives one row that marks it as computed."""
    from workbench.claims.trained.standard_rows import standard_rows

    known = request.name in statistics()
    function = statistics().find(request.name).function if known else partial(standard_rows, request.name)
    where: dict[str, Any] = {
        "recipe": planned.recipe,
        "run": run.run.id,
        "step": run.run.steps[-1],
        "cell": planned.cell.name,
        "seed": planned.seed,
        "asked": request.key,
        "version": version_of(request),
    }
    rows = [RunRow(**where, **row) for row in function(run, **request.settings)]
    return rows or [RunRow(**where, quantity="nothing")]
