"""Advisory locks on open files. The kernel lets go of them when their holder ends, however it ends."""

from __future__ import annotations

from pathlib import Path

from workbench.storage.locks import hold, is_linked


def test_a_lock_is_held_until_its_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    with open(path, "rb+") as one, open(path, "rb+") as other:
        assert hold(one.fileno())
        assert not hold(other.fileno())
        one.close()
        assert hold(other.fileno(), wait=True)
        assert is_linked(other.fileno())
        path.unlink()
        assert not is_linked(other.fileno())
