"""Write the words of all quantities to ``workbench/table/wording.json``: ``make readmes`` runs this.

``python -m docs.quantity_wording`` does so too.
"""

from __future__ import annotations

import json
from typing import Any

from workbench.measure.known_measurements import BUILT_IN
from workbench.measure.registry import make_measurement
from workbench.table.wording import FILE, WORDS


def declared() -> dict[str, Any]:
    """Return what the measurements declare: version, title, and the words of each quantity."""
    specs = [make_measurement(name).spec for name in BUILT_IN]
    return {
        spec.name: {
            "version": spec.version,
            "title": spec.title,
            "quantities": {one.name: {part: getattr(one, part) for part in WORDS} for one in spec.quantities},
        }
        for spec in specs
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(declared(), indent=1, ensure_ascii=False) + "\n")
