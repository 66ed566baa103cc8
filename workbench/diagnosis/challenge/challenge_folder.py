"""The folder of a challenge: a list of models with their tasks and lengths, and their weights."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.diagnosis.challenge.errors import ChallengeError
from workbench.storage import bounded
from workbench.storage.bounded import UnreadableError, read_bytes, sha256_of_file

if TYPE_CHECKING:
    from workbench.models.base.hooked import Hooked
    from workbench.tasks.base import Batch, Task

FILE = "challenge.json"
MODEL_CONFIG = "config.json"
MODEL_WEIGHTS = "model.safetensors"
VERSION = 1


class ModelEntry(BaseModel):
    """The public facts about one model.

    Attributes:
        name: its name, and the name of its folder.
        task: name and parameters of its task.
        trained: N, the longest trained length.
        length: n, the length at which it may fail.
        trained_ids: intervals of the position ids that occurred in training; None = those of sequences up to N.
        sha256: hash of its weights.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern=r"^m\d{1,4}$")]
    task: dict[str, Any]
    trained: Annotated[int, Field(ge=1, le=4096)]
    length: Annotated[int, Field(ge=1, le=4096)]
    trained_ids: tuple[tuple[int, int], ...] | None = None
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ChallengeFile(BaseModel):
    """The file ``challenge.json``.

    Attributes:
        challenge: version of the format.
        truth_sha256: hash of the truth file. It shows later that the truth was not changed.
        models: the models.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    challenge: int
    truth_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    models: tuple[ModelEntry, ...]


class ChallengeModel:
    """One model of a challenge.

    Args:
        folder: folder of the challenge.
        entry: its public facts.
    """

    def __init__(self, folder: Path, entry: ModelEntry) -> None:
        self.folder, self.entry = folder / entry.name, entry
        self.name, self.trained, self.length = entry.name, entry.trained, entry.length
        self.trained_ids = entry.trained_ids

    @property
    def task(self) -> Task:
        """The task that the model solves up to N.

        Raises:
            ChallengeError: for a task that the challenge does not have.
        """
        from workbench.diagnosis.bench.needle_models import WrittenBit
        from workbench.diagnosis.bench.position_readers import MarkedBit, PreviousBit
        from workbench.tasks.counting.majority import Majority

        tasks: dict[str, type[Task]] = {cls.name: cls for cls in (WrittenBit, PreviousBit, MarkedBit, Majority)}
        name, parameters = self.entry.task.get("name"), {k: v for k, v in self.entry.task.items() if k != "name"}
        if name not in tasks:
            raise ChallengeError(f"{self.name} has the unknown task {name!r}; {AGAIN}")
        try:
            return tasks[name](**parameters)
        except ValidationError:
            raise ChallengeError(f"{self.name} has parameters that its task {name} does not accept; {AGAIN}") from None

    def load(self) -> Hooked:
        """Return the model.

        Raises:
            ChallengeError: if its files are missing or changed.
        """
        from workbench.models.architectures import make_config
        from workbench.runs.weights import load_model

        try:
            config = json.loads(read_bytes(self.folder / MODEL_CONFIG, bounded.RUN_JSON))
            if sha256_of_file(self.folder / MODEL_WEIGHTS) != self.entry.sha256:
                raise ChallengeError(f"the weights in {self.folder} have changed; {AGAIN}")
            cfg = make_config(config)
        except (OSError, UnreadableError) as error:
            raise ChallengeError(f"the files of {self.folder} cannot be read ({error}); {AGAIN}") from None
        except (TypeError, ValueError) as error:
            if isinstance(error, ChallengeError):
                raise
            raise ChallengeError(f"{self.folder / MODEL_CONFIG} does not describe a model; {AGAIN}") from None
        return load_model(self.folder / MODEL_WEIGHTS, cfg, self.folder / MODEL_CONFIG)

    def draw(self, length: int, count: int, word: str = "sequences") -> Batch:
        """Return sequences of a length with their correct answers; the same arguments give the same sequences."""
        from workbench.tasks.random_generator import generator

        draw = generator("challenge", word, self.name, length, count)
        return self.task.sample(count, length, draw, "matched", window=self.trained)


class Challenge:
    """A folder of a challenge.

    Args:
        folder: the folder.
        file: the content of its ``challenge.json``.
    """

    def __init__(self, folder: Path, file: ChallengeFile) -> None:
        self.folder, self.file = folder, file
        self.models: Sequence[ChallengeModel] = [ChallengeModel(folder, entry) for entry in file.models]

    @property
    def names(self) -> list[str]:
        """Names of the models."""
        return [model.name for model in self.models]

    def check_truth(self, path: Path) -> None:
        """Refuse a truth file that does not belong to this challenge.

        Raises:
            ChallengeError: if its hash is another one.
        """
        try:
            found = hashlib.sha256(read_bytes(path, bounded.TABLE)).hexdigest()
        except (OSError, UnreadableError):
            raise ChallengeError(f"there is no truth file {path}; name it with --truth") from None
        if found != self.file.truth_sha256:
            raise ChallengeError(f"{path} is not the truth file of {self.folder}; name the file that was made with it")


AGAIN = "make the challenge again with its seed"


def open_challenge(folder: str | Path) -> Challenge:
    """Return the challenge in a folder.

    Raises:
        ChallengeError: for a folder without a challenge, or a file that does not fit.
    """
    path = Path(folder) / FILE
    try:
        file = ChallengeFile.model_validate_json(read_bytes(path, bounded.RUN_JSON))
    except (OSError, UnreadableError):
        raise ChallengeError(f"{folder} contains no {FILE}; make a challenge with "
                             f"lengthlens challenge make --seed 1 --out {folder}") from None  # fmt: skip
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise ChallengeError(f"{path} is not a valid challenge file ({where}: {first['msg']}); {AGAIN}") from None
    if file.challenge != VERSION:
        raise ChallengeError(f"{path} has the format {file.challenge}, but this version reads {VERSION}; {AGAIN}")
    return Challenge(Path(folder), file)
