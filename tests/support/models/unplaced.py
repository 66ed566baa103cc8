"""Another default device while a model computes elsewhere: a tensor that its code makes without a place raises."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

import pytest
import torch

from workbench.models.base import other_device


@contextmanager
def meta_while_computing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What is computed elsewhere sees another default device than what watches it: an unplaced tensor there raises."""
    through, numbers = other_device._through, other_device._numbers

    def watched(*given: Any, **named: Any) -> Any:
        with torch.device("cpu"):
            return through(*given, **named)

    @contextmanager
    def computed(*given: Any) -> Any:
        with torch.device("meta"), numbers(*given):
            yield

    with monkeypatch.context() as patch:
        patch.setattr(other_device, "_through", watched)
        patch.setattr(other_device, "_numbers", computed)
        yield
