"""Whose code raised an error, what a reader is told of it, and that no place catches more without logging it."""

from __future__ import annotations

import ast
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support import planted
from tests.support.places import ROOT
from workbench.core import failures
from workbench.core.errors import LensError
from workbench.core.failures import Repeats, error_explanation, is_defect, is_expected, isolate_errors, log_failure


def raised(function: Callable[..., Any], *given: Any) -> BaseException:
    """What a call raises."""
    try:
        function(*given)
    except BaseException as error:  # noqa: BLE001 - it is what is looked at
        return error
    raise AssertionError("nothing was raised")


def ours(function: Callable[[], Any]) -> Callable[[], Any]:
    """A function of LengthLens that calls another one."""
    scope: dict[str, Any] = {"__name__": "workbench.measure.planted"}
    exec(
        compile("def calls(function):\n    return function()\n", str(ROOT / "workbench/measure/planted.py"), "exec"),
        scope,
    )
    return lambda: scope["calls"](function)


def library(function: Callable[[], Any] | None = None) -> Callable[[], Any]:
    """A function of an installed library."""
    scope: dict[str, Any] = {"__name__": "some_library", "function": function}
    place = str(Path(sys.prefix) / "lib/site-packages/some_library.py")
    exec(compile("def call():\n    return function() if function else {}['gone']\n", place, "exec"), scope)
    found: Callable[[], Any] = scope["call"]
    return found


def line_of(file: str) -> str:
    """How a sentence ends that names a line of this file."""
    return f"(at {file}:"


def test_a_defect_names_our_last_line_and_asks_for_a_report() -> None:
    error = raised(planted.of_ours())
    assert error_explanation(error) == planted.DEFECT
    assert is_defect(error)
    assert not is_expected(error)


def test_what_a_library_raises_is_laid_to_the_line_of_ours_that_called_it() -> None:
    error = raised(ours(library()))
    assert error_explanation(error).startswith(
        "a defect in LengthLens at workbench/measure/planted.py:2 (KeyError: 'gone')"
    )


def test_code_of_an_author_that_we_call_is_named_with_its_line() -> None:
    def author() -> None:
        raise KeyError("mine")

    line = author.__code__.co_firstlineno + 1
    error = raised(ours(library(author)))
    assert error_explanation(error) == f"KeyError: 'mine' (at {__file__}:{line})"
    assert not is_defect(error)


def test_whoever_calls_us_is_no_author_of_our_defects() -> None:
    def script() -> None:
        ours(planted.of_ours())()

    assert error_explanation(raised(script)) == planted.DEFECT


def test_a_plug_in_among_the_libraries_is_its_authors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = planted.install_plug_in(tmp_path, "def work():\n    raise KeyError('planted')\n")
    monkeypatch.syspath_prepend(str(file.parent))
    import their_measurement  # type: ignore[import-not-found]

    assert error_explanation(raised(ours(their_measurement.work))) == f"KeyError: 'planted' (at {file}:2)"
    monkeypatch.delitem(sys.modules, "their_measurement")


def test_a_file_that_does_not_compile_names_its_line(tmp_path: Path) -> None:
    file = str(tmp_path / "mine.py")
    error = raised(ours(lambda: compile("x = 1\ny = (\n", file, "exec")))
    assert error_explanation(error).endswith(f"(at {file}:2)")


@pytest.mark.parametrize(("error", "sentence"), [
    (LensError("mend it so"), "mend it so"),
    (FileNotFoundError(2, "No such file", "runs/a"), "runs/a: No such file"),
    (MemoryError(), "there is not enough memory for this; choose smaller sizes, shorter lengths or fewer sequences"),
])  # fmt: skip
def test_errors_of_readers_and_of_the_machine_keep_their_sentence(error: Exception, sentence: str) -> None:
    assert error_explanation(error) == sentence
    assert is_expected(error)
    assert not is_defect(error)


def test_an_error_of_the_machine_in_an_authors_code_names_the_line(tmp_path: Path) -> None:
    error = raised(ours(lambda: (tmp_path / "gone").read_text()))
    assert line_of(__file__) in error_explanation(error)
    assert not is_expected(error)


def test_foreign_files_are_no_defect_of_ours() -> None:
    assert error_explanation(raised(planted.of_ours()), foreign=True) == "KeyError: 'planted'"


