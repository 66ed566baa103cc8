"""Weights in other folders, which a run names and never copies: which files count, and whether they changed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.core.canonical import canonical
from workbench.models.interop.hugging_face.families import PretrainedError
from workbench.models.interop.hugging_face.folder_files import files_read
from workbench.runs.errors import RunError
from workbench.storage.bounded import is_folder, sha256_of_file

SUFFIXES = (".safetensors", ".json", ".model", ".txt")
"""File types that determine what a model computes and what its tokens are; all names in :func:`files_read` end in one.
"""


def hashed_files(folder: Path) -> dict[str, str]:
    """File name -> SHA-256 of the files of a folder that count: files that are read, and others of the same types.

    Raises:
        RunError: if one cannot be read.
    """
    hashes = {}
    for path in sorted(folder.iterdir()):
        if path.suffix in SUFFIXES:
            try:
                hashes[path.name] = sha256_of_file(path)
            except OSError as error:
                raise RunError(f"{path} cannot be read: {error}") from None
    return hashes


def sha256_of_files(files: Mapping[str, str]) -> str:
    """Return one hash for all files of a folder."""
    return hashlib.sha256(canonical(dict(files)).encode()).hexdigest()


def verify_names(meta: Mapping[str, Any], run: str) -> str:
    """Check that a checkpoint's hash follows from the hashes of the files that it names, and return it. No file is
    read.

    Raises:
        RunError: if the hash does not follow from them.
    """
    files = meta.get("files")
    if not isinstance(files, Mapping) or sha256_of_files(files) != meta["sha256"]:
        raise RunError(f"checkpoint {meta['step']} of run {run} is damaged: meta.json does not list its files")
    return str(meta["sha256"])


def verify_folder(folder: Path, meta: Mapping[str, Any], run: str) -> str:
    """Compare every file that a checkpoint names with the file in the folder, and return the checkpoint's hash.

    Raises:
        RunError: for a missing folder, a file that is missing or changed, or a file that is read but has no hash, with
            the way out.
    """
    sha256_of_all = verify_names(meta, run)
    if not is_folder(folder):
        raise RunError(
            f"the weights of run {run} were in {folder}, which does not exist any more; {how_to_relink(run)}"
        )
    for name, sha256 in meta["files"].items():
        path = folder / name
        try:
            current = sha256_of_file(path)
        except OSError as error:
            raise RunError(
                f"{path}, a file of run {run}, cannot be read ({error.strerror}); {how_to_relink(run)}"
            ) from None
        if current != sha256:
            raise RunError(
                f"{path} has changed since run {run} was opened on it; restore it, or open it as another run"
            )
    try:
        added = [name for name in files_read(folder) if name not in meta["files"]]
    except PretrainedError as error:
        raise RunError(f"{error}; run {run} was opened on it") from None
    if added:
        raise RunError(
            f"{folder / added[0]} was added after run {run} was opened and would change its results; remove it, or "
            "open the folder as another run"
        )
    return sha256_of_all


def how_to_relink(run: str) -> str:
    """The command with which a moved folder can be linked again."""
    return f"lengthlens open FOLDER --relink {run} updates its path"
