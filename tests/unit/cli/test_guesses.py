"""A guessed command or option does what was meant, or the answer names what was meant."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from tests.support.places import GALLERY
from workbench.cli.errors import UsageError
from workbench.cli.guesses import ALIASES, COMMAND_MEANINGS, OPTION_MEANINGS, unknown_option
from workbench.cli.main import COMMANDS, app


def refusal(*words: str) -> str:
    done = CliRunner().invoke(app, [*words])
    assert isinstance(done.exception, UsageError), done.output
    return str(done.exception)


def test_other_names_stand_for_commands_that_exist() -> None:
    assert {words[0] for words in ALIASES.values()} <= set(COMMANDS)
    assert not set(ALIASES) & set(COMMANDS)
    meant = {target.split()[0] for target in COMMAND_MEANINGS.values()} - {"--version"}
    assert meant <= set(COMMANDS)
    assert not set(COMMAND_MEANINGS) & {*COMMANDS, *ALIASES}, "a word that is a command is never only a hint"


def test_each_hint_names_an_option_that_some_command_has() -> None:
    import typer.main

    group = typer.main.get_command(app)
    options = {opt for name in COMMANDS for param in group.commands[name].params for opt in param.opts}  # type: ignore[attr-defined]
    for guess, targets in OPTION_MEANINGS.items():
        assert any(target.split()[0] in options for target in targets), guess


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("train parity --epochs 3", "--steps"),
        ("train parity --gpu", "--device cuda"),
        ("train parity --batch_size 3", "--batch-size"),
        ("train parity --n-layers 3", "--layers"),
        ("train parity --weight-decay 0.1", "--set training.weight_decay=0.1"),
        ("train parity --stpes 3", "--steps"),
        ("train parity --xyzzy", "lengthlens train --help"),
        ("measure checkpoints --resume", "run the same command again"),
        ("measure checkpoints --gpu", "--device cuda"),
        ("--gpu", "--device cuda"),
        ("--lr 3", "lengthlens train TASK --lr"),
        ("analyze checkpoints", "lengthlens measure"),
        ("dashboard", "lengthlens app"),
        ("trian parity", "lengthlens train"),
        ("rm checkpoints/gallery/parity_nope", "lengthlens rm checkpoints/gallery/parity_nope --yes"),
        ("cp checkpoints/gallery/parity_nope other", "cp -r RUN NEW_NAME"),
        ("xyzzy", "lengthlens --help"),
    ],
)
def test_the_answer_names_what_was_meant(words: str, named: str) -> None:
    assert named in refusal(*words.split())


def test_a_value_may_look_like_an_option() -> None:
    done = CliRunner().invoke(app, ["predict", "--regex", "--epochs"])
    assert "no option" not in str(done.exception)


def test_help_prints_the_help_of_a_command() -> None:
    run = CliRunner(env={"COLUMNS": "100"})
    assert run.invoke(app, ["help"]).output == run.invoke(app, ["--help"]).output
    assert run.invoke(app, ["help", "list"]).output == run.invoke(app, ["list", "--help"]).output
    assert run.invoke(app, ["help", "ls"]).output == run.invoke(app, ["list", "--help"]).output
    assert "lengthlens measure" in refusal("help", "analyze")


@pytest.mark.parametrize(
    ("alias", "command"), [("ls", "list"), ("runs", "list"), ("show", "info"), ("verdict", "info")]
)
def test_another_name_prints_the_same(alias: str, command: str) -> None:
    folder = str(GALLERY / "parity_nope")
    outputs = [CliRunner().invoke(app, [name, folder]) for name in (alias, command)]
    assert outputs[0].exit_code == 0, outputs[0].output
    assert outputs[0].output == outputs[1].output


def test_a_hint_is_given_only_where_the_command_has_the_option() -> None:
    assert "--steps" not in unknown_option("--epochs", "list", ["--json"])
