"""Calls that write or remove files, read from the syntax tree of a module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

METHODS = frozenset(
    ["write_text", "write_bytes", "mkdir", "unlink", "rmdir", "touch", "symlink_to", "hardlink_to", "chmod", "lchmod",
     "to_parquet", "to_csv", "to_excel", "to_pickle", "to_feather", "to_netcdf", "to_zarr", "write_html", "write_image",
     "savefig", "extractall", "tofile"]
)  # fmt: skip
"""Methods that write whatever they are called with, unless they are given no argument and return text."""
RETURN_TEXT = frozenset(["to_csv"])
ONE_ARGUMENT = frozenset(["replace", "rename"])
"""Methods of paths with one positional argument; those of texts and tables have two, or keywords."""
FUNCTIONS = frozenset(
    [f"os.{name}" for name in
     ("replace", "rename", "renames", "unlink", "remove", "rmdir", "removedirs", "mkdir", "makedirs", "truncate", "link",
      "symlink", "mkfifo", "mknod", "chmod", "chown", "utime", "ftruncate")]
    + [f"shutil.{name}" for name in
       ("copy", "copy2", "copyfile", "copytree", "copymode", "copystat", "move", "rmtree", "make_archive", "unpack_archive",
        "chown")]
    + [f"tempfile.{name}" for name in
       ("TemporaryDirectory", "NamedTemporaryFile", "TemporaryFile", "SpooledTemporaryFile", "mkdtemp", "mkstemp")]
    + [f"pyarrow.parquet.{name}" for name in ("write_table", "ParquetWriter", "write_to_dataset", "write_metadata")]
    + [f"numpy.{name}" for name in ("save", "savez", "savez_compressed", "savetxt", "memmap")]
    + ["torch.save", "safetensors.torch.save_file", "safetensors.numpy.save_file", "sqlite3.connect",
       "logging.FileHandler", "torch.utils.tensorboard.SummaryWriter", "wandb.init", "joblib.dump",
       "pickle.dump"]
)  # fmt: skip
OPENS = frozenset(["open", "io.open", "os.fdopen", "zipfile.ZipFile", "tarfile.open"])
WRITING_FLAGS = ("O_WRONLY", "O_RDWR", "O_CREAT", "O_APPEND", "O_TRUNC")


@dataclass(frozen=True)
class FileCall:
    """A call that writes or removes.

    Attributes:
        file: the module, relative to the root.
        function: the function that holds the call; "" at the top of the module.
        call: its name, e.g. ``shutil.rmtree`` or ``.unlink``.
        line: of the module.
    """

    file: str
    function: str
    call: str
    line: int

    @property
    def place(self) -> str:
        """``file:function call``, which stays when lines move."""
        return f"{self.file}:{self.function} {self.call}"


def calls_in(source: str, file: str = "") -> list[FileCall]:
    """All calls of a module that open a file for writing, make, move, link or remove one."""
    tree = ast.parse(source)
    names = _imported(tree)
    return [
        FileCall(file, function, name, call.lineno)
        for function, call in _calls(tree, "")
        if (name := _writes(call, names))
    ]


def calls_below(root: Path, packages: tuple[str, ...]) -> list[FileCall]:
    """:func:`calls_in` for every module of some packages."""
    files = [path for package in packages for path in sorted((root / package).rglob("*.py"))]
    return [call for path in files for call in calls_in(path.read_text(), path.relative_to(root).as_posix())]


def all_calls(source: str) -> Iterator[tuple[str, ast.Call]]:
    """Every call of a module, with the name of the function that holds it."""
    return _calls(ast.parse(source), "")


def _calls(node: ast.AST, function: str) -> Iterator[tuple[str, ast.Call]]:
    for child in ast.iter_child_nodes(node):
        inside = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
        if isinstance(child, ast.Call):
            yield function, child
        yield from _calls(child, inside)


def _imported(tree: ast.AST) -> dict[str, str]:
    """What a name at the beginning of a call stands for: its module, or the function that was imported."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                head = alias.name.partition(".")[0]
                names[alias.asname or head] = alias.name if alias.asname else head
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    return names


def _dotted(node: ast.expr, names: dict[str, str]) -> str:
    """``shutil.rmtree`` for a call by any alias; "" where the beginning is no plain name."""
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        head = _dotted(node.value, names)
        return f"{head}.{node.attr}" if head else ""
    return ""


def _writes(call: ast.Call, names: dict[str, str]) -> str:
    """The name of a call that writes or removes, else ""."""
    dotted = _dotted(call.func, names)
    if dotted in FUNCTIONS:
        return dotted
    if dotted in OPENS:
        return dotted if _is_writing_mode(_argument(call, 1, "mode")) else ""
    if dotted == "os.open":
        text = ast.unparse(call)
        return dotted if any(flag in text for flag in WRITING_FLAGS) else ""
    if not isinstance(call.func, ast.Attribute):
        return ""
    method, is_module = call.func.attr, dotted.partition(".")[0] in ("os", "shutil", "dataclasses", "operator")
    if method in METHODS and not is_module:
        return "" if method in RETURN_TEXT and not call.args else f".{method}"
    if method in ONE_ARGUMENT and len(call.args) == 1 and not call.keywords and not is_module:
        return f".{method}"
    if method == "open" and not is_module and _is_writing_mode(_argument(call, 0, "mode"), plain=False):
        return ".open"
    if method == "screenshot" and any(keyword.arg == "path" for keyword in call.keywords):
        return ".screenshot"
    return ""


def _argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    if len(call.args) > place:
        return call.args[place]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _is_writing_mode(mode: ast.expr | None, plain: bool = True) -> bool:
    """Whether a mode writes. One that is computed may write; for methods only texts are modes."""
    if mode is None:
        return False
    if isinstance(mode, ast.Constant):
        return (
            isinstance(mode.value, str)
            and bool(set(mode.value.partition(":")[0]) & set("wxa+"))
            and set(mode.value.partition(":")[0]) <= set("rwxabt+")
        )
    return plain
