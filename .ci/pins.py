"""Write what continuous integration and the container rely on with its hash: `make pins`, where there is a network.

- `requirements.lock`: every dependency with the hashes of its files, from `constraints.txt`, by `uv pip compile`;
- `.github/**/*.yml`: every action by its commit, with the tag in a comment, by `git ls-remote`;
- `Dockerfile`: the base image by its digest, by `docker buildx imagetools inspect`.

Run it again to take newer commits of the same tags. Once `requirements.lock` is there, tests refuse a tag or an image
that can move (`tests/unit/trust/test_pins.py`), and continuous integration and the container install by hash.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"
ACTION = re.compile(r"(?P<lead>uses:\s*)(?P<name>[\w.-]+/[\w./-]+)@(?P<ref>\S+)(?P<comment>[ \t]*#[ \t]*(?P<tag>\S+))?")
BASE = re.compile(r"^(?P<lead>FROM\s+)(?P<image>[^\s@]+)(?P<digest>@\S+)?", re.MULTILINE)
OWN_INDEX = re.compile(r"(?:torch|triton|nvidia-[\w-]+|cuda-[\w-]+)==.*(?:\n[ \t]+.*)*\n?")
"""torch comes from an index of its own, pinned by version, and with it the packages that only its CUDA build needs."""
COMMIT, DIGEST = re.compile(r"[0-9a-f]{40}"), re.compile(r"@sha256:[0-9a-f]{64}")


def pinned_actions(text: str, commit_of: Callable[[str, str], str]) -> str:
    """A workflow with every action by its commit.

    Args:
        text: the workflow.
        commit_of: from a repository ``OWNER/NAME`` and a tag, its commit.
    """

    def pinned(use: re.Match[str]) -> str:
        tag = use["tag"] if COMMIT.fullmatch(use["ref"]) and use["tag"] else use["ref"]
        repository = "/".join(use["name"].split("/")[:2])
        return f"{use['lead']}{use['name']}@{commit_of(repository, tag)} # {tag}"

    return ACTION.sub(pinned, text)


def pinned_base(text: str, digest_of: Callable[[str], str]) -> str:
    """A Dockerfile with its base image by the digest ``sha256:...`` that ``digest_of`` gives for it."""
    return BASE.sub(lambda line: f"{line['lead']}{line['image']}@{digest_of(line['image'])}", text)


def moving(text: str) -> list[str]:
    """The actions and base images of a workflow or Dockerfile that can move: those without commit or digest."""
    uses = [f"{use['name']}@{use['ref']}" for use in ACTION.finditer(text) if not COMMIT.fullmatch(use["ref"])]
    bases = [line["image"] for line in BASE.finditer(text) if not DIGEST.fullmatch(line["digest"] or "")]
    return uses + bases


def pinned_files() -> Iterator[Path]:
    """The workflows, the actions of this project, and the Dockerfile."""
    yield from sorted((ROOT / ".github").rglob("*.yml"))
    yield ROOT / "Dockerfile"


def answer(*words: str) -> str:
    """What a command prints."""
    return subprocess.run(words, check=True, capture_output=True, text=True, cwd=ROOT).stdout.strip()


def commit_of(repository: str, tag: str) -> str:
    """The commit of a tag or branch of a public repository; of an annotated tag, the commit it names."""
    lines = answer("git", "ls-remote", f"https://github.com/{repository}", tag, f"{tag}^{{}}").splitlines()
    if not lines:
        raise SystemExit(f"{repository} has no tag or branch {tag}; correct it in .github")
    return max(lines, key=lambda line: line.endswith("^{}")).split()[0]


def digest_of(image: str) -> str:
    """The digest of an image that a tag names now."""
    return answer("docker", "buildx", "imagetools", "inspect", image, "--format", "{{.Manifest.Digest}}")


def without_torch(lock: str) -> str:
    """A lock file without torch and what only torch needs."""
    return "".join(part for part in re.split(r"(?m)^(?=\S)", lock) if not OWN_INDEX.match(part))


def locked() -> str:
    """Every dependency but torch with the hashes of its files, for every supported system and Python."""
    words = (
        "uv pip compile pyproject.toml --all-extras --constraints constraints.txt --universal --python-version 3.11.5 "
        "--generate-hashes --no-emit-index-url --no-annotate --no-header --quiet"
    )
    lock = answer(sys.executable, "-m", *words.split())
    return without_torch(lock + "\n")


def main() -> None:
    """Ask for everything first, then write, so that a failure leaves all files as they are."""
    new = {LOCK: "# Written by `make pins` from constraints.txt.\n" + locked()}
    for path in pinned_files():
        text = path.read_text(encoding="utf-8")
        new[path] = pinned_base(text, digest_of) if path.name == "Dockerfile" else pinned_actions(text, commit_of)
    for path, text in new.items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
