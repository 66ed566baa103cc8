"""The files of a pretrained model's folder that are read: regular files of the folder itself, with fixed names.

Code that reads or hashes a folder starts from :func:`files_read`, so that every file that is read has a hash.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from workbench.core.errors import quoted_value
from workbench.models.interop.hugging_face.families import PretrainedError
from workbench.storage.bounded import LIVE, MIB, RUN_JSON, UnreadableError, is_regular, read_bytes, require_regular
from workbench.storage.bounded import WEIGHTS as MOST_WEIGHTS
from workbench.storage.seal import SealError, json_object

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
VOCABULARIES = ("tokenizer.json", "tokenizer.model", "vocab.json", "spiece.model")
"""Files of which a tokenizer has exactly one kind."""
TOKENIZER_FILES = (
    *VOCABULARIES, "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "merges.txt", "vocab.txt",
)  # fmt: skip
TOKENIZER_BYTES = 256 * MIB
"""The most bytes of a tokenizer's file that are read; Gemma's files have 33 MiB."""
ADAPTER = "adapter_config.json"


def files_read(folder: Path) -> tuple[str, ...]:
    """Names of the files that are read when a folder is opened: config, weights and tokenizer.

    Raises:
        PretrainedError: as :func:`weight_files`.
    """
    return (CONFIG, *weight_files(folder), *tokenizer_files(folder))


def tokenizer_files(folder: Path) -> tuple[str, ...]:
    """Names of the files of a folder's tokenizer."""
    return tuple(name for name in TOKENIZER_FILES if (folder / name).exists() or (folder / name).is_symlink())


def weight_files(folder: Path) -> tuple[str, ...]:
    """Names of the files with the weights, and of the index that lists them if there are several.

    Raises:
        PretrainedError: for a folder without safetensors, or an index that names anything except safetensors files of
            its own folder.
    """
    if _present(folder, WEIGHTS):
        plain_file(folder, WEIGHTS, MOST_WEIGHTS)
        return (WEIGHTS,)
    if not _present(folder, INDEX):
        raise PretrainedError(_without_weights(folder))
    content = read_json(folder, INDEX, LIVE)
    named = content.get("weight_map")
    if not isinstance(named, dict) or not named:
        raise PretrainedError(f"{folder / INDEX} names no weights: its weight_map is {quoted_value(named)}")
    for name in (shards := sorted({value if isinstance(value, str) else "" for value in named.values()})):
        if Path(name).name != name or not name.endswith(".safetensors") or "\0" in name:
            raise PretrainedError(
                f"{folder / INDEX} names {quoted_value(name)} as a file of weights; "
                "only safetensors files in the folder "
                "itself are read"
            )
        plain_file(folder, name, MOST_WEIGHTS)
    return (INDEX, *shards)


def _present(folder: Path, name: str) -> bool:
    return (folder / name).exists() or (folder / name).is_symlink()


def _without_weights(folder: Path) -> str:
    if any(folder.glob("*.bin")) or any(folder.glob("*.pt")):
        return f"{folder} holds its weights as pickles, which could run code; store them as safetensors"
    if _present(folder, ADAPTER):
        return f"{folder} holds an adapter and no weights; merge it into its model and open that folder"
    if any(folder.glob("*.gguf")):
        return f"{folder} holds its weights as GGUF; store them as safetensors, e.g. with transformers' save_pretrained"
    if others := sorted(path.name for path in folder.glob("*.safetensors")):
        return f"{folder} holds {others[0]:.80}, but neither {WEIGHTS} nor {INDEX}; rename it to {WEIGHTS}"
    return f"{folder} holds no weights ({WEIGHTS}, or {INDEX} and the files that it names)"


def plain_file(folder: Path, name: str, limit: int) -> Path:
    """The path of a regular file in a folder.

    A link is followed if it stays in the folder. It is also followed if the folder is a snapshot in the Hugging Face
    cache and the link leads to the blobs of that cache.

    Raises:
        PretrainedError: if it is anything else, or larger than ``limit`` bytes.
    """
    path = folder / name
    try:
        stays = not path.is_symlink() or _stays(folder.resolve(), path.resolve(strict=True))
        if stays:
            require_regular(path, limit)
    except UnreadableError as error:
        raise PretrainedError(f"{path} cannot be read: {error}") from None
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: links that go in circles, before Python 3.13
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise PretrainedError(f"{path} cannot be read: {why}") from None
    if not stays:
        raise PretrainedError(f"{path} is a link to a file outside the folder; replace it by the file")
    return path


def _stays(folder: Path, target: Path) -> bool:
    in_cache = folder.parent.name == "snapshots" and target.parent == folder.parent.parent / "blobs"
    return target.parent == folder or in_cache


def read_json(folder: Path, name: str, limit: int = RUN_JSON) -> dict[str, Any]:
    """The JSON object in a file of a folder.

    Raises:
        PretrainedError: if the file does not exist or cannot be read.
    """
    path = plain_file(folder, name, limit)
    try:
        return json_object(read_bytes(path, limit))
    except (OSError, SealError) as error:
        raise PretrainedError(f"{path} cannot be read: {error}") from None


def require_model_folder(folder: Path) -> None:
    """Refuse a path that is not the folder of a model.

    Raises:
        PretrainedError: for a missing folder, or one without ``config.json``; the message names a folder below that has
            one.
    """
    if not folder.is_dir():
        raise PretrainedError(
            f"{folder} is not a folder; give one that contains config.json and the weights of a model"
        )
    if not _present(folder, CONFIG):
        raise PretrainedError(f"{folder} contains no {CONFIG}, which describes its weights{_revisions_below(folder)}")


def _revisions_below(folder: Path) -> str:
    """The option that opens the folders below, if they contain the models."""
    model_folders = sorted(path.parent.name for path in folder.glob(f"*/{CONFIG}") if is_regular(path))
    patterns = [re.sub(r"[0-9]+$", "*", name) for name in model_folders]
    if not model_folders:
        return ""
    pattern = next((name for name in patterns if name.endswith("*")), None)
    if pattern is None:
        return f"; {folder / model_folders[0]} holds one: open that"
    return f"; {folder / model_folders[patterns.index(pattern)]} holds one: --revisions '{pattern}' opens all like it"
