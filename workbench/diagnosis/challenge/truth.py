"""The truth of a challenge: the planted cause and location of each model, and what each intervention recovers.

The truth file lies outside the folder of the models. Scoring reads only this file and the answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.core.thresholds import MOST_COST, NAMING_SHARE
from workbench.diagnosis.challenge.errors import ChallengeError
from workbench.storage.atomic import write_named
from workbench.storage.bounded import UnreadableError, read_bytes

LARGEST = 16 << 20
"""Maximum size of a truth file, in bytes."""
NONE = "none"
"""The answer for a model that does not fail: no cause."""
CAUSES = ("position", "keys", "content", "joint", NONE)
"""Causes that an answer may name. A cause that is left undecided counts as wrong."""
LOCATIONS = ("selection", "dispersion", "code", "read-out", "lost", NONE)
"""Locations that an answer may name."""


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Effect(_Stored):
    """What an intervention does to one model.

    Attributes:
        recovered: share of the accuracy drop at n that it recovers.
        cost: how much it lowers class-balanced accuracy at N.
    """

    recovered: float
    cost: float

    @property
    def works(self) -> bool:
        """Whether it recovers at least half of the drop and costs at most 0.05 at N."""
        return self.recovered >= NAMING_SHARE and self.cost <= MOST_COST


class ModelTruth(_Stored):
    """The truth about one model.

    Attributes:
        model: its name.
        kind: the kind of planted flaw.
        causes: the correct causes; one of them must be named.
        locations: the correct locations; empty = the location is not scored.
        accuracy: class-balanced accuracy at N.
        drop: accuracy drop at n.
        interventions: by name, every intervention that the model supports. Pairs are listed only for two planted
            causes.
    """

    model: str
    kind: str
    causes: Annotated[tuple[str, ...], Field(min_length=1)]
    locations: tuple[str, ...] = ()
    accuracy: float
    drop: float
    interventions: Mapping[str, Effect] = {}

    @property
    def working_interventions(self) -> list[str]:
        """Names of the interventions that work; empty = none is scored."""
        return [name for name, effect in self.interventions.items() if effect.works]


class Truth(_Stored):
    """The truth about all models of a challenge.

    Attributes:
        seed: the seed of the challenge. Who knows it can make the truth again.
        models: the models, in order.
    """

    seed: int
    models: tuple[ModelTruth, ...]

    @property
    def names(self) -> Sequence[str]:
        """Names of the models."""
        return [truth.model for truth in self.models]


def write_truth(path: Path, truth: Truth) -> bytes:
    """Write a truth file, and return its bytes."""
    data = (truth.model_dump_json(indent=1) + "\n").encode()
    write_named(path, data)
    return data


def read_truth(path: Path) -> Truth:
    """Return the truth of a challenge.

    Raises:
        ChallengeError: for a file that is missing or is not a truth file.
    """
    try:
        return Truth.model_validate_json(read_bytes(path, LARGEST))
    except (FileNotFoundError, UnreadableError, IsADirectoryError):
        raise ChallengeError(f"there is no truth file {path}; name the file that lengthlens challenge make wrote "
                             "with --truth") from None  # fmt: skip
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise ChallengeError(f"{path} is not a truth file of a challenge ({place}: {first['msg']}); make the challenge "
                             "again with its seed") from None  # fmt: skip
