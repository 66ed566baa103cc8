"""The house: what may import what, at run time; that specs are plain; that every door is thin."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys

from tests.support.places import ROOT

TORCH_FREE = (
    "workbench.table.query", "workbench.models.base.graph", "workbench.measure.edits.reading",
    "workbench.measure.edits.edit", "workbench.measure.edits.interventions.all_interventions", "workbench.figures.heads.head_curves", "workbench.jobs.executors", "workbench.runs",
    "workbench.cli.main", "workbench.cli.commands.info", "workbench.cli.early_refusal", "workbench.models", "workbench.tasks", "probes", "circuits",
    "workbench.dashboard.app", "app",
)  # fmt: skip


def test_what_needs_no_torch_does_not_import_it() -> None:
    code = (
        "import importlib, sys\n"
        f"for name in {TORCH_FREE!r}:\n"
        "    importlib.import_module(name)\n"
        "    assert not {'torch', 'transformer_lens'} & set(sys.modules), name\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_the_ground_and_the_storage_room_load_nothing_heavy() -> None:
    code = (
        "import importlib, pkgutil, sys, workbench.core, workbench.storage\n"
        "for room in (workbench.core, workbench.storage):\n"
        "    names = [found.name for found in pkgutil.iter_modules(room.__path__)]\n"
        "    assert len(names) > 3, names\n"
        "    for name in names:\n"
        "        importlib.import_module(f'{room.__name__}.{name}')\n"
        "        assert not {'torch', 'transformer_lens', 'pandas', 'pyarrow', 'numpy'} & set(sys.modules), name\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


NOT_FOR_READERS = {
    "LensError": "the base itself",
    "NotMeasured": "a figure has nothing to draw: pages show its sentence in place of the figure",
    "NotApplicable": "as NotMeasured",
    "Undefined": "as NotMeasured",
    "NotShared": "as NotMeasured",
    "WorkerError": "shows the traceback of a worker process while errors are debugged",
    "TooManyError": "ends listing strings inside the tasks",
    "Cancelled": "ends a job inside the dashboard's worker",
    "Unknown": "the dashboard answers 404",
    "Astray": "the dashboard shows its first page with the notice",
    "NotComputed": "a page asks again later",
    "Stopping": "leaves a command by SystemExit",
    "NotFinished": "as Stopping",
}
"""Error classes that are caught where they are raised, each with why no reader sees it as an error."""


def test_every_error_class_for_readers_has_the_one_base() -> None:
    """And the command line knows that base alone."""
    from workbench.core.errors import LensError

    others = set()
    for package in ("workbench", "probes", "circuits"):
        for file in sorted((ROOT / package).rglob("*.py")):
            name = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            if name.endswith("__main__"):
                continue
            module = importlib.import_module(name)
            classes = [c for c in vars(module).values() if isinstance(c, type) and issubclass(c, BaseException)]
            others |= {c.__name__ for c in classes if c.__module__ == name and not issubclass(c, LensError)}
    assert others | {"LensError"} == set(NOT_FOR_READERS)
    assert "LensError" in (ROOT / "workbench" / "cli" / "errors.py").read_text()


TIERS = ("unit", "science", "conformance", "e2e", "browser", "product", "hostile")
BESIDE = {
    "campaign": "the tools of tests/campaign",
    "docs": "the tables of docs/",
    "hostile": "a share of what make hostile tries",
    "trust": "data run no code, whichever room reads them",
}
"""Rooms of tests that are none of the packages."""


def test_every_test_lies_in_the_folder_of_its_tier_and_room() -> None:
    files = [file.relative_to(ROOT / "tests").parts for file in (ROOT / "tests").rglob("test_*.py")]
    assert {parts[0] for parts in files} == set(TIERS)
    rooms = {parts[1] for parts in files if parts[0] in ("unit", "science") and len(parts) > 2}
    packages = {folder.name for folder in (ROOT / "workbench").iterdir() if folder.is_dir()} | {"probes", "circuits"}
    assert rooms - packages == set(BESIDE)


def test_the_dashboards_door_imports_only_the_dashboard() -> None:
    tree = ast.parse((ROOT / "app.py").read_text())
    names = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    names |= {str(n.module) for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    ours = {n for n in names if n.split(".")[0] in ("workbench", "probes", "circuits")}
    assert ours
    assert all(n.startswith("workbench.dashboard") for n in ours)
    assert not names & {"torch", "transformer_lens"}


ELSEWHERE = {
    ("workbench/figures/panels/differences.py", "0.9"): "a height in a plot",
    ("workbench/figures/heads/hard_or_soft.py", "0.9"): "the share of keys that is nearly all",
    ("workbench/measure/behaviour/followed_shortcuts.py", "0.9"): "how often a shortcut may be right to be judged",
    ("workbench/figures/panels/training_curves.py", "0.9"): "a place on an axis",
}
"""Numbers that look like a threshold of the verdict and are none."""


def test_the_level_of_intervals_is_formatted_from_one_constant() -> None:
    """In every text that is printed, drawn or stored; docstrings and claims of papers state it in words."""
    from workbench.core.thresholds import LEVEL, LEVEL_TEXT

    assert f"{round(100 * LEVEL)} %" == LEVEL_TEXT
    written = []
    for package in ("workbench", "probes", "circuits"):
        for path in sorted((ROOT / package).rglob("*.py")):
            tree = ast.parse(path.read_text())
            documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            written += [
                f"{path.relative_to(ROOT)}:{node.lineno}"
                for node in ast.walk(tree)
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and LEVEL_TEXT in node.value
                if id(node) not in documented and "claims" not in path.parts
            ]
    assert written == []


def test_thresholds_of_the_verdict_stand_in_one_place() -> None:
    from workbench.core.thresholds import FITTED, ROBUST

    written = re.compile(rf"(?<![\d.]){FITTED:g}(?!\d)|(?<![\d.]){ROBUST:g}(?!\d)".replace("0.", r"0\."))
    found = []
    for room in ("measure", "figures", "dashboard"):
        for path in sorted((ROOT / "workbench" / room).rglob("*.py")):
            tree = ast.parse(path.read_text())
            documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and id(node) not in documented:
                    named = written.findall(node.value) if isinstance(node.value, str) else []
                    named += [f"{node.value:g}"] if node.value in (FITTED, ROBUST) else []
                    at = path.relative_to(ROOT).as_posix()
                    found += [(at, number) for number in named if (at, number) not in ELSEWHERE]
    assert found == []


def test_every_built_in_measurement_is_found_and_describes_itself() -> None:
    from workbench.measure.registry import BUILT_IN, measurements
    from workbench.measure.running.engine import spec_json

    found = measurements()
    assert list(found)[: len(BUILT_IN)] == list(BUILT_IN)
    for name, cls in found.items():
        made = cls()
        assert cls.name == made.spec.name == name, "a name is declared, and registered as it is"
        spec = json.loads(spec_json(made.spec))
        assert spec["quantities"]
        assert all(q["definition"] and q["unit"] for q in spec["quantities"])
        assert cls(**made.spec.settings) == made
        assert dict(cls(**made.spec.settings).spec.settings) == dict(made.spec.settings)


def test_every_measurement_of_the_packages_is_registered() -> None:
    """A class that derives from Measurement and declares a name is in the registry's table."""
    import inspect
    import pkgutil
    from importlib import import_module

    from workbench.measure.measurement import Measurement
    from workbench.measure.registry import BUILT_IN, measurements

    known = {cls for name, cls in measurements().items() if name in BUILT_IN}
    for package in ("workbench.measure", "probes", "circuits"):
        for info in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
            if not info.name.endswith("__main__"):
                for cls in vars(import_module(info.name)).values():
                    if inspect.isclass(cls) and issubclass(cls, Measurement) and cls.__module__ == info.name:
                        assert cls in known or not hasattr(cls, "name"), cls


