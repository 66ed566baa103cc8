"""Colours: the numbers of the specification, their contrast, and the CSS made of them."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from workbench.figures.style import design_tokens
from workbench.figures.style.design_tokens import DARK, LIGHT

SPEC = {
    "page": ("#F5F6F8", "#0D1015"),
    "surface": ("#FFFFFF", "#161A21"),
    "sunken": ("#ECEFF3", "#1F252E"),
    "line": ("#DDE1E7", "#2A313C"),
    "grid": ("#E3E7EC", "#262D37"),
    "line2": ("#8A94A3", "#6B7686"),
    "ink": ("#14181F", "#E9EDF3"),
    "ink2": ("#47505E", "#AEB8C6"),
    "ink3": ("#626C7B", "#8D98A8"),
    "summary": ("#1760C4", "#6CB2FF"),
    "position": ("#B34400", "#FF9A4D"),
    "train": ("#A8127A", "#FF7AC6"),
    "control": ("#7C8696", "#8390A2"),
    "a": ("#0A7361", "#4FD0B4"),
    "b": ("#7A3FA8", "#C79BF2"),
    "err": ("#B3261E", "#FF8A80"),
    "bar": ("#7C8DBB", "#5C71A8"),
    "ribbon_unfitted": ("#C9D0DA", "#3A4350"),
    "tint_robust": ("#E7F0FB", "#172A42"),
    "tint_coupled": ("#FCEEE3", "#38240F"),
    "tint_grey": ("#ECEFF3", "#1F252E"),
    "train_wash": ("rgba(168,18,122,.055)", "rgba(255,122,198,.075)"),
}

#: token -> stated contrast on page, surface, sunken: light, then dark
CONTRAST = {
    "line2": ((2.8, 3.1, 2.7), (4.1, 3.8, 3.3)),
    "ink": ((16.5, 17.8, 15.4), (16.2, 14.8, 13.1)),
    "ink2": ((7.5, 8.1, 7.1), (9.5, 8.7, 7.7)),
    "ink3": ((4.9, 5.3, 4.6), (6.5, 6.0, 5.3)),
    "summary": ((5.5, 6.0, 5.2), (8.6, 7.8, 6.9)),
    "position": ((5.2, 5.6, 4.9), (9.1, 8.3, 7.3)),
    "train": ((6.4, 6.9, 6.0), (8.0, 7.4, 6.5)),
    "control": ((3.4, 3.7, 3.2), (5.9, 5.4, 4.8)),
}


def test_tokens_are_those_of_the_specification() -> None:
    assert {name: light for name, (light, _) in SPEC.items()} == LIGHT
    assert {name: dark for name, (_, dark) in SPEC.items()} == DARK


@pytest.mark.parametrize("name", CONTRAST)
def test_contrast_is_as_stated(name: str) -> None:
    for theme, stated in zip((LIGHT, DARK), CONTRAST[name], strict=True):
        for ground, least in zip(("page", "surface", "sunken"), stated, strict=True):
            assert design_tokens.contrast(theme[name], theme[ground]) >= least - 0.05


def test_eight_configurations_are_told_apart_by_colour_or_dash_and_their_letters_are_readable() -> None:
    for theme, tokens in design_tokens.TOKENS.items():
        colours = design_tokens.CONFIGURATIONS[theme]
        assert colours[:2] == (tokens["a"], tokens["b"])
        assert all(design_tokens.contrast(colour, tokens["surface"]) >= 4.5 for colour in colours)
        dashes = [design_tokens.CONFIGURATION_DASHES[k % len(design_tokens.CONFIGURATION_DASHES)] for k in range(8)]
        assert len(set(zip(colours, dashes, strict=True))) == len(set(colours)) == 8
        assert f"--configuration-h: {colours[-1]};" in design_tokens.palette_css()


def test_contrast_of_black_and_white_is_21() -> None:
    assert design_tokens.contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert design_tokens.contrast("#777777", "#777777") == pytest.approx(1)


def test_verdict_words_are_readable_on_their_chips() -> None:
    for theme in (LIGHT, DARK):
        assert design_tokens.contrast(theme["summary"], theme["tint_robust"]) >= 4.5
        assert design_tokens.contrast(theme["position"], theme["tint_coupled"]) >= 4.5
        assert design_tokens.contrast(theme["ink2"], theme["tint_grey"]) >= 4.5


def test_colour_maps_run_from_0_to_1_and_amount_melts_into_the_panel() -> None:
    maps = (
        design_tokens.PERFORMANCE,
        design_tokens.AMOUNT_LIGHT,
        design_tokens.AMOUNT_DARK,
        design_tokens.DIFFERENCE_LIGHT,
        design_tokens.DIFFERENCE_DARK,
    )
    for colours in maps:
        stops = [stop for stop, _ in colours]
        assert stops[0] == 0
        assert stops[-1] == 1
        assert stops == sorted(stops)
    assert design_tokens.AMOUNT_LIGHT[0][1] == LIGHT["surface"]
    assert design_tokens.AMOUNT_DARK[0][1] == DARK["surface"]


def test_performance_grows_lighter_all_the_way() -> None:
    light = [design_tokens.luminance(design_tokens.colour_at(design_tokens.PERFORMANCE, i / 40)) for i in range(41)]
    assert all(b > a for a, b in pairwise(light))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_on_every_cell_is_readable(theme: design_tokens.Theme) -> None:
    for i in range(101):
        for fill, ink in (
            design_tokens.cell_colours(i / 100, theme),
            design_tokens.difference_colours(i / 50 - 1, theme),
        ):
            assert design_tokens.contrast(fill, ink) >= 4.5


def test_colour_at_interpolates_and_clips() -> None:
    ramp = ((0.0, "#000000"), (1.0, "#FF8040"))
    assert design_tokens.colour_at(ramp, 0.5) == "#804020"
    assert design_tokens.colour_at(ramp, -3) == "#000000"
    assert design_tokens.colour_at(ramp, 3) == "#FF8040"


def test_palette_css_holds_every_token_of_both_themes() -> None:
    css = design_tokens.palette_css()
    light, dark = re.findall(r"([^{}]+)\{([^}]*)\}", css)
    assert light[0].strip() == ":root"
    assert dark[0].strip() == ":root[data-mantine-color-scheme=dark]"
    for (_, body), theme, name in ((light, LIGHT, "light"), (dark, DARK, "dark")):
        found = dict(re.findall(r"--([\w-]+): ([^;]+);", body))
        own = {
            f"configuration-{c}": value for c, value in zip("abcdefgh", design_tokens.CONFIGURATIONS[name], strict=True)
        }
        assert found == {name.replace("_", "-"): value for name, value in theme.items()} | own
