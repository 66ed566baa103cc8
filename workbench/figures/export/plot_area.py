"""The plot area of a figure in pixels: its axes, with ticks, labels and grid lines."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.figures.export.picture import Colour, Line, Mark, Point, Text, text_width
from workbench.figures.export.plotly_values import CAP, as_list, number_text, text_lines


class Axis:
    """One axis: where its values are in pixels.

    Args:
        settings: its layout, with that of the template below it.
        values: all values drawn along it, from which it takes its range if it has none.
        start, end: pixels of the two ends of the whole plot area; a domain takes a part of it.
        with_zero: whether the range has to contain 0.
    """

    def __init__(
        self, settings: Mapping[str, Any], values: Iterable[Any], start: float, end: float, with_zero: bool = False
    ) -> None:
        self.settings = settings
        low, high = settings.get("domain") or (0.0, 1.0)
        self.start, self.end = start + low * (end - start), start + high * (end - start)
        listed = [value for value in values if value is not None]
        self.categories: dict[Any, float] = {}
        if settings.get("type") == "category" or any(isinstance(value, str) for value in listed):
            order = [*as_list(settings.get("categoryarray")), *listed]
            self.categories = {value: float(index) for index, value in enumerate(dict.fromkeys(order))}
        self.log = settings.get("type") == "log"
        self.range = self._range(listed, with_zero)

    def number(self, value: Any) -> float:
        """A value as a number along the axis; NaN if the axis cannot show it."""
        if value in self.categories:
            return self.categories[value]
        try:
            number = float(value)
        except (TypeError, ValueError):
            return math.nan
        if self.log:
            return math.log10(number) if number > 0 else math.nan
        return number

    def at(self, value: Any) -> float:
        """The pixel of a value."""
        low, high = self.range
        return self.start + (self.number(value) - low) / ((high - low) or 1.0) * (self.end - self.start)

    def _range(self, values: Sequence[Any], with_zero: bool) -> tuple[float, float]:
        given = self.settings.get("range")
        if given is not None and len(given) == 2 and all(one is not None for one in given):
            return float(given[0]), float(given[1])
        numbers = [number for value in values if math.isfinite(number := self.number(value))]
        numbers += [0.0] if with_zero and not self.log else []
        low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
        pad = 0.5 if self.categories else 0.05 * ((high - low) or 1.0)
        ends = low - pad, high + pad
        return (ends[1], ends[0]) if self.settings.get("autorange") == "reversed" else ends

    def ticks(self) -> list[tuple[float, str]]:
        """Pixel and text of each tick inside the range."""
        values, texts = self.settings.get("tickvals"), self.settings.get("ticktext")
        if values is None:
            values, texts = self._own_ticks()
        labels = texts if texts is not None else [number_text(value) for value in values]
        low, high = sorted((self.start, self.end))
        placed = [(self.at(value), str(text)) for value, text in zip(values, labels, strict=False)]
        return [(at, text) for at, text in placed if low - 0.5 <= at <= high + 0.5]

    def _own_ticks(self) -> tuple[list[Any], list[str]]:
        if self.categories:
            return list(self.categories), [str(name) for name in self.categories]
        low, high = sorted(self.range)
        if self.log:
            powers = range(math.ceil(low), math.floor(high) + 1)
            return [10.0**power for power in powers], [number_text(10.0**power) for power in powers]
        rough = ((high - low) or 1.0) / 5
        unit = 10.0 ** math.floor(math.log10(rough))
        gap = next(factor * unit for factor in (1, 2, 5, 10) if factor * unit >= rough)
        values = [round(index * gap, 12) for index in range(math.ceil(low / gap), math.floor(high / gap) + 1)]
        return list(values), [number_text(value) for value in values]


@dataclass(frozen=True)
class Frame:
    """The plot area: left, top, right, bottom in pixels, and the axes by name (``x``, ``y2``)."""

    left: float
    top: float
    right: float
    bottom: float
    axes: Mapping[str, Axis]

    def x(self, value: Any, ref: str) -> float:
        """The pixel of an x in the units of ``ref``: an axis, its domain, or ``paper``."""
        return self._place(value, ref, self.left, self.right)

    def y(self, value: Any, ref: str) -> float:
        """The pixel of a y in the units of ``ref``."""
        return self._place(value, ref, self.bottom, self.top)

    def _place(self, value: Any, ref: str, start: float, end: float) -> float:
        if ref == "paper":
            return start + float(value) * (end - start)
        axis = self.axes[ref.removesuffix(" domain")]
        if ref.endswith(" domain"):
            return axis.start + float(value) * (axis.end - axis.start)
        return axis.at(value)


def grid_marks(name: str, axis: Axis, frame: Frame) -> Iterator[Mark]:
    """The grid lines of an axis."""
    if axis.settings.get("visible") is False or axis.settings.get("showgrid") is False:
        return
    colour = Colour.of(axis.settings.get("gridcolor") or "#E3E7EC")
    for at, _ in axis.ticks():
        ends: list[Point] = (
            [(at, frame.top), (at, frame.bottom)] if name[0] == "x" else [(frame.left, at), (frame.right, at)]
        )
        yield Line(ends, colour, 1.0)


def axis_marks(name: str, axis: Axis, frame: Frame, ink: Colour, base: float) -> Iterator[Mark]:
    """The tick labels and the title of an axis."""
    if axis.settings.get("visible") is False:
        return
    across = name[0] == "x"
    if axis.settings.get("showticklabels") is not False:
        font = axis.settings.get("tickfont") or {}
        size, usual = float(font.get("size") or base), Colour.of(font.get("color") or ink.hex)
        for at, label in axis.ticks():
            for line, (text, colour) in enumerate(text_lines(label)):
                shade = usual if colour is None else colour
                if across:
                    yield Text(at, frame.bottom + size + 3 + 1.2 * size * line, text, size, shade, anchor="middle")
                else:
                    yield Text(frame.left - 6, at + size * CAP + 1.2 * size * line, text, size, shade, anchor="end")
    title = axis.settings.get("title") or {}
    titled = title.get("text") if isinstance(title, Mapping) else title
    if titled:
        size = float((title.get("font") or {}).get("size") or base) if isinstance(title, Mapping) else base
        words = " ".join(line for line, _ in text_lines(str(titled)))
        middle = (axis.start + axis.end) / 2
        if across:
            yield Text(middle, frame.bottom + 2 * base + 10, words, size, ink, anchor="middle")
        else:
            ticks = [line for _, label in axis.ticks() for line, _ in text_lines(label)]
            aside = max((text_width(line, size) for line in ticks), default=24.0) + 14
            yield Text(max(size + 1, frame.left - aside), middle, words, size, ink, anchor="middle", upright=True)
