"""The base class of tasks: a scale-invariant sequence map, with the distributions of its sequences.

A task states once what training, measurements and the dashboard share. It draws sequences, and gives the right answer
at every prefix. It also gives the task state that the answer needs, which is a bounded sufficient statistic of the
prefix, and the scores of constant answers and shortcuts. This module does not depend on models.
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

from workbench.core.errors import quoted_value
from workbench.core.former_names import FormerName, OverridableFormerNames
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
"""Tokens that are labelled in one call. The limit bounds the memory that long sequences take."""


def refuse_endless(length: int | float) -> None:
    """Raise an error if sequences of a length would be too long to draw.

    Raises:
        TaskError: for one beyond :data:`workbench.core.limits.LONGEST`.
    """
    if length > LONGEST:
        raise TaskError(f"length {quoted_value(length)} is beyond {LONGEST:,}, the longest length of a sequence")


SMALL_RECURRENT: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("architecture", "ssm"): {"layers": 1, "d_model": 16, "learning_rate": 5e-3, "lengths": "1-64", "steps": 1000},
    ("architecture", "rnn"): {"layers": 1, "d_model": 32, "learning_rate": 5e-3, "lengths": "1-64", "steps": 1000},
}
"""Options of a small model without attention that learns a small state or a count in about a minute on one core."""


class Task(OverridableFormerNames, BaseModel):
    """A sequence map and the distributions of its sequences. The fields of a subclass are the task's parameters.

    ``lengthlens new task NAME`` writes a subclass that works, with its test. ``lengthlens tasks --check NAME.py:Class``
    checks whether a subclass keeps what a task promises.

    A subclass states these class variables:

    - ``name``, ``question`` (what to answer at each query), ``summary`` (one phrase: what the answer needs of a
      prefix);
    - ``kind``: ``state``, ``average``, ``counter`` or ``pointer``. It names what a model carries along to answer at
      every length;
    - ``vocabulary``: token names in the order of their ids. :data:`BOS` comes first if the task has it;
    - ``outputs``: names of the answer classes, or None if answers are ``output_dim`` numbers. Such an answer is right
      within the field ``tolerance``, and the task also writes :meth:`chance`.

    A subclass writes four methods. Sequences are token ids ``[batch, length]`` without BOS; the base class adds it.

    - :meth:`draw_strings` draws sequences of a distribution. ``training`` is what training draws. Under ``matched`` the
      task state has the same distribution at every length. Under ``challenge`` neither the first nor the last
      ``window`` tokens determine the answer;
    - :meth:`label_strings` returns, at every prefix, the right answer, whether it is supervised, and the task state;
    - :meth:`reference` is the oracle: it computes the answers of one sequence in plain Python, from the definition;
    - :meth:`answer` guesses the last answer from a window of tokens only. Shortcut oracles are made of it.

    A subclass may also write these, if the defaults do not hold:

    - :meth:`admissible`: lengths that exist (default all);
    - :meth:`chance`: default one over the number of classes;
    - :meth:`prefix_closed`: default False;
    - :meth:`automaton`: for a finite state, so that theory can predict from it;
    - ``suggested`` (options of ``lengthlens train``) and ``family``;
    - ``strata_names`` with :meth:`strata` or :meth:`draw_stratum`: hard sequences;
    - :attr:`neutral_tokens`;
    - :meth:`support`: all sequences, if there are few;
    - :attr:`challenge_is_matched`: why there is no shortcut-resistant distribution.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    name: ClassVar[str]
    question: ClassVar[str]
    """What to answer at each query, as a short question that a newcomer understands."""
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]]
    summary: ClassVar[str]
    """One phrase that names the task state, e.g. "which symbol leads"."""
    vocabulary: ClassVar[tuple[str, ...]]
    """Token names in the order of their ids. BOS comes first if the task has it."""
    outputs: ClassVar[tuple[str, ...] | None] = None
    """Names of the answer classes, or None for a real-valued task."""
    output_dim: ClassVar[int] = 1
    """Dimension of the answer of a real-valued task."""
    family: ClassVar[str] = "other"
    """The heading under which lists show the task, e.g. ``copying``."""
    suggested: ClassVar[Mapping[str, Any]] = {}
    """Options of ``lengthlens train`` that suit this task better than the defaults of the command, e.g. ``steps``."""
    suggested_with: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = {}
    """Further suggested options for an option with a given value; see :data:`SMALL_RECURRENT`."""
    formerly: ClassVar[Mapping[str, Any]] = {}
    """Values of parameters that older runs do not name, if these values differ from the defaults.

    Such runs were stored before the parameters existed; see :func:`workbench.tasks.registry.task_of`.
    """
    strata_names: ClassVar[tuple[str, ...]] = ()
    """Names of kinds of hard sequences. Behaviour reports accuracy on each kind; the verdict ignores them."""
    strata_kind: ClassVar[str] = "hard inputs"
    """A plural name for all these kinds, e.g. ``small margins``. It is used as the subject of a plural verb."""
    outside_floor: ClassVar[frozenset[str]] = frozenset()
    """Names of shortcut oracles that are reported but never count in the baseline of skill."""
    presented: ClassVar[bool] = False
    """Whether the task is written in tokens of a model that others trained (:mod:`workbench.tasks.presented`)."""

    # ---- what a model for this task must look like -------------------------------------------
    @property
    def tokens_names(self) -> tuple[str, ...]:
        """Return the names of the tokens in the order of their ids. Tasks whose alphabet is a parameter override this
        method.
        """
        return self.vocabulary

    @property
    def output_names(self) -> tuple[str, ...] | None:
        """Return the names of the answer classes; None for a task whose answers are real numbers."""
        return self.outputs

    @property
    def bos(self) -> bool:
        """Whether the task's sequences start with the token BOS."""
        return self.tokens_names[0] == BOS

    @property
    def token_counts(self) -> Int[Tensor, " token"] | None:
        """Return how often each token occurs in the training text, by token id; None for tasks that do not read
        text.
        """
        return None

    @property
    def real(self) -> bool:
        """Whether the task's answers are real numbers rather than classes."""
        return self.output_names is None

    @property
    def d_vocab(self) -> int:
        """The number of token ids, including BOS."""
        return len(self.tokens_names)

    @property
    def d_vocab_out(self) -> int:
        """The number of answer classes; for real answers, the dimension of an answer."""
        names = self.output_names
        return self.output_dim if names is None else len(names)

    @property
    def component_names(self) -> tuple[str, ...]:
        """Return the names of the components of a vector answer: the tokens, if there are as many; otherwise 1, 2, 3,
        ...
        """
        names = self.tokens_names[int(self.bos) :]
        if not self.real or self.d_vocab_out == 1:
            return ()
        return names if len(names) == self.d_vocab_out else tuple(str(i + 1) for i in range(self.d_vocab_out))

    @property
    def right_within(self) -> str:
        """Return the tolerance within which a numeric answer is correct, in words; "" for tasks that answer with
        classes.
        """
        return f"within {self.tolerance_:g}" if self.real else ""

    @property
    def parameters(self) -> dict[str, Any]:
        """The task's parameters as plain JSON data; ``make_task(task.name, **task.parameters)`` makes an equal task."""
        return self.model_dump(mode="json")

    def speaks_as(self, other: Task) -> bool:
        """Whether both tasks have the same tokens and answers, so that a model of one can be evaluated on the other."""
        mine = self.tokens_names, self.output_names, self.d_vocab_out
        return mine == (other.tokens_names, other.output_names, other.d_vocab_out)

    def model_copy(  # type: ignore[override]  # a checker of types at run time knows no Self in a method
        self, *, update: Mapping[str, Any] | None = None, deep: bool = False
    ) -> Task:
        """Return the same task with some parameters changed and all of them checked again. Caches are not copied."""
        kept = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**{**kept, **(update or {})})

    def _repr_html_(self) -> str:
        """Return the HTML card that notebooks show."""
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

    # ---- tokens that may be inserted ---------------------------------------------------------
    @property
    def neutral_tokens(self) -> tuple[int, ...]:
        """Return the ids of tokens that can be inserted into a sequence without changing any answer or task state.

        Method :meth:`neutral_gaps` returns where they can be inserted. The default is ``()``: the task has no such
        tokens.
        """
        return ()

    def neutral_gaps(self, strings: Int[Tensor, "batch length"]) -> Bool[Tensor, "batch length"]:
        """Return, for each token of sequences without BOS, whether neutral tokens may be inserted directly before it.

        By default they may stand before every token except the first, which some distributions fix. So the first and
        the last token stay.
        """
        gaps = torch.ones_like(strings, dtype=torch.bool)
        gaps[:, 0] = False
        return gaps

    # ---- input of theory ---------------------------------------------------------------------
    def automaton(self) -> Automaton | None:
        """Return a finite automaton that computes the task's answers; None if the task provides no automaton.

        Its symbols are the tokens without BOS, in the order of their ids. After every sequence that the task can draw,
        its answer (see :attr:`workbench.tasks.automata.dfa.Automaton.labels`) equals that of :meth:`reference`, at all
        positions with an answer. A task of kind ``state`` states an automaton, unless it has more states than
        :data:`workbench.tasks.automata.dfa.LARGEST_AUTOMATON`.
        """
        return None

    @property
    def crasp_program(self) -> str | None:
        """Return a C-RASP program that computes the task's answers, as text or as a name in the zoo; None if there is
        none.

        The zoo is :data:`workbench.theory.crasp.zoo.ZOO`. The program's symbols are the tokens without BOS, in the
        order of their ids.
        """
        return None

    # ---- lengths -----------------------------------------------------------------------------
    @property
    def fixed_lengths(self) -> tuple[int, ...]:
        """Return the lengths at which to evaluate a model that was never trained on the task; () for tasks evaluated at
        multiples of N, the longest trained length.
        """
        return ()

    def positions(self, length: int) -> int:
        """Return the number of positions of a sequence of ``length`` task tokens; BOS, if the task has it, adds one."""
        return length + self.bos

    def beyond_window(self, length: int) -> bool:
        """Whether a sequence of ``length`` task tokens has more positions than the context window of a pretrained
        model.
        """
        return False

    def affordable(self, length: int, wanted: int) -> int:
        """Return how many of ``wanted`` sequences of a length to evaluate: all of them, unless the task limits the
        cost.
        """
        return wanted

    def admissible(self, length: int) -> bool:
        """Whether the task has sequences of exactly ``length`` tokens, not counting BOS."""
        return length >= 1

    def lengths(self, low: int, high: int) -> list[int]:
        """Return the lengths from ``low`` to ``high`` (both included) at which the task has sequences, ascending.

        Raises:
            TaskError: if no length there is admissible, or ``high`` exceeds :data:`workbench.core.limits.LONGEST`.
        """
        refuse_endless(high)
        found = [n for n in range(max(1, low), high + 1) if self.admissible(n)]
        if not found:
            raise TaskError(f"{self.name} has no admissible length between {low} and {high}")
        return found

    def next_length(self, length: int | float) -> int:
        """Return the smallest length, at least ``length``, at which the task has sequences.

        Raises:
            TaskError: if none of the next 4096 lengths is admissible, or ``length`` exceeds
                :data:`workbench.core.limits.LONGEST`.
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
        """Draw ``batch`` sequences of exactly ``length`` task tokens, labelled at every prefix.

        Args:
            batch: number of sequences.
            length: task tokens per sequence, BOS excluded; must be admissible.
            generator: the only source of randomness.
            law: the distribution. ``training`` is what training draws. Under ``matched`` the task state has the same
                distribution at every length; the task reports it if this holds only in the limit. Under ``challenge``
                shortcuts score near chance from length 8N/3 on, where N is the ``window``.
            window: the longest training length N; None = ``length // 8``. Challenge sequences of automata need it to
                put the deciding event outside the first N and the last N tokens.

        Raises:
            TaskError: for a length or a distribution that the task does not have.
        """
        self._refuse(length, law)
        strings, meta = self.draw_strings(batch, length, generator, law, window)
        return self._batch(strings, law, meta)

    def batch(
        self, n_sequences: int, length: int, seed: int = 0, test_set: Law = "matched", trained_length: int | None = None
    ) -> Batch:
        """Draw labelled sequences of one length. This is the usual way to draw sequences in notebooks and scripts.

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
        """Draw several blocks of sequences with one random generator per block, and return them in order as one batch.

        The sequences are those of :meth:`sample`, but ``update_summary`` is not computed. Several blocks are labelled
        in one call, because labelling 64 sequences takes nearly as long as labelling a thousand.

        Args:
            size: sequences of each block.
            length, law, window: as for :meth:`sample`.
            generators: one for each block, at least one.

        Raises:
            TaskError: as :meth:`sample`.
        """
        self._refuse(length, law)
        together = max(1, LABELLED_AT_ONCE // (size * length))

        def labelled(some: Sequence[torch.Generator]) -> Batch:
            draws = [self.draw_strings(size, length, stream, law, window) for stream in some]
            meta = {key: torch.cat([facts[key] for _, facts in draws]) for key in draws[0][1]}
            batch = self._batch(torch.cat([strings for strings, _ in draws]), law, meta)
            return replace(batch, update_summary=None)  # the largest part

        starts = range(0, len(generators), together)
        return Batch.join([labelled(generators[start : start + together]) for start in starts])

    def _refuse(self, length: int, law: str) -> None:
        """Raise TaskError for a length or a distribution that the task does not have."""
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
        """Return a labelled batch of the given sequences (token ids without BOS): targets, mask and task states.

        Raises:
            TaskError: for an empty sequence, or a token id that is not in the vocabulary or is BOS.
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
        """Draw sequences of a distribution. A subclass writes this method; callers use :meth:`sample`.

        Args:
            batch, length: number of sequences, and tokens of each; ``length`` is admissible.
            generator: the only source of randomness.
            law, window: as for :meth:`sample`.

        Returns:
            token ids without BOS, int64 ``[batch, length]``, and ``meta``: facts of the sequences by name, each
            ``[batch, ...]``, which :meth:`label_strings` receives. ``{}`` if there are none.
        """

    @abstractmethod
    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        """Label sequences at every prefix. A subclass writes this method; callers use :meth:`label`.

        Args:
            strings: token ids without BOS.
            meta: the facts that :meth:`draw_strings` returned with them; ``{}`` for sequences from elsewhere.

        Returns:
            four tensors whose first two axes are ``[batch, length]``:

            - ``targets``: class ids (int64), or numbers (float) with a third axis ``output_dim``;
            - ``mask``: whether the position is supervised (bool, True at the end of every sequence);
            - ``output_summary``: the task state that the next answer needs;
            - ``update_summary``: a state that can be carried along token by token, or None.
        """

    @abstractmethod
    def reference(self, tokens: Sequence[int]) -> list[Any]:
        """Compute the answers of one sequence in plain Python. This oracle shares no code with the sampler.

        Args:
            tokens: token ids of one sequence, without BOS.

        Returns:
            per prefix, the right answer (class id, or float), or None at positions that are not supervised.
        """

    def coupled_ids(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> Int[Tensor, "batch pos"] | None:
        """Return the position ids ``[batch, pos]`` that the task itself assigns, including BOS; None if the task
        assigns none.
        """
        return None

    def prompt_of(self, length: int) -> int | None:
        """Return the number :attr:`Batch.prompt` for sequences of a length; None if the answers are not part of the
        sequence.
        """
        return None

    def answer_index(self, batch: Batch) -> Int[Tensor, " batch"] | None:
        """Return, for each sequence, the index of its last answer on the position axis; None if the task does not
        define one.

        By default this is ``answer_position`` of ``meta``, if the task stores that position for a single query.
        """
        position = batch.meta.get("answer_position")
        if position is None or position.numel() != len(batch) or bool((position < 1).any()):
            return None
        return position.reshape(len(batch)) - (0 if batch.bos else 1)

    @property
    def answer_tokens(self) -> tuple[int, ...] | None:
        """Token id of each answer class, for models that are fed their own output; None for tasks without such answers.

        A class that ends the answer is never fed back. Its id is 0.
        """
        return None

    def sequence_correct(self, right: Bool[Tensor, "batch pos"], batch: Batch) -> Bool[Tensor, " batch"]:
        """Return, for each sequence, whether it counts as answered correctly, given which queries are answered
        correctly.

        The last query decides. If the answer has several tokens, all of them must be right.
        """
        return right[:, -1] if batch.prompt is None else (right | ~batch.mask).all(1)

    answered: ClassVar[FormerName] = FormerName("sequence_correct")

    def prefix_closed(self, law: Law) -> bool:
        """Whether every prefix of a sequence from this distribution is distributed like sequences of the prefix's
        length.
        """
        return False

    @property
    def challenge_is_matched(self) -> str:
        """Return why the challenge and the matched distribution are equal, as a clause; "" if they differ."""
        return ""

    # ---- distributions with few sequences ----------------------------------------------------
    @property
    def one_string_per_length(self) -> bool:
        """Whether the task has only one sequence of each length, under every distribution."""
        return False

    @property
    def period(self) -> int:
        """Return how many queries at the end of a sequence decide whether it counts as correct. Over lengths, answers
        repeat with this period.
        """
        return 1

    def support(self, law: Law, length: int, window: int | None = None) -> Support | None:
        """Return all sequences of a distribution with their probabilities; None if there are more than
        :data:`MOST_LISTED`.

        Args:
            law, length, window: as for :meth:`sample`, which draws from the same distribution.
        """
        return None

    def _support(
        self, listed: tuple[Tensor, Tensor] | None, law: Law, meta: dict[str, Tensor] | None = None
    ) -> Support | None:
        """Build a :meth:`support` from sequences of symbols counted from 0; None if the task lists none or too many.

        A subclass that overrides ``draw_strings`` has no support, unless it also overrides ``support``.

        Args:
            listed: the sequences ``[string, length]``, which may repeat, and their probabilities; see
                :mod:`workbench.tasks.listed_test_sets`.
            law: their distribution.
            meta: facts per listed sequence, as :meth:`draw_strings` returns them.
        """
        classes = type(self).__mro__
        drawing, listing = (next(c for c in classes if name in vars(c)) for name in ("draw_strings", "support"))
        if listed is None or classes.index(drawing) < classes.index(listing):
            return None
        strings, probabilities = listed
        possible = probabilities > 0
        facts = {name: values[possible] for name, values in (meta or {}).items()}
        support = Support.of(self._batch(1 + strings[possible], law, facts), probabilities[possible])
        return support if len(support.batch) <= MOST_LISTED else None

    # ---- baselines ---------------------------------------------------------------------------
    def chance(self, law: Law, length: int) -> float:
        """Return the accuracy of the best constant answer at exact prefix length ``length`` under a distribution."""
        names = self.output_names
        if names is None:
            raise NotImplementedError(f"{self.name} must state its chance level")
        return 1.0 / len(names)

    def best_accuracy(self, law: Law, length: int) -> float | None:
        """Return the accuracy of the best possible answers at exact prefix length ``length``; None if it is unknown."""
        return 1.0

    @abstractmethod
    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """Guess the final answer from the visible tokens only.

        Returns class weights, or real values. Classes that tie share the weight, and a uniform row is a plain guess.
        The window shortcuts apply this method to the first or the last N tokens.
        """

    def shortcuts(self, batch: Batch, window: int) -> dict[str, Float[Tensor, " batch"]]:
        """Return the probability, per sequence, that each shortcut answers the last query correctly.

        - ``last_token``: the best answer to each last token;
        - ``position_only``: the best constant answer;
        - ``last_window`` and ``first_window``: the task's own :meth:`answer` from ``window`` tokens only. They exist at
          lengths beyond ``window``; at shorter lengths they would see every token.
        """
        start = 1 if batch.bos else 0
        strings, target = batch.tokens[:, start:], batch.targets[:, -1]
        reach = (self.tolerance_, self._within) if self.real else (None, None)
        hits = {
            "position_only": best_constant(target, torch.zeros_like(strings[:, -1]), *reach),
            "last_token": best_constant(target, strings[:, -1], *reach),
        }
        if batch.length > window:
            hits["last_window"] = self._expected_correct(self.answer(strings[:, -window:]), target)
            hits["first_window"] = self._expected_correct(self.answer(strings[:, :window]), target)
        return hits

    def _expected_correct(self, guess: Float[Tensor, "batch out"], target: Tensor) -> Float[Tensor, " batch"]:
        if self.real:
            return self._within(guess, target).double()
        share = guess.double() / guess.double().sum(1, keepdim=True)
        return share.gather(1, target[:, None])[:, 0]

    @property
    def tolerance_(self) -> float:
        """The largest error of a numeric answer that counts as correct; 0 for tasks that answer with classes."""
        return float(getattr(self, "tolerance", 0.0))

    # ---- hard sequences ----------------------------------------------------------------------
    def strata(self, batch: Batch) -> dict[str, Bool[Tensor, " batch"]]:
        """Return, for each kind of hard sequences (*stratum*), which sequences of the batch belong to it."""
        return {}

    def sample_stratum(
        self, name: str, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None = None
    ) -> Batch | None:
        """Draw hard sequences of one kind (a *stratum*, one of :attr:`strata_names`), distributed as in the task given
        this kind.

        Args:
            name: the stratum.
            batch, length, generator, law, window: as for :meth:`sample`.

        Returns:
            the sequences, or None if that length has none of them, or they are too rare.

        Raises:
            TaskError: for a stratum, a length or a distribution that the task does not have.
        """
        if name not in self.strata_names:
            known = ", ".join(self.strata_names) or "none"
            raise TaskError(f"{self.name} has no stratum {name!r}; its strata: {known}")
        self._refuse(length, law)
        return self.draw_stratum(name, batch, length, generator, law, window)

    def draw_stratum(
        self, name: str, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> Batch | None:
        """Draw hard sequences of one kind (a *stratum*), by rejection sampling unless a subclass overrides it; see
        :meth:`sample_stratum`.
        """
        return by_rejection(
            lambda rows: self.sample(rows, length, generator, law, window),
            lambda drawn: self.strata(drawn)[name],
            batch,
            length,
        )

    def composition(self, length: int) -> Mapping[str, float]:
        """Return the share of each kind of hard sequences (*stratum*) among sequences of a length; empty if some
        sequences belong to none.
        """
        return {}

    def stratum_chance(self, name: str, law: Law, length: int) -> float:
        """Return the baseline of one kind of hard sequences (*stratum*): the score, on them, of the best constant
        answer of the whole distribution.

        If all sequences of a stratum have one answer, that constant is right on them. It then scores low on another
        stratum.
        """
        return self.chance(law, length)

    # ---- shared by training and measurements -------------------------------------------------
    def loss(self, outputs: Float[Tensor, "batch pos out"], batch: Batch) -> Float[Tensor, ""]:
        """Return the mean loss over supervised queries: cross-entropy in nats, or mean squared error."""
        return self.losses(outputs, batch)[batch.mask].mean()

    def losses(self, outputs: Float[Tensor, "batch pos out"], batch: Batch) -> Float[Tensor, "batch pos"]:
        """Return the loss at every position, ``[batch, pos]``. Only values at positions where ``batch.mask`` is True
        have a meaning.
        """
        if self.real:
            return (outputs - batch.targets).pow(2).sum(-1)
        flat = F.cross_entropy(outputs.flatten(0, 1), batch.targets.flatten(), reduction="none")
        return flat.view(batch.targets.shape)

    def shown_outputs(self, outputs: Float[Tensor, "*any out"]) -> Float[Tensor, "*any out"]:
        """Convert a model's outputs for display: probabilities of classes, or the numbers themselves."""
        return outputs if self.real else outputs.softmax(-1)

    def correct(self, outputs: Float[Tensor, "batch pos out"], batch: Batch) -> Bool[Tensor, "batch pos"]:
        """Return, at each position, whether the answer is correct: the argmax is the target, or all components are
        within ``tolerance``.
        """
        if self.real:
            return self._within(outputs, batch.targets)
        return outputs.argmax(-1) == batch.targets

    def _within(self, guess: Float[Tensor, "*#any dim"], target: Float[Tensor, "*#any dim"]) -> Bool[Tensor, "*any"]:
        """Whether all components of each guess are within ``tolerance`` of the target's."""
        return ((guess - target).abs() <= self.tolerance_ + ROUNDING).all(-1)


def _pad_front(x: Tensor) -> Tensor:
    return torch.cat([torch.zeros_like(x[:, :1]), x], 1)
