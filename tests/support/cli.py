"""Run a command in this process."""

from __future__ import annotations

from typer.testing import CliRunner

from workbench.cli.errors import say
from workbench.cli.main import app


def output_or_error(*words: str) -> str:
    """Return what a command prints, or ``error:`` and the sentence of its refusal. Other errors fail the test."""
    done = CliRunner().invoke(app, [*words])
    if done.exception and not isinstance(done.exception, SystemExit):
        sentence = say(done.exception)
        assert sentence is not None, done.exception
        return f"error: {sentence}"
    return done.output
