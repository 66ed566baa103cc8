"""A folder of pages: a list, a page for each run, and the files they share."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.dashboard.report import PageReader, data_of_page
from workbench.claims.published import published_claims
from workbench.core.errors import LensError
from workbench.dashboard.report import gallery_site
from workbench.dashboard.report.claims_page import claims_html
from workbench.dashboard.report.gallery_site import MADE, addresses, publish
from workbench.dashboard.report.report_page import ReportError, Shared
from workbench.storage.atomic import temporary_name

A, B, UNMEASURED = "majority-nope-s0", "flip_flop-rotary-s0", "majority-learned-s0"


@pytest.fixture(scope="module")
def site(small_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("published") / "site"
    problems: list[str] = []
    publish([small_root], out, problems)
    assert problems == []
    return out


@pytest.fixture(scope="module")
def pages_made_once() -> Iterator[None]:
    """A run whose page was published before gets the same page again. Tests of files need no new ones, which take seconds."""
    pages: dict[tuple[Any, ...], str] = {}
    plain = gallery_site.report_html

    def once(runs: Any, out: str, shared: Any) -> str:
        key = (*(run.path for run in runs), out, shared)
        if key not in pages:
            pages[key] = plain(runs, out=out, shared=shared)
        return pages[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gallery_site, "report_html", once)
        yield


def test_every_run_has_a_page_and_a_line_with_its_verdict(site: Path) -> None:
    reader = PageReader((site / "index.html").read_text())
    links = {given["href"]: given for tag, given in reader.tags if tag == "a" and given["href"] != "#page"}
    assert set(links) == {f"runs/{name}.html" for name in (A, B, UNMEASURED)}
    assert {"Scale-robust", "Length-coupled", "Not measured"} <= set(reader.texts["span"])
    sentences = [text for text in reader.texts["span"] if text.startswith(" at step ")]
    assert len(sentences) == 2, "a screen reader reads the verdict in place of the curve"
    for name in (A, B, UNMEASURED):
        page = (site / "runs" / f"{name}.html").read_text()
        assert [one["name"] for one in data_of_page(page)["runs"]] == [name]


def test_pages_share_their_files_and_name_only_what_lies_beside_them(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text()
        assert len(text) < 1_000_000, "the bundle is not in it"
        for _, given in PageReader(text).tags:
            for address in (given.get("src"), given.get("href")):
                if address and not address.startswith(("#", "data:")):
                    assert (page.parent / address).is_file(), (page, address)
    assert (site / "assets" / "plotly-LICENSE.txt").is_file()


def test_addresses_are_plain_and_no_two_alike() -> None:
    assert addresses(["a/b", "a-b", "A-b", "</script>", "..", "\u0434"]) == [
        "runs/a-b.html",
        "runs/a-b-2.html",
        "runs/A-b-3.html",
        "runs/script.html",
        "runs/run.html",
        "runs/run-2.html",
    ]


def test_a_run_without_a_page_harms_itself_alone(
    small_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(runs: Any, **given: Any) -> str:
        if runs[0].name == B:
            raise ValueError("its rows are not rows")
        return "<!DOCTYPE html>"

    monkeypatch.setattr(gallery_site, "report_html", fails)
    problems: list[str] = []
    publish([small_root], tmp_path / "site", problems)
    (problem,) = problems
    assert problem.startswith(f"no page could be made of {B}: ValueError: its rows are not rows (at {__file__}:")
    told = PageReader((tmp_path / "site" / "index.html").read_text())
    assert problems[0] in told.texts["p"]
    assert B in told.texts["strong"]
    assert not (tmp_path / "site" / "runs" / f"{B}.html").exists()
    assert (tmp_path / "site" / "runs" / f"{A}.html").is_file()


@pytest.mark.usefixtures("pages_made_once")
def test_publishing_again_takes_away_the_pages_of_runs_that_are_gone(small_root: Path, tmp_path: Path) -> None:
    out, other = tmp_path / "site", tmp_path / "other"
    shutil.copytree(small_root / UNMEASURED, other)
    publish([other, small_root / UNMEASURED], out, [])
    assert (out / "runs" / "other.html").is_file()
    (out / "own.txt").write_text("kept")
    publish([small_root / UNMEASURED], out, [])
    assert sorted(path.name for path in (out / "runs").iterdir()) == [f"{UNMEASURED}.html"]
    assert (out / "own.txt").is_file()


def test_a_folder_of_something_else_is_left_alone(small_root: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("\\documentclass{book}")
    with pytest.raises(ReportError, match="folder"):
        publish([small_root / UNMEASURED], tmp_path, [])
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.usefixtures("pages_made_once")
def test_a_list_of_files_that_names_others_takes_none_away(site: Path, tmp_path: Path, small_root: Path) -> None:
    out = tmp_path / "site"
    shutil.copytree(site, out)
    victim = tmp_path / "victim.txt"
    victim.write_text("kept")
    names = [*json.loads((out / MADE).read_text()), "../victim.txt", "runs/../../victim.txt", str(victim)]
    (out / MADE).write_text(json.dumps(names))
    publish([small_root / UNMEASURED], out, [])
    assert victim.read_text() == "kept"


@pytest.mark.usefixtures("pages_made_once")
@pytest.mark.parametrize("where", ["runs", "assets", "index.html", MADE, "assets/report.css"])
def test_nothing_is_written_or_removed_through_a_link(small_root: Path, tmp_path: Path, where: str) -> None:
    out, victim = tmp_path / "site", tmp_path / "victim"
    publish([small_root], out, [])
    names = json.loads((out / MADE).read_text())
    victim.mkdir()
    for name in ("gone.html", "report.css", "index.html"):
        (victim / name).write_text("theirs")
    (victim / "list").write_text(json.dumps([*names, "runs/gone.html", "assets/gone.html"]))
    (out / MADE).write_text((victim / "list").read_text())
    link = out / where
    shutil.rmtree(link) if link.is_dir() else link.unlink()
    link.symlink_to(victim / "list" if where == MADE else victim / "index.html" if "." in where else victim)
    before = {path.name: path.read_text() for path in victim.iterdir()}
    others = {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()}
    with pytest.raises(LensError, match=r"is a link, and links in|holds other files"):
        publish([small_root], out, [])
    assert {path.name: path.read_text() for path in victim.iterdir()} == before
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*") if path.is_file()} == others
    link.unlink()
    if where != MADE:
        publish([small_root], out, [])
        assert not (out / "runs" / "gone.html").exists()


@pytest.mark.usefixtures("pages_made_once")
@pytest.mark.parametrize("after", range(0, 9, 2))
def test_publishing_that_was_interrupted_is_continued(
    site: Path, small_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    out, written = tmp_path / "site", []
    plain = gallery_site.write_atomic

    def killing(folder: Path, place: str, data: bytes) -> None:
        written.append(place)
        if len(written) > after:
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            temporary_name(folder / place).write_bytes(data[:10])
            raise KeyboardInterrupt
        plain(folder, place, data)

    monkeypatch.setattr(gallery_site, "write_atomic", killing)
    with pytest.raises(KeyboardInterrupt):
        publish([small_root], out, [])
    monkeypatch.undo()
    publish([small_root], out, [])
    names = {path.relative_to(out) for path in out.rglob("*")}
    assert names == {path.relative_to(site) for path in site.rglob("*")}


def test_the_page_of_claims_lists_each_claim_with_its_verdict_and_source(site: Path) -> None:
    claims = published_claims()
    page = claims_html(claims, Shared(styles=("assets/report.css",), scripts=("assets/report.js",), back="index.html"))
    reader = PageReader(page)
    assert {given["id"] for tag, given in reader.tags if tag == "tr" and given.get("id")} == {
        claim["claim"].lower() for claim in claims
    }
    counts = Counter(claim["verdict"] for claim in claims)
    chips = Counter(text for text in reader.texts["span"] if text in counts)
    assert chips == counts
    links = {given["href"] for tag, given in reader.tags if tag == "a"}
    assert {source["url"] for claim in claims for source in claim["sources"] if source["url"]} <= links
    assert "index.html" in links


def test_claims_are_published_with_the_runs(small_root: Path, tmp_path: Path, pages_made_once: None) -> None:
    out, problems = tmp_path / "site", list[str]()
    (first, *_) = published_claims()
    publish([small_root], out, problems, [first])
    assert first["prediction"] in (out / "claims.html").read_text()
    assert 'href="claims.html"' in (out / "index.html").read_text()
    publish([small_root], out, problems)
    assert not (out / "claims.html").exists(), "a page that is no longer asked for goes"
    assert "claims.html" not in (out / "index.html").read_text()
    assert problems == []
