"""Pages that must agree with the code: READMEs of packages, the list of layers, targets of the Makefile."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.places import ROOT
from tests.support.scripts import script

TARGET = re.compile(r"\bmake ((?:[a-z]+(?:-[a-z]+)*)(?: [a-z]+(?:-[a-z]+)*)*)")


def targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_the_readme_of_every_package_is_current() -> None:
    assert [str(file) for file in script("package_readmes").stale()] == [], "make readmes"


def test_a_line_is_the_first_sentence_of_a_docstring(tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    file.write_text('"""What :func:`a.b` does, ``c`` too\nand more, e.g. d. And not this.\n\nNor this."""\n')
    assert script("package_readmes").first_sentence(file) == "What `a.b` does, `c` too and more, e.g. d."


def test_the_listed_layers_are_those_of_import_linter() -> None:
    listed = (ROOT / "docs" / "architecture.md").read_text().split("```")[1].strip().splitlines()
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = (contract for contract in contracts if contract["name"] == "Packages import only from lower layers")
    assert listed == layers["layers"]


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md", "docs/adding.md"])
def test_what_a_page_names_is_there(page: str) -> None:
    """Files, modules and targets; names in capitals or of somebody's own are places to fill in."""
    text = (ROOT / page).read_text()
    named = set(re.findall(r"`((?:workbench|probes|circuits|docs|tests)/[\w/.]+)`", text))
    invented = {path for path in named if re.search(r"[A-Z]{2}", path)}
    assert sorted(path for path in named - invented if not (ROOT / path).exists()) == []
    short = re.findall(r"\b((?:[a-z_]+/)+[a-z_]+\.py)\b", text)
    roots = (ROOT, ROOT / "workbench")
    assert sorted(path for path in short if not any((root / path).exists() for root in roots)) == []
    called = set(re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE))
    assert called
    assert called <= targets()


def test_the_reading_order_has_ten_files() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    assert re.findall(r"^(\d+)\. `", text, re.MULTILINE) == [str(i) for i in range(1, 11)]


def test_hosted_checks_and_hooks_call_targets_that_exist() -> None:
    flow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    action = yaml.safe_load((ROOT / ".github" / "actions" / "environment" / "action.yml").read_text())
    steps: list[dict[str, Any]] = [step for job in flow["jobs"].values() for step in job["steps"]]
    called = " ; ".join(step.get("run", "") for step in [*steps, *action["runs"]["steps"]])
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    called += " ; " + " ; ".join(hook["entry"] for repo in hooks if repo["repo"] == "local" for hook in repo["hooks"])
    words = {word for words in TARGET.findall(called) for word in words.split()}
    assert {"check", "test", "readmes"} <= words <= targets()
    here = (ROOT / ".ci" / "run").read_text()
    assert {"check", "test"} <= {word for words in TARGET.findall(here) for word in words.split()}


def test_hooks_use_the_pinned_ruff() -> None:
    (mirror,) = (
        repo
        for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
        if "ruff" in repo["repo"]
    )
    assert f"ruff=={mirror['rev'].removeprefix('v')}\n" in (ROOT / "constraints.txt").read_text()


def test_the_card_of_the_space_names_a_page_that_the_site_has() -> None:
    """Fields of https://huggingface.co/docs/hub/spaces-config-reference; the site has no server."""
    _, fields, text = (ROOT / ".ci" / "space_card.md").read_text(encoding="utf-8").split("---\n", 2)
    card = yaml.safe_load(fields)
    assert (card["sdk"], card["app_file"], card["license"]) == ("static", "index.html", "mit")
    assert len(card["short_description"]) <= 60
    assert text.strip()
    assert ".ci/space_card.md build/space/README.md" in (ROOT / "Makefile").read_text(encoding="utf-8")


CONDA_NAMES = {"torch": "pytorch", "duckdb": "python-duckdb"}
"""Packages that have another name on conda-forge."""


def test_the_conda_recipe_has_the_version_and_dependencies_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    path = ROOT / "packaging" / "conda" / "meta.yaml"
    (version,) = re.findall(r'^{% set version = "(.*)" %}$', path.read_text(), re.MULTILINE)
    assert version == project["project"]["version"]
    plain = re.sub(r"^{%.*%}$", "", path.read_text(), flags=re.MULTILINE)
    recipe = yaml.safe_load(plain.replace("{{ version }}", version).replace("{{ PYTHON }}", "python"))
    python = f"python {project['project']['requires-python']}"
    dependencies = [re.fullmatch(r"([\w-]+)(.*)", text) for text in project["project"]["dependencies"]]
    assert recipe["requirements"]["run"] == [
        python, *(f"{CONDA_NAMES.get(match[1], match[1])} {match[2]}" for match in dependencies if match)
    ]  # fmt: skip
    (setuptools,) = project["build-system"]["requires"]
    assert recipe["requirements"]["host"] == [python, "pip", re.sub(r"(?=>=)", " ", setuptools)]
    scripts = project["project"]["scripts"]
    assert recipe["build"]["entry_points"] == [f"{name} = {target}" for name, target in scripts.items()]
    assert recipe["about"]["license"] == project["project"]["license"]
    assert (path.parent / recipe["source"]["path"] / "pyproject.toml").resolve() == ROOT / "pyproject.toml"
