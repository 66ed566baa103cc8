"""The app as a whole, without a browser: no torch, nothing from elsewhere, tokens, exports, the door."""

from __future__ import annotations

import ast
import logging
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from flask.testing import FlaskClient
from typer.testing import CliRunner

from tests.support.dashboard import fakes
from tests.support.places import ROOT
from workbench.cli.main import app as command_line
from workbench.core.verdicts import VERDICTS
from workbench.dashboard.app import create_app, serve
from workbench.dashboard.components.head_files import SCRIPTS, STYLES
from workbench.dashboard.components.theme import verdict_css
from workbench.dashboard.panels.run_panels import PANELS
from workbench.dashboard.report.report_page import report_html
from workbench.figures.style.design_tokens import DARK, LIGHT, palette_css

ASSETS = ROOT / "workbench" / "dashboard" / "assets"
LINK = "run=majority-nope-s0&step=1000&len=200&head=1&layer=0"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="module")
def client(small_root: Path) -> Iterator[FlaskClient]:
    app = create_app(small_root)
    yield app.server.test_client()
    app.server.extensions["lengthlens"].worker.close()


def test_the_door_imports_only_the_dashboard() -> None:
    tree = ast.parse((ROOT / "app.py").read_text())
    modules = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module}
    modules |= {alias.name for n in ast.walk(tree) if isinstance(n, ast.Import) for alias in n.names}
    house = {m for m in modules if m.split(".")[0] in ("workbench", "probes", "circuits", "torch")}
    assert house == {"workbench.dashboard.app"}


def test_what_listens_to_a_page_does_not_listen_to_the_frame(small_root: Path) -> None:
    """Once the page is left, the browser drops a callback whose inputs are all gone, and fails one that keeps a few."""
    app = create_app(small_root)
    app.server.extensions["lengthlens"].worker.close()
    frame = {ident for one in app.layout._traverse() if isinstance(ident := getattr(one, "id", None), str)}
    assert {"look", "version", "place", "page"} <= frame
    both = {True: 0, False: 0}
    for said in app.callback_map.values():
        listens = {part["id"] in frame for part in said["inputs"]}
        assert len(listens) == 1, said["inputs"]
        of_frame = listens.pop()
        both[of_frame] += 1
        if of_frame:
            assert {part["id"] for part in said["state"]} <= frame, said
    assert min(both.values()) > 5


