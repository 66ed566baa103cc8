"""The card of a dataset: what it contains, its columns with units, how it was made, its licence, and how to load it."""

from __future__ import annotations

import hashlib
from typing import Any

from workbench.datasets.dataset import Column, Dataset

CARD = "README.md"
LICENCE = "mit"
LICENCE_TEXT = (
    "MIT, as LengthLens itself. Please cite LengthLens and the papers behind the numbers: `lengthlens cite` prints "
    "both as BibTeX."
)


def card_of(dataset: Dataset, table: Any, data: bytes) -> str:
    """Return the card of a dataset as Markdown; the same table gives the same text.

    Args:
        dataset: the dataset.
        table: its pyarrow table.
        data: the bytes of its file.
    """
    missing = {column.name: table[column.name].null_count for column in dataset.columns}
    parts = [
        _front(dataset),
        f"# {dataset.title}",
        dataset.about,
        f"The table has {table.num_rows:,} rows and {table.num_columns} columns. The file `{dataset.file}` has "
        f"{len(data):,} bytes and the SHA-256 hash `{hashlib.sha256(data).hexdigest()}`.",
        "## Columns",
        _columns(dataset.columns, missing),
    ]
    for column in dataset.columns:
        if column.type == "rows":
            parts += [f"Each record of `{column.name}` has these fields:", _columns(dataset.fields, {})]
    parts += [
        "## How it was made",
        f"{dataset.made} To make it again, run this command:",
        f"```\n{dataset.command}\n```",
        f"The page `docs/{dataset.page}` of the documentation contains the results.",
        "## Licence",
        LICENCE_TEXT,
        "## Load it",
        "With LengthLens installed:",
        f'```python\nfrom lengthlens.datasets import load_dataset\n\nrows = load_dataset("{dataset.name}")\n```',
        "From this folder, with any program that reads Parquet:",
        f'```python\nimport pandas as pd\n\nrows = pd.read_parquet("{dataset.file}")\n```',
    ]
    return "\n\n".join(parts) + "\n"


def _front(dataset: Dataset) -> str:
    lines = [
        "---",
        f"license: {LICENCE}",
        f"pretty_name: {dataset.title.replace(':', ',')}",
        "tags:",
        "- length-generalization",
        "- mechanistic-interpretability",
        "configs:",
        "- config_name: default",
        f"  data_files: {dataset.file}",
        "---",
    ]
    return "\n".join(lines)


def _columns(columns: tuple[Column, ...], missing: dict[str, int]) -> str:
    head = ["column", "type", "unit", "content", *(["missing values"] if missing else [])]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for column in columns:
        cells = [f"`{column.name}`", column.type, column.unit or "none", column.about]
        cells += [f"{missing[column.name]:,}"] if missing else []
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
