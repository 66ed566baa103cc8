"""The configurations that Compare shows together. A configuration is a run and all runs that differ only in seeds.

A link names each by one of its runs (``configs=a|b|c``, in addition to the run of the page). It then works in every
folder that has that run, whatever other seeds exist.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from workbench.dashboard.state.cursor import Notice
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.seed_groups import shared_name
from workbench.dashboard.state.store import Store
from workbench.figures.labels import whole
from workbench.figures.panels.many_configurations import MOST_CONFIGURATIONS

MOST_SEEDS = 24
"""Seeds of one configuration whose rows are read, as many as a store holds rows of runs."""
LETTERS = "ABCDEFGH"


@dataclass(frozen=True)
class Configuration:
    """One of the configurations (runs that differ only in their seeds) that are compared.

    Attributes:
        letter: by which it is called on the page.
        runs: its seeds that have rows, by name, at most :data:`MOST_SEEDS`; only the one of the link if none has rows.
        seeds: how many there are.
    """

    letter: str
    runs: tuple[RunView, ...]
    seeds: int

    @property
    def name(self) -> str:
        """Return the part that the names of all its seeds have in common."""
        return self.runs[0].name if len(self.runs) == 1 else shared_name([run.name for run in self.runs])


def seeds_like(store: Store, run: RunView) -> list[RunView]:
    """Return all measured runs that differ from a run only in their seeds, including the run, sorted by name."""
    runs = store.comparable_runs().values()
    return [one for one in runs if one.measurement_names and one.task == run.task and one.family == run.family]


def choose_configurations(store: Store, run: RunView, asked: str) -> tuple[list[Configuration], list[Notice]]:
    """Return the configurations that an address chooses, the page's own first, with a notice for each part that does
    not exist.

    Args:
        store: all runs.
        run: the run of the page.
        asked: names of runs separated by ``|``, as :func:`written` writes them.
    """
    together, notices = store.comparable_runs(), []
    first = together.get(run.name, run)
    configurations = [first]
    for name in map(unquote, filter(None, asked.split("|"))):
        view = together.get(name)
        if view is None:
            message = f"This link names the run {name[:80]}, which is not in this folder."
            notices.append(Notice(message, "The page shows the other configurations.", "Keep"))
        elif view.kind is not first.kind:
            message = f"This link compares {name} with {first.name}, but only one of them was evaluated in a prompt."
            notices.append(Notice(message, "The page shows the other configurations.", "Keep"))
        elif all(view.task != other.task or view.family != other.family for other in configurations):
            configurations.append(view)
    if len(configurations) > MOST_CONFIGURATIONS:
        message = (
            f"This link names {whole(len(configurations))} configurations; at most {MOST_CONFIGURATIONS} can be shown."
        )
        notices.append(Notice(message, f"The page shows the first {MOST_CONFIGURATIONS}.", "Keep"))
    made = []
    for letter, view in zip(LETTERS, configurations, strict=False):
        seeds = seeds_like(store, view) or [view]
        made.append(Configuration(letter, tuple(seeds[:MOST_SEEDS]), len(seeds)))
    return made, notices


def link_value(configurations: Sequence[Configuration], run: RunView) -> str:
    """The value in a link: one run of each configuration, different from the page's run where possible."""
    others = [one.runs[0].name for one in configurations[1:]]
    return "|".join(escape_name(name) for name in others or [run.name])


def escape_name(name: str) -> str:
    """A run's name with the separator ``|`` escaped."""
    return name.replace("%", "%25").replace("|", "%7C")


def measured_configurations(store: Store) -> Mapping[str, str]:
    """Return every measured configuration: its first run and its name."""
    groups: dict[str, list[RunView]] = {}
    for run in store.comparable_runs().values():
        if run.measurement_names:
            groups.setdefault(run.family, []).append(run)
    names = {runs[0].name: [run.name for run in runs] for runs in groups.values()}
    return {
        first: shared_name(seeds) + f" \u00b7 {len(seeds)} seeds" if len(seeds) > 1 else first
        for first, seeds in names.items()
    }
