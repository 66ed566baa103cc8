"""Published tables as datasets: each with its columns, a card, a loader, and a folder that can be shared.

The names below are loaded on first use, so that importing the package needs no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.lazy import face

if TYPE_CHECKING:
    from workbench.datasets.dataset import Column, Dataset, DatasetError
    from workbench.datasets.known_datasets import dataset_names, find_dataset
    from workbench.datasets.loading import dataset_card, load_dataset, write_dataset

__all__ = [
    "Column",
    "Dataset",
    "DatasetError",
    "dataset_card",
    "dataset_names",
    "find_dataset",
    "load_dataset",
    "write_dataset",
]

__getattr__, __dir__ = face(
    __name__,
    {
        "Column": "dataset",
        "Dataset": "dataset",
        "DatasetError": "dataset",
        "dataset_card": "loading",
        "dataset_names": "known_datasets",
        "find_dataset": "known_datasets",
        "load_dataset": "loading",
        "write_dataset": "loading",
    },
)
