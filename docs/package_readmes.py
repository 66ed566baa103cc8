"""A README.md in each package, a line a file, from the first sentences of docstrings: ``make readmes`` runs this.

``--check`` writes nothing and names the packages whose README is not current.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("lengthlens", "workbench", "probes", "circuits")
NOTE = "<!-- `make readmes` writes this from the docstrings of the files. -->"


def first_sentence(file: Path) -> str:
    """The first sentence of a module's docstring, as Markdown.

    Raises:
        SystemExit: for a module without one.
    """
    text = ast.get_docstring(ast.parse(file.read_text()))
    if not text:
        raise SystemExit(f"{file.relative_to(ROOT)} has no docstring: say in one sentence what it holds")
    paragraph = " ".join(text.split("\n\n")[0].split())
    sentence = re.split(r"(?<=[.?])\s+(?=[A-Z])", paragraph)[0]
    return re.sub(r":\w+:`~?([^`]+)`", r"`\1`", sentence).replace("``", "`")


def packages() -> Iterator[Path]:
    """Every folder of modules."""
    for package in PACKAGES:
        yield from sorted(file.parent for file in (ROOT / package).rglob("__init__.py"))


def readme(folder: Path) -> str:
    """The README of a package: what it is, its packages, its modules."""
    name = folder.relative_to(ROOT).as_posix()
    below = sorted(file.parent for file in folder.glob("*/__init__.py"))
    modules = sorted(file for file in folder.glob("*.py") if file.name != "__init__.py")
    lines = [f"- [{one.name}/]({one.name}/README.md): {first_sentence(one / '__init__.py')}" for one in below]
    lines += [f"- [{one.name}]({one.name}): {first_sentence(one)}" for one in modules]
    return "\n".join([f"# {name}", "", first_sentence(folder / "__init__.py"), "", *lines, "", NOTE, ""])


def stale() -> list[Path]:
    """The READMEs that are missing or not current."""
    wanted = {folder / "README.md": readme(folder) for folder in packages()}
    return [file for file, text in wanted.items() if not file.exists() or file.read_text() != text]


def main() -> None:
    parser = argparse.ArgumentParser(description="Write a README.md into every package.")
    parser.add_argument("--check", action="store_true", help="write nothing; name those that are not current")
    given = parser.parse_args()
    found = stale()
    for file in found:
        print(file.relative_to(ROOT))
        if not given.check:
            file.write_text(readme(file.parent))
    if given.check and found:
        raise SystemExit("not current: make readmes")


if __name__ == "__main__":
    main()
