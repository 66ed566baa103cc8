"""A Chromium of this machine: find it, and print a page to PDF without network access."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

from workbench.core.errors import LensError
from workbench.storage.below import write_new

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60
"""Seconds that a page may take to be printed."""
_ONE = threading.Lock()


class PrintError(LensError):
    """A page that could not be printed; the message gives the reason and what to do."""


def find_browser() -> str | None:
    """Path of a Chromium: the variable ``CHROMIUM``, else one of the usual names."""
    named = os.environ.get("CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


def print_pdf(page: str) -> bytes:
    """Print an HTML page to PDF with embedded fonts, one page at a time, and return the bytes.

    Args:
        page: all it needs is in it; its ``@page`` rule gives its size.

    Raises:
        PrintError: without a Chromium, or where it does not print.
    """
    browser = find_browser()
    if browser is None:
        raise PrintError(
            "A PDF needs Chromium, which was not found on this machine: install it, set the environment variable "
            "CHROMIUM to its path, or export SVG"
        )
    with _ONE, tempfile.TemporaryDirectory(prefix="lengthlens-") as folder:
        source, pdf = Path(folder) / "page.html", Path(folder) / "page.pdf"
        write_new(Path(folder), source.name, page.encode())
        root = getattr(os, "geteuid", lambda: 1)() == 0  # whose processes Chromium does not put into a sandbox
        command = [
            browser,
            "--headless",
            *(one for one in ARGUMENTS if root or one != "--no-sandbox"),
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={folder}/profile",
            "--virtual-time-budget=10000",
            "--no-pdf-header-footer",
            f"--print-to-pdf={pdf}",
            source.as_uri(),
        ]
        try:
            subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PrintError(
                f"{browser} did not print the page ({type(error).__name__}): try again, or export SVG, which needs no "
                "browser"
            ) from error
        data = pdf.read_bytes() if pdf.is_file() else b""
    if not data.startswith(b"%PDF"):
        raise PrintError(
            f"{browser} printed nothing: start this browser by hand to see why, or export SVG, which needs no browser"
        )
    return data
