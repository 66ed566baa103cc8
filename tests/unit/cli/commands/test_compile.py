"""``lengthlens compile``: programs as runs that answer as the formula says, and clear refusals."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from workbench.cli.commands.compile import compile_program
from workbench.cli.commands.info import info
from workbench.cli.compiled_run import LARGEST_FILE, compiled_run, file_source
from workbench.cli.errors import UsageError
from workbench.core.errors import LensError
from workbench.runs import Run
from workbench.runs.integrity import run_problems
from workbench.theory.crasp.zoo import ZOO


def accuracy(run: Run, length: int, law: str) -> float:
    batch = run.task.sample(400, length, torch.Generator().manual_seed(1), law)
    with torch.no_grad():
        right = run.task.correct(run.load(1)(batch.tokens), batch)
    return float(right[:, -1].double().mean())


def test_a_compiled_run_is_right_at_every_length_and_its_twins_only_on_short_ones(tmp_path: Path) -> None:
    robust = compiled_run("majority", (1, 20), 1024, out=tmp_path / "robust")
    blunt = compiled_run("majority", (1, 20), 20, out=tmp_path / "blunt")
    first = compiled_run("majority", (1, 20), 1024, first_keys=20, out=tmp_path / "first")
    assert [accuracy(run, 19, "challenge") for run in (robust, blunt, first)] == [1, 1, 1]
    assert accuracy(robust, 401, "challenge") == 1
    # All near ties of one more: (d + 1/2) 4 (20 + 1) / (n + 1) <= 1/2 for d = 0 from n = 83 on.
    wrong = torch.tensor([[0, *[2] * 42, *[1] * 41], [0, *[1] * 41, *[2] * 42]])
    assert (blunt.load(1)(wrong)[:, -1].argmax(-1) == 0).all()
    assert (robust.load(1)(wrong)[:, -1].argmax(-1) == 1).all()
    # Sorted strings: the first 20 keys say which symbol came first, which says nothing of the end.
    assert accuracy(first, 401, "challenge") == pytest.approx(0.52, abs=0.08)


def test_it_is_a_whole_run_with_a_random_model_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = compiled_run("tomita_4", (1, 20), 64, out=tmp_path / "run")
    assert run.steps == [0, 1]
    assert run.trained_length == 20
    assert run_problems(run) == []
    assert run.config["training"]["compiled"]["program"] == "tomita_4"
    assert compiled_run("tomita_4", (1, 20), 64, out=tmp_path / "run").id == run.id
    info(run.path, None)
    assert "compiled, with lengths 1 to 20 treated as trained" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("name", [name for name, case in ZOO.items() if case.task])
def test_every_program_with_a_task_answers_it(tmp_path: Path, name: str) -> None:
    compiled_run(name, (1, 12), 12, out=tmp_path / name)


@pytest.mark.parametrize(
    ("program", "up_to", "first", "said"),
    [
        ("majorty", 64, None, "there is no program 'majorty'; did you mean majority?"),
        ("parity", 64, None, "choose one of majority, .* Theory on parity, without positions: not expressible: "),
        ("even_as", 64, None, "even_as has no task on which it can be measured"),
        ("majority", 10, None, "give --up-to 20 or more"),
        ("majority", 64, 10, "give --first-keys 20 or more"),
    ],
)
def test_what_cannot_be_right_is_refused(
    tmp_path: Path, program: str, up_to: int, first: int | None, said: str
) -> None:
    with pytest.raises(UsageError, match=said.replace("?", r"\?")):
        compiled_run(program, (1, 20), up_to, first, out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


# ---- programs of a file --------------------------------------------------------------------------
LEAD = "alphabet 0 1\nones_lead := count(Q(0)) < count(Q(1))  // more ones\n"


def written(folder: Path, text: str) -> Path:
    (folder / "lead.crasp").write_text(text)
    return folder / "lead.crasp"


def test_a_program_of_a_file_is_compiled_like_a_named_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, LEAD)
    compile_program(str(file), "1-20", 64, None, False, tmp_path / "own", "majority")
    assert f"{tmp_path / 'own'}: lead compiled for prefixes up to 64" in capsys.readouterr().out
    own, named = Run.open(tmp_path / "own"), compiled_run("majority", (1, 20), 64, out=tmp_path / "named")
    held, other = own.load(1).state_dict(), named.load(1).state_dict()
    assert held.keys() == other.keys()
    assert all(torch.equal(held[name], other[name]) for name in held)
    assert own.id != named.id  # it is a run of its own text
    assert own.config["training"]["compiled"]["text"] == "alphabet 0 1\nones_lead := count(Q(0)) < count(Q(1))"
    assert run_problems(own) == []
    again = compiled_run(file_source(file, "majority"), (1, 20), 64, out=tmp_path / "own")
    assert again.id == own.id


def test_its_task_may_have_parameters_and_several_answers(tmp_path: Path) -> None:
    text = (
        "alphabet a b c\nmost_b := count(Q(a)) < count(Q(b)) and count(Q(c)) < count(Q(b))\n"
        "most_c := count(Q(a)) < count(Q(c)) and count(Q(b)) < count(Q(c))\n"
        "most_a := not most_b and not most_c\noutputs most_a most_b most_c\n"
    )
    source = file_source(written(tmp_path, text), "letter_majority", ["task.letters=3"])
    assert source.task.parameters["letters"] == 3
    assert accuracy(compiled_run(source, (1, 12), 64, out=tmp_path / "run"), 40, "matched") == 1


@pytest.mark.parametrize(
    ("text", "task", "said"),
    [
        ("alphabet 0 1\nx := Q(0", "majority", "column 9"),
        ("alphabet 0 1\nx := " + "(" * 5000, "majority", "line 2"),
        ("alphabet 0 1\nx := count(Q(0)) > ²", "majority", "column 20"),
        ("alphabet 0 1\nx := count(Q(0)) > " + 5000 * "9", "majority", r"\b1,000,000\b"),
        ("alphabet 0 1\nx := MOD(0, 5000)", "majority", r"\b4,096\b"),
        ("alphabet 0 1\nx := count[0..9999999](Q(0)) > 1", "majority", r"\b4,096\b"),
        (LEAD, None, "--task"),
        (LEAD, "majorty", "'majorty'"),
        (LEAD, "dyck_1", "dyck_1"),
        (LEAD, "simple", r"lead\.crasp"),
        (LEAD + "outputs ones_lead", "parity", "program"),
        (LEAD + "y := Q(0)\nz := Q(1)\noutputs ones_lead y z", "majority", "majority"),
        ("alphabet 0 1\nx := MOD(0, 61) and MOD(0, 101)", "majority", "6,161 positions"),
        ("alphabet 0 1\nx0 := Q(0)\n" + "\n".join(f"x{i} := not x{i - 1} or Q(1)" for i in range(1, 2000)), "majority",
         "251 nested levels"),
        ("alphabet 0 1\nx := " + 500 * "not " + "Q(0)", "majority", "501 nested levels"),
        ("alphabet 0 1\nx0 := Q(0)\n" + "\n".join(f"x{i} := count(x{i - 1}) < count(x{i - 1} or Q(1))" for i in range(1, 40)),
         "majority", "program"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_program_of_a_file_is_one_sentence(
    tmp_path: Path, text: str, task: str | None, said: str
) -> None:
    file = written(tmp_path, text)
    with pytest.raises(LensError, match=said) as caught:
        compile_program(str(file), "1-20", 20, None, False, tmp_path / "run", task)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_only_short_regular_files_of_text_are_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="folder"):
        file_source(tmp_path, "majority")
    with pytest.raises(UsageError, match="/dev/zero"):
        file_source(Path("/dev/zero"), "majority")
    with pytest.raises(UsageError, match="file"):
        file_source(written(tmp_path, LEAD + "//" + LARGEST_FILE * "x"), "majority")
    (tmp_path / "latin.crasp").write_bytes(b"alphabet a\nx := Q(a) // \xe9")
    with pytest.raises(UsageError, match="byte 24"):
        file_source(tmp_path / "latin.crasp", "majority")
    with pytest.raises(UsageError, match=r"task\.PARAMETER"):
        file_source(written(tmp_path, LEAD), "majority", ["model.d_model=3"])
    with pytest.raises(UsageError, match="majority"):
        compile_program("majority", "1-20", 64, None, False, tmp_path / "run", "parity")
    with pytest.raises(FileNotFoundError):
        file_source(tmp_path / "nothing.crasp", "majority")
