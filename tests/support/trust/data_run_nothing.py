"""What tests of several tiers share. A run that names code, opened by every route there is: the code is not run; trusted, it is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from workbench.dashboard.app import create_app
from workbench.dashboard.server.context import Context

BOTH = pytest.mark.parametrize("form", ["source", "before"])
Called = Callable[..., tuple[object, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Called:
    """The command in this process: its exit status, and all that it says, in one line."""

    def run(*words: object) -> tuple[object, str]:
        from workbench.cli.main import main

        monkeypatch.setattr(sys, "argv", ["lengthlens", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        heard = capsys.readouterr()
        return left.value.code, " ".join(f"{heard.out} {heard.err}".split())

    return run


# ---- the dashboard ---------------------------------------------------------------------------------
@pytest.fixture
def app(custom, request: pytest.FixtureRequest) -> Iterator[tuple[Any, Context, FlaskClient]]:
    made = custom(getattr(request, "param", "source"), measured=True)
    server = create_app(made.run.path.parent).server
    answers: Context = server.extensions["lengthlens"]
    yield made, answers, server.test_client()
    answers.close()
