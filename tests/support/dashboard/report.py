"""What tests of several tiers share. What a page that needs no server holds, read from its HTML alone."""

from __future__ import annotations

import base64
import zlib
from html.parser import HTMLParser
from typing import Any

import numpy as np
import orjson

from workbench.dashboard.report.shared_values import unpack


class PageReader(HTMLParser):
    """The elements and texts of a page, as a browser tells them apart.

    Attributes:
        tags: name and attributes of every element.
        texts: what is read, by the name of the element it stands in.
    """

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self._open[-1] if self._open else "", []).append(data)


def data_of_page(page: str) -> dict[str, Any]:
    """The data that the page's script reads."""
    text = next(text for text in PageReader(page).texts["script"] if text.strip().startswith("eN"))
    found: dict[str, Any] = unpack(orjson.loads(zlib.decompress(base64.b64decode(text))))
    return found


def at(run: dict[str, Any], slot: dict[str, Any], step: int, length: int) -> Any:
    """What a slot holds at a step and a length."""
    place = 0
    for part, value in (("step", step), ("length", length)):
        if part in slot["needs"]:
            place = place * len(run[f"{part}s"]) + run[f"{part}s"].index(value)
    return slot["made"][place]


def numbers(values: Any) -> list[float]:
    """Numbers of a trace, as they stand in the page."""
    if isinstance(values, dict):
        return [float(one) for one in np.frombuffer(base64.b64decode(values["bdata"]), dtype=values["dtype"])]
    return [float("nan") if one is None else float(one) for one in values]
