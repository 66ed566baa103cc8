"""What a checkpoint does on single sequences, as plain data: forward passes, probes and wrong answers.

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
"""A right answer: a class, a number, or several numbers; None at positions without a query."""


@dataclass(frozen=True)
class Pass:
    """Activations of one forward pass over a sequence. For a model without attention, attributes about attention are
    None.

    Attributes:
        outputs: ``[pos, out]`` float32; probabilities of the answer classes, or real outputs.
        correct: per position; None at positions without a query.
        pattern: ``[query cell, key cell]`` float32, the highest weight of each cell, NaN where no key is visible.
        scores: ``[query cell, key cell]`` float32, the highest score of each cell before softmax.
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
class FirstWrong:
    """How a sequence was chosen: the first sample of a test set whose last answer the model, without edits, gets wrong.

    Attributes:
        sample: seed of the sequence, from 0; 0 if the model is right on every sample.
        tried: number of samples among which it was looked for.
        law: the test set.
        wrong: whether the model's last answer on it is wrong.
    """

    sample: int
    tried: int
    law: str
    wrong: bool


@dataclass(frozen=True)
class SequenceReading:
    """Outputs of a model and one head's attention on one sequence, without and with edits.

    Attributes:
        clean: the pass without edits.
        edited: the pass with edits; None if there are none.
        tokens: one name per position.
        text: the sequence as a user types it.
        bos: whether the first position is ``<bos>``.
        length: length of the sequence, in tokens.
        oracle: the answer of the task's own algorithm per position.
        outputs_names: names of the answer classes; None = real answers.
        asked: per position, whether it has a query.
        query: index of the query whose weights are in ``row``.
        queries: first position of the cells, and the one after their last.
        keys: the same for keys.
        pool: positions per cell.
        trained: N, the longest prefix length seen in training.
        step, layer, head: the checkpoint and the head; None = the mean over all heads.
        edits: the edits as text of a link.
        components: names of the components of a vector answer; empty for other answers.
        within: in words, how close numbers must be to the oracle's to be right; "" where answers are classes.
        intervention: the interventions among the edits, in a few words; "" without one.
        strength: strength of the interventions among the edits.
        graded: whether a strength between 0 and 1 has a meaning for each of these interventions.
        decisive: per position, the index of the token that decides the right answer; None where the task names none.
        chosen: how the sequence was chosen; None for a typed sequence, or a sample by its seed.
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
    intervention: str = ""
    strength: float = 1.0
    graded: bool = True
    decisive: list[int | None] = field(default_factory=list)
    chosen: FirstWrong | None = None

    @property
    def edited_pass(self) -> Pass:
        """The forward pass with edits.

        Raises:
            ValueError: if there were no edits.
        """
        if self.edited is None:
            raise ValueError("nothing was edited in this pass; pass edits to look()")
        return self.edited

    def of(self, part: PassName) -> Pass:
        """Return a pass by its name; raises as :attr:`edited_pass`."""
        return self.clean if part == "clean" else self.edited_pass

    @property
    def classes(self) -> list[str]:
        """Names of the answer classes; empty where answers are real."""
        return self.outputs_names or []

    def right(self, index: int) -> int | None:
        """Return the right class at a position; None without a query, or where answers are real."""
        answer = self.oracle[index]
        return None if answer is None or isinstance(answer, list) or not self.classes else int(answer)

    @property
    def passes(self) -> Iterator[tuple[PassName, Pass]]:
        """Yield the forward passes that exist, with their names; the one without edits comes first."""
        yield "clean", self.clean
        if self.edited is not None:
            yield "edited", self.edited


@dataclass(frozen=True)
class ConceptReading:
    """The values of one quantity that a probe decodes at each position of a sequence.

    Attributes:
        true: ``[pos]``, the true value. For classes it is an index into ``classes``, -1 for a class unknown to the
            probe.
        clean: ``[site, pos]``, decoded from the clean pass; None without a probe.
        edited: ``[site, pos]``, decoded from the edited pass; None without edits.
        rmse: ``[site]``, held-out root mean squared error; all zeros for classes.
        strings: number of sequences in the probe's training set.
        problem: why there is no probe, or "".
        classes: names of the classes; None for a number (the first one, if there are several).
        name: the concept's name in its task.
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
        """Return the decoded values of each forward pass, by the name of the pass."""
        return {name: one for name, one in (("clean", self.clean), ("edited", self.edited)) if one is not None}


@dataclass(frozen=True)
class ProbeReading:
    """The values that probes decode at every prefix of one sequence.

    Attributes:
        sites: layer of each row of the readings; -1 = the embedding.
        prefix: prefix length of each position.
        asked: per position, whether it has a query.
        summary: the frozen probe of the task state at the output.
        position: a probe of position, refitted at this length.
    """

    sites: list[int]
    prefix: list[int]
    asked: list[bool]
    summary: ConceptReading
    position: ConceptReading

    def concept(self, name: str) -> ConceptReading:
        """Return the reading ``summary`` or ``position``."""
        return self.summary if name == "summary" else self.position


@dataclass(frozen=True)
class HeadMaps:
    """The attention weights of every head on one sequence.

    Attributes:
        maps: ``[layer, head, query cell, key cell]`` float32, the highest weight of each cell. NaN where no key is
            visible, and in layers without attention.
        tokens: one name per position.
        bos: whether the first position is ``<bos>``.
        length: length of the sequence, in tokens.
        pool: positions per cell.
        step: step of the checkpoint.
    """

    maps: NDArray[np.float32]
    tokens: list[str]
    bos: bool
    length: int
    pool: int
    step: int


@dataclass(frozen=True)
class Twin:
    """The nearest correct input: a sequence of the same length with the same correct answer, which the model answers
    correctly.

    Attributes:
        text: the sequence as a user types it.
        differs: prefix lengths of the tokens that differ; 1 is the first token.
        margin: the right answer's logit minus the best other one, nats.
        made: whether it was made by replacing one token; otherwise it is from the sample.
        was, becomes: the replaced token and its replacement; "" if it is from the sample.
    """

    text: str
    differs: tuple[int, ...]
    margin: float
    made: bool
    was: str = ""
    becomes: str = ""


@dataclass(frozen=True)
class WrongString:
    """One sequence that the model answers incorrectly.

    Attributes:
        text: the sequence as a user types it.
        right, answered: names of the right answer and of the model's answer.
        margin: the model's answer's logit minus the right one's, nats.
        twin: the nearest correct input; None if none was found.
        repaired: whether the intervention makes the answer right; None = no intervention was tried.
    """

    text: str
    right: str
    answered: str
    margin: float
    twin: Twin | None = None
    repaired: bool | None = None


@dataclass(frozen=True)
class WrongStrings:
    """The most confidently wrong sequences of a sample, largest margin first.

    Attributes:
        strings: the sequences.
        wrong, asked: number of wrong sequences in the sample, and sample size.
        step, length, law: the checkpoint, the prefix length and the test set.
        repair: name of the tested intervention; "" = none.
        repaired: how many wrong sequences the intervention makes right; None = none was tested.
        tried: number of single-token replacements tried per sequence.
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
