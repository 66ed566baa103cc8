"""What the documentation gets at build time: glossary, tutorials, fonts, and links that lead out of docs/.

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
ROLE = re.compile(r":(?:py:)?(?:func|class|meth|mod|attr|data|exc):<code>~?([^<]*)</code>")

sys.path.insert(0, str(ROOT))  # the checkout's own packages, wherever mkdocs was started


def on_files(files: Files, config: Any) -> Files:
    """Add the glossary, written from the specs, the tutorials, executed, and the style sheet with its fonts."""
    from plotly.offline import get_plotlyjs

    from docs.glossary_page import glossary
    from docs.site.tutorial_pages import PLOTLY, TUTORIALS, tutorial_page

    files.append(File.generated(config, "glossary.md", content=glossary()))
    for page in map(tutorial_page, TUTORIALS):
        files.append(File.generated(config, f"tutorials/{page.name}.md", content=page.markdown))
        files.append(File.generated(config, f"tutorials/{page.name}.js", content=page.script))
    files.append(File.generated(config, f"tutorials/{PLOTLY}", content=get_plotlyjs()))
    for file in (Path(__file__).with_name("site.css"), *sorted(FONTS.glob("*.woff2"))):
        files.append(File.generated(config, f"style/{file.name}", content=file.read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Files outside docs/ are no pages, but for tutorials: their names stay, as code, or say where a file lies."""
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

    return LINK.sub(resolved, markdown)


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Roles of docstrings (``:func:`name```) show their name alone, without the module it lies in."""
    return ROLE.sub(lambda found: f"<code>{found[1].rsplit('.', 1)[-1]}</code>", html)
