"""Fixtures of these tests."""

from tests.support.dashboard.browsing import address, browser, page
from tests.support.dashboard.fixtures import small_root

__all__ = ["address", "browser", "page", "small_root"]
