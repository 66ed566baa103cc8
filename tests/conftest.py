"""Fixtures shared by all areas: threads of torch, and runs made of given models without training."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import pytest
from hypothesis import HealthCheck, settings

from tests.support import asserted
from tests.support.asserted import perturbed  # noqa: F401 - a fixture
from tests.support.held import held, held_rows  # noqa: F401 - fixtures

# Modules and collected tests stay as long as the process: to look through them for garbage again and again takes a tenth of
# all tests' time.
gc.disable()

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would all commands that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# A test passes or fails by its values alone: not by the time that a busy machine takes, nor by a draw of today.
settings.register_profile("lengthlens", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("lengthlens")

if "--perturb" in sys.argv:  # before the conftest of any room takes its rows from the schema
    asserted.install()


@pytest.fixture(autouse=True, scope="session")
def own_state_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Commands that tests start keep their tracebacks here, and not in the folder of whoever runs the tests."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--other-device",
        default="cpu:0",
        metavar="NAME",
        help="the device that models are moved to, e.g. cuda (default: cpu:0, the CPU)",
    )
    parser.addoption("--every-call", action="store_true", help="check types and shapes of every call in unit tests")
    parser.addoption("--write-held", action="store_true", help="write what these tests hold anew (with -n 0)")
    parser.addoption("--perturb", action="store_true", help="whether tests notice changed values of what they assert")


@pytest.fixture(scope="session")
def other_device(request: pytest.FixtureRequest) -> str:
    """The device that tests move models to: the CPU by another name, unless ``--other-device`` names one."""
    return str(request.config.getoption("--other-device"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if metafunc.config.getoption("--perturb", False):
        asserted.parametrize(metafunc)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With ``--perturb`` the marked tests alone run, and each must fail."""
    if config.getoption("--perturb", False):
        items[:] = [item for item in items if item.get_closest_marker("asserts")]
        for item in items:
            item.add_marker(pytest.mark.xfail(strict=True, reason="its quantity has other values"))


def pytest_collection_finish() -> None:
    gc.freeze()  # the little garbage that is there stays too: a search for it takes a second in each worker
    gc.set_threshold(20_000, 20, 20)
    gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # what libraries look for when the interpreter ends


@pytest.fixture(scope="session", autouse=True)
def threads() -> None:
    """One thread, or as many as the environment says: no result hangs on their number."""
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[..., Any]:
    """``make_run(model, task, trained, name=..., steps=...)``: a run folder that holds the given model at its last step.

    Earlier steps hold the same weights with noise of their own, or the models that ``earlier`` says; so what reads the
    wrong checkpoint shows.
    """

    def make(
        model: Any,
        task: Any,
        trained: int,
        name: str = "handmade",
        steps: tuple[int, ...] = (100,),
        top_id: int | None = None,
        earlier: Mapping[int, Any] | None = None,
    ) -> Any:
        from workbench.runs import Run
        from workbench.runs.checkpoints import write_checkpoint, write_config
        from workbench.runs.weights import weights_bytes
        from workbench.training.config import RunConfig, Seeds, TrainingConfig

        training = TrainingConfig(steps=max(steps) or 1, curriculum={"law": "uniform", "low": 1, "high": trained})
        config = RunConfig(task=task, model=model.cfg, training=training, seeds=Seeds())
        folder = tmp_path / name
        write_config(folder, config.as_json())
        run = Run.open(folder)
        for step in steps:
            held = model if step == max(steps) else (earlier or {}).get(step) or with_noise(model, step)
            write_checkpoint(run, step, weights_bytes(held), [[0, trained if top_id is None else top_id]])
        return run

    return make


def with_noise(model: Any, seed: int) -> Any:
    """The same model with Gaussian noise on all its weights."""
    import copy

    import torch

    generator = torch.Generator().manual_seed(seed)
    made = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64).to(parameter)
    return made


@pytest.fixture(scope="session")
def upstream() -> dict[str, str]:
    """The environment of a process whose TransformerLens is 3.9.0."""
    root = Path(__file__).resolve().parents[1]
    folder = root / ".upstream"
    if not (folder / ".installed").exists():
        pytest.fail("TransformerLens 3.9.0 is not in .upstream; `make upstream` fetches it")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(root)])}
