"""What is copied or saved from the dashboard is data wherever it goes: into a shell, into Python, into a spreadsheet."""

from __future__ import annotations

import ast
import io
import os
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from dash import html

from tests.support.dashboard import fakes
from workbench.dashboard import downloads
from workbench.dashboard.app import create_app
from workbench.dashboard.pages.base import Visit
from workbench.dashboard.pages.glossary import PAGE as GLOSSARY
from workbench.dashboard.pages.runs import empty
from workbench.dashboard.panels import job_status, panel_frame
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Job, Worker
from workbench.dashboard.state import run_summary
from workbench.dashboard.state.run_view import quote_path
from workbench.dashboard.state.store import Store

NAMES = (
    "two words", "it's", 'say "so"', "a;touch x", "$(touch x)", "`touch x`", "a&&b|c>d", "back\\slash", "-n", "*?[a]", "~x", "#x", "a\tb",
    "a\nb", "\x1b[201~x", "x\u202ey", "émile", "{x}", "%s", "!!",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_shell_reads_a_path_as_one_word_that_is_no_option(name: str) -> None:
    read = subprocess.run(["bash", "-c", f"printf %s {quote_path(name)}"], capture_output=True, check=True).stdout
    assert os.fsdecode(read) == (f"./{name}" if name.startswith("-") else name)
    assert all(char.isprintable() for char in quote_path(name))  # nothing that a terminal acts upon when it is pasted


def commands(node: Any) -> list[str]:
    """Every command with a copy button in a part of a page."""
    found = []
    if hasattr(node, "to_plotly_json"):
        props = node.to_plotly_json()["props"]
        found = [props["data-copy"]] if "data-copy" in props else []
        node = props.get("children")
    if isinstance(node, list | tuple):
        return [*found, *(one for part in node for one in commands(part))]
    return found + (commands(node) if hasattr(node, "to_plotly_json") else [])


@pytest.fixture(scope="module", params=["two words; it's", 'say "so" $(x)', "-rf\\"])
def odd(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Context:
    """A dashboard over runs in a folder of an odd name, whose names are odd too."""
    root = tmp_path_factory.mktemp("odd") / request.param / "runs"
    for fake in fakes.FAKES[:2]:
        made = replace(fake, name=f"{fake.name} {request.param}".replace("/", ""))
        fakes.write_rows(fakes.write_run(root, made, (0, 3000)), fakes.all_rows(made, (0, 3000)))
    fakes.write_run(root, fakes.UNMEASURED, (0,))
    return Context(Store([root]), Worker())


def test_copied_commands_name_the_folder_whatever_it_is_called(odd: Context) -> None:
    runs = odd.store.runs()
    assert len(runs) == 3
    for run in runs.values():
        missing = commands(panel_frame.not_measured("behaviour", "None.", run))
        damaged = commands(job_status.failure_message(Job("failed", error="it is damaged"), run))
        line = [run_summary.summarise(run).get("command", f"lengthlens measure {run.typed_path}")]
        wanted = (("measure", ["--only", "behaviour"]), ("check", []), ("measure", []))
        for found, (verb, options) in zip((missing, damaged, line), wanted, strict=True):
            ((program, second, path, *rest),) = map(shlex.split, found)
            assert (program, second, rest) == ("lengthlens", verb, options)
            assert Path(path).resolve() == run.path.resolve()
    root = odd.store.roots[0]
    none = Context(Store([root / "none"]), Worker())
    glossary = commands(html.Div(GLOSSARY.draw(none, Visit("/glossary", "")).content))
    assert [shlex.split(text) for text in glossary] == [["lengthlens", "measure", str(root / "none")]]
    own = next(text for text in commands(empty([root])) if "train" in text)
    assert shlex.split(own)[-2:] == ["--out", f"{root}/majority-s0"]


def test_copied_snippets_name_the_folder_whatever_it_is_called(odd: Context) -> None:
    """Every string of a snippet is one literal, and the ones that are paths are the run's."""
    run = next(run for run in odd.store.runs().values() if run.measurement_names)
    query = f"?run={run.name}&run2={run.name}".replace(" ", "%20").replace(";", "%3B")
    asked = {"accuracy-length", "loss", "cmp-accuracy-d", "cmp-seeds-accuracy-a", "phase", "try-clean", "seq"}
    for name in asked:
        text = downloads.answer(odd, name, "py", query).get_data(as_text=True)
        tree = ast.parse(text)
        assert len(tree.body) < 12, text
        paths = {
            n.value
            for n in ast.walk(tree)
            if isinstance(n, ast.Constant) and isinstance(n.value, str) and "/odd" in n.value
        }
        assert paths
        assert paths <= {str(run.path), str(odd.store.roots[0]), run.shown_path}, text


# ---- spreadsheets --------------------------------------------------------------------------------
def test_text_that_a_spreadsheet_would_compute_is_made_harmless_and_numbers_stay() -> None:
    odd = ["=1+1", "+A1", "-A1", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1", "-", "+", "x\r=1"]
    rows = pd.DataFrame({
        "text": odd,
        "kept": ["a=b", "1", "-1", "-1.5e-3", "+.5", "", "x-y", "0", "[1, 2]", "'x"],
        "kind": pd.Categorical(odd),
        "number": [-1.5, 2, 3, -4e-9, 5, 6, 7, 8, 9, float("nan")],
        "mixed": [-1, "=x", None, -2.5, "b", True, "-x", [1], "-3", "c"],
        "whole": range(-5, 5),
    })  # fmt: skip
    read = pd.read_csv(io.StringIO(downloads.to_csv(rows)), dtype=str, keep_default_na=False)
    assert list(read["text"]) == list(read["kind"]) == [*("'" + text for text in odd[:-1]), odd[-1]]
    assert list(read["kept"]) == list(rows["kept"])
    assert list(read["mixed"]) == ["-1", "'=x", "", "-2.5", "b", "True", "'-x", "[1]", "-3", "c"]
    numbers = pd.read_csv(io.StringIO(downloads.to_csv(rows)))
    pd.testing.assert_series_equal(numbers["number"], rows["number"])
    assert list(numbers["whole"]) == list(rows["whole"])
    # Many take a carriage return for the end of a line: what follows it must not stand outside of quotes.
    assert downloads.to_csv(pd.DataFrame({"a": ["x\r=1"], "n": [-1]})) == '"a","n"\n"x\r=1",-1\n'


def test_a_run_whose_name_is_a_formula_is_harmless_in_its_export(tmp_path: Path) -> None:
    name = "=HYPERLINK(1)"
    made = replace(fakes.FAKES[0], name=name)
    fakes.write_rows(fakes.write_run(tmp_path, made, (0, 3000)), fakes.all_rows(made, (0, 3000)))
    app = create_app(tmp_path)
    text = app.server.test_client().get("/data/accuracy-length.csv", query_string={"run": name}).get_data(as_text=True)
    rows = pd.read_csv(io.StringIO(text))
    assert set(rows["run"]) == {f"'{name}"}
    assert rows["value"].between(0, 1).all()
    app.server.extensions["lengthlens"].close()
