"""What continuous integration and the container rely on: pinned by commit and digest once `make pins` has run."""

from __future__ import annotations

import pytest

from tests.support.places import ROOT
from tests.support.scripts import script

pins = script("pins", ROOT / ".ci")

COMMIT, NEWER = "a" * 40, "b" * 40
DIGEST = "sha256:" + "c" * 64
WORKFLOW = """
      - uses: actions/checkout@v4
      - uses: ./.github/actions/environment
      - uses: pypa/gh-action-pypi-publish@release/v1
      - uses: owner/name/part@v2
"""


def test_every_action_is_pinned_by_the_commit_of_its_tag() -> None:
    tags: list[tuple[str, str]] = []
    text = pins.pinned_actions(WORKFLOW, lambda repository, tag: tags.append((repository, tag)) or COMMIT)
    assert f"uses: actions/checkout@{COMMIT} # v4\n" in text
    assert f"uses: owner/name/part@{COMMIT} # v2\n" in text
    assert "uses: ./.github/actions/environment\n" in text
    assert tags == [("actions/checkout", "v4"), ("pypa/gh-action-pypi-publish", "release/v1"), ("owner/name", "v2")]
    assert pins.moving(text) == []


def test_pinning_again_takes_the_newer_commit_of_the_same_tag() -> None:
    once = pins.pinned_actions(WORKFLOW, lambda repository, tag: COMMIT)
    again = pins.pinned_actions(once, lambda repository, tag: NEWER if tag == "v4" else COMMIT)
    assert again == once.replace(f"checkout@{COMMIT}", f"checkout@{NEWER}")


def test_the_base_image_is_pinned_by_its_digest() -> None:
    text = pins.pinned_base("# a comment FROM here\nFROM python:3.12-slim\nWORKDIR /x\n", lambda image: DIGEST)
    assert text == f"# a comment FROM here\nFROM python:3.12-slim@{DIGEST}\nWORKDIR /x\n"
    assert pins.pinned_base(text, lambda image: DIGEST) == text
    assert pins.moving(text) == []


def test_a_lock_leaves_out_torch_and_what_only_torch_needs() -> None:
    one = "{}=={} \\\n    --hash=sha256:12 \\\n    --hash=sha256:34\n"
    names = ("numpy", "nvidia-cublas-cu12", "torch", "triton", "torchaudio")
    lock = "# a comment\n" + "".join(one.format(name, 1) for name in names) + "zict==3 ; python_version < '4'\n"
    assert [part.split("==")[0] for part in pins.without_torch(lock).splitlines() if "==" in part] == [
        "numpy", "torchaudio", "zict",
    ]  # fmt: skip
    assert pins.without_torch(lock).count("--hash") == 4


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("uses: actions/checkout@v4", ["actions/checkout@v4"]),
        ("uses: actions/checkout@abc123 # v4", ["actions/checkout@abc123"]),
        ("FROM python:3.12-slim", ["python:3.12-slim"]),
        ("FROM python:3.12-slim@sha256:12", ["python:3.12-slim"]),
        (f"uses: actions/checkout@{COMMIT} # v4", []),
    ],
)
def test_what_can_move_is_found(text: str, moves: list[str]) -> None:
    assert pins.moving(text) == moves


def test_once_pins_are_written_nothing_can_move() -> None:
    """Before `make pins` has run (it needs a network), tags are all there is; none is refused then."""
    files = list(pins.pinned_files())
    assert {path.name for path in files} >= {"ci.yml", "release.yml", "hostile.yml", "action.yml", "Dockerfile"}
    moves = {path.name: pins.moving(path.read_text()) for path in files}
    if pins.LOCK.exists():
        assert not any(moves.values()), moves
        assert "--hash=sha256:" in pins.LOCK.read_text()
    else:
        assert moves["ci.yml"]
        assert moves["Dockerfile"]
