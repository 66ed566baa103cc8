"""The committed table of exact claims is what computing them gives, and the numbers that papers print stand in it."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.claims.committed import EVIDENCE, FOLDER, QUICK, built, compare_with_committed
from workbench.claims.claim import Claim, Row
from workbench.claims.claim_pages import index_page, suite_page
from workbench.claims.claims_table import FILE, judge_stored, read_evidence, write_table
from workbench.claims.reproducing import every_claim
from workbench.claims.suites.registry import SUITES
from workbench.claims.trained.run_rows import read_runs

LARGEST = 5_000_000
FAILURES = {
    *("DP02b", "DP03", "DP04", "DP06", "DP07", "DP08b"),
    *("DP09", "DP12", "DP12b", "DP13", "DP16b", "DP18b", "DP18c"),
}
"""Exact claims that do not hold; their notes state the likely cause."""


@pytest.mark.parametrize("claim", [claim for claim in built() if claim.id in QUICK], ids=lambda claim: claim.id)
def test_the_committed_rows_are_computed_again(claim: Claim) -> None:
    compare_with_committed(claim)


def test_every_exact_claim_that_is_built_is_decided() -> None:
    for suite in SUITES.values():
        for claim in suite.claims:
            if claim.rows and not claim.trained:
                verdicts = ("holds", "outside the theorem's range", "described")
                expected = ("does not hold",) if claim.id in FAILURES else verdicts
                assert judge_stored(claim, EVIDENCE).verdict in expected, claim.id


def test_the_pages_are_those_of_the_table_and_the_table_is_small() -> None:
    assert (FOLDER / "index.md").read_text() == index_page(list(SUITES.values()), EVIDENCE)
    for suite in SUITES.values():
        assert (FOLDER / f"{suite.name}.md").read_text() == suite_page(suite, EVIDENCE)
    assert (FOLDER / FILE).stat().st_size < LARGEST


def test_the_table_is_what_the_claims_and_its_rows_give(tmp_path: Path) -> None:
    """Whoever changes what a claim says writes the table anew: any call of the command does."""
    write_table(tmp_path, every_claim(), EVIDENCE)
    assert (tmp_path / FILE).read_bytes() == (FOLDER / FILE).read_bytes()


def test_every_cell_states_the_settings_of_its_committed_runs() -> None:
    """The id of a run covers task, model, training and seeds; runs that begin from others have the weights' hash too."""
    table = read_runs(FOLDER)
    cells = {cell.name: cell for _, claim in every_claim() for cell in claim.cells if not cell.start}
    assert len(cells) > 200
    for cell in cells.values():
        for seed in cell.seeds:
            stored = {row.run for row in table.of(cell.recipe(seed))}
            assert not stored or cell.config(seed).as_json()["id"] in stored, cell.name


def rows(claim: str, quantity: str) -> dict[str, Row]:
    return {row.item: row for row in EVIDENCE[claim].rows if row.quantity == quantity}


# ---- numbers of the papers, stated here once more ------------------------------------------------
def test_the_74_published_labels() -> None:
    found = rows("HE07b", "predicted expressible")
    assert len(found) == 74
    # 32 maps with learned positions less 7, the same without positions less 13, 10 retrieval and copying tasks less 4
    assert sum(row.value for row in found.values()) == 25 + 19 + 6
    assert all(row.value == row.expected for row in found.values())


def test_thresholds_of_rounding() -> None:
    found = {item: row.value for item, row in rows("QB01", "threshold").items()}
    assert found == {
        f"p {p}, gamma {gamma:g}": float(math.ceil(2 ** (p / gamma))) for p in (4, 8, 12) for gamma in (0.5, 1, 2)
    }


@pytest.mark.parametrize(
    ("claim", "quantity", "losses"),
    [
        ("SE03", "loss beyond", (3 / 7, 227 / 238, 6802 / 6993)),
        ("SE04", "loss beyond", (1 / 2, 6 / 7, 8 / 9)),
        ("SE05", "loss beyond", (6 / 7, 39 / 44, 81 / 91)),
        ("SE06", "loss beyond", (20 / 21, 65 / 66, 90 / 91)),
    ],
)
def test_the_tables_of_proposition_c_3(claim: str, quantity: str, losses: tuple[float, ...]) -> None:
    found = rows(claim, quantity)
    assert [found[f"l {n}"].value for n in (7, 12, 14)] == pytest.approx(losses, abs=1e-12)


def test_the_slope_of_markov_subsequences() -> None:
    (row,) = rows("QB12", "slope of log error on log n").values()
    assert row.high is not None
    assert row.low is not None
    assert row.low < row.value < row.high < -0.28
    assert row.value < -1 / 3


def test_the_weight_of_a_log_scaled_local_key() -> None:
    found = rows("QB10", "weight of the local key")
    wanted = {"m 0.5, K 100": 0.0917, "m 1, K 10": 0.5263, "m 1.5, K 1,000": 0.9694, "m 2, K 10,000": 0.9999}
    assert {item: round(found[item].value, 4) for item in wanted} == wanted


# ---- the command ---------------------------------------------------------------------------------
def lengthlens(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "workbench.cli.main", "reproduce", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=FOLDER.parents[1])


def test_the_command_lists_suites_and_claims_without_torch() -> None:
    code = (
        "import sys\nfrom workbench.cli.main import app\n"
        "try:\n    app(['reproduce', '--list'])\nexcept SystemExit:\n    pass\n"
        "assert not {'torch', 'pandas', 'transformer_lens', 'scipy'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=FOLDER.parents[1])
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in SUITES)
    assert "HE07b" in lengthlens("crasp-exact", "--list").stdout


def test_the_command_says_what_a_dry_run_would_do(tmp_path: Path) -> None:
    done = lengthlens("ssm-exact", "--dry-run", "--out", str(tmp_path))
    assert "8 of 8 claims are missing" in done.stdout
    assert list(tmp_path.iterdir()) == []
    assert "nothing is missing" in lengthlens("ssm-exact", "--dry-run").stdout


def test_the_command_computes_a_claim_into_a_new_folder(tmp_path: Path) -> None:
    done = lengthlens("HE06", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "HE06   E     0.1             holds\n" in done.stdout
    assert "       observed: number of distinct rows of the communication matrix: 2 in all 6 cases\n" in done.stdout
    assert "HE06: computed now" in done.stdout
    assert read_evidence(tmp_path).keys() == {"HE06"}
    assert "holds (settings or thresholds chosen when its numbers were known)" in lengthlens("QB06", "--list").stdout
    assert lengthlens().stderr.startswith("error: name a suite or a claim")
