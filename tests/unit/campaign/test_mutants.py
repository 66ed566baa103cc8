"""The tool that plants bugs: where it finds sites, that it draws them by a seed, and that it judges tests fairly."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaign import mutants
from tests.campaign.mutation_sites import ROOMS, Site, sample, sites

SOURCE = b'''"""Docstrings - and numbers 1 - are left alone."""
LIMIT: float = 2.0


def clipped(values, low, high):
    """At most - not less."""
    if not values or low > high:
        raise ValueError(f"{low} - {high} + 1")
    assert len(values) >= 1
    total = sum(values) - low * 2
    return clamp(low, high) if total == -high else max(values)


def different(one, other):
    return not (one and all(a for a in zip(one, other, strict=True)))
'''


def test_sites_are_found_in_code_and_nowhere_else() -> None:
    found = {(site.line, site.kind, site.old, site.new) for site in sites(SOURCE)}
    assert found == {
        (2, "constant", "2.0", "2.2"),
        (7, "negation", "not ", ""),
        (7, "logic", "or", "and"),
        (7, "boundary", ">", ">="),
        (10, "call", "sum", "mean"),
        (10, "arithmetic", "-", "+"),
        (10, "arithmetic", "*", "/"),
        (10, "off by one", "2", "3"),
        (11, "equality", "==", "!="),
        (11, "sign", "-", ""),
        (11, "swapped arguments", "low, high", "high, low"),
        (11, "call", "max", "min"),
        (15, "negation", "not ", ""),
        (15, "logic", "and", "or"),
        (15, "call", "all", "any"),
    }
    for site in sites(SOURCE):
        compile(site.planted(SOURCE), "planted", "exec")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A project of two functions, one of them tested."""
    (tmp_path / "workbench" / "core").mkdir(parents=True)
    (tmp_path / "workbench" / "core" / "sums.py").write_text(
        "def doubled(x):\n    return x + x\n\n\ndef halved(x):\n    return x / 2\n"
    )
    (tmp_path / "tests" / "unit").mkdir(parents=True)
    (tmp_path / "tests" / "unit" / "test_sums.py").write_text(
        "from workbench.core.sums import doubled\n\ndef test_doubled():\n    assert doubled(3) == 6\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\npythonpath = .\n")
    return tmp_path


def test_a_sample_hangs_on_its_seed_and_stays_in_its_rooms(tree: Path) -> None:
    def drawn(seed: int) -> list[Site]:
        return list(sample(mutants.ROOT, 12, seed, ["tasks", "theory"]))

    assert drawn(0) == drawn(0) != drawn(1)
    assert {site.room for site in drawn(0)} == {"tasks", "theory"}
    assert len({(site.file, site.line) for site in drawn(0)}) == 12
    assert {site.line for site in sample(tree, 9, 0, ["core"])} == {2, 6}  # no more than there are


def test_a_bug_is_caught_where_a_test_sees_it_and_survives_elsewhere(tree: Path) -> None:
    file = tree / "workbench" / "core" / "sums.py"
    before = file.read_bytes()
    seen, unseen = (
        next(s for s in sites(before, "workbench/core/sums.py", "core") if s.line == line) for line in (2, 6)
    )
    caught, survived = mutants.judge(tree, seen, 60), mutants.judge(tree, unseen, 60)
    assert (caught.outcome, caught.by, caught.ran) == ("caught", "tests/unit/test_sums.py::test_doubled", 1)
    assert (survived.outcome, survived.by, survived.ran) == ("survived", "", 1)
    assert file.read_bytes() == before
    assert mutants.tests_of(tree, "workbench/core/sums.py") == ["tests/unit/test_sums.py"]
    (tree / "workbench" / "core" / "users.py").write_text(
        "from workbench.core.sums import doubled\n\ndef fourfold(x):\n    return doubled(doubled(x))\n"
    )
    (tree / "tests" / "unit" / "test_users.py").write_text("from workbench.core.users import fourfold\n")
    assert mutants.tests_of(tree, "workbench/core/sums.py") == ["tests/unit/test_sums.py", "tests/unit/test_users.py"]
    told = mutants.report([caught, survived])
    assert told.splitlines()[0] == f"{'all':24}    1 of    2  0.50  [0.09, 0.91]"
    assert told.splitlines()[-1] == "survived: workbench/core/sums.py:6 '/' -> '*' (arithmetic, 1 tests)"


def test_a_test_that_does_not_end_sees_the_bug_and_many_slow_ones_say_nothing(tree: Path) -> None:
    (tree / "tests" / "unit" / "test_sums.py").write_text(
        "import time\nfrom workbench.core.sums import doubled\n\ndef test_doubled():\n    time.sleep(60)\n"
    )
    site = sites((tree / "workbench" / "core" / "sums.py").read_bytes(), "workbench/core/sums.py", "core")[0]
    assert mutants.judge(tree, site, 60, test_limit=1).outcome == "caught"
    one = mutants.judge(tree, site, 3)
    assert one.outcome == "undecided"
    assert mutants.report([one]).startswith("undecided: workbench/core/sums.py:2")


def test_outcomes_are_kept_so_that_a_run_goes_on(tree: Path, tmp_path: Path) -> None:
    import json
    from dataclasses import asdict

    site = sites(SOURCE, "workbench/core/sums.py", "core")[0]
    one = mutants.Outcome(site, "caught", "tests/unit/test_sums.py::test_doubled", 1, 0.1)
    (tmp_path / "results.jsonl").write_text(json.dumps(asdict(one)) + "\n")
    assert mutants.read_results(tmp_path / "results.jsonl") == {site.id: one}
    assert mutants.read_results(tmp_path / "none.jsonl") == {}


@pytest.mark.parametrize(("hits", "of", "low", "high"), [(0, 0, 0, 1), (5, 10, 0.237, 0.763), (20, 20, 0.839, 1)])
def test_intervals_are_wilsons(hits: int, of: int, low: float, high: float) -> None:
    assert mutants.interval(hits, of) == pytest.approx((low, high), abs=1e-3)


def test_rooms_are_folders_of_the_tree() -> None:
    assert all((mutants.ROOT / folder).is_dir() for folder in ROOMS.values())


def test_styles_of_figures_are_left_out_and_their_numbers_are_not() -> None:
    source = b'add_line(x + 1, {"color": "c", "width": 1}, width=2, shift=3)\n'
    assert {site.old for site in sites(source, room="figures")} == {"+", "1", "3"}
    assert [site.begin for site in sites(source, room="figures") if site.old == "1"] == [13]