def test_no_pickle_is_ever_loaded() -> None:
    """But for foreign checkpoints, in one place, and there tensors alone; and for what our own processes tell each other."""
    forbidden = ("pickle.load", "torch.load(", "joblib.load", "allow_pickle=True", "weights_only=False")
    foreign = ROOT / "workbench" / "runs" / "adoption" / "checkpoint_files.py"
    only = 'torch.load(path, map_location="cpu", weights_only=True)'
    assert foreign.read_text().count(only) == 1
    # An item and its answer travel between a worker of a cluster and its child through their pipe; no file is read.
    own, told = ROOT / "workbench" / "jobs" / "job_process.py", ("pickle.loads(answer)", "cloudpickle.loads(request)")
    assert [own.read_text().count(one) for one in told] == [1, 1]
    for package in ("workbench", "probes", "circuits"):
        for file in (ROOT / package).rglob("*.py"):
            text = file.read_text().replace(only, "") if file == foreign else file.read_text()
            for one in told if file == own else ():
                text = text.replace(one, "")
            assert not any(word in text for word in forbidden), file


def test_the_public_names_that_others_rely_on() -> None:
    from circuits import hardmax_statistics
    from probes import probe
    from workbench.models import HookedTransformer, ModelConfig
    from workbench.runs import Run
    from workbench.table import Table
    from workbench.tasks import make_task

    assert all(callable(f) for f in (hardmax_statistics, probe, HookedTransformer, ModelConfig, make_task))
    assert callable(Run.open)
    assert callable(Table.load)


def test_constraints_pin_every_direct_dependency() -> None:
    import re
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(d for extra in project["optional-dependencies"].values() for d in extra)]

    def norm(text: str) -> str:
        return re.split(r"[<>=\[; ]", text)[0].lower().replace("_", "-")

    pinned = {norm(line) for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
    assert {norm(w) for w in wanted} <= pinned
    assert "+cpu" not in (ROOT / "constraints.txt").read_text()


def test_every_published_quantity_is_asserted_by_value_somewhere() -> None:
    """A mark says which test; ``pytest --perturb`` proves that it notices."""
    from tests.support.asserted import marked
    from workbench.measure.registry import BUILT_IN, measurements

    published = [quantity.name for name in BUILT_IN for quantity in measurements()[name].quantities]
    assert len(published) == len(set(published)), "a name is of one quantity"
    held = dict(marked())
    assert sorted({*published} - {*held}) == [], "mark the test that asserts them: @pytest.mark.asserts(...)"
    assert sorted({*held} - {*published}) == [], "these are no quantities"
