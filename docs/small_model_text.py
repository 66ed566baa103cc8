"""The text of docs/small_model.md, from three packages of Debian: ``python docs/small_model_text.py FOLDER``.

The packages are fetched by ``apt-get download``, checked against the hashes below and unpacked, not installed. What
becomes of them is plain text, in files of at most 64 KiB, so that files are split into those that train and those held
out.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from workbench.storage.atomic import make_folder, replacing

LONGEST = 1 << 16


class Package(NamedTuple):
    """A package that has text.

    Attributes:
        name: of the package.
        sha256: of the file that was read for the page.
        licence: of the text.
        texts: what is read of it, as a pattern below ``/usr/share/doc``.
    """

    name: str
    sha256: str
    licence: str
    texts: str


PACKAGES = (
    Package(
        "python3.11-doc",
        "5b3594189d6ef9a6963ce0347fd307a1cc67620ad697e144db366070e2e146be",
        "PSF License 2",
        "python3.11/html/_sources/**/*.txt",
    ),
    Package(
        "debian-handbook",
        "3d5dbeac1f1afc9c094eab9d0f701f6ecff99c4927d5a4794cf6c85678134faa",
        "CC BY-SA 3.0, or GPL 2 or later",
        "debian-handbook/html/en-US/*.html",
    ),
    Package(
        "jargon-text",
        "17d05997e30eb3d5d6713929b8e2f81b63a5f50073858ad2a06701c71f54dcdb",
        "public domain",
        "jargon-text/jargon.txt.gz",
    ),
)
BLOCKS = frozenset({"p", "div", "li", "h1", "h2", "h3", "h4", "pre", "tr", "br", "dt", "dd", "title"})


class Prose(HTMLParser):
    """The text of a page of HTML, a line a block."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._hidden += tag in ("script", "style")
        self.parts += ["\n"] if tag in BLOCKS else []

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        self.parts += [] if self._hidden else [data]


def text_of(path: Path) -> str:
    """The text of a file."""
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
    whole = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix != ".html":
        return whole
    prose = Prose()
    prose.feed(whole)
    lines = (" ".join(line.split()) for line in "".join(prose.parts).splitlines())
    return "\n".join(line for line in lines if line)


def pieces(text: str) -> Iterator[str]:
    """A text in pieces of at most :data:`LONGEST` characters, cut behind lines where there are any."""
    while len(text) > LONGEST:
        cut = text.rfind("\n", 0, LONGEST) + 1 or LONGEST
        yield text[:cut]
        text = text[cut:]
    yield text


def fetched(package: Package, folder: Path) -> Path:
    """The unpacked package; what it holds is what the page was made of, or that is said."""
    subprocess.run(["apt-get", "download", "-q", package.name], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (archive,) = folder.glob(f"{package.name}_*.deb")
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != package.sha256:
        print(f"{archive.name} is another version than that of the page: its tokens, and all numbers, will differ")
    into = folder / package.name
    subprocess.run(["dpkg-deb", "-x", str(archive), str(into)], check=True)
    return into / "usr" / "share" / "doc"


def main() -> None:
    parser = argparse.ArgumentParser(description="Fetch the text that the small language model is trained on.")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    make_folder(given.folder)
    total = 0
    with tempfile.TemporaryDirectory() as work:
        for package in PACKAGES:
            root = fetched(package, Path(work))
            paths = sorted(path for path in root.glob(package.texts) if path.is_file())
            if not paths:
                sys.exit(f"{package.name} holds no {package.texts}: another version? Nothing is written of it.")
            for path in paths:
                name = "-".join(path.relative_to(root).with_suffix("").parts)
                for number, piece in enumerate(pieces(text_of(path))):
                    with replacing(given.folder, f"{name}-{number:02d}.txt") as stream:
                        stream.write(piece.encode())
                    total += len(piece)
            print(f"{package.name}: {len(paths)} files, {package.licence}")
    print(f"{total:,} characters in {given.folder}")


if __name__ == "__main__":
    main()
