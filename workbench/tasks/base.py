"""What a task is: a scale-invariant sequence map together with the laws its strings are drawn from.

A task states, once, everything that training, measuring and display share: how strings are drawn,
what the right answer is at every prefix, which bounded summary of the prefix that answer needs,
what a guess and what a shortcut would score. Nothing here knows about models.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import BaseModel, ConfigDict
from torch import Tensor
from torch.nn import functional as F

from workbench.core.errors import shown
from workbench.core.html_card import card
from workbench.core.limits import LONGEST
from workbench.core.names import BOS, DISTRIBUTIONS, TEST_SETS
from workbench.tasks.automata.dfa import Automaton
from workbench.tasks.batch import MOST_LISTED, Batch, Support, TaskError
from workbench.tasks.best_constant import ROUNDING, best_constant
from workbench.tasks.random_generator import generator
from workbench.tasks.rejection import by_rejection

__all__ = ["BOS", "EVALUATION_LAWS", "ROUNDING", "Batch", "Law", "Support", "Task", "TaskError"]

Law = str
"""One of :data:`workbench.core.names.DISTRIBUTIONS`; it comes from tables and options, so it is checked when used."""

EVALUATION_LAWS: tuple[Law, ...] = TEST_SETS
LABELLED_AT_ONCE = 1 << 17
"""Tokens of strings that are labelled together, so that long ones take no more memory than a block of their own."""


def refuse_endless(length: int | float) -> None:
    """Refuse a length that no string is drawn at.

    Raises:
        TaskError: for one beyond :data:`workbench.core.limits.LONGEST`.
    """
    if length > LONGEST:
        raise TaskError(f"length {shown(length)} is beyond {LONGEST:,}, the longest length of a sequence")


SMALL_SSM: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("architecture", "ssm"): {"layers": 1, "d_model": 16, "learning_rate": 5e-3, "lengths": "1-64", "steps": 1000}
}
"""A state-space model for tasks whose state is small or a count: about a minute on one core."""


class Task(BaseModel):
    """A sequence map with its data laws. To make one, subclass it; the fields of the subclass are its parameters.

    ``lengthlens new task NAME`` writes a subclass that works, with its test, and ``lengthlens tasks --check
    NAME.py:Class`` says whether one keeps what a task promises.

    A subclass states, as class variables:

    - ``name``, ``question`` (what is asked at each query), ``summary`` (one phrase: what of a prefix the answer needs);
    - ``kind``: ``state``, ``average``, ``counter`` or ``pointer``, what is carried on to answer at every length;
    - ``vocabulary``: token names, of which the ids are the places; :data:`BOS`, where there is one, comes first;
    - ``outputs``: names of the answer classes; None for answers that are numbers, of ``output_dim`` components, which
      are right within the field ``tolerance``. Such a task also writes :meth:`chance`.

    It writes four methods. Strings are token ids ``[batch, length]`` without BOS, which is put in front for it:

    - :meth:`draw_strings` draws strings of a law: ``training``, ``matched`` (the law of the summary is the same at
      every length) or ``challenge`` (neither the first nor the last ``window`` tokens give the answer away);
    - :meth:`label_strings` gives right answers, where they are asked, and summaries, at every prefix;
    - :meth:`reference` gives the answers of one string once more, in plain Python, from the definition: the oracle;
    - :meth:`answer` guesses the last answer from a window of tokens alone, of which shortcuts are made.

    It may write, where the defaults do not hold: :meth:`admissible` (lengths that exist; default all), :meth:`chance`
    (default one over the number of classes), :meth:`prefix_closed` (default False), :meth:`automaton` (for a finite
    state, so that theory can say what to expect), ``suggested`` (options of ``lengthlens train``), ``family``,
    ``strata_names`` with :meth:`strata` or :meth:`draw_stratum` (hard strings), :attr:`neutral_tokens`,
    :meth:`support` (all strings, where they are few), :attr:`challenge_is_matched` (why there is no challenge law).
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: ClassVar[str]
    question: ClassVar[str]
    """What is asked at each query, as a short question a newcomer understands."""
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]]
    summary: ClassVar[str]
    """One phrase naming the output summary, e.g. "which symbol leads"."""
    vocabulary: ClassVar[tuple[str, ...]]
    """Token names; ids are their places in this tuple. BOS, where there is one, comes first."""
    outputs: ClassVar[tuple[str, ...] | None] = None
    """Names of the answer classes, or None for a real-valued task."""
    output_dim: ClassVar[int] = 1
    """Dimension of the answer of a real-valued task."""
    family: ClassVar[str] = "other"
    """What it is listed under, e.g. ``copying``."""
    suggested: ClassVar[Mapping[str, Any]] = {}
    """Options of ``lengthlens train`` that suit this task where its own defaults do not, e.g. ``steps``."""
    suggested_with: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {}
    """What suits on top where an option has a value; see :data:`SMALL_SSM`."""
    formerly: ClassVar[Mapping[str, Any]] = {}
    """What parameters were before there were any of that name, where that is not their default: data that does
    not name them was written then; see :func:`workbench.tasks.registry.task_of`."""
    strata_names: ClassVar[tuple[str, ...]] = ()
    """Named kinds of hard strings, drawn on purpose, reported beside accuracy and outside the verdict."""
    strata_kind: ClassVar[str] = "hard inputs"
    """What these kinds are called together, as the subject of a plural verb, e.g. ``small margins``."""
    outside_floor: ClassVar[frozenset[str]] = frozenset()
    """The shortcut oracles that are told but never count as a floor."""
    presented: ClassVar[bool] = False
    """Whether it is told in tokens of a model that others trained (:mod:`workbench.tasks.presented`)."""

    # ---- what a model for this task must look like -------------------------------------------
    @property
    def tokens_names(self) -> tuple[str, ...]:
        """Token names in the order of their ids (tasks whose alphabet is a parameter override it)."""
        return self.vocabulary

    @property
    def output_names(self) -> tuple[str, ...] | None:
        """Answer-class names, or None for a real-valued task."""
        return self.outputs

    @property
    def bos(self) -> bool:
        """Whether strings start with BOS."""
        return self.tokens_names[0] == BOS

    @property
    def token_counts(self) -> Int[Tensor, " token"] | None:
        """How often training text has each token, by id; None where strings are drawn and not read."""
        return None

    @property
    def real(self) -> bool:
        """Whether answers are real numbers rather than classes."""
        return self.output_names is None

    @property
    def d_vocab(self) -> int:
        """Number of token ids, BOS included."""
        return len(self.tokens_names)

    @property
    def d_vocab_out(self) -> int:
        """Number of answer classes, or the dimension of a real answer."""
        names = self.output_names
        return self.output_dim if names is None else len(names)

    @property
    def component_names(self) -> tuple[str, ...]:
        """What the components of a vector answer are of: the tokens, where there are as many; else their places."""
        names = self.tokens_names[int(self.bos) :]
        if not self.real or self.d_vocab_out == 1:
            return ()
        return names if len(names) == self.d_vocab_out else tuple(str(i + 1) for i in range(self.d_vocab_out))

    @property
    def right_within(self) -> str:
        """How near an answer that is numbers must come to be right, in words; "" where answers are classes."""
        return f"within {self.tolerance_:g}" if self.real else ""

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters as plain JSON data; ``make_task(task.name, **task.parameters)`` makes it again."""
        return self.model_dump(mode="json")

    def speaks_as(self, other: Task) -> bool:
        """Whether both have the same tokens and the same answers, so that a model of one can be asked the other."""
        mine = self.tokens_names, self.output_names, self.d_vocab_out
        return mine == (other.tokens_names, other.output_names, other.d_vocab_out)

    def model_copy(  # type: ignore[override]  # a checker of types at run time knows no Self in a method
        self, *, update: Mapping[str, Any] | None = None, deep: bool = False
    ) -> Task:
        """The same task with some parameters changed and all checked; what this one has cached is not taken along."""
        kept = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**{**kept, **(update or {})})

    def _repr_html_(self) -> str:
        """What notebooks show."""
        facts = [
            ("question", self.question),
            ("kind", self.kind),
            ("summary", self.summary),
            ("tokens", " ".join(self.tokens_names[:40]) + (" .." if self.d_vocab > 40 else "")),
            (
                "answers",
                f"{self.output_dim} numbers" if self.output_names is None else " ".join(self.output_names[:40]),
            ),
            ("parameters", ", ".join(f"{name} {value}" for name, value in self.parameters.items())),
        ]
        return card(f"Task {self.name}", facts)

    # ---- what may be inserted ----------------------------------------------------------------
    @property
    def neutral_tokens(self) -> tuple[int, ...]:
        """Token ids that change no answer and no summary wherever :meth:`neutral_gaps` lets them be inserted.

        () where the task states none.
        """
        return ()

    def neutral_gaps(self, strings: Int[Tensor, "batch length"]) -> Bool[Tensor, "batch length"]:
        """Whether neutral tokens may be inserted directly before each token of strings without BOS.

        By default before every token but the first, which some laws fix. So the first and the last token stay.
        """
        gaps = torch.ones_like(strings, dtype=torch.bool)
        gaps[:, 0] = False
        return gaps

    # ---- what theory asks --------------------------------------------------------------------
    def automaton(self) -> Automaton | None:
        """The finite automaton that answers as this task does; None where none is stated.

        Its symbols are the tokens without BOS, in the order of their ids. Its answer after a string (see
        :attr:`workbench.tasks.automata.dfa.Automaton.labels`) is that of :meth:`reference`, wherever that gives one,
        for every string that the task's laws can draw. A task of kind ``state`` states one, unless its states are
        beyond :data:`workbench.tasks.automata.dfa.LARGEST_AUTOMATON`.
        """
        return None

    @property
    def crasp_program(self) -> str | None:
        """A C-RASP program for this map, as text or by its name in :data:`workbench.theory.crasp.zoo.ZOO`; None without
        one.

        Its symbols are the tokens without BOS, in the order of their ids.
        """
        return None

    # ---- lengths -----------------------------------------------------------------------------
    @property
    def fixed_lengths(self) -> tuple[int, ...]:
        """Lengths at which a model is asked that was never trained on the task; () where N says which."""
        return ()

    def positions(self, length: int) -> int:
        """Positions of a string of ``length`` task tokens."""
        return length + self.bos

    def beyond_window(self, length: int) -> bool:
        """Whether a string of ``length`` reaches beyond the positions that a model which others trained knows."""
        return False

    def affordable(self, length: int, wanted: int) -> int:
        """How many of the wanted strings of a length are asked; all, unless a task is dear."""
        return wanted

    def admissible(self, length: int) -> bool:
        """Whether strings of exactly ``length`` task tokens exist for this task."""
        return length >= 1

    def lengths(self, low: int, high: int) -> list[int]:
        """The admissible lengths in ``low..high``, both included.

        Raises:
            TaskError: if there is none, or ``high`` exceeds :data:`workbench.core.limits.LONGEST`.
        """
        refuse_endless(high)
        found = [n for n in range(max(1, low), high + 1) if self.admissible(n)]
        if not found:
            raise TaskError(f"{self.name} has no admissible length between {low} and {high}")
        return found

    def next_length(self, length: int | float) -> int:
        """The smallest admissible length that is at least ``length``.

        Raises:
            TaskError: if there is none near, or ``length`` exceeds :data:`workbench.core.limits.LONGEST`.
        """
        refuse_endless(length)
        n = max(1, math.ceil(length))
        for candidate in range(n, n + 4096):
            if self.admissible(candidate):
                return candidate
        raise TaskError(f"{self.name} has no admissible length from {n} on")

    # ---- drawing -----------------------------------------------------------------------------
    def sample(
        self,
        batch: int,
        length: int,
        generator: torch.Generator,
        law: Law = "training",
        window: int | None = None,
    ) -> Batch:
        """Draw ``batch`` strings of exactly ``length`` task tokens, labelled at every prefix.

        Args:
            batch: number of sequences.
            length: task tokens per sequence, BOS excluded; must be admissible.
            generator: the only source of randomness.
            law: ``training``, ``matched`` (the law of the summary is the same at every length; a task for which
                that holds in the limit only says so) or ``challenge`` (shortcuts score near
                chance from 8N/3 on, N the ``window``).
            window: the longest training length N, which challenge laws of automata need in order to
                put the deciding event outside the first N and the last N tokens; None = ``length // 8``.

        Raises:
            TaskError: for a length or a law the task does not have.
        """
        self._refuse(length, law)
        strings, meta = self.draw_strings(batch, length, generator, law, window)
        return self._batch(strings, law, meta)

    def batch(
        self, n_sequences: int, length: int, seed: int = 0, test_set: Law = "matched", trained_length: int | None = None
    ) -> Batch:
        """Draw sequences of one length: the usual way in notebooks and scripts.

        Args:
            n_sequences: number of sequences.
            length: task tokens per sequence, without BOS.
            seed: the same seed gives the same sequences; each length and test set has its own random stream.
            test_set: ``matched``, ``challenge``, or ``training`` for sequences as training draws them.
            trained_length: N, which challenge sets of automata need to place the deciding event outside the first
                and the last N tokens; None = ``length // 8``.

        Example:

            >>> from workbench.tasks import make_task
            >>> make_task("parity").batch(4, 16).tokens.shape
            torch.Size([4, 17])

        Raises:
            TaskError: for a length or a test set that the task does not have.
        """
        stream = generator("batch", seed, test_set, length)
        return self.sample(n_sequences, length, stream, test_set, trained_length)

    def sample_blocks(
        self,
        size: int,
        length: int,
        generators: Sequence[torch.Generator],
        law: Law = "training",
        window: int | None = None,
    ) -> Batch:
        """The strings of :meth:`sample` with one generator after another, in order, without ``update_summary``.

        Many blocks are labelled together: labelling 64 strings takes nearly as long as labelling a thousand.

        Args:
            size: sequences of each block.
            length, law, window: as :meth:`sample` takes them.
            generators: one for each block, at least one.

        Raises:
            TaskError: as :meth:`sample`.
        """
        self._refuse(length, law)
        together = max(1, LABELLED_AT_ONCE // (size * length))

        def labelled(some: Sequence[torch.Generator]) -> Batch:
            drawn = [self.draw_strings(size, length, one, law, window) for one in some]
            meta = {key: torch.cat([known[key] for _, known in drawn]) for key in drawn[0][1]}
            made = self._batch(torch.cat([strings for strings, _ in drawn]), law, meta)
            return replace(made, update_summary=None)  # the largest part

        starts = range(0, len(generators), together)
        return Batch.join([labelled(generators[start : start + together]) for start in starts])

    def _refuse(self, length: int, law: str) -> None:
        """Raise TaskError for a length or a law the task does not have."""
        if law not in DISTRIBUTIONS:
            raise TaskError(f"unknown test set {law!r}; choose one of {', '.join(DISTRIBUTIONS)}")
        if not self.admissible(length):
            raise TaskError(
                f"{self.name} has no sequences of length {length}; "
                f"the next admissible length is {self.next_length(length)}"
            )

    def label(
        self, strings: Int[Tensor, "batch length"], law: str = "given", meta: dict[str, Tensor] | None = None
    ) -> Batch:
        """Make a batch of given strings (token ids without BOS): targets, mask and summaries.

        Raises:
            TaskError: for an empty string, or a token id that is not in the vocabulary or is BOS.
        """
        first = 1 if self.bos else 0
        if strings.shape[1] == 0:
            raise TaskError(f"{self.name} cannot label empty sequences; give at least one token")
        wrong = strings[(strings < first) | (strings >= self.d_vocab)]
        if len(wrong):
            raise TaskError(
                f"{self.name} takes token ids from {first} to {self.d_vocab - 1}, without BOS, not {int(wrong[0])}"
            )
        return self._batch(strings, law, meta or {})

    def _batch(self, strings: Int[Tensor, "batch length"], law: str, meta: dict[str, Tensor]) -> Batch:
        targets, mask, output_summary, update_summary = self.label_strings(strings, meta)
        position_ids = self.coupled_ids(strings, meta)
        if self.bos:
            first = strings.new_full((strings.shape[0], 1), 0)
            tokens = torch.cat([first, strings], 1)
            targets, mask, output_summary = (
                _pad_front(targets),
                _pad_front(mask),
                _pad_front(output_summary),
            )
            update_summary = None if update_summary is None else _pad_front(update_summary)
        else:
            tokens = strings
        return Batch(
            tokens=tokens,
            targets=targets,
            mask=mask,
            output_summary=output_summary,
            update_summary=update_summary,
            length=strings.shape[1],
            bos=self.bos,
            law=law,
            position_ids=position_ids,
            prompt=self.prompt_of(strings.shape[1]),
            meta=meta,
        )

    @abstractmethod
    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        """Draw strings of a law; to be written by a subclass, and called through :meth:`sample`.

        Args:
            batch, length: how many strings, of how many tokens; ``length`` is admissible.
            generator: the only source of randomness.
            law, window: as for :meth:`sample`.

        Returns:
            token ids without BOS, int64 ``[batch, length]``, and facts of the strings that :meth:`label_strings` is
            given again, by name, each ``[batch, ...]``; ``{}`` where there are none.
        """

    @abstractmethod
    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        """Label strings at every prefix; to be written by a subclass, and called through :meth:`label`.

        Args:
            strings: token ids without BOS.
            meta: what :meth:`draw_strings` said of them; ``{}`` for strings from elsewhere.

        Returns:
            four tensors, their first two axes ``[batch, length]``: targets (class ids, int64; for numbers float, with
            the axis ``output_dim``), the mask of where an answer is asked (bool, True at the end of every string),
            the output summary, and the update summary (what can be carried on token by token) or None.
        """

    @abstractmethod
    def reference(self, tokens: Sequence[int]) -> list[Any]:
        """The exact online algorithm, in plain Python and sharing no code with the sampler: the oracle.

        Args:
            tokens: token ids of one string, without BOS.

        Returns:
            per prefix, the right answer (class id, or float), or None where nothing is asked.
        """

    def coupled_ids(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> Int[Tensor, "batch pos"] | None:
        """Position ids that the task couples, BOS included, or None where it couples none."""
        return None

    def prompt_of(self, length: int) -> int | None:
        """See :attr:`Batch.prompt`; None where answers are asked for, not shown."""
        return None

    def answer_index(self, batch: Batch) -> Int[Tensor, " batch"] | None:
        """Index on the position axis of the one token that holds each string's last answer; None where none is stated.

        By default the ``answer_position`` of ``meta``, where the task gives it for one query.
        """
        found = batch.meta.get("answer_position")
        if found is None or found.numel() != len(batch) or bool((found < 1).any()):
            return None
        return found.reshape(len(batch)) - (0 if batch.bos else 1)

    @property
    def answer_tokens(self) -> tuple[int, ...] | None:
        """Token id that each answer class is when the model feeds on its own output; None where it never does.

        A class that ends the answer, and so is never fed back, has the id 0.
        """
        return None

    def answered(self, right: Bool[Tensor, "batch pos"], batch: Batch) -> Bool[Tensor, " batch"]:
        """Whether each sequence counts as answered at its length, given which queries are right.

        The last query decides; where the answer is several tokens, all of them do.
        """
        return right[:, -1] if batch.prompt is None else (right | ~batch.mask).all(1)

    def prefix_closed(self, law: Law) -> bool:
        """Whether every prefix of a sample is a sample of the shorter length under ``law``."""
        return False

    @property
    def challenge_is_matched(self) -> str:
        """Why the challenge law is the matched law, in a clause; "" where it is another one, as it should be."""
        return ""

    # ---- laws with few strings ---------------------------------------------------------------
    @property
    def one_string_per_length(self) -> bool:
        """Whether there is one string of each length, whatever the law."""
        return False

    @property
    def period(self) -> int:
        """How many of the last queries decide a sequence: after so many lengths the answers that occur come around."""
        return 1

    def support(self, law: Law, length: int, window: int | None = None) -> Support | None:
        """All strings of a law with their probabilities, where there are few (:data:`MOST_LISTED`); else None.

        Args:
            law, length, window: as for :meth:`sample`, which draws the same law.
        """
        return None

    def _support(
        self, listed: tuple[Tensor, Tensor] | None, law: Law, meta: dict[str, Tensor] | None = None
    ) -> Support | None:
        """A :meth:`support` of strings of symbols counted from 0; None where there is none, or too many.

        A subclass that draws its strings in another way has none, unless it states its own.

        Args:
            listed: the strings ``[string, length]``, which may repeat, and their probabilities; see
                :mod:`workbench.tasks.listed_test_sets`.
            law: which law they are of.
            meta: as :meth:`draw_strings` gives it, per listed string.
        """
        classes = type(self).__mro__
        drawing, listing = (next(c for c in classes if name in vars(c)) for name in ("draw_strings", "support"))
        if listed is None or classes.index(drawing) < classes.index(listing):
            return None
        strings, probabilities = listed
        possible = probabilities > 0
        kept = {name: values[possible] for name, values in (meta or {}).items()}
        found = Support.of(self._batch(1 + strings[possible], law, kept), probabilities[possible])
        return found if len(found.batch) <= MOST_LISTED else None

    # ---- floors ------------------------------------------------------------------------------
    def chance(self, law: Law, length: int) -> float:
        """Accuracy of the best constant answer at exact prefix length ``length`` under ``law``."""
        names = self.output_names
        if names is None:
            raise NotImplementedError(f"{self.name} must state its chance level")
        return 1.0 / len(names)

    def best_accuracy(self, law: Law, length: int) -> float | None:
        """Accuracy of the best possible answers at exact prefix length ``length``; None where nobody knows it."""
        return 1.0

    @abstractmethod
    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """Best guess of the final answer from the visible tokens alone.

        Class weights (ties share the weight, a uniform row is a plain guess), or real values.
        Window shortcuts are this function applied to the first or last N tokens.
        """

    def shortcuts(self, batch: Batch, window: int) -> dict[str, Float[Tensor, " batch"]]:
        """Expected correctness, per sequence, of the stated shortcut oracles at the last query.

        The oracles: ``last_token`` (the best answer to each last token), ``position_only`` (the best
        constant), and for lengths beyond ``window`` also ``last_window`` and ``first_window`` (the
        task's own answer computed from those ``window`` tokens only; at ``length <= window`` they
        would see everything and are left out).
        """
        start = 1 if batch.bos else 0
        strings, target = batch.tokens[:, start:], batch.targets[:, -1]
        reach = (self.tolerance_, self._within) if self.real else (None, None)
        found = {
            "position_only": best_constant(target, torch.zeros_like(strings[:, -1]), *reach),
            "last_token": best_constant(target, strings[:, -1], *reach),
        }
        if batch.length > window:
            found["last_window"] = self._expected_correct(self.answer(strings[:, -window:]), target)
            found["first_window"] = self._expected_correct(self.answer(strings[:, :window]), target)
        return found

    def _expected_correct(self, guess: Float[Tensor, "batch out"], target: Tensor) -> Float[Tensor, " batch"]:
        if self.real:
            return self._within(guess, target).double()
        share = guess.double() / guess.double().sum(1, keepdim=True)
        return share.gather(1, target[:, None])[:, 0]

    @property
    def tolerance_(self) -> float:
        """Tolerance of ``correct`` for real-valued tasks (the parameter ``tolerance``)."""
        return float(getattr(self, "tolerance", 0.0))

    # ---- hard strings ------------------------------------------------------------------------
    def strata(self, batch: Batch) -> dict[str, Bool[Tensor, " batch"]]:
        """Which sequences belong to each stratum, for strata that are drawn by rejection."""
        return {}

    def sample_stratum(
        self, name: str, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None = None
    ) -> Batch | None:
        """Draw strings of one of :attr:`strata_names`: the law given the stratum.

        Args:
            name: the stratum.
            batch, length, generator, law, window: as for :meth:`sample`.

        Returns:
            the strings, or None where there are none of that length, or they are too rare.

        Raises:
            TaskError: for a stratum, a length or a law the task does not have.
        """
        if name not in self.strata_names:
            known = ", ".join(self.strata_names) or "none"
            raise TaskError(f"{self.name} has no stratum {name!r}; its strata: {known}")
        self._refuse(length, law)
        return self.draw_stratum(name, batch, length, generator, law, window)

    def draw_stratum(
        self, name: str, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> Batch | None:
        """Draw strings of a stratum; by rejection on the law, unless a subclass knows better. See
        :meth:`sample_stratum`, which calls it."""
        return by_rejection(
            lambda rows: self.sample(rows, length, generator, law, window),
            lambda drawn: self.strata(drawn)[name],
            batch,
            length,
        )

    def composition(self, length: int) -> Mapping[str, float]:
        """The share of each stratum among the strings of a length, where every string is of one; empty where not."""
        return {}

    def stratum_chance(self, name: str, law: Law, length: int) -> float:
        """The floor of a stratum: what the best constant answer scores under the law, not knowing the stratum.

        Where all strings of a stratum have one answer, another stratum holds that constant answer to account.
        """
        return self.chance(law, length)

    # ---- what training and measuring share ---------------------------------------------------
    def loss(self, outputs: Float[Tensor, "batch pos out"], batch: Batch) -> Float[Tensor, ""]:
        """Mean loss over supervised queries: cross-entropy in nats, or mean squared error."""
        return self.losses(outputs, batch)[batch.mask].mean()

    def losses(self, outputs: Float[Tensor, "batch pos out"], batch: Batch) -> Float[Tensor, "batch pos"]:
        """Loss at every position (meaningful where ``batch.mask``)."""
        if self.real:
            return (outputs - batch.targets).pow(2).sum(-1)
        flat = F.cross_entropy(outputs.flatten(0, 1), batch.targets.flatten(), reduction="none")
        return flat.view(batch.targets.shape)

    def shown_outputs(self, outputs: Float[Tensor, "*any out"]) -> Float[Tensor, "*any out"]:
        """What a model answers, as it is shown: of classes their probabilities, else numbers like the right ones."""
        return outputs if self.real else outputs.softmax(-1)

    def correct(self, outputs: Float[Tensor, "batch pos out"], batch: Batch) -> Bool[Tensor, "batch pos"]:
        """Whether each answer is right: argmax, or all components within ``tolerance``."""
        if self.real:
            return self._within(outputs, batch.targets)
        return outputs.argmax(-1) == batch.targets

    def _within(self, guess: Float[Tensor, "*#any dim"], target: Float[Tensor, "*#any dim"]) -> Bool[Tensor, "*any"]:
        """Whether all components of each guess lie within ``tolerance`` of the target's."""
        return ((guess - target).abs() <= self.tolerance_ + ROUNDING).all(-1)


def _pad_front(x: Tensor) -> Tensor:
    return torch.cat([torch.zeros_like(x[:, :1]), x], 1)
