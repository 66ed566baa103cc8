"""Does a task keep what :class:`workbench.tasks.Task` promises? A kit for tasks of one's own, run on all of ours.

    from workbench.tasks.testing import check_task
    check_task(MyTask())

Everything is drawn with fixed seeds. A test of a law fails at p < :data:`P`, over all that it looks at together, so
that a task that keeps its promises fails about once in a million. Only strings that the task draws are looked at.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy.stats import chi2_contingency, chisquare
from torch import Tensor
from torch.overrides import TorchFunctionMode

from workbench.core.apart import clause
from workbench.core.errors import LensError
from workbench.core.thresholds import HIGHEST_FLOOR
from workbench.tasks.base import BOS, EVALUATION_LAWS, Batch, Task, TaskError

__all__ = ["CHECKS", "Finding", "TaskCheckError", "check_task", "findings"]

P = 1e-6
"""Largest p at which two laws are called different, over all statistics of a comparison together."""
MANY = 2_000
"""Strings behind a law."""
SOME = 24
"""Strings that are looked at one by one."""
LONGEST_LISTED = 40
"""Lengths up to which every one is looked at."""
LONG = 1024
"""Length at which memory is looked at."""
MOST_LENGTHS = 12
"""Admissible lengths that are drawn."""
KINDS = ("state", "average", "counter", "pointer")
LAWS = ("training", *EVALUATION_LAWS)


@dataclass(frozen=True)
class Finding:
    """What a task does not keep.

    Attributes:
        check: name of the check.
        sentence: what is wrong, and the way out.
    """

    check: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.check}: {self.sentence}"


class TaskCheckError(LensError, AssertionError):
    """A task does not keep what a task promises; a line for each finding."""


def check_task(task: Task) -> None:
    """Refuse a task that does not keep what a task promises.

    Raises:
        TaskCheckError: naming each check that fails, what is wrong, and the way out.
    """
    found = findings(task)
    if found:
        raise TaskCheckError(f"the task {task.name} fails:\n" + "\n".join(f"  {one}" for one in found))


def findings(task: Task) -> list[Finding]:
    """What a task does not keep; empty where it keeps everything."""
    subject = TaskSubject(task)
    found = []
    for name, check in CHECKS.items():
        try:
            found += [Finding(name, sentence) for sentence in check(subject)]
        except Exception as error:  # noqa: BLE001 - whatever a task raises is a finding about it
            found.append(Finding(name, f"the task raises an error where it should answer ({clause(error)})"))
    return found


Check = Callable[["TaskSubject"], Iterator[str]]
CHECKS: dict[str, Check] = {}
"""All checks by name, in the order in which they are made."""


def _checks(name: str) -> Callable[[Check], Check]:
    def registered(check: Check) -> Check:
        CHECKS[name] = check
        return check

    return registered


class TaskSubject:
    """A task under examination, and strings of it that several checks look at.

    Attributes:
        task: the task.
        window: N, the first admissible length from 8 on.
        length: the first admissible length from 4 N on, where laws are compared.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self._many: dict[str, Batch] = {}

    @cached_property
    def window(self) -> int:
        return self.task.next_length(8)

    @cached_property
    def length(self) -> int:
        return self.task.next_length(4 * self.window)

    def draw(self, law: str, length: int, count: int = SOME, seed: int = 0, window: int | None = None) -> Batch:
        """Fresh strings of a law."""
        generator = torch.Generator().manual_seed(seed)
        return self.task.sample(count, length, generator, law, self.window if window is None else window)

    def many(self, law: str) -> Batch:
        """:data:`MANY` strings of a law at :attr:`length`."""
        if law not in self._many:
            self._many[law] = self.draw(law, self.length, MANY)
        return self._many[law]

    def strings(self, batch: Batch) -> Tensor:
        """Token ids without BOS."""
        return batch.tokens[:, int(self.task.bos) :]

    def some(self) -> Iterator[tuple[str, Batch]]:
        """Some strings of each law, at N and beyond it."""
        for law in LAWS:
            for length in (self.window, self.length):
                yield f"strings of the law {law} at length {length}", self.draw(law, length)


