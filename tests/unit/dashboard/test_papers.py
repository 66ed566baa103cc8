"""What is taken away for papers: figures of a column's width, tables as text, whole numbers that stay whole."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from flask.testing import FlaskClient
from PIL import Image

from tests.support.dashboard.pages import OWN, A, B
from workbench.dashboard import downloads
from workbench.dashboard.animation import evenly
from workbench.dashboard.app import create_app
from workbench.dashboard.panels.panel_spec import SIZE
from workbench.dashboard.panels.run_panels import PANELS
from workbench.dashboard.paper_figure import caption, caption_lines, page
from workbench.dashboard.server.chromium import PrintError, print_pdf
from workbench.table.text_tables import latex, markdown, text_cells

LINK = f"run={A}&run2={B}&configs={B}&step=1000&len=100&quantity=circuits.hardmax|margin"
DRAWN = [panel.id for panel in (*PANELS, *OWN) if panel.form == "graph"] + ["phase"]


@pytest.fixture(scope="module")
def client(small_root: Path) -> Iterator[FlaskClient]:
    app = create_app(small_root)
    yield app.server.test_client()
    app.server.extensions["lengthlens"].close()


def picture(client: FlaskClient, name: str, more: str = "") -> dict[str, Any]:
    answer = client.get(f"/data/{name}.json?{LINK}{more}")
    assert answer.status_code in (200, 404), answer.data[:200]
    return dict(json.loads(answer.data)) if answer.status_code == 200 else {}


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_for_a_paper_has_its_axes_named_and_no_cursor(client: FlaskClient, name: str) -> None:
    made = picture(client, name, "&paper=single&theme=dark")
    if not made:
        pytest.skip("this run has no rows of it")
    layout = made["figure"]["layout"]
    assert (made["width"], made["height"], layout["width"]) == (312, 216, 312)
    assert layout["paper_bgcolor"] == "#FFFFFF"
    assert "cursor" not in {shape.get("name") for shape in layout.get("shapes", [])}
    assert layout["xaxis"]["title"]["text"]
    words = [text for text in layout["yaxis"].get("ticktext", ()) if any(letter in "aehinot" for letter in text)]
    assert layout["yaxis"].get("title", {}).get("text") or words, "an axis of categories says itself what it is"
    panel = downloads.panels()[name]
    assert made["title"] == (panel.title if name != "phase" else "Accuracy"), "as on the page"
    assert picture(client, name)["title"] == made["title"]


def test_a_page_for_print_carries_all_it_needs_and_runs_no_text_of_a_run() -> None:
    made = page(
        {"figure": {"data": [{"name": "</script><b>"}], "layout": {}}, "title": "<i>", "width": 312, "height": 216}
    )
    assert "@page { size: 3.25in 2.4375in; margin: 0 }" in made
    assert made.count("</script>") == 2
    assert "<title>&lt;i&gt;</title>" in made
    assert '{"name": "\\u003c/script>\\u003cb>"}' in made
    assert made.count("data:font/woff2;base64,") == 2
    assert "http://" not in made.partition("<script>")[0]


def test_without_a_chromium_a_pdf_says_what_makes_one(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.dashboard.server.chromium.find_browser", lambda: None)
    answer = client.get(f"/data/accuracy-length.pdf?{LINK}")
    assert answer.status_code == 503
    assert answer.data.startswith(b"A PDF needs Chromium, which was not found on this machine: install it")
    monkeypatch.setattr("workbench.dashboard.server.chromium.find_browser", lambda: "/bin/true")
    with pytest.raises(PrintError, match="printed nothing"):
        print_pdf("<p>a</p>")
    assert client.get(f"/data/accuracy-length.json?{LINK}&paper=A4").status_code == 404


def test_steps_lengths_and_counts_stay_whole_where_some_are_missing(client: FlaskClient) -> None:
    rows = pd.DataFrame({"step": [1.0, np.nan], "length": [50.0, 64.0], "n": [512.0, 512.5], "value": [1.0, 2.0]})
    text = downloads.to_csv(downloads.whole_columns(rows))
    assert text == "step,length,n,value\n1,50,512.0,1.0\n,64,512.5,2.0\n"
    for panel in DRAWN:
        answer = client.get(f"/data/{panel}.csv?{LINK}")
        if answer.status_code == 200:
            read = pd.read_csv(io.BytesIO(answer.data), dtype=str, keep_default_na=False)
            counted = [text for name in downloads.COUNTED if name in read for text in read[name]]
            assert [text for text in counted if "." in text] == [], panel


def test_tables_of_a_panel_are_the_rows_of_its_csv(client: FlaskClient) -> None:
    csv = pd.read_csv(io.BytesIO(client.get(f"/data/decodability-length.csv?{LINK}").data))
    lines = client.get(f"/data/decodability-length.md?{LINK}").get_data(as_text=True).splitlines()
    assert lines[0].startswith("Decodability \u00b7 majority-nope-s0 \u00b7 id ")
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:])
    assert len(rows) == len(csv)
    assert [row[head.index("length")] for row in rows] == [str(n) for n in csv["length"]]
    assert [row[head.index("value")] for row in rows] == [f"{value:.4g}" for value in csv["value"]]
    tex = client.get(f"/data/decodability-length.tex?{LINK}").get_data(as_text=True)
    assert tex.startswith("% Decodability")
    assert r"summary\_decodability" in tex
    assert tex.count(r" \\") == len(csv) + 1


def test_text_of_a_run_stays_text_in_tables() -> None:
    rows = [{"run": "a|b", "value": 0.5, "n": 1024}, {"run": "<i>_$%\nx", "value": float("nan"), "n": None}]
    cells = text_cells(rows, ["run", "value", "n", "note"])
    assert cells == [["run", "value", "n"], ["a|b", "0.5", "1024"], ["<i>_$% x", "", ""]]
    assert markdown(cells).splitlines()[2:] == [r"| a\|b | 0.5 | 1024 |", "| &lt;i>_$% x |  |  |"]
    assert r"<i>\_\$\% x &  &  \\" in latex(cells)


def test_a_caption_states_run_step_n_and_test_set_of_the_drawn_rows(client: FlaskClient) -> None:
    made = picture(client, "accuracy-length", "&paper=single")
    csv = pd.read_csv(io.BytesIO(client.get(f"/data/accuracy-length.csv?{LINK}").data))
    words = " ".join(made["caption"])
    assert words.startswith(f"{A} \u00b7 step 1,000 \u00b7 n = ")
    low, high = int(csv["n"].min()), int(csv["n"].max())
    assert f"n = {low:,} to {high:,}" in words if low < high else f"n = {low:,} " in words
    assert words.endswith(f"{' and '.join(csv['law'].unique())} test set{'s' * (csv['law'].nunique() > 1)}")
    assert len(made["caption"]) > 1 or len(words) < 60
    assert picture(client, "accuracy-length")["caption"] == [], "pictures of the page have their own head"
    both = picture(client, "accuracy-training", "&paper=double")["caption"]
    assert " steps " in " ".join(both), "a figure over training spans its steps"


def test_a_caption_is_broken_between_words_and_leaves_out_what_rows_do_not_state() -> None:
    assert caption(pd.DataFrame({"loss": [1.0]}), "a run") == "a run"
    assert caption(pd.DataFrame({"run": list("abcd"), "n": [1, 2, 2, 1]})) == "4 runs \u00b7 n = 1 to 2"
    text = "one two three " * 12
    lines = caption_lines(text, 312)
    assert " ".join(lines) == text.strip()
    assert len(lines) == 3
    printed_page = page(
        {"figure": {"data": [], "layout": {}}, "title": "t", "width": 312, "height": 216, "caption": ["<a>", "b"]}
    )
    assert "@page { size: 3.25in 2.6875in; margin: 0 }" in printed_page, "216 + 18 + 2 x 12 pixels"
    assert "<p>&lt;a&gt;</p><p>b</p>" in printed_page


def test_a_panel_over_training_is_a_gif_with_a_frame_for_each_checkpoint(client: FlaskClient) -> None:
    answer = client.get(f"/data/accuracy-length.gif?{LINK}")
    assert (answer.status_code, answer.mimetype) == (200, "image/gif")
    csv = pd.read_csv(io.BytesIO(client.get(f"/data/accuracy-training.csv?{LINK}").data))
    with Image.open(io.BytesIO(answer.data)) as gif:
        assert gif.n_frames == csv["step"].nunique()
        assert gif.size == SIZE
        frames = []
        for place in range(gif.n_frames):
            gif.seek(place)
            frames.append((gif.convert("RGB").tobytes(), gif.info["duration"]))
    assert len({picture for picture, _ in frames}) == len(frames), "each frame states its own step"
    assert [shown for _, shown in frames] == [700] * (len(frames) - 1) + [2500]
    none = client.get(f"/data/phase.gif?{LINK}")
    assert none.status_code == 404
    assert b"cannot be played over training" in none.data


def test_an_animation_of_many_checkpoints_keeps_the_first_and_the_last() -> None:
    steps = evenly(list(range(0, 5000, 50)))
    assert (len(steps), steps[0], steps[-1]) == (30, 0, 4950)
    assert len(set(steps)) == len(steps)
