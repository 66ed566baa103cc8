"""``lengthlens tasks --check``: a task of one's own, checked before it is trained."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from workbench.cli.commands.tasks import tasks
from workbench.cli.errors import UsageError
from workbench.core import registry
from workbench.tasks import TaskError, make_task
from workbench.tasks.regular import named_languages
from workbench.tasks.regular.state_machines import Parity
from workbench.tasks.testing import TaskCheckError
from workbench.tasks.testing.kit import findings

TASK = """
from __future__ import annotations
from workbench.tasks.regular.state_machines import Parity

class Mine(Parity):
    name = "mine"
    def draw_strings(self, batch, length, generator, law, window):
        return super().draw_strings(batch, length, generator, LAW, window)

class Leaves(Parity):
    name = "leaves"
    def reference(self, tokens):
        raise SystemExit(3)
"""


def test_a_task_of_a_file_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.py"
    file.write_text(TASK.replace("LAW", "law"))
    tasks(f"{file}:Mine", check=True)
    assert capsys.readouterr().out.startswith("mine passes all 17 checks: class variables, parameters, lengths, ")
    with pytest.raises(TaskError, match=r"sys\.exit\(3"):
        tasks(f"{file}:Leaves", check=True)


def test_what_it_does_not_keep_is_said(tmp_path: Path) -> None:
    file = tmp_path / "alike.py"
    file.write_text(TASK.replace("LAW", '"matched"'))
    with pytest.raises(TaskCheckError, match="test sets: the matched and the challenge test set do not differ"):
        tasks(f"{file}:Mine", check=True)


def test_a_vocabulary_without_the_token_that_begins_every_string_is_told_first() -> None:
    class NoBos(Parity):
        name = "no_bos"
        vocabulary = ("0", "1")

    first, *others = findings(NoBos(), ["statement", "shapes"])
    said = "every sequence begins with the first of tokens_names, <bos>, but the first is 0, and sample() draws ids up to 2"
    assert first.check == "statement"
    assert first.sentence.startswith(said)
    assert {other.check for other in others} == {"shapes"}
    assert findings(Parity(), ["statement"]) == []


def test_a_check_is_of_one_task() -> None:
    with pytest.raises(UsageError, match="--check"):
        tasks(None, check=True)


def test_a_language_is_one_line_and_theory_decides_what_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks("aa_star_b_star")
    told = capsys.readouterr().out
    assert "Decide after every symbol whether the string so far is in (aa)*b*." in told
    assert "theory, without positions: not expressible: before a final a, no count distinguishes" in told
    assert "theory, with positions: guaranteed: counts that read residues mod 2" in told
    assert "theory: not star-free:" in told
    assert make_task("aa_star_b_star").reference([1, 2, 1]) == [0, 0, 0]
    assert make_task("aa_star_b_star").reference([1, 1, 2, 2]) == [0, 1, 1, 1]

    monkeypatch.setattr(named_languages, "EXPRESSIONS", {**named_languages.EXPRESSIONS, "ends_in_ab": "(a|b)*ab"})
    found = named_languages.ends_in_ab
    assert found().reference([1, 2, 1, 2]) == [0, 1, 0, 1]
    assert found().name == found.__name__ == "ends_in_ab"
    with pytest.raises(AttributeError, match="'nothing'"):
        named_languages.nothing  # noqa: B018


def test_a_task_that_cannot_be_imported_is_listed_with_the_reason_and_hides_no_other(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    announced = [EntryPoint(name="broken", value="no_such_package:Task", group="lengthlens.tasks")]
    monkeypatch.setattr(registry, "entry_points", lambda group: announced if group == "lengthlens.tasks" else [])
    monkeypatch.setattr("workbench.tasks.registry.task_names", lambda: ["broken", "parity", "majority"])
    tasks()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["broken", "parity", "majority"]
    assert "could not be imported" in lines[0]
    assert "no_such_package" in lines[0]
