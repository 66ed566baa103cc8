"""The components of a transformer as the nodes of its circuit graph, and their names in rows.

Circuits measure connections between components and figures draw them. This module imports no torch.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["embedding", "head", "MLP", "unembedding"]
ARROW = " -> "
"""The text between sender and receiver in the name of a connection."""
_HEAD, _MLP = re.compile(r"L([0-9]{1,6})\.([0-9]{1,6})"), re.compile(r"MLP ([0-9]{1,6})")


@dataclass(frozen=True)
class Component:
    """A node of the circuit graph: it writes to the residual stream, or reads it.

    Attributes:
        kind: the embedding (with positions, if the model adds any), a head, an MLP, or the unembedding.
        layer: the layer of a head or an MLP.
        head: the head of a head.
    """

    kind: Kind
    layer: int | None = None
    head: int | None = None

    @property
    def name(self) -> str:
        """The component's name in rows.

        >>> Component("head", 1, 0).name, Component("MLP", 2).name
        ('L1.0', 'MLP 2')
        """
        if self.kind == "head":
            return f"L{self.layer}.{self.head}"
        return f"MLP {self.layer}" if self.kind == "MLP" else self.kind

    @property
    def depth(self) -> tuple[float, int]:
        """Return the order in which components are computed: a component reads the outputs of all components with a
        smaller depth.

        Heads of a layer come before its MLP.
        """
        if self.layer is None:
            return (-1.0 if self.kind == "embedding" else float("inf"), 0)
        return (float(self.layer), 1 if self.kind == "MLP" else 0)

    @classmethod
    def from_name(cls, name: str) -> Component:
        """Return the component with a name, e.g. ``L0.1`` (layer 0, head 1) or ``MLP 0``.

        Raises:
            ValueError: if no component can have that name.
        """
        if name in ("embedding", "unembedding"):
            return cls(name)  # type: ignore[arg-type]
        if found := _HEAD.fullmatch(name):
            return cls("head", int(found[1]), int(found[2]))
        if found := _MLP.fullmatch(name):
            return cls("MLP", int(found[1]))
        raise ValueError(f"{name!r} is not a component; name one like embedding, L0.1, MLP 0 or unembedding")


@dataclass(frozen=True)
class Connection:
    """The part of one component's input that another component writes.

    Attributes:
        sender: the component that writes.
        receiver: the component that reads.
    """

    sender: Component
    receiver: Component

    @property
    def name(self) -> str:
        """The connection's name in rows, ``L0.0 -> L1.0``."""
        return f"{self.sender.name}{ARROW}{self.receiver.name}"

    @classmethod
    def from_name(cls, name: str) -> Connection:
        """Return the connection with a name; the sender comes first.

        >>> Connection.from_name("embedding -> MLP 0").receiver.kind
        'MLP'

        Raises:
            ValueError: if no connection can have that name.
        """
        parts = [Component.from_name(part) for part in name.split(ARROW)]
        if len(parts) != 2 or not parts[0].depth < parts[1].depth:
            raise ValueError(f"{name!r} is not a connection; name one like L0.0{ARROW}L1.0, the sender first")
        return cls(*parts)


def head_name(layer: int | None, head: int | None) -> str:
    """Return the label of a head in sentences and on screen, ``L0H3``; ``all heads`` if no head is chosen."""
    return "all heads" if layer is None or head is None else f"L{layer}H{head}"


def connections_of(layers: int, heads: int, mlps: bool) -> list[Connection]:
    """Return every connection of a model, sorted by the order in which the receiving components are computed.

    Args:
        layers: number of blocks.
        heads: number of heads of a block.
        mlps: whether blocks have MLPs.
    """
    nodes = [Component("embedding")]
    for layer in range(layers):
        nodes += [Component("head", layer, head) for head in range(heads)]
        nodes += [Component("MLP", layer)] if mlps else []
    nodes.append(Component("unembedding"))
    return [Connection(one, other) for other in nodes for one in nodes if one.depth < other.depth]