def test_a_taken_port_is_one_sentence_with_the_way_out(small_root: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = f"port {port} on 127.0.0.1 is taken; choose another: "
        for words, again in (
            (["gallery"], "lengthlens gallery"),
            (["app", str(small_root), "--device", "cpu"], f"lengthlens app {small_root}"),
            (["app"], "lengthlens app"),
        ):
            found = CliRunner().invoke(command_line, [*words, "--port", str(port)])
            assert str(found.exception) == f"{said}{again} --port {port + 1}"
        with pytest.raises(SystemExit, match="--port"):
            serve(small_root, port=port)


def test_a_folder_that_is_not_there_is_refused_before_anything_is_served(
    small_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    monkeypatch.setattr("workbench.dashboard.app.create_app", lambda *given: made.append(given) or 1 / 0)
    begun = small_root.parent / small_root.name[:-1]
    for folder, said in (
        (tmp_path / "nothing", f"`lengthlens train .* --out {tmp_path}"),
        (begun, f"mean {small_root}?"),
    ):
        with pytest.raises(SystemExit, match=f"{folder}.*{said}"):
            serve([small_root, folder])
    assert not made
    monkeypatch.chdir(tmp_path)
    for there in (
        tmp_path,
        Path("checkpoints"),
    ):  # empty, or what is served where none is named: the gallery is offered
        handlers = list(logging.getLogger("lengthlens").handlers)
        with pytest.raises(ZeroDivisionError):
            serve(there, port=free_port())
        assert logging.getLogger("lengthlens").handlers == handlers, "what it logs to is taken away again"


def test_the_page_carries_the_tokens_of_the_figures(client: FlaskClient) -> None:
    page = client.get("/").get_data(as_text=True)
    light = page[page.index(":root {") : page.index(":root[data-mantine-color-scheme=dark]")]
    dark = page[page.index(":root[data-mantine-color-scheme=dark]") :]
    for tokens, css in ((LIGHT, light), (DARK, dark)):
        for name, value in tokens.items():
            assert f"--{name.replace('_', '-')}: {value};" in css
    assert all(f".glyph.{name.replace(' ', '-')} " in page for name in VERDICTS)


def test_every_token_that_a_stylesheet_uses_exists() -> None:
    known = set(re.findall(r"--([\w-]+):", palette_css() + verdict_css()))
    css = "\n".join(path.read_text() for path in ASSETS.glob("css/*.css"))
    defined = set(re.findall(r"--([\w-]+)\s*:", css))
    written = {"su", "lu", "c", "f", "x0", "x1", "y0", "y1", "l", "r", "t", "b"}  # by assets/js/plot_lines.js
    assert set(re.findall(r"var\(--([\w-]+)", css)) <= known | defined | written


def test_styles_and_scripts_stand_in_the_listed_order(client: FlaskClient) -> None:
    page = client.get("/").get_data(as_text=True)
    for folder, kind, listed in (("css", "css", STYLES), ("js", "js", SCRIPTS)):
        found = re.findall(rf"""(?:href|src)="/assets/{folder}/(\w+)\.{kind}\?m=[\d.]+""", page)
        assert tuple(found) == listed
        assert set(found) == {path.stem for path in (ASSETS / folder).glob("*")}, "a file that no page loads"
    assert SCRIPTS[:2] == ("turns", "plot_lines"), "the others extend what plot_lines makes"
    assert page.index("dash_renderer") > page.index("/assets/js/zoom.js")
    for preload in re.findall(r'rel="preload" href="([^"]+)"', page):
        assert client.get(f"/{preload}").status_code == 200
    for path in ASSETS.glob("css/*.css"):
        for address in re.findall(r"url\(([^)\"]+)\)", path.read_text()):
            assert (path.parent / address).is_file() or address.startswith("data:"), f"{path.name} names {address}"


def test_nothing_is_loaded_from_elsewhere(client: FlaskClient) -> None:
    page = client.get("/").get_data(as_text=True)
    assert not re.search(r"""(?:src|href)=["'](?:https?:)?//""", page)
    for path in [*ASSETS.glob("css/*.css"), *ASSETS.glob("js/*.js")]:
        for address in re.findall(r"https?://[\w./-]+", path.read_text()):
            assert address.startswith("http://www.w3.org/"), f"{path.name} names {address}"


def test_fonts_come_with_their_licences(client: FlaskClient) -> None:
    for font in ("inter", "jetbrains-mono"):
        assert client.get(f"/assets/fonts/{font}.woff2").status_code == 200
        assert "SIL Open Font License" in (ASSETS / "fonts" / f"{font}-OFL.txt").read_text()


@pytest.mark.parametrize("panel", [p.id for p in PANELS])
def test_every_panel_exports_rows_figure_and_snippet(client: FlaskClient, panel: str, tmp_path: Path) -> None:
    answer = client.get(f"/data/{panel}.csv?{LINK}")
    assert answer.status_code == 200
    assert f"majority-nope-s0-{panel}.csv" in answer.headers["Content-Disposition"]
    (tmp_path / "rows.csv").write_bytes(answer.data)
    assert len(pd.read_csv(tmp_path / "rows.csv")) > 0

    picture = client.get(f"/data/{panel}.json?{LINK}&theme=dark").get_json()
    assert picture["figure"]["data"]
    assert "step 1,000" in picture["where"]
    ast.parse(client.get(f"/data/{panel}.py?{LINK}").get_data(as_text=True))


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("/data/failure.csv?run=nothing", "there is no run 'nothing' here"),
        (f"/data/rainbow.csv?{LINK}", "there is no panel 'rainbow'; the panels are accuracy-training"),
        (f"/data/failure.xls?{LINK}", "the exports are csv, parquet, md, tex, pdf, gif, json and py"),
        ("/data/failure.csv?run=majority-learned-s0", "No rows of behaviour"),
    ],
)
def test_an_export_that_cannot_be_made_says_why(client: FlaskClient, address: str, said: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 404
    assert said in answer.get_data(as_text=True)


def test_the_name_of_a_run_turns_no_text_on_a_page(tmp_path: Path) -> None:
    root = fakes.build(tmp_path, fakes.FAKES[:1], steps=(0, 100))
    run = next(path.parent for path in root.rglob("run.json"))
    run.rename(run.parent / "left\u202eright")
    app = create_app(root)
    context = app.server.extensions["lengthlens"]
    context.store.refresh()
    text = app.server.test_client().get("/commands.json").get_data(as_text=True)
    assert "leftright" in text
    assert "\u202e" not in text
    page = report_html(list(context.store.runs().values()))
    context.close()
    assert "leftright" in page
    assert "\u202e" not in page
