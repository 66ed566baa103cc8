"""Loads a published dataset, and writes it as a folder with its card."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.datasets.cards import CARD, card_of
from workbench.datasets.dataset import Dataset, DatasetError
from workbench.datasets.known_datasets import find_dataset
from workbench.storage import bounded
from workbench.storage.atomic import make_folder, replacing_folder
from workbench.storage.below import write_new
from workbench.storage.bounded import read_bytes
from workbench.storage.seal import check_seal

if TYPE_CHECKING:
    import pandas as pd


def load_dataset(name: str) -> pd.DataFrame:
    """Return a published dataset as a pandas table.

    Example:

        >>> from lengthlens.datasets import load_dataset
        >>> load_dataset("claims").columns[0]
        'claim'

    Raises:
        DatasetError: for an unknown name, or a file that cannot be read.
    """
    dataset = find_dataset(name)
    frame: pd.DataFrame = table_of(dataset, dataset_bytes(dataset)).to_pandas()
    return frame


def dataset_bytes(dataset: Dataset) -> bytes:
    """Return the file of a dataset. A seal is checked if there is one.

    Raises:
        DatasetError: if the file cannot be read or was changed.
    """
    path = dataset.path()
    try:
        data = read_bytes(path, bounded.TABLE)
        if dataset.sealed:
            check_seal(data)
    except (OSError, ValueError) as error:
        raise DatasetError(f"{path} cannot be read as the dataset {dataset.name} ({error}); restore the file") from None
    return data


def table_of(dataset: Dataset, data: bytes) -> Any:
    """Return the pyarrow table of a dataset.

    Raises:
        DatasetError: if the columns are others than the card lists.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(io.BytesIO(data))
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise DatasetError(f"{dataset.path()} is not a Parquet file ({reason}); restore the file") from None
    names = [column.name for column in dataset.columns]
    if table.column_names != names:
        other = next((name for name in table.column_names if name not in names), "")
        what = f"the column {other!r}, which the card does not list" if other else "other columns than the card lists"
        raise DatasetError(f"{dataset.path()} has {what}; restore the file")
    return table


def dataset_card(name: str) -> str:
    """Return the card of a published dataset as Markdown.

    Raises:
        DatasetError: for an unknown name, or a file that cannot be read.
    """
    dataset = find_dataset(name)
    data = dataset_bytes(dataset)
    return card_of(dataset, table_of(dataset, data), data)


def write_dataset(name: str, folder: str | Path) -> Path:
    """Write a dataset as a folder with its table and its card, and return the folder.

    Raises:
        DatasetError: for an unknown name, a file that cannot be read, or a folder that exists.
    """
    dataset, to = find_dataset(name), Path(folder).absolute()
    if to.exists():
        raise DatasetError(f"{folder} already exists; name a new folder")
    text, data = dataset_card(name), dataset_bytes(dataset)
    make_folder(to.parent)
    with replacing_folder(to.parent, to.name) as new:
        write_new(new, dataset.file, data)
        write_new(new, CARD, text.encode())
    return to
