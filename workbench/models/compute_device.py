"""The device and dtype in which models compute, by name. Needs no torch until one is used.

Sequences are always drawn, and statistics always reduced, on the CPU. Only forward passes and updates of training are
computed on the device. So numbers from two devices differ only by rounding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from workbench.core.errors import quoted_value
from workbench.core.former_names import FormerName
from workbench.models.errors import DeviceError

DEVICES = "cpu, cuda, cuda:1, mps or auto"
"""Accepted names of devices."""
DTYPES = ("float32", "bfloat16")
_NAME = re.compile(r"cpu|mps|auto|cuda(:[0-9]{1,3})?")


@dataclass(frozen=True)
class ComputeDevice:
    """A device and the dtype in which it computes.

    Attributes:
        device: cpu, cuda, cuda:1, mps or auto.
        dtype: float32 or bfloat16; "" = the stored dtype of the weights, which is float32 for our models.
    """

    device: str = "cpu"
    dtype: str = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.device):
            raise DeviceError(f"there is no kind of device {quoted_value(self.device)}; {DEVICES}")
        if self.dtype and self.dtype not in DTYPES:
            raise DeviceError(f"models compute in {' or '.join(DTYPES)}, not {quoted_value(self.dtype)}")

    @property
    def kind(self) -> str:
        """The type of device: cpu, cuda or mps."""
        return self.device.partition(":")[0]

    @property
    def usual(self) -> bool:
        """Whether the device is the CPU, with weights in their stored dtype."""
        return self == USUAL_DEVICE

    @property
    def facts(self) -> dict[str, str]:
        """Settings on which numbers depend; empty for the usual device."""
        found = {"device": self.kind} if self.kind != "cpu" else {}
        return found | ({"dtype": self.dtype} if self.dtype else {})

    def resolve(self) -> ComputeDevice:
        """Return the device after checking that it exists. For ``auto`` it is the first of cuda, mps and cpu that
        exists.

        Raises:
            DeviceError: for a device that this machine, or this build of torch, does not have.
        """
        if self.device == "cpu":
            return self
        import torch

        if self.device == "auto":
            there = [name for name in ("cuda", "mps") if _count(torch, name)]
            return ComputeDevice([*there, "cpu"][0], self.dtype)
        count, index = _count(torch, self.kind), int(self.device.partition(":")[2] or 0)
        if not count:
            raise DeviceError(
                f"torch {torch.__version__} finds no {self.kind} device on this machine; choose --device cpu"
            )
        if index >= count:
            raise DeviceError(
                f"there is no {self.device} on this machine: torch finds {count} of that kind, numbered from 0"
            )
        return self

    found = FormerName("resolve")


def _count(torch: object, kind: str) -> int:
    """The number of devices of a type."""
    if kind == "cuda":
        return int(torch.cuda.device_count()) if torch.cuda.is_available() else 0  # type: ignore[attr-defined]
    return int(bool(torch.backends.mps.is_available()))  # type: ignore[attr-defined]


USUAL_DEVICE = ComputeDevice()
"""The CPU, with weights in their stored dtype."""
_current = USUAL_DEVICE


def current_device() -> ComputeDevice:
    """The device of this process."""
    return _current


@contextmanager
def computing_on(chosen: ComputeDevice) -> Iterator[None]:
    """Compute on the chosen device inside this block: checkpoints are loaded onto it."""
    global _current
    before, _current = _current, chosen
    try:
        yield
    finally:
        _current = before
