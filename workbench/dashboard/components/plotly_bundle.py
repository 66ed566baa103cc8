"""The plotly.js that pages include: the smaller bundle with only Cartesian plots, in the version of the Python package.

From the npm package ``plotly.js-cartesian-dist-min``, under the MIT licence, which is in the same folder.
"""

from __future__ import annotations

import hashlib
from functools import cache

from workbench.core.errors import LensError
from workbench.dashboard.components.theme import ASSETS

VERSION = "4.1.1"
SHA256 = "79542150855a52c567260e3137095dbe2b744e6d702a5cabe67da246942fba7a"
FILE = ASSETS / "report" / f"plotly-cartesian-{VERSION}.min.js"


class BundleError(LensError):
    """Raised if the file of plotly.js is not the one that LengthLens ships."""


@cache
def plotly_js() -> str:
    """Return the text of plotly.js.

    Raises:
        BundleError: if the file is not the one that was shipped.
    """
    data = FILE.read_bytes() if FILE.is_file() else b""
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise BundleError(f"{FILE} is missing or was changed; install lengthlens again")
    return data.decode()
