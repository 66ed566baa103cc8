"""The cells of the determinacy study: configurations whose runs are forked at fixed steps.

All settings were written down before the first run of the study. They were chosen by the share of runs that solve the
trained lengths at the first fork step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from workbench.core.names import CHALLENGE, MATCHED
from workbench.core.seeds import seed_of

if TYPE_CHECKING:
    from workbench.models.base.architecture import Architecture
    from workbench.tasks.base import Law, Task
    from workbench.training.config import RunConfig

STEPS = 500
FORK_STEPS = (150, 200, 300, 400)
"""Where runs are forked. The median run solves its trained lengths at step 100 to 150."""
CHILDREN = 3
PARENTS = 24
HEADLINE_PARENTS = 48
TRAINED_PARENTS = 64
"""Runs that are trained for 24 parents. The first that solve the trained lengths at the first fork step are used."""
WARMUP = 10
"""Steps of linear warm-up. With 50 steps, 2 of 8 runs of the first cell solve the trained lengths at step 150; with 10
steps, 5 of 12 do.
"""
LONGEST = 16
"""N, the longest trained length."""
TRAINED_MULTIPLES = (0.25, 0.5, 1.0)
"""Multiples of N at which a parent must solve the task at the first fork step."""
SOLVED = 0.95
"""Skill from which a run counts as solving a trained length."""
SCHEDULES = ("cosine", "constant")
LARGEST_SEED = 1 << 31


@dataclass(frozen=True)
class StudyCell:
    """One configuration of the study.

    Attributes:
        name: its short name.
        task: name of the task.
        positions: name of the position encoding.
        parameters: all parameters of the task, as a run stores them.
        schedule: the learning-rate schedule.
        parents: how many parents it has.
        longest: N, the longest trained length.
        test_set: the test set on which reach is evaluated.
        same_runs_as: name of the cell whose runs these are; "" = the runs are its own.
        architecture: of the models.
    """

    name: str
    task: str
    positions: str
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    schedule: str = "cosine"
    parents: int = PARENTS
    longest: int = LONGEST
    test_set: Law = MATCHED
    same_runs_as: str = ""
    architecture: Literal["transformer", "ssm"] = "transformer"

    @property
    def words(self) -> str:
        """The cell in words, e.g. ``bounded_dyck (n=2), no positions``."""
        longest = "" if self.longest == LONGEST else f", N = {self.longest}"
        test_set = "" if self.test_set == MATCHED else f", {self.test_set} test set"
        depth = f" (n={self.parameters['n']})" if "n" in self.parameters else ""
        positions = "no positions" if self.positions == "none" else f"{self.positions} positions"
        kind = "state-space model" if self.architecture == "ssm" else positions
        return f"{self.task}{depth}, {kind}{longest}{test_set}"

    def make_task(self) -> Task:
        """Return the task."""
        from workbench.tasks import make_task

        return make_task(self.task, **self.parameters)

    def config(self, seed: int, fork: tuple[int, int] | None = None) -> RunConfig:
        """Return the config of a run.

        Args:
            seed: seed of the initial weights and of the data.
            fork: (step, number) of a fork of this run, which has a data seed of its own from that step on.
        """
        from workbench.training.config import RunConfig, Seeds, TrainingConfig
        from workbench.training.curriculum import Uniform

        task = self.make_task()
        pairs = () if fork is None else ((fork[0], self.fork_seed(seed, *fork)),)
        return RunConfig(
            task=task,
            model=self._model(task),
            training=TrainingConfig(
                steps=STEPS,
                batch_size=32,
                learning_rate=3e-3,
                rate_law=self.schedule,
                warmup=WARMUP,
                curriculum=Uniform(low=1, high=self.longest),
            ),
            seeds=Seeds(init=seed, data=seed, data_from=pairs),
        )

    def _model(self, task: Task) -> Architecture:
        """The config of the models."""
        from workbench.models.ssm.config import SSMConfig
        from workbench.models.transformer.config import ModelConfig

        sizes = {"d_vocab": task.d_vocab, "d_vocab_out": task.d_vocab_out, "n_layers": 2, "d_model": 32}
        sizes["n_ctx"] = 10 * self.longest
        if self.architecture == "ssm":
            return SSMConfig(**sizes)
        return ModelConfig(**sizes, n_heads=2, positions=self.positions)  # type: ignore[arg-type]

    def fork_seed(self, seed: int, step: int, child: int) -> int:
        """Return the data seed of a fork, from its step on."""
        return seed_of("determinacy", self.same_runs_as or self.name, self.schedule, seed, step, child) % LARGEST_SEED

    def with_schedule(self, schedule: str) -> StudyCell:
        """Return the same cell with another learning-rate schedule and :data:`PARENTS` parents."""
        return replace(self, schedule=schedule, parents=PARENTS)


_MEMBER = {"ask": "member", "misses": "mixed"}


def _depth(n: int) -> dict[str, Any]:
    """Parameters of bounded Dyck of a depth."""
    return {"n": n, "ask": "next", "misses": "mixed"}


HEADLINE = (
    StudyCell("bounded_dyck_2-none", "bounded_dyck", "none", _depth(2), parents=HEADLINE_PARENTS),
    StudyCell("abd_bc-rotary", "abd_bc", "rotary", _MEMBER, parents=HEADLINE_PARENTS),
)
"""The two cells whose difference is the headline of the study."""
CELLS = (
    *HEADLINE,
    StudyCell("flip_flop-rotary", "flip_flop", "rotary", {"write_probability": 0.1, "read_probability": 0.1}),
    StudyCell("abd_bc-none", "abd_bc", "none", _MEMBER),
    StudyCell("even_pairs-none", "even_pairs", "none"),
    StudyCell("bounded_dyck_2-learned", "bounded_dyck", "learned", _depth(2)),
    StudyCell("bounded_dyck_3-none", "bounded_dyck", "none", _depth(3)),
    StudyCell("dyck_1-none", "dyck_1", "none", {"ask": "next"}),
)
"""The cells, in the order in which they are trained."""
CONSTANT = (*HEADLINE, CELLS[3], CELLS[6])
"""The cells that are also trained at a constant rate."""


MORE_CELLS = (
    replace(HEADLINE[1], name="abd_bc-rotary-32", parents=PARENTS, longest=32),
    replace(HEADLINE[1], name="abd_bc-rotary-challenge", test_set=CHALLENGE, same_runs_as=HEADLINE[1].name),
    replace(HEADLINE[0], name="bounded_dyck_2-ssm", parents=PARENTS, architecture="ssm"),
)
"""Cells beside those of the claims: another N, another test set, and another architecture.

With N = 32, 4 of 12 pilot runs of this cell solve the trained lengths at step 150, and 1 of 12 of the other headline
cell. The challenge test set of that cell equals its matched one, so it does not test anything else.
11 of 12 pilot runs of the state-space model solve the trained lengths at step 150.
"""


def planned_cells() -> list[StudyCell]:
    """Return the cells of the claims in the order of their training: cosine first, then a constant rate for four."""
    return [*CELLS, *(cell.with_schedule("constant") for cell in CONSTANT)]


def cell_named(name: str) -> StudyCell:
    """Return the cell with this name, with the cosine schedule."""
    return next(cell for cell in CELLS if cell.name == name)
