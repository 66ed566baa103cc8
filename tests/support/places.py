"""Where the tree is, and what ships with it."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "checkpoints" / "gallery"