# ---- what it states ------------------------------------------------------------------------------
@_checks("statement")
def _statement(one: TaskSubject) -> Iterator[str]:
    task = one.task
    for name in ("name", "question", "summary", "family"):
        if not isinstance(getattr(task, name, None), str) or not getattr(task, name):
            yield f"it does not state its {name}; set the class variable to a short text"
    if task.kind not in KINDS:
        yield f"its kind is {task.kind!r}; it is one of {', '.join(KINDS)}"
    names = task.tokens_names
    if len(set(names)) < len(names):
        yield "two tokens have one name; give each its own"
    if BOS in names[1:]:
        yield f"{BOS} is not the first token; put it first, or leave it out"
    if task.output_names is not None and len(set(task.output_names)) < max(2, len(task.output_names)):
        yield "its answer classes are not two or more different names; name each answer once"
    if not all(0 <= token < task.d_vocab for token in task.neutral_tokens):
        yield "a neutral token is no token id; give ids of the vocabulary"


@_checks("settings")
def _settings(one: TaskSubject) -> Iterator[str]:
    task = one.task
    written = json.loads(json.dumps(task.parameters))
    again = type(task)(**written)
    if again != task or again.parameters != task.parameters:
        yield "its parameters do not survive a way through JSON; let each field be plain JSON or a pydantic type"
    if type(task)(**task.parameters).tokens_names != task.tokens_names:
        yield "made again from its parameters it has another vocabulary; ids must follow from the parameters alone"


