"""Components and connections are told by their names, and act in the order of their depth."""

from __future__ import annotations

import pytest

from workbench.models.base.graph import Component, Connection, connections_of, head_name


@pytest.mark.parametrize(
    ("name", "component", "depth"),
    [
        ("embedding", Component("embedding"), (-1.0, 0)),
        ("L0.0", Component("head", 0, 0), (0.0, 0)),
        ("L1.12", Component("head", 1, 12), (1.0, 0)),
        ("L123456.654321", Component("head", 123456, 654321), (123456.0, 0)),
        ("MLP 0", Component("MLP", 0), (0.0, 1)),
        ("MLP 10", Component("MLP", 10), (10.0, 1)),
        ("unembedding", Component("unembedding"), (float("inf"), 0)),
    ],
)
def test_a_component_is_found_by_its_name(name: str, component: Component, depth: tuple[float, int]) -> None:
    assert Component.from_name(name) == component
    assert (component.name, component.depth) == (name, depth)


@pytest.mark.parametrize("name", ["", "L0", "L0.", "L.1", "L0.1 ", "L1234567.0", "MLP", "MLP 1234567", "MLP0", "head"])
def test_other_names_are_of_no_component(name: str) -> None:
    with pytest.raises(ValueError, match="component"):
        Component.from_name(name)


def test_a_connection_is_found_by_its_name() -> None:
    found = Connection.from_name("L0.1 -> MLP 0")
    assert found == Connection(Component("head", 0, 1), Component("MLP", 0))
    assert found.name == "L0.1 -> MLP 0"


@pytest.mark.parametrize(
    "name",
    ["embedding", "embedding -> L0.0 -> MLP 0", "L0.0 -> L0.1", "L0.0 -> L0.0", "MLP 0 -> L0.0", "L1.0 -> embedding"],
)
def test_other_names_are_of_no_connection(name: str) -> None:
    with pytest.raises(ValueError, match="connection"):
        Connection.from_name(name)


@pytest.mark.parametrize(
    ("shape", "names"),
    [
        ((0, 3, True), ["embedding -> unembedding"]),
        (
            (1, 2, False),
            [
                "embedding -> L0.0",
                "embedding -> L0.1",
                "embedding -> unembedding",
                "L0.0 -> unembedding",
                "L0.1 -> unembedding",
            ],
        ),
        (
            (2, 1, False),
            [
                "embedding -> L0.0",
                "embedding -> L1.0",
                "L0.0 -> L1.0",
                "embedding -> unembedding",
                "L0.0 -> unembedding",
                "L1.0 -> unembedding",
            ],
        ),
        (
            (1, 1, True),
            [
                "embedding -> L0.0",
                "embedding -> MLP 0",
                "L0.0 -> MLP 0",
                "embedding -> unembedding",
                "L0.0 -> unembedding",
                "MLP 0 -> unembedding",
            ],
        ),
    ],
)
def test_the_connections_of_a_model_are_in_the_order_in_which_they_act(
    shape: tuple[int, int, bool], names: list[str]
) -> None:
    assert [one.name for one in connections_of(*shape)] == names


def test_a_head_is_labelled_by_its_layer_and_index() -> None:
    assert [head_name(0, 3), head_name(None, None), head_name(1, None)] == ["L0H3", "all heads", "all heads"]
