"""What a checkpoint does on single sequences, as plain values and arrays: readings of a pass, probes and wrong answers.

Measurements make these objects and figures draw them. This module imports no torch, so that the dashboard can load it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

PassName = Literal["clean", "edited"]
Answer = int | float | list[float] | None
"""A right answer: a class, a number, or several; None where nothing is asked."""


@dataclass(frozen=True)
class Pass:
    """One pass of the model over the sequence; without attention everything about a pattern is None.

    Attributes:
        outputs: ``[pos, out]`` float32; probabilities of the answer classes, or real outputs.
        correct: per position, None where nothing is asked.
        pattern: ``[query cell, key cell]`` float32, the highest weight of each cell, NaN where no key is visible.
        scores: likewise, the highest score before softmax.
        row_top: ``[query cell]`` float32, the highest score of a cell's queries over all their keys.
        row: ``[key]`` float32, the chosen query's weights.
    """

    outputs: NDArray[np.float32]
    correct: list[bool | None]
    pattern: NDArray[np.float32] | None = None
    scores: NDArray[np.float32] | None = None
    row_top: NDArray[np.float32] | None = None
    row: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class SequenceReading:
    """Outputs and one head's attention on one sequence, as the checkpoint is and under edits.

    Attributes:
        clean: the model as it is.
        edited: under the edits; None without any.
        tokens: one name per position.
        text: the sequence as one types it.
        bos: whether the first position is ``<bos>``.
        length: of the string, in tokens.
        oracle: the answer of the task's own algorithm per position.
        outputs_names: of the answer classes; None = real answers.
        asked: per position, whether the task asks there.
        query: index of the query whose whole row is given.
        queries: first position and the one after the last that the cells cover.
        keys: likewise of the keys.
        pool: positions per cell.
        trained: N, the longest prefix length seen in training.
        step, layer, head: of which checkpoint and head; None = the mean over all heads.
        edits: as a link writes them.
        components: names of the components of a vector answer; none of other answers.
        within: how near numbers must come to the oracle's to be right, in words; "" where answers are classes.
    """

    clean: Pass
    edited: Pass | None
    tokens: list[str]
    text: str
    bos: bool
    length: int
    oracle: list[Answer]
    outputs_names: list[str] | None
    asked: list[bool]
    query: int
    queries: tuple[int, int]
    keys: tuple[int, int]
    pool: int
    trained: int
    step: int
    layer: int | None
    head: int | None
    edits: str
    components: list[str] = field(default_factory=list)
    within: str = ""

    @property
    def changed(self) -> Pass:
        """The edited pass.

        Raises:
            ValueError: where nothing was edited.
        """
        if self.edited is None:
            raise ValueError("nothing was edited in this pass; pass edits to look()")
        return self.edited

    def of(self, part: PassName) -> Pass:
        """A pass by its name; raises as :attr:`changed`."""
        return self.clean if part == "clean" else self.changed

    @property
    def classes(self) -> list[str]:
        """Names of the answer classes; none where answers are real."""
        return self.outputs_names or []

    def right(self, index: int) -> int | None:
        """The right class at a position; None where nothing is asked, or answers are real."""
        answer = self.oracle[index]
        return None if answer is None or isinstance(answer, list) or not self.classes else int(answer)

    @property
    def passes(self) -> Iterator[tuple[PassName, Pass]]:
        """Every pass there is, the clean one first."""
        yield "clean", self.clean
        if self.edited is not None:
            yield "edited", self.edited


@dataclass(frozen=True)
class ConceptReading:
    """What a probe reads of one concept along the sequence.

    Attributes:
        true: ``[pos]``; of classes their places in ``classes``, -1 for one that the probe does not know.
        clean: ``[site, pos]``; None without a probe.
        edited: likewise, under the edits; None without any.
        rmse: ``[site]``, held-out root mean squared error; all zeros for classes.
        strings: sequences it was fitted on.
        problem: why there is no probe, or "".
        classes: their names; None for a number (of several, the first is read).
        name: of the concept in its task.
    """

    true: NDArray[np.float64]
    clean: NDArray[np.float64] | None
    edited: NDArray[np.float64] | None
    rmse: list[float]
    strings: int
    problem: str = ""
    classes: list[str] | None = None
    name: str = ""

    @property
    def passes(self) -> dict[str, NDArray[np.float64]]:
        """Every pass that was read."""
        return {name: one for name, one in (("clean", self.clean), ("edited", self.edited)) if one is not None}


@dataclass(frozen=True)
class ProbeReading:
    """What probes read at every prefix of one sequence.

    Attributes:
        sites: layer of each place in the residual stream, -1 for the embedding.
        prefix: prefix length of each position.
        asked: per position, whether the task asks there.
        summary: the frozen probe of the output's summary.
        position: a probe of position, refitted at this length.
    """

    sites: list[int]
    prefix: list[int]
    asked: list[bool]
    summary: ConceptReading
    position: ConceptReading

    def concept(self, name: str) -> ConceptReading:
        """``summary`` or ``position``."""
        return self.summary if name == "summary" else self.position


@dataclass(frozen=True)
class HeadMaps:
    """The attention of every head on one sequence.

    Attributes:
        maps: ``[layer, head, query cell, key cell]`` float32, the highest weight of each cell, NaN where no key is
            visible and where a layer has no attention.
        tokens: one name per position.
        bos: whether the first position is ``<bos>``.
        length: of the string, in tokens.
        pool: positions per cell.
        step: of which checkpoint.
    """

    maps: NDArray[np.float32]
    tokens: list[str]
    bos: bool
    length: int
    pool: int
    step: int


@dataclass(frozen=True)
class Twin:
    """The nearest string of the same length and the same right answer that is answered right.

    Attributes:
        text: as one types it.
        differs: places at which it differs, as prefix lengths: 1 is the first token.
        margin: the right answer's logit less the best other one, nats.
        made: whether it is the string with one token replaced; else it is of the sample.
        was, becomes: the replaced token and what replaces it; "" where it was not made.
    """

    text: str
    differs: tuple[int, ...]
    margin: float
    made: bool
    was: str = ""
    becomes: str = ""


@dataclass(frozen=True)
class WrongString:
    """One string.

    Attributes:
        text: as one types it.
        right, answered: names of the answers.
        margin: the given answer's logit less the right one's, nats.
        twin: its nearest right twin; None where the sample has none.
        repaired: whether the repair makes the answer right; None = no repair was tried.
    """

    text: str
    right: str
    answered: str
    margin: float
    twin: Twin | None = None
    repaired: bool | None = None


@dataclass(frozen=True)
class WrongStrings:
    """The most confidently wrong strings of a sample, the worst first.

    Attributes:
        strings: them.
        wrong, asked: how many of the sample are wrong, and its size.
        step, length, law: of which checkpoint and which strings.
        repair: the name of the repair that was tried; "" = none.
        repaired: how many of the wrong ones it makes right; None where none was tried.
        tried: tokens replaced, one at a time, for each string.
        problem: why there are none, or "".
    """

    strings: Sequence[WrongString]
    wrong: int
    asked: int
    step: int
    length: int
    law: str
    repair: str = ""
    repaired: int | None = None
    tried: int = 0
    problem: str = ""