# ---- lengths -------------------------------------------------------------------------------------
@_checks("lengths")
def _lengths(one: TaskSubject) -> Iterator[str]:
    task = one.task
    if task.admissible(0):
        yield "it admits length 0; a string has a token at least"
    longest = max(LONGEST_LISTED, one.length)
    own = [n for n in range(1, longest + 1) if task.admissible(n)]
    if task.lengths(1, longest) != own:
        yield "lengths() is not what admissible() says; leave lengths() as it is and override admissible()"
    for n in (1, own[0], own[-1], own[-1] + 1):
        following = task.next_length(n)
        if following < n or not task.admissible(following) or any(n <= m < following for m in own):
            yield f"next_length({n}) is {following}, not the first admissible length from there on"
    drawn = own[: MOST_LENGTHS // 2] + own[-(MOST_LENGTHS // 2) :]
    for law in LAWS:
        for n in dict.fromkeys(drawn):
            batch = one.draw(law, n, count=3)
            if batch.length != n or one.strings(batch).shape != (3, n):
                held = tuple(one.strings(batch).shape)
                yield f"the law {law} at length {n} gives strings of shape {held}, not (3, {n})"
    refused = next((n for n in range(1, longest) if n not in own), None)
    if refused is not None and not _refuses(lambda: one.draw("matched", refused)):
        yield f"it draws strings of length {refused}, which it does not admit; let sample() refuse it"
    if not _refuses(lambda: one.draw("no such law", own[0])):
        yield "it draws strings of a law that does not exist; let sample() refuse it"


def _refuses(act: Callable[[], object]) -> bool:
    try:
        act()
    except TaskError:
        return True
    return False


# ---- shapes --------------------------------------------------------------------------------------
@_checks("shapes")
def _shapes(one: TaskSubject) -> Iterator[str]:
    task = one.task
    for what, batch in one.some():
        wide = (len(batch), batch.length + int(task.bos))
        if tuple(batch.tokens.shape) != wide or batch.tokens.dtype != torch.long:
            yield f"{what}: tokens are {batch.tokens.dtype} {tuple(batch.tokens.shape)}, not torch.int64 {wide}"
            continue
        if not bool(((batch.tokens >= 0) & (batch.tokens < task.d_vocab)).all()):
            yield f"{what}: a token id is outside 0..{task.d_vocab - 1}; ids are places in tokens_names"
        if batch.bos != task.bos or (
            task.bos and bool((one.strings(batch) == 0).any() | (batch.tokens[:, 0] != 0).any())
        ):
            yield f"{what}: BOS stands in a string, or not in front of it; draw ids without BOS, which sample() adds"
        if tuple(batch.mask.shape) != wide or batch.mask.dtype != torch.bool:
            yield f"{what}: the mask is no bool {wide}; it says for each place whether it is asked"
            continue
        if task.bos and bool(batch.mask[:, 0].any()):
            yield f"{what}: something is asked at BOS; ask from the first token on"
        if not bool(batch.mask[:, -1].all()):
            yield f"{what}: nothing is asked at the end of a string; the last query of an admissible length is asked"
        yield from _targets(task, what, batch, wide)
        for name, summary in (("output", batch.output_summary), ("update", batch.update_summary)):
            if summary is not None and (tuple(summary.shape[:2]) != wide or not bool(summary.isfinite().all())):
                held = tuple(summary.shape)
                yield f"{what}: the {name} summary is {held}; it is finite and {wide}, or has one axis more"
        yield from _answers(one, what, batch)


def _targets(task: Task, what: str, batch: Batch, wide: tuple[int, int]) -> Iterator[str]:
    if task.real:
        if tuple(batch.targets.shape) != (*wide, task.d_vocab_out) or not bool(batch.targets.isfinite().all()):
            yield f"{what}: targets are {tuple(batch.targets.shape)}, not finite {(*wide, task.d_vocab_out)}"
    elif tuple(batch.targets.shape) != wide or batch.targets.dtype != torch.long:
        yield f"{what}: targets are {batch.targets.dtype} {tuple(batch.targets.shape)}, not torch.int64 {wide}"
    elif not bool(((batch.targets >= 0) & (batch.targets < task.d_vocab_out)).all()):
        yield f"{what}: a target is outside 0..{task.d_vocab_out - 1}; give classes, and 0 where nothing is asked"


def _answers(one: TaskSubject, what: str, batch: Batch) -> Iterator[str]:
    task = one.task
    guess = task.answer(one.strings(batch))
    if tuple(guess.shape) != (len(batch), task.d_vocab_out) or not bool(guess.isfinite().all()):
        yield f"{what}: answer() gives {tuple(guess.shape)}, not finite {(len(batch), task.d_vocab_out)}"
    elif not task.real and not bool(((guess >= 0).all(1) & (guess.sum(1) > 0)).all()):
        yield f"{what}: answer() gives weights below 0, or only 0; give each class one, all alike for a plain guess"
    if not task.real:  # what outputs are right for real targets, a task's correct() alone knows
        right = task.correct(torch.nn.functional.one_hot(batch.targets, task.d_vocab_out).double(), batch)
        if not bool(right[batch.mask].all()):
            yield f"{what}: correct() calls the targets themselves wrong; compare the likeliest class with the target"
    if not bool(task.answered(torch.ones_like(batch.mask), batch).all()):
        yield f"{what}: answered() does not count a sequence all of whose queries are right; let it"


# ---- labels --------------------------------------------------------------------------------------
@_checks("oracle")
def _oracle(one: TaskSubject) -> Iterator[str]:
    task = one.task
    for what, batch in one.some():
        said = task.label(one.strings(batch))
        start = int(task.bos)
        for row, string in enumerate(one.strings(batch).tolist()):
            wanted = task.reference(string)
            asked = said.mask[row, start:].tolist()
            if [answer is not None for answer in wanted] != asked:
                name = _named(task, string)
                yield f"{what}: label() and reference() do not ask at the same places of {name}; mend one of them"
                return
            wrong = [i for i, a in enumerate(asked) if a and not _same(said.targets[row, start + i], wanted[i])]
            if wrong:
                held = said.targets[row, start + wrong[0]].tolist()
                yield (
                    f"{what}: after {wrong[0] + 1} tokens of {_named(task, string)} label() says {held} and "
                    f"reference() {wanted[wrong[0]]}; mend one of them"
                )
                return
        beyond = batch.mask & ~said.mask
        if batch.meta:  # what answers the last query may be drawn along, as the byte after a window of text
            beyond[:, -1] = False
        both = batch.mask & said.mask
        if bool(beyond.any()) or not torch.equal(batch.targets[both], said.targets[both]):
            yield f"{what}: sample() answers otherwise than label() on the same strings; answer both in _label()"
            return


def _same(target: Tensor, wanted: Any) -> bool:
    expected = torch.as_tensor(wanted, dtype=torch.float64).flatten()
    return bool(torch.allclose(target.double().flatten()[: len(expected)], expected, atol=1e-4, rtol=1e-4))


def _named(task: Task, string: Sequence[int]) -> str:
    names = [task.tokens_names[token] for token in string[:24]]
    return repr(" ".join(names) + (" .." if len(string) > 24 else ""))


@_checks("prefixes")
def _prefixes(one: TaskSubject) -> Iterator[str]:
    """Labels say what is right after a prefix, whatever follows it."""
    start = int(one.task.bos)
    for what, batch in one.some():
        whole = one.task.label(one.strings(batch))
        for end in sorted({1, batch.length // 3, batch.length // 2, batch.length - 1} - {0}):
            try:
                part = one.task.label(one.strings(batch)[:, :end])
            except TaskError:  # a prompt that is cut off is no string of the task
                continue
            both = whole.mask[:, : start + end] & part.mask
            if not torch.equal(whole.targets[:, : start + end][both], part.targets[both]):
                yield f"{what}: an answer within {end} tokens changes with what follows; label from the prefix alone"
                return


@_checks("automaton")
def _automaton(one: TaskSubject) -> Iterator[str]:
    automaton = one.task.automaton()
    if automaton is None:
        return
    symbols = one.task.tokens_names[int(one.task.bos) :]
    if automaton.alphabet != symbols:
        yield f"its automaton reads {' '.join(automaton.alphabet)}; let it read all tokens but BOS, in order"
        return
    for what, batch in one.some():
        said = automaton.labels[automaton.run(one.strings(batch).numpy() - int(one.task.bos))]
        start = int(one.task.bos)
        mask, targets = batch.mask[:, start:].numpy(), batch.targets[:, start:].numpy()
        if (said[mask] != targets[mask]).any():
            yield f"{what}: its automaton answers otherwise than its labels; mend automaton(), or return None"
            return


@_checks("neutral tokens")
def _neutral(one: TaskSubject) -> Iterator[str]:
    """A neutral token before any place that allows one changes no answer of the rest."""
    task = one.task
    if not task.neutral_tokens:
        return
    strings = one.strings(one.draw("matched", one.window))
    gaps = task.neutral_gaps(strings)
    for string, allowed in zip(strings, gaps, strict=True):
        for place in allowed.nonzero()[:, 0].tolist()[:4]:
            for token in task.neutral_tokens[:3]:
                longer = torch.cat([string[:place], string.new_tensor([token]), string[place:]])
                before, after = task.label(string[None]), task.label(longer[None])
                if bool(before.mask[0, -1]) and not torch.equal(before.targets[0, -1], after.targets[0, -1]):
                    name = task.tokens_names[token]
                    yield f"the neutral token {name} changes the answer of {_named(task, string.tolist())}; drop it"
                    return


# ---- randomness ----------------------------------------------------------------------------------
@_checks("seeds")
def _seeds(one: TaskSubject) -> Iterator[str]:
    for law in LAWS:
        torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()
        first = one.draw(law, one.length, seed=1)
        moved = not torch.equal(torch_state, torch.get_rng_state()) or str(numpy_state) != str(np.random.get_state())
        if moved or not torch.equal(first.tokens, one.draw(law, one.length, seed=1).tokens):
            yield f"strings of the law {law} hang on more than the given generator; draw everything from it"
        other = one.draw(law, one.length, seed=2)
        if torch.equal(first.tokens, other.tokens) and not one.task.one_string_per_length:
            yield f"strings of the law {law} are the same for two seeds; draw them from the given generator"


@_checks("batches")
def _batches(one: TaskSubject) -> Iterator[str]:
    """What is said of a string does not hang on the strings beside it."""
    for what, batch in one.some():
        strings = one.strings(batch)
        together, alone = one.task.label(strings), [one.task.label(strings[i : i + 1]) for i in range(4)]
        for name in ("targets", "mask", "output_summary", "update_summary"):
            whole = getattr(together, name)
            if whole is None:
                continue
            parts = torch.cat([getattr(part, name) for part in alone])
            if not torch.allclose(whole[:4].double(), parts.double(), atol=1e-5, equal_nan=True):
                said = name.replace("_", " ")
                yield f"{what}: the {said} of a string depends on the strings beside it; label each by itself"
                return


# ---- laws ----------------------------------------------------------------------------------------
@_checks("laws")
def _laws(one: TaskSubject) -> Iterator[str]:
    reason = one.task.challenge_is_matched
    p, name = _apart(_statistics(one, one.many("matched")), _statistics(one, one.many("challenge")))
    if p >= P and not reason:
        yield (
            f"its challenge law cannot be told from its matched law ({MANY:,} strings each at length {one.length}): "
            "draw strings on which shortcuts fail, or say in challenge_is_matched why there are none"
        )
    if p < P and reason:
        yield f"challenge_is_matched says that the two laws are one ({reason}), but they differ in {name}; say nothing"


@_checks("prefix-closed")
def _prefix_closed(one: TaskSubject) -> Iterator[str]:
    for law in EVALUATION_LAWS:
        if not one.task.prefix_closed(law):
            continue
        # Facts in meta are about whole strings.
        cut, whole = (
            replace(batch, meta={}) for batch in (one.many(law).prefix(one.window), one.draw(law, one.window, MANY))
        )
        p, name = _apart(_statistics(one, cut), _statistics(one, whole))
        if p < P:
            yield (
                f"prefix_closed({law!r}) is True, but prefixes of longer strings and strings of length {one.window} "
                f"differ in {name}; return False"
            )


@_checks("support")
def _support(one: TaskSubject) -> Iterator[str]:
    for law in EVALUATION_LAWS:
        for length in dict.fromkeys((one.task.next_length(1), one.window)):
            listed = one.task.support(law, length, one.window)
            if listed is None:
                continue
            place = {tuple(string): i for i, string in enumerate(listed.batch.tokens.tolist())}
            drawn = [place.get(tuple(string)) for string in one.draw(law, length, MANY).tokens.tolist()]
            if None in drawn:
                yield f"support({law!r}, {length}) lacks a string that sample() draws; list all, or return None"
                continue
            counts = np.bincount(np.array(drawn, dtype=np.int64), minlength=len(place))
            if len(place) > 1 and _misfit(counts, listed.probabilities.numpy() * MANY) < P:
                yield f"support({law!r}, {length}) has other probabilities than sample(); mend them, or return None"


def _misfit(counts: Any, expected: Any) -> float:
    """The p of a fit, rare strings taken together."""
    rare = expected < 5
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    if len(counts) < 2:
        return 1.0
    return float(chisquare(counts, expected * counts.sum() / expected.sum()).pvalue)


def _statistics(one: TaskSubject, batch: Batch) -> dict[str, Tensor]:
    """Statistics of strings ``[batch]`` in which two laws may differ, by what a sentence calls them."""
    task, strings = one.task, one.strings(batch)
    length = strings.shape[1]
    change = strings[:, 1:] != strings[:, :-1]
    place = torch.arange(1, length)
    found: dict[str, Tensor] = {
        "how often neighbours differ": change.sum(1),
        "where the first token is left": torch.where(change, place, length).amin(1) if length > 1 else strings[:, 0],
        "where the last token begins": torch.where(change, place, 0).amax(1) if length > 1 else strings[:, 0],
        "the first token": strings[:, 0],
        "the middle token": strings[:, length // 2],
        "the last token": strings[:, -1],
        "the last answer": batch.targets[:, -1].flatten(1)[:, 0] if task.real else batch.targets[:, -1],
    }
    frequent = (
        torch.bincount(strings.flatten(), minlength=task.d_vocab).topk(min(8, task.d_vocab)).indices.sort().values
    )
    for token in frequent.tolist():
        there = strings == token
        name = task.tokens_names[token]
        found[f"how often {name} occurs"] = there.sum(1)
        found[f"where {name} comes last"] = torch.where(there, torch.arange(1, length + 1), 0).amax(1)
    again = strings[:, 1:] == strings[:, :1]
    before = strings[:, :-1] == strings[:, -1:]
    if length > 1:
        found["where the first token comes again"] = torch.where(again, place, length).amin(1)
        found["where the last token was before"] = torch.where(before, place, 0).amax(1)
    for key, values in batch.meta.items():
        for column, value in enumerate(values.flatten(1).unbind(1) if values.ndim > 1 else [values]):
            found[f"meta {key} {column}"] = value
    distinct = strings.sort(1).values
    found["how many tokens are different"] = (distinct[:, 1:] != distinct[:, :-1]).sum(1)
    for name, hits in task.shortcuts(batch, one.window).items():
        found[f"what the shortcut {name} gets right"] = hits
    return found


def _apart(one: dict[str, Tensor], other: dict[str, Tensor]) -> tuple[float, str]:
    """The smallest p over all statistics that both have, times their number, and which statistic it is."""
    names = [name for name in one if name in other]
    p, name = min((_two_samples(one[name], other[name]), name) for name in names)
    return min(1.0, p * len(names)), name


def _two_samples(one: Tensor, other: Tensor, bins: int = 12) -> float:
    """The p of the chi-squared test that two samples have one law; values are put into bins of about equal counts."""
    both = torch.cat([one, other]).double()
    values = both.unique()
    if len(values) > bins:
        edges = torch.quantile(both, torch.linspace(0, 1, bins + 1, dtype=torch.float64))[1:-1].unique()
        group = torch.bucketize(both, edges)
    else:
        group = torch.searchsorted(values, both)
    table = torch.stack([torch.bincount(part, minlength=bins + 1) for part in (group[: len(one)], group[len(one) :])])
    table = table[:, table.sum(0) > 0]
    rare = table.sum(0) < 20
    if bool(rare.any()):
        table = torch.cat([table[:, ~rare], table[:, rare].sum(1, keepdim=True)], 1)
    if table.shape[1] < 2:
        return 1.0
    return float(chi2_contingency(table.numpy(), correction=False).pvalue)


# ---- floors --------------------------------------------------------------------------------------
@_checks("chance")
def _chance(one: TaskSubject) -> Iterator[str]:
    """Chance is what the best constant answer scores."""
    task = one.task
    for law in EVALUATION_LAWS:
        for length in dict.fromkeys((one.window, one.length)):
            stated = task.chance(law, length)
            if not 0 <= stated <= 1:
                yield f"chance({law!r}, {length}) is {stated:g}; it is a share of strings"
                continue
            batch = one.draw(law, length, MANY, window=length // 8)
            best = float(task.shortcuts(batch, length)["position_only"].mean())
            # The best constant on some strings is a little better there than it is on all.
            classes = 2 if task.real else task.d_vocab_out
            slack = (2 * np.log(max(2, classes)) * max(stated, 1 / MANY) / MANY) ** 0.5
            if abs(best - stated) > 5 * 0.5 / MANY**0.5 + slack:
                yield (
                    f"on the law {law} at length {length} the best constant answer is right for {best:.3f} of {MANY:,} "
                    f"strings, but chance() says {stated:.3f}; state the share of the best constant answer"
                )


@_checks("shortcuts")
def _shortcuts(one: TaskSubject) -> Iterator[str]:
    task = one.task
    for law in EVALUATION_LAWS:
        found = task.shortcuts(one.many(law), one.window)
        for name in ("position_only", "last_token"):
            if name not in found:
                yield f"shortcuts() does not tell {name}; keep what the base class tells"
        for name, hits in found.items():
            if tuple(hits.shape) != (MANY,) or not bool(((hits >= 0) & (hits <= 1)).all()):
                yield f"the shortcut {name} is not a share of 0 to 1 for each sequence, but {tuple(hits.shape)}"
            elif law == "challenge" and name not in task.outside_floor and float(hits.mean()) > HIGHEST_FLOOR:
                yield (
                    f"on the challenge law at length {one.length} the shortcut {name} is right for "
                    f"{float(hits.mean()):.3f}, and beyond {HIGHEST_FLOOR} no skill is defined; keep what decides out "
                    "of the first and the last N tokens"
                )
        short = task.shortcuts(one.draw(law, one.window), one.window)
        seen = [name for name in short if name.endswith("window")]
        if seen:
            yield f"shortcuts() tells {' and '.join(seen)} at length N, where a window sees everything; leave that out"


@_checks("strata")
def _strata(one: TaskSubject) -> Iterator[str]:
    task = one.task
    for name in task.strata_names:
        batch = task.sample_stratum(name, 8, one.length, torch.Generator().manual_seed(0), "matched", one.window)
        if batch is None:
            continue
        kinds = task.strata(batch)
        if name in kinds and not bool(kinds[name].all()):
            yield f"sample_stratum({name!r}) draws strings that strata() does not call {name}; mend one of them"
        if not 0 <= task.stratum_chance(name, "matched", one.length) <= 1:
            yield f"stratum_chance({name!r}) is no share of strings"
    if not _refuses(lambda: task.sample_stratum("no such", 1, one.length, torch.Generator(), "matched", None)):
        yield "it draws strings of a stratum that does not exist; let sample_stratum() refuse it"


# ---- cost ----------------------------------------------------------------------------------------
class _Largest(TorchFunctionMode):
    """Notes the most numbers that any tensor has which is made meanwhile."""

    numbers = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for one in made if isinstance(made, tuple | list) else (made,):
            if isinstance(one, Tensor):
                self.numbers = max(self.numbers, one.numel())
        return made


@_checks("memory")
def _memory(one: TaskSubject) -> Iterator[str]:
    """Nothing grows like the square of the length: long strings are what all this is about."""
    long = _longest(one.task)
    short = one.task.next_length(long / 4)
    for law in EVALUATION_LAWS:
        small, large = _peak(one, law, short), _peak(one, law, long)
        grows = (long / short) ** 1.5  # between what grows like the length and like its square
        least = long**2 / 4, 2 * long**2  # numbers of a tensor, bytes of all arrays
        for what, few, many, square in zip(("tensor", "array"), small, large, least, strict=True):
            if many > square and many > grows * few:
                yield (
                    f"the law {law} makes a {what} that grows like the square of the length ({long}, 2 strings); go "
                    "along the string with cumulative sums, or in blocks"
                )


def _longest(task: Task) -> int:
    """A length of about :data:`LONG`, or shorter where there are none."""
    for length in (LONG, LONG // 2, LONG // 4):
        with suppress(TaskError):
            return task.next_length(length)
    return task.next_length(LONGEST_LISTED)


def _peak(one: TaskSubject, law: str, length: int) -> tuple[int, int]:
    """Numbers in the largest tensor, and bytes of everything else, while two strings are drawn and labelled."""
    one.draw(law, length, count=2, window=length // 8)  # what is made once and kept is no matter
    tracemalloc.start()
    try:
        with _Largest() as largest:
            batch = one.draw(law, length, count=2, window=length // 8)
            one.task.shortcuts(batch, length // 8)
        return largest.numbers, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
