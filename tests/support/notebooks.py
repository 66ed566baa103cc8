"""A kernel in which notebooks run one after another, and what makes pages of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from tests.support.places import ROOT


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    for name in ("jupytext", "nbclient", "nbconvert"):
        pytest.importorskip(name)
    sys.path.insert(0, str(ROOT))
    try:
        from docs.site import tutorial_pages
    finally:
        sys.path.remove(str(ROOT))
    return tutorial_pages


@pytest.fixture(scope="module")
def kernel(pages: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One kernel for all, so that what they import is imported once; each begins with an empty namespace."""
    from jupyter_client.manager import start_new_kernel

    own = {"LENGTHLENS_STEPS": "4", "TMPDIR": str(tmp_path_factory.mktemp("tutorials")), "PYTHONPATH": str(ROOT)}
    manager, client = start_new_kernel(cwd=str(pages.NOTEBOOKS), env={**os.environ, **own})
    client.stop_channels()
    yield manager
    manager.shutdown_kernel(now=True)
