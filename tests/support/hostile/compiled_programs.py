"""C-RASP programs as nobody should hand them over to ``lengthlens compile``: wrong, damaged, huge, or no files at all."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from tests.support.hostile.command_cases import CommandCase
from tests.support.hostile.shared_folders import HAZARDS
from workbench.theory.crasp.zoo import ZOO

FILE = "program.crasp"
MAJORITY = "alphabet 0 1\nones_lead := count(Q(0)) < count(Q(1))\n"
"""A program that answers the task ``majority``."""
TOKEN = re.compile(r'[ \t]+|\n|//[^\n]*|\w+|"[^"\n]*"|:=|<=|>=|!=|==|\.\.|\S')
TOKENS = (
    "(", ")", "[", "]", ",", ":=", "..", "+", "-", "*", "<", "<=", ">", ">=", "=", "!=", "==", "#", '"', "\n", "not", "and",
    "or", "true", "count", "where", "MOD", "Q", "outputs", "alphabet", "0", "1", "-1", "1000000", "1000001", "4096", "4097",
    "9" * 5000, "\u0663", "\uff11", "\u00b2", "x", "__class__", "\u00e4", "\u202e", "\0", "\ufeff", "//", "/*", '"0"', '""', '"\u202e"', "Q(0)",
    "count(Q(1))", "MOD(0, 0)", "MOD(1, 1)", "MOD(0, 4096)", "count[0..4096](true)", "count[..](true)", "count[-1](true)",
)  # fmt: skip
OPERATORS = ("<", "<=", ">", ">=", "=", "!=")
DEPTHS = (10, 100, 240, 251, 1_000, 3_000)
TASKS = (
    "majority", "parity", "dyck_1", "flip_flop", "majorty", "", "x" * 3000, "os:system", "missing.py:X", "/dev/zero:X", "..",
    "mod_p_mean", "uf", "text", "mixture", "regular", "\x1b[31m", "\udcff", "sort",
)  # fmt: skip
SETTINGS = (
    "task.p=1", "task.x=1", "task.=1", "x", "=", "model.d_model=8", "task.probability=NaN", "task.probability=" + "9" * 5000,
    "task.probability=[]", "task.name=majority", "task.positions=[[" + "[" * 3000, "task.strata=x", "task.bos=false",
)  # fmt: skip
NUMBERS = ("1", "2", "19", "20", "21", "4096", "65536", "1000000", "1000001", "10000000000", "9" * 30)
RANGES = ("1-20", "20-1", "0-5", "1-1", "1-1000000", "1-1000001", "x", "", "1-20-30", "-5", "1024-1024", "9" * 400)
FILE_NAMES = (
    "a b.crasp", "-rf.crasp", "--out.crasp", "\u202egnp.crasp", "\x1b[31m.crasp", "a\nb.crasp", ".crasp", "...crasp", "x" * 240 + ".crasp",
    "\udcff.crasp", "%s.crasp", "{0}.crasp", "$HOME.crasp", "majority.crasp", "~.crasp", "CON.crasp", "[bold].crasp",
)  # fmt: skip


# ---- programs --------------------------------------------------------------------------------------
def random_boolean(dice: random.Random, alphabet: Sequence[str], depth: int) -> str:
    """A Boolean expression of the language, of at most this depth."""
    kind = dice.randrange(7) if depth else dice.randrange(2)
    inner = partial(random_boolean, dice, alphabet, depth - 1)
    match kind:
        case 0:
            return f'Q("{dice.choice(alphabet)}")'
        case 1:
            modulus = dice.choice((1, 2, 3, 4, 5, 7, 64, 97, 4096))
            return dice.choice(("true", f"MOD({dice.randrange(modulus)}, {modulus})"))
        case 2:
            return f"not {inner()}"
        case 3:
            return "(" + " and ".join(inner() for _ in range(dice.randint(2, 5))) + ")"
        case 4:
            return "(" + " or ".join(inner() for _ in range(dice.randint(2, 5))) + ")"
        case _:
            count = partial(random_count, dice, alphabet, depth - 1)
            return f"({count()} {dice.choice(OPERATORS)} {count()})"


def random_count(dice: random.Random, alphabet: Sequence[str], depth: int) -> str:
    """A count of the language, of at most this depth."""
    kind = dice.randrange(6) if depth else 0
    inner = partial(random_count, dice, alphabet, depth - 1)
    match kind:
        case 0:
            return str(dice.choice((0, 1, -1, 3, 1000, 999_999)))
        case 1:
            return f"count({random_boolean(dice, alphabet, depth - 1)})"
        case 2:
            low = dice.choice((0, 1, 5, 100, 4000))
            offsets = f"{low}..{low + dice.choice((0, 1, 30, 96))}, {dice.randrange(9)}"
            return f"count[{offsets}]({random_boolean(dice, alphabet, depth - 1)})"
        case 3:
            return f"({inner()} {dice.choice('+-')} {inner()})"
        case 4:
            return f"{dice.choice((0, 2, -7, 1000, 1_000_000))} * ({inner()})"
        case _:
            return f"where({random_boolean(dice, alphabet, depth - 1)}, {inner()}, {inner()})"


def random_program(dice: random.Random) -> str:
    """A well-formed program, over the alphabet of ``majority`` in half of the draws."""
    letters = [chr(ord("a") + number) for number in range(dice.choice((1, 2, 5, 26)))]
    alphabet = ["0", "1"] if dice.random() < 0.5 else letters
    lines = [f"alphabet {' '.join(alphabet)}"]
    for number in range(dice.randint(1, 8)):
        depth = dice.randint(0, 5)
        draw = random_count if dice.random() < 0.3 else random_boolean
        lines.append(f"v{number} := {draw(dice, alphabet, depth)}")
    lines.append(f"accept := {random_boolean(dice, alphabet, dice.randint(0, 4))}")
    if dice.random() < 0.3:
        lines.append(f"outputs {' '.join(dice.sample([f'v{number}' for number in range(9)] + ['accept'], 2))}")
    return "\n".join(lines)


def rewritten_majority(dice: random.Random) -> str:
    """The program of ``majority`` with parts that change nothing, and lines that nothing reads."""
    left, right = "count(Q(0))", "count(Q(1))"
    for _ in range(dice.randint(1, 8)):
        same = f"({random_count(dice, '01', 2)})"
        left, right = dice.choice(
            (
                (f"({left} + {same})", f"({right} + {same})"),
                (f"3 * {left}", f"3 * {right}"),
                (f"({left} - {dice.randrange(10**6)})", f"({right} - {dice.randrange(10**6)})"),
                (f"where(true, {left}, {same})", right),
                (f"({left} + 0 * {same})", f"1 * {right}"),
            )
        )
    answer = f"{left} < {right}"
    for _ in range(dice.randint(0, 4)):
        answer = dice.choice((f"not not ({answer})", f"({answer}) and true", f"({answer}) or ({answer})"))
    spare = "".join(f"s{number} := {random_boolean(dice, '01', 3)}\n" for number in range(dice.randrange(20)))
    return f"alphabet 0 1\n{spare}answer := {answer}\n"


def changed_tokens(dice: random.Random) -> str:
    """A program of the zoo of which some tokens are removed, doubled, exchanged or replaced."""
    source = MAJORITY if dice.random() < 0.3 else str(ZOO[dice.choice(sorted(ZOO))].program)
    tokens = TOKEN.findall(source)
    for _ in range(dice.randint(1, 4)):
        position, other = dice.randrange(len(tokens)), dice.randrange(len(tokens))
        match dice.randrange(5):
            case 0 if len(tokens) > 1:
                del tokens[position]
            case 1:
                tokens.insert(position, tokens[position])
            case 2:
                tokens[position], tokens[other] = tokens[other], tokens[position]
            case 3:
                tokens[position] = dice.choice(TOKENS)
            case _:
                tokens.insert(position, dice.choice(TOKENS))
    return "".join(tokens)


def changed_bytes(dice: random.Random) -> bytes:
    """Bytes of a program, some of which are changed, or bytes of any kind."""
    if dice.random() < 0.2:
        return dice.randbytes(dice.randint(0, 2000))
    data = bytearray(str(ZOO[dice.choice(sorted(ZOO))].program).encode())
    for _ in range(dice.randint(1, 10)):
        data[dice.randrange(len(data))] = dice.randrange(256)
    return bytes(data[: dice.randint(0, len(data))] if dice.random() < 0.2 else data)


def large_programs() -> Iterator[tuple[str, str]]:
    """Programs that are deep, wide or long, by what is large about them."""
    for depth in DEPTHS:
        nested = {
            "not": "not " * depth + "Q(0)",
            "parentheses": "(" * depth + "Q(0)" + ")" * depth,
            "comparisons": "(" * depth + "1" + " < 2) = (1" * depth + " < 2)" * depth,
            "counts": "count(" * depth + "Q(0)" + " > 1)" * depth,
            "local counts": "count[1](" * depth + "Q(0)" + " > 0)" * depth,
            "conditions": "where(true, " * depth + "1" + ", 2)" * depth + " < 3",
            "sums": "1" + " + 1" * depth + " < 3",
            "products": "2 * " * depth + "count(Q(0)) < 3",
            "minus": "-(" * depth + "1" + ")" * depth + " < 3",
            "conjunctions": "Q(0)" + " and Q(1)" * depth,
        }
        for name, text in nested.items():
            yield f"{depth} nested {name}", f"alphabet 0 1\na := {text}\n"
        names = [f"s{number}" for number in range(depth)]
        chained = {
            "doubled lines": "a0 := Q(0)\n" + "".join(f"a{n + 1} := a{n} and not a{n}\n" for n in range(depth)),
            "summed lines": "a0 := count(Q(0))\n" + "".join(f"a{n + 1} := a{n} + a{n}\n" for n in range(depth)) + f"b := a{depth} < 9",
            "counted lines": "a0 := Q(0)\n" + "".join(f"a{n + 1} := count(a{n}) > {n}\n" for n in range(depth)),
            "scaled lines": "a0 := count(Q(0))\n" + "".join(f"a{n + 1} := 999999 * a{n}\n" for n in range(depth)) + f"b := a{depth} < 9",
            "moduli": "".join(f"a{n} := MOD(1, {n + 2})\n" for n in range(depth)) + "b := " + " and ".join(f"a{n}" for n in range(depth)),
            "outputs": "".join(f"a{n} := count(Q(0)) > {n}\n" for n in range(depth)) + "outputs " + " ".join(f"a{n}" for n in range(depth)),
        }  # fmt: skip
        for name, text in chained.items():
            yield f"{depth} {name}", f"alphabet 0 1\n{text}\n"
        yield f"{depth} symbols", f"alphabet {' '.join(names)}\na := count(Q(s0)) < count(Q(s{depth - 1}))\n"
        yield f"{depth} offsets", f"alphabet 0 1\na := count[{', '.join(map(str, range(depth)))}](Q(0)) < 3\n"
    for reach in (4095, 4096, 4097):
        yield f"offset {reach}", f"alphabet 0 1\na := count[{reach}](Q(0)) = 0\n"
        yield f"offsets up to {reach}", f"alphabet 0 1\na := count[0..{reach}](Q(0)) = 0\n"
        yield f"modulus {reach}", f"alphabet 0 1\na := MOD(0, {reach})\n"
    yield "a long name", f"alphabet 0 1\n{'a' * 60_000} := Q(0)\n"
    yield "a long symbol", f"alphabet {'a' * 60_000} 1\na := Q(1)\n"
    yield "a long comment", "alphabet 0 1\n//" + "x" * 60_000 + "\na := Q(1)\n"
    yield "many empty lines", "\n" * 60_000 + MAJORITY
    yield "a file of 65,537 bytes", MAJORITY + "\n" * (65_537 - len(MAJORITY))


# ---- cases -----------------------------------------------------------------------------------------
def write(folder: Path, data: str | bytes, name: str = FILE) -> None:
    (folder / name).write_bytes(data.encode(errors="surrogateescape") if isinstance(data, str) else data)


def compiled(*options: str, program: str = FILE) -> tuple[str, ...]:
    """A command line; later options replace the sound ones."""
    sound = {"--task": "majority", "--up-to": "20", "--lengths": "1-9", "--out": "OUT"}
    given = sound | dict(zip(options[::2], options[1::2], strict=True))
    words = [word for option, value in given.items() for word in (option, value)]
    return ("compile", *words, "--", program)


def compiled_cases(seed: int) -> list[CommandCase]:
    """All cases of a seed."""
    dice = random.Random(seed)
    return [case for kind in KINDS for case in kind(random.Random(dice.random()))]


def _texts(
    kind: str,
    make: Callable[[random.Random], str | bytes],
    count: int,
    dice: random.Random,
    succeeds: bool | None = None,
) -> Iterator[CommandCase]:
    for number in range(count):
        data = make(random.Random(dice.random()))
        yield CommandCase(f"{kind} {number}", compiled(), partial(write, data=data), succeeds)


def _large_cases(dice: random.Random) -> Iterator[CommandCase]:
    for label, text in large_programs():
        yield CommandCase(f"large: {label}", compiled(), partial(write, data=text))
        yield CommandCase(f"large: {label}, long", compiled("--up-to", "1000000"), partial(write, data=text))


def _file_cases(dice: random.Random) -> Iterator[CommandCase]:
    for name, hazard in HAZARDS.items():
        prepare = lambda folder, hazard=hazard: hazard(folder / FILE, folder / "victim")  # noqa: E731
        yield CommandCase(f"file: {name}", compiled(), prepare, succeeds=False)
    for name in FILE_NAMES:
        prepare = partial(write, data=MAJORITY, name=name)
        yield CommandCase(
            f"file: called {name[:40]!a}", compiled(program=name), prepare, succeeds=None if "\udcff" in name else True
        )
    for name in (
        "missing.crasp",
        "/dev/zero",
        "/dev/zero.crasp",
        "",
        ".",
        "..",
        "/",
        "x" * 3000 + ".crasp",
        "\udcff",
        "a\nb",
        "majority.crasp/x",
    ):
        yield CommandCase(f"file: {name[:40]!a} is missing", compiled(program=name), succeeds=False)
    for label, data in {
        "a mark of the byte order": b"\xef\xbb\xbf" + MAJORITY.encode(), "UTF-16": MAJORITY.encode("utf-16"), "no UTF-8": b"\xff\xfe\xfd",
        "returns": MAJORITY.replace("\n", "\r\n").encode(), "old returns": MAJORITY.replace("\n", "\r").encode(), "a form feed": b"\x0c" + MAJORITY.encode(),
        "an archive": b"PK\x03\x04" + bytes(60), "a pickle": b"\x80\x04cos\nsystem\n(S'touch ../ran'\ntR.", "zeros": bytes(1000), "Python": b"import os\nos.mkdir('../ran')\n",
    }.items():  # fmt: skip
        yield CommandCase(f"file of {label}", compiled(), partial(write, data=data))


def _option_cases(dice: random.Random) -> Iterator[CommandCase]:
    prepare = partial(write, data=MAJORITY)
    for number in NUMBERS:
        for span in RANGES:
            yield CommandCase(
                f"--up-to {number} --lengths {span:.20}", compiled("--up-to", number, "--lengths", span), prepare
            )
        yield CommandCase(f"--first-keys {number}", compiled("--first-keys", number, "--up-to", "65536"), prepare)
    for task in TASKS:
        yield CommandCase(f"--task {task[:40]!a}", compiled("--task", task), prepare, task == "majority")
        for known in ("majority", "dyck_1", "parity"):
            words = ("compile", known, "--task", task, "--out", "OUT")
            yield CommandCase(f"{known} --task {task[:40]!a}", words, succeeds=False)
    for setting in SETTINGS:
        yield CommandCase(f"--set {setting:.40}", compiled("--set", setting), prepare)


KINDS: tuple[Callable[[random.Random], Iterator[CommandCase]], ...] = (
    partial(_texts, "a random program", random_program, 320),
    partial(_texts, "rewritten majority", rewritten_majority, 160),
    partial(_texts, "changed tokens", changed_tokens, 420),
    partial(_texts, "changed bytes", changed_bytes, 200),
    _large_cases,
    _file_cases,
    _option_cases,
)
