"""HTML elements in which every text is escaped, since names of runs and tokens may come from strangers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from workbench.core.direction_marks import without_direction_marks
from workbench.figures.labels import Piece

ROLES: Mapping[str, str] = {"summary": "summary", "position": "position", "muted": "soft num", "mono": "mono"}
"""Role of a piece of a sentence -> its class; of others the text stands as it is."""


def element(tag: str, *children: Element | str | None, classes: str = "", **attributes: str) -> Element:
    """Return an HTML element with its children. Children that are None are left out.

    Args:
        tag: its name.
        children: elements and texts.
        classes: its classes.
        attributes: name and value; ``aria_label`` is ``aria-label``.
    """
    made = Element(tag, {"class": classes} if classes else {})
    for name, value in attributes.items():
        made.set(name.rstrip("_").replace("_", "-"), value)
    return add(made, *children)


def add(made: Element, *children: Element | str | None) -> Element:
    """Return an HTML element with further children after its own."""
    for child in children:
        if isinstance(child, Element):
            made.append(child)
        elif child:
            held = list(made)
            if held:
                held[-1].tail = (held[-1].tail or "") + child
            else:
                made.text = (made.text or "") + child
    return made


def sentence(pieces: Sequence[Piece]) -> list[Element | str]:
    """Return the pieces of a sentence as spans and texts."""
    return [element("span", text, classes=ROLES[role]) if role in ROLES else text for text, role in pieces]


def script(text: str, **attributes: str) -> Element:
    """Return a script element, with code or with data that a script reads.

    Raises:
        ValueError: for a text that would end the element before its end.
    """
    return _raw("script", text, attributes)


def style(text: str) -> Element:
    """Return a style element; raises as :func:`script`."""
    return _raw("style", text, {})


def _raw(tag: str, text: str, attributes: Mapping[str, str]) -> Element:
    """What stands in these elements is not escaped: HTML takes it as it is, up to the end tag."""
    if f"</{tag}" in text.lower() or (tag == "script" and "<!--" in text):
        raise ValueError(f"this text cannot be written into a {tag} element, because it contains </{tag} or <!--")
    made = element(tag, **attributes)
    made.text = text
    return made


def document(head: Sequence[Element], body: Element) -> str:
    """Return a whole page of HTML."""
    root = element("html", lang="en")
    add(SubElement(root, "head"), element("meta", charset="utf-8"), *head)
    root.append(body)
    html = ElementTree.tostring(root, encoding="unicode", method="html")
    return f"<!DOCTYPE html>\n{without_direction_marks(html)}\n"
