"""Design tokens: the colours of both themes, the three colour maps, and their CSS custom properties."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from workbench.figures.look import Theme
from workbench.figures.offered import register_public

ColourMap = tuple[tuple[float, str], ...]

LIGHT: dict[str, str] = {
    "page": "#F5F6F8",
    "surface": "#FFFFFF",
    "sunken": "#ECEFF3",
    "line": "#DDE1E7",
    "grid": "#E3E7EC",
    "line2": "#8A94A3",
    "ink": "#14181F",
    "ink2": "#47505E",
    "ink3": "#626C7B",
    "summary": "#1760C4",
    "position": "#B34400",
    "train": "#A8127A",
    "control": "#7C8696",
    "a": "#0A7361",
    "b": "#7A3FA8",
    "err": "#B3261E",
    "bar": "#7C8DBB",
    "ribbon_unfitted": "#C9D0DA",
    "tint_robust": "#E7F0FB",
    "tint_coupled": "#FCEEE3",
    "tint_grey": "#ECEFF3",
    "train_wash": "rgba(168,18,122,.055)",
}

DARK: dict[str, str] = {
    "page": "#0D1015",
    "surface": "#161A21",
    "sunken": "#1F252E",
    "line": "#2A313C",
    "grid": "#262D37",
    "line2": "#6B7686",
    "ink": "#E9EDF3",
    "ink2": "#AEB8C6",
    "ink3": "#8D98A8",
    "summary": "#6CB2FF",
    "position": "#FF9A4D",
    "train": "#FF7AC6",
    "control": "#8390A2",
    "a": "#4FD0B4",
    "b": "#C79BF2",
    "err": "#FF8A80",
    "bar": "#5C71A8",
    "ribbon_unfitted": "#3A4350",
    "tint_robust": "#172A42",
    "tint_coupled": "#38240F",
    "tint_grey": "#1F252E",
    "train_wash": "rgba(255,122,198,.075)",
}

TOKENS: dict[str, dict[str, str]] = {"light": LIGHT, "dark": DARK}

#: Up to eight configurations beside each other: A and B as everywhere. Two that some readers see alike differ in dash.
CONFIGURATIONS: dict[str, tuple[str, ...]] = {
    "light": (LIGHT["a"], LIGHT["b"], "#886807", "#0B3FD0", "#14181F", "#8A2C1D", "#006F9E", "#5B6573"),
    "dark": (DARK["a"], DARK["b"], "#F2D60D", "#5B8CFF", "#E9EDF3", "#E0764A", "#2BA6D6", "#97A2B3"),
}
CONFIGURATION_DASHES = ("solid", "5px,3px", "1.5px,2.5px", "8px,3px,1.5px,3px")
"""Dashes of their lines, over again from the fifth on."""

#: The training length on a heatmap, where it must stand out from both ends of the performance map.
TRAIN_ON_HEATMAP = "#C2188F"


def _map(stops: Sequence[float], colours: str) -> ColourMap:
    return tuple(zip(stops, colours.split(), strict=True))


#: Accuracy and exact match: cividis cut at 8/9, the same in both themes.
PERFORMANCE = _map([i / 8 for i in range(9)], "#00224E #123570 #3B496C #575D6D #707173 #8A8678 #A59C74 #C3B369 #E1CC55")

_AMOUNT_STOPS = (0.0, 0.08, 0.25, 0.5, 0.75, 1.0)
#: Attention, distances, counts: zero means nothing, and melts into the panel.
AMOUNT_LIGHT = _map(_AMOUNT_STOPS, "#FFFFFF #E9EDF6 #BFCBE6 #7D93C8 #41579F #131F57")
AMOUNT_DARK = _map(_AMOUNT_STOPS, "#161A21 #20283A #31426B #5470B3 #93AEEA #EEF3FF")

_DIFFERENCE_STOPS = (0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)
#: A - B, symmetric about 0: green where A is higher, violet where B is.
DIFFERENCE_LIGHT = _map(_DIFFERENCE_STOPS, "#6B2C9B #9A6AC2 #D6C3EA #F6F7F8 #BFE0D7 #4FA08E #0A6B59")
DIFFERENCE_DARK = _map(_DIFFERENCE_STOPS, "#C79BF2 #8A63B5 #41324F #1B2027 #24433E #2F8C78 #4FD0B4")

AMOUNT: dict[str, ColourMap] = {"light": AMOUNT_LIGHT, "dark": AMOUNT_DARK}
DIFFERENCE: dict[str, ColourMap] = {"light": DIFFERENCE_LIGHT, "dark": DIFFERENCE_DARK}

#: The stretch of the amount map that cells carrying text may use.
CELL_RANGE = (0.04, 0.68)


def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue (0 to 255) of a colour ``#RRGGBB``."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def rgba(colour: str, alpha: float) -> str:
    """Return a colour ``#RRGGBB`` with the given opacity, as a CSS ``rgba()``."""
    r, g, b = rgb(colour)
    return f"rgba({r},{g},{b},{alpha:g})"


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, 0 to 1 (as defined in WCAG 2.2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in rgb(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two opaque colours, 1 to 21 (as defined in WCAG 2.2)."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def colour_at(colours: ColourMap, share: float) -> str:
    """Return the colour at ``share`` (0 to 1, clipped) of a colour map, interpolated in sRGB as plotly does."""
    share = min(1.0, max(0.0, share))
    for (left, low), (right, high) in pairwise(colours):
        if share <= right:
            t = 0.0 if right == left else (share - left) / (right - left)
            mixed = (round(p + t * (q - p)) for p, q in zip(rgb(low), rgb(high), strict=True))
            return "#" + "".join(f"{c:02X}" for c in mixed)
    return colours[-1][1]


def text_on(colour: str) -> str:
    """Return black or white, whichever contrasts more with an opaque ``colour``."""
    return max(("#000000", "#FFFFFF"), key=lambda ink: contrast(ink, colour))


def cell_colours(share: float, theme: Theme = "light") -> tuple[str, str]:
    """Return the fill colour and the text colour of a table cell for a value.

    Args:
        share: the value as a share of its range, 0 to 1.
        theme: light or dark.
    """
    low, high = CELL_RANGE
    fill = colour_at(AMOUNT[theme], low + (high - low) * min(1.0, max(0.0, share)))
    return fill, text_on(fill)


def difference_colours(share: float, theme: Theme = "light") -> tuple[str, str]:
    """Return the fill colour and the text colour of a cell for a difference of runs A and B: -1 = B is higher, 1 = A is
    higher.
    """
    fill = colour_at(DIFFERENCE[theme], (share + 1) / 2)
    return fill, text_on(fill)


@register_public
def palette_css() -> str:
    """Return the colours and sizes of both themes as CSS custom properties. The dark ones apply under Mantine's
    colour-scheme attribute.
    """

    def block(selector: str, theme: Theme) -> str:
        own = {
            f"configuration-{letter}": value for letter, value in zip("abcdefgh", CONFIGURATIONS[theme], strict=True)
        }
        tokens = {**TOKENS[theme], **own}
        lines = "".join(f"  --{name.replace('_', '-')}: {value};\n" for name, value in tokens.items())
        return f"{selector} {{\n{lines}}}\n"

    return block(":root", "light") + block(":root[data-mantine-color-scheme=dark]", "dark")
