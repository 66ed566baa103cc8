"""What LengthLens asks of tasks, encodings and measurements, asked of these."""

from lengthlens_example.confidence import Confidence
from lengthlens_example.same_ends import SameEnds
from lengthlens_example.window import Window

from workbench.measure.testing import check_measurement
from workbench.models import check_encoding
from workbench.tasks.testing import check_task


def test_the_task() -> None:
    check_task(SameEnds())  # raises, and says what is wrong


def test_the_encoding() -> None:
    assert check_encoding(Window)


def test_the_measurement() -> None:
    check_measurement(Confidence)  # raises likewise
