"""What the documentation gets at build time: pages from the code, tutorials, fonts, and links that lead out of docs/.

MkDocs calls these functions by name (``hooks`` in mkdocs.yml).
"""

from __future__ import annotations

import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
FONTS = ROOT / "workbench" / "dashboard" / "assets" / "fonts"
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(((?!https?:|#|mailto:)[^)\s#]+)(#[^)\s]*)?\)")
LIGHT = re.compile(r"!\[([^\]]*)\]\(([\w./]+)-light\.png\)")
ROLE = re.compile(r":(?:py:)?(?:func|class|meth|mod|attr|data|exc):<code>~?([^<]*)</code>")

MOVED = {
    "journeys": "first_verdict", "plugins": "your_own_task", "your_own_loop": "your_own_model",
}  # fmt: skip
"""Pages that ended -> the page that has their content now. Old addresses lead there."""
POINTER = """<!doctype html><meta charset="utf-8"><title>Moved</title><link rel="canonical" href="{0}.html">
<script>location.replace("{0}.html" + location.hash)</script><meta http-equiv="refresh" content="0; url={0}.html">
<p>This page is now <a href="{0}.html">{0}.html</a>.</p>
"""

sys.path.insert(0, str(ROOT))  # the checkout's own packages, wherever mkdocs was started


def on_files(files: Files, config: Any) -> Files:
    """Add the pages written from the code, the executed tutorials, and the style sheet with its fonts."""
    from plotly.offline import get_plotlyjs

    from docs.cli_page import cli_page
    from docs.glossary_page import glossary
    from docs.site.tutorial_pages import PLOTLY, TUTORIALS, tutorial_page
    from docs.tasks_page import tasks_page

    for name, content in (("glossary", glossary()), ("cli", cli_page()), ("tasks", tasks_page())):
        files.append(File.generated(config, f"{name}.md", content=content))
    for page in map(tutorial_page, TUTORIALS):
        files.append(File.generated(config, f"tutorials/{page.name}.md", content=page.markdown))
        files.append(File.generated(config, f"tutorials/{page.name}.js", content=page.script))
    files.append(File.generated(config, f"tutorials/{PLOTLY}", content=get_plotlyjs()))
    for file in (Path(__file__).with_name("site.css"), *sorted(FONTS.glob("*.woff2"))):
        files.append(File.generated(config, f"style/{file.name}", content=file.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links to files outside docs/ become file names, except for tutorials. Light pictures get their dark ones."""
    from docs.site.tutorial_pages import TUTORIALS

    here = posixpath.dirname(page.file.src_uri)

    def resolved(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join("docs", here, found[2]))
        if target.startswith("notebooks/") and (name := posixpath.basename(target).removesuffix(".py")) in TUTORIALS:
            return f"[{found[1]}]({posixpath.relpath(f'tutorials/{name}.md', here or '.')})"
        if target.startswith("docs/") and not target.endswith((".py", ".parquet")):
            return found[0]
        said = found[1].strip("`")
        return f"`{target}`" if said.endswith(target.rsplit("/", 1)[-1]) else f"{said} (`{target}`)"

    return LINK.sub(resolved, LIGHT.sub(r"![\1](\2-light.png#only-light)![\1](\2-dark.png#only-dark)", markdown))


def on_post_build(config: Any) -> None:
    """Old addresses lead to the pages that have their content now."""
    for old, new in MOVED.items():
        (Path(config["site_dir"]) / f"{old}.html").write_text(POINTER.format(new), encoding="utf-8")


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Roles of docstrings (``:func:`name```) show their name alone, without the module it lies in."""
    return ROLE.sub(lambda found: f"<code>{found[1].rsplit('.', 1)[-1]}</code>", html)
