"""Languages, automata, tasks and positions as nobody should hand them over to ``lengthlens predict``."""

from __future__ import annotations

import json
import random
import string
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tests.support.hostile.command_cases import CommandCase
from tests.support.hostile.damaged import VALUES
from workbench.models.positions.registry import ENCODINGS, ID_SAMPLERS
from workbench.tasks.known_tasks import TASKS

LETTERS = string.ascii_letters + string.digits
SIGNS = "()|*+?ab01"
STRANGE = "\u00e4\u0661\u202e\0\n\\[]{}^$.- \x1b\u00b2\udcff"
SUBJECTS = (
    "tomita_0", "tomita_8", "tomita_999999999999", "t4", "D_0", "D_24", "D_25", "d_1000000", "D_" + "9" * 400, "d" + "9" * 5000,
    "mod_count_1000000", "mod_count_2001", "mod_count_0", "alternating_blocks_99999", "boolean_9", "shuffle_dyck_99",
    "D_\u0661", "", " ", "--", "-", "majorty", "MAJORITY", "unique copy", "x" * 3000, "a\nb", "\x1b[31mred", "\u202egnp", "os:system",
    "missing.py:X", "/dev/zero:X", "/dev/zero.py", "..", "file.py", ".py", ":", "%s", "{0}", "[bold]", "\udcff", "\0",
)  # fmt: skip
ALPHABETS = (
    "",
    "a",
    "ab",
    "aa",
    "ba",
    "abc",
    LETTERS,
    LETTERS + "a",
    "a b",
    "\u00e4",
    "\0",
    "()",
    "x" * 3000,
    "\udcff",
)
REGEXES = (
    "a", "()", "(a|b)*b", "(ab)*", "(aa)*", "((a|b)(a|b))*", "", "(", ")", "*", "a**", "a|", "|", "[", "\\", "(a", "a" * 150, "a" * 151,
    "(" * 74 + "a" + ")" * 74, "((a*)*)*", "a?" * 75, "(" + "|".join(LETTERS) + ")*", "(a|())*", "()*", "(()|())",
)  # fmt: skip
SETTINGS = (
    "positions.period=4", "positions.period=0", "positions.period=-1", "positions.period=1000000", "positions.period=NaN", "positions.x=1",
    "positions.period=[]", "positions.locality=4096", "positions.locality=1000000000", "positions.name=none", "positions.base=x", "positions.=1",
    "positions.base=" + "9" * 5000, "positions.d=" + "[" * 3000, "positions", "task.x=1", "model.x=1", "=", "", "positions.a.b=1",
)  # fmt: skip
SIZES = (2, 10, 100, 500, 999, 1_000, 1_999, 2_000, 2_001, 5_000)
"""States of large automata."""


# ---- regular expressions -----------------------------------------------------------------------------
def random_expression(dice: random.Random, letters: str, budget: int) -> str:
    """A well-formed expression of about so many letters."""
    if budget <= 1:
        return dice.choice(letters)
    match dice.randrange(5):
        case 0:
            first = dice.randint(1, budget - 1)
            parts = (random_expression(dice, letters, size) for size in (first, budget - first))
            return "(" + "|".join(parts) + ")"
        case 1 | 2:
            first = dice.randint(1, budget - 1)
            return "".join(random_expression(dice, letters, size) for size in (first, budget - first))
        case _:
            return f"({random_expression(dice, letters, budget - 1)}){dice.choice('*+?')}"


def changed_expression(dice: random.Random) -> str:
    """A well-formed expression of which some characters are removed, doubled or replaced."""
    characters = list(random_expression(dice, "ab", dice.randint(2, 25)))
    for _ in range(dice.randint(1, 5)):
        position = dice.randrange(len(characters))
        match dice.randrange(3):
            case 0 if len(characters) > 1:
                del characters[position]
            case 1:
                characters[position] = dice.choice(SIGNS + STRANGE)
            case _:
                characters.insert(position, dice.choice(SIGNS + STRANGE))
    return "".join(characters)