# ---- the log -----------------------------------------------------------------------------------------
def test_the_traceback_is_logged_by_the_package_that_catches(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[str] = []
    with isolate_errors(heard.append, "it failed"):
        ours(planted.of_ours())()
    assert heard == [f"it failed: {planted.DEFECT}"]
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("lengthlens.measure", "ERROR")
    assert record.getMessage() == heard[0]
    assert record.exc_info is not None


def test_an_error_for_readers_is_not_logged_and_one_of_the_machine_is_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    heard: list[str] = []
    with isolate_errors(heard.append, ""):
        raise LensError("mend it so")
    assert caplog.records == []
    log_failure(MemoryError())
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_without_a_handler_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    log_failure(raised(planted.of_ours()))
    assert capsys.readouterr() == ("", "")


def test_the_same_record_is_printed_once_a_minute() -> None:
    keep = Repeats()

    def record(second: float, text: str = "a") -> bool:
        made = logging.LogRecord("lengthlens", logging.ERROR, "", 0, text, None, None)
        made.created = second
        return keep.filter(made)

    assert [record(0), record(59), record(59, "b"), record(60), record(61)] == [True, False, True, True, False]
    for number in range(2 * keep.MOST):
        record(100, str(number))
    assert len(keep._seen) <= keep.MOST


@pytest.mark.parametrize(("value", "raises"), [("1", True), ("yes", True), ("0", False), ("", False)])
def test_while_debugging_the_error_itself_is_raised(monkeypatch: pytest.MonkeyPatch, value: str, raises: bool) -> None:
    monkeypatch.setenv(failures.DEBUG, value)
    heard: list[str] = []
    error = raised(planted.of_ours())
    if raises:
        with pytest.raises(KeyError) as again, isolate_errors(heard.append, "it"):
            raise error
        assert again.value is error
    else:
        with isolate_errors(heard.append, "it"):
            raise error
    assert len(heard) == (not raises)
    with isolate_errors(heard.append, "it"):
        raise LensError("mend it so")
    assert heard[-1] == "mend it so"


# ---- no other place -----------------------------------------------------------------------------------
BROAD = {"Exception", "BaseException"}
LOGS = {"log_failure", "of"}
"""``Failure.of`` logs as well."""
ELSEWHERE = {
    "workbench/core/failures.py:isolate_errors": "the rule itself",
    "workbench/core/errors.py:quoted_value": "a value that cannot be written is named by its class",
    "workbench/jobs/cluster.py:_outcome": "handed to _raised, which makes a Failure of it",
    "workbench/jobs/cluster_workers.py:make": "raised below, in the thread of the caller",
    "workbench/dashboard/server/error_log.py:log": "logs it",
}
"""Handlers of any exception that neither raise nor log by themselves, with the reason."""


def handlers(file: Path) -> list[tuple[str, ast.ExceptHandler]]:
    """The handlers of a module that catch any exception, with the name of the function around."""
    found: list[tuple[str, ast.ExceptHandler]] = []

    def walk(node: ast.AST, function: str) -> None:
        for child in ast.iter_child_nodes(node):
            inside = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
            if isinstance(child, ast.ExceptHandler):
                names = {one.id for one in ast.walk(child.type) if isinstance(one, ast.Name)} if child.type else BROAD
                if names & BROAD:
                    found.append((inside, child))
            walk(child, inside)

    walk(ast.parse(file.read_text()), "")
    return found


def is_logged(handler: ast.ExceptHandler) -> bool:
    """Whether a handler logs what it caught, or always raises."""
    called = [node.func for node in ast.walk(handler) if isinstance(node, ast.Call)]
    names = {node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") for node in called}
    return bool(names & LOGS) or any(isinstance(node, ast.Raise) for node in ast.walk(handler))


def test_whatever_catches_any_exception_logs_it_or_raises() -> None:
    silent, broad = set(), 0
    for package in ("workbench", "probes", "circuits"):
        for file in sorted((ROOT / package).rglob("*.py")):
            for function, handler in handlers(file):
                broad += 1
                if not is_logged(handler):
                    silent.add(f"{file.relative_to(ROOT).as_posix()}:{function}")
    assert broad > 15
    assert sorted(silent - set(ELSEWHERE)) == [], "use workbench.core.failures.isolate_errors or log_failure"
    assert sorted(silent & set(ELSEWHERE)) == sorted(silent)
