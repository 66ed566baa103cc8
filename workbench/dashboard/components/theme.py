"""The theme: Mantine's settings, the HTML around the app, and the design tokens as CSS."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import quote

from workbench.core.verdicts import NOT_MEASURED, VERDICTS
from workbench.dashboard.state.cursor import slug
from workbench.figures.style.design_tokens import palette_css
from workbench.figures.style.verdict_styles import glyph_svg

ASSETS = Path(__file__).parents[1] / "assets"
"""Styles, scripts and fonts, as they are served and as pages that need no server carry them."""

INK = [
    "#F5F6F8",
    "#ECEFF3",
    "#DDE1E7",
    "#C3CAD4",
    "#8A94A3",
    "#626C7B",
    "#47505E",
    "#2F3742",
    "#1D232C",
    "#14181F",
]
DARK = [
    "#E9EDF3",
    "#AEB8C6",
    "#8D98A8",
    "#6B7686",
    "#3A4350",
    "#2A313C",
    "#1F252E",
    "#161A21",
    "#11151B",
    "#0D1015",
]

MANTINE: dict[str, Any] = {
    "fontFamily": "Inter, system-ui, sans-serif",
    "fontFamilyMonospace": "'JetBrains Mono', ui-monospace, monospace",
    "primaryColor": "ink",
    "primaryShade": {"light": 9, "dark": 1},
    "defaultRadius": 4,
    "cursorType": "pointer",
    "fontSizes": {"xs": "12px", "sm": "13px", "md": "14px"},
    "colors": {"ink": INK, "gray": INK, "dark": DARK},
}

ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='none' "
    "stroke='%231760C4' stroke-width='2' stroke-linecap='round' d='M2 6h12'/%3E%3Cpath stroke='%23A8127A' "
    "stroke-width='1.5' stroke-dasharray='2 1.6' d='M6 2v12'/%3E%3C/svg%3E"
)

# Before anything is painted: the theme the reader chose, or the system's; and dark plots in dark pages. A script of the
# page that does not arrive is asked for again with the page, three times, and then the page says so.
EARLY = """
(function () {
  var RETRIES = 3, retried = 0, broken = false;
  try { retried = Number(sessionStorage.getItem('lens-reloads')) || 0; } catch (e) {}
  addEventListener('error', function (e) {
    if (!(e.target instanceof HTMLScriptElement) || document.getElementById('page')) return;
    if (broken) return;
    broken = true;
    if (retried >= RETRIES) return document.documentElement.setAttribute('data-load', 'failed');
    try { sessionStorage.setItem('lens-reloads', retried + 1); } catch (e) { return; }
    setTimeout(function () { location.reload(); }, 1000 * (retried + 1));
  }, true);
  addEventListener('load', function () {
    try { if (!broken) sessionStorage.removeItem('lens-reloads'); } catch (e) {}
  });
  var chosen = null;
  try { chosen = localStorage.getItem('mantine-color-scheme-value'); } catch (e) {}
  var dark = window.matchMedia('(prefers-color-scheme: dark)').matches;
  var scheme = chosen === 'light' || chosen === 'dark' ? chosen : (dark ? 'dark' : 'light');
  document.documentElement.setAttribute('data-mantine-color-scheme', scheme);
})();
"""


def early_hash() -> str:
    """Return the hash by which the Content-Security-Policy permits the one script inside the page."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(EARLY.encode()).digest()).decode()}'"


ROLES = {
    "summary": "--verdict: var(--summary); --verdict-tint: var(--tint-robust); --tick: 100%",
    "position": "--verdict: var(--position); --verdict-tint: var(--tint-coupled); --tick: 45%",
    "plain": "--verdict: initial; --verdict-tint: initial; --tick: 0%",
}
"""Style properties per role of a verdict: its colour, the ground of its chip, how far the tick of a seed is filled."""


def verdict_css() -> str:
    """Return the CSS for the glyph and the colours of each verdict.

    A verdict whose ribbon marks a failure to learn the task fills its tick to 30 %.
    """
    rules = [f".{slug(NOT_MEASURED)} {{ {ROLES['plain']}; }}"]
    for label, kind in VERDICTS.items():
        tick = "; --tick: 30%" if kind.ribbon == "ribbon_unfitted" else ""
        rules.append(f".{slug(label)} {{ {ROLES[kind.role]}{tick}; }}")
        rules.append(f'.glyph.{slug(label)} {{ --icon: url("data:image/svg+xml,{quote(glyph_svg(label))}"); }}')
    return "\n".join(rules)


def index_string() -> str:
    """Return the HTML around the app: language, preloaded fonts, tokens, and the theme set before the first paint."""
    return f"""<!DOCTYPE html>
<html lang="en">
  <head>
    {{%metas%}}
    <title>{{%title%}}</title>
    <link rel="icon" href="{ICON}">
    <link rel="preload" href="assets/fonts/inter.woff2" as="font" type="font/woff2" crossorigin>
    <link rel="preload" href="assets/fonts/jetbrains-mono.woff2" as="font" type="font/woff2" crossorigin>
    <style id="tokens">{palette_css()}{verdict_css()}</style>
    <script>{EARLY}</script>
    {{%css%}}
  </head>
  <body>
    {{%app_entry%}}
    <p class="first-load" role="status">LengthLens is loading about 1 MB of scripts. Over a slow connection this takes
      up to half a minute.</p>
    <p class="first-load failed" role="alert">A script of this page could not be loaded. Check the connection to the
      server, then <a href="">reload the page</a>.</p>
    <noscript>LengthLens needs JavaScript. Allow it for this address, then reload the page.</noscript>
    <footer>{{%config%}}{{%scripts%}}{{%renderer%}}</footer>
  </body>
</html>"""