def large_expressions() -> Iterator[str]:
    """Expressions whose automata, or whose monoids, are large for their length, of 150 characters at most."""
    for count in (3, 6, 9, 10, 11, 12, 20, 27):
        yield "(a|b)*a" + "(a|b)" * count
        yield "((a|b)*a" + "(a|b)" * count + ")*"
        yield f"((a|b)*{'(a|b)?' * min(count, 20)}b)*"
        yield "(" + "|".join(f"{letter}*" for letter in LETTERS[:count]) + ")*"
        yield "".join(f"({letter}|b)*" for letter in LETTERS[:count])
        yield "(" * count + "a" + "b)*" * count
        yield "(" * count + "a" + "|b)+" * count
        yield f"({'a' * count})*({'b' * count})*"
        yield f"({'a' * count}|{'a' * (count + 1)})*"
        yield f"(b|{'a' * count}|ab|ba)*"
        yield "(" + "|".join(f"({LETTERS[number]}{LETTERS[number + 1]})" for number in range(count)) + ")*"
    yield "|".join(f"({'a' * prime})*" for prime in (2, 3, 5, 7, 11, 13))
    yield "|".join(f"({'a' * prime})*" for prime in (7, 11, 13, 17, 19))
    yield "((a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b))*((a|b)(a|b)(a|b)(a|b)(a|b))*"
    yield "(ab*a|b)*" * 8
    yield "(a(b|c)*d|e)*" * 10


# ---- automata ----------------------------------------------------------------------------------------
def automaton(dice: random.Random, states: int, symbols: int) -> dict[str, Any]:
    """A random automaton whose states are called by numbers."""
    names, letters = [str(number) for number in range(states)], LETTERS[:symbols]
    transitions = {name: {letter: dice.choice(names) for letter in letters} for name in names}
    accepting = [name for name in names if dice.random() < 0.5]
    return {"start": "0", "accepting": accepting, "transitions": transitions}


def of_permutations(dice: random.Random, states: int) -> dict[str, Any]:
    """An automaton whose symbols exchange and turn states, so that its monoid has states! elements or n ** n."""
    turn = {str(n): {"a": str((n + 1) % states), "b": str({0: 1, 1: 0}.get(n, n))} for n in range(states)}
    if dice.random() < 0.5:
        for name, row in turn.items():
            row["c"] = "0" if name == "1" else name
    return {"start": "0", "accepting": ["0"], "transitions": turn}


def changed_automaton(dice: random.Random) -> Any:
    """A small automaton of which some places hold a value of another kind."""
    content: Any = automaton(dice, dice.randint(1, 5), dice.randint(1, 3))
    for _ in range(dice.randint(1, 2)):
        places: list[tuple[Any, Any]] = [(content, key) for key in content]
        places += [(content["transitions"], key) for key in content["transitions"]] if isinstance(content.get("transitions"), dict) else []  # fmt: skip
        places += [(row, key) for row in _rows(content) for key in row]
        holder, key = dice.choice(places)
        match dice.randrange(4):
            case 0 if len(holder) > 1:
                del holder[key]
            case 1:
                holder[dice.choice(("", "start", "\0", "x" * 3000, "\u202e", "0", "dead"))] = holder[key]
            case _:
                holder[key] = dice.choice(VALUES)
    return content


def _rows(content: dict[str, Any]) -> list[dict[str, Any]]:
    transitions = content.get("transitions")
    return [row for row in transitions.values() if isinstance(row, dict)] if isinstance(transitions, dict) else []


# ---- cases -----------------------------------------------------------------------------------------
def predicted_cases(seed: int) -> list[CommandCase]:
    """All cases of a seed."""
    dice = random.Random(seed)
    return [case for kind in KINDS for case in kind(random.Random(dice.random()))]


def _case(label: str, *words: str, succeeds: bool | None = None) -> CommandCase:
    return CommandCase(label, ("predict", *(word.replace("\0", "\\0") for word in words)), succeeds=succeeds)


def _expressions(
    kind: str, make: Callable[[random.Random], str], count: int, dice: random.Random
) -> Iterator[CommandCase]:
    for number in range(count):
        own = random.Random(dice.random())
        words = ["--regex=" + make(own), *(["--program"] if own.random() < 0.3 else [])]
        if own.random() < 0.2:
            words += ["--acceptance", "neutral"]
        yield _case(f"{kind} {number}", *words)


