"""``lengthlens cite``: which papers stand behind a claim, a suite, a task and a run."""

from __future__ import annotations

import re
from functools import partial

import yaml

from tests.support.cli import output_or_error
from tests.support.places import ROOT
from workbench.claims.citations import TITLE, TRANSFORMER_LENS, entry_of_lengthlens
from workbench.claims.suites.registry import SUITES

output = partial(output_or_error, "cite")


def keys(text: str) -> list[str]:
    return re.findall(r"^@\w+\{(\S+),$", text, re.MULTILINE)


def test_the_entry_is_that_of_the_citation_file() -> None:
    stated = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (stated["title"], stated["authors"]) == (TITLE, [{"name": "The LengthLens founders"}])
    assert f"license = {{{stated['license']}}}" in entry_of_lengthlens(stated["version"])
    assert f"version = {{{stated['version']}}}" in entry_of_lengthlens(stated["version"])


def test_without_a_name_both_tools_are_cited() -> None:
    assert keys(output()) == ["lengthlens", TRANSFORMER_LENS.key]


def test_a_claim_and_a_suite_add_their_papers() -> None:
    assert keys(output("DP10"))[2:] == ["chen2025nonasymptotic"]
    own = {s.paper.key for claim in SUITES.find("ssm-exact").claims for s in claim.sources if s.paper}
    text = output("ssm-exact")
    assert keys(text)[2:] == sorted(own)
    assert "% ssm-exact: Grazzi et al. 2024; Huang et al. 2024; Sarrof, Veitsman and Hahn 2024" in text
    assert "% DX01: no claim of a paper is about it" in output("DX01")


def test_a_task_and_a_run_add_the_papers_of_claims_with_such_runs() -> None:
    """Claims with runs of majority without positions are those of one paper; claims on the task are of several."""
    run = output(str(ROOT / "checkpoints" / "gallery" / "majority_nope_s0"))
    assert keys(run)[2:] == ["huang2024formal"]
    task = keys(output("majority"))[2:]
    assert set(keys(run)) - set(keys(output())) <= set(task)
    assert keys(output("majority", "majority")) == keys(output("majority"))


def test_another_name_gets_the_nearest() -> None:
    assert "error: 'paritty' is not the name of a run, task, claim or suite of claims; did you mean parity" in output(
        "paritty"
    )
