"""What pyproject.toml cannot say: gallery and claims go into the wheel, and the index page gets whole addresses.

Where the project is hosted is known to whoever releases it: LENGTHLENS_URL, e.g. https://HOST/OWNER/REPOSITORY, gives
the links of the index page and turns the README's own links and pictures into addresses of the released version.
Without it the README is taken as it is.
"""

import os
import re
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
VERSION = re.search(r'^version = "(.*)"$', (HERE / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)[1]
URL = os.environ.get("LENGTHLENS_URL", "").rstrip("/")


class WithGallery(build_py):
    """The packages, and beside them what ships: the runs (``workbench/gallery``), the tables of claims
    (``workbench/published_claims``) and the table of the diagnosis bench (``workbench/published_bench``).
    """

    def run(self):
        super().run()
        if not self.editable_mode:
            to = Path(self.build_lib) / "workbench" / "gallery"
            shutil.rmtree(to, ignore_errors=True)
            shutil.copytree(HERE / "checkpoints" / "gallery", to)
            for source, folder in (("claims", "published_claims"), ("diagnosis_bench", "published_bench")):
                tables = Path(self.build_lib) / "workbench" / folder
                shutil.rmtree(tables, ignore_errors=True)
                tables.mkdir(parents=True)
                for table in sorted((HERE / "docs" / source).glob("*.parquet")):
                    shutil.copy2(table, tables)


def index_page(text, url=URL, version=VERSION):
    """The README with addresses: pictures as raw files, other links of the tree as pages."""
    if not url:
        return text
    text = re.sub(r"(!\[[^\]]*\])\((?!https?:|#)([^)]+)\)", rf"\1({url}/raw/v{version}/\2)", text)
    return re.sub(r"(?<!!)(\[[^\]]*\])\((?!https?:|#)([^)]+)\)", rf"\1({url}/blob/v{version}/\2)", text)


if __name__ == "__main__":
    pages = {"Source": URL, "Documentation": f"{URL}/blob/v{VERSION}/docs/index.md", "Issues": f"{URL}/issues"}
    setup(
        cmdclass={"build_py": WithGallery},
        long_description=index_page((HERE / "README.md").read_text(encoding="utf-8")),
        long_description_content_type="text/markdown",
        project_urls=pages if URL else {},
    )