def _drawn_expression(dice: random.Random) -> str:
    letters = LETTERS[: dice.choice((1, 2, 2, 3, 5, 62))]
    return random_expression(dice, letters, dice.randint(1, 40))


def _large_cases(dice: random.Random) -> Iterator[CommandCase]:
    for number, expression in enumerate(large_expressions()):
        yield _case(f"large expression {number}: {expression:.40}", f"--regex={expression}")
        yield _case(f"large expression {number} with a program", f"--regex={expression}", "--program")
        yield _case(f"large expression {number} of an ssm", f"--regex={expression}", "--architecture", "ssm-signed")


def _regular(content: Any, ask: str) -> tuple[str, ...]:
    return ("regular", "--set", "task.dfa=" + json.dumps(content), "--set", f"task.ask={ask}")


def _automaton_cases(dice: random.Random) -> Iterator[CommandCase]:
    for number in range(260):
        own = random.Random(dice.random())
        words = _regular(changed_automaton(own), own.choice(("member", "state", "next")))
        yield _case(f"changed automaton {number}", *words)
    for states in SIZES:
        for symbols in (1, 2, 5):
            if states * symbols <= 5_000:  # a word of a command line has 128 KiB at most
                for ask in ("member", "state"):
                    content = automaton(random.Random(dice.random()), states, symbols)
                    yield _case(f"{states} states, {symbols} symbols, {ask}", *_regular(content, ask))
    for states in range(2, 40, 3):
        for ask in ("member", "state", "next"):
            content = of_permutations(random.Random(dice.random()), states)
            yield _case(f"permutations of {states} states, {ask}", *_regular(content, ask))


def _task_cases(dice: random.Random) -> Iterator[CommandCase]:
    values = [value for value in VALUES if not isinstance(value, str) or value.isprintable()]
    for name in sorted(TASKS):
        for number in range(6):
            own = random.Random(dice.random())
            parameter = own.choice([*parameters_of(name), "x", "ask", "name"])
            value = own.choice([*values, 2, 3, 7, 25, 64, 1000])
            words = [
                name,
                "--set",
                f"task.{parameter}={json.dumps(value)}",
                "--positions",
                own.choice(sorted(ENCODINGS)),
            ]
            yield _case(f"{name}, {number}: {parameter} = {value!r:.30}", *words)


def parameters_of(name: str) -> list[str]:
    """Names of a task's parameters."""
    from workbench.tasks.registry import find_task

    return sorted(find_task(name).model_fields)


def _option_cases(dice: random.Random) -> Iterator[CommandCase]:
    for subject in SUBJECTS:
        for extra in ((), ("--program",), ("--architecture", "ssm-nonnegative"), ("--set", "task.n=3")):
            yield _case(f"subject {subject[:20]!a} of {len(subject)} {' '.join(extra)}", *extra, "--", subject)
    for expression in REGEXES:
        for alphabet in dice.sample(ALPHABETS, 4):
            label = f"--regex {expression:.20} of {len(expression)} --alphabet {alphabet[:9]!a} of {len(alphabet)}"
            yield _case(label, f"--regex={expression}", f"--alphabet={alphabet}")
    for encoding in sorted(ENCODINGS):
        for setting in dice.sample(SETTINGS, 6):
            subject = dice.choice(("majority", "parity", "--regex=(ab)*"))
            yield _case(f"{subject} {encoding} {setting:.40}", subject, "--positions", encoding, f"--set={setting}")
        for ids in [*sorted(ID_SAMPLERS), "x", ""]:
            yield _case(f"{encoding} --ids {ids}", "parity", "--positions", encoding, f"--ids={ids}")
    for option in ("--positions", "--ids", "--acceptance", "--architecture", "--alphabet"):
        for value in ("", "x", "\u202e", "x" * 3000, "[]", "nan", "\udcff"):
            yield _case(f"{option} {value[:20]!a}", "majority", f"{option}={value}", succeeds=False)


KINDS: tuple[Callable[[random.Random], Iterator[CommandCase]], ...] = (
    partial(_expressions, "a random expression", _drawn_expression, 320),
    partial(_expressions, "changed characters", changed_expression, 260),
    _large_cases,
    _automaton_cases,
    _task_cases,
    _option_cases,
)
