"""Folders of the user in which LengthLens keeps its log and its caches, by the XDG base directory specification."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path:
    """The user's folder of state: ``$XDG_STATE_HOME``, or ``~/.local/state``."""
    return _folder("XDG_STATE_HOME", ".local", "state")


def cache_folder() -> Path:
    """The user's folder of caches: ``$XDG_CACHE_HOME``, or ``~/.cache``."""
    return _folder("XDG_CACHE_HOME", ".cache")


def _folder(variable: str, *default: str) -> Path:
    """The folder that the variable names; below the home folder if it names none or a relative one."""
    named = os.environ.get(variable, "")
    return Path(named) if os.path.isabs(named) else Path(os.path.expanduser("~")).joinpath(*default)
