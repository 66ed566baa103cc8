"""What a callback may need: the store of runs, the workers, predictions of theory. One per app."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from workbench.dashboard.server.published_claims import PublishedClaims
from workbench.dashboard.server.theory_lookup import Expectations
from workbench.dashboard.server.worker import Worker
from workbench.dashboard.state.store import Store


@runtime_checkable
class Prefetcher(Protocol):
    """Draws what sliders will request next; the app provides one."""

    def ask(self, at: Any, panels: Sequence[Any], look: dict[str, Any]) -> None:
        """Draw panels around a selection ahead."""

    def disturb(self) -> None:
        """Pause drawing ahead, because a request arrived."""

    def close(self) -> None:
        """Stop the thread that draws ahead."""


class NoPrefetch:
    """A prefetcher that draws nothing ahead."""

    def ask(self, at: Any, panels: Sequence[Any], look: dict[str, Any]) -> None:
        """Do nothing."""

    def disturb(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


@dataclass
class Context:
    """All objects that a callback of the dashboard may need; there is one per app.

    Attributes:
        store: runs and rows.
        worker: what computes with models.
        measurer: what measures on demand, which takes long.
        prefetch: draws what sliders will request next.
        expectations: what theory expects of the runs.
        published_claims: the claims of papers with their verdicts.
    """

    store: Store
    worker: Worker
    measurer: Worker = field(default_factory=Worker)
    prefetch: Prefetcher = field(default_factory=NoPrefetch)
    expectations: Expectations = field(init=False)
    published_claims: PublishedClaims = field(init=False)

    def __post_init__(self) -> None:
        self.expectations = Expectations(self.worker)
        self.published_claims = PublishedClaims(self.worker)

    def close(self) -> None:
        """End the processes; safe to call twice."""
        self.worker.close()
        self.measurer.close()
        self.prefetch.close()
